"""Compile options by triton-ascend's names, and the command lines that they become.

`OPTIONS` is the only table of them in this package. Its source is triton-ascend 3.2.0's
`NPUOptions`, `ttir_to_linalg` and `linalg_to_bin_enable_npu_compile_*`, with `enable_ubuf_saving`
from later releases.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from ascend_autotune.errors import RequestError

Series = Literal["A2", "A3", "310B", "950"]
_SWITCH = (False, True)


@dataclass(frozen=True, slots=True)
class CompileOption:
    """One compile option: `flag` is the compiler's, without dashes (None: it reaches no flag).

    `values` are the ones worth trying; the compiler may take others. `family` says for which
    kernels it matters, `stage` whose flag it is. `searchable` is false for internal policies.
    `default` is what is passed when the user says nothing; None passes nothing.
    """

    name: str
    flag: str | None
    values: tuple[object, ...] = _SWITCH
    family: Literal["both", "mixcv"] = "both"
    stage: Literal["compiler", "adapter"] = "compiler"
    searchable: bool = True
    default: object = None
    excluded: frozenset[str] = frozenset()  # series on which it means nothing


_OPTIONS = (
    CompileOption("multibuffer", "enable-auto-multi-buffer", default=True),
    # In 3.2.0 it reaches no flag; in some later releases 1 stands for multibuffer=False.
    CompileOption("num_stages", None, (1, 2), searchable=False),
    CompileOption(
        "enable_ubuf_saving", "enable-ubuf-saving", excluded=frozenset({"A2", "310B", "950"})
    ),
    CompileOption(
        "limit_auto_multi_buffer_only_for_local_buffer",
        "limit-auto-multi-buffer-only-for-local-buffer",
        family="mixcv",
    ),
    CompileOption(
        "limit_auto_multi_buffer_of_local_buffer",
        "limit-auto-multi-buffer-of-local-buffer",
        ("no-limit", "no-l0c"),
        "mixcv",
    ),
    CompileOption("set_workspace_multibuffer", "set-workspace-multibuffer", (2, 4), "mixcv"),
    CompileOption(
        "tile_mix_vector_loop",
        "tile-mix-vector-loop",
        (1, 2, 4, 8),
        "mixcv",
        excluded=frozenset({"950"}),
    ),
    CompileOption(
        "tile_mix_cube_loop",
        "tile-mix-cube-loop",
        (1, 2, 4, 8),
        "mixcv",
        excluded=frozenset({"950"}),
    ),
    CompileOption("enable_hivm_auto_cv_balance", "enable-hivm-auto-cv-balance", family="mixcv"),
    CompileOption(
        "enable_auto_bind_sub_block", "enable-auto-bind-sub-block", family="mixcv", default=True
    ),
    CompileOption("sync_solver", "enable-hivm-graph-sync-solver", family="mixcv"),
    CompileOption("unit_flag", "enable-hivm-unit-flag-sync", family="mixcv", searchable=False),
    CompileOption("inject_barrier_all", "enable-hivm-inject-barrier-all-sync", searchable=False),
    CompileOption("inject_block_all", "enable-hivm-inject-block-all-sync", searchable=False),
    CompileOption(
        "disable_auto_inject_block_sync", "disable-auto-inject-block-sync", searchable=False
    ),
    CompileOption("enable_linearize", "triton-linearize", stage="adapter", searchable=False),
    CompileOption(
        "enable_nd2nz_on_vector",
        "enable-nd2nz-on-vector",
        stage="adapter",
        searchable=False,
        default=False,
    ),
    # The labels of ../shared/groundtruth were made with it on; NPUOptions of 3.2.0 has it off
    # on A2 and A3. It changes the plan of kernels with a select on a mask.
    CompileOption(
        "enable_select_analysis",
        "enable-select-analysis",
        stage="adapter",
        searchable=False,
        default=True,
    ),
)
OPTIONS: Mapping[str, CompileOption] = {option.name: option for option in _OPTIONS}

# Fields of triton.Config and launch keywords that reach neither binary.
INERT = frozenset({"num_warps", "num_ctas", "num_stages", "maxnreg", "stream", "debug"})


@dataclass(frozen=True, slots=True)
class CommandFlags:
    """Flags for the two binaries, in a fixed order, and the options that could not be passed."""

    adapter: tuple[str, ...]
    compiler: tuple[str, ...]
    dropped: tuple[str, ...]


def command_flags(
    options: Mapping[str, object],
    chip: str,
    series: Series,
    adapter_knows: Collection[str],
    compiler_knows: Collection[str],
    a5: bool,
) -> CommandFlags:
    """The command-line flags under which the judge compiles for `chip`.

    `adapter_knows` and `compiler_knows` are flag names without dashes, from `--help`. An option
    whose flag is not among them is left out and named in `dropped`. Raises RequestError for an
    unknown option or a value that no flag can carry.
    """
    values = {option.name: option.default for option in _OPTIONS} | dict(options)
    dropped: list[str] = []
    passed: dict[str, str] = {}
    for name, value in values.items():
        if name in INERT:
            continue
        option = _known(name)
        if value is None or option.flag is None:
            continue
        known = adapter_knows if option.stage == "adapter" else compiler_knows
        if option.flag in known:
            passed[option.flag] = _spelt(option, value)
        elif name in options:
            dropped.append(name)
    compiler = [f"--target={chip}"]
    compiler += [
        f"--{option.flag}={passed[option.flag]}"
        for option in _OPTIONS
        if option.stage == "compiler" and option.flag in passed
    ]
    # On A2 and A3 triton-ascend asks for HIVM by name; the a5 binary goes there by itself.
    fixed = ["enable-hfusion-compile", "enable-triton-kernel-compile", "enable-debug-info"]
    fixed += [] if a5 else ["enable-hivm-compile", "enable-memory-display"]
    compiler += [f"--{flag}=true" for flag in fixed if flag in compiler_knows]
    # With MLIR's own threading on, the compiler's verdict is not deterministic.
    compiler += ["--mlir-disable-threading"]
    return CommandFlags(
        tuple(_adapter(passed, series, adapter_knows)), tuple(compiler), tuple(dropped)
    )


def _adapter(passed: Mapping[str, str], series: Series, known: Collection[str]) -> list[str]:
    """The pass list of triton-ascend's `ttir_to_linalg`, less what this adapter does not have."""
    arch = f"compile-on-910-95={series == '950'}"
    simt = "force-simt-template=False"
    passes: list[tuple[str, list[str]]] = [
        ("discrete-mask-access-conversion", [arch, simt]),
        ("triton-to-annotation", []),
        ("triton-to-unstructure", [arch, simt]),
        ("triton-to-hivm", []),
        ("triton-to-hfusion", []),
        ("triton-to-llvm", []),
        ("bubble-up-operation", []),
        (
            "triton-to-linalg",
            [
                "global-kernel=false",
                "named-ops=True",
                *(
                    f"{flag}={passed[flag].capitalize()}"
                    for flag in ("enable-nd2nz-on-vector", "enable-select-analysis")
                    if flag in passed
                ),
                arch,
            ],
        ),
    ]
    if passed.get("triton-linearize") == "true":
        passes.insert(0, ("triton-linearize", []))
    flags = []
    for name, settings in passes:
        if name in known:
            kept = [setting for setting in settings if setting.split("=")[0] in known]
            flags.append(f"--{name}" + (f"={' '.join(kept)}" if kept else ""))
    return [*flags, "--mlir-print-debuginfo"]


def _spelt(option: CompileOption, value: object) -> str:
    if option.values == _SWITCH:
        if value in (0, 1):  # bool, or 0/1 as JSON and the command line may give it
            return str(bool(value)).lower()
    elif isinstance(value, str) and isinstance(option.values[0], str):
        if value in option.values:
            return value
    elif isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return str(value)
    allowed = ", ".join(map(str, option.values))
    raise RequestError(f"compile option {option.name}={value!r}: use one of {allowed}")


def check_option(name: str, value: object) -> object:
    """The value, if an option of that name can take it. Raises RequestError otherwise."""
    _spelt(_known(name), value)
    return value


def _known(name: str) -> CompileOption:
    option = OPTIONS.get(name)
    if option is None:
        raise RequestError(_unknown(name))
    return option


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, [*OPTIONS, *INERT], 1)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(sorted(OPTIONS))}"
    return f"unknown compile option {name!r}; {hint}"

"""A request with every part settled: given, taken from the kernel's last call, or assumed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from ascend_autotune.analysis import rules
from ascend_autotune.analysis.assumptions import (
    Assumption,
    assume_constants,
    assume_types,
    smallest_tile,
)
from ascend_autotune.analysis.calling import bind_call
from ascend_autotune.analysis.grid import Grid, grid_shape
from ascend_autotune.analysis.space import LAUNCH_FIELDS, Space, make_space

if TYPE_CHECKING:
    from ascend_autotune.analysis.chips import Chip
    from ascend_autotune.analysis.kernel import KernelInfo, KernelInstance
    from ascend_autotune.analysis.options import CompileOptions

TargetSource = Literal["given", "active device", "assumed"]
RECORD = "__ascend_autotune_record__"
"""Where the hook leaves what it knows of a kernel's last call: a plain dict with signature,
constants, target, compile_options, grid and search, each of which may be missing."""


@dataclass(frozen=True)
class Request:
    """One kernel, its types and constants, a chip, compile options and a grid.

    `tile` holds the constants that are a candidate rather than a fact of the problem.
    """

    kernel: object
    info: KernelInfo
    signature: Mapping[str, str]
    constants: Mapping[str, object]
    chip: Chip
    target_source: TargetSource
    compile_options: Mapping[str, object]
    grid: Grid | None
    assumptions: tuple[Assumption, ...] = ()

    def space(self, values: Mapping[str, Iterable[object]]) -> Space:
        """Check a search space against this kernel. Raises `RequestError`."""
        return make_space(
            values,
            kernel=self.info.name,
            arguments=self.info.arguments,
            constexprs=self.info.constexprs,
            options=option_names(),
            constants=self.constants,
        )

    def instance(self, tile: Mapping[str, object]) -> KernelInstance:
        from ascend_autotune.analysis.kernel import make_instance

        return make_instance(self.kernel, self.signature, {**self.constants, **tile}, self.chip)

    def options(self, fields: Mapping[str, object]) -> CompileOptions:
        """The compile options of a candidate with these fields of triton.Config."""
        from ascend_autotune.analysis.options import CompileOptions

        asked = {**self.compile_options, **fields}
        reaching = {k: v for k, v in asked.items() if k not in LAUNCH_FIELDS}
        effects = rules.reaches_compiler(asked, num_stages_matters=num_stages_matters())
        return CompileOptions.from_request({**dict(effects), **reaching})

    def assuming(self, notes: Sequence[Assumption]) -> Request:
        """This request with other assumptions in place of its own."""
        types = {n: str(v) for note in notes if note.kind == "type" for n, v in note.values.items()}
        values = {n: v for note in notes if note.kind == "constant" for n, v in note.values.items()}
        return replace(
            self,
            signature={**self.signature, **types},
            constants={**self.constants, **values},
            assumptions=tuple(notes),
        )

    def grid_of(self, candidate: Mapping[str, object]) -> tuple[int, ...] | None:
        if self.grid is None:
            return None
        return grid_shape(self.grid, {**self.constants, **candidate})


def resolve(
    kernel: object,
    signature: Mapping[str, str] | None = None,
    constants: Mapping[str, object] | None = None,
    target: str | None = None,
    compile_options: Mapping[str, object] | None = None,
    grid: Grid | None = None,
) -> Request:
    """A request in which only the signature may come from the kernel's last call."""
    from ascend_autotune.analysis.kernel import describe

    info = describe(kernel)
    record = record_of(kernel)
    chip, source = resolve_target(target, record)
    if signature is None:
        signature = {name: str(kind) for name, kind in _mapping(record, "signature").items()}
        constants = {
            **{
                k: v
                for k, v in _mapping(record, "constants").items()
                if k in info.arguments and k not in info.constexprs
            },
            **(constants or {}),
        }
    return Request(
        kernel,
        info,
        dict(signature),
        dict(constants or {}),
        chip,
        source,
        dict(compile_options or {}),
        grid,
    )


def resolve_call(
    kernel: object,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    space: Mapping[str, Sequence[object]] | None,
    signature: Mapping[str, str] | None,
    constants: Mapping[str, object] | None,
    target: str | None,
    compile_options: Mapping[str, object] | None,
    grid: Grid | None,
) -> Request:
    """A request in which everything may be missing: see design.md, `explain(kernel)` alone."""
    from ascend_autotune.analysis.kernel import describe, unwrap
    from ascend_autotune.analysis.source import roles

    info = describe(kernel)
    function = unwrap(kernel)
    record = record_of(kernel)
    chip, source = resolve_target(target, record)
    call = bind_call(
        info.name,
        info.arguments,
        info.constexprs,
        (*LAUNCH_FIELDS, *option_names()),
        [p.name for p in function.params if p.do_not_specialize],
        args,
        kwargs,
    )
    types: dict[str, str] = {**call.signature, **(signature or {})}
    values: dict[str, object] = {**call.constants, **(constants or {})}
    for name in call.constants:
        if signature and name in signature and name not in (constants or {}):
            del values[name]  # a type given by name goes before what an argument looked like
    notes: list[Assumption] = []

    def missing(names: Iterable[str]) -> list[str]:
        return [name for name in names if name not in types and name not in values]

    searched = dict(space or {})
    tile = smallest_tile(info.configs, {**info.search_params, **searched})
    last = {**_mapping(record, "signature"), **_mapping(record, "constants")}
    recorded = [n for n in missing(info.arguments) if n in last and n not in searched]
    if recorded:
        for name in recorded:
            if name in _mapping(record, "constants"):
                values[name] = last[name]
            else:
                types[name] = str(last[name])
        taken = {name: last[name] for name in recorded}
        notes.append(Assumption("last call", taken, "as in the kernel's last call"))
    seen = roles(function)
    annotated = {name: kind for name, kind in info.annotations.items() if name not in values}
    runtime = [name for name in info.arguments if name not in info.constexprs]
    for name in missing(runtime):
        if name in annotated:
            types[name] = annotated[name]
    guessed, type_notes = assume_types(missing(runtime), seen)
    types.update(guessed)
    computed = set(info.heuristics)
    wanted = [name for name in missing(info.constexprs) if name not in computed]
    assumed, constant_notes = assume_constants(wanted, seen, tile, info.defaults)
    values.update(assumed)
    return Request(
        kernel,
        info,
        types,
        values,
        chip,
        source,
        {**_mapping(record, "compile_options"), **(compile_options or {}), **call.options},
        grid if grid is not None else record.get("grid"),  # type: ignore[arg-type]
        (*notes, *type_notes, *constant_notes),
    )


def record_of(kernel: object) -> Mapping[str, object]:
    """The hook's record on the kernel or on what it wraps; empty where there is none."""
    seen = 0
    while kernel is not None and seen < 8:
        record = getattr(kernel, "__dict__", {}).get(RECORD)
        if isinstance(record, Mapping):
            return record
        kernel, seen = getattr(kernel, "fn", None), seen + 1
    return {}


def _mapping(record: Mapping[str, object], key: str) -> Mapping[str, object]:
    part = record.get(key)
    return part if isinstance(part, Mapping) else {}


def resolve_target(target: str | None, record: Mapping[str, object]) -> tuple[Chip, TargetSource]:
    """The chip asked for, else that of the last call or the active device, else the default."""
    from ascend_autotune.analysis.chips import CHIPS, DEFAULT_CHIP, chip

    if target is not None:
        return chip(target), "given"
    for found in (record.get("target"), _active_chip()):
        if isinstance(found, str) and found in CHIPS:
            return chip(found), "active device"
    return chip(DEFAULT_CHIP), "assumed"


def _active_chip() -> str | None:
    """The chip that the active driver of triton-ascend names; None where there is no device."""
    from ascend_autotune.analysis.flavour import detect

    if not detect().ascend:
        return None  # another flavour's driver cannot name an Ascend chip: do not wake its device
    try:
        from triton.runtime import driver
    except ImportError:
        return None
    # Looking for a device that is not there takes as long as tracing a kernel: look again
    # only once another driver object has been put in place.
    return _probe(tuple(id(part) for part in vars(driver).values()))


@lru_cache(maxsize=4)
def _probe(_drivers: tuple[int, ...]) -> str | None:
    from triton.runtime import driver

    from ascend_autotune.analysis.hostdriver import HostDriver

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on tools that only a device's machine has
            active = driver.active.get_current_target()
            if isinstance(driver.active, HostDriver):
                return None
    except Exception:
        return None  # no driver, or one that cannot find its device
    return str(active.arch) if getattr(active, "backend", "") == "npu" else None


def option_names() -> tuple[str, ...]:
    from ascend_autotune.analysis.judge.flags import OPTIONS

    return tuple(name for name in OPTIONS if name not in LAUNCH_FIELDS)


def num_stages_matters() -> bool:
    """Whether num_stages=1 switches multi-buffering off (facts.md §4: not in 3.2.0).

    Another flavour of Triton stands for triton-ascend 3.2.0.
    """
    from ascend_autotune.analysis.flavour import detect

    flavour = detect()
    return flavour.ascend and not flavour.version.startswith("3.2.0")

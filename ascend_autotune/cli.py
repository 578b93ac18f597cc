"""The command `ascend-autotune`: explain and prune, in the words of the Python functions.

Exit codes: 0 something can run, 1 nothing can, 2 the request is wrong (one line on stderr).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, TypeVar

from ascend_autotune._version import __version__
from ascend_autotune.errors import AscendAutotuneError, RequestError

T = TypeVar("T")
OK, NOTHING_RUNS, WRONG_REQUEST = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (None: this process's) and return its exit code."""
    try:
        options = _parser().parse_args(argv)
        # What a kernel's module prints must not get into the report, nor what Triton warns of.
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            if not sys.warnoptions:
                warnings.simplefilter("ignore")
            text, code = options.run(options)
    except AscendAutotuneError as error:
        # One line, whatever the message: it may carry a front end's own text.
        message = error.on_command_line if isinstance(error, RequestError) else str(error)
        print(f"ascend-autotune: {' '.join(message.split())}", file=sys.stderr)
        return WRONG_REQUEST
    except Exception:
        # A fault of ours: the traceback helps to mend it, and 1 would say that nothing can run.
        traceback.print_exc()
        return WRONG_REQUEST
    try:
        print(text, flush=True)
    except BrokenPipeError:  # such as `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(code)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as everything else here does."""

    def error(self, message: str) -> NoReturn:
        raise RequestError(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="ascend-autotune",
        description="What a Triton kernel is to an Ascend chip, and which tiles cannot fit; "
        "nothing is launched and no NPU is needed.",
        epilog="Exit codes: 0 something can run, 1 nothing can, 2 the request is wrong.",
    )
    parser.add_argument("--version", action="version", version=f"ascend-autotune {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    explain = commands.add_parser(
        "explain",
        help="what kind of kernel it is, what a tile takes, what binds, what would fit",
        description="Explain one tile of a kernel. What is not given is assumed, and said so.",
    )
    explain.set_defaults(run=_explain)
    prune = commands.add_parser(
        "prune",
        help="which candidates of a space can run, which cannot, and why",
        description="Give every candidate of a space a verdict.",
    )
    prune.set_defaults(run=_prune)
    for command in (explain, prune):
        _arguments(command)
    prune.add_argument(
        "--exact",
        action="store_true",
        help="ask the Ascend compiler about what would stay undecided",
    )
    return parser


def _arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "kernel", metavar="FILE_OR_MODULE:KERNEL", help="such as examples/matmul.py:matmul_kernel"
    )
    command.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=TYPE",
        help="a runtime argument's type: *fp16, i32, i32:16 (divisible by 16), ...",
    )
    command.add_argument(
        "--const",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a constexpr, or an argument that always has this value (a stride of 1): an "
        "integer, a float, true, false, None, a dtype such as fp16, or a string",
    )
    command.add_argument(
        "--space",
        action="append",
        default=[],
        metavar="NAME=16,32,64",
        help="the values of one searched parameter",
    )
    command.add_argument(
        "--target", metavar="NAME", help="the chip; not given: the active device, else Ascend910B3"
    )
    command.add_argument(
        "--compile-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a compile option, such as multibuffer=false",
    )
    command.add_argument(
        "--grid", metavar="EXPR", help="the launch grid, such as 'cdiv(4096, BLOCK), 8'"
    )
    command.add_argument("--json", action="store_true", help="print JSON instead of text")


def _explain(options: argparse.Namespace) -> tuple[str, int]:
    import ascend_autotune

    request = _request(options)
    space = _space(options)
    report = ascend_autotune.explain(_load(options.kernel), space=space or None, **request)  # type: ignore[arg-type]
    text = _json(report.to_json()) if options.json else str(report)
    return text, NOTHING_RUNS if report.verdict.status == "infeasible" else OK


def _prune(options: argparse.Namespace) -> tuple[str, int]:
    import ascend_autotune

    request = _request(options)
    space = _space(options)
    if not space:
        raise RequestError("prune needs a space: name at least one, such as --space BLOCK=16,32,64")
    result = ascend_autotune.prune(
        _load(options.kernel),
        space=space,
        exact=options.exact,
        **request,  # type: ignore[arg-type]
    )
    text = _json(result.to_json()) if options.json else str(result)
    return text, OK if len(result.survivors) else NOTHING_RUNS


def _load(name: str) -> object:
    from ascend_autotune.analysis.loading import load_kernel

    return load_kernel(name)


def _request(options: argparse.Namespace) -> dict[str, object]:
    from ascend_autotune.analysis.grid import parse_grid

    return {
        "signature": _pairs("--arg", "NAME=TYPE", options.arg, str) or None,
        "constants": _pairs("--const", "NAME=VALUE", options.const, constant),
        "target": options.target,
        "compile_options": _pairs("--compile-option", "NAME=VALUE", options.compile_option, plain),
        "grid": None if options.grid is None else parse_grid(options.grid),
    }


def _space(options: argparse.Namespace) -> dict[str, list[object]]:
    def values(text: str) -> list[object]:
        return [plain(part.strip()) for part in text.split(",") if part.strip()]

    return _pairs("--space", "NAME=16,32,64", options.space, values)


def _pairs(option: str, form: str, given: Sequence[str], read: Callable[[str], T]) -> dict[str, T]:
    found: dict[str, T] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name:
            raise RequestError(f"{option} {text!r} cannot be read: write it as {form}")
        if name in found:
            raise RequestError(f"{option} {name} is given twice: give it once")
        found[name] = read(value)
    return found


def plain(text: str) -> object:
    """An integer, a float, true, false or None where the text is one; else the text itself."""
    words: Mapping[str, object] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (lambda t: int(t, 0), float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'\"") if len(text) > 1 and text[0] == text[-1] in "'\"" else text


def constant(text: str) -> object:
    """A constexpr's value: as `plain`, and a dtype by Triton's name for it (fp16, tl.int32)."""
    value = plain(text)
    if not isinstance(value, str) or value != text:
        return value
    name = text.removeprefix("tl.")
    known = {"fp16": "float16", "fp32": "float32", "fp64": "float64", "bf16": "bfloat16"}
    known |= {f"i{n}": f"int{n}" for n in (1, 8, 16, 32, 64)}
    known |= {f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)}
    known |= {"fp8e4nv": "float8e4nv", "fp8e5": "float8e5"}
    name = known.get(name, name if text.startswith("tl.") or name in known.values() else "")
    if not name:
        return value
    import triton.language as tl

    return getattr(tl, name, value)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, default=str)


if __name__ == "__main__":
    sys.exit(main())

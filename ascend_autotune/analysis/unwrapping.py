"""What a kernel is once its wrappers are taken off, and what they and it say of themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ascend_autotune.analysis.flavour import detect
from ascend_autotune.errors import FlavourError, RequestError

Heuristic = Callable[[dict[str, Any]], Any]
# How wrappers name what they wrap: functools.wraps (first, for it copies the attributes of what
# it wraps, `fn` among them), triton.autotune and triton.heuristics, FlagGems' libentry.
_INNER = ("__wrapped__", "fn", "jit_function")
_MAX_WRAPPERS = 32


@dataclass(frozen=True)
class KernelInfo:
    """What a kernel says of itself, wrappers included.

    `arguments` are all parameters in order, `constexprs` those that are tl.constexpr.
    `heuristics` are in the order in which a launch applies them. `configs` are the keyword
    values of the handwritten configs, `search_params` the values to search, both as found on
    the wrappers. `annotations` are the types that the function's own annotations give.
    `file` and `line` are where its `def` stands.
    """

    name: str
    arguments: tuple[str, ...]
    constexprs: tuple[str, ...]
    defaults: Mapping[str, object]
    annotations: Mapping[str, str]
    heuristics: Mapping[str, Heuristic]
    configs: tuple[Mapping[str, object], ...]
    search_params: Mapping[str, Sequence[object]]
    file: str
    line: int


def unwrap(kernel: object) -> Any:
    """The `triton.runtime.JITFunction` inside heuristics, autotuners and libentry-like wrappers.

    Raises `RequestError` where there is none.
    """
    *_, inner = _layers(kernel)
    if isinstance(inner, _jit_function()):
        return inner
    if type(inner).__name__ == "InterpretedFunction":
        raise RequestError(
            f"{_called(kernel)} was decorated under TRITON_INTERPRET=1, which leaves nothing to "
            f"compile: unset it and start again"
        )
    raise RequestError(f"{_called(kernel)} is no Triton kernel: decorate it with @triton.jit")


def describe(kernel: object) -> KernelInfo:
    """What a kernel says of itself. Raises `RequestError` where it is none."""
    function = unwrap(kernel)
    heuristics: dict[str, Heuristic] = {}
    configs: list[Mapping[str, object]] = []
    searched: dict[str, Sequence[object]] = {}
    for layer in _layers(kernel):
        if inspect.isfunction(layer):
            continue  # its attributes are copies of the next layer's, made by functools.wraps
        own = getattr(layer, "__dict__", {})
        if "arg_names" in own and isinstance(own.get("values"), Mapping):  # triton.heuristics
            for name, heuristic in own["values"].items():
                heuristics.pop(name, None)  # the inner one comes later and wins
                heuristics[name] = heuristic
        for config in own.get("configs") or ():
            if getattr(config, "kwargs", None):
                configs.append(dict(config.kwargs))
        if isinstance(own.get("search_params"), Mapping):
            searched.update(own["search_params"])
    file, line = source_of(function)
    return KernelInfo(
        name=function.__name__,
        arguments=tuple(function.arg_names),
        constexprs=constexprs_of(function),
        defaults=defaults_of(function),
        annotations=annotations_of(function),
        heuristics=heuristics,
        configs=tuple(configs),
        search_params=searched,
        file=file,
        line=line,
    )


def apply_heuristics(info: KernelInfo, values: Mapping[str, object]) -> dict[str, object]:
    """`values` and what the kernel's heuristics compute from them; a value given wins.

    Raises `RequestError` for a heuristic that needs what only a launch has.
    """
    return compute(info.name, info.heuristics, values)


@cache
def source_of(function: Any) -> tuple[str, int]:
    """The file of a jit function and the line of its `def`."""
    lines, first = inspect.getsourcelines(function.fn)
    offset = next((i for i, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return function.fn.__code__.co_filename, first + offset


def constexprs_of(function: Any) -> tuple[str, ...]:
    return tuple(p.name for p in function.params if p.is_constexpr)


def defaults_of(function: Any) -> dict[str, object]:
    return {p.name: p.default for p in function.params if p.has_default}


def annotations_of(function: Any) -> dict[str, str]:
    """Types of runtime arguments annotated `tl.int32` and the like, in Triton's notation."""
    found = {}
    for parameter in function.signature.parameters.values():
        if parameter.annotation is inspect.Parameter.empty:
            continue
        annotated = parameter.annotation
        text = annotated if isinstance(annotated, str) else getattr(annotated, "name", "")
        kind = _ANNOTATED.get(str(text).strip("'\"").rpartition(".")[2])
        if kind is not None:
            found[parameter.name] = kind
    return found


_ANNOTATED = {
    "int1": "i1",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"fp{bits}" for bits in (16, 32, 64)},
    "bfloat16": "bf16",
    # The names that the dtype objects themselves carry.
    **{name: name for name in ("fp16", "bf16", "fp32", "fp64")},
}


def compute(
    kernel: str, heuristics: Mapping[str, Heuristic], values: Mapping[str, object]
) -> dict[str, object]:
    known = dict(values)
    for name, heuristic in heuristics.items():
        if name in known:
            continue
        try:
            known[name] = heuristic(dict(known))
        except Exception as error:
            needs = f"it needs {error}" if isinstance(error, KeyError) else repr(error)
            raise RequestError(
                f"constants: the heuristic for {name} of {kernel} cannot be computed here "
                f"({needs}): give the value of {name} in constants"
            ) from error
    return known


def _layers(kernel: object) -> Iterator[object]:
    """The kernel and what it wraps, from the outside in, down to the jit function."""
    jit = _jit_function()
    for _ in range(_MAX_WRAPPERS):
        yield kernel
        if isinstance(kernel, jit):
            return
        own = getattr(kernel, "__dict__", {})
        inner = next((own[name] for name in _INNER if own.get(name) is not None), None)
        # An interpreted kernel wraps the Python function: it is itself the innermost kernel.
        if inner is None or (inspect.isfunction(inner) and not hasattr(inner, "__wrapped__")):
            return
        kernel = inner


@cache
def _jit_function() -> type:
    flavour = detect()
    try:
        from triton.runtime.jit import JITFunction
    except ImportError as error:
        raise FlavourError(
            f"{flavour} is installed but cannot be imported: {error}"
            + ("; pip install pybind11" if "pybind11" in str(error) else "")
        ) from error
    return JITFunction  # type: ignore[no-any-return]


def _called(kernel: object) -> str:
    return str(getattr(kernel, "__name__", None) or f"an object of type {type(kernel).__name__}")

"""A kernel, and one instance of it: the function, its types, constants and chip, all checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import Any

from ascend_autotune.analysis.calling import Call, bind_call
from ascend_autotune.analysis.chips import Chip
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.signature import is_descriptor, parse_type
from ascend_autotune.analysis.suggest import did_you_mean
from ascend_autotune.errors import FlavourError, RequestError

Heuristic = Callable[[dict[str, Any]], Any]
_NOTHING: Mapping[str, Any] = MappingProxyType({})
# How wrappers name what they wrap: triton.autotune and triton.heuristics, FlagGems' libentry,
# functools.wraps.
_INNER = ("fn", "jit_function", "__wrapped__")
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


@dataclass(frozen=True)
class KernelInstance:
    """One program to trace.

    `signature` gives the bare type of each runtime argument that is not specialised to a
    value; `divisible` names those known to be multiples of 16. `constants` may lack constexprs
    until `with_constants` brings them; `complete` fills in what has a default or a heuristic.
    """

    function: Any
    name: str
    signature: Mapping[str, str]
    constants: Mapping[str, object]
    divisible: frozenset[str]
    chip: Chip
    heuristics: Mapping[str, Heuristic] = field(default_factory=dict)

    def with_constants(self, values: Mapping[str, object]) -> KernelInstance:
        """The instance with these constants besides its own. Raises `RequestError`."""
        if not values:
            return self
        _check_names("constants", values, self.name, self.function.arg_names)
        _check_once(self.signature, values)
        return replace(self, constants={**self.constants, **values})

    def complete(self) -> KernelInstance:
        """The instance with every constexpr given, in the order of the parameters.

        Raises `RequestError` naming those that have neither value, default nor heuristic.
        """
        defaults, constexprs = _defaults(self.function), _constexprs(self.function)
        known = {name: value for name, value in defaults.items() if name in constexprs}
        # A launch computes a heuristic's parameter even where it has a default.
        for name in self.heuristics:
            known.pop(name, None)
        known = _computed(self.name, self.heuristics, {**known, **self.constants})
        names: list[str] = list(self.function.arg_names)
        missing = [name for name in names if name not in known and name not in self.signature]
        if missing:
            raise RequestError(
                f"constants: {self.name} needs a value for {', '.join(missing)}; write "
                f"constants={_paste(dict.fromkeys(missing, 64))} with your values"
            )
        return replace(self, constants={name: known[name] for name in names if name in known})


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
        constexprs=_constexprs(function),
        defaults=_defaults(function),
        annotations=_annotations(function),
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
    return _computed(info.name, info.heuristics, values)


def make_instance(
    kernel: object,
    signature: Mapping[str, str] | None,
    constants: Mapping[str, object] | None,
    chip: Chip,
) -> KernelInstance:
    """Check a request against the kernel and make an instance of it.

    Constexprs may be missing still: `KernelInstance.with_constants` adds them. Raises
    `RequestError` for unknown names and types, missing signature entries, and a parameter
    that stands in both signature and constants.
    """
    info = describe(kernel)
    function = unwrap(kernel)
    asked = _mapping("signature", signature)
    values = dict(_mapping("constants", constants))
    _check_names("signature", asked, info.name, info.arguments)
    _check_names("constants", values, info.name, info.arguments)
    types: dict[str, str] = {}
    divisible = set()
    for name in [name for name in info.arguments if name in asked]:
        if name in info.constexprs:
            if asked[name] == "constexpr":
                continue  # Triton's own way to leave it to the constants
            raise RequestError(
                f"signature: {name} is a tl.constexpr of {info.name}: give its value in constants"
            )
        types[name], is_divisible = parse_type(name, asked[name])
        if is_descriptor(types[name]) and not _takes_descriptors():
            raise RequestError(
                f"signature: {name} is {asked[name]!r}, but {detect()} takes no tensor descriptors "
                f"as arguments: make them in the kernel, or install Triton 3.5 or later"
            )
        if is_divisible:
            divisible.add(name)
    _check_once(types, values)
    runtime = [name for name in info.arguments if name not in info.constexprs]
    left_out = [name for name in runtime if name not in types and name not in values]
    defaults = _specialised(info, function, [name for name in left_out if name in info.defaults])
    for name, text in defaults.signature.items():
        types[name], is_divisible = parse_type(name, text)
        divisible |= {name} if is_divisible else set()
    values.update(defaults.constants)
    missing = [name for name in left_out if name not in info.defaults]
    if missing:
        raise RequestError(
            f"signature: {info.name} needs the types of {', '.join(missing)}; write, with your "
            f"types, signature={_paste({**types, **_likely(function, missing)})}"
        )
    return KernelInstance(
        function, info.name, types, values, frozenset(divisible), chip, info.heuristics
    )


@cache
def source_of(function: Any) -> tuple[str, int]:
    """The file of a jit function and the line of its `def`."""
    lines, first = inspect.getsourcelines(function.fn)
    offset = next((i for i, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return function.fn.__code__.co_filename, first + offset


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


def _constexprs(function: Any) -> tuple[str, ...]:
    return tuple(p.name for p in function.params if p.is_constexpr)


def _defaults(function: Any) -> dict[str, object]:
    return {p.name: p.default for p in function.params if p.has_default}


def _specialised(info: KernelInfo, function: Any, names: Sequence[str]) -> Call:
    """What a launch that leaves these runtime arguments to their defaults would make of them."""
    return bind_call(
        info.name,
        info.arguments,
        info.constexprs,
        (),
        [p.name for p in function.params if p.do_not_specialize],
        (),
        {name: info.defaults[name] for name in names},
    )


def _annotations(function: Any) -> dict[str, str]:
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


def _computed(
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


def _mapping(field_name: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if given is None:
        return _NOTHING
    if not isinstance(given, Mapping):
        raise RequestError(f"{field_name} is {given!r}: give a dict by parameter name")
    return given


def _check_names(
    field_name: str, names: Iterable[str], kernel: str, arguments: Sequence[str]
) -> None:
    for name in names:
        if name not in arguments:
            meant = did_you_mean(str(name), arguments)
            raise RequestError(f"{field_name}: {kernel} has no parameter {name!r}{meant}")


def _check_once(types: Iterable[str], values: Mapping[str, object]) -> None:
    for name in types:
        if name in values:
            raise RequestError(
                f"{name} stands in signature and in constants: keep its type where it is a "
                f"runtime argument, its value where it is specialised to it"
            )


def _takes_descriptors() -> bool:
    import triton.language as tl

    return hasattr(tl.core, "tensor_descriptor_type")


def _likely(function: Any, names: Sequence[str]) -> dict[str, str]:
    """A type for each name, by how the kernel uses it: a form to fill in, never used as it is."""
    from ascend_autotune.analysis.assumptions import assume_types
    from ascend_autotune.analysis.source import roles

    annotated = _annotations(function)
    guessed, _ = assume_types([name for name in names if name not in annotated], roles(function))
    return {name: annotated.get(name) or guessed[name] for name in names}


def _paste(values: Mapping[str, object]) -> str:
    """A dict as Python source, in double quotes as the documentation writes it."""
    import json

    return json.dumps(values)

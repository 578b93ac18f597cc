"""One instance of a kernel: the function, its types, constants and chip, all checked."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ascend_autotune.analysis.calling import Call, bind_call
from ascend_autotune.analysis.chips import Chip
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.signature import is_descriptor, parse_type
from ascend_autotune.analysis.suggest import did_you_mean
from ascend_autotune.analysis.unwrapping import (
    Heuristic,
    KernelInfo,
    annotations_of,
    apply_heuristics,
    compute,
    constexprs_of,
    defaults_of,
    describe,
    source_of,
    unwrap,
)
from ascend_autotune.errors import RequestError

__all__ = [
    "KernelInfo",
    "KernelInstance",
    "apply_heuristics",
    "describe",
    "make_instance",
    "source_of",
    "unwrap",
]

_NOTHING: Mapping[str, Any] = MappingProxyType({})


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
        defaults, constexprs = defaults_of(self.function), constexprs_of(self.function)
        known = {name: value for name, value in defaults.items() if name in constexprs}
        # A launch computes a heuristic's parameter even where it has a default.
        for name in self.heuristics:
            known.pop(name, None)
        known = compute(self.name, self.heuristics, {**known, **self.constants})
        names: list[str] = list(self.function.arg_names)
        missing = [name for name in names if name not in known and name not in self.signature]
        if missing:
            raise RequestError(
                f"constants: {self.name} needs a value for {', '.join(missing)}; write "
                f"constants={_paste(dict.fromkeys(missing, 64))} with your values"
            )
        return replace(self, constants={name: known[name] for name in names if name in known})


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
        wanted = f"{info.name} needs the types of {', '.join(missing)}; write, with your types,"
        likely = _likely(function, missing)
        raise RequestError(
            f"signature: {wanted} signature={_paste({**asked, **likely})}",
            f"{wanted} {_options(likely)}",
        )
    return KernelInstance(
        function, info.name, types, values, frozenset(divisible), chip, info.heuristics
    )


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

    annotated = annotations_of(function)
    guessed, _ = assume_types([name for name in names if name not in annotated], roles(function))
    return {name: annotated.get(name) or guessed[name] for name in names}


def _options(types: Mapping[str, str]) -> str:
    """Types as options of the command line; a shell would take `*fp16` for a pattern."""
    return " ".join(f"--arg {shlex.quote(f'{name}={kind}')}" for name, kind in types.items())


def _paste(values: Mapping[str, object]) -> str:
    """A dict as Python source, in double quotes as the documentation writes it."""
    return json.dumps(values)

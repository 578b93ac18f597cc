"""What a call is, as far as a tuned config depends on it, read as cheaply as can be.

Triton's own cached call makes two dicts and asks each tensor for `str(dtype)`; the reader made
here knows where each argument stands and makes one tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Token = tuple[object, ...]
Reader = Callable[[Sequence[Any], Mapping[str, Any]], Token]
# Given by `kernel[grid](...)`, or about where to run: nothing of the program.
_NO_PART = frozenset({"grid", "warmup", "stream", "debug", "device", "device_type"})


@dataclass(frozen=True)
class Shape:
    """Which arguments of a call count by value, and which by type and specialisation.

    `keyed` are the names in `key`, `fixed` the constexprs.
    """

    arguments: tuple[str, ...]
    keyed: frozenset[str]
    fixed: frozenset[str]
    buckets: Mapping[str, Callable[[Any], object]]


def specialisation(value: Any) -> object:
    """What Triton specialises a runtime argument on: its type, 1, divisibility by 16.

    Source: `triton/runtime/jit.py`. None stands for itself.
    """
    kind = type(value)
    if kind is int:
        return value if value == 1 else (value & 15 == 0, value.bit_length() > 31)
    try:
        return value.dtype, value.data_ptr() & 15 == 0
    except AttributeError:
        if kind is tuple:
            return tuple(map(specialisation, value))
        return value if value is None else kind


def make_reader(shape: Shape, count: int, names: Collection[str]) -> Reader:
    """A function from the arguments of a call to a hashable token.

    It serves calls with `count` positional arguments and these keyword names. Equal tokens
    mean: the same key and the same program for every config.
    """
    at = dict(enumerate(shape.arguments[:count]))
    whole = [i for i, name in at.items() if name in shape.fixed]
    part = [i for i, name in at.items() if name not in shape.fixed]
    valued = [i for i, name in at.items() if name in shape.keyed and name not in shape.fixed]
    named_whole = [
        name
        for name in names
        if name not in _NO_PART and (name in shape.fixed or name not in shape.arguments)
    ]
    named_part = [n for n in names if n in shape.arguments and n not in shape.fixed]
    named_valued = [name for name in named_part if name in shape.keyed]
    bucket_at = [shape.buckets.get(at[i], _itself) for i in valued]
    bucket_named = [shape.buckets.get(name, _itself) for name in named_valued]
    plain = all(f is _itself for f in (*bucket_at, *bucket_named))
    from triton.runtime.driver import driver

    def read(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Token:
        token: list[object] = [id(driver.active)]
        for i in part:
            token.append(specialisation(args[i]))
        for i in whole:
            token.append(args[i])
        if plain:
            for i in valued:
                token.append(args[i])
        else:
            for i, bucket in zip(valued, bucket_at, strict=True):
                token.append(bucket(args[i]))
        for name in named_whole:
            token.append(kwargs[name])
        for name in named_part:
            token.append(specialisation(kwargs[name]))
        for name, bucket in zip(named_valued, bucket_named, strict=True):
            token.append(bucket(kwargs[name]))
        return tuple(token)

    return read


def _itself(value: object) -> object:
    return value


def options_of(arguments: Collection[str], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The launch options among the keywords of a call: what is no argument of the kernel."""
    return {n: v for n, v in kwargs.items() if n not in arguments and n not in _NO_PART}

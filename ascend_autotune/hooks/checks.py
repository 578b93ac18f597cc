"""Checks of single values in `hints`; each names what is wrong and the mend."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ascend_autotune.analysis.suggest import did_you_mean
from ascend_autotune.errors import RequestError

# As torch names them.
_DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "bool"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)


def integers(where: str, given: object) -> tuple[int, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise RequestError(f"search_params: {where} is {given!r}: give a list such as [32, 64]")
    listed = tuple(dict.fromkeys(integer(where, value, 1) for value in given))
    if not listed:
        raise RequestError(f"search_params: {where} is empty: give a list such as [32, 64]")
    return listed


def integer(where: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise RequestError(
            f"search_params: {where} has {value!r}: give an integer of at least {least}"
        )
    return int(value)


def positive(where: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise RequestError(f"search_params: {where} is {value!r}: give a number above 0")
    return float(value)


def flag(where: str, value: object) -> bool:
    if not isinstance(value, bool | int) or value not in (0, 1):
        raise RequestError(f"search_params: {where} is {value!r}: give True or False")
    return bool(value)


def one_of(where: str, value: object, allowed: Sequence[str]) -> Any:
    if value not in allowed:
        raise RequestError(
            f"search_params: {where} is {value!r}{did_you_mean(str(value), allowed)}"
        )
    return value


def function(where: str, value: object) -> Callable[..., object] | None:
    if value is not None and not callable(value):
        raise RequestError(f"search_params: {where} is {value!r}: give a function")
    return value


def tolerances(given: object) -> Mapping[str, tuple[float, float]] | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or not all(
        isinstance(pair, Sequence) and len(pair) == 2 for pair in given.values()
    ):
        raise RequestError(
            f"search_params: tolerances is {given!r}: give a dict of dtype to (relative, "
            f"absolute), such as {{'float16': (1e-2, 1e-2)}}"
        )
    pairs = {str(name): (float(pair[0]), float(pair[1])) for name, pair in given.items()}
    for name, pair in pairs.items():
        if name not in _DTYPES:
            raise RequestError(
                f"search_params: tolerances names no dtype: {name!r}{did_you_mean(name, _DTYPES)}"
            )
        if not min(pair) >= 0:
            raise RequestError(f"search_params: tolerances[{name!r}] is {pair}: give 0 or more")
    return pairs

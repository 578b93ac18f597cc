"""The space: which values each searched parameter may take, and the grid they span."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ascend_autotune.analysis.sequences import LazySequence
from ascend_autotune.analysis.suggest import did_you_mean
from ascend_autotune.errors import RequestError

# Fields of triton.Config that are not compile options. They reach no flag of the Ascend
# compiler except num_stages in some releases (facts.md §1 and §4).
LAUNCH_FIELDS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


@dataclass(frozen=True)
class Space:
    """Values per parameter, in the order given; the grid is their product in that order.

    `tiles` are the kernel's own tl.constexpr parameters, `fields` those of triton.Config.
    """

    values: dict[str, tuple[object, ...]]
    tiles: tuple[str, ...]
    fields: tuple[str, ...]

    def __len__(self) -> int:
        return math.prod(len(values) for values in self.values.values())

    @property
    def candidates(self) -> LazySequence[dict[str, object]]:
        """Every candidate, in the order of itertools.product, each made when looked at."""
        return LazySequence(len(self), self.candidate)

    def candidate(self, index: int) -> dict[str, object]:
        chosen = []
        for name, values in reversed(self.values.items()):
            index, digit = divmod(index, len(values))
            chosen.append((name, values[digit]))
        return dict(reversed(chosen))


def make_space(
    space: Mapping[str, Iterable[object]],
    *,
    kernel: str,
    arguments: Sequence[str],
    constexprs: Sequence[str],
    options: Sequence[str],
    constants: Iterable[str] = (),
) -> Space:
    """Check a space against the kernel `kernel` and make it.

    Raises `RequestError` for a space that is empty or not a mapping, an unknown name, a
    runtime argument, a name that `constants` fixes too, and a value that cannot be.
    """
    if not isinstance(space, Mapping):
        raise RequestError(f"space is {space!r}: give a dict such as {{'BLOCK': [16, 32]}}")
    if not space:
        raise RequestError(
            f"space is empty: name at least one parameter to search, such as "
            f"{next(iter(constexprs), 'num_stages')}=16,32,64"
        )
    fixed = set(constants)
    fields = (*LAUNCH_FIELDS, *options)
    checked: dict[str, tuple[object, ...]] = {}
    for name, values in space.items():
        if name not in constexprs and name not in fields:
            raise RequestError(_unknown(name, kernel, arguments, constexprs, fields))
        if name in fixed:
            raise RequestError(
                f"{name} stands in space and in constants: take it out of one of them"
            )
        checked[name] = _values(name, values, tile=name in constexprs)
    return Space(
        checked,
        tuple(name for name in checked if name in constexprs),
        tuple(name for name in checked if name not in constexprs),
    )


def _unknown(
    name: object,
    kernel: str,
    arguments: Sequence[str],
    constexprs: Sequence[str],
    fields: Sequence[str],
) -> str:
    if name in arguments:
        return (
            f"space: {name} is a runtime argument of {kernel}, so it cannot be searched: declare "
            f"it tl.constexpr, or search one of {', '.join(constexprs) or 'triton.Config'}"
        )
    return (
        f"space: {kernel} has no parameter {name!r}, nor has triton.Config"
        f"{did_you_mean(str(name), [*constexprs, *fields])}"
    )


def _values(name: str, values: Iterable[object], *, tile: bool) -> tuple[object, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise RequestError(f"space: {name} is {values!r}: give a list of values, such as [16, 32]")
    listed = tuple(values)
    if not listed:
        raise RequestError(f"space: {name} has no values: give at least one, such as [16, 32]")
    if not tile and name not in LAUNCH_FIELDS:
        return listed  # a compile option: CompileOptions checks what it may be
    return tuple(_positive(name, value) for value in listed)


def _positive(name: str, value: object) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = 0
    if number <= 0:
        raise RequestError(f"space: {name} has the value {value!r}: give positive integers only")
    return number

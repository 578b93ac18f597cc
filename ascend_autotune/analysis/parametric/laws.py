"""Laws: how an integer of a program follows from the parameters, from what it is at some points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np

from ascend_autotune.analysis.parametric.sym import Vector

Point = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Law:
    """`base * product((p_i / base_i) ** e_i) + offset`, exact in the integers."""

    base: int
    exponents: tuple[int, ...]
    offset: int = 0

    def at(self, columns: Sequence[Vector], origin: Point) -> Vector:
        up = np.full_like(columns[0], self.base)
        down = np.ones_like(up)
        for column, start, exponent in zip(columns, origin, self.exponents, strict=True):
            if exponent > 0:
                up, down = up * column**exponent, down * start**exponent
            elif exponent < 0:
                up, down = up * start**-exponent, down * column**-exponent
        return up // down + self.offset

    def number(self, point: Point, origin: Point) -> int:
        """`at` for one tile."""
        up, down = self.base, 1
        for value, start, exponent in zip(point, origin, self.exponents, strict=True):
            if exponent > 0:
                up, down = up * value**exponent, down * start**exponent
            elif exponent < 0:
                up, down = up * start**-exponent, down * value**-exponent
        return up // down + self.offset


def fit(numbers: Sequence[int], points: Sequence[Point]) -> Law | None:
    """The law through the numbers seen at the points; None where there is none.

    Point 0 is the origin. The law must hold at every point.
    """
    return _power(numbers, points) or _shifted(numbers, points)


def _shifted(numbers: Sequence[int], points: Sequence[Point]) -> Law | None:
    """A parameter, or a product of two, and a constant more: the last column is `W - 1`."""
    axes = range(len(points[0]))
    for factors in (*combinations(axes, 1), *combinations_with_replacement(axes, 2)):
        products = [math.prod(point[i] for i in factors) for point in points]
        offsets = {n - product for n, product in zip(numbers, products, strict=True)}
        if len(set(products)) > 1 and len(offsets) == 1 and 0 not in offsets:
            return Law(products[0], tuple(factors.count(i) for i in axes), offsets.pop())
    return None


def _power(numbers: Sequence[int], points: Sequence[Point]) -> Law | None:
    """A product of powers. A parameter's exponent comes from a point that changes it alone; that
    of at most one parameter may be left to the last point, which changes all.
    """
    base, origin = numbers[0], points[0]
    if all(number == base for number in numbers):
        return Law(base, (0,) * len(origin))
    if base == 0:
        return None
    end = points[-1]
    exponents = [0] * len(origin)
    left = []
    for i in range(len(origin)):
        alone = _alone(i, points)
        if alone is None:
            left += [i] if end[i] != origin[i] else []  # else it has one value only
            continue
        exponent = _exponent(base, numbers[alone], origin[i], points[alone][i])
        if exponent is None:
            return None
        exponents[i] = exponent
    if len(left) > 1:
        return None
    for i in left:
        before = Law(base, tuple(exponents)).number(end, origin)
        exponent = _exponent(before, numbers[-1], origin[i], end[i]) if before else None
        if exponent is None:
            return None
        exponents[i] = exponent
    law = Law(base, tuple(exponents))
    seen = zip(numbers, points, strict=True)
    return law if all(law.number(point, origin) == number for number, point in seen) else None


def _alone(i: int, points: Sequence[Point]) -> int | None:
    """The first point that differs from the origin in parameter i and in no other."""
    for index, point in enumerate(points[1:], 1):
        if [j for j, value in enumerate(point) if value != points[0][j]] == [i]:
            return index
    return None


def separates(origin: Point, point: Point, free: Sequence[int]) -> bool:
    """Do the numbers at `point` tell the exponents of two parameters apart?

    Then one trace that changes both finds the second exponent and checks the first: if that
    were wrong, no whole exponent of the second would make up for it.
    """
    one, two = (math.log(point[i] / origin[i]) for i in free)
    shifts = range(-_SHIFT, _SHIFT + 1)
    return all(abs(i * one + j * two) > 1e-9 for i in shifts for j in shifts if (i, j) != (0, 0))


_SHIFT = 3  # between two exponents of -1 to 2


def _exponent(before: int, after: int, start: int, end: int) -> int | None:
    if before == after:
        return 0
    if start == end or after / before <= 0:
        return None
    exponent = math.log(after / before) / math.log(end / start)
    whole = round(exponent)
    # A tile has a parameter in two dimensions at most; a higher power is a coincidence.
    return whole if abs(whole) <= 2 and abs(exponent - whole) < 1e-9 else None

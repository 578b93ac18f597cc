"""Laws: how an integer of a program follows from the parameters, from what it is at some points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascend_autotune.analysis.parametric.sym import Vector

Point = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Law:
    """`base * product((p_i / base_i) ** e_i)`, exact in the integers."""

    base: int
    exponents: tuple[int, ...]

    def at(self, columns: Sequence[Vector], origin: Point) -> Vector:
        up = np.full_like(columns[0], self.base)
        down = np.ones_like(up)
        for column, start, exponent in zip(columns, origin, self.exponents, strict=True):
            if exponent > 0:
                up, down = up * column**exponent, down * start**exponent
            elif exponent < 0:
                up, down = up * start**-exponent, down * column**-exponent
        return up // down

    def number(self, point: Point, origin: Point) -> int:
        """`at` for one tile."""
        up, down = self.base, 1
        for value, start, exponent in zip(point, origin, self.exponents, strict=True):
            if exponent > 0:
                up, down = up * value**exponent, down * start**exponent
            elif exponent < 0:
                up, down = up * start**-exponent, down * value**-exponent
        return up // down


def fit(numbers: Sequence[int], points: Sequence[Point]) -> Law | None:
    """The law through the numbers seen at the points; None where there is none.

    Point 0 is the origin, point 1 + i changes parameter i alone; the others are checks.
    """
    base, origin = numbers[0], points[0]
    if all(number == base for number in numbers):
        return Law(base, (0,) * len(origin))
    if base == 0:
        return None
    exponents = []
    for i in range(len(origin)):
        exponent = _exponent(base, numbers[1 + i], origin[i], points[1 + i][i])
        if exponent is None:
            return None
        exponents.append(exponent)
    law = Law(base, tuple(exponents))
    seen = zip(numbers, points, strict=True)
    return law if all(law.number(point, origin) == number for number, point in seen) else None


def _exponent(before: int, after: int, start: int, end: int) -> int | None:
    if before == after:
        return 0
    if start == end or after / before <= 0:
        return None
    exponent = math.log(after / before) / math.log(end / start)
    whole = round(exponent)
    # A tile has a parameter in two dimensions at most; a higher power is a coincidence.
    return whole if abs(whole) <= 2 and abs(exponent - whole) < 1e-9 else None

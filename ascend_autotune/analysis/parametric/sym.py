"""Integers that stand for one number per candidate.

A `Sym` behaves as the integer of one candidate, the representative, while it remembers
how it was computed. Every comparison that decides something is answered for the
representative and noted with the candidates for which the answer is the same: code
written for plain integers thus runs once for all candidates that would take its path.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
}
_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}


class Run:
    """One run of the model: the candidates' values, a representative, and who agrees with it.

    `agree` holds the candidates for which every comparison so far had the same answer.
    """

    def __init__(self, size: int, representative: int) -> None:
        self.size = size
        self.representative = representative
        self.agree: Mask = np.ones(size, dtype=bool)
        self._made: dict[tuple[str, object, object], Sym] = {}
        self._tested: set[tuple[str, object, object]] = set()

    def variable(self, values: Vector) -> Sym:
        """One number per candidate."""
        return _make(int(values[self.representative]), values, self)

    def compute(self, name: str, a: object, b: object) -> Sym:
        """`a name b`, made once however often the model asks for it."""
        key = (name, id(a) if isinstance(a, Sym) else a, id(b) if isinstance(b, Sym) else b)
        known = self._made.get(key)
        if known is None:
            action = _ARITHMETIC[name]
            number = action(int(a), int(b))  # type: ignore[call-overload]
            known = self._made[key] = _make(number, action(_values(a), _values(b)), self)
        return known

    def test(self, name: str, a: object, b: object) -> bool:
        """The representative's answer; candidates that answer otherwise disagree."""
        if a is b:
            return name in ("le", "ge", "eq")
        action = _TESTS[name]
        answer = bool(action(int(a), int(b)))  # type: ignore[call-overload]
        key = (name, id(a) if isinstance(a, Sym) else a, id(b) if isinstance(b, Sym) else b)
        if key not in self._tested:
            self._tested.add(key)
            self.agree &= action(_values(a), _values(b)) == answer
        return answer


class Sym(int):
    """The representative's integer, with every candidate's beside it."""

    values: Vector
    run: Run

    # An int's hash is the representative's: equal keys are compared, and noted, as usual.
    __hash__ = int.__hash__

    def __add__(self, other: int) -> int:
        return self.run.compute("add", self, other)

    def __radd__(self, other: int) -> int:
        return self.run.compute("add", self, other)

    def __sub__(self, other: int) -> int:
        return self.run.compute("sub", self, other)

    def __rsub__(self, other: int) -> int:
        return self.run.compute("sub", other, self)

    def __mul__(self, other: int) -> int:
        return self.run.compute("mul", self, other)

    def __rmul__(self, other: int) -> int:
        return self.run.compute("mul", self, other)

    def __floordiv__(self, other: int) -> int:
        return self.run.compute("floordiv", self, other)

    def __rfloordiv__(self, other: int) -> int:
        return self.run.compute("floordiv", other, self)

    def __mod__(self, other: int) -> int:
        return self.run.compute("mod", self, other)

    def __rmod__(self, other: int) -> int:
        return self.run.compute("mod", other, self)

    def __neg__(self) -> int:
        return self.run.compute("sub", 0, self)

    def __lt__(self, other: int) -> bool:
        return self.run.test("lt", self, other)

    def __le__(self, other: int) -> bool:
        return self.run.test("le", self, other)

    def __gt__(self, other: int) -> bool:
        return self.run.test("gt", self, other)

    def __ge__(self, other: int) -> bool:
        return self.run.test("ge", self, other)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, int) and self.run.test("eq", self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return not self.run.test("eq", self, 0)


def _make(number: int, values: Vector, run: Run) -> Sym:
    made = Sym(number)
    made.values = values
    made.run = run
    return made


def _values(a: object) -> Any:
    return a.values if isinstance(a, Sym) else a


def if_at_most(a: int, limit: int, small: int, large: int) -> int:
    """`small` where a <= limit, else `large`, for every candidate: decides nothing."""
    run = next((x.run for x in (a, limit) if isinstance(x, Sym)), None)
    if run is None:
        return small if a <= limit else large
    number = int(small) if int(a) <= int(limit) else int(large)
    values = np.where(np.less_equal(_values(a), _values(limit)), _values(small), _values(large))
    return _make(number, values, run)


def vector(a: int, size: int, chosen: Vector | None = None) -> Vector:
    """The value of every candidate (of the chosen ones), for a Sym or a plain integer."""
    if isinstance(a, Sym):
        return a.values if chosen is None else a.values[chosen]
    return np.full(size if chosen is None else len(chosen), a, dtype=np.int64)

"""Whole numbers of a program, worked out for one place in the grid.

A loop's bounds may depend on where the program stands in the grid (causal attention) or on the
grid itself (a persistent kernel); with a place given they are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ascend_autotune.analysis.ir import Operation, Value

_DEEPEST = 64
_PASS = frozenset(
    {
        "arith.extsi",
        "arith.extui",
        "arith.trunci",
        "arith.index_cast",
        "arith.index_castui",
        "tt.splat",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
    }
)


def _divide(a: int, b: int) -> int:
    """Division as arith.divsi does it: towards zero."""
    return abs(a) // abs(b) * (1 if (a >= 0) == (b >= 0) else -1)


_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _divide,
    "arith.divui": _divide,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.remsi": lambda a, b: a - b * _divide(a, b),
    "arith.remui": lambda a, b: a % b,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
    "arith.andi": lambda a, b: a & b,
    "arith.shli": lambda a, b: a << min(b, 63),
    "arith.shrsi": lambda a, b: a >> min(b, 63),
    "arith.shrui": lambda a, b: a >> min(b, 63),
}
_COMPARED: Mapping[int, Callable[[int, int], bool]] = {
    0: lambda a, b: a == b,
    1: lambda a, b: a != b,
    2: lambda a, b: a < b,
    3: lambda a, b: a <= b,
    4: lambda a, b: a > b,
    5: lambda a, b: a >= b,
    6: lambda a, b: a < b,
    7: lambda a, b: a <= b,
    8: lambda a, b: a > b,
    9: lambda a, b: a >= b,
}


@dataclass
class Scalars:
    """Values of scalars, and of tensors whose elements are all the same.

    `grid` and `place` are in programs; an induction variable stands at its loop's start.
    """

    grid: tuple[int, ...]
    place: tuple[int, ...]
    _known: dict[Value, int | None] = field(default_factory=dict)

    def of(self, value: Value, depth: int = 0) -> int | None:
        """The number, or None where it cannot be told."""
        if value not in self._known:
            self._known[value] = None  # a value that goes round in a circle is not known
            self._known[value] = self._work_out(value, depth) if depth < _DEEPEST else None
        return self._known[value]

    def trips(self, loop: Operation) -> int | None:
        """How often an scf.for runs here; None where it cannot be told."""
        if loop.name != "scf.for":
            return None
        low, high, step = (self.of(v) for v in loop.operands[:3])
        if low is None or high is None or not step:
            return None
        return max(0, -((low - high) // step))

    def _work_out(self, value: Value, depth: int) -> int | None:
        op = value.op
        if op is None:
            parent = value.block.parent if value.block is not None else None
            if parent is not None and parent.name == "scf.for" and value.index == 0:
                return self.of(parent.operands[0], depth + 1)
            return None
        if op.name == "arith.constant":
            number = op.attrs.get("value")
            return int(number) if isinstance(number, bool | int) else None
        if op.name in ("tt.get_program_id", "tt.get_num_programs"):
            axis = op.attrs.get("axis", 0)
            axis = axis if isinstance(axis, int) else 0
            of = self.place if op.name == "tt.get_program_id" else self.grid
            return of[axis] if axis < len(of) else int(op.name == "tt.get_num_programs")
        if op.name in _PASS:
            return self.of(op.operands[0], depth + 1)
        if op.name == "arith.select":
            which = self.of(op.operands[0], depth + 1)
            return None if which is None else self.of(op.operands[1 if which else 2], depth + 1)
        if op.name in _BINARY or op.name == "arith.cmpi":
            a, b = (self.of(v, depth + 1) for v in op.operands)
            if a is None or b is None:
                return None
            if op.name == "arith.cmpi":
                predicate = op.attrs.get("predicate")
                compare = _COMPARED.get(predicate) if isinstance(predicate, int) else None
                return None if compare is None else int(compare(a, b))
            try:
                return _BINARY[op.name](a, b)
            except ZeroDivisionError:
                return None
        return None

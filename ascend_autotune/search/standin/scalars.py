"""Scalars of a program, worked out for one program of one launch, as far as they are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ascend_autotune.analysis.ir import Operation, Value

Number = int | float
Known = dict[Value, Number]


def _quotient(a: Any, b: Any) -> Any:
    return None if b == 0 else math.trunc(a / b) if abs(a) < 2**52 else int(a) // int(b)


def _remainder(a: Any, b: Any) -> Any:
    return None if b == 0 else int(math.fmod(a, b))


_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _quotient,
    "arith.divui": _quotient,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.ceildivsi": lambda a, b: None if b == 0 else -(-a // b),
    "arith.floordivsi": lambda a, b: None if b == 0 else a // b,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b if 0 <= b < 64 else None,
    "arith.shrsi": lambda a, b: a >> b if 0 <= b < 64 else None,
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: None if b == 0 else a / b,
}
_SAME = frozenset(
    {
        "arith.extsi",
        "arith.extui",
        "arith.trunci",
        "arith.index_cast",
        "arith.sitofp",
        "arith.extf",
        "arith.truncf",
    }
)
# arith.cmpi's predicates, in MLIR's order: eq ne slt sle sgt sge ult ule ugt uge.
_COMPARE: tuple[Callable[[Any, Any], bool], ...] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    *(2 * (lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b)),
)


def evaluate(
    op: Operation, known: Known, program: tuple[int, int, int], grid: tuple[int, int, int]
) -> None:
    """Add an operation's result to `known` where it is a scalar that can be worked out."""
    if len(op.results) != 1 or op.results[0].type.is_tensor:
        return
    value = _result(op, [known.get(v) for v in op.operands], program, grid)
    if value is not None:
        known[op.results[0]] = value


def _result(
    op: Operation,
    operands: list[Number | None],
    program: tuple[int, int, int],
    grid: tuple[int, int, int],
) -> Number | None:
    name = op.name
    if name == "arith.constant":
        value = op.attrs.get("value")
        return value if isinstance(value, (int, float)) else None
    if name in ("tt.get_program_id", "tt.get_num_programs"):
        axis = op.attrs.get("axis")
        of = program if name == "tt.get_program_id" else grid
        return of[axis] if isinstance(axis, int) and 0 <= axis < 3 else None
    if name == "arith.select":
        if operands[0] is None:
            return None
        return operands[1] if operands[0] else operands[2]
    if not operands or None in operands:
        return None
    if name in _SAME:
        return operands[0]
    if name == "arith.cmpi":
        predicate = op.attrs.get("predicate")
        if not isinstance(predicate, int) or not 0 <= predicate < len(_COMPARE):
            return None
        return int(_COMPARE[predicate](operands[0], operands[1]))
    binary = _BINARY.get(name)
    if binary is None or len(operands) != 2:
        return None
    try:
        result = binary(operands[0], operands[1])
    except (OverflowError, TypeError, ValueError):
        return None
    return result if isinstance(result, (int, float)) else None

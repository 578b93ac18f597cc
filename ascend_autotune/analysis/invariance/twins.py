"""Traces of one kernel that differ in one parameter: what varies with it, and by which law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ascend_autotune.analysis.invariance.polynomial import PARAMETER, Poly, constant_of, of
from ascend_autotune.analysis.ir import Module, Operation, Value
from ascend_autotune.analysis.parametric.cse import spread_constants


@dataclass(frozen=True)
class Twins:
    """The trace at the first value, with what varies.

    `values[i]` and `floats`: per constant (by operation) its law in the parameter, None where
    there is none. `extents`: values whose shape varies, with the dimensions that do.
    """

    module: Module
    numbers: dict[Operation, Poly | None]
    floats: frozenset[Operation]
    extents: dict[Value, frozenset[int]]
    varies: bool


def twins(modules: Sequence[Module], points: Sequence[int]) -> Twins | None:
    """None where the traces are not the same program. The modules are changed."""
    for module in modules:
        spread_constants(module)
    walks = [list(module.walk()) for module in modules]
    if len({len(walk) for walk in walks}) != 1:
        return None
    known = [_numbered(walk) for walk in walks]
    numbers: dict[Operation, Poly | None] = {}
    floats: set[Operation] = set()
    extents: dict[Value, frozenset[int]] = {}
    varies = False
    for ops in zip(*walks, strict=True):
        if not _alike(ops, known):
            return None
        first = ops[0]
        for name in ("value", "end", "start"):
            seen = [op.attrs.get(name) for op in ops]
            if all(value == seen[0] for value in seen):
                continue
            varies = True
            whole = [value for value in seen if isinstance(value, int)]
            if len(whole) == len(seen):
                numbers[first] = law(whole, points)
            else:
                floats.add(first)
        others = {k: v for k, v in first.attrs.items() if k in ("axis", "predicate", "order")}
        if any({k: op.attrs.get(k) for k in others} != others for op in ops):
            return None
        for values in zip(*(_made(op) for op in ops), strict=True):
            shapes = [_shape(value) for value in values]
            found = frozenset(
                d for d in range(len(shapes[0])) if len({shape[d] for shape in shapes}) > 1
            )
            if found:
                varies = True
                extents[values[0]] = found
    return Twins(modules[0], numbers, frozenset(floats), extents, varies)


def law(numbers: Sequence[int], points: Sequence[int]) -> Poly | None:
    """`a * p` or `a * p * p` or `a * p + b` through the numbers at the points, in integers."""
    for power in (1, 2):
        scales = {divmod(n, p**power) for n, p in zip(numbers, points, strict=True)}
        if len(scales) == 1:
            scale, rest = scales.pop()
            if rest == 0:
                return of({(PARAMETER,) * power: scale})
    if len(points) < 3:
        return None
    slopes = {
        divmod(b - a, q - p) for (a, p), (b, q) in pairwise(zip(numbers, points, strict=True))
    }
    if len(slopes) == 1:
        slope, rest = slopes.pop()
        if rest == 0:
            return of({(PARAMETER,): slope}) + constant_of(numbers[0] - slope * points[0])
    return None


def _shape(value: Value) -> tuple[int, ...]:
    if value.type.is_block_pointer and value.type.pointee is not None:
        return value.type.pointee.shape
    return value.type.shape


def _kind(value: Value) -> str:
    pointee = value.type.pointee
    return value.type.dtype if pointee is None else f"pointer to {pointee.dtype}"


def _made(op: Operation) -> list[Value]:
    return [*op.results, *(a for region in op.regions for block in region for a in block.args)]


def _numbered(walk: Sequence[Operation]) -> dict[Value, int]:
    found: dict[Value, int] = {}
    for op in walk:
        for value in _made(op):
            found[value] = len(found)
    return found


def _alike(ops: Sequence[Operation], known: Sequence[dict[Value, int]]) -> bool:
    first = ops[0]
    wiring = [known[0][value] for value in first.operands]
    blocks = [len(region) for region in first.regions]
    for op, numbers in zip(ops[1:], known[1:], strict=True):
        if op.name != first.name or len(op.operands) != len(wiring):
            return False
        if [numbers[value] for value in op.operands] != wiring:
            return False
        if [len(region) for region in op.regions] != blocks:
            return False
        made, mine = _made(op), _made(first)
        if len(made) != len(mine):
            return False
        for a, b in zip(made, mine, strict=True):
            if len(_shape(a)) != len(_shape(b)) or _kind(a) != _kind(b):
                return False
    return True

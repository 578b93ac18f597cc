"""How far a mask lets each dimension of an access reach."""

from __future__ import annotations

from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Operation, Value
from ascend_autotune.search.tally.scalars import Scalars

# arith.cmpi: index < bound, index <= bound, and the same the other way round.
_BELOW = {2: 0, 3: 1, 6: 0, 7: 1}
_ABOVE = {4: 0, 5: 1, 8: 0, 9: 1}
_PASS = frozenset({"tt.broadcast", "arith.extui", "arith.trunci"})


def bounds_of(
    op: Operation, shape: tuple[int, ...], scalars: Scalars, forms: Forms
) -> dict[int, int]:
    """By dimension of the tile, the number that its index stays below, as far as it is known."""
    masks = [v for v in op.operands[1:] if v.type.dtype == "i1" and v.type.shape == shape]
    found: dict[int, int] = {}
    for mask in masks:
        _collect(mask, scalars, forms, {d: d for d in range(len(shape))}, found)
    return found


def _collect(
    mask: Value, scalars: Scalars, forms: Forms, dims: dict[int, int], found: dict[int, int]
) -> None:
    """`dims`: where each dimension of `mask` stands in the tile."""
    op = mask.op
    if op is None:
        return
    if op.name in _PASS:
        _collect(op.operands[0], scalars, forms, dims, found)
    elif op.name == "arith.andi":
        for operand in op.operands:
            _collect(operand, scalars, forms, dims, found)
    elif op.name == "tt.expand_dims":
        axis = op.attrs.get("axis", 0)
        if isinstance(axis, int):
            inner = {d - (d > axis): to for d, to in dims.items() if d != axis}
            _collect(op.operands[0], scalars, forms, inner, found)
    elif op.name == "arith.cmpi":
        _compare(op, scalars, forms, dims, found)


def _compare(
    op: Operation, scalars: Scalars, forms: Forms, dims: dict[int, int], found: dict[int, int]
) -> None:
    predicate = op.attrs.get("predicate")
    index, limit = op.operands[0], op.operands[1]
    if predicate in _ABOVE:
        index, limit, extra = limit, index, _ABOVE[predicate]
    elif predicate in _BELOW:
        extra = _BELOW[predicate]
    else:
        return
    bound = scalars.of(limit)
    if bound is None:
        return
    varying = [d for d, step in enumerate(forms.of(index).steps) if step != (0, 0)]
    if len(varying) == 1 and varying[0] in dims and bound + extra > 0:
        at = dims[varying[0]]
        found[at] = min(found.get(at, bound + extra), bound + extra)

"""tt.reduce and tt.scan.

Source: HFusion's NormalizeF16ReduceSum, NormalizeArgMinMaxOp, ReduceWithIndexRAHighPerformance
and the conversions to hivm.hir.vreduce / vcumsum.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ascend_autotune.analysis.ir import Operation
from ascend_autotune.analysis.plan import temporaries
from ascend_autotune.analysis.plan.combiners import combination
from ascend_autotune.analysis.plan.maths import Maths
from ascend_autotune.analysis.plan.program import Buffer, Operand, Reuse, Scalar, Tile, width

if TYPE_CHECKING:
    from ascend_autotune.analysis.plan.lower import Handler, Lowering


def _reduce(low: Lowering, op: Operation) -> None:
    if not any(result in low.need for result in op.results):
        return
    kind = combination(op)
    axis = op.attrs.get("axis", 0)
    assert isinstance(axis, int)
    if kind is None:
        _custom(low, op, "a combiner that no instruction has")
    elif kind in ("argmax", "argmin"):
        _arg(low, op, kind, axis)
    else:
        _plain(low, op, kind, axis)


def _custom(low: Lowering, op: Operation, why: str) -> None:
    low.unknown(op, why)
    for value in op.operands:
        operand = low.get(value)
        if not isinstance(operand, Scalar):
            low.emit.touch(low.tile(value))
    for result in op.results:
        if result.type.is_tensor:
            tile = low.emit.step("custom", [], low.shape(result), result.type.dtype)
            tile.buffer.sure = False
            low.env[result] = tile


def _plain(low: Lowering, op: Operation, kind: str, axis: int) -> None:
    emit = low.emit
    tile = low.tile(op.operands[0])
    dtype = tile.dtype
    if tile.shape[axis] == 1:  # one element is its own sum: LinalgFoldUnitExtentDims
        _deliver(low, op, 0, Tile(tile.buffer, _outer(tile.shape, axis), dtype))
        return
    source: Operand = tile
    if (kind == "sum" and dtype == "f16") or dtype == "bf16":
        source = emit.widened(source, "f32")
    elif dtype == "i8" or dtype == "i1":
        wide = "f32" if dtype == "i8" and kind in ("sum", "prod") else "f16"
        source = Maths(emit, low.shape(op.operands[0])).widen(source, wide)
    assert isinstance(source, Tile)
    flattened = _flattened(low, op)
    if flattened is not None:
        source = _rows_first(low, kind, source, flattened)
    reduced = _instruction(low, kind, source, axis)
    _deliver(low, op, 0, Maths(emit, _outer(source.shape, axis)).widen(reduced, dtype))


def _flattened(low: Lowering, op: Operation) -> tuple[int, ...] | None:
    """The matrix that is reduced as a whole: the reshape to one dimension folds away."""
    view = op.operands[0].op
    if op.results[0].type.is_tensor or view is None or view.name != "tt.reshape":
        return None
    shape = low.shape(view.operands[0])
    return shape if len(shape) == 2 and all(size != 1 for size in shape) else None


def _rows_first(low: Lowering, kind: str, source: Tile, shape: tuple[int, ...]) -> Tile:
    """HFusion's decomposition of a reduction of several axes: the outer one first, into a
    tile as large as its source."""
    matrix = Tile(source.buffer, shape, source.dtype)
    partial = low.emit.step(
        "vreduce", [matrix], shape, source.dtype,
        temporary=_scratch(low, kind, matrix, 0), spreads_rows=False,
    )  # fmt: skip
    return Tile(partial.buffer, shape[1:], source.dtype)


def _instruction(low: Lowering, kind: str, source: Tile, axis: int) -> Tile:
    return low.emit.step(
        "vreduce", [source], _outer(source.shape, axis), source.dtype,
        temporary=_scratch(low, kind, source, axis), row=_row(source.shape, axis),
        spreads_rows=False,
    )  # fmt: skip


def _scratch(low: Lowering, kind: str, source: Tile, axis: int) -> list[Buffer]:
    """The reduction's extra buffer; its size follows the padded source."""
    bits, buffer = width(source.dtype), source.buffer

    def elements() -> int | None:
        counts = kind in ("argmax", "argmin")
        if not counts and buffer.row is not None and buffer.row == 1:
            if axis == len(source.shape) - 1:
                return temporaries.reduce_apart(kind, source.shape, axis, bits, buffer.numel)
            return buffer.numel
        return temporaries.reduce_elements(
            kind, source.shape, axis, source.dtype, bits, buffer.numel
        )

    if elements() is None:
        return []

    def size() -> int:
        found = elements()
        return 0 if found is None else found  # `or` would ask every candidate whether it is 0

    return low.emit.scratch_later(size, bits)


def _row(shape: tuple[int, ...], axis: int) -> int | None:
    """Reducing any axis but the last keeps the inner ones apart as rows."""
    return math.prod(shape[axis + 1 :]) if axis < len(shape) - 1 else None


def _outer(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :]) or (1,)


def _deliver(low: Lowering, op: Operation, index: int, reduced: Operand) -> None:
    """A tensor result is the buffer itself; a scalar is read out of it at once."""
    result = op.results[index]
    if result.type.is_tensor:
        low.env[result] = reduced
    else:
        low.emit.touch(reduced)
        low.env[result] = Scalar(result.type.dtype)


def _arg(low: Lowering, op: Operation, kind: str, axis: int) -> None:
    """argmax / argmin: once for the values, and once more for where the NaNs are."""
    emit = low.emit
    source = low.tile(op.operands[0])
    if source.dtype in ("bf16",):
        wide = emit.widened(source, "f32")
        assert isinstance(wide, Tile)
        source = wide
    shape = source.shape
    if axis != len(shape) - 1 and len(shape) == 2 and _turns(shape, source.dtype):
        shape = (shape[1], shape[0])
        source = emit.step("vtranspose", [source], shape, source.dtype, spreads_rows=False)
        axis = 1
    outer = _outer(shape, axis)
    maths = Maths(emit, shape)
    extreme, first = _indexed(low, kind, source, axis, outer)
    if source.dtype[0] == "i":
        best: Operand = first
    else:
        mask = maths.is_nan(source)
        marked = emit.select(mask, Scalar(source.dtype), Scalar(source.dtype), shape, source.dtype)
        values, second = _indexed(low, kind, marked, axis, outer)
        found = _is_infinite(low, values, outer)
        best = emit.select(found, second, first, outer, "i32")
    if len(op.results) > 1:
        if op.results[1].type.dtype == "i64":
            best = emit.cast(best, "i64")
        _deliver(low, op, 1, best)
    if op.results[0] in low.need and op.results[0].uses:
        _deliver(low, op, 0, extreme)


def _turns(shape: tuple[int, ...], dtype: str) -> bool:
    """isSizeCompatibleForTransposeForReduceOp: floats in whole blocks are turned first."""
    rows, columns = shape
    if dtype[0] == "i":
        return False
    if dtype == "f32":
        return bool(rows % 8 == 0 and columns % 8 == 0 and (rows % 16 == 0 or columns % 16 == 0))
    return bool(rows % 16 == 0 and columns % 16 == 0)


def _indexed(
    low: Lowering, kind: str, source: Tile, axis: int, outer: tuple[int, ...]
) -> tuple[Tile, Tile]:
    """vreduce with an index: two outputs at one instruction."""
    values = low.emit.step(
        "vreduce", [source], outer, source.dtype,
        temporary=_scratch(low, kind, source, axis), row=_row(source.shape, axis),
        spreads_rows=False,
    )  # fmt: skip
    index = low.emit.buffer(outer, "i32")
    low.program.steps[-1].also = index
    return values, Tile(index, outer, "i32")


def _is_infinite(low: Lowering, values: Tile, outer: tuple[int, ...]) -> Tile:
    """NormalizeIsInfOp, on the reduced values."""
    emit, maths = low.emit, Maths(low.emit, outer)
    whole = "i32" if width(values.dtype) == 32 else "i16"
    ones = emit.fill(Scalar(whole), outer, whole)
    view = Tile(values.buffer, outer, whole)
    bits = maths.adds(maths.op("vand", view, ones, whole), whole)
    bits = maths.one("vabs", bits, whole)
    bits = maths.op("vmin", bits, Scalar(whole), whole)
    number = emit.cast(bits, "f32")
    assert isinstance(number, Tile)
    test = emit.step("vcmp", [number], outer, "i1", Reuse.ELEMENTWISE)
    return emit.step("vnot", [test], outer, "i1", Reuse.ELEMENTWISE)


def _scan(low: Lowering, op: Operation) -> None:
    if not any(result in low.need for result in op.results):
        return
    kind = combination(op)
    emit = low.emit
    if len(op.operands) != 1 or kind not in ("sum", "prod", "max", "min"):
        _custom(low, op, "a scan that no instruction has")
        return
    source: Operand = low.tile(op.operands[0])
    dtype = source.dtype
    if dtype in ("f16", "bf16"):
        source = emit.widened(source, "f32")
    elif dtype in ("i8", "i1"):
        source = Maths(emit, low.shape(op.result)).widen(source, "f16")
    scanned = emit.step("vcum", [source], low.shape(op.result), source.dtype, spreads_rows=False)
    if emit.scope and emit.homes and len(low.shape(op.result)) > 1:
        # Seen to give every element a block of its own; which pass decides it is not known yet.
        low.unknown(op, "a running total in a loop that carries a tile")
    if kind in ("max", "min"):
        low.unknown(op, "a running extreme")
        scanned.buffer.sure = False
    low.env[op.result] = Maths(emit, low.shape(op.result)).widen(scanned, dtype)


HANDLERS: dict[str, Handler] = {"tt.reduce": _reduce, "tt.scan": _scan}

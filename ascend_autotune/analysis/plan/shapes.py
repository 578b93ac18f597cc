"""Operations that change a tensor's shape or make it from indices.

Views (reshape, expand_dims) cost nothing; a broadcast is kept as a view until an
instruction cannot read it as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ascend_autotune.analysis.ir import Operation
from ascend_autotune.analysis.plan import temporaries
from ascend_autotune.analysis.plan.program import Operand, Scalar, Spread, Tile, width

if TYPE_CHECKING:
    from ascend_autotune.analysis.plan.lower import Handler, Lowering


def _range(low: Lowering, op: Operation) -> None:
    if op.result in low.need:
        low.env[op.result] = low.emit.step("varange", [], low.shape(op.result), "i32")


def _splat(low: Lowering, op: Operation) -> None:
    result = op.result
    if result in low.need:
        source = low.get(op.operands[0])
        value = source.value if isinstance(source, Scalar) else None
        low.set(result, Scalar(result.type.dtype, value, result))


def _view(low: Lowering, op: Operation) -> None:
    result = op.result
    if result in low.need:
        low.set(result, reshaped(low, low.get(op.operands[0]), op))


def reshaped(low: Lowering, operand: Operand, op: Operation) -> Operand:
    """The same data under the result's shape."""
    result = op.result
    shape = low.shape(result)
    if isinstance(operand, Scalar):
        return Scalar(operand.dtype, operand.value, result)
    if isinstance(operand, Spread):
        if op.name == "tt.expand_dims":
            axis = op.attrs.get("axis", 0)
            assert isinstance(axis, int)
            inner = operand.tile.shape
            tile = Tile(operand.tile.buffer, (*inner[:axis], 1, *inner[axis:]), operand.dtype)
            axes = tuple(a + (a >= axis) for a in operand.axes)
            return Spread(tile, shape, axes, operand.dtype, result)
        operand = low.emit.full(operand, operand.shape)
    return Tile(operand.buffer, shape, operand.dtype)


def _broadcast(low: Lowering, op: Operation) -> None:
    result = op.result
    if result not in low.need:
        return
    operand, shape = low.get(op.operands[0]), low.shape(result)
    if isinstance(operand, Scalar):
        low.set(result, Scalar(operand.dtype, operand.value, result))
        return
    tile = operand.tile if isinstance(operand, Spread) else operand
    axes = tuple(i for i, (a, b) in enumerate(zip(tile.shape, shape, strict=True)) if a != b)
    low.set(result, Spread(tile, shape, axes, operand.dtype, result) if axes else operand)


def _transpose(low: Lowering, op: Operation) -> None:
    result = op.result
    if result not in low.need:
        return
    operand = low.get(op.operands[0])
    if isinstance(operand, Scalar):
        low.set(result, Scalar(operand.dtype, operand.value, result))
        return
    source = low.emit.full(operand, low.shape(op.operands[0]))
    order = op.attrs.get("order")
    moves_last = not isinstance(order, tuple) or order[-1] != len(order) - 1
    low.env[result] = transposed(low, source, low.shape(result), moves_last)


def transposed(
    low: Lowering, source: Tile, shape: tuple[int, ...], moves_last: bool = True
) -> Tile:
    """The tile with its dimensions in another order; a vector that is turned is a view."""
    if sum(size != 1 for size in shape) <= 1:
        return Tile(source.buffer, shape, source.dtype)
    if len(shape) > 2 and shape[-1] == 1 and low.emit.op is not None:
        low.unknown(low.emit.op, "a transpose to single columns")
    bits = width(source.dtype)
    scratch = low.emit.scratch(512, 64) if bits == 64 and moves_last else []
    turned = low.emit.step(
        "vtranspose", [source], shape, source.dtype, temporary=scratch, spreads_rows=False
    )
    if len(shape) == 2:
        source.buffer.shape = source.shape
        source.buffer.units, turned.buffer.units = temporaries.transpose_units(source.shape, bits)
    return turned


def _join(low: Lowering, op: Operation) -> None:
    if op.result not in low.need:
        return
    sides = [low.tile(v) for v in op.operands]
    shape = low.shape(op.result)
    elements = temporaries.interleave_elements(sides[0].buffer.numel, width(sides[0].dtype))
    low.env[op.result] = low.emit.step(
        "vinterleave", sides, shape, sides[0].dtype,
        temporary=low.emit.scratch(elements, width(sides[0].dtype)), spreads_rows=False,
    )  # fmt: skip


def _split(low: Lowering, op: Operation) -> None:
    source = low.tile(op.operands[0])
    for result in op.results:
        if result in low.need:
            low.env[result] = low.emit.step(
                "vdeinterleave", [source], low.shape(result), source.dtype, spreads_rows=False
            )


def _cat(low: Lowering, op: Operation) -> None:
    if op.result not in low.need:
        return
    tile = low.emit.step("cat", [], low.shape(op.result), op.result.type.dtype)
    for value in op.operands:
        operand = low.tile(value)
        if operand.buffer.loaded and len(value.uses) == 1:
            # The load writes straight into its half.
            operand.buffer.absent = True
        low.emit.write("insert", [operand], tile.buffer)
    low.env[op.result] = tile


def _flip(low: Lowering, op: Operation) -> None:
    if op.result in low.need:
        source = low.tile(op.operands[0])
        low.env[op.result] = low.emit.step(
            "vflip", [source], low.shape(op.result), source.dtype, spreads_rows=False
        )


def _sort(low: Lowering, op: Operation) -> None:
    source = low.tile(op.operands[0])
    descending = bool(op.attrs.get("descending", False))
    elements = temporaries.sort_elements(source.shape[-1], source.dtype, descending)
    for result in op.results[:1]:
        low.env[result] = low.emit.step(
            "vsort", [source], low.shape(result), source.dtype,
            temporary=low.emit.scratch(elements, width(source.dtype)), spreads_rows=False,
        )  # fmt: skip


def _gather(low: Lowering, op: Operation) -> None:
    if op.result not in low.need:
        return
    source, index = low.tile(op.operands[0]), low.tile(op.operands[1])
    low.env[op.result] = low.emit.step(
        "vgather", [source, index], low.shape(op.result), source.dtype,
        temporary=low.emit.scratch(index.buffer.numel, 32), spreads_rows=False,
    )  # fmt: skip


def _histogram(low: Lowering, op: Operation) -> None:
    source = low.tile(op.operands[0])
    bins = low.emit.fill(Scalar("i32", 0), low.shape(op.result), "i32")
    low.emit.write("histogram", [source], bins.buffer)
    copy = low.emit.step("copy", [bins, source], low.shape(op.result), "i32")
    low.emit.write("histogram", [copy, source], bins.buffer)
    low.env[op.result] = bins


HANDLERS: dict[str, Handler] = {
    "tt.make_range": _range,
    "tt.splat": _splat,
    "tt.expand_dims": _view,
    "tt.reshape": _view,
    "tt.broadcast": _broadcast,
    "tt.trans": _transpose,
    "tt.join": _join,
    "tt.split": _split,
    "tt.cat": _cat,
    "tt.flip": _flip,
    "tt.sort": _sort,
    "tt.gather": _gather,
    "tt.histogram": _histogram,
}

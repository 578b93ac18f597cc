"""Loads, stores, atomics and masked selects as steps of the tile program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ascend_autotune.analysis.addressing import Access, access_of
from ascend_autotune.analysis.ir import Operation, Value
from ascend_autotune.analysis.plan import elementwise, temporaries
from ascend_autotune.analysis.plan.blockpointers import as_memory_has_it, memory_order
from ascend_autotune.analysis.plan.boxes import box_of, spans_last, starts_late
from ascend_autotune.analysis.plan.demand import folds, is_box, stores_box, the_same
from ascend_autotune.analysis.plan.maths import Maths
from ascend_autotune.analysis.plan.padding import row_of
from ascend_autotune.analysis.plan.program import Operand, Scalar, Tile, width
from ascend_autotune.analysis.plan.scattered import (
    is_scattered,
    read_by_element,
    rows_are_strided,
)
from ascend_autotune.analysis.plan.shapes import transposed

if TYPE_CHECKING:
    from ascend_autotune.analysis.plan.lower import Handler, Lowering


def _load(low: Lowering, op: Operation) -> None:
    result = op.result
    if not result.type.is_tensor:
        low.env[result] = Scalar(result.type.dtype)
        return
    if result not in low.need:
        return
    access = access_of(op, low.forms)
    if low.cube is not None and _turns(access):
        low.env[result] = low.emit.step("load", [], low.shape(result), result.type.dtype)
        return
    dtype = "i8" if result.type.dtype == "i1" else result.type.dtype
    emit = low.emit
    uses = [low.get(v) for v in read_by_element(op.operands[0]) if v in low.need]
    order = memory_order(op.operands[0]) if access is not None and access.block else None
    if access is not None and order is not None:
        held = as_memory_has_it(access, order)
        shape = tuple(low.shape(result)[d] for d in order)
        tile = _copy_in(low, held, _bounded(op, 1, held), shape, dtype)
        tile = transposed(low, tile, low.shape(result))
    elif access is None or access.kind == "affine":
        tile = _copy_in(low, access, _bounded(op, 1, access), low.shape(result), dtype)
    else:
        # An unstructured load runs as a scalar loop over the index tile.
        row = 1 if low.cube is None and rows_are_strided(access, width(dtype)) else None
        tile = emit.step("gather_loop", uses, low.shape(result), dtype, row=row)
        uses = []
    for operand in uses:
        emit.touch(operand)
    low.env[result] = tile
    box = box_of(op.operands[1]) if len(op.operands) > 1 else None
    scattered = access is not None and access.kind != "affine"
    if scattered and box and len(op.operands) > 2 and not stores_box(op, op.operands[1]):
        # The scalar loop reads everything; the box is cut out of it afterwards.
        low.env[result] = _over(low, op, tile, op.operands[2])
    if len(op.operands) > 1 and box is None:
        mask = low.get(op.operands[1])
        other = low.get(op.operands[2]) if len(op.operands) > 2 else Scalar(dtype)
        low.env[result] = emit.select(mask, tile, other, low.shape(result), dtype)
    if result.type.dtype == "i1":
        # A bool is a byte in memory and a bit in registers.
        maths = Maths(emit, low.shape(result))
        low.env[result] = maths.widen(low.env[result], "i1")


def _turns(access: Access | None) -> bool:
    """MayImplicitTransposeWithLastAxis (LoadConverter, in kernels with dots): a load whose
    inner stride only the launch knows arrives dense."""
    return (
        access is not None
        and access.kind == "affine"
        and not access.block
        and len(access.shape) > 1
        and _inner_stride(access) is None
    )


def _copy_in(
    low: Lowering,
    access: Access | None,
    box: frozenset[int],
    shape: tuple[int, ...],
    dtype: str,
) -> Tile:
    """A strided or dense copy from global memory (RecognizeDeinterleave for the former)."""
    emit = low.emit
    row = row_of(access, shape, box) if access is not None else None
    inner = _inner_stride(access)
    # RecognizeDeinterleave takes neither i64 nor three dimensions.
    plain = row != 1 or inner is None or inner == 1
    if plain or width(dtype) == 64 or len(shape) > 2:
        tile = emit.step("load", [], shape, dtype, row=row)
        tile.buffer.loaded = True
        return tile
    # With a runtime extent along the row, the adapter leaves the stride to the copy.
    if inner == 2 and (len(shape) == 1 or len(shape) - 1 not in box):
        wide = emit.step("load", [], (*shape[:-1], 2 * shape[-1]), dtype)
    else:
        wide = emit.step("load", [], shape, dtype, row=1, spreads_rows=False)
    wide.buffer.loaded = True
    wide.buffer.sure = inner != 2 or not box or len(shape) == 1  # a mask and stride 2: likely
    if low.cube is not None and emit.op is not None and len(emit.op.operands) > 1:
        # A box that begins late is not taken apart; in kernels with dots it arrives dense.
        wide.buffer.sure = wide.buffer.sure and not starts_late(emit.op.operands[1])
    return emit.step("vdeinterleave", [wide], shape, dtype, spreads_rows=False)


def _inner_stride(access: Access | None) -> int | None:
    """The constant stride of the innermost dimension that holds more than one element."""
    if access is None:
        return 1
    for size, stride in zip(reversed(access.shape), reversed(access.strides), strict=True):
        if size != 1:
            return stride
    return 1


def _store(low: Lowering, op: Operation) -> None:
    value = op.operands[1]
    emit = low.emit
    if low.cube is not None and op in low.cube.drained:
        return
    if not value.type.is_tensor:
        _scalar(low, [], value)
        return
    if is_scattered(op, low.forms):
        uses = [low.get(v) for v in read_by_element(*op.operands) if v in low.need]
        emit.write("scatter_loop", uses, None)
        _scalar(low, uses, value).buffer.slot = True
        return
    access = access_of(op, low.forms)
    tile = low.tile(value)
    if value.type.dtype == "i1":
        maths = Maths(emit, low.shape(value))
        tile = emit.full(maths.widen(tile, "i8"), low.shape(value))
    if len(op.operands) > 2 and box_of(op.operands[2]) is None:
        # discrete-mask-access-conversion: read the old values, select, write all.
        old = emit.step("load", [], low.shape(value), tile.dtype)
        old.buffer.loaded = True
        mask = low.get(op.operands[2])
        tile = emit.select(mask, tile, old, low.shape(value), tile.dtype)
    shape = low.shape(value)
    order = memory_order(op.operands[0]) if access is not None and access.block else None
    if access is not None and order is not None:
        access = as_memory_has_it(access, order)
        shape = tuple(shape[d] for d in order)
        tile = transposed(low, tile, shape)
    box = _bounded(op, 2, access)
    pair = _interleaved(low, op, access)
    if access is not None and pair:
        if op is pair[0]:
            return  # written together with the second one
        tiles = [low.tile(pair[0].operands[1]), tile]
        shape = (*shape[:-1], 2 * shape[-1])
        access = replace(access, shape=shape, strides=(*access.strides[:-1], 1))
        row = row_of(access, shape, box)
        length = tile.buffer.numel if row is None else low.shape(value)[-1]
        scratch = temporaries.interleave_elements(length, width(tile.dtype))
        tile = emit.step(
            "vinterleave", tiles, shape, tile.dtype,
            temporary=emit.scratch(scratch, width(tile.dtype)), spreads_rows=False,
        )  # fmt: skip
    tile.buffer.stored = True
    emit.touch(tile, row_of(access, shape, box) if access is not None else None)


def _scalar(low: Lowering, uses: Sequence[Operand], value: Value) -> Tile:
    """One element that leaves through a buffer of its own."""
    one = low.emit.step("scalar", uses, (1,), value.type.dtype)
    low.emit.touch(one)
    return one


def _interleaved(
    low: Lowering, op: Operation, access: Access | None
) -> tuple[Operation, Operation] | None:
    """The only two stores of stride 2 to one argument, which become one of stride 1.

    Source: InterleaveStatusOptimization of triton-to-linalg.
    """
    if access is None or access.base is None or access.strides[-1] != 2:
        return None
    if len(op.operands) > 2 and not spans_last(op.operands[2]):
        return None
    found = []
    for other in low.module.kernel.walk():
        if other.name == "tt.store" and len(other.operands) == len(op.operands):
            its = access_of(other, low.forms)
            if its is not None and its.base == access.base and its.strides[-1:] == (2,):
                found.append((other, its))
    if len(found) != 2 or found[0][0].block is not found[1][0].block:
        return None
    (first, a), (second, b) = found
    return (first, second) if a.shape == b.shape and a.strides == b.strides else None


def _bounded(op: Operation, position: int, access: Access | None) -> frozenset[int]:
    """The dimensions whose extent only the launch knows."""
    if access is not None and access.block:
        return frozenset(d for d, bounded in enumerate(access.bounded) if bounded)
    if len(op.operands) <= position:
        return frozenset()
    return box_of(op.operands[position]) or frozenset()


def _atomic(low: Lowering, op: Operation) -> None:
    emit = low.emit
    value = op.operands[-1] if op.name == "tt.atomic_cas" else op.operands[1]
    used = bool(op.results) and op.result in low.need and bool(op.result.uses)
    if not value.type.is_tensor:
        _scalar(low, [], value)
        return
    if is_scattered(op, low.forms):
        uses = [low.get(v) for v in read_by_element(*op.operands) if v in low.need]
        emit.write("atomic", uses, None)
    else:
        tile = low.tile(value)
        if _adds_masked(op):
            # DiscreteMaskAtomicAddConversion: what the mask excludes adds nothing.
            mask = low.get(op.operands[2])
            zero = Scalar(tile.dtype, 0)
            tile = emit.select(mask, tile, zero, low.shape(value), tile.dtype)
        emit.touch(tile)
    if used:
        low.env[op.result] = emit.step("load", [], low.shape(value), value.type.dtype)


def _adds_masked(op: Operation) -> bool:
    """An atomic addition under a mask that is no box."""
    adds = op.attrs.get("atomic_rmw_op") in (4, 5)
    return adds and len(op.operands) > 2 and box_of(op.operands[2]) is None


def _select(low: Lowering, op: Operation) -> None:
    """A select on a rectangular mask is an insert_slice; any other one is a vsel."""
    result = op.result
    if result not in low.need:
        return
    _, a, b = op.operands
    if not result.type.is_tensor:
        low.env[result] = Scalar(result.type.dtype)
        return
    if is_box(op) and the_same(op) is None:
        _insert(low, op, a, b)
        return
    elementwise.lower(low, op)


def _insert(low: Lowering, op: Operation, a: Value, b: Value) -> None:
    """where(box, a, b): the box of `a` is copied over `b`; folded where the box is stored."""
    result = op.result
    if folds(op):
        low.env[result] = low.get(a)
        return
    low.env[result] = _over(low, op, low.tile(a), b)


def _over(low: Lowering, op: Operation, box: Tile, base_value: Value) -> Tile:
    """The box copied over the base, in place where nothing reads the base afterwards."""
    emit, shape = low.emit, low.shape(op.result)
    base = low.tile(base_value)
    between = emit.scope[len(base.buffer.scope) :]
    repeated = any(scope not in low.program.branches for scope in between)
    if repeated or any(user.order > op.order for user, _ in base_value.uses):
        base = emit.step("copy", [base], shape, base.dtype)
    emit.write("insert", [box], base.buffer)
    return Tile(base.buffer, shape, base.dtype)


HANDLERS: dict[str, Handler] = {
    "arith.select": _select,
    "tt.load": _load,
    "tt.descriptor_load": _load,
    "tt.store": _store,
    "tt.descriptor_store": _store,
    "tt.atomic_rmw": _atomic,
    "tt.atomic_cas": _atomic,
}

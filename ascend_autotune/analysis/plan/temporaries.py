"""Sizes of the extra buffers that single instructions ask for, in elements.

Source: ExtraBufferOpInterface (ExtraBufferAllocations.cpp, GetExtraBuffers.cpp, Utils.cpp)
of AscendNPU-IR v1.2.0. `None` means: no extra buffer at all, which matters, since
an instruction with one can seldom work in place.
"""

from __future__ import annotations

import math

from ascend_autotune.analysis.parametric.sym import if_at_most
from ascend_autotune.analysis.plan.program import ceil_to

BLOCK_BYTES = 32
REPEAT_BYTES = 256
VBRCB_ROWS = 8  # rows that one VBRCB instruction spreads


def per_block(bits: int) -> int:
    return max(1, BLOCK_BYTES * 8 // bits)


def per_repeat(bits: int) -> int:
    return max(1, REPEAT_BYTES * 8 // max(bits, 8))


def spread_last(rows: int, bits: int) -> int:
    """A last-axis broadcast read on the fly: one block for every row, eight rows at a time."""
    if rows == 1:
        return per_block(bits)
    return per_block(bits) * ceil_to(rows, VBRCB_ROWS)


def broadcast_last(rows: int, columns: int, bits: int) -> int:
    """A materialised broadcast [rows, 1] -> [rows, columns]."""
    block = per_block(bits)
    if columns * bits % (BLOCK_BYTES * 8) == 0:
        if (rows % VBRCB_ROWS == 0 and columns == block) or bits == 64:
            return 0
        rows = ceil_to(rows, VBRCB_ROWS)
        if bits == 1:
            return (rows + 2) * block + rows * 16
        return rows * block
    if bits == 64:
        return rows * ceil_to(columns, block)
    return ceil_to(rows, VBRCB_ROWS) * ceil_to(columns, block)


def broadcast_first(shape: tuple[int, ...], bits: int) -> int | None:
    """A materialised broadcast of the first axis; nothing where rows are whole blocks."""
    inner = shape[-1]
    if inner * bits % (BLOCK_BYTES * 8) == 0:
        return None
    if len(shape) > 2:
        inner = shape[-2] * inner
    return shape[0] * ceil_to(inner, per_block(bits))


def reduce_elements(
    kind: str, shape: tuple[int, ...], axis: int, dtype: str, bits: int, allocated: int
) -> int | None:
    """A reduction of `shape` along `axis`; `allocated` is the source's size in elements."""
    block, repeat = per_block(bits), per_repeat(bits)
    if bits == 64:
        return None  # element by element, on the scalar unit
    if kind in ("argmax", "argmin"):
        if axis == len(shape) - 1:
            return block
        others = math.prod(size for i, size in enumerate(shape) if i != axis)
        index = ceil_to(others * 4, repeat) // max(1, bits // 8)
        return index + ceil_to(others, 8 * block) // 8 + block
    if axis != len(shape) - 1:
        return _reduce_outer(kind, shape, axis, bits, allocated)
    length = shape[axis]
    before = shape[axis - 1] if axis else 1
    rows = shape[-3] * shape[-2] if len(shape) >= 3 else before
    if dtype[0] == "i" or kind in ("prod", "or", "xor"):
        parts, whole = (2, 3) if kind == "xor" else (1, 2)
        return if_at_most(length, repeat, whole * allocated, rows * (repeat * parts + block))
    if dtype in ("f32", "f16"):
        if kind in ("max", "min") and rows == 1:
            return if_at_most(length, repeat, 0, repeat)
        if length < block:
            return allocated // 2 if length % 2 == 0 else None
        large = if_at_most(length, 2 * repeat, rows * repeat, allocated // 2)
        return if_at_most(length, repeat, 0, large)
    return allocated


def reduce_apart(kind: str, shape: tuple[int, ...], axis: int, bits: int, allocated: int) -> int:
    """A reduction along the last axis of a tile whose elements stand a block apart.

    The instruction then sees a trailing dimension of one.
    """
    return _reduce_outer(kind, (*shape, 1), axis, bits, allocated, per_block(bits))


def _reduce_outer(
    kind: str, shape: tuple[int, ...], axis: int, bits: int, allocated: int, stride: int = 0
) -> int:
    """Not the last axis: computeARAExtraBufferSize; `stride` between steps along the axis."""
    base = allocated + (per_block(bits) if kind == "xor" else 0)
    if len(shape) != 3 or axis == 0:  # what lies behind the first axis is one dimension
        return base
    outer, length, inner = shape
    half = 1
    steps = 0
    while half * 2 <= length:
        half, steps = half * 2, steps + 1
    half //= 2
    steps += length - max(1, half * 2)
    if steps <= outer:
        return max(base, half * outer * ceil_to(inner, per_block(bits)))
    return max(length * inner, half * (stride or inner))


def cast_elements(source: str, target: str) -> tuple[int, int] | None:
    """(elements, bits) of a cast's extra buffer (a cast to i8 has its own rule)."""
    if source == "i1":
        bits = {"f16": 16, "i16": 16, "bf16": 16, "i8": 8}.get(target, 32)
        return 3 * BLOCK_BYTES * 8 // bits, bits
    if (source, target) in (("i32", "i16"), ("i64", "i32")):
        return 0, 64  # of no size, but enough to forbid working in place
    return None


def byte_cast_units(shape: tuple[int, ...], bits: int) -> tuple[int, ...]:
    """What a cast to i8 rounds its operands' dimensions to, in elements.

    Source: getCastSrcUnAlignSizeInfo and getCastDstUnAlignSizeInfo (HIVMImpl.cpp).
    """
    if len(shape) == 1:
        if bits == 8 or shape[0] > 32:
            return (1024,)
        factor = bits // 8
        return (max(1, ceil_to(shape[0] * factor, 32) // factor),)
    return (*(1 for _ in shape[:-2]), 32, 256 // bits)


def transpose_units(shape: tuple[int, ...], bits: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """What a 2-D transpose rounds its source's and its result's dimensions to."""
    block = per_block(bits)
    double = any(ceil_to(size, block) % (2 * block) == 0 for size in shape)
    if bits != 32 or double:
        return (block, block), (block, block)
    return (block, 2 * block), (2 * block, block)


def select64_elements(length: int) -> int:
    """An i64 select on a byte condition: the condition as f16 and as i32."""
    return ceil_to(length, 8) // 2 + ceil_to(length, 16) // 4


def select_elements(dtype: str, bits: int, scalars: int) -> int | None:
    if dtype == "i64":
        return None
    return (REPEAT_BYTES // bits) * (1 + scalars)


def interleave_elements(length: int, bits: int) -> int:
    block = per_block(bits)
    return ceil_to(length, VBRCB_ROWS) * block + ceil_to(2 * length, block)


def sort_elements(length: int, dtype: str, descending: bool) -> int:
    aligned = 0 if length == 1 else ceil_to(length, 32)
    factor = {("f32", True): 5, ("f32", False): 6, ("f16", True): 10, ("f16", False): 11}
    return aligned * factor.get((dtype, descending), 0)

"""Small kernels for the tests of explain, prune and the command line."""

import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr, SPARE: tl.constexpr = 1):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(out_ptr + offs, x * factor, mask=mask)


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    x = tl.load(x_ptr + rows[:, None] * stride + cols[None, :])
    tl.store(out_ptr + rows, tl.sum(x.to(tl.float32), axis=1))


@triton.jit
def picky_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.static_assert(BLOCK != 32, "32 is not to be had")
    tl.store(out_ptr + offs, tl.load(x_ptr + offs) + 1)


@triton.jit
def no_tile_kernel(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr) + 1)


@triton.jit
def bits_kernel(x_ptr, out_ptr, shift, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    tl.store(out_ptr + offs, (x >> shift) & 0xFF)


@triton.jit
def impossible_kernel(x_ptr, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK == 7, "seven or nothing")
    tl.store(x_ptr, 0)


@triton.jit
def ramps_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    cols = tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :])
    # Where M and N are equal, both ranges are one, and take their bytes once.
    y = tl.sum(x, axis=1) * rows.to(tl.float32)
    z = tl.sum(x, axis=0) * cols.to(tl.float32)
    tl.store(out_ptr + rows, y)
    tl.store(out_ptr + M + cols, z)
    tl.store(out_ptr + M + N + rows, rows.to(tl.float32))
    tl.store(out_ptr + M + N + cols, cols.to(tl.float32))


@triton.jit
def last_column_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, MASKED: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * (N + 8) + columns[None, :]
    if MASKED:
        x = tl.load(x_ptr + at, mask=columns[None, :] < N - 1, other=0.0)
    else:
        x = tl.where(columns[None, :] < N - 1, tl.load(x_ptr + at), 0.0)
    tl.store(out_ptr + at, x)

"""Kernels that the tests of the modelled NPU share, so that each is compiled once."""

import triton
import triton.language as tl
from triton.language import load as read


@triton.jit
def rectify(x):
    zero = 0.0
    return tl.maximum(x, zero)


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    stride_a,
    stride_b,
    stride_c,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        columns = k + rk
        x = tl.load(
            a + rm[:, None] * stride_a + columns[None, :],
            mask=(rm[:, None] < M) & (columns[None, :] < K),
            other=0.0,
        )
        y = read(
            b + columns[:, None] * stride_b + rn[None, :],
            mask=(columns[:, None] < K) & (rn[None, :] < N),
            other=0.0,
        )
        acc = tl.dot(x, y, acc)
    acc = rectify(acc)
    where = c + rm[:, None] * stride_c + rn[None, :]
    tl.store(where, acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def softmax(x, y, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + columns, mask=columns < n, other=-float("inf"))
    raised = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * stride + columns, raised / tl.sum(raised, axis=0), mask=columns < n)


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


@triton.jit
def scale(x, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)


@triton.jit
def strided(x, y, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at * stride, mask=at < n), mask=at < n)


@triton.jit
def triangle(x, y, n, BLOCK: tl.constexpr):
    """Program i reads i + 1 blocks."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for block in range(0, row + 1):
        acc += tl.load(x + block * BLOCK + at)
    if n > 0:
        tl.store(y + row * BLOCK + at, acc)


class Tensor:
    """What a launch needs of a tensor, on a machine without torch."""

    def __init__(self, dtype: str, numel: int = 1 << 20) -> None:
        self.dtype = dtype
        self._numel = numel

    def data_ptr(self) -> int:
        return 4096

    def numel(self) -> int:
        return self._numel

    def element_size(self) -> int:
        return 4 if self.dtype.endswith("32") else 2

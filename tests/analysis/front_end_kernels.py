"""Kernels that try the front end: wrappers, defaults, helpers, limits. No device, no torch."""

from __future__ import annotations

import functools
from typing import Any

import triton
import triton.language as tl


@triton.jit
def scale(x, out, n, stride, factor=2, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offsets * stride, mask=offsets < n)
    tl.store(out + offsets * stride, value * factor, mask=offsets < n)


@triton.jit
def annotated(x, n: tl.int32, m: tl.int64, p, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets), mask=offsets < n + m)


@triton.jit
def optional_bias(x, bias, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    value = tl.load(x + offsets)
    if bias is not None:
        value += tl.load(bias + offsets)
    tl.store(out + offsets, value)


@triton.heuristics({"EVEN": lambda args: args["K"] % args["BLOCK"] == 0})
@triton.jit
def even(x, out, K: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + offsets, tl.load(x + offsets))
    else:
        tl.store(out + offsets, tl.load(x + offsets, mask=offsets < K), mask=offsets < K)


@triton.heuristics({"WIDE": lambda args: args["BLOCK"] * 2})
@triton.heuristics({"WIDER": lambda args: args["WIDE"] * 2})
@triton.jit
def chained(out, BLOCK: tl.constexpr, WIDE: tl.constexpr, WIDER: tl.constexpr):
    tl.store(out + tl.arange(0, WIDER), tl.zeros([WIDER], tl.float32))


class LibEntry:
    """Wraps a kernel as FlagGems' libentry does."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        self.jit_function = fn

    def __getitem__(self, grid: Any) -> Any:
        return self.fn[grid]


@LibEntry
@triton.heuristics({"BLOCK": lambda args: 64})
@triton.jit
def in_libentry(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), tl.zeros([BLOCK], tl.float32))


def wrap(function: Any) -> Any:
    """Wrap as functools.wraps does, which copies the attributes of what it wraps."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


wrapped = wrap(scale)


@triton.jit
def _square_of(size: tl.constexpr):
    return tl.zeros([size, size], tl.float32)


@triton.jit
def square(out, SIZE: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    tile = _square_of(SIZE)
    tl.store(out + offsets[:, None] * SIZE + offsets[None, :], tile)


@triton.jit
def asserts(out, BLOCK: tl.constexpr):
    tl.static_print("tracing with", BLOCK)
    tl.static_assert(BLOCK <= 64, "at most 64, please")
    tl.store(out + tl.arange(0, BLOCK), tl.zeros([BLOCK], tl.float32))


@triton.jit
def misspelt(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.zeros([BLOK], tl.float32))  # noqa: F821


@triton.jit
def dot(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + rows[:, None] * K + inner[None, :])
    right = tl.load(b + inner[:, None] * N + columns[None, :])
    tl.store(c + rows[:, None] * N + columns[None, :], tl.dot(left, right))


@triton.jit
def fill_like(source, out, BLOCK: tl.constexpr, DTYPE: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(source + offsets).to(DTYPE))


if hasattr(tl, "make_tensor_descriptor"):

    @triton.jit
    def descriptor_argument(x, out, BLOCK: tl.constexpr):
        tile = x.load([tl.program_id(0) * BLOCK, 0])
        out.store([tl.program_id(0) * BLOCK, 0], tile + 1)
else:

    @triton.jit
    def descriptor_argument(x, out, BLOCK: tl.constexpr):
        tl.store(out + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK)))

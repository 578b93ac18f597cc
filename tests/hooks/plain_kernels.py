"""Kernels as plain functions: a test makes its own `triton.jit` of one, with an empty cache."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


def scale(X, Y, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < N, other=0.0) * 2, mask=at < N)


def in_place(X, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(X + at, tl.load(X + at, mask=at < N, other=0.0) + 1, mask=at < N)


def add(X, Y, Z, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    col = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    at = row[:, None] * N + col[None, :]
    inside = (row[:, None] < M) & (col[None, :] < N)
    tl.store(Z + at, tl.load(X + at, mask=inside) + tl.load(Y + at, mask=inside), mask=inside)


def even(X, Y, N, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(Y + at, tl.load(X + at))
    else:
        tl.store(Y + at, tl.load(X + at, mask=at < N), mask=at < N)


def many(X, Y, A, B, C, D, E, F, G, H, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < A + B + C + D + E + F + G + H))


def refused(X, Y, N, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK < 8, "never")
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < N), mask=at < N)


def jit(function: Any, **options: Any) -> Any:
    """A JIT function of its own."""
    return triton.jit(function, **options) if options else triton.jit(function)

"""Kernels of the guide's tests, and what they are called with on a machine without torch.

Every N_CTX is a multiple of every tile, so that the kernels need no masks and compile fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import triton
import triton.language as tl

import ascend_autotune
from ascend_autotune.analysis.space import LAUNCH_FIELDS


@triton.jit
def attention_kernel(
    Q,
    K,
    V,
    Out,
    N_CTX: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD_DIM)
    q = tl.load(Q + rows[:, None] * HEAD_DIM + dims[None, :])
    row_max = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    row_sum = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), tl.float32)
    for start in range(0, N_CTX, BLOCK_N):
        at = (start + columns)[:, None] * HEAD_DIM + dims[None, :]
        scores = tl.dot(q, tl.trans(tl.load(K + at))) * 0.125
        new_max = tl.maximum(row_max, tl.max(scores, 1))
        p = tl.exp(scores - new_max[:, None])
        decay = tl.exp(row_max - new_max)
        row_sum = row_sum * decay + tl.sum(p, 1)
        acc = acc * decay[:, None] + tl.dot(p.to(V.dtype.element_ty), tl.load(V + at))
        row_max = new_max
    out = (acc / row_sum[:, None]).to(Out.dtype.element_ty)
    tl.store(Out + rows[:, None] * HEAD_DIM + dims[None, :], out)


@triton.jit
def matmul_kernel(
    a, b, c, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * N + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@triton.jit
def add_kernel(x, y, z, n, m, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < m), mask=at < n)


@triton.jit
def rows_kernel(x, y, n, ROWS: tl.constexpr):
    # ROWS is counted, not the size of a block: any number will do.
    columns = tl.arange(0, 64)
    for i in range(ROWS):
        row = tl.program_id(0) * ROWS + i
        mask = (row < n) & (columns < 64)
        tl.store(y + row * 64 + columns, tl.load(x + row * 64 + columns, mask=mask) * 2, mask=mask)


@triton.jit
def first_rows_kernel(x, y, n, ROW_BLOCK: tl.constexpr):
    # What is covered: the grid does not depend on ROW_BLOCK.
    at = tl.arange(0, ROW_BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)


@triton.jit
def chunk_state_kernel(x, y, n, CHUNK: tl.constexpr):
    # A state that starts anew in each chunk.
    at = tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    tl.store(y + at, tl.cumsum(tl.load(x + at, mask=at < n, other=0.0), 0), mask=at < n)


@triton.jit
def atomic_kernel(x, total, n, SEQ_BLOCK: tl.constexpr):
    at = tl.program_id(0) * SEQ_BLOCK + tl.arange(0, SEQ_BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0))


@dataclass(frozen=True)
class HostTensor:
    """What Triton asks of a tensor. `address` stands for the memory, and its alignment."""

    dtype: str = "fp16"
    address: int = 4096

    def data_ptr(self) -> int:
        return self.address


ATTENTION_PARAMS = ["BLOCK_M", "BLOCK_N"]
SMALL: dict[str, Any] = {"params": ATTENTION_PARAMS, "values": [64, 128], "effort": "quick"}
"""A search of a second or less."""


def tuned(kernel: Any, search: dict[str, Any] | None, **decorator: Any) -> Any:
    """`kernel` under `@triton.autotune` as the hook has it."""
    asked = {"configs": [], "key": ["N_CTX", "HEAD_DIM"], **decorator}
    if search is not None:
        asked["hints"] = {"search_params": search}
    return triton.autotune(**asked)(kernel)


def attend(kernel: Any, N_CTX: int = 2048, HEAD_DIM: int = 64, **options: Any) -> None:
    """Call attention as the guide does: neither BLOCK_M nor BLOCK_N."""
    grid = lambda meta: (triton.cdiv(N_CTX, meta["BLOCK_M"]),)  # noqa: E731
    Q, K, V, Out = (HostTensor() for _ in range(4))
    kernel[grid](Q, K, V, Out, N_CTX, HEAD_DIM, **options)


def scale(kernel: Any, n: int = 4096, x: Any = None, y: Any = None, **options: Any) -> None:
    x, y = x if x is not None else HostTensor("fp32"), y if y is not None else HostTensor("fp32")
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n, **options)


def report(kernel: Any) -> Any:
    return ascend_autotune.explain(kernel).search


def tiles(kernel: Any, *fates: str) -> set[tuple[object, ...]]:
    """The tiles of the report, of these fates or of all."""
    return {
        tuple(v for n, v in trial.config.candidate.items() if n not in LAUNCH_FIELDS)
        for trial in report(kernel).trials
        if not fates or trial.fate in fates
    }


def profiles(kernel: Any) -> list[dict[str, object]]:
    """The compile profiles of the report, whatever became of them."""
    return [dict(trial.config.profile) for trial in report(kernel).trials]

"""Kernels for a real GPU: some right, some updating in place, one that faults, one that hangs."""

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + tl.load(y_ptr + at, mask=at < n), mask=at < n)


@triton.jit
def softmax(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    """One row a program, in blocks."""
    row = tl.program_id(0) * n_cols
    at = tl.arange(0, BLOCK)
    top = -float("inf")
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        x = tl.load(x_ptr + row + start + at, mask=start + at < n_cols, other=-float("inf"))
        x = x.to(tl.float32)
        new = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(x - new), axis=0)
        top = new
    for start in range(0, n_cols, BLOCK):
        mask = start + at < n_cols
        x = tl.load(x_ptr + row + start + at, mask=mask).to(tl.float32)
        value = tl.exp(x - top) / total
        tl.store(out_ptr + row + start + at, value.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_n = tl.cdiv(N, BN)
    pid = tl.program_id(0)
    rm = (pid // tiles_n) * BM + tl.arange(0, BM)
    rn = (pid % tiles_n) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * K + rk[None, :]
    b_ptrs = b_ptr + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (k + rk[None, :] < K), other=0.0)
        b = tl.load(b_ptrs, mask=(k + rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BK
        b_ptrs += BK * N
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(c_ptr.dtype.element_ty), mask=mask)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, n_ctx, scale, D: tl.constexpr, BM: tl.constexpr,
              BN: tl.constexpr):  # fmt: skip
    base = tl.program_id(1).to(tl.int64) * n_ctx * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    inside = rm[:, None] < n_ctx
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :], mask=inside, other=0.0)
    top = tl.full((BM,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, n_ctx, BN):
        mask = start + rn < n_ctx
        at = base + (start + rn[:, None]) * D + rd[None, :]
        k = tl.load(k_ptr + at, mask=mask[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(mask[None, :], scores, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=1))
        p = tl.exp(scores - new[:, None])
        alpha = tl.exp(top - new)
        total = total * alpha + tl.sum(p, axis=1)
        v = tl.load(v_ptr + at, mask=mask[:, None], other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        top = new
    out = acc / total[:, None]
    at = base + rm[:, None] * D + rd[None, :]
    tl.store(o_ptr + at, out.to(o_ptr.dtype.element_ty), mask=inside)


@triton.jit
def leaky_relu(x_ptr, n, slope, BLOCK: tl.constexpr):
    """In place: applied twice, it gives another result (user-cases.md 15)."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, tl.where(x > 0, x, x * slope), mask=at < n)


@triton.jit
def column_sums(x_ptr, out_ptr, rows, cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    """Adds to what is there, by atomics."""
    rr = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    rc = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (rr[:, None] < rows) & (rc[None, :] < cols)
    x = tl.load(x_ptr + rr[:, None] * cols + rc[None, :], mask=mask, other=0.0)
    tl.atomic_add(out_ptr + rc, tl.sum(x, axis=0), mask=rc < cols)


@triton.jit
def scaled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Deliberately wrong: its tile's size goes into the result, and smaller ones are right."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr + at, x * (BLOCK // 1024 + 1), mask=at < n)


@triton.jit
def half(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Deliberately wrong: tiles of 2048 leave half of what they should write."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    keep = (at < n) & (tl.arange(0, BLOCK) < (1024 if BLOCK == 2048 else BLOCK))
    tl.store(out_ptr + at, x, mask=keep)


@triton.jit
def risky(x_ptr, flag_ptr, n, BLOCK: tl.constexpr):
    """BLOCK 64 writes far outside of everything; BLOCK 32 waits for what never comes."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if BLOCK == 64:
        tl.store(x_ptr + at.to(tl.int64) + (1 << 44), at.to(tl.float32))
    elif BLOCK == 32:
        while tl.load(flag_ptr, volatile=True) == 0:
            pass
    tl.store(x_ptr + at, at.to(tl.float32), mask=at < n)


@triton.jit
def nans(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """Deliberately wrong: tiles of 2048 give NaN."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    if BLOCK == 2048:
        x = x * float("nan")
    tl.store(out_ptr + at, x, mask=at < n)

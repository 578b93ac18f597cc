"""Kernels with a parameter that is a performance tile, and with one that only looks like it."""

import triton
import triton.language as tl


@triton.jit
def row_block(x_ptr, partial_ptr, n_rows, n_cols, ROW_BLOCK: tl.constexpr, BLOCK_N: tl.constexpr):
    """Each program sums its rows and stores one row of partial sums."""
    pid_r = tl.program_id(0)
    rows = pid_r * ROW_BLOCK + tl.arange(0, ROW_BLOCK)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
    tl.store(partial_ptr + pid_r * n_cols + cols, tl.sum(x, axis=0), mask=cols < n_cols)


@triton.jit
def sequence_block(x_ptr, y_ptr, length, decay, SEQ_BLOCK: tl.constexpr, BLOCK_D: tl.constexpr):
    """A recurrence that starts anew in every program."""
    d = tl.arange(0, BLOCK_D)
    state = tl.zeros((BLOCK_D,), dtype=tl.float32)
    for i in range(SEQ_BLOCK):
        t = tl.program_id(0) * SEQ_BLOCK + i
        state = state * decay + tl.load(x_ptr + t * BLOCK_D + d, mask=t < length, other=0.0)
        tl.store(y_ptr + t * BLOCK_D + d, state, mask=t < length)


@triton.jit
def chunk_states(k_ptr, v_ptr, h_ptr, length, D: tl.constexpr, CHUNK: tl.constexpr):
    """The state before each chunk of a linear attention is stored: one slot for each chunk."""
    d = tl.arange(0, D)
    t = tl.arange(0, CHUNK)
    state = tl.zeros((D, D), dtype=tl.float32)
    for c in range(tl.cdiv(length, CHUNK)):
        tl.store(h_ptr + c * D * D + d[:, None] * D + d[None, :], state)
        rows = c * CHUNK + t
        k = tl.load(k_ptr + rows[None, :] * D + d[:, None], mask=rows[None, :] < length, other=0.0)
        v = tl.load(v_ptr + rows[:, None] * D + d[None, :], mask=rows[:, None] < length, other=0.0)
        state += tl.dot(k, v)


@triton.jit
def chunk_scan(x_ptr, y_ptr, n, CHUNK: tl.constexpr):
    """A running sum that starts anew in every chunk of a loop."""
    for c in range(tl.cdiv(n, CHUNK)):
        at = c * CHUNK + tl.arange(0, CHUNK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
        tl.store(y_ptr + at, tl.cumsum(x, axis=0), mask=at < n)


@triton.jit
def state_split(x_ptr, y_ptr, n, STATE: tl.constexpr, BLOCK: tl.constexpr):
    """STATE is the width of a row of the state: it sets the layout."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows, mask=rows < n, other=0.0)
    tl.store(y_ptr + rows * STATE, x, mask=rows < n)


@triton.jit
def atomic_granularity(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.atomic_add(out_ptr, tl.sum(x, axis=0))


@triton.jit
def scaled(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """The tile's size goes into the result: the deliberately wrong kernel of other tests too."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * BLOCK, mask=at < n)


@triton.jit
def mean_of_block(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Normalised by the block it stands in (a quantisation group)."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x / tl.max(tl.abs(x), axis=0), mask=at < n)


@triton.jit
def group_scales(a_ptr, s_ptr, y_ptr, k, BLOCK_K: tl.constexpr):
    """One scale for each block of K, as block-wise quantised matmuls have them."""
    total = 0.0
    for i in range(tl.cdiv(k, BLOCK_K)):
        at = i * BLOCK_K + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + at, mask=at < k, other=0.0)
        total += tl.sum(a, axis=0) * tl.load(s_ptr + i)
    tl.store(y_ptr, total)


@triton.jit
def block_number(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0) + pid, mask=at < n)


@triton.jit
def lanes(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """What a loop adds up lane by lane is stored lane by lane."""
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x_ptr + start + at, mask=start + at < n, other=0.0)
    tl.store(y_ptr + at, total)


@triton.jit
def dimension(x_ptr, y_ptr, DIM: tl.constexpr):
    """DIM is the length of what is summed, and nothing bounds it."""
    at = tl.arange(0, DIM)
    tl.store(y_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + at), axis=0))


@triton.jit
def split_k(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            SPLIT: tl.constexpr):  # fmt: skip
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK * SPLIT):
        a = tl.load(a_ptr + rm[:, None] * K + k + rk[None, :], mask=k + rk[None, :] < K, other=0.0)
        b = tl.load(
            b_ptr + (k + rk[:, None]) * N + rn[None, :], mask=k + rk[:, None] < K, other=0.0
        )
        acc = tl.dot(a, b, acc)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.atomic_add(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=mask)


@triton.jit
def persistent_matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
                      BK: tl.constexpr, GROUP: tl.constexpr):  # fmt: skip
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        group = tile // (GROUP * tiles_n)
        first = group * GROUP
        size = min(tiles_m - first, GROUP)
        pid_m = first + (tile % (GROUP * tiles_n)) % size
        pid_n = (tile % (GROUP * tiles_n)) // size
        rm = (pid_m * BM + tl.arange(0, BM)) % M
        rn = (pid_n * BN + tl.arange(0, BN)) % N
        rk = tl.arange(0, BK)
        a_ptrs = a_ptr + rm[:, None] * K + rk[None, :]
        b_ptrs = b_ptr + rk[:, None] * N + rn[None, :]
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            a = tl.load(a_ptrs, mask=rk[None, :] < K - k * BK, other=0.0)
            b = tl.load(b_ptrs, mask=rk[:, None] < K - k * BK, other=0.0)
            acc += tl.dot(a, b)
            a_ptrs += BK
            b_ptrs += BK * N
        om = pid_m * BM + tl.arange(0, BM)
        on = pid_n * BN + tl.arange(0, BN)
        mask = (om[:, None] < M) & (on[None, :] < N)
        tl.store(c_ptr + om[:, None] * N + on[None, :], acc, mask=mask)


@triton.jit
def two_levels(x_ptr, y_ptr, n, XBLOCK: tl.constexpr, XBLOCK_SUB: tl.constexpr):
    """As triton-ascend's guides write it: a program's block, and smaller ones within."""
    base = tl.program_id(0) * XBLOCK
    for i in range(tl.cdiv(XBLOCK, XBLOCK_SUB)):
        at = base + i * XBLOCK_SUB + tl.arange(0, XBLOCK_SUB)
        mask = at < n
        tl.store(y_ptr + at, tl.exp(tl.load(x_ptr + at, mask=mask)), mask=mask)


@triton.jit
def leaky_relu_in_place(x_ptr, n, slope, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, tl.where(x > 0, x, x * slope), mask=at < n)


@triton.jit
def histogram(x_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    tl.atomic_add(counts_ptr + x, 1, mask=at < n)


@triton.jit
def causal_two_stages(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, n_ctx, D: tl.constexpr,
                      BM: tl.constexpr, BN: tl.constexpr):  # fmt: skip
    """Causal attention: blocks off the diagonal without a mask, then those on it with one."""
    pid = tl.program_id(0)
    rm = pid * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :], mask=rm[:, None] < n_ctx, other=0.0)
    m = tl.full((BM,), -float("inf"), dtype=tl.float32)
    s = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, pid * BM, BN):
        k = tl.load(k_ptr + (start + rn[None, :]) * D + rd[:, None])
        qk = tl.dot(q, k)
        new = tl.maximum(m, tl.max(qk, axis=1))
        p = tl.exp(qk - new[:, None])
        alpha = tl.exp(m - new)
        s = s * alpha + tl.sum(p, axis=1)
        v = tl.load(v_ptr + (start + rn[:, None]) * D + rd[None, :])
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m = new
    for start in range(pid * BM, (pid + 1) * BM, BN):
        k = tl.load(k_ptr + (start + rn[None, :]) * D + rd[:, None])
        qk = tl.dot(q, k)
        qk = tl.where(rm[:, None] >= start + rn[None, :], qk, -1.0e6)
        new = tl.maximum(m, tl.max(qk, axis=1))
        p = tl.exp(qk - new[:, None])
        alpha = tl.exp(m - new)
        s = s * alpha + tl.sum(p, axis=1)
        v = tl.load(v_ptr + (start + rn[:, None]) * D + rd[None, :])
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m = new
    tl.store(lse_ptr + rm, m + tl.log(s), mask=rm < n_ctx)
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], acc / s[:, None], mask=rm[:, None] < n_ctx)


@triton.jit
def whole_row(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    """Softmax with a row in one block: right from BLOCK = n_cols on."""
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n_cols
    x = tl.load(x_ptr + row + at, mask=at < n_cols, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row + at, e / tl.sum(e, axis=0), mask=at < n_cols)


@triton.jit
def branches(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Another program for large blocks."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    if BLOCK > 64:
        x = x + 1.0
    tl.store(y_ptr + at, x, mask=at < n)


@triton.jit
def weighted_decay(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Halves its total with every block."""
    total = 0.0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total = total * 0.5 + tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), axis=0)
    tl.store(y_ptr, total)


@triton.jit
def arguments_of_max(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    best = -float("inf")
    where = 0
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=-float("inf"))
        top, place = tl.max(x, axis=0, return_indices=True)
        where = tl.where(top > best, start + place, where)
        best = tl.maximum(best, top)
    tl.store(y_ptr, where)


@triton.jit
def paged(x_ptr, table_ptr, y_ptr, n, PAGE: tl.constexpr):
    """PAGE is how long the pages are that the table names."""
    total = 0.0
    for i in range(tl.cdiv(n, PAGE)):
        page = tl.load(table_ptr + i)
        at = tl.arange(0, PAGE)
        x = tl.load(x_ptr + page * PAGE + at, mask=i * PAGE + at < n, other=0.0)
        total += tl.sum(x, axis=0)
    tl.store(y_ptr, total)


@triton.jit
def dropout(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(tl.rand(seed, at) > p, x / (1 - p), 0.0), mask=at < n)


@triton.jit
def paged_decode(q_ptr, k_ptr, table_ptr, lengths_ptr, o_ptr, scale, D: tl.constexpr,
                 PAGE: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    """Attention of one token over a paged cache; a block may lie across pages."""
    s = tl.program_id(0)
    length = tl.load(lengths_ptr + s)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + s * D + d)
    top = -float("inf")
    total = 0.0
    acc = tl.zeros((D,), dtype=tl.float32)
    for start in range(0, length, BLOCK):
        t = start + tl.arange(0, BLOCK)
        page = tl.load(table_ptr + s * 128 + t // PAGE, mask=t < length, other=0)
        at = (page * PAGE + t % PAGE)[:, None] * D + d[None, :]
        k = tl.load(k_ptr + at, mask=(t < length)[:, None], other=0.0)
        scores = tl.where(t < length, tl.sum(k * q[None, :], axis=1) * scale, -float("inf"))
        new = tl.maximum(top, tl.max(scores, axis=0))
        p = tl.exp(scores - new)
        alpha = tl.exp(top - new)
        total = total * alpha + tl.sum(p, axis=0)
        acc = acc * alpha + tl.sum(p[:, None] * k, axis=0)
        top = new
    tl.store(o_ptr + s * D + d, acc / total)


@triton.jit
def tasks(x_ptr, y_ptr, rows, cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    """Blocks numbered by one count, which programs share among them."""
    across = tl.cdiv(cols, BLOCK_C)
    for task in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R) * across, tl.num_programs(0)):
        r = (task // across) * BLOCK_R + tl.arange(0, BLOCK_R)
        c = (task % across) * BLOCK_C + tl.arange(0, BLOCK_C)
        mask = (r[:, None] < rows) & (c[None, :] < cols)
        at = r[:, None] * cols + c[None, :]
        tl.store(y_ptr + at, tl.load(x_ptr + at, mask=mask) * 2.0, mask=mask)


P, N, F = "*fp32", "i32", "fp32"
# kernel -> (signature, constants, {parameter: values}, {parameter: role})
TILE, CHANGES, OPEN = "tile", "changes result", "undecided"
SIZES = [16, 32, 64, 128]
CASES = {
    "row_block": (row_block, [P, P, N, N], {}, {"ROW_BLOCK": CHANGES, "BLOCK_N": TILE}),
    "sequence_block": (sequence_block, [P, P, N, F], {"BLOCK_D": 64}, {"SEQ_BLOCK": CHANGES}),
    "chunk_states": (chunk_states, [P, P, P, N], {"D": 64}, {"CHUNK": CHANGES}),
    "chunk_scan": (chunk_scan, [P, P, N], {}, {"CHUNK": CHANGES}),
    "state_split": (state_split, [P, P, N], {}, {"STATE": CHANGES, "BLOCK": TILE}),
    "atomic_granularity": (atomic_granularity, [P, P, N], {}, {"BLOCK": CHANGES}),
    "scaled": (scaled, [P, P, N], {}, {"BLOCK": CHANGES}),
    "mean_of_block": (mean_of_block, [P, P, N], {}, {"BLOCK": CHANGES}),
    "group_scales": (group_scales, [P, P, P, N], {}, {"BLOCK_K": CHANGES}),
    "block_number": (block_number, [P, P, N], {}, {"BLOCK": CHANGES}),
    "lanes": (lanes, [P, P, N], {}, {"BLOCK": CHANGES}),
    "dimension": (dimension, [P, P], {}, {"DIM": CHANGES}),
    "paged": (paged, [P, "*i32", P, N], {}, {"PAGE": CHANGES}),
    "split_k": (split_k, [P, P, P, N, N, N], {},
                {"BM": TILE, "BN": TILE, "BK": TILE, "SPLIT": CHANGES}),
    "persistent_matmul": (persistent_matmul, [P, P, P, N, N, N], {},
                          {"BM": TILE, "BN": TILE, "BK": TILE, "GROUP": TILE}),
    "two_levels": (two_levels, [P, P, N], {}, {"XBLOCK": TILE, "XBLOCK_SUB": TILE}),
    "leaky_relu_in_place": (leaky_relu_in_place, [P, N, F], {}, {"BLOCK": TILE}),
    "histogram": (histogram, ["*i32", "*i32", N], {}, {"BLOCK": TILE}),
    "causal_two_stages": (causal_two_stages, [P, P, P, P, P, N], {"D": 64},
                          {"BM": TILE, "BN": TILE}),
    "arguments_of_max": (arguments_of_max, [P, "*i32", N], {}, {"BLOCK": TILE}),
    "dropout": (dropout, [P, P, N, F, N], {}, {"BLOCK": TILE}),
    "paged_decode": (paged_decode, [P, P, "*i32", "*i32", P, F], {"D": 64, "PAGE": 32},
                     {"BLOCK": TILE}),
    "tasks": (tasks, [P, P, N, N], {}, {"BLOCK_R": TILE, "BLOCK_C": TILE}),
    "whole_row": (whole_row, [P, P, N], {}, {"BLOCK": OPEN}),
    "branches": (branches, [P, P, N], {}, {"BLOCK": OPEN}),
    "weighted_decay": (weighted_decay, [P, P, N], {}, {"BLOCK": OPEN}),
}  # fmt: skip

"""Kernels whose dataflow the tests know: one for each way of addressing, looping, calling.

`CASES` gives for each a kernel, its signature and its constants.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(
        out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask
    )


@triton.jit
def copy_rows(x, out, n, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    offsets = rows[:, None] * stride + columns[None, :]
    mask = (rows < n)[:, None]
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


@triton.jit
def fill(out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.zeros([BLOCK], tl.float32), mask=offsets < n)


@triton.jit
def row_sum(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    pointers = x + tl.program_id(0) * n + tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        total += tl.load(pointers, mask=start + tl.arange(0, BLOCK) < n, other=0.0)
        pointers += BLOCK
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def row_argmax(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    tile = tl.load(x + rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    tl.store(out + rows, tl.argmax(tile, 1))


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    row = tl.load(x + tl.program_id(0) * columns + offsets, mask=mask, other=-float("inf"))
    power = tl.exp(row - tl.max(row, 0))
    tl.store(out + tl.program_id(0) * columns + offsets, power / tl.sum(power, 0), mask=mask)


@triton.jit
def rms_norm(x, weight, out, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    row = tl.load(x + tl.program_id(0) * columns + offsets, mask=mask, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(row * row, 0) / columns + 1e-6)
    gain = tl.load(weight + offsets, mask=mask)
    tl.store(out + tl.program_id(0) * columns + offsets, row * scale * gain, mask=mask)


@triton.jit
def cumsum(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.cumsum(tl.load(x + offsets), 0))


@triton.jit
def sort(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.sort(tl.load(x + offsets)))


@triton.jit
def flip(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.flip(tl.load(x + offsets), 0))


@triton.jit
def recurrence(x, decay, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    state = tl.zeros([BLOCK], tl.float32)
    rate = tl.load(decay + lanes)
    for step in range(n):
        state = state * rate + tl.load(x + step * BLOCK + lanes)
        tl.store(out + step * BLOCK + lanes, state)


@triton.jit
def gather_rows(x, index, out, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)[None, :]
    picked = tl.load(index + rows)
    tile = tl.load(x + picked[:, None] * stride + columns)
    tl.store(out + rows[:, None] * COLUMNS + columns, tile)


@triton.jit
def scatter_rows(x, index, out, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)[None, :]
    picked = tl.load(index + rows)
    tile = tl.load(x + rows[:, None] * COLUMNS + columns)
    tl.store(out + picked[:, None] * stride + columns, tile)


@triton.jit
def histogram_atomics(x, counts, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    bins = tl.load(x + offsets, mask=mask, other=0)
    tl.atomic_add(counts + bins, 1, mask=mask)


@triton.jit
def relu_in_place(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask=mask)
    tl.store(x + offsets, tl.where(values > 0, values, 0.0), mask=mask)


@triton.jit
def transpose(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tile = tl.load(x + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out + columns[:, None] * ROWS + rows[None, :], tl.trans(tile))


@triton.jit
def transposed_access(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    tl.store(out + columns * ROWS + rows, tl.load(x + rows * COLUMNS + columns))


@triton.jit
def wrapped(x, out, n, m, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + (offsets % n) * m + offsets // n))


@triton.jit
def triangle(x, out, stride, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    tile = tl.load(x + rows * stride + columns, mask=rows >= columns, other=0.0)
    tl.store(out + rows * stride + columns, tile)


@triton.jit
def positive_only(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.load(x + offsets)
    tl.store(out + offsets, values * 2.0, mask=values > 0)


@triton.jit
def every_second(x, out, step, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets * 2) + tl.load(x + offsets * step))


@triton.jit
def reshaped_pointers(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    flat = x + tl.arange(0, ROWS * COLUMNS)
    square = tl.trans(tl.reshape(flat, [ROWS, COLUMNS]))
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tl.store(out + columns[:, None] * ROWS + rows[None, :], tl.load(square) + 1.0)


@triton.jit
def slots(x, slot, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    number = tl.load(slot + tl.program_id(0))
    tl.store(out + tl.program_id(0) * BLOCK + offsets, tl.load(x + number * BLOCK + offsets))


@triton.jit
def ragged_sum(x, starts, out, BLOCK: tl.constexpr):
    begin = tl.load(starts + tl.program_id(0))
    end = tl.load(starts + tl.program_id(0) + 1)
    total = tl.zeros([BLOCK], tl.float32)
    for at in range(begin, end, BLOCK):
        offsets = at + tl.arange(0, BLOCK)
        total += tl.load(x + offsets, mask=offsets < end, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def collatz(x, out, limit):
    number = tl.load(x + tl.program_id(0))
    steps = 0
    while (number > 1) & (steps < limit):
        if number % 2 == 0:
            number = number // 2
            steps += 1
        else:
            number = number * 3 + 1
        steps += 1
    tl.store(out + tl.program_id(0), steps)


@triton.jit
def early_return(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid * BLOCK >= n:
        return
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.exp(tl.load(x + offsets)))


@triton.jit(noinline=True)
def _scaled_load(pointer, factor, BLOCK: tl.constexpr):
    return tl.load(pointer + tl.arange(0, BLOCK)) * factor


@triton.jit
def calls_helper(x, out, n, BLOCK: tl.constexpr):
    values = _scaled_load(x + tl.program_id(0) * BLOCK, 2.0, BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), values)


@triton.jit
def inline_assembly(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    values = tl.inline_asm_elementwise(
        'shl.b32 $0, $1, 3; // a[1]) -> {"q"}, <b>',
        "=r,r",
        [tl.load(x + offsets)],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.device_print("a(b) [c] -> {d}, <e", values)
    tl.store(out + offsets, values)


@triton.jit
def nested_branches(x, out, n, flag, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    low = tl.full([BLOCK], 1e9, tl.float32)
    high = tl.full([BLOCK], -1e9, tl.float32)
    for i in range(n):
        values = tl.load(x + i * BLOCK + lanes)
        if flag > 0:
            low = tl.minimum(low, values)
            for _ in range(flag):
                high = high * 0.5 + values
        else:
            low, high = high, low
    tl.store(out + lanes, low + high)


@triton.jit
def matmul(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + rows[:, None] * sam + inner[None, :]
    right = b + inner[:, None] * sbk + columns[None, :]
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        x = tl.load(left, mask=(inner[None, :] + start) < K, other=0.0)
        y = tl.load(right, mask=(inner[:, None] + start) < K, other=0.0)
        total += tl.dot(x, y)
        left += BK
        right += BK * sbk
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * scm + columns[None, :], total.to(tl.float16), mask=mask)


@triton.jit
def batched_matmul(a, b, c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, K: tl.constexpr):
    batch = tl.program_id(1)
    a += batch * BM * K
    b += batch * K * BN
    c += batch * BM * BN
    rows, columns, inner = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (start + inner)[None, :])
        y = tl.load(b + (start + inner)[:, None] * BN + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * BN + columns[None, :], total)


@triton.jit
def grouped_matmul(a, b, c, experts, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    expert = tl.load(experts + tl.program_id(0))
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        x = tl.load(a + rows[:, None] * K + inner[None, :])
        y = tl.load(b + expert * K * N + inner[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def chained_matmul(a, b, c, out, B: tl.constexpr):
    tile = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    first = tl.dot(tl.load(a + tile), tl.load(b + tile))
    tl.store(out + tile, tl.dot(first.to(tl.float16), tl.load(c + tile)))


@triton.jit
def attention(Q, K, V, Out, scale, N_CTX, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    lanes = tl.arange(0, HEAD)
    q = tl.load(Q + rows[:, None] * HEAD + lanes[None, :])
    top = tl.full([BM], -float("inf"), tl.float32)
    weight = tl.zeros([BM], tl.float32)
    total = tl.zeros([BM, HEAD], tl.float32)
    for start in range(0, N_CTX, BN):
        columns = start + tl.arange(0, BN)
        k = tl.load(K + columns[:, None] * HEAD + lanes[None, :])
        v = tl.load(V + columns[:, None] * HEAD + lanes[None, :])
        scores = tl.dot(q, tl.trans(k)) * scale
        new = tl.maximum(top, tl.max(scores, 1))
        power = tl.exp(scores - new[:, None])
        shrink = tl.exp(top - new)
        weight = weight * shrink + tl.sum(power, 1)
        total = total * shrink[:, None] + tl.dot(power.to(tl.float16), v)
        top = new
    total = total / weight[:, None]
    tl.store(Out + rows[:, None] * HEAD + lanes[None, :], total.to(tl.float16))


@triton.jit
def linear_attention(q, k, v, out, n, B: tl.constexpr):
    tile = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    state = tl.zeros([B, B], tl.float32)
    for step in range(n):
        at = step * B * B + tile
        tl.store(out + at, tl.dot(tl.load(q + at), state.to(tl.float16)))
        state += tl.dot(tl.trans(tl.load(k + at)), tl.load(v + at))


CASES: dict[str, tuple[Any, dict[str, str], dict[str, Any]]] = {
    "add": (add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 64}),
    "copy_rows": (
        copy_rows,
        {"x": "*fp32", "out": "*fp32", "n": "i32", "stride": "i32"},
        {"ROWS": 8, "COLUMNS": 16},
    ),
    "fill": (fill, {"out": "*fp32", "n": "i32"}, {"BLOCK": 64}),
    "row_sum": (row_sum, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 64}),
    "row_argmax": (row_argmax, {"x": "*fp32", "out": "*i32"}, {"ROWS": 8, "COLUMNS": 16}),
    "softmax": (softmax, {"x": "*fp32", "out": "*fp32", "columns": "i32"}, {"BLOCK": 64}),
    "rms_norm": (
        rms_norm,
        {"x": "*fp32", "weight": "*fp32", "out": "*fp32", "columns": "i32"},
        {"BLOCK": 64},
    ),
    "cumsum": (cumsum, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 64}),
    "sort": (sort, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 16}),
    "flip": (flip, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 16}),
    "recurrence": (
        recurrence,
        {"x": "*fp32", "decay": "*fp32", "out": "*fp32", "n": "i32"},
        {"BLOCK": 64},
    ),
    "gather_rows": (
        gather_rows,
        {"x": "*fp32", "index": "*i64", "out": "*fp32", "stride": "i32"},
        {"ROWS": 8, "COLUMNS": 16},
    ),
    "scatter_rows": (
        scatter_rows,
        {"x": "*fp32", "index": "*i64", "out": "*fp32", "stride": "i32"},
        {"ROWS": 8, "COLUMNS": 16},
    ),
    "histogram_atomics": (
        histogram_atomics,
        {"x": "*i32", "counts": "*i32", "n": "i32"},
        {"BLOCK": 64},
    ),
    "relu_in_place": (relu_in_place, {"x": "*fp32", "n": "i32"}, {"BLOCK": 64}),
    "transpose": (transpose, {"x": "*fp32", "out": "*fp32"}, {"ROWS": 8, "COLUMNS": 16}),
    "transposed_access": (
        transposed_access,
        {"x": "*fp32", "out": "*fp32"},
        {"ROWS": 8, "COLUMNS": 16},
    ),
    "wrapped": (wrapped, {"x": "*fp32", "out": "*fp32", "n": "i32", "m": "i32"}, {"BLOCK": 64}),
    "triangle": (triangle, {"x": "*fp32", "out": "*fp32", "stride": "i32"}, {"BLOCK": 16}),
    "positive_only": (positive_only, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 64}),
    "every_second": (every_second, {"x": "*fp32", "out": "*fp32", "step": "i32"}, {"BLOCK": 64}),
    "reshaped_pointers": (
        reshaped_pointers,
        {"x": "*fp32", "out": "*fp32"},
        {"ROWS": 8, "COLUMNS": 16},
    ),
    "slots": (slots, {"x": "*fp32", "slot": "*i32", "out": "*fp32"}, {"BLOCK": 64}),
    "ragged_sum": (ragged_sum, {"x": "*fp32", "starts": "*i32", "out": "*fp32"}, {"BLOCK": 64}),
    "collatz": (collatz, {"x": "*i32", "out": "*i32", "limit": "i32"}, {}),
    "early_return": (early_return, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 64}),
    "calls_helper": (calls_helper, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 64}),
    "inline_assembly": (inline_assembly, {"x": "*i32", "out": "*i32"}, {"BLOCK": 64}),
    "nested_branches": (
        nested_branches,
        {"x": "*fp32", "out": "*fp32", "n": "i32", "flag": "i32"},
        {"BLOCK": 64},
    ),
    "matmul": (
        matmul,
        {
            "a": "*fp16",
            "b": "*fp16",
            "c": "*fp16",
            **dict.fromkeys(("M", "N", "K", "sam", "sbk", "scm"), "i32"),
        },
        {"BM": 32, "BN": 64, "BK": 16},
    ),
    "batched_matmul": (
        batched_matmul,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32"},
        {"BM": 32, "BN": 64, "BK": 16, "K": 64},
    ),
    "grouped_matmul": (
        grouped_matmul,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "experts": "*i32", "N": "i32", "K": "i32"},
        {"BM": 32, "BN": 64, "BK": 16},
    ),
    "chained_matmul": (
        chained_matmul,
        {"a": "*fp16", "b": "*fp16", "c": "*fp16", "out": "*fp32"},
        {"B": 32},
    ),
    "attention": (
        attention,
        {
            **dict.fromkeys(("Q", "K", "V", "Out"), "*fp16"),
            "scale": "fp32",
            "N_CTX": "i32",
        },
        {"HEAD": 64, "BM": 32, "BN": 64},
    ),
    "linear_attention": (
        linear_attention,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp32", "n": "i32"},
        {"B": 32},
    ),
}

if hasattr(tl, "make_block_ptr"):

    @triton.jit
    def block_pointers(x, out, M, N, stride, BM: tl.constexpr, BN: tl.constexpr):
        source = tl.make_block_ptr(
            x, (M, N), (stride, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0)
        )
        target = tl.make_block_ptr(
            out, (N, M), (1, stride), (0, tl.program_id(0) * BM), (BN, BM), (0, 1)
        )
        for _ in range(0, N, BN):
            tile = tl.load(source, boundary_check=(0,), padding_option="zero")
            tl.store(target, tl.trans(tl.exp(tile)))
            source = tl.advance(source, (0, BN))
            target = tl.advance(target, (BN, 0))

    CASES["block_pointers"] = (
        block_pointers,
        {"x": "*fp32", "out": "*fp32", "M": "i32", "N": "i32", "stride": "i32"},
        {"BM": 16, "BN": 32},
    )

if hasattr(tl, "make_tensor_descriptor"):

    @triton.jit
    def descriptors(x, out, M, N, stride, BM: tl.constexpr, BN: tl.constexpr):
        source = tl.make_tensor_descriptor(x, [M, N], [stride, 1], [BM, BN])
        target = tl.make_tensor_descriptor(out, [M, N], [stride, 1], [BM, BN])
        for column in range(0, N, BN):
            tile = source.load([tl.program_id(0) * BM, column])
            target.store([tl.program_id(0) * BM, column], tl.exp(tile))

    CASES["descriptors"] = (
        descriptors,
        {"x": "*fp32", "out": "*fp32", "M": "i32", "N": "i32", "stride": "i64"},
        {"BM": 16, "BN": 32},
    )

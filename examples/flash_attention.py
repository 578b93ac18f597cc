"""Flash attention with plain pointers: scores and the running softmax never leave the chip.

Run it on any machine, with no NPU:  python examples/flash_attention.py
"""

import triton
import triton.language as tl

import ascend_autotune


@triton.jit
def attention_kernel(
    Q,
    K,
    V,
    Out,
    sm_scale,
    stride_head,  # elements from one (batch, head) to the next, the same for all four
    stride_row,  # elements from one position to the next; HEAD_DIM is contiguous
    N_CTX: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    head = tl.program_id(1).to(tl.int64) * stride_head
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.arange(0, BLOCK_N)
    rd = tl.arange(0, HEAD_DIM)
    q = tl.load(
        Q + head + rm[:, None] * stride_row + rd[None, :], mask=rm[:, None] < N_CTX, other=0.0
    )
    k_ptrs = K + head + rn[:, None] * stride_row + rd[None, :]
    v_ptrs = V + head + rn[:, None] * stride_row + rd[None, :]

    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    scale = sm_scale * 1.4426950408889634  # exp(x) = exp2(x * log2(e))
    for _ in range(0, N_CTX, BLOCK_N):
        # N_CTX is a multiple of BLOCK_N here, as in most models: no mask on the columns.
        scores = tl.dot(q, tl.trans(tl.load(k_ptrs))) * scale
        new_max = tl.maximum(row_max, tl.max(scores, axis=1))
        p = tl.exp2(scores - new_max[:, None])
        decay = tl.exp2(row_max - new_max)
        row_sum = row_sum * decay + tl.sum(p, axis=1)
        acc = acc * decay[:, None]
        acc = tl.dot(p.to(V.dtype.element_ty), tl.load(v_ptrs), acc)
        row_max = new_max
        k_ptrs += BLOCK_N * stride_row
        v_ptrs += BLOCK_N * stride_row

    acc = acc / row_sum[:, None]
    out = Out + head + rm[:, None] * stride_row + rd[None, :]
    tl.store(out, acc.to(Out.dtype.element_ty), mask=rm[:, None] < N_CTX)


BATCH_TIMES_HEADS = 64  # what the grid below is computed for

KERNEL = attention_kernel
SIGNATURE = {
    "Q": "*fp16",
    "K": "*fp16",
    "V": "*fp16",
    "Out": "*fp16",
    "sm_scale": "fp32",
    "stride_head": "i32:16",
    "stride_row": "i32:16",
}
CONSTANTS = {"N_CTX": 4096, "HEAD_DIM": 64}
TILE = {"BLOCK_M": 64, "BLOCK_N": 64}
SPACE = {
    "BLOCK_M": [16, 32, 64, 128, 256, 512, 1024, 2048],
    "BLOCK_N": [16, 32, 64, 128, 256, 512, 1024, 2048],
}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (triton.cdiv(CONSTANTS["N_CTX"], tile["BLOCK_M"]), BATCH_TIMES_HEADS)


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

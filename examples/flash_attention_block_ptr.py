"""Causal flash attention written with block pointers.

Run it on any machine, with no NPU:  python examples/flash_attention_block_ptr.py
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
    stride_head,
    stride_row,
    N_CTX: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    start_m = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1).to(tl.int64) * stride_head
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    q_block = tl.make_block_ptr(
        base=Q + head,
        shape=(N_CTX, HEAD_DIM),
        strides=(stride_row, 1),
        offsets=(start_m, 0),
        block_shape=(BLOCK_M, HEAD_DIM),
        order=(1, 0),
    )
    k_block = tl.make_block_ptr(
        base=K + head,
        shape=(N_CTX, HEAD_DIM),
        strides=(stride_row, 1),
        offsets=(0, 0),
        block_shape=(BLOCK_N, HEAD_DIM),
        order=(1, 0),
    )
    v_block = tl.make_block_ptr(
        base=V + head,
        shape=(N_CTX, HEAD_DIM),
        strides=(stride_row, 1),
        offsets=(0, 0),
        block_shape=(BLOCK_N, HEAD_DIM),
        order=(1, 0),
    )
    out_block = tl.make_block_ptr(
        base=Out + head,
        shape=(N_CTX, HEAD_DIM),
        strides=(stride_row, 1),
        offsets=(start_m, 0),
        block_shape=(BLOCK_M, HEAD_DIM),
        order=(1, 0),
    )
    rm = start_m + tl.arange(0, BLOCK_M)
    rn = tl.arange(0, BLOCK_N)
    scale = sm_scale * 1.4426950408889634  # exp(x) = exp2(x * log2(e))
    q = tl.load(q_block)
    for start_n in range(0, start_m + BLOCK_M, BLOCK_N):
        k = tl.load(k_block)
        scores = tl.dot(q, tl.trans(k)) * scale
        scores = tl.where(rm[:, None] >= start_n + rn[None, :], scores, -1.0e6)
        new_max = tl.maximum(row_max, tl.max(scores, axis=1))
        p = tl.exp2(scores - new_max[:, None])
        decay = tl.exp2(row_max - new_max)
        row_sum = row_sum * decay + tl.sum(p, axis=1)
        acc = acc * decay[:, None]
        acc = tl.dot(p.to(V.dtype.element_ty), tl.load(v_block), acc)
        row_max = new_max
        k_block = tl.advance(k_block, (BLOCK_N, 0))
        v_block = tl.advance(v_block, (BLOCK_N, 0))

    acc = acc / row_sum[:, None]
    tl.store(out_block, acc.to(Out.dtype.element_ty))


BATCH_TIMES_HEADS = 64  # what the grid below is computed for

KERNEL = attention_kernel
SIGNATURE = {
    "Q": "*bf16",
    "K": "*bf16",
    "V": "*bf16",
    "Out": "*bf16",
    "sm_scale": "fp32",
    "stride_head": "i64:16",
    "stride_row": "i64:16",
}
CONSTANTS = {"N_CTX": 4096, "HEAD_DIM": 128}
TILE = {"BLOCK_M": 64, "BLOCK_N": 64}
SPACE = {"BLOCK_M": [32, 64, 128, 256], "BLOCK_N": [32, 64, 128, 256]}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (triton.cdiv(CONSTANTS["N_CTX"], tile["BLOCK_M"]), BATCH_TIMES_HEADS)


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

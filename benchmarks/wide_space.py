"""A kernel with four tile parameters, for measuring a space of a million candidates."""

import triton
import triton.language as tl


@triton.jit
def scaled_sum_kernel(
    X,
    Y,
    Out,
    stride_x,
    stride_y,
    N,
    M_TILES: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    side = tl.arange(0, BLOCK_R)
    total = tl.zeros((BLOCK_M, BLOCK_R), dtype=tl.float32)
    for start in range(0, N, BLOCK_N * M_TILES):
        cols = start + tl.arange(0, BLOCK_N)
        x = tl.load(X + rows[:, None] * stride_x + cols[None, :])
        y = tl.load(Y + rows[:, None] * stride_y + side[None, :])
        total += y * tl.sum(tl.exp(x), axis=1)[:, None]
    tl.store(Out + rows[:, None] * stride_y + side[None, :], total)


KERNEL = scaled_sum_kernel
SIGNATURE = {
    "X": "*fp32:16",
    "Y": "*fp32:16",
    "Out": "*fp32:16",
    "stride_x": "i32:16",
    "stride_y": "i32:16",
    "N": "i32:16",
}
_SIZES = [8 * n for n in range(1, 33)]
SPACE = {
    "M_TILES": list(range(1, 32)),
    "BLOCK_M": _SIZES,
    "BLOCK_N": [32 * n for n in range(1, 33)],
    "BLOCK_R": _SIZES,
}

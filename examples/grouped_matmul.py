"""Grouped matrix multiplication: tokens sorted by expert, each group times its expert's weights.

Run it on any machine, with no NPU:  python examples/grouped_matmul.py
"""

import triton
import triton.language as tl

import ascend_autotune


@triton.jit
def grouped_matmul_kernel(
    x_ptr,  # [tokens, K], tokens of one group next to each other
    weight_ptr,  # [groups, K, N]
    out_ptr,  # [tokens, N]
    group_start_ptr,  # [groups + 1], where each group's tokens begin
    N,
    K,
    stride_xm,
    stride_wg,
    stride_wk,
    stride_om,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    group = tl.program_id(2)
    first = tl.load(group_start_ptr + group)
    end = tl.load(group_start_ptr + group + 1)
    rm = first + tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    row_mask = rm[:, None] < end
    x_ptrs = x_ptr + rm[:, None] * stride_xm + rk[None, :]
    w_ptrs = weight_ptr + group * stride_wg + rk[:, None] * stride_wk + rn[None, :]
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(x_ptrs, mask=row_mask & (k + rk[None, :] < K), other=0.0)
        w = tl.load(w_ptrs, mask=(k + rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        accumulator = tl.dot(x, w, accumulator)
        x_ptrs += BLOCK_K
        w_ptrs += BLOCK_K * stride_wk
    out = out_ptr + rm[:, None] * stride_om + rn[None, :]
    value = accumulator.to(out_ptr.dtype.element_ty)
    tl.store(out, value, mask=row_mask & (rn[None, :] < N))


LARGEST_GROUP, N, GROUPS = 1024, 2048, 8  # what the grid below is computed for

KERNEL = grouped_matmul_kernel
SIGNATURE = {
    "x_ptr": "*bf16",
    "weight_ptr": "*bf16",
    "out_ptr": "*bf16",
    "group_start_ptr": "*i32",
    "N": "i32:16",
    "K": "i32:16",
    "stride_xm": "i32:16",
    "stride_wg": "i32:16",
    "stride_wk": "i32:16",
    "stride_om": "i32:16",
}
CONSTANTS = {}
TILE = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 64}
SPACE = {"BLOCK_M": [16, 32, 64, 128], "BLOCK_N": [64, 128, 256, 512], "BLOCK_K": [64, 128, 256]}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (triton.cdiv(LARGEST_GROUP, tile["BLOCK_M"]), triton.cdiv(N, tile["BLOCK_N"]), GROUPS)


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

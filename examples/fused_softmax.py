"""Softmax over rows in one pass: a whole row is on the chip at once, so the row sets the limit.

Run it on any machine, with no NPU:  python examples/fused_softmax.py
"""

import triton
import triton.language as tl

import ascend_autotune


@triton.jit
def softmax_kernel(
    in_ptr,
    out_ptr,
    in_row_stride,
    out_row_stride,
    n_rows,
    n_cols,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLS: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.arange(0, BLOCK_COLS)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    x = tl.load(
        in_ptr + rows[:, None] * in_row_stride + cols[None, :], mask=mask, other=-float("inf")
    ).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, axis=1)[:, None])
    y = numerator / tl.sum(numerator, axis=1)[:, None]
    out = out_ptr + rows[:, None] * out_row_stride + cols[None, :]
    tl.store(out, y.to(out_ptr.dtype.element_ty), mask=mask)


N_ROWS = 65536  # what the grid below is computed for

KERNEL = softmax_kernel
SIGNATURE = {
    "in_ptr": "*fp16",
    "out_ptr": "*fp16",
    "in_row_stride": "i32:16",
    "out_row_stride": "i32:16",
    "n_rows": "i32:16",
    "n_cols": "i32:16",
}
CONSTANTS = {}
TILE = {"BLOCK_ROWS": 8, "BLOCK_COLS": 1024}
SPACE = {"BLOCK_ROWS": [2, 4, 8, 16, 32, 64], "BLOCK_COLS": [1024, 2048, 4096, 8192, 16384]}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (triton.cdiv(N_ROWS, tile["BLOCK_ROWS"]),)


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

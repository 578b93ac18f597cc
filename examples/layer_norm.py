"""Layer norm over rows too long for the chip: two passes over blocks of columns.

Run it on any machine, with no NPU:  python examples/layer_norm.py
"""

import triton
import triton.language as tl

import ascend_autotune


@triton.jit
def layer_norm_kernel(
    x_ptr,
    weight_ptr,
    bias_ptr,
    y_ptr,
    row_stride,
    n_rows,
    n_cols,
    eps,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLS: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    row_mask = rows[:, None] < n_rows
    row_offsets = rows[:, None] * row_stride
    columns = tl.arange(0, BLOCK_COLS)

    # Sums of x and of its square in one pass, added up per column and reduced once at the end.
    total = tl.zeros((BLOCK_ROWS, BLOCK_COLS), dtype=tl.float32)
    total_of_squares = tl.zeros((BLOCK_ROWS, BLOCK_COLS), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK_COLS):
        cols = start + columns
        mask = row_mask & (cols[None, :] < n_cols)
        x = tl.load(x_ptr + row_offsets + cols[None, :], mask=mask, other=0.0).to(tl.float32)
        total += x
        total_of_squares += x * x
    mean = tl.sum(total, axis=1) / n_cols
    variance = tl.sum(total_of_squares, axis=1) / n_cols - mean * mean
    rstd = 1.0 / tl.sqrt(variance + eps)

    for start in range(0, n_cols, BLOCK_COLS):
        cols = start + columns
        col_mask = cols < n_cols
        mask = row_mask & col_mask[None, :]
        x = tl.load(x_ptr + row_offsets + cols[None, :], mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=col_mask, other=0.0).to(tl.float32)
        bias = tl.load(bias_ptr + cols, mask=col_mask, other=0.0).to(tl.float32)
        y = (x - mean[:, None]) * rstd[:, None] * weight[None, :] + bias[None, :]
        out = y_ptr + row_offsets + cols[None, :]
        tl.store(out, y.to(y_ptr.dtype.element_ty), mask=mask)


N_ROWS = 8192  # what the grid below is computed for

KERNEL = layer_norm_kernel
SIGNATURE = {
    "x_ptr": "*fp16",
    "weight_ptr": "*fp16",
    "bias_ptr": "*fp16",
    "y_ptr": "*fp16",
    "row_stride": "i32:16",
    "n_rows": "i32:16",
    "n_cols": "i32:16",
    "eps": "fp32",
}
CONSTANTS = {}
TILE = {"BLOCK_ROWS": 8, "BLOCK_COLS": 512}
SPACE = {"BLOCK_ROWS": [1, 2, 4, 8, 16, 32, 64], "BLOCK_COLS": [128, 256, 512, 1024, 2048, 4096]}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (triton.cdiv(N_ROWS, tile["BLOCK_ROWS"]),)


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

"""Running sum along rows: a scan inside each block, and what it adds up to is carried to the next.

Run it on any machine, with no NPU:  python examples/cumsum.py
"""

import triton
import triton.language as tl

import ascend_autotune


@triton.jit
def cumsum_kernel(
    x_ptr,
    out_ptr,
    row_stride,
    n_rows,
    n_cols,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLS: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    carried = tl.zeros((BLOCK_ROWS,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK_COLS):
        cols = start + tl.arange(0, BLOCK_COLS)
        mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        offsets = rows[:, None] * row_stride + cols[None, :]
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(out_ptr + offsets, tl.cumsum(x, axis=1) + carried[:, None], mask=mask)
        carried += tl.sum(x, axis=1)


N_ROWS = 8192  # what the grid below is computed for

KERNEL = cumsum_kernel
SIGNATURE = {
    "x_ptr": "*fp32",
    "out_ptr": "*fp32",
    "row_stride": "i32:16",
    "n_rows": "i32:16",
    "n_cols": "i32:16",
}
CONSTANTS = {}
TILE = {"BLOCK_ROWS": 8, "BLOCK_COLS": 256}
SPACE = {"BLOCK_ROWS": [1, 2, 4, 8, 16, 32, 64], "BLOCK_COLS": [128, 256, 512, 1024, 2048]}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (triton.cdiv(N_ROWS, tile["BLOCK_ROWS"]),)


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

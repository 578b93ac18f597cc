"""Embedding lookup: rows of a table, picked by an index that is itself loaded.

Run it on any machine, with no NPU:  python examples/gather.py
"""

import triton
import triton.language as tl

import ascend_autotune


@triton.jit
def gather_rows_kernel(
    table_ptr,  # [vocabulary, n_cols]
    index_ptr,  # [rows]
    out_ptr,  # [rows, n_cols]
    n_rows,
    n_cols,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLS: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.program_id(1) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
    index = tl.load(index_ptr + rows, mask=rows < n_rows, other=0)
    mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
    value = tl.load(table_ptr + index[:, None] * n_cols + cols[None, :], mask=mask)
    tl.store(out_ptr + rows[:, None] * n_cols + cols[None, :], value, mask=mask)


N_ROWS, N_COLS = 8192, 4096  # what the grid below is computed for

KERNEL = gather_rows_kernel
SIGNATURE = {
    "table_ptr": "*fp16",
    "index_ptr": "*i32",
    "out_ptr": "*fp16",
    "n_rows": "i32:16",
    "n_cols": "i32:16",
}
CONSTANTS = {}
TILE = {"BLOCK_ROWS": 16, "BLOCK_COLS": 256}
SPACE = {"BLOCK_ROWS": [4, 8, 16, 32, 64, 128], "BLOCK_COLS": [128, 256, 512, 1024, 4096]}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (triton.cdiv(N_ROWS, tile["BLOCK_ROWS"]), triton.cdiv(N_COLS, tile["BLOCK_COLS"]))


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

"""Cross entropy loss of one row a program, with a running maximum over blocks of the vocabulary.

Run it on any machine, with no NPU:  python examples/cross_entropy.py
"""

import triton
import triton.language as tl

import ascend_autotune


@triton.jit
def cross_entropy_kernel(
    logits_ptr,  # [rows, n_cols]
    target_ptr,  # [rows]
    loss_ptr,  # [rows]
    row_stride,
    n_cols,
    BLOCK_SIZE: tl.constexpr,
):
    row = tl.program_id(0)
    row_ptr = logits_ptr + row * row_stride
    target = tl.load(target_ptr + row)

    running_max = -float("inf")
    running_sum = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(row_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        new_max = tl.maximum(running_max, tl.max(x, axis=0))
        running_sum = running_sum * tl.exp(running_max - new_max) + tl.sum(
            tl.exp(x - new_max), axis=0
        )
        running_max = new_max

    logit = tl.load(row_ptr + target).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(running_sum) + running_max - logit)


N_ROWS = 8192  # what the grid below is computed for

KERNEL = cross_entropy_kernel
SIGNATURE = {
    "logits_ptr": "*fp16",
    "target_ptr": "*i32",
    "loss_ptr": "*fp32",
    "row_stride": "i32:16",
    "n_cols": "i32:16",
}
CONSTANTS = {}
TILE = {"BLOCK_SIZE": 4096}
SPACE = {"BLOCK_SIZE": [1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072]}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (N_ROWS,)


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

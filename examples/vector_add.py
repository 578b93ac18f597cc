"""Vector addition: the smallest Triton kernel, and which blocks an Ascend chip takes.

Run it on any machine, with no NPU:  python examples/vector_add.py
"""

import triton
import triton.language as tl

import ascend_autotune


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


N_ELEMENTS = 1 << 24  # what the grid below is computed for

KERNEL = add_kernel
SIGNATURE = {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n_elements": "i32:16"}
CONSTANTS = {}
TILE = {"BLOCK_SIZE": 4096}
SPACE = {"BLOCK_SIZE": [128, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 2097152]}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (triton.cdiv(N_ELEMENTS, tile["BLOCK_SIZE"]),)


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

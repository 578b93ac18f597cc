"""Rotary position embedding: the two halves of each head are turned by a position's angle.

Run it on any machine, with no NPU:  python examples/rotary_embedding.py
"""

import triton
import triton.language as tl

import ascend_autotune


@triton.jit
def rotary_kernel(
    x_ptr,  # [tokens, heads, 2 * HALF_DIM], turned in place
    cos_ptr,  # [tokens, HALF_DIM]
    sin_ptr,
    token_stride,
    n_heads,
    HALF_DIM: tl.constexpr,
    BLOCK_HEADS: tl.constexpr,
):
    token = tl.program_id(0)
    heads = tl.program_id(1) * BLOCK_HEADS + tl.arange(0, BLOCK_HEADS)
    half = tl.arange(0, HALF_DIM)
    cos = tl.load(cos_ptr + token * HALF_DIM + half)[None, :]
    sin = tl.load(sin_ptr + token * HALF_DIM + half)[None, :]
    mask = heads[:, None] < n_heads
    first = x_ptr + token * token_stride + heads[:, None] * (2 * HALF_DIM) + half[None, :]
    second = first + HALF_DIM
    a = tl.load(first, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(second, mask=mask, other=0.0).to(tl.float32)
    tl.store(first, (a * cos - b * sin).to(x_ptr.dtype.element_ty), mask=mask)
    tl.store(second, (b * cos + a * sin).to(x_ptr.dtype.element_ty), mask=mask)


TOKENS, HEADS = 4096, 64  # what the grid below is computed for

KERNEL = rotary_kernel
SIGNATURE = {
    "x_ptr": "*fp16",
    "cos_ptr": "*fp32",
    "sin_ptr": "*fp32",
    "token_stride": "i32:16",
    "n_heads": "i32:16",
}
CONSTANTS = {"HALF_DIM": 64}
TILE = {"BLOCK_HEADS": 16}
SPACE = {"BLOCK_HEADS": [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (TOKENS, triton.cdiv(HEADS, tile["BLOCK_HEADS"]))


def main() -> None:
    request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
    print(ascend_autotune.explain(KERNEL, **request, **TILE))
    print()
    print(ascend_autotune.prune(KERNEL, space=SPACE, **request))


if __name__ == "__main__":
    main()

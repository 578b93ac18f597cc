"""The guide's first example: attention whose tile and compile options are searched.

With an NPU:                   python examples/guide_attention.py
On the modelled NPU (no NPU):  ASCEND_AUTOTUNE_DEVICE=standin python examples/guide_attention.py
With neither it says so, and explains the kernel, which needs no device.
"""

import time

import triton
import triton.language as tl

import ascend_autotune
import ascend_autotune.hooks  # before the kernel is decorated

ATTENTION_SEARCH_HINTS = {
    "search_params": {
        "params": ["BLOCK_M", "BLOCK_N"],
    },
}


@triton.autotune(
    configs=[],
    key=["N_CTX", "HEAD_DIM"],
    hints=ATTENTION_SEARCH_HINTS,
)
@triton.jit
def attention_kernel(
    Q,
    K,
    V,
    Out,
    N_CTX: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, HEAD_DIM)
    # No masks: N_CTX is a multiple of every value that is searched (16 to 2048).
    q = tl.load(Q + rows[:, None] * HEAD_DIM + dims[None, :])
    row_max = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    row_sum = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), tl.float32)
    for start in range(0, N_CTX, BLOCK_N):
        at = (start + columns)[:, None] * HEAD_DIM + dims[None, :]
        scores = tl.dot(q, tl.trans(tl.load(K + at))) * (HEAD_DIM**-0.5)
        new_max = tl.maximum(row_max, tl.max(scores, 1))
        p = tl.exp(scores - new_max[:, None])
        decay = tl.exp(row_max - new_max)
        row_sum = row_sum * decay + tl.sum(p, 1)
        acc = acc * decay[:, None] + tl.dot(p.to(V.dtype.element_ty), tl.load(V + at))
        row_max = new_max
    out = (acc / row_sum[:, None]).to(Out.dtype.element_ty)
    tl.store(Out + rows[:, None] * HEAD_DIM + dims[None, :], out)


def attention(Q, K, V, Out, N_CTX, HEAD_DIM):
    """One head. No BLOCK_M and no BLOCK_N: the tuner chooses them, and tells the grid."""
    grid = lambda meta: (triton.cdiv(N_CTX, meta["BLOCK_M"]),)  # noqa: E731
    attention_kernel[grid](Q, K, V, Out, N_CTX, HEAD_DIM)


class HostTensor:
    """What Triton asks of a tensor, for the modelled NPU on a machine without torch."""

    dtype = "fp16"

    def data_ptr(self) -> int:
        return 4096  # divisible by 16, as an allocator's


def make_tensors(N_CTX, HEAD_DIM):
    """Q, K, V and Out on the device that is active; stand-ins for them where torch is missing."""
    try:
        import torch
    except ImportError:
        return [HostTensor() for _ in range(4)]
    driver = triton.runtime.driver.active
    if hasattr(driver, "get_active_torch_device"):
        device = driver.get_active_torch_device()
    else:  # triton-ascend 3.2.0 and Triton 3.2
        device = driver.get_current_target().backend
    torch.manual_seed(0)
    return [torch.randn(N_CTX, HEAD_DIM).to(device, torch.float16) for _ in range(4)]


def missing_device() -> str:
    """Why there is nothing to tune on; empty where there is something."""
    try:
        triton.runtime.driver.active.get_current_target()
    except Exception as error:  # whatever the driver raises: it is not ours
        return str(error) or type(error).__name__
    return ""


# What explain and prune are asked with where nothing was called yet.
KERNEL = attention_kernel
SIGNATURE = {"Q": "*fp16", "K": "*fp16", "V": "*fp16", "Out": "*fp16"}
CONSTANTS = {"N_CTX": 2048, "HEAD_DIM": 64}
TILE = {"BLOCK_M": 64, "BLOCK_N": 64}
SPACE = {
    "BLOCK_M": [16, 32, 64, 128, 256, 512, 1024, 2048],
    "BLOCK_N": [16, 32, 64, 128, 256, 512, 1024, 2048],
}


def grid(tile: dict[str, int]) -> tuple[int, ...]:
    return (triton.cdiv(CONSTANTS["N_CTX"], tile["BLOCK_M"]),)


def main() -> None:
    missing = missing_device()
    if missing:
        print("There is no device to tune on; Triton's word:", *missing.splitlines()[:1], sep="\n")
        print("On the modelled NPU, which needs pip install 'ascend-autotune[ascend]':")
        print("  ASCEND_AUTOTUNE_DEVICE=standin python examples/guide_attention.py")
        print("Without a device, this is what the kernel is to the chip:\n")
        request = {"signature": SIGNATURE, "constants": CONSTANTS, "grid": grid}
        print(ascend_autotune.explain(KERNEL, **request, **TILE))
        return
    for N_CTX, what in ((2048, "a new key"), (2048, "the same key"), (4096, "another key")):
        tensors = make_tensors(N_CTX, 64)
        start = time.perf_counter()
        attention(*tensors, N_CTX, 64)
        took = time.perf_counter() - start
        print(f"N_CTX={N_CTX}, {what}: called in {took:.3f} s; tuned keys so far: ", end="")
        print(len(attention_kernel.cache))
        best = attention_kernel.best_config
        print(f"  runs with BLOCK_M={best.kwargs['BLOCK_M']}, BLOCK_N={best.kwargs['BLOCK_N']}")
    print(f"\nbest config: {attention_kernel.best_config}\n")
    print(ascend_autotune.explain(attention_kernel).search)


if __name__ == "__main__":
    main()

"""What the cost model takes a chip for: its published figures, or those of one like it."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_autotune.search.device import DeviceInfo


@dataclass(frozen=True)
class Figures:
    """One chip; rates are of the whole chip, in bytes or operations per microsecond.

    `simt`: programs are made of warps and several share a core (a GPU); else one program has a
    core to itself. `registers` and `shared` are bytes of one core, `l2` of the chip.
    """

    simt: bool
    cores: float
    memory: float
    dots: float
    vectors: float
    staging: float
    registers: float
    shared: float
    l2: float


# Where a device does not say: NVIDIA's H200 data sheet; Ascend 910B3 (20 cube cores, 1.6 TB/s,
# 313 dense fp16 TFLOP/s; vectors 128 fp16 lanes on each of 40 cores at 1.8 GHz).
_GPU = DeviceInfo(
    "",
    "cuda",
    cores=132,
    bandwidth={"memory": 4.8e12},
    flops={"fp16": 989e12, "fp32": 67e12},
    capacity={"registers": 256 * 1024, "shared": 227 * 1024, "l2": 50 * 1024 * 1024},
)
_NPU = DeviceInfo(
    "",
    "npu",
    cores=20,
    bandwidth={"memory": 1.6e12},
    flops={"fp16": 313e12, "fp32": 18e12},
    capacity={"ub": 192 * 1024, "l1": 512 * 1024, "l2": 192 * 1024 * 1024},
)

# Parts of the peak that well written Triton kernels reach: 60% of the dense tensor rate (the
# matmul of Triton's own tutorial on Hopper), 30% of the vector rate (no fused multiply-adds
# counted: a factor of 2, and address arithmetic beside them).
_DOTS, _VECTORS = 0.6, 0.3
# Bytes per microsecond into shared memory, of the memory's: 128 bytes a clock and core would be
# 6 times the H200's memory bandwidth; half of it is left beside the dots' own reads.
_STAGING = 2.5


def figures_of(info: DeviceInfo) -> Figures:
    """The figures of a device, missing ones taken from a chip of its kind."""
    simt = "ub" not in info.capacity and info.kind in ("cuda", "replay")
    other = _GPU if simt else _NPU
    capacity = {**other.capacity, **{k: v for k, v in info.capacity.items() if v}}
    flops = {**other.flops, **{k: v for k, v in info.flops.items() if v}}
    bandwidth = info.bandwidth.get("memory") or other.bandwidth["memory"]
    return Figures(
        simt=simt,
        cores=float(info.cores or other.cores),
        memory=bandwidth / 1e6,
        dots=_DOTS * max(flops["fp16"], flops.get("bf16", 0.0)) / 1e6,
        vectors=_VECTORS * flops["fp32"] / 1e6,
        staging=_STAGING * bandwidth / 1e6,
        registers=float(capacity.get("registers", 0)),
        shared=float(capacity.get("shared", 0)),
        l2=float(capacity["l2"]),
    )

"""Published figures of chips, for devices that cannot be asked.

Sources: NVIDIA's data sheets and tuning guides (H200 SXM: 132 SMs, 4.8 TB/s, 989 dense fp16
TFLOP/s, 67 fp32 TFLOP/s, 227 KiB of shared memory a block, 50 MB of L2; A100 SXM 80 GB: 108
SMs, 2.04 TB/s, 312 and 19.5 TFLOP/s, 163 KiB, 40 MB).
"""

from __future__ import annotations

from typing import Literal

from ascend_autotune.search.device import DeviceInfo

_KIB = 1024
_MIB = 1024 * 1024

_CUDA: dict[str, tuple[int, float, float, float, int, int]] = {
    # cores, bytes/s, fp16 FLOP/s, fp32 FLOP/s, bytes of shared memory, bytes of L2
    "H200": (132, 4.8e12, 989e12, 67e12, 227 * _KIB, 50 * _MIB),
    "H100": (132, 3.35e12, 989e12, 67e12, 227 * _KIB, 50 * _MIB),
    "A100": (108, 2.04e12, 312e12, 19.5e12, 163 * _KIB, 40 * _MIB),
}


def known_device(name: str, kind: Literal["npu", "cuda", "standin", "replay"]) -> DeviceInfo:
    """What is published of the chip `name`; only its name where nothing is."""
    for part, (cores, memory, half, single, shared, l2) in _CUDA.items():
        if part in name:
            return DeviceInfo(
                name,
                kind,
                cores=cores,
                vector_cores=cores,
                bandwidth={"memory": memory},
                flops={"fp16": half, "bf16": half, "fp32": single},
                capacity={"shared": shared, "registers": 256 * _KIB, "l2": l2},
            )
    return DeviceInfo(name, kind)

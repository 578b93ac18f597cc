"""What the stand-in's model takes for true of a chip.

Sources. Cores and on-chip memories: AscendNPU-IR's target table (`analysis.chips`). The cube
multiplies 16x16x16 fp16 a cycle, 4096 multiply-adds (Huawei, Hot Chips 31, 2019), a vector unit
takes 256 bytes a cycle (Ascend C's documentation: one repeat). The L2 of 910B3 holds 192 MiB
(catlass, `include/acot/arch/arch.hpp`). Clock and memory bandwidth are the widely quoted ones of
910B and not Huawei's own: 313 TFLOPS of fp16 for 20 cores come to 1.9 GHz, and 1.6 TB/s of HBM2e.
fp32 on the cube at a quarter of fp16 agrees with a measurement on 910B (328 against 87 TFLOPS,
the repository `limulidae`). The bandwidth of L2, three times the memory's, and all latencies are
assumptions. None of it has been checked on an NPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ascend_autotune.analysis.chips import Chip, chip
from ascend_autotune.search.device import DeviceInfo

_GIGA = 1e9
_MIB = 1 << 20
_CUBE_K: Mapping[int, int] = MappingProxyType({8: 32, 16: 16, 32: 4, 64: 1})


@dataclass(frozen=True)
class Figures:
    """A chip to the model. Bandwidths in bytes per second, sizes in bytes, times in seconds.

    `core_bandwidth` is what one core can move at most; `cube_k` how deep a slice of K the cube
    takes a cycle, by width of the inputs in bits.
    """

    cube_cores: int
    vector_cores: int
    hertz: float
    memory_bandwidth: float
    l2_bandwidth: float
    l2_bytes: int
    core_bandwidth: float
    vector_bytes: int = 256
    cube_k: Mapping[int, int] = field(default_factory=lambda: _CUBE_K)
    l0a_bytes: int = 512  # a cycle, from L1
    l0b_bytes: int = 256
    launch_seconds: float = 5e-6
    block_seconds: float = 0.5e-6  # to start one program on a core
    transfer_seconds: float = 0.6e-6  # until the first byte of a transfer is there
    sync_seconds: float = 0.4e-6  # one hand-over between cube and vector cores
    instruction_cycles: int = 24  # of one vector instruction, before its data


# Gigahertz, memory bandwidth in GB/s, L2 in MiB, by how the names start; the first that fits.
_TABLE: tuple[tuple[str, float, float, int], ...] = (
    ("Ascend910B4", 1.5, 800, 96),
    ("Ascend910B", 1.9, 1600, 192),
    ("Ascend910_93", 1.9, 1600, 192),
    ("Ascend310B", 1.0, 100, 16),
    ("Ascend", 1.9, 1600, 128),  # 950: not published
)
_UNKNOWN_CORES = (20, 40)


def figures_of(described: Chip) -> Figures:
    """The model's figures for a chip."""
    _, hertz, memory, l2 = next(row for row in _TABLE if described.name.startswith(row[0]))
    return Figures(
        cube_cores=described.cube_cores or _UNKNOWN_CORES[0],
        vector_cores=described.vector_cores or _UNKNOWN_CORES[1],
        hertz=hertz * _GIGA,
        memory_bandwidth=memory * _GIGA,
        l2_bandwidth=3 * memory * _GIGA,
        l2_bytes=l2 * _MIB,
        core_bandwidth=128 * hertz * _GIGA,
    )


def standin_info(described: Chip | str) -> DeviceInfo:
    """The modelled NPU as a search sees it. Raises `RequestError` for an unknown chip."""
    known = chip(described) if isinstance(described, str) else described
    figures = figures_of(known)
    cube = 2 * 16 * 16 * figures.cube_cores * figures.hertz
    return DeviceInfo(
        name=known.name,
        kind="standin",
        cores=figures.cube_cores,
        vector_cores=figures.vector_cores,
        bandwidth={"memory": figures.memory_bandwidth, "l2": figures.l2_bandwidth},
        flops={
            "fp16": cube * figures.cube_k[16],
            "bf16": cube * figures.cube_k[16],
            "fp32": cube * figures.cube_k[32],
            "int8": cube * figures.cube_k[8],
        },
        capacity={**known.capacity, "l2": figures.l2_bytes},
        modelled=True,
    )

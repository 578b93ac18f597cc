"""What others go by instead of the program: thresholds on a tile's size, as formulas.

Figures only, with the file that they stand in; no code is taken over. Each answers, for one
program, whether its author would let the tile through:

    copies * elements * bytes_each <= share * UB

`elements` are those of the program's largest tensor, `UB` is 196,608 bytes on Ascend910B3 (both
libraries ask the device for UB_SIZE). None of them knows of L1 or L0C.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

UB_BYTES = 196_608
_LIGER = "linkedin/Liger-Kernel@ead96b6 src/liger_kernel/ops/backends/_ascend/"
_FLA = "fla-org/flash-linear-attention@bc3b101 fla/"


@dataclass(frozen=True, slots=True)
class Factor:
    """How many copies of the tile are reckoned with, and what share of UB may be filled.

    `kernels` finds the names of kernels that do what the file's own kernel does; "" is the rest.
    """

    kernels: str
    copies: float
    share: float
    source: str


@dataclass(frozen=True, slots=True)
class HandModel:
    """A library's factors. Blocks are rounded down to a power of two there, as tiles are here."""

    name: str
    factors: Sequence[Factor]
    bytes_each: int = 4

    def factor(self, kernel: str) -> Factor:
        """The first factor whose pattern the kernel's name has."""
        return next(factor for factor in self.factors if re.search(factor.kernels, kernel))

    def known(self, kernel: str) -> bool:
        """Does the library have a factor of its own for such a kernel?"""
        return bool(self.factor(kernel).kernels)

    def fits(self, kernel: str, elements: int, widest: int) -> bool:
        """`widest`: bytes of the largest element type of the arguments (not looked at)."""
        factor = self.factor(kernel)
        return factor.copies * elements * self.bytes_each <= factor.share * UB_BYTES


@dataclass(frozen=True, slots=True)
class TileGenerator:
    """A tile of the widest argument type may have so many bytes, whatever the kernel does."""

    name: str
    largest_bytes: int
    source: str

    def known(self, kernel: str) -> bool:
        """It makes no difference between kernels."""
        return bool(kernel)

    def fits(self, kernel: str, elements: int, widest: int) -> bool:
        """Whether the tile is under the threshold."""
        return elements * widest <= self.largest_bytes


LIGER = HandModel(
    "Liger-Kernel",
    (
        Factor("fused_add_rms_norm", 8.0, 0.9, _LIGER + "ops/fused_add_rms_norm.py"),
        Factor("rms_norm_grad", 8.0, 0.9, _LIGER + "ops/rms_norm.py"),
        Factor("rms_norm", 6.0, 0.9, _LIGER + "ops/rms_norm.py"),
        Factor("celoss|cross_entropy", 8.0, 0.9, _LIGER + "ops/cross_entropy.py"),
        Factor("rope", 3.0, 0.9, _LIGER + "ops/rope.py"),
        Factor("", 10.0, 0.8, _LIGER + "ub_manager.py"),
    ),
)
FLA = HandModel(
    "flash-linear-attention",
    (
        Factor("norm_grad", 8.0, 0.85, _FLA + "modules/backends/triton_ascend/layernorm.py"),
        Factor("l2_norm", 2.0, 0.85, _FLA + "modules/backends/triton_ascend/l2norm.py"),
        Factor("(rms|layer)_norm", 6.0, 0.85, _FLA + "modules/backends/triton_ascend/layernorm.py"),
        Factor(
            "celoss|cross_entropy",
            8.0,
            0.9,
            _FLA + "modules/backends/triton_ascend/fused_cross_entropy.py",
        ),
        Factor("rope", 6.0, 0.9, _FLA + "modules/backends/triton_ascend/rotary.py"),
        Factor(
            "scan_part_sum|cumsum", 8.0, 0.85, _FLA + "ops/utils/backends/triton_ascend/cumsum.py"
        ),
        Factor("chunk_fwd.*_o", 6.0, 0.8, _FLA + "ops/common/backends/triton_ascend/chunk_o.py"),
        Factor(
            "chunk_scaled_dot_kkt",
            5.0,
            0.85,
            _FLA + "ops/common/backends/triton_ascend/chunk_scaled_dot_kkt.py",
        ),
        Factor("", 10.0, 0.8, _FLA + "utils/ascend_ub_manager.py"),
    ),
)
TILE_GENERATOR = TileGenerator(
    "triton-ascend tile generator",
    65_536,
    "triton-ascend 3.2.0 triton/runtime/tile_generator.py (max_tile_bytes)",
)
MODELS = (LIGER, FLA, TILE_GENERATOR)

"""A worker's kernel that goes wrong outside of the GPU, as its tile says."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ascend_autotune.search.rebuilt import Rebuilt

COMPILE_HANGS, NO_MEMORY = 512, 1024


class Faulty(Rebuilt):
    def compile(self, values: Mapping[str, Any], grid: Sequence[int] | None) -> None:
        if values["BLOCK"] == COMPILE_HANGS:
            time.sleep(600)
        super().compile(values, grid)

    def launch(self, values: Mapping[str, Any], grid: Sequence[int] | None) -> None:
        import torch

        if values["BLOCK"] == NO_MEMORY:
            torch.empty(1 << 46, dtype=torch.uint8, device="cuda")
        super().launch(values, grid)

"""Upstream Triton: its CUDA backend's front end, made as lenient as the Ascend one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ascend_autotune.analysis.adapters.base import codegen_functions

# The newest architecture that every upstream release from 3.2 on knows: it has all dtypes.
_CAPABILITY, _WARP = 90, 32


class UpstreamBackend:
    """Stands for the Ascend front end; no CUDA device or toolkit takes part."""

    def __init__(self, chip: str) -> None:
        from triton.backends.compiler import GPUTarget
        from triton.backends.nvidia.compiler import CUDABackend

        self.backend: Any = CUDABackend(GPUTarget("cuda", _CAPABILITY, _WARP))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on GPU settings that mean nothing here
            self.options: Any = self.backend.parse_options(
                # As triton-ascend 3.2.0's NPUOptions: a dot is not made tf32 without being asked.
                {
                    "default_dot_input_precision": "ieee",
                    "allowed_dot_input_precisions": ("ieee", "hf32"),
                }
            )

    def load_dialects(self, context: Any) -> None:
        self.backend.load_dialects(context)

    def functions(self) -> Mapping[str, Any]:
        # The tensor cores' smallest tile is no limit of the cube unit.
        return {
            **codegen_functions(self.backend, self.options),
            "min_dot_size": lambda _left, _right: (1, 1, 1),
        }

"""triton-ascend: the front end that the chip's own compiler is fed by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ascend_autotune.analysis.adapters.base import codegen_functions


class AscendBackend:
    """triton-ascend's own backend with its default options."""

    def __init__(self, chip: str) -> None:
        from triton.backends.ascend.compiler import AscendBackend as Backend
        from triton.backends.compiler import GPUTarget

        self.backend: Any = Backend(GPUTarget("npu", chip, 0))
        self.options: Any = self.backend.parse_options({})

    def load_dialects(self, context: Any) -> None:
        from triton._C import libtriton

        self.backend.load_dialects(context)
        # 3.2.0's backend leaves its own dialect out.
        load = getattr(getattr(libtriton.ascend, "ir", None), "load_dialects", None)
        if load is not None:
            load(context)

    def functions(self) -> Mapping[str, Any]:
        return codegen_functions(self.backend, self.options)

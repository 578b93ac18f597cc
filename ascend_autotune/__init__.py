"""Know what a Triton kernel is to an Ascend chip, and which tiles cannot fit.

`explain` tells what a kernel is and what a tile takes; `prune` gives every candidate of
a space a verdict. Neither needs an NPU, torch or a driver, and importing this package
imports no Triton.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ascend_autotune._version import __version__
from ascend_autotune.errors import (
    AnalysisError,
    AscendAutotuneError,
    FlavourError,
    FrontEndError,
    JudgeUnavailable,
    RequestError,
)

if TYPE_CHECKING:
    from ascend_autotune.analysis.explaining import Report, explain
    from ascend_autotune.analysis.pruning import prune
    from ascend_autotune.analysis.result import PruneResult
    from ascend_autotune.analysis.verdict import Reason, ReasonCode, Verdict

_LAZY = ("PruneResult", "Reason", "ReasonCode", "Report", "Verdict", "explain", "prune")

__all__ = [
    "AnalysisError",
    "AscendAutotuneError",
    "FlavourError",
    "FrontEndError",
    "JudgeUnavailable",
    "PruneResult",
    "Reason",
    "ReasonCode",
    "Report",
    "RequestError",
    "Verdict",
    "__version__",
    "explain",
    "prune",
]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        value = getattr(importlib.import_module("ascend_autotune.analysis"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

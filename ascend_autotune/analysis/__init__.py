"""The analysis: from a kernel to verdicts, with no device.

Names are imported when they are asked for, so that importing this package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_autotune.analysis.explaining import Report, explain
    from ascend_autotune.analysis.pruning import prune
    from ascend_autotune.analysis.result import PruneResult
    from ascend_autotune.analysis.verdict import Reason, ReasonCode, Verdict

_WHERE = {
    "PruneResult": "result",
    "Reason": "verdict",
    "ReasonCode": "verdict",
    "Report": "explaining",
    "Verdict": "verdict",
    "explain": "explaining",
    "prune": "pruning",
}

__all__ = ["PruneResult", "Reason", "ReasonCode", "Report", "Verdict", "explain", "prune"]


def __getattr__(name: str) -> object:
    if name in _WHERE:
        module = importlib.import_module(f"ascend_autotune.analysis.{_WHERE[name]}")
        value = getattr(module, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

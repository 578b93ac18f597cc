"""The search: from survivors and compile profiles to the best config, on a device passed in.

Names are imported when they are asked for, so that importing this package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_autotune.search.config import Config
    from ascend_autotune.search.device import ConfigFailed, Device, DeviceInfo, Reading
    from ascend_autotune.search.effort import EFFORTS, Effort
    from ascend_autotune.search.engine import search
    from ascend_autotune.search.lessons import Lessons
    from ascend_autotune.search.problem import Checked, Problem
    from ascend_autotune.search.result import SearchResult, Trial

_WHERE = {
    "EFFORTS": "effort",
    "Checked": "problem",
    "Effort": "effort",
    "Lessons": "lessons",
    "Problem": "problem",
    "search": "engine",
    "Config": "config",
    "ConfigFailed": "device",
    "Device": "device",
    "DeviceInfo": "device",
    "Reading": "device",
    "SearchResult": "result",
    "Trial": "result",
}

__all__ = [
    "EFFORTS",
    "Checked",
    "Config",
    "ConfigFailed",
    "Device",
    "DeviceInfo",
    "Effort",
    "Lessons",
    "Problem",
    "Reading",
    "SearchResult",
    "Trial",
    "search",
]


def __getattr__(name: str) -> object:
    if name in _WHERE:
        module = importlib.import_module(f"ascend_autotune.search.{_WHERE[name]}")
        value = getattr(module, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

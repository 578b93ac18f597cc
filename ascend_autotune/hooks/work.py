"""What the search's cost model may know of a call."""

from __future__ import annotations

from typing import Any

from ascend_autotune.hooks.situation import Situation


def workload_of(here: Situation) -> Any:
    """The kernel's work by candidate; None where its program cannot be read."""
    return None

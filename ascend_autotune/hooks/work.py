"""What the search's cost model may know of a call."""

from __future__ import annotations

from ascend_autotune.hooks.situation import Situation
from ascend_autotune.search.work import KernelWork, Workload


def workload_of(here: Situation) -> Workload | None:
    """The kernel's work by candidate; None where its arguments cannot be told."""
    if here.program is None:
        return None
    return KernelWork(here.program, here.call.scalars)

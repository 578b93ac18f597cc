"""A modelled NPU: Triton's active driver on a machine that has none.

Kernels are traced by triton-ascend and judged by the real compiler, so that what does not fit
does not compile; how long a launch takes is a model's word (`standin.model`), and so is every
time that comes from here. Nothing chooses it unasked: `activate()` does.
"""

from __future__ import annotations

from ascend_autotune.search.standin.faults import FAULTS, Fault, FaultPlan
from ascend_autotune.search.standin.figures import standin_info
from ascend_autotune.search.standin.installing import activate, active, deactivate
from ascend_autotune.search.standin.refusal import CompileFailure, failure_of

__all__ = [
    "FAULTS",
    "CompileFailure",
    "Fault",
    "FaultPlan",
    "activate",
    "active",
    "deactivate",
    "failure_of",
    "standin_info",
]

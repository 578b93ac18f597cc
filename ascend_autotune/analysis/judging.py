"""The judge's outcome for one program as an assessment (`exact=True`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ascend_autotune.analysis.assessing import Assessment
from ascend_autotune.analysis.verdict import Reason, ReasonCode

if TYPE_CHECKING:
    from ascend_autotune.analysis.judge import Judge, Outcome
    from ascend_autotune.analysis.options import CompileOptions


class Asking:
    """Asks the judge about what is not feasible already; the compiler's word stands.

    An `infeasible` of ours is asked about too: in exact mode each is the compiler's word.
    What the front end refuses never reaches the compiler and is left as it is.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.calls = 0

    def __call__(self, found: Assessment, options: CompileOptions) -> Assessment:
        if found.status == "feasible" or found.ttir is None:
            return found
        self.calls += 1
        return with_outcome(found, self.judge.ask(found.ttir.text, options))


def with_outcome(found: Assessment, outcome: Outcome) -> Assessment:
    """`found` with its verdict replaced by the compiler's."""
    if outcome.status in ("fits", "fits_after_fallback"):
        return replace(
            found, status="feasible", reasons=(), fallback=tuple(sorted(outcome.fallback))
        )
    if outcome.status == "overflow":
        reasons = tuple(
            Reason(
                ReasonCode.OVERFLOW,
                overflow.memory,
                overflow.required_bytes,
                overflow.available_bytes,
                f"{overflow.memory} needs {overflow.required_bytes:,} bytes, the chip has "
                f"{overflow.available_bytes:,} (the compiler's word)",
            )
            for overflow in outcome.overflows
        )
        return replace(found, status="infeasible", reasons=reasons, fallback=())
    code = ReasonCode.REFUSED if outcome.status == "refused" else ReasonCode.JUDGE_FAILED
    reason = Reason(code, None, None, None, outcome.message)
    if outcome.status == "refused":
        return replace(found, status="infeasible", reasons=(reason,), fallback=())
    return replace(found, status="unknown", reasons=(reason, *found.reasons), fallback=())

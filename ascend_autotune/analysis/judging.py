"""The judge's outcome for one program as an assessment (`exact=True`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ascend_autotune.analysis.assessing import Assessment
from ascend_autotune.analysis.verdict import Reason, ReasonCode

if TYPE_CHECKING:
    from ascend_autotune.analysis.judge import Judge, Outcome
    from ascend_autotune.analysis.options import CompileOptions
    from ascend_autotune.analysis.ttir import Ttir


class Asking:
    """Asks the compiler about programs, as many at a time as it has workers.

    `calls` counts the programs asked about; cached answers count too. What the front end
    refuses never reaches the compiler.
    """

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.calls = 0

    def __call__(
        self,
        ours: Sequence[Assessment],
        programs: Sequence[Ttir | Assessment],
        options: CompileOptions,
    ) -> list[Assessment]:
        texts = [None if isinstance(p, Assessment) else p.text for p in programs]
        asked = [(text, options) for text in texts if text is not None]
        self.calls += len(asked)
        outcomes = iter(self.judge.ask_many(asked))
        return [
            program if isinstance(program, Assessment) else with_outcome(found, next(outcomes))
            for found, program in zip(ours, programs, strict=True)
        ]


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

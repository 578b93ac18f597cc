"""How the compiler's word becomes a verdict; the compiler itself is not asked here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ascend_autotune.analysis.assessing import Assessment
from ascend_autotune.analysis.judge.outcome import Outcome, Overflow
from ascend_autotune.analysis.judging import Asking, with_outcome
from ascend_autotune.analysis.verdict import Reason, ReasonCode, Status

TTIR: Any = SimpleNamespace(text="the program", generic="")


def found(status: Status, code: ReasonCode = ReasonCode.UNDECIDED) -> Assessment:
    reasons = () if status == "feasible" else (Reason(code, "ub", 300, 200, "ours"),)
    return Assessment(status, reasons, {"ub": (100, 300)}, ttir=TTIR)


@pytest.mark.parametrize("before", ["unknown", "infeasible"])
@pytest.mark.parametrize(
    ("outcome", "status", "codes", "fallback"),
    [
        (Outcome("fits"), "feasible", [], ()),
        (Outcome("fits_after_fallback", fallback=("b", "a")), "feasible", [], ("a", "b")),
        (Outcome("refused", "not supported"), "infeasible", ["refused"], ()),
        (
            Outcome("overflow", overflows=(Overflow("ub", 9, 8), Overflow("l0c", 7, 6))),
            "infeasible",
            ["overflow", "overflow"],
            (),
        ),
        (Outcome("crash", "boom"), "unknown", ["judge_failed", "ours"], ()),
        (Outcome("timeout", "60 s"), "unknown", ["judge_failed", "ours"], ()),
        (Outcome("failed", "disk"), "unknown", ["judge_failed", "ours"], ()),
    ],
)
def test_the_compilers_word_replaces_ours(
    before: Status, outcome: Outcome, status: str, codes: list[str], fallback: tuple[str, ...]
) -> None:
    after = with_outcome(found(before), outcome)
    assert after.status == status and after.fallback == fallback
    seen = ["ours" if reason.text == "ours" else str(reason.code) for reason in after.reasons]
    assert seen == codes
    assert after.bounds == {"ub": (100, 300)}


def test_overflow_figures_and_the_sentence_of_a_refusal_are_kept() -> None:
    outcome = Outcome("overflow", overflows=(Overflow("l1", 600_000, 524_288),))
    (reason,) = with_outcome(found("unknown"), outcome).reasons
    assert (reason.memory, reason.required_bytes, reason.available_bytes) == (
        "l1",
        600_000,
        524_288,
    )
    (reason,) = with_outcome(found("unknown"), Outcome("refused", "not supported")).reasons
    assert reason.text == "not supported"


def test_what_the_front_end_refuses_is_never_asked_about() -> None:
    asked: list[tuple[str, object]] = []

    def ask_many(questions: list[tuple[str, object]]) -> list[Outcome]:
        asked.extend(questions)
        return [Outcome("fits") for _ in questions]

    asking = Asking(SimpleNamespace(ask_many=ask_many))  # type: ignore[arg-type]
    options: Any = None
    refused = Assessment("infeasible", (Reason(ReasonCode.NUMEL, None, None, None, ""),))
    ours = [found("unknown"), found("unknown"), found("infeasible")]
    answers = asking(ours, [TTIR, refused, TTIR], options)
    assert answers[1] is refused
    assert [answer.status for answer in answers] == ["feasible", "infeasible", "feasible"]
    assert asked == [("the program", None)] * 2 and asking.calls == 2

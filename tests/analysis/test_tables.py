from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ascend_autotune.analysis.result import PruneResult
from ascend_autotune.analysis.space import make_space
from ascend_autotune.analysis.tables import frontier
from ascend_autotune.analysis.text import width
from ascend_autotune.analysis.verdict import STATUSES, Reason, ReasonCode, Status, Verdict


def outcome(
    space: dict[str, list[object]],
    status: Callable[[dict[str, object]], Status],
    name: str = "kernel",
) -> PruneResult:
    made = make_space(space, kernel=name, arguments=list(space), constexprs=list(space), options=[])

    def verdict(index: int) -> Verdict:
        candidate = made.candidate(index)
        found = status(candidate)
        code = ReasonCode.OVERFLOW if found == "infeasible" else ReasonCode.UNDECIDED
        need = 1000 * (index + 1)
        reasons = () if found == "feasible" else (Reason(code, "ub", need, 500, f"ub {need}"),)
        return Verdict(candidate, found, reasons)

    statuses = np.array([STATUSES.index(status(c)) for c in made.candidates])
    stats = {
        "candidates": len(made),
        "ttir_traces": len(made),
        "judge_calls": 0,
        "merged": 0,
        "seconds": 0.1,
        "target": "Ascend910B3",
        "target_source": "assumed",
    }
    return PruneResult(name, made, statuses, verdict, stats)


def by_area(candidate: dict[str, object]) -> Status:
    area = 1
    for value in candidate.values():
        area *= int(str(value))
    return "feasible" if area <= 4096 else "unknown" if area <= 8192 else "infeasible"


SIZES: list[object] = [16, 32, 64, 128, 256]


@pytest.mark.parametrize(
    "space",
    [
        {"B": [16]},
        {"B": SIZES},
        {"M": SIZES, "N": SIZES},
        {"M": SIZES, "N": SIZES, "K": SIZES},
        {"AN_EXTREMELY_LONG_PARAMETER_NAME_" * 4: SIZES, "N": SIZES},
        {"AN_EXTREMELY_LONG_PARAMETER_NAME_" * 4: [16, 4096, 8192, 10**5]},
        {f"P{i}": [1, 2] for i in range(9)},
        {f"P{i}": [16] for i in range(12)},
        {"宽度": SIZES, "高度": SIZES},
        {"N": list(range(1, 100)), "M": list(range(1, 30))},
    ],
)
def test_no_line_passes_80_columns(space: dict[str, list[object]]) -> None:
    text = str(outcome(space, by_area, "a_kernel_with_a_long_name_" * 5))
    assert max(map(width, text.splitlines())) <= 80


def test_a_small_space_is_listed_with_the_memory_and_the_bytes() -> None:
    text = str(outcome({"B": [64, 8192, 9000]}, by_area))
    assert "1 feasible, 1 unknown, 1 infeasible" in text
    lines = [" ".join(line.split()) for line in text.splitlines()]
    start = lines.index("B") + 1
    assert lines[start : start + 3] == [
        "1 64 fits",
        "2 8192 not decided: ub may need up to 2,000 of 500 bytes",
        "3 9000 cannot run: ub needs 3,000 of 500 bytes",
    ]


def test_two_parameters_are_drawn_as_a_map() -> None:
    lines = str(outcome({"M": SIZES, "N": SIZES}, by_area)).splitlines()
    assert [line.split() for line in lines if line.split()[:1] == ["64"]] == [
        ["64", "o", "o", "o", "?", "."]
    ]
    assert any(line.split() == ["M", "16", "32", "64", "128", "256"] for line in lines)


def test_counts_per_reason_add_up() -> None:
    result = outcome({"M": SIZES, "N": SIZES}, by_area)
    text = str(result)
    assert len(result.feasible) + len(result.unknown) + len(result.infeasible) == 25
    counted = [
        int(line.split()[0])
        for line in text.splitlines()
        if "cannot run:" in line or "not decided:" in line or line.strip().endswith("  fits")
    ]
    assert sum(counted) == 25


def test_nothing_that_runs_is_said_plainly() -> None:
    assert "Nothing in this space can run" in str(outcome({"B": [10**5]}, by_area))


def test_the_frontier_is_what_cannot_be_made_larger_without_loss() -> None:
    result = outcome({"M": SIZES, "N": SIZES}, by_area)
    found = [tuple(verdict.candidate.values()) for verdict in frontier(result)]
    assert found == [(32, 256), (64, 128), (128, 64), (256, 32)]

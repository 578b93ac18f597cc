"""Exact mode against a compiler that is a function of the sizes: no Triton is needed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_autotune.analysis.assessing import Assessment
from ascend_autotune.analysis.exact import Region, Settled, settle, smallest, through
from ascend_autotune.analysis.verdict import Reason, ReasonCode

FEASIBLE, INFEASIBLE, UNKNOWN = 0, 1, 2
SIZES = np.array(list(itertools.product([16, 32, 64, 128], repeat=2)), dtype=np.int64)
Fits = Callable[[int, int], bool]


def run(fits: Fits, predicted: Callable[[int, int], int]) -> tuple[np.ndarray, Settled]:
    status = np.array([predicted(int(a), int(b)) for a, b in SIZES], dtype=np.uint8)

    def ask(positions: Sequence[int]) -> list[Assessment]:
        good = [fits(*map(int, SIZES[position])) for position in positions]
        return [Assessment("feasible" if fit else "infeasible") for fit in good]

    return status, settle(status, [Region(np.arange(len(SIZES)), SIZES)], ask)


def truth(fits: Fits) -> list[int]:
    return [FEASIBLE if fits(int(a), int(b)) else INFEASIBLE for a, b in SIZES]


def test_only_the_smallest_refused_and_one_feasible_are_asked_where_the_model_is_right() -> None:
    def fits(a: int, b: int) -> bool:
        return a * b <= 2048

    status, settled = run(fits, lambda a, b: FEASIBLE if fits(a, b) else INFEASIBLE)
    assert status.tolist() == truth(fits)
    assert settled.why == {"hold-out": 1, "smallest infeasible": 3}
    asked = {tuple(SIZES[position]) for position in settled.asked}
    assert {(32, 128), (64, 64), (128, 32)} <= asked


def test_everything_undecided_is_asked() -> None:
    status, settled = run(lambda a, b: a == 16, lambda a, b: UNKNOWN)
    assert status.tolist() == truth(lambda a, b: a == 16)
    assert settled.why == {"undecided": 16}


@pytest.mark.parametrize("limit", [256, 1024, 4096, 10**6])
@pytest.mark.parametrize("model", [256, 1024, 4096, 10**6])
def test_a_wrong_model_is_put_right(limit: int, model: int) -> None:
    def fits(a: int, b: int) -> bool:
        return a * b <= limit

    status, _ = run(fits, lambda a, b: FEASIBLE if a * b <= model else INFEASIBLE)
    refused_before = [i for i, (a, b) in enumerate(SIZES) if a * b > model]
    # Every refusal is the compiler's own, whatever the model said.
    assert all(status[i] == truth(fits)[i] for i in refused_before)
    if limit <= model:
        assert status[-1] == truth(fits)[-1]


def test_a_refusal_names_the_smaller_tile_it_follows_from() -> None:
    _, settled = run(lambda a, b: a < 64, lambda a, b: FEASIBLE if a < 64 else INFEASIBLE)
    last = len(SIZES) - 1
    smaller = settled.refusal_below(last)
    assert smaller is not None and tuple(SIZES[smaller]) == (64, 16)
    assert settled.refusal_below(0) is None
    ours = Assessment("infeasible", (Reason(ReasonCode.OVERFLOW, "ub", 9, 8, "ub needs 9"),))
    (reason,) = through(ours, "A=64").reasons
    assert "the compiler refuses A=64" in reason.text and reason.required_bytes == 9


def test_a_compiler_that_gives_no_verdict_leaves_the_tile_open() -> None:
    status = np.array([UNKNOWN, INFEASIBLE], dtype=np.uint8)
    region = Region(np.arange(2), np.array([[16], [32]]))
    settle(status, [region], lambda positions: [Assessment("unknown") for _ in positions])
    assert status.tolist() == [UNKNOWN, UNKNOWN]


@given(st.lists(st.tuples(*[st.integers(1, 6)] * 3), min_size=1, max_size=40, unique=True))
def test_smallest_is_what_nothing_else_is_below(rows: list[tuple[int, ...]]) -> None:
    sizes = np.array(rows)
    found = set(smallest(sizes).tolist())
    for i, row in enumerate(rows):
        below = any(
            other != row and all(x <= y for x, y in zip(other, row, strict=True)) for other in rows
        )
        assert (i in found) == (not below)

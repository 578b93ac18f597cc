"""Integers that stand for one number per candidate."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_autotune.analysis.parametric.sym import Run, Sym, if_at_most, vector

NUMBERS = st.lists(st.integers(1, 1 << 20), min_size=1, max_size=6)


@given(NUMBERS, st.integers(1, 4096), st.data())
def test_arithmetic_is_that_of_each_candidate(
    numbers: list[int], other: int, data: st.DataObject
) -> None:
    run = Run(len(numbers), data.draw(st.integers(0, len(numbers) - 1)))
    a = run.variable(np.array(numbers))
    for action in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod):
        for result, expected in (
            (action(a, other), [action(n, other) for n in numbers]),
            (action(other, a), [action(other, n) for n in numbers]),
        ):
            assert isinstance(result, Sym)
            assert result.values.tolist() == expected
            assert int(result) == expected[run.representative]
    assert run.agree.all()


def test_a_comparison_keeps_those_that_answer_alike() -> None:
    run = Run(4, 1)
    a = run.variable(np.array([16, 32, 64, 128]))
    assert a * 2 < 200 and run.agree.tolist() == [True, True, True, False]
    assert bool(a % 32 == 0) and run.agree.tolist() == [False, True, True, False]
    assert a == a and a <= a and not a < a
    assert run.agree.tolist() == [False, True, True, False]


def test_a_choice_by_size_decides_nothing() -> None:
    run = Run(3, 0)
    a = run.variable(np.array([16, 64, 256]))
    chosen = if_at_most(a, 64, 1, a * 2)
    assert chosen == 1 and vector(chosen, 3).tolist() == [1, 1, 512]
    assert run.agree.tolist() == [True, True, False]  # the `== 1` above
    assert if_at_most(3, 4, 1, 2) == 1 and if_at_most(5, 4, 1, 2) == 2


@pytest.mark.parametrize("chosen", [None, np.array([2, 0])])
def test_a_plain_integer_is_the_same_for_every_candidate(chosen: np.ndarray | None) -> None:
    assert vector(7, 3, chosen).tolist() == [7] * (3 if chosen is None else 2)

from __future__ import annotations

import pytest

from ascend_autotune.analysis.sequences import LazySequence


def test_items_are_made_only_when_looked_at() -> None:
    made: list[int] = []

    def make(i: int) -> int:
        made.append(i)
        return i * i

    squares = LazySequence(1_000_000, make)
    assert len(squares) == 1_000_000 and made == []
    assert squares[3] == 9 and squares[-1] == 999_999**2
    assert made == [3, 999_999]


def test_it_reads_like_a_list() -> None:
    squares = LazySequence(5, lambda i: i * i)
    assert squares == [0, 1, 4, 9, 16] and squares != [0, 1]
    assert squares[1:3] == (1, 4) and squares[::-2] == [16, 4, 0]
    assert 9 in squares and squares.index(9) == 3 and next(reversed(squares)) == 16
    assert repr(squares) == "[0, 1, 4, ... 5 in all]"
    with pytest.raises(IndexError):
        squares[5]


def test_it_cannot_be_written_to() -> None:
    with pytest.raises(TypeError):
        LazySequence(5, abs)[0] = 1  # type: ignore[index]

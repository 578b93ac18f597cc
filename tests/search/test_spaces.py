"""Candidates x profiles: lazy, indexable, large."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from ascend_autotune.analysis.space import Space
from ascend_autotune.search import Config, search
from ascend_autotune.search.problem import Problem
from ascend_autotune.search.spaces import POOL, ConfigSpace, coordinates, pool
from tests.search.fakes import PROFILES, FakeDevice, tiles


def test_the_product_in_order() -> None:
    space = ConfigSpace(tiles(), PROFILES)
    assert len(space) == 36 * 4
    listed = [Config(c, p) for c, p in itertools.product(tiles(), PROFILES)]
    assert list(space) == listed
    assert space[-1] == listed[-1] and space[3:5] == listed[3:5]
    with pytest.raises(IndexError):
        space[36 * 4]


def test_a_large_space_is_sampled_evenly() -> None:
    picked = pool(10**6, seed=0)
    assert len(picked) == POOL == len(set(picked.tolist()))
    assert (np.diff(picked) > 0).all() and picked[-1] < 10**6
    assert (pool(10**6, seed=0) == picked).all()
    assert (pool(100, seed=0) == np.arange(100)).all()


def test_doubling_is_one_step() -> None:
    points = [{"BLOCK": b, "fast": f, "one": 7} for b in (16, 64) for f in (True, False)]
    assert coordinates(points).tolist() == [[4, 0], [4, 1], [6, 0], [6, 1]]


def test_a_million_candidates_are_looked_at_only_where_needed() -> None:
    asked: list[int] = []
    sizes = tuple(range(16, 16 * 33, 16))
    grid = Space({n: sizes for n in "ABCD"}, tuple("ABCD"), ())

    class Counted(Sequence[Mapping[str, object]]):
        def __len__(self) -> int:
            return len(grid)

        def __getitem__(self, index):  # type: ignore[no-untyped-def]
            asked.append(index)
            return grid.candidate(index)

    def formula(config: Config) -> float:
        return 1 + sum(abs(float(str(v)) - 256) / 256 for v in config.candidate.values())

    large = Problem("kernel", Counted(), ({},))
    assert len(large.candidates) == 32**4 > 10**6
    result = search(large, FakeDevice(formula), effort="quick")
    assert result.best is not None
    assert len(asked) <= POOL + 100

"""A sweep over a space: the verdict of every candidate from a few traces.

Candidates are tiles under compile options; options of the same effect are judged once.
Everything is kept as one number per candidate, and a `Verdict` is made when looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ascend_autotune.analysis import rules
from ascend_autotune.analysis.assessing import Assessment, Assessor
from ascend_autotune.analysis.grid import all_blocks_parallel
from ascend_autotune.analysis.parametric.sym import Vector
from ascend_autotune.analysis.tiles import TileJudge, TileVerdicts
from ascend_autotune.analysis.verdict import INFEASIBLE, Verdict

if TYPE_CHECKING:
    from ascend_autotune.analysis.judging import Asking
    from ascend_autotune.analysis.options import CompileOptions
    from ascend_autotune.analysis.request import Request
    from ascend_autotune.analysis.space import Space

_REMEMBERED = 4096  # verdicts that stay made


@dataclass
class Sweep:
    """One pass over a space: a status per candidate and what is behind it.

    `leaders[i]` is the earlier candidate that i compiles to the same program as, or i.
    """

    space: Space
    request: Request
    assessor: Assessor
    asking: Asking | None = None
    statuses: np.ndarray = field(init=False)
    leaders: Vector = field(init=False)

    def __post_init__(self) -> None:
        space = self.space
        names = list(space.values)
        sizes = tuple(len(values) for values in space.values.values())
        digits = dict(zip(names, np.unravel_index(np.arange(len(space)), sizes), strict=True))
        self.tiles = TileJudge(
            space.tiles, [_integers(space.values[name]) for name in space.tiles], self.assessor
        )
        self._tile = self._ravel(digits, space.tiles)
        self._profile = self._ravel(digits, space.fields)
        self._groups, self._verdicts = self._profiles(digits)
        self._grid_reasons: dict[int, Assessment] = {}
        self.verdict = lru_cache(_REMEMBERED)(self._verdict)
        self.statuses, self.leaders = self._results()

    def _ravel(self, digits: Mapping[str, Vector], names: Sequence[str]) -> Vector:
        if not names:
            return np.zeros(len(self.space), dtype=np.int64)
        shape = tuple(len(self.space.values[name]) for name in names)
        return np.ravel_multi_index(tuple(digits[name] for name in names), shape)

    def _profiles(self, digits: Mapping[str, Vector]) -> tuple[Vector, list[TileVerdicts]]:
        """The group of each candidate: profiles with the same effect are one."""
        known: dict[CompileOptions, int] = {}
        verdicts: list[TileVerdicts] = []
        profiles, first = np.unique(self._profile, return_index=True)
        group_of = np.zeros(len(profiles), dtype=np.int64)
        for profile, index in zip(profiles, first, strict=True):
            candidate = self.space.candidate(int(index))
            fields = {name: candidate[name] for name in self.space.fields}
            options = self.request.options(fields)
            if options not in known:
                known[options] = len(verdicts)
                verdicts.append(self.tiles.judge(options, self.asking))
            group_of[profile] = known[options]
        return group_of[self._profile], verdicts

    def _results(self) -> tuple[np.ndarray, Vector]:
        statuses = np.zeros(len(self.space), dtype=np.uint8)
        programs = np.zeros(len(self.space), dtype=np.int64)
        for number, verdicts in enumerate(self._verdicts):
            mine = self._groups == number
            statuses[mine] = verdicts.status[self._tile[mine]]
            programs[mine] = number * self.tiles.count + verdicts.same[self._tile[mine]]
        if self.request.grid is not None:
            programs = self._launches(programs, statuses)
        _, first, back = np.unique(programs, return_index=True, return_inverse=True)
        return statuses, first[back.reshape(-1)]

    def _launches(self, programs: Vector, statuses: np.ndarray) -> Vector:
        """The same program on another grid is launched differently: not the same candidate."""
        parallel = all_blocks_parallel()
        known: dict[tuple[int, Hashable], int] = {}
        launches = np.zeros(len(self.space), dtype=np.int64)
        for index in range(len(self.space)):
            shape = self.request.grid_of(self.space.candidate(index))
            reason = shape and rules.grid(shape, all_blocks_parallel=parallel)
            if reason:
                self._grid_reasons[index] = Assessment("infeasible", (reason,))
                statuses[index] = INFEASIBLE
            launches[index] = known.setdefault((int(programs[index]), shape), index)
        return launches

    @property
    def judge_why(self) -> dict[str, int]:
        """How many programs the compiler was asked about, by reason."""
        return dict(sum((found.settled.why for found in self._verdicts), Counter[str]()))

    @property
    def merged(self) -> int:
        return int((self.leaders != np.arange(len(self.leaders))).sum())

    def assessment(self, index: int) -> Assessment:
        found = self._grid_reasons.get(index)
        if found is not None:
            return found
        verdicts = self._verdicts[int(self._groups[index])]
        return verdicts.assessment(int(self._tile[index]))

    def _verdict(self, index: int) -> Verdict:
        leader = int(self.leaders[index])
        found = self.assessment(leader)
        return Verdict(
            self.space.candidate(index),
            found.status,
            found.reasons,
            found.bounds,
            found.fallback,
            None if leader == index else self.space.candidate(leader),
        )


def _integers(values: Sequence[object]) -> list[int]:
    return [value for value in values if isinstance(value, int)]

"""A sweep over a space: the verdict of every candidate from a few traces.

Tiles are judged by `parametric`, block by block; what has no template is traced alone.
Everything is kept as one number per candidate, and a `Verdict` is made when looked at.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ascend_autotune.analysis import rules
from ascend_autotune.analysis.assessing import Assessment, Assessor, assess_footprint
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.grid import all_blocks_parallel
from ascend_autotune.analysis.parametric.evaluate import Judged, evaluate
from ascend_autotune.analysis.parametric.spacing import Block, Blocks, blocks_of, named
from ascend_autotune.analysis.parametric.steering import steering
from ascend_autotune.analysis.parametric.sym import Vector
from ascend_autotune.analysis.verdict import STATUSES, Verdict

if TYPE_CHECKING:
    from ascend_autotune.analysis.ir import Module
    from ascend_autotune.analysis.options import CompileOptions
    from ascend_autotune.analysis.parametric.template import Point
    from ascend_autotune.analysis.request import Request
    from ascend_autotune.analysis.space import Space

_REMEMBERED = 4096  # verdicts that stay made


class TileJudge:
    """Judges the grid of tiles of one kernel under any compile options."""

    def __init__(self, names: Sequence[str], axes: Sequence[Sequence[int]], assessor: Assessor):
        self.names = tuple(names)
        self.axes = tuple(tuple(values) for values in axes)
        self.assessor = assessor
        self.shape = tuple(len(values) for values in self.axes)
        self.count = int(np.prod(self.shape)) if self.axes else 1
        self._blocks: Blocks | None = None

    @property
    def blocks(self) -> Blocks:
        if self._blocks is None:
            instance = self.assessor.instance
            steered = steering(instance.function, self.names)
            constants = [
                value
                for name, value in instance.constants.items()
                if isinstance(value, int) and name not in self.names
            ]
            self._blocks = blocks_of(
                self.axes,
                frozenset(i for i, name in enumerate(self.names) if name in steered),
                constants,
                self._module,
                any_size=detect().ascend,
            )
        return self._blocks

    def _module(self, point: Point) -> Module | None:
        program = self.assessor.program(named(self.names, point))
        return None if isinstance(program, Assessment) else program[1]

    def tile(self, position: int) -> dict[str, int]:
        digits = np.unravel_index(position, self.shape) if self.axes else ()
        return {
            name: values[int(digit)]
            for name, values, digit in zip(self.names, self.axes, digits, strict=True)
        }

    def judge(self, options: CompileOptions) -> TileVerdicts:
        """Every tile's verdict under these options."""
        status = np.zeros(self.count, dtype=np.uint8)
        same = np.arange(self.count)
        found = TileVerdicts(self, options, status, same)
        for block in self.blocks.blocks:
            judged = evaluate(block.template, block.columns, self.assessor.instance.chip, options)
            status[block.positions] = judged.status
            large = block.template.largest(block.columns) > rules.MAX_NUMEL
            status[block.positions[large]] = STATUSES.index("infeasible")
            found.judged.append((block, judged))
            self._merge(block, same)
        programs: dict[Hashable, int] = {}
        for position in self.blocks.alone:
            assessment = self.assessor(self.tile(position), options)
            found.alone[position] = assessment
            status[position] = STATUSES.index(assessment.status)
            if assessment.program is not None:
                same[position] = programs.setdefault(assessment.program, position)
        return found

    def _merge(self, block: Block, same: Vector) -> None:
        """Tiles that differ only in parameters that change nothing are one program."""
        moving = sorted(block.template.moving())
        if len(moving) == len(self.axes):
            return
        keys = np.stack([block.columns[i] for i in moving], axis=1) if moving else None
        if keys is None:
            same[block.positions] = block.positions.min()
            return
        _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        same[block.positions] = block.positions[first][back.reshape(-1)]


@dataclass
class TileVerdicts:
    """The verdicts of a grid of tiles under one profile. `same`: the tile it compiles to."""

    judge: TileJudge
    options: CompileOptions
    status: np.ndarray
    same: Vector
    judged: list[tuple[Block, Judged]] = field(default_factory=list)
    alone: dict[int, Assessment] = field(default_factory=dict)

    def assessment(self, position: int) -> Assessment:
        """What is known of one tile, worked out to the byte."""
        found = self.alone.get(position)
        if found is not None:
            return found
        for block, judged in self.judged:
            place = np.flatnonzero(block.positions == position)
            if len(place):
                return self._of_block(block, judged, int(place[0]))
        raise IndexError(position)

    def _of_block(self, block: Block, judged: Judged, place: int) -> Assessment:
        columns = [column[place : place + 1] for column in block.columns]
        reason = rules.numel(int(block.template.largest(columns)[0]))
        if reason is not None:
            return Assessment("infeasible", (reason,))
        return assess_footprint(judged.footprint(place), judged.chip)


@dataclass
class Sweep:
    """One pass over a space; afterwards a status per candidate and what is behind it.

    `leaders[i]` is the earlier candidate that i compiles to the same program as, or i.
    """

    space: Space
    request: Request
    assessor: Assessor
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
                verdicts.append(self.tiles.judge(options))
            group_of[profile] = known[options]
        return group_of[self._profile], verdicts

    def run(self) -> None:
        statuses = np.zeros(len(self.space), dtype=np.uint8)
        programs = np.zeros(len(self.space), dtype=np.int64)
        for number, verdicts in enumerate(self._verdicts):
            mine = self._groups == number
            statuses[mine] = verdicts.status[self._tile[mine]]
            programs[mine] = number * self.tiles.count + verdicts.same[self._tile[mine]]
        if self.request.grid is not None:
            programs = self._launches(programs, statuses)
        _, first, back = np.unique(programs, return_index=True, return_inverse=True)
        self.statuses, self.leaders = statuses, first[back.reshape(-1)]

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
                statuses[index] = STATUSES.index("infeasible")
            launches[index] = known.setdefault((int(programs[index]), shape), index)
        return launches

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

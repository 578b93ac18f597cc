"""A grid of tiles of one kernel judged under any compile options, from a few traces.

Tiles are judged by `parametric`, block by block; what has no template is traced alone.
One number per tile is kept; an `Assessment` is made when looked at.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ascend_autotune.analysis import rules
from ascend_autotune.analysis.assessing import (
    Assessment,
    Assessor,
    assess_footprint,
    guarded,
)
from ascend_autotune.analysis.exact import Region, Settled, settle, through
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.parametric.evaluate import Judged, evaluate
from ascend_autotune.analysis.parametric.spacing import Block, Blocks, blocks_of, named
from ascend_autotune.analysis.parametric.steering import steering
from ascend_autotune.analysis.parametric.sym import Vector
from ascend_autotune.analysis.verdict import INFEASIBLE, STATUSES, UNKNOWN

if TYPE_CHECKING:
    from ascend_autotune.analysis.ir import Module
    from ascend_autotune.analysis.judging import Asking
    from ascend_autotune.analysis.options import CompileOptions
    from ascend_autotune.analysis.parametric.laws import Point


class TileJudge:
    """Judges the grid of tiles of one kernel under any compile options."""

    def __init__(self, names: Sequence[str], axes: Sequence[Sequence[int]], assessor: Assessor):
        self.names = tuple(names)
        self.axes = tuple(tuple(values) for values in axes)
        self.assessor = assessor
        self.shape = tuple(len(values) for values in self.axes)
        self.count = int(np.prod(self.shape)) if self.axes else 1

    @cached_property
    def _steering(self) -> frozenset[str]:
        return steering(self.assessor.instance.function, self.names)

    @cached_property
    def blocks(self) -> Blocks:
        instance = self.assessor.instance
        constants = [
            value
            for name, value in instance.constants.items()
            if isinstance(value, int) and name not in self.names
        ]
        return blocks_of(
            self.axes,
            frozenset(i for i, name in enumerate(self.names) if name in self._steering),
            constants,
            self._module,
            any_size=detect().ascend,
        )

    def _module(self, point: Point) -> Module | None:
        program = self.assessor.program(named(self.names, point))
        return None if isinstance(program, Assessment) else program[1]

    def tile(self, position: int) -> dict[str, int]:
        digits = np.unravel_index(position, self.shape) if self.axes else ()
        return {
            name: values[int(digit)]
            for name, values, digit in zip(self.names, self.axes, digits, strict=True)
        }

    def judge(self, options: CompileOptions, asking: Asking | None = None) -> TileVerdicts:
        """Every tile's verdict under these options; with `asking`, the compiler's."""
        status = np.zeros(self.count, dtype=np.uint8)
        same = np.arange(self.count)
        found = TileVerdicts(self, options, status, same)
        for block in self.blocks.blocks:
            judged = self._evaluate(block, options)
            status[block.positions] = UNKNOWN if isinstance(judged, Assessment) else judged.status
            large = block.template.largest(block.columns) > rules.MAX_NUMEL
            status[block.positions[large]] = INFEASIBLE
            found.judged.append((block, judged))
            self._merge(block, same)
        programs: dict[Hashable, int] = {}
        for position in self.blocks.alone:
            assessment = self.assessor(self.tile(position), options)
            found.alone[position] = assessment
            status[position] = STATUSES.index(assessment.status)
            if assessment.program is not None:
                same[position] = programs.setdefault(assessment.program, position)
        if asking is not None:
            found.settle(asking)
        return found

    def _evaluate(self, block: Block, options: CompileOptions) -> Judged | Assessment:
        chip = self.assessor.instance.chip
        return guarded(lambda: evaluate(block.template, block.columns, chip, options))

    def regions(self, found: TileVerdicts) -> Iterator[Region]:
        """The tiles that are one program at many sizes, each program of them once."""
        own = found.same == np.arange(self.count)
        for block in self.blocks.blocks:
            small = block.template.largest(block.columns) <= rules.MAX_NUMEL
            sizes = np.stack(block.columns, axis=1)
            kept = small & own[block.positions]
            yield Region(block.positions[kept], sizes[kept])
        classes: dict[Hashable, list[int]] = {}
        for position, assessment in found.alone.items():
            if assessment.ttir is not None and own[position]:
                key = tuple(
                    value if name in self._steering else value == 1
                    for name, value in self.tile(position).items()
                )
                classes.setdefault(key, []).append(position)
        for positions in classes.values():
            sizes = np.array([list(self.tile(p).values()) for p in positions], dtype=np.int64)
            yield Region(np.array(positions, dtype=np.int64), sizes)

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
    judged: list[tuple[Block, Judged | Assessment]] = field(default_factory=list)
    alone: dict[int, Assessment] = field(default_factory=dict)
    settled: Settled = field(default_factory=Settled)

    def settle(self, asking: Asking) -> None:
        """Replace the model's word by the compiler's (`exact`)."""

        def ask(positions: Sequence[int]) -> list[Assessment]:
            tiles = [self.judge.tile(position) for position in positions]
            programs = [self.judge.assessor.ttir(tile) for tile in tiles]
            ours = [self._ours(position) for position in positions]
            return asking(ours, programs, self.options)

        self.settled = settle(self.status, list(self.judge.regions(self)), ask)
        self.status[:] = self.status[self.same]

    def assessment(self, position: int) -> Assessment:
        """What is known of one tile, worked out to the byte."""
        found = self.settled.asked.get(position)
        if found is not None:
            return found
        smaller = self.settled.refusal_below(position)
        if smaller is None:
            return self._ours(position)
        tile = self.judge.tile(smaller)
        shown = ", ".join(f"{name}={value}" for name, value in tile.items())
        return through(self._ours(position), shown)

    def _ours(self, position: int) -> Assessment:
        found = self.alone.get(position)
        if found is not None:
            return found
        for block, judged in self.judged:
            place = np.flatnonzero(block.positions == position)
            if len(place):
                return self._of_block(block, judged, int(place[0]))
        raise IndexError(position)

    def _of_block(self, block: Block, judged: Judged | Assessment, place: int) -> Assessment:
        columns = [column[place : place + 1] for column in block.columns]
        reason = rules.numel(int(block.template.largest(columns)[0]))
        if reason is not None:
            return Assessment("infeasible", (reason,))
        if isinstance(judged, Assessment):
            return judged
        return assess_footprint(judged.footprint(place), judged.chip)

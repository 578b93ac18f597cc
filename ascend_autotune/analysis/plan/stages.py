"""Rewrites a tile program whose mixed loops the compiler cuts into stages.

Source: createNewLoops, expandOutputInits and migrateOps of the CVPipelining pass
(AscendNPU-IR v1.2.0): the loop advances by several rounds, each stage is a loop over these
rounds, and a tile that passes from stage to stage is held once a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ascend_autotune.analysis.ir import Operation
from ascend_autotune.analysis.plan.cube import CubePlan
from ascend_autotune.analysis.plan.pipelining import (
    VECTOR,
    Stage,
    Unit,
    crossing,
    stages_of,
    units_of,
)
from ascend_autotune.analysis.plan.program import Buffer, Program, Reuse, Step


@dataclass(frozen=True)
class Pipelined:
    """A loop that was cut: its TTIR operation and its stages."""

    loop: Operation
    stages: tuple[Stage, ...]


def pipeline(program: Program, cube: CubePlan, rounds: int) -> list[Pipelined]:
    """Cut every loop of the vector core's program that the pass would cut, outermost first."""
    found: list[Pipelined] = []
    done: set[int] = set()
    place = 0
    while place < len(program.steps):
        step = program.steps[place]
        place += 1
        if step.name != "loop" or step.loop in done or not _is_for(step.op):
            continue
        if any(loop in done for loop in step.scope):
            continue
        assert step.op is not None
        span = place - 1, _end(program.steps, place - 1)
        units = units_of(program, cube, step.loop, span, step.op)
        stages = stages_of(units) if units is not None else None
        if stages is None:
            continue
        done.add(step.loop)
        _Cut(program, step, span, rounds).into(stages)
        found.append(Pipelined(step.op, tuple(stages)))
    return found


def _is_for(op: Operation | None) -> bool:
    return op is not None and op.name == "scf.for"


def _end(steps: Sequence[Step], start: int) -> int:
    return next(
        i
        for i in range(start + 1, len(steps))
        if steps[i].name == "end" and steps[i].loop == steps[start].loop
    )


class _Cut:
    """One loop of a program, to be replaced by a loop of stages."""

    def __init__(self, program: Program, loop: Step, span: tuple[int, int], rounds: int) -> None:
        self.program, self.loop, self.rounds = program, loop, rounds
        self.start, self.end = span
        self.inside = (*loop.scope, loop.loop)

    def into(self, stages: Sequence[Stage]) -> None:
        program = self.program
        carried = [item for item in program.carried if item.loop == self.loop.loop]
        kept = {buffer for item in carried for buffer in (item.home, item.yielded)}
        shared = crossing(stages, kept)
        for buffer in shared:
            buffer.shape = (self.rounds, *buffer.shape)
        body: list[Step] = []
        for stage in stages:
            if stage.core == VECTOR:
                body.extend(self._stage(stage, shared))
        program.steps[self.start + 1 : self.end] = body

    def _stage(self, stage: Stage, shared: dict[Buffer, Unit]) -> list[Step]:
        program = self.program
        number = self._fresh()
        units = sorted(stage.units, key=lambda unit: unit.place)
        steps = [step for unit in units for step in unit.steps]
        written = {b for step in steps for b in (step.output, step.also, *step.temporaries) if b}
        for buffer in written - shared.keys():
            buffer.scope = self._inner(buffer.scope, number)
        for item in program.carried:
            if item.loop == self.loop.loop and item.yielded in written:
                item.loop = number
        for step in steps:
            step.scope = self._inner(step.scope, number)
        opened = [self._step("open", b) for b, unit in shared.items() if unit in stage.units]
        begin, end = self._step("loop"), self._step("end")
        begin.loop = end.loop = number
        return [*opened, begin, *steps, end]

    def _fresh(self) -> int:
        program = self.program
        number = 1 + max(step.loop for step in program.steps)
        number = max(number, *program.doubling, *program.branches, self._last) + 1
        self._last = number
        if self.loop.loop in program.doubling:
            program.doubling.add(number)
        return number

    _last = 0

    def _inner(self, scope: tuple[int, ...], number: int) -> tuple[int, ...]:
        """The same scope inside the stage's loop."""
        depth = len(self.inside)
        if scope[:depth] != self.inside:
            return scope
        return (*self.inside, number, *scope[depth:])

    def _step(self, name: str, output: Buffer | None = None) -> Step:
        return Step(name, (), output, Reuse.NEVER, (), self.inside, self.loop.op)

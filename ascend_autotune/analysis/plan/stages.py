"""Rewrites the programs of both cores where the compiler cuts mixed loops into stages.

Source: createNewLoops, expandOutputInits and migrateOps of the CVPipelining pass
(AscendNPU-IR v1.2.0): the loop advances by several rounds, each stage is a loop over these
rounds, and a tile that passes from stage to stage is held once a round.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ascend_autotune.analysis.ir import Operation
from ascend_autotune.analysis.plan.boxes import resizes
from ascend_autotune.analysis.plan.cube import DOTS, CubePlan
from ascend_autotune.analysis.plan.lifetimes import Entry, may_reuse, size_of
from ascend_autotune.analysis.plan.pipelining import (
    CUBE,
    VECTOR,
    Stage,
    has_dots,
    stages_of,
    units_of,
)
from ascend_autotune.analysis.plan.program import Buffer, Program, Reuse, Step

_BRACKETS = frozenset({"loop", "if", "end"})


@dataclass(frozen=True)
class Pipelined:
    """A loop that was cut: its TTIR operation and its stages.

    `whole`: no stage of the vector core is worked on in parts.
    """

    loop: Operation
    stages: tuple[Stage, ...]
    whole: bool


def mixed_loops(program: Program, cube: CubePlan) -> frozenset[Operation]:
    """The loops that the passes may cut into stages, and tile those."""
    found = set()
    for loop in program.steps:
        op = loop.op
        if loop.name != "loop" or op is None or not _is_for(op) or not has_dots(op):
            continue
        steps = [s for s in program.steps if loop.loop in s.scope and s.name not in _BRACKETS]
        if steps and not _feeds_element_by_element(op, steps, cube):
            found.add(op)
    return frozenset(found)


def _feeds_element_by_element(loop: Operation, steps: Sequence[Step], cube: CubePlan) -> bool:
    """Does the vector core only feed the cube core here, by a loop over single elements?

    All its work is one stage then, ahead of the dots. TileCubeVectorLoop finds nothing in the
    inner loop that it could take into a tile, and leaves that stage as it is.
    """
    returns = any(
        step.name == "load" and step.op is not None and (step.op.name in DOTS or step.op.regions)
        for step in steps
    )
    return not returns and any(op in cube.scattered for op in loop.walk())


def inside(program: Program, loops: frozenset[Operation]) -> frozenset[Buffer]:
    """The buffers that a program allocates inside any of these loops."""
    numbers = {s.loop for s in program.steps if s.name == "loop" and s.op in loops}
    return frozenset(b for b in program.buffers if numbers.intersection(b.scope))


def floor(
    entries: Sequence[Entry], program: Program, loops: frozenset[Operation], parts: int
) -> Sequence[Entry]:
    """Entries that are certain although the stages of these loops may be worked on in parts.

    Tiling fuses a stage's instructions anew, in another order and with other tiles sharing
    a place: of what is made inside, only one instruction's own tiles are sure to live at a
    time, and of each one part. What is made around the loops stays whole.
    """
    within = inside(program, loops)
    if not within or parts == 1:
        return entries
    memories = {entry.memory for entry in entries}
    found = [e for e in entries if not all(buffer in within for buffer in e.buffers)]
    for time, step in enumerate(program.steps):
        held = {*step.inputs, *step.temporaries}
        if step.output is not None and not any(
            may_reuse(step, step.output, b) for b in step.inputs
        ):
            held.add(step.output)
        for buffer in held & within:
            if buffer.memory in memories and not buffer.absent:
                size, sure = size_of(buffer), buffer.sure
                found.append(
                    Entry(buffer.memory, size, 1, time, time, (buffer,), False, sure, parts)
                )
    return found


# -- the vector core -----------------------------------------------------------------------


def pipeline(program: Program, cube: CubePlan, rounds: int) -> list[Pipelined]:
    """Cut every loop of the vector core's program that the pass would cut, outermost first."""
    found: list[Pipelined] = []
    done: set[int] = set()
    place = 0
    while place < len(program.steps):
        step = program.steps[place]
        place += 1
        if step.name != "loop" or not _is_for(step.op) or done.intersection(step.scope):
            continue
        assert step.op is not None
        span = place - 1, _end(program.steps, place - 1)
        units = units_of(program, cube, step.loop, span, step.op)
        stages = stages_of(units) if units is not None else None
        if stages is not None:
            done.add(step.loop)
            parts = [_steps(stage) for stage in stages if stage.core == VECTOR]
            _Cut(program, span, rounds).into(parts)
            found.append(Pipelined(step.op, tuple(stages), all(map(_keeps_whole, parts))))
    return found


def _is_for(op: Operation | None) -> bool:
    return op is not None and op.name == "scf.for"


def _end(steps: Sequence[Step], start: int) -> int:
    return next(
        i
        for i in range(start + 1, len(steps))
        if steps[i].name == "end" and steps[i].loop == steps[start].loop
    )


def _keeps_whole(part: Sequence[Step]) -> bool:
    """TileCubeVectorLoop leaves a stage alone that copies a box of changing size: its
    LiftToTensor does not see through the subview, and the store's rows are not known."""
    return any(
        step.op is not None
        and step.name in ("load", "use")
        and step.op.name in ("tt.load", "tt.store")
        and resizes(step.op)
        for step in part
    )


def _steps(stage: Stage) -> list[Step]:
    units = sorted(stage.units, key=lambda unit: unit.place)
    return [step for unit in units for step in unit.steps]


# -- the cube core -------------------------------------------------------------------------


def pipeline_cube(program: Program, found: Sequence[Pipelined], rounds: int) -> None:
    """Cut the same loops of the cube core's program in the same way."""
    for cut in found:
        start = next(
            i for i, s in enumerate(program.steps) if s.name == "loop" and s.op is cut.loop
        )
        span = start, _end(program.steps, start)
        parts = _cube_parts(program.steps[span[0] + 1 : span[1]], cut.stages)
        _Cut(program, span, rounds).into(parts)


def _cube_parts(steps: Sequence[Step], stages: Sequence[Stage]) -> list[list[Step]]:
    """Each stage's instructions: its dots and loops, their fixpipes and their first loads."""
    cores = [stage for stage in stages if stage.core == CUBE]
    place: dict[Operation | None, int] = {
        unit.op: i for i, stage in enumerate(cores) for unit in stage.units
    }
    owner: list[int | None] = [None] * len(steps)
    first: dict[Buffer, int] = {}
    around: int | None = None  # the stage of the loop that stands around
    depth = 0
    for i, step in enumerate(steps):
        if step.name in ("loop", "if"):
            around = place.get(step.op) if depth == 0 else around
            depth += 1
        owner[i] = around if depth else place.get(step.op)
        depth -= step.name == "end"
        if owner[i] is not None and step.name != "nd2nz":
            for buffer in step.inputs:
                first.setdefault(buffer, owner[i] or 0)
    parts: list[list[Step]] = [[] for _ in cores]
    for step, stage in zip(steps, owner, strict=True):
        if step.name == "nd2nz" and step.output is not None:
            stage = first.get(step.output, stage)
        parts[stage or 0].append(step)
    return parts


# -- both ----------------------------------------------------------------------------------


class _Cut:
    """One loop of a program, to be replaced by a loop of loops."""

    def __init__(self, program: Program, span: tuple[int, int], rounds: int) -> None:
        self.program, self.rounds = program, rounds
        self.start, self.end = span
        self.loop = program.steps[self.start]
        self.inside = (*self.loop.scope, self.loop.loop)

    def into(self, parts: Sequence[Sequence[Step]]) -> None:
        carried = [item for item in self.program.carried if item.loop == self.loop.loop]
        kept = {buffer for item in carried for buffer in (item.home, item.yielded)}
        makers = {
            buffer: i
            for i, part in enumerate(parts)
            for step in part
            for buffer in (step.output, step.also)
            if buffer is not None and buffer not in kept and self._is_inside(buffer.scope)
        }
        shared: dict[Buffer, int] = {}
        for i, part in enumerate(parts):
            for step in part:
                for buffer in step.inputs:
                    if makers.get(buffer, i) != i:
                        shared[buffer] = makers[buffer]
        for buffer in shared:
            buffer.shape = (self.rounds, *buffer.shape)
            if buffer.units is not None:
                buffer.units = (1, *buffer.units)
        # What a load fills is there from the loop's beginning: its memory is marked there.
        early = [buffer for buffer in shared if buffer.loaded]
        body = [self._step("open", buffer) for buffer in early]
        for i, part in enumerate(parts):
            opened = [b for b, maker in shared.items() if maker == i and not b.loaded]
            body.extend(self._part(part, opened, shared.keys()))
        self.program.steps[self.start + 1 : self.end] = body

    def _part(
        self, part: Sequence[Step], opened: Sequence[Buffer], shared: Collection[Buffer]
    ) -> list[Step]:
        program, number = self.program, self._fresh()
        written = {b for step in part for b in (step.output, step.also, *step.temporaries) if b}
        for buffer in written:
            if buffer not in shared:
                buffer.scope = self._inner(buffer.scope, number)
        for item in program.carried:
            if item.loop == self.loop.loop and item.yielded in written:
                item.loop = number
        for step in part:
            step.scope = self._inner(step.scope, number)
        begin, end = self._step("loop"), self._step("end")
        begin.loop = end.loop = number
        return [*(self._step("open", buffer) for buffer in opened), begin, *part, end]

    def _fresh(self) -> int:
        """A number that no loop has, for one that is an scf.for like the loop that is cut."""
        program = self.program
        program.made += 1
        number = -program.made
        if self.loop.loop in program.doubling:
            program.doubling.add(number)
        return number

    def _is_inside(self, scope: tuple[int, ...]) -> bool:
        return scope[: len(self.inside)] == self.inside

    def _inner(self, scope: tuple[int, ...], number: int) -> tuple[int, ...]:
        """The same scope inside the stage's loop."""
        if not self._is_inside(scope):
            return scope
        return (*self.inside, number, *scope[len(self.inside) :])

    def _step(self, name: str, output: Buffer | None = None) -> Step:
        return Step(name, (), output, Reuse.NEVER, (), self.inside, self.loop.op)

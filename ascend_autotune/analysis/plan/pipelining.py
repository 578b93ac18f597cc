"""Into which stages the compiler cuts a loop that mixes cube and vector work.

Source: the CVPipelining pass (AscendNPU-IR v1.2.0). Stores to a workspace and fixpipes are
the separators; stages alternate between the cores, and each takes all the work of its core
that waits for no separator of a later stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ascend_autotune.analysis.ir import Operation, Value
from ascend_autotune.analysis.plan.cube import DOTS, CubePlan, drained_root
from ascend_autotune.analysis.plan.program import Buffer, Program, Step

CUBE, VECTOR = "cube", "vector"
_STORES = frozenset({"tt.store", "tt.descriptor_store", "tt.atomic_rmw", "tt.atomic_cas"})
# A stage takes along the loads that it reads, and the scalar loops that gather.
_LOADS = frozenset({"load", "gather_loop"})


@dataclass(eq=False)
class Unit:
    """One instruction of the loop's body, or a loop inside it as a whole.

    `steps`: the vector core's instructions; a unit of the cube core has none. `leaves`: its
    result goes to global memory. `inputs`: the units that it reads in the same round;
    `carried`: those that leave what it reads in the next round.
    """

    core: str
    place: tuple[int, int]
    op: Operation | None
    steps: Sequence[Step] = ()
    leaves: bool = False
    loads: bool = False
    inputs: set[Unit] = field(default_factory=set)
    carried: set[Unit] = field(default_factory=set)


@dataclass(frozen=True)
class Stage:
    core: str
    units: frozenset[Unit]


def units_of(
    program: Program, cube: CubePlan, number: int, span: tuple[int, int], loop: Operation
) -> list[Unit] | None:
    """The body of loop `number`, whose brackets stand at `span`; None where it has a part
    that works on both cores, which the pass leaves alone."""
    reader = _Reader(program, cube, loop)
    for unit in _vector_units(program.steps[span[0] + 1 : span[1]]):
        if unit.op is not None and unit.steps[0].name == "loop" and has_dots(unit.op):
            if len(unit.steps) > 2 or any(step.name not in ("loop", "end") for step in unit.steps):
                return None
            unit.core = CUBE
        reader.units.append(unit)
    reader.units.extend(Unit(CUBE, (op.order, -2), op) for op in loop.body().ops if op.name in DOTS)
    reader.drain()
    reader.units.sort(key=lambda unit: unit.place)
    reader.connect(number)
    return reader.units


def has_dots(op: Operation) -> bool:
    """Is there a dot in the operation's regions?"""
    return any(inside.name in DOTS for inside in op.walk())


def _vector_units(steps: Sequence[Step]) -> Iterator[Unit]:
    """Single instructions, and the brackets of what is nested with all between them."""
    start = depth = order = 0
    for i, step in enumerate(steps):
        if step.name in ("loop", "if"):
            start, depth = (i if depth == 0 else start), depth + 1
        elif step.name == "end":
            depth -= 1
        if depth or (step.op is not None and step.op.name == "scf.yield"):
            continue  # what a round leaves for the next one is no instruction
        part = steps[start : i + 1] if step.name == "end" else [step]
        op = part[0].op
        order = max(order, op.order) if op is not None else order
        yield Unit(VECTOR, (order, i), op, part, loads=len(part) == 1 and step.name in _LOADS)


class _Reader:
    def __init__(self, program: Program, cube: CubePlan, loop: Operation) -> None:
        self.program, self.cube, self.loop = program, cube, loop
        self.units: list[Unit] = []
        self.fixpipes: dict[Operation, Unit] = {}

    def drain(self) -> None:
        """A fixpipe for each result that leaves the cube core in this loop."""
        for unit in [unit for unit in self.units if unit.core == CUBE and unit.op is not None]:
            assert unit.op is not None
            if any(_leaves_cube(result, self.cube) for result in unit.op.results):
                order, place = unit.place
                pipe = Unit(CUBE, (order, place + 1), unit.op, leaves=True, inputs={unit})
                self.fixpipes[unit.op] = pipe
                self.units.append(pipe)

    def connect(self, number: int) -> None:
        writers: dict[Buffer, Unit] = {}
        readers: dict[Buffer, set[Unit]] = {}
        senders: dict[Value, Unit] = {}
        sent = {id(step): value for value, step in self.program.sent.items()}
        for unit in self.units:
            for step in unit.steps:
                self._step(unit, step, writers, readers)
                if id(step) in sent:
                    unit.leaves = True
                    senders[sent[id(step)]] = unit
            if unit.core == CUBE and not unit.leaves and unit.op is not None:
                self._dots(unit, senders)
        for carried in self.program.carried:
            final = writers.get(carried.yielded)
            if carried.loop == number and final is not None:
                for unit in readers.get(carried.home, ()):
                    if unit is not final and not unit.loads:
                        unit.carried.add(final)

    def _step(
        self,
        unit: Unit,
        step: Step,
        writers: dict[Buffer, Unit],
        readers: dict[Buffer, set[Unit]],
    ) -> None:
        for buffer in step.inputs:
            for each in (buffer, *self.program.joined.get(buffer, ())):
                writer = writers.get(each)
                if writer is None:
                    readers.setdefault(each, set()).add(unit)
                elif writer is not unit:
                    unit.inputs.add(writer)
        for written in (step.output, step.also):
            if written is not None:
                earlier = writers.get(written)
                if earlier is not None and earlier is not unit:
                    unit.inputs.add(earlier)
                writers[written] = unit
        if step.name == "load" and step.op in self.fixpipes:
            unit.inputs.add(self.fixpipes[step.op])
        if step.name == "use" and step.op is not None and step.op.name in _STORES:
            unit.leaves = len(unit.steps) == 1

    def _dots(self, unit: Unit, senders: dict[Value, Unit]) -> None:
        assert unit.op is not None
        for dot in unit.op.walk():
            if dot.name not in DOTS:
                continue
            for index in (0, 1):
                source = self.cube.operands[dot, index]
                root = drained_root(source)
                if source in senders:
                    unit.inputs.add(senders[source])
                elif root is not None and root.op in self.fixpipes:
                    unit.inputs.add(self.fixpipes[root.op])
            total = dot.operands[2].op if len(dot.operands) > 2 else None
            for other in self.units:
                if total is not None and other.op is total and other.core == CUBE:
                    unit.inputs.add(other)


def _leaves_cube(result: Value, cube: CubePlan) -> bool:
    """Is the product read by anything but a sum that stays in L0C?"""
    for user, index in result.uses:
        if user.name in DOTS and index == 2:
            continue
        around = user.parent
        stays = user.name == "scf.yield" and around is not None and around.name == "scf.for"
        if not (stays and around is not None and around.body().args[index + 1] in cube.resident):
            return True
    return False


# -- the pass itself -----------------------------------------------------------------------


def stages_of(units: Sequence[Unit]) -> list[Stage] | None:
    """The stages in order; None where the pass gives up and leaves the loop as it is."""
    waiting = _waiting(units)
    where: dict[Unit, int] = {}
    stages: list[Stage] = []
    core: str | None = None
    while True:
        core, chosen = _available(units, where, waiting, core)
        if core is None:
            return None
        if not chosen:
            break
        item = _with_sources(chosen, where)
        if item is None:
            return None
        where.update((unit, len(stages)) for unit in item)
        stages.append(Stage(core, frozenset(item)))
        for needed in waiting.values():
            needed.difference_update(chosen)
        core = CUBE if core == VECTOR else VECTOR
    if len(stages) < 2 or any(unit not in where for unit in units if not unit.loads):
        return None
    return stages


def _waiting(units: Sequence[Unit]) -> dict[Unit, set[Unit]]:
    """populateDependencies: the separators whose results reach each unit."""
    users: dict[Unit, list[Unit]] = {}
    for unit in units:
        for source in unit.inputs:
            users.setdefault(source, []).append(unit)
    found: dict[Unit, set[Unit]] = {unit: set() for unit in units}
    for separator in units:
        if not separator.leaves:
            continue
        stack, seen = list(users.get(separator, ())), {separator}
        while stack:
            unit = stack.pop()
            if unit not in seen:
                seen.add(unit)
                found[unit].add(separator)
                stack.extend(users.get(unit, ()))
    return found


def _available(
    units: Sequence[Unit],
    where: dict[Unit, int],
    waiting: dict[Unit, set[Unit]],
    core: str | None,
) -> tuple[str | None, list[Unit]]:
    """extractAvailableOps: work of one core, the first unit's where none is given."""
    found: list[Unit] = []
    for unit in units:
        if unit in where or unit.loads or (core is not None and unit.core != core):
            continue
        core = unit.core
        if not waiting[unit]:
            found.append(unit)
    # What reads last round's value waits for the unit that makes it. (What reads such a
    # unit's result should wait too, but the pass does not follow it: it then gives up.)
    return core, [unit for unit in found if unit.carried <= set(found)]


def _with_sources(chosen: Sequence[Unit], where: dict[Unit, int]) -> set[Unit] | None:
    """traceDependentOps: a stage with its loads; None where it needs what is not done yet."""
    item, stack = set(chosen), list(chosen)
    while stack:
        for source in stack.pop().inputs:
            if source in item or source in where:
                continue
            if not source.loads:
                return None
            item.add(source)
            stack.append(source)
    return item

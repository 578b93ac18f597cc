"""The programs of both cores of one kernel, as each attempt of the compiler lays them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Module, Operation
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.plan.cube import DOTS, CubePlan, lower_cube, plan_cube
from ascend_autotune.analysis.plan.lifetimes import Entry, Lives
from ascend_autotune.analysis.plan.lower import lower_vector
from ascend_autotune.analysis.plan.program import Buffer, Program, Step
from ascend_autotune.analysis.plan.stages import (
    Pipelined,
    floor,
    inside,
    mixed_loops,
    pipeline,
    pipeline_cube,
)

Entries = Mapping[str, Sequence[Entry]]


class Programs:
    """Each program is made once; attempts share the entries that they have in common."""

    def __init__(self, module: Module, options: CompileOptions) -> None:
        self.module, self.options = module, options
        self.forms = Forms(module)
        has_dots = any(op.name in DOTS for op in module.kernel.walk())
        self.cube: CubePlan | None = plan_cube(module, self.forms) if has_dots else None
        self._vector: dict[bool, Lives] = {}
        self._staged: dict[bool, tuple[Lives, Lives] | None] = {}
        self._cuts: dict[bool, Sequence[Pipelined]] = {}
        self._entries: dict[tuple[Lives, bool, bool], Entries] = {}

    def vector(self, code_motion: bool) -> Lives:
        lives = self._vector.get(code_motion)
        if lives is None:
            program = self._lowered(code_motion)
            lives = self._vector[code_motion] = Lives(program)
            if not program.moved:  # nothing that code motion touches: one program serves both
                self._vector[not code_motion] = lives
        return lives

    @cached_property
    def cube_lives(self) -> Lives | None:
        return Lives(lower_cube(self.module, self.cube)) if self.cube is not None else None

    def _lowered(self, code_motion: bool) -> Program:
        program = lower_vector(
            self.module,
            self.forms,
            cube=self.cube,
            split=self.options.flag("enable_auto_bind_sub_block", True),
            code_motion=code_motion,
        )
        if self.options.flag("enable_ubuf_saving"):
            _spare(program)
        return program

    @cached_property
    def mixed(self) -> frozenset[Operation]:
        """The loops that CVPipelining may cut into stages."""
        if self.cube is None:
            return frozenset()
        return mixed_loops(self.vector(True).program, self.cube)

    def staged(self, code_motion: bool) -> tuple[Lives, Lives] | None:
        """The programs (vector, cube) with loops cut into stages; None where none is cut."""
        if self.cube is None or not self.mixed:
            return None
        if code_motion not in self._staged:
            program = self._lowered(code_motion)
            rounds = self.options.number("set_workspace_multibuffer", 4)
            found = self._cuts[code_motion] = pipeline(program, self.cube, rounds)
            both = None
            if found:
                cube = lower_cube(self.module, self.cube)
                pipeline_cube(cube, found, rounds)
                both = Lives(program), Lives(cube)
            self._staged[code_motion] = both
            if not program.moved:
                self._staged[not code_motion] = both
                self._cuts[not code_motion] = found
        return self._staged[code_motion]

    # -- entries -----------------------------------------------------------------------

    def orders(self, *, doubled: bool, code_motion: bool) -> tuple[Entries, ...]:
        """The entries under each order of merging."""
        return self._orders(self.vector(code_motion), self.cube_lives, doubled)

    def staged_orders(self, *, doubled: bool, code_motion: bool) -> tuple[Entries, ...]:
        both = self.staged(code_motion)
        return self._orders(*both, doubled) if both is not None else ()

    def floors(self, *, doubled: bool, code_motion: bool) -> tuple[Entries, ...]:
        """The same of what is certain however stages are cut and tiled."""
        if self.cube_lives is None or not self.mixed:
            return ()
        vector = self.vector(code_motion)
        parts = self.options.number("tile_mix_vector_loop", 2)
        tiles = self.options.number("tile_mix_cube_loop", 2)
        found = []
        for entries in self.orders(doubled=doubled, code_motion=code_motion):
            all_ub, cube = entries.get("ub", ()), [*entries.get("l1", ()), *entries.get("l0c", ())]
            ub = floor(all_ub, vector.program, self.mixed - self._whole, parts)
            found.append(
                {"ub": ub, **_by_memory(floor(cube, self.cube_lives.program, self.mixed, tiles))}
            )
        return tuple(found)

    def _orders(self, vector: Lives, cube: Lives | None, doubled: bool) -> tuple[Entries, ...]:
        fixed = self._placed(cube, doubled, False) if cube is not None else {}
        # In a mix kernel only the cube core's loads are doubled (only-cube).
        alone = doubled and cube is None
        return tuple(
            {**self._placed(vector, alone, forward), **fixed}
            for forward in ((False, True) if vector.has_choices else (False,))
        )

    def _placed(self, lives: Lives, doubled: bool, forward: bool) -> Entries:
        key = lives, doubled, forward
        found = self._entries.get(key)
        if found is None:
            l0c = doubled and self.options.doubles_l0c
            entries = lives.entries(doubled=doubled, l0c_doubled=l0c, forward=forward)
            found = self._entries[key] = _by_memory(entries)
        return found

    @cached_property
    def _whole(self) -> frozenset[Operation]:
        """The loops whose stages the vector core surely works on as a whole."""
        both = []
        for code_motion in (True, False):
            self.staged(code_motion)
            cuts = self._cuts.get(code_motion, ())
            both.append(frozenset(cut.loop for cut in cuts if cut.whole))
        return both[0] & both[1]

    @cached_property
    def drained(self) -> tuple[int, ...]:
        """Bytes in l0c of the products that mixed loops hand over, one by one."""
        lives = self.cube_lives
        if lives is None:
            return ()
        within = inside(lives.program, self.mixed)
        return tuple(
            entry.size
            for entry in lives.entries(doubled=False)
            if entry.memory == "l0c" and all(b in within for b in entry.buffers)
        )

    @cached_property
    def operands(self) -> dict[str, list[int]]:
        """Bytes of the tiles that pass through l0a and l0b."""
        if self.cube is None:
            return {}
        return {
            memory: [
                dot.operands[index].type.numel * max(8, dot.operands[index].type.bits) // 8
                for dot in self.cube.dots
            ]
            for index, memory in enumerate(("l0a", "l0b"))
        }


def _spare(program: Program) -> None:
    """What enable_ubuf_saving may make smaller or shorter-lived is not sure.

    The scratch of reductions (getVcgReduceExtraBufferSize), and fills and broadcasts that
    SinkOpToConsumerInLoop repeats before each reader inside a loop or branch.
    """
    homes = {carried.home for carried in program.carried}
    made: dict[Buffer, Step] = {}
    for step in program.steps:
        if step.name == "vreduce":
            for scratch in step.temporaries:
                scratch.sure = False
        if step.name == "vbrc" and step.output is not None:
            made[step.output] = step
    readers: dict[Buffer, list[Step]] = {}
    for step in program.steps:
        for buffer in step.inputs:
            if buffer in made and buffer not in homes:
                readers.setdefault(buffer, []).append(step)
    for buffer, steps in readers.items():
        if any(step.scope != buffer.scope for step in steps) or (buffer.scope and len(steps) > 1):
            for spared in (buffer, *made[buffer].temporaries):
                spared.sure = False


def _by_memory(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.memory, []).append(entry)
    return found

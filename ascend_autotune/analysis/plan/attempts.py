"""The compiler's attempts at one program: what each lays out, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.chips import MEMORIES, Chip
from ascend_autotune.analysis.ir import Module
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.parametric.sym import Mask, Vector
from ascend_autotune.analysis.plan import packing
from ascend_autotune.analysis.plan.cube import DOTS, CubePlan, lower_cube, mixed_loops, plan_cube
from ascend_autotune.analysis.plan.demand import is_box
from ascend_autotune.analysis.plan.lifetimes import Entry, Lives
from ascend_autotune.analysis.plan.lower import lower_vector
from ascend_autotune.analysis.plan.program import Program
from ascend_autotune.analysis.plan.stages import pipeline
from ascend_autotune.analysis.verdict import UNBOUNDED

CODE_MOTION = "enable-code-motion"
MULTI_BUFFER = "enable-auto-multi-buffer"
PLANNED = ("ub", "l1", "l0c")
# The plan of these series is the one that the model was read from and checked against.
MODELLED = frozenset({"A2", "A3"})

Entries = Mapping[str, Sequence[Entry]]


@dataclass(frozen=True)
class Layout:
    """What one attempt places, under each order of merging.

    `staged`: the same with the loops cut into stages that CVPipelining is thought to cut.
    `divisors`: by how much the least need of a memory is divided before it is certain (0:
    nothing is). `loose`: memories whose likely need is no upper bound. `operands`: bytes of
    the tiles that pass through l0a and l0b.
    """

    switched_off: tuple[str, ...]
    orders: tuple[Entries, ...]
    staged: tuple[Entries, ...]
    divisors: Mapping[str, int]
    loose: frozenset[str]
    operands: Mapping[str, Sequence[int]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """One attempt's bytes for many candidates: certain bounds, and the likely need."""

    switched_off: tuple[str, ...]
    low: Mapping[str, Vector]
    high: Mapping[str, Vector]
    likely: Mapping[str, Vector]

    def refused(self, capacity: Mapping[str, int]) -> Mask:
        return _any([self.low[m] > capacity[m] for m in MEMORIES])

    def fits(self, capacity: Mapping[str, int]) -> Mask:
        return ~_any([self.high[m] > capacity[m] for m in MEMORIES])

    def likely_fits(self, capacity: Mapping[str, int]) -> Mask:
        return ~_any([self.likely[m] > capacity[m] for m in PLANNED])


def _any(masks: Sequence[Mask]) -> Mask:
    found: Mask = np.logical_or.reduce(masks)
    return found


def figures_of(layout: Layout, chip: Chip, sizes: packing.Sizes) -> Figures:
    """Evaluate a layout for every candidate that `sizes` speaks of."""
    low: dict[str, Vector] = {}
    high: dict[str, Vector] = {}
    likely: dict[str, Vector] = {}
    for memory in PLANNED:
        least, plain = _least_needs(layout.orders, memory, chip, sizes)
        divisor = layout.divisors.get(memory, 1)
        low[memory] = least // divisor if divisor else np.zeros_like(least)
        likely[memory] = plain
        if layout.staged:
            likely[memory] = _least_needs(layout.staged, memory, chip, sizes)[1]
        high[memory] = np.maximum.reduce([low[memory], plain, likely[memory]])
        if memory in layout.loose:
            high[memory] = np.where(high[memory] > 0, UNBOUNDED, 0)
    for memory in ("l0a", "l0b"):
        tiles = [sizes.vector(size) for size in layout.operands.get(memory, ())]
        if not tiles:
            tiles = [np.zeros(sizes.count, dtype=np.int64)]
        # hivmc tiles along K until the operands fit: at most the whole, at least a fractal.
        low[memory] = np.minimum(np.minimum.reduce(tiles), 512)
        high[memory] = np.minimum(np.maximum.reduce(tiles), chip.capacity[memory])
    return Figures(layout.switched_off, low, high, likely)


def _least_needs(
    orders: Sequence[Entries], memory: str, chip: Chip, sizes: packing.Sizes
) -> tuple[Vector, Vector]:
    """(least, likely) of the order that asks for the least."""
    pairs = [sizes.needs(entries.get(memory, ()), chip.capacity[memory]) for entries in orders]
    least: Vector = np.minimum.reduce([pair[0] for pair in pairs])
    likely: Vector = np.minimum.reduce([pair[1] for pair in pairs])
    return least, likely


def layouts_of(module: Module, chip: Chip, options: CompileOptions) -> list[Layout]:
    """Every attempt that the compiler would make until one fits, in its order."""
    programs = _Programs(module, chip, options)
    doubled = options.multibuffer
    found = [programs.layout((), doubled=doubled, code_motion=True)]
    found.append(programs.layout((CODE_MOTION,), doubled=doubled, code_motion=False))
    if doubled:
        off = (MULTI_BUFFER, CODE_MOTION)
        found.append(programs.layout(tuple(sorted(off)), doubled=False, code_motion=False))
    return found


class _Programs:
    """The programs of both cores, each laid out once."""

    def __init__(self, module: Module, chip: Chip, options: CompileOptions) -> None:
        self.module, self.chip, self.options = module, chip, options
        self.forms = Forms(module)
        has_dots = any(op.name in DOTS for op in module.kernel.walk())
        self.cube: CubePlan | None = plan_cube(module, self.forms) if has_dots else None
        self.tiled = mixed_loops(self.cube) if self.cube else (False, False)
        self.cube_lives = Lives(lower_cube(module, self.cube)) if self.cube else None
        self._vector: dict[bool, Lives] = {}
        self._staged: dict[bool, Lives | None] = {}
        # Attempts share what they have in common: equal entries are evaluated once.
        self._entries: dict[tuple[Lives, bool, bool], Entries] = {}

    def vector(self, code_motion: bool) -> Lives:
        lives = self._vector.get(code_motion)
        if lives is None:
            program = self._lowered(code_motion)
            lives = self._vector[code_motion] = Lives(program)
            if not program.moved:  # nothing that code motion touches: one program serves both
                self._vector[not code_motion] = lives
        return lives

    def staged(self, code_motion: bool) -> Lives | None:
        """The vector core's program with its loops cut into stages; None where none is."""
        if self.cube is None or not any(self.tiled):
            return None
        if code_motion not in self._staged:
            program = self._lowered(code_motion)
            rounds = self.options.number("set_workspace_multibuffer", 4)
            lives = Lives(program) if pipeline(program, self.cube, rounds) else None
            self._staged[code_motion] = lives
            if not program.moved:
                self._staged[not code_motion] = lives
        return self._staged[code_motion]

    def _lowered(self, code_motion: bool) -> Program:
        return lower_vector(
            self.module,
            self.forms,
            cube=self.cube,
            split=self.options.flag("enable_auto_bind_sub_block", True),
            code_motion=code_motion,
        )

    def layout(self, switched_off: tuple[str, ...], *, doubled: bool, code_motion: bool) -> Layout:
        cube: Entries = {}
        if self.cube_lives is not None:
            cube = self._placed(self.cube_lives, doubled, False)
        # In a mix kernel only the cube core's loads are doubled (only-cube).
        alone = doubled and self.cube is None
        orders = self._orders(self.vector(code_motion), alone, cube)
        stages = self.staged(code_motion) if doubled and self.options.pipelines else None
        staged = self._orders(stages, alone, cube) if stages is not None else ()
        divisors, loose = self._certainty(doubled)
        return Layout(switched_off, orders, staged, divisors, loose, self._operands, self._notes)

    def _orders(self, lives: Lives, doubled: bool, cube: Entries) -> tuple[Entries, ...]:
        return tuple(
            {**self._placed(lives, doubled, forward), **cube}
            for forward in ((False, True) if lives.has_choices else (False,))
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
    def _notes(self) -> tuple[str, ...]:
        notes = list(self.vector(True).program.notes)
        if self.chip.series not in MODELLED:
            notes.append(f"{self.chip.series} plans its memory in a way that is not modelled")
        if self.options.flag("enable_ubuf_saving"):
            notes.append("enable_ubuf_saving changes the scratch of reductions")
        if self.cube is not None and self.options.flag("enable_hivm_auto_cv_balance"):
            notes.append("enable_hivm_auto_cv_balance changes how vector work is shared")
        if self._selects_apart:
            notes.append("without enable_select_analysis a select on a rectangle is laid out anew")
        return tuple(dict.fromkeys(notes))

    @cached_property
    def _selects_apart(self) -> bool:
        """Are selects on rectangles, which the model takes for copies of a box, real ones?"""
        if self.options.flag("enable_select_analysis", True):
            return False
        return any(op.name == "arith.select" and is_box(op) for op in self.module.kernel.walk())

    def _certainty(self, doubled: bool) -> tuple[dict[str, int], frozenset[str]]:
        """What is certain of each memory: less where stages may be tiled, or not modelled."""
        if self.chip.series not in MODELLED:
            return dict.fromkeys(PLANNED, 0), frozenset(PLANNED)
        divisors = dict.fromkeys(PLANNED, 1)
        loose = set(PLANNED) if self._notes else set()
        uneven = bool(self._notes) or self.vector(True).program.perhaps_halved
        if (uneven and self.cube is not None) or self._selects_apart:
            divisors["ub"] = 2
        if doubled and self.options.pipelines:
            # CVPipelining and TileCubeVectorLoop: a stage's tiles may be a part of ours, and
            # what crosses stages is held several times over.
            vector_tiles, cube_tiles = self.tiled
            if vector_tiles:
                divisors["ub"] *= self.options.number("tile_mix_vector_loop", 2)
                loose.add("ub")
            if cube_tiles:
                for memory in ("l1", "l0c"):
                    divisors[memory] = self.options.number("tile_mix_cube_loop", 2)
                    loose.add(memory)
        return divisors, frozenset(loose)

    @cached_property
    def _operands(self) -> dict[str, list[int]]:
        if self.cube is None:
            return {}
        return {
            memory: [
                dot.operands[index].type.numel * max(8, dot.operands[index].type.bits) // 8
                for dot in self.cube.dots
            ]
            for index, memory in enumerate(("l0a", "l0b"))
        }


def _by_memory(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.memory, []).append(entry)
    return found

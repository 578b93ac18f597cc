"""The compiler's attempts at one program: what each lays out, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ascend_autotune.analysis.chips import MEMORIES, Chip
from ascend_autotune.analysis.ir import Module
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.parametric.sym import Mask, Vector
from ascend_autotune.analysis.plan import packing
from ascend_autotune.analysis.plan.demand import is_box
from ascend_autotune.analysis.plan.programs import Entries, Programs
from ascend_autotune.analysis.verdict import UNBOUNDED

CODE_MOTION = "enable-code-motion"
MULTI_BUFFER = "enable-auto-multi-buffer"
PLANNED = ("ub", "l1", "l0c")
# The plan of these series is the one that the model was read from and checked against.
MODELLED = frozenset({"A2", "A3"})


@dataclass(frozen=True)
class Layout:
    """What one attempt places, under each order of merging.

    `staged`: the same with the loops cut into stages that CVPipelining is thought to cut.
    `floors`: what of it is certain however loops are cut, and their stages tiled.
    `drained`: the products that stages hand over; where they do not fit into l0c together,
    the cube core's stages may be tiled. `divisors`: by how much the least need of a memory
    is divided before it is certain (0: nothing is). `loose`: memories whose likely need is
    no upper bound. `operands`: bytes of the tiles that pass through l0a and l0b.
    """

    switched_off: tuple[str, ...]
    orders: tuple[Entries, ...]
    staged: tuple[Entries, ...]
    floors: tuple[Entries, ...]
    drained: Sequence[int]
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
    drained = sum((sizes.vector(size) for size in layout.drained), np.zeros(sizes.count, np.int64))
    tiled = drained > chip.capacity["l0c"]
    for memory in PLANNED:
        plans = [_need(layout.orders, memory, chip, sizes)]
        if layout.staged:
            plans.append(_need(layout.staged, memory, chip, sizes))
        # Whether a loop is cut is likely, not certain; and a cut loop may need less.
        least = np.minimum.reduce([plan.whole for plan in plans])
        if layout.floors:
            part = np.minimum(least, _need(layout.floors, memory, chip, sizes).part)
            # The cube core's stages are tiled for want of room in l0c alone.
            always = memory == "ub" or not layout.staged
            least = part if always else np.where(tiled, part, least)
        divisor = layout.divisors.get(memory, 1)
        low[memory] = least // divisor if divisor else np.zeros_like(least)
        likely[memory] = plans[-1].likely
        high[memory] = np.maximum.reduce([low[memory], *(plan.likely for plan in plans)])
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


def _need(orders: Sequence[Entries], memory: str, chip: Chip, sizes: packing.Sizes) -> packing.Need:
    """Of the order of merging that asks for the least."""
    needs = [sizes.needs(entries.get(memory, ()), chip.capacity[memory]) for entries in orders]
    return packing.Need(
        np.minimum.reduce([need.whole for need in needs]),
        np.minimum.reduce([need.part for need in needs]),
        np.minimum.reduce([need.likely for need in needs]),
    )


def layouts_of(module: Module, chip: Chip, options: CompileOptions) -> list[Layout]:
    """Every attempt that the compiler would make until one fits, in its order."""
    programs = Programs(module, options)
    certainty = _Certainty(programs, chip, options)
    doubled = options.multibuffer
    tries = [((), doubled, True), ((CODE_MOTION,), doubled, False)]
    if doubled:
        tries.append((tuple(sorted((MULTI_BUFFER, CODE_MOTION))), False, False))
    return [
        _layout(programs, certainty, off, doubled=doubled, code_motion=motion)
        for off, doubled, motion in tries
    ]


def _layout(
    programs: Programs,
    certainty: _Certainty,
    switched_off: tuple[str, ...],
    *,
    doubled: bool,
    code_motion: bool,
) -> Layout:
    cuts = doubled and programs.options.pipelines
    return Layout(
        switched_off,
        programs.orders(doubled=doubled, code_motion=code_motion),
        programs.staged_orders(doubled=doubled, code_motion=code_motion) if cuts else (),
        programs.floors(doubled=doubled, code_motion=code_motion) if cuts else (),
        programs.drained if cuts else (),
        certainty.divisors,
        certainty.loose(cuts),
        programs.operands,
        certainty.notes,
    )


class _Certainty:
    """What the model does not know of a program, and what that leaves certain."""

    def __init__(self, programs: Programs, chip: Chip, options: CompileOptions) -> None:
        self.programs, self.chip, self.options = programs, chip, options

    @cached_property
    def notes(self) -> tuple[str, ...]:
        mixed = self.programs.cube is not None
        notes = list(self.programs.vector(True).program.notes)
        if self.chip.series not in MODELLED:
            notes.append(f"{self.chip.series} plans its memory in a way that is not modelled")
        if self.options.flag("enable_ubuf_saving"):
            notes.append("enable_ubuf_saving changes the scratch of reductions")
        if mixed and self.options.flag("enable_hivm_auto_cv_balance"):
            notes.append("enable_hivm_auto_cv_balance changes how vector work is shared")
        if self._selects_apart:
            notes.append("without enable_select_analysis a select on a rectangle is laid out anew")
        return tuple(dict.fromkeys(notes))

    @cached_property
    def _selects_apart(self) -> bool:
        """Are selects on rectangles, which the model takes for copies of a box, real ones?"""
        if self.options.flag("enable_select_analysis", True):
            return False
        kernel = self.programs.module.kernel
        return any(op.name == "arith.select" and is_box(op) for op in kernel.walk())

    @cached_property
    def divisors(self) -> dict[str, int]:
        if self.chip.series not in MODELLED:
            return dict.fromkeys(PLANNED, 0)
        divisors = dict.fromkeys(PLANNED, 1)
        uneven = bool(self.notes) or self.programs.vector(True).program.perhaps_halved
        if (uneven and self.programs.cube is not None) or self._selects_apart:
            divisors["ub"] = 2
        return divisors

    def loose(self, cuts: bool) -> frozenset[str]:
        """The memories without an upper bound; `cuts`: loops may be cut into stages."""
        if self.chip.series not in MODELLED or self.notes:
            return frozenset(PLANNED)
        # Whether the vector core's work is still halved once it is cut is not known.
        return frozenset({"ub"}) if cuts and self.programs.mixed else frozenset()

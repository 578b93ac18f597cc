"""The verdicts of all candidates of one template, a group of equal structure at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascend_autotune.analysis.chips import Chip
from ascend_autotune.analysis.footprint import Footprint, footprint_of
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.parametric.sym import Mask, Run, Vector
from ascend_autotune.analysis.parametric.template import Template
from ascend_autotune.analysis.plan.attempts import Layout, figures_of, layouts_of
from ascend_autotune.analysis.plan.lifetimes import Entry
from ascend_autotune.analysis.plan.packing import Need, Sizes
from ascend_autotune.analysis.verdict import FEASIBLE, INFEASIBLE, UNBOUNDED, UNKNOWN

_CHUNK = 1 << 17  # candidates that are worked out together: bounds the memory used


@dataclass
class Judged:
    """What became of the candidates of a template, by position.

    Bytes, reasons and fallbacks are worked out again, for one candidate, when asked for.
    """

    template: Template
    columns: Sequence[Vector]
    chip: Chip
    options: CompileOptions
    status: Vector

    def footprint(self, position: int) -> Footprint:
        """One candidate's footprint, worked out to the byte."""
        columns = [column[position : position + 1] for column in self.columns]
        layouts, _ = _layouts(self.template, columns, 0, self.chip, self.options)
        return footprint_of(layouts, self.chip)


def evaluate(
    template: Template, columns: Sequence[Vector], chip: Chip, options: CompileOptions
) -> Judged:
    """Judge every candidate; `columns` holds one vector of values per parameter."""
    count = len(columns[0])
    status = np.full(count, UNKNOWN, dtype=np.int64)
    judged = Judged(template, columns, chip, options, status)
    for start in range(0, count, _CHUNK):
        _chunk(judged, start, min(count, start + _CHUNK))
    return judged


def _chunk(judged: Judged, start: int, end: int) -> None:
    rest = np.arange(start, end)
    while len(rest):
        columns = [column[rest] for column in judged.columns]
        # The middle of what is left is more often like its neighbours than the first is.
        layouts, agree = _layouts(
            judged.template, columns, len(rest) // 2, judged.chip, judged.options
        )
        chosen = np.flatnonzero(agree)
        judged.status[rest[chosen]] = verdicts(layouts, judged.chip, len(rest), chosen)
        rest = rest[~agree]


class _Sums(Sizes):
    """Needs with nothing placed: where buffers may share a place, their sum stands."""

    def needs(self, entries: Sequence[Entry], capacity: int) -> Need:
        return super().needs(entries, UNBOUNDED)  # whose sum fits need not be placed


def verdicts(layouts: Sequence[Layout], chip: Chip, count: int, chosen: Vector) -> Vector:
    """Refused where every attempt is, feasible where one surely fits, else unknown.

    Placing buffers costs most. Sums alone say who is refused, and of most who fits; only the
    attempts that may still fit somebody are laid out for them.
    """
    capacity = chip.capacity
    sums = _Sums(count, chosen)
    figures = [figures_of(layout, chip, sums) for layout in layouts]
    refused: Mask = np.logical_and.reduce([found.refused(capacity) for found in figures])
    fits: Mask = np.logical_or.reduce([found.fits(capacity) for found in figures])
    sizes: Sizes = sums
    asked: Vector = np.zeros(0, dtype=np.int64)
    for layout, found in zip(layouts, figures, strict=True):
        known = np.logical_or.reduce([high == UNBOUNDED for high in found.high.values()])
        open_ = np.flatnonzero(~fits & ~known & ~found.refused(capacity))
        if not len(open_):
            continue
        if not np.array_equal(open_, asked):  # else equal buffers are placed already
            sizes, asked = Sizes(count, chosen[open_], figures=False), open_
        fits[open_] = figures_of(layout, chip, sizes).fits(capacity)
    return np.where(fits, FEASIBLE, np.where(refused, INFEASIBLE, UNKNOWN))


def _layouts(
    template: Template,
    columns: Sequence[Vector],
    representative: int,
    chip: Chip,
    options: CompileOptions,
) -> tuple[list[Layout], Mask]:
    """The layouts for the representative, and for which candidates they are the same."""
    run = Run(len(columns[0]), representative)
    module = template.instantiate(run, columns)
    return layouts_of(module, chip, options), run.agree

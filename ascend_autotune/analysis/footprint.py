"""How much of each on-chip memory a program takes, as an interval, for each compile attempt.

The compiler tries up to three times (RetriablePassManager of AscendNPU-IR v1.2.0): as asked,
with code motion off, and with multi-buffering off too. Each attempt is laid out by `plan`
from the program alone: its largest sum of live bytes bounds the need from below, a first
fit of all its buffers from above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ascend_autotune.analysis.chips import MEMORIES, Chip
from ascend_autotune.analysis.ir import UNKNOWN, Location, Module
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.plan import packing
from ascend_autotune.analysis.plan.attempts import Figures, Layout, figures_of, layouts_of
from ascend_autotune.analysis.plan.lifetimes import Entry
from ascend_autotune.analysis.plan.packing import Sizes

Bounds = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Buffer:
    """One place that the compiler plans. `bytes` is one copy, aligned as the chip demands.

    `first` and `last` number the instructions between which it is alive. `op` is the TTIR
    operation that makes it, at `location`; `type` its tile ("32x64xf32"). `temporary`:
    scratch of that one instruction.
    """

    memory: str
    bytes: int
    copies: int
    first: int
    last: int
    op: str
    location: Location
    type: str
    temporary: bool


@dataclass(frozen=True)
class Footprint:
    """Bytes of each memory, (low, high), on one core.

    `bounds`: as asked. `need`: of the compiler's last attempt, whose figures it prints when
    nothing fits. `attempts`: the bounds of each attempt in turn, by what it switched off.
    `peak`: the buffers alive together at the peak of the last attempt that matters, largest
    first. `fallback`: what the compiler switches off until the program fits. `notes`: what
    the model does not know; the upper bounds are then `UNBOUNDED`.
    """

    bounds: Bounds
    need: Bounds
    attempts: tuple[tuple[tuple[str, ...], Bounds], ...]
    peak: Mapping[str, tuple[Buffer, ...]]
    fallback: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def refused(self, capacity: Mapping[str, int]) -> bool:
        """No attempt can fit: some memory's lower bound is over its capacity in each."""
        return all(
            any(low > capacity[memory] for memory, (low, _) in bounds.items())
            for _, bounds in self.attempts
        )

    def fits(self, capacity: Mapping[str, int]) -> bool:
        """Some attempt fits for certain."""
        return any(_fits(bounds, capacity) for _, bounds in self.attempts)


def _fits(bounds: Bounds, capacity: Mapping[str, int]) -> bool:
    return all(high <= capacity[memory] for memory, (_, high) in bounds.items())


def measure(module: Module, chip: Chip, options: CompileOptions) -> Footprint:
    """The footprint of a program on a chip under a compile profile.

    Raises AnalysisError where the program cannot be followed.
    """
    return footprint_of(layouts_of(module, chip, options), chip)


def footprint_of(layouts: Sequence[Layout], chip: Chip) -> Footprint:
    """The footprint of one program whose attempts are laid out already."""
    sizes = Sizes(1)
    figures = [figures_of(layout, chip, sizes) for layout in layouts]
    shown = len(layouts) - 1
    fallback: tuple[str, ...] = ()
    for index, found in enumerate(figures):
        if found.likely_fits(chip.capacity)[0]:
            shown, fallback = index, found.switched_off
            break
    entries = layouts[shown].orders[0]
    return Footprint(
        _bounds(figures[0]),
        _bounds(figures[-1]),
        tuple((found.switched_off, _bounds(found)) for found in figures),
        MappingProxyType(
            {m: _buffers(packing.peak_entries(entries[m])) for m in MEMORIES if entries.get(m)}
        ),
        fallback,
        layouts[0].notes,
    )


def _bounds(figures: Figures) -> Bounds:
    return MappingProxyType(
        {memory: (int(figures.low[memory][0]), int(figures.high[memory][0])) for memory in MEMORIES}
    )


def _buffers(entries: Sequence[Entry]) -> tuple[Buffer, ...]:
    return tuple(_buffer(entry) for entry in entries if entry.size)


def _buffer(entry: Entry) -> Buffer:
    made = entry.buffers[0]
    return Buffer(
        entry.memory,
        entry.size,
        entry.copies,
        entry.first,
        entry.last,
        made.op.name if made.op is not None else "",
        made.op.location if made.op is not None else UNKNOWN,
        "x".join([*map(str, made.shape), made.dtype]),
        made.temporary,
    )

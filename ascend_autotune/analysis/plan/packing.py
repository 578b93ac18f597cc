"""Lays storage entries out in one memory: what is needed at least, and at most.

Source: MemPlan::PlanMemAddressOfWholeLocalBuffer (PlanMemory pass): without reuse where
the sum fits, else first fit over lifetimes. The largest sum of live bytes bounds the need
from below whatever the order; a first fit that fits bounds it from above.

Everything is worked out for many candidates at once: entries are shared by all of them,
and a size is one number per candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascend_autotune.analysis.parametric.sym import Vector, vector
from ascend_autotune.analysis.plan.lifetimes import Entry


@dataclass(frozen=True)
class Need:
    """Bytes that PlanMemory asks for, per candidate.

    `whole`: the largest sum of live bytes. `part`: the same where entries that may be worked
    on in parts are. `likely`: the sum of all where that fits, else the first fit; what is
    worked on in parts is never placed.
    """

    whole: Vector
    part: Vector
    likely: Vector


class Sizes:
    """The bytes of entries for `count` candidates, or for the `chosen` ones of them.

    Without `figures`, needs that overflow anyway are not worked out to the byte.
    """

    def __init__(self, count: int, chosen: Vector | None = None, *, figures: bool = True) -> None:
        self.total_count = count
        self.chosen = chosen
        self.count = count if chosen is None else len(chosen)
        self.figures = figures
        # By id: what is known of is kept alive beside it.
        self._known: dict[int, tuple[int, Vector]] = {}
        self._needs: dict[tuple[int, int], tuple[Sequence[Entry], Need]] = {}

    def vector(self, size: int) -> Vector:
        return vector(size, self.total_count, self.chosen)

    def one(self, entry: Entry) -> Vector:
        """Bytes of one copy. Equal sizes are one object: entries of a size share a vector."""
        found = self._known.get(id(entry.size))
        if found is None:
            found = self._known[id(entry.size)] = entry.size, self.vector(entry.size)
        return found[1]

    def sum(self, entries: Sequence[Entry]) -> Vector:
        held = np.zeros(self.count, dtype=np.int64)
        times: dict[int, tuple[Vector, int]] = {}
        for entry in entries:
            size = self.one(entry)
            times[id(size)] = (size, times.get(id(size), (size, 0))[1] + entry.copies)
        for size, copies in times.values():
            held += size if copies == 1 else size * copies
        return held

    def needs(self, entries: Sequence[Entry], capacity: int) -> Need:
        key = id(entries), capacity
        found = self._needs.get(key)
        if found is None:
            found = self._needs[key] = entries, self._work_out(entries, capacity)
        return found[1]

    def _work_out(self, entries: Sequence[Entry], capacity: int) -> Need:
        sure = [entry for entry in entries if entry.sure]
        low = live_maximum(sure, self)
        if any(entry.parts != 1 for entry in sure):
            return Need(low, least_live(sure, self), low)
        need = self.sum(entries)
        open_ = need > capacity
        if not self.figures:
            need = np.where(open_ & (low > capacity), low, need)
            open_ &= low <= capacity
        chosen = np.flatnonzero(open_)
        if len(chosen):
            need[chosen] = first_fit(entries, [self.one(entry)[chosen] for entry in entries])
        return Need(low, low, need)


def live_maximum(entries: Sequence[Entry], sizes: Sizes) -> Vector:
    """The largest sum of bytes alive at one instruction, copies included, per candidate."""
    best = np.zeros(sizes.count, dtype=np.int64)
    for alive in _crowds(entries):
        np.maximum(best, sizes.sum(alive), out=best)
    return best


def least_live(entries: Sequence[Entry], sizes: Sizes) -> Vector:
    """The same of what is certain: of entries that may be worked on in parts, one part."""
    parts = sorted({entry.parts for entry in entries})
    best = np.zeros(sizes.count, dtype=np.int64)
    for alive in _crowds(entries):
        held = np.zeros(sizes.count, dtype=np.int64)
        for count in parts:
            held += sizes.sum([entry for entry in alive if entry.parts == count]) // count
        np.maximum(best, held, out=best)
    return best


def _crowds(entries: Sequence[Entry]) -> list[list[Entry]]:
    """The largest sets of entries alive together: none is part of another."""
    crowds: list[list[Entry]] = []
    before: set[int] = set()
    for time in sorted({entry.first for entry in entries}):
        alive = [entry for entry in entries if entry.first <= time <= entry.last]
        names = {id(entry) for entry in alive}
        if crowds and before <= names:
            crowds[-1] = alive
        else:
            crowds.append(alive)
        before = names
    return crowds


def peak_entries(entries: Sequence[Entry]) -> list[Entry]:
    """One candidate's entries that are alive at its peak, largest first."""
    crowds = _crowds(entries)
    if not crowds:
        return []
    best = max(crowds, key=lambda alive: sum(int(e.size) * e.copies for e in alive))
    return sorted(best, key=lambda e: (-int(e.size) * e.copies, e.first))


def first_fit(entries: Sequence[Entry], sizes: Sequence[Vector]) -> Vector:
    """The end of the highest entry when each goes to the lowest place that is free.

    Entries that a copy to or from global memory touches come first, each group by time
    of first write; the copies of a multi-buffer stand directly after one another.
    """
    order = sorted(range(len(entries)), key=lambda i: (not entries[i].dma, entries[i].first))
    count = len(sizes[0]) if len(sizes) else 0
    top = np.zeros(count, dtype=np.int64)
    placed: list[tuple[Entry, Vector, Vector]] = []
    for i in order:
        entry, size = entries[i], sizes[i]
        for _ in range(entry.copies):
            start = _lowest(entry, size, placed)
            end = start + size
            placed.append((entry, start, end))
            np.maximum(top, end, out=top)
    return top


def _lowest(entry: Entry, size: Vector, placed: Sequence[tuple[Entry, Vector, Vector]]) -> Vector:
    """The lowest start at which the entry meets no placed one that lives at the same time."""
    start = np.zeros(len(size), dtype=np.int64)
    busy = [
        (low, high)
        for other, low, high in placed
        if other.first <= entry.last and entry.first <= other.last
    ]
    if not busy:
        return start
    lows, highs = np.stack([low for low, _ in busy]), np.stack([high for _, high in busy])
    by_low = np.argsort(lows, axis=0, kind="stable")
    lows = np.take_along_axis(lows, by_low, axis=0)
    highs = np.take_along_axis(highs, by_low, axis=0)
    found = np.zeros(len(size), dtype=bool)
    for low, high in zip(lows, highs, strict=True):
        found |= low - start >= size
        start = np.where(found, start, np.maximum(start, high))
    return start

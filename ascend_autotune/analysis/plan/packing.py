"""Lays storage entries out in one memory: what is needed at least, and at most.

Source: MemPlan::PlanMemAddressOfWholeLocalBuffer (PlanMemory pass): without reuse where
the sum fits, else first fit over lifetimes. The largest sum of live bytes bounds the need
from below whatever the order; a first fit that fits bounds it from above.
"""

from __future__ import annotations

from collections.abc import Sequence

from ascend_autotune.analysis.plan.lifetimes import Entry

UNBOUNDED = 2**63 - 1
"""An upper bound in bytes where none is known."""


def live_maximum(entries: Sequence[Entry]) -> int:
    """The largest sum of bytes alive at one instruction, copies included."""
    times = sorted({entry.first for entry in entries})
    return max(
        (
            sum(e.size * e.copies for e in entries if e.first <= time <= e.last)
            for time in times
        ),
        default=0,
    )


def total(entries: Sequence[Entry]) -> int:
    return sum(entry.size * entry.copies for entry in entries)


def peak_entries(entries: Sequence[Entry]) -> list[Entry]:
    """The entries alive at the peak, largest first."""
    best: list[Entry] = []
    size = -1
    for time in sorted({entry.first for entry in entries}):
        alive = [e for e in entries if e.first <= time <= e.last]
        if total(alive) > size:
            best, size = alive, total(alive)
    return sorted(best, key=lambda e: (-e.size * e.copies, e.first))


def first_fit(entries: Sequence[Entry], *, split: bool) -> int:
    """The end of the highest entry when each goes to the lowest place that is free.

    `split`: places keep each entry's own lifetime; otherwise a place remembers the union
    of all that it held (the outline is coarser, and sometimes packs worse).
    """
    ordered = sorted(entries, key=lambda e: (not e.dma, e.first))
    if split:
        return _by_intervals(ordered)
    return _by_outline(ordered)


def _by_intervals(ordered: Sequence[Entry]) -> int:
    placed: list[tuple[int, int, Entry]] = []
    top = 0
    for entry in ordered:
        for _ in range(entry.copies):
            busy = sorted(
                (low, high)
                for low, high, other in placed
                if other.first <= entry.last and entry.first <= other.last
            )
            offset = 0
            for low, high in busy:
                if low - offset >= entry.size:
                    break
                offset = max(offset, high)
            placed.append((offset, offset + entry.size, entry))
            top = max(top, offset + entry.size)
    return top


def _by_outline(ordered: Sequence[Entry]) -> int:
    """Segments (start, end, lifetimes): an entry covers whole or split segments."""
    segments: list[tuple[int, int, list[tuple[int, int]]]] = []
    top = 0
    for entry in ordered:
        for _ in range(entry.copies):
            offset = _lowest(segments, entry, top)
            end = offset + entry.size
            rest = [s for s in segments if s[1] <= offset or s[0] >= end]
            covered = [s for s in segments if not (s[1] <= offset or s[0] >= end)]
            lives = [(entry.first, entry.last)]
            for low, high, held in covered:
                lives = lives + held
                if low < offset:
                    rest.append((low, offset, held))
                if high > end:
                    rest.append((end, high, held))
            rest.append((offset, end, lives))
            segments = sorted(rest, key=lambda s: s[0])
            top = max(top, end)
    return top


def _lowest(
    segments: Sequence[tuple[int, int, list[tuple[int, int]]]], entry: Entry, top: int
) -> int:
    offset = 0
    for low, high, lives in segments:
        if low - offset >= entry.size:
            return offset
        if any(a <= entry.last and entry.first <= b for a, b in lives):
            offset = high
    return offset


def need(entries: Sequence[Entry], capacity: int) -> int:
    """What PlanMemory asks for: the better of its two first fits (the sum where it fits)."""
    everything = total(entries)
    if everything <= capacity:
        return everything
    return min(first_fit(entries, split=False), first_fit(entries, split=True))

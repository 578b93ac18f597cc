"""Exact mode: the compiler's word where the model has none, and on where it refuses.

What is undecided is asked about, and so are the smallest refused tiles of each region:
a tile that is at least as large in every parameter as one that the compiler refused is
refused too. Where the compiler disagrees, the next smallest are asked, and so on. As a
hold-out, the feasible tiles that nothing larger follows are asked until one agrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ascend_autotune.analysis.assessing import Assessment
from ascend_autotune.analysis.verdict import (
    FEASIBLE,
    INFEASIBLE,
    STATUSES,
    UNKNOWN,
    Reason,
    ReasonCode,
)

if TYPE_CHECKING:
    from ascend_autotune.analysis.parametric.sym import Mask, Vector

UNDECIDED, SMALLEST, HOLD_OUT = "undecided", "smallest infeasible", "hold-out"

Ask = Callable[[Sequence[int]], Sequence[Assessment]]
"""The compiler's word on the tiles at some positions."""


@dataclass(frozen=True)
class Region:
    """Tiles of one program that the compiler can be asked about: a row of sizes for each."""

    positions: Vector
    sizes: np.ndarray


@dataclass
class Settled:
    """What the compiler said, by position, and why it was asked."""

    asked: dict[int, Assessment] = field(default_factory=dict)
    why: Counter[str] = field(default_factory=Counter)
    refused: list[tuple[Region, Vector]] = field(default_factory=list)

    def refusal_below(self, position: int) -> int | None:
        """A tile that the compiler refused and that `position` is at least as large as."""
        for region, rows in self.refused:
            for mine in np.flatnonzero(region.positions == position):
                below = (region.sizes[rows] <= region.sizes[mine]).all(axis=1)
                if below.any():
                    return int(region.positions[rows[np.argmax(below)]])
        return None


def settle(status: Vector, regions: Sequence[Region], ask: Ask) -> Settled:
    """Settle every tile of the regions; `status` is changed to what was found."""
    settled = Settled()
    for region in regions:
        _Region(status, region, ask, settled).settle()
    return settled


class _Region:
    def __init__(self, status: Vector, region: Region, ask: Ask, settled: Settled) -> None:
        self.status, self.region, self.ask, self.settled = status, region, ask, settled
        self.open: Mask = np.ones(len(region.positions), dtype=bool)
        self.refused: list[int] = []

    def settle(self) -> None:
        self._put(UNDECIDED, self._where(UNKNOWN))
        self._hold_out()
        while len(rows := self._where(INFEASIBLE)):
            self._put(SMALLEST, rows[smallest(self.region.sizes[rows])])
        if self.refused:
            self.settled.refused.append((self.region, np.array(self.refused, dtype=np.int64)))

    def _where(self, wanted: int) -> Vector:
        """Rows of this status that no word of the compiler settles yet."""
        rows: Vector = np.flatnonzero(self.open & (self.status[self.region.positions] == wanted))
        return rows

    def _put(self, why: str, rows: Vector) -> None:
        if not len(rows):
            return
        positions = [int(position) for position in self.region.positions[rows]]
        self.settled.why[why] += len(rows)
        self.open[rows] = False
        for row, position, found in zip(rows, positions, self.ask(positions), strict=True):
            self.settled.asked[position] = found
            self.status[position] = STATUSES.index(found.status)
            if found.status == "infeasible":
                self.refused.append(int(row))
                above = (self.region.sizes >= self.region.sizes[row]).all(axis=1)
                self.open &= ~(above & (self.status[self.region.positions] == INFEASIBLE))

    def _hold_out(self) -> None:
        """Ask about the largest feasible tile; while that is wrong, about the next ones."""
        while len(rows := self._where(FEASIBLE)):
            volume = np.prod(self.region.sizes[rows].astype(float), axis=1)
            largest = rows[np.argmax(volume) :][:1]
            self._put(HOLD_OUT, largest)
            if self.status[self.region.positions[largest[0]]] == FEASIBLE:
                break


def smallest(sizes: np.ndarray) -> Vector:
    """Rows above no other row: a tile of the lowest volume is one, what is above it none."""
    found: list[int] = []
    rest = np.argsort(np.prod(sizes.astype(float), axis=1), kind="stable")
    while len(rest):
        found.append(int(rest[0]))
        rest = rest[~(sizes[rest] >= sizes[rest[0]]).all(axis=1)]
    return np.array(found, dtype=np.int64)


def through(found: Assessment, smaller: str) -> Assessment:
    """A refusal that follows from a smaller tile's: the compiler's own word at one remove."""
    note = f"the compiler refuses {smaller}, which is smaller"
    reasons = tuple(replace(r, text=f"{r.text} ({note})") for r in found.reasons[:1])
    reasons = reasons or (Reason(ReasonCode.OVERFLOW, None, None, None, note),)
    return replace(found, status="infeasible", reasons=(*reasons, *found.reasons[1:]), fallback=())

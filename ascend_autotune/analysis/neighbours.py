"""The nearest tiles that fit, one parameter changed at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ascend_autotune.analysis.assessing import Assessment
from ascend_autotune.analysis.verdict import Reason

_STEPS = 12
"""Doublings or halvings looked at: from 16 to 65,536, or back."""


@dataclass(frozen=True)
class Neighbour:
    """How far one parameter can go. All of the values were looked at, none is a guess.

    `fits` is the largest value that fits, `open` the largest that is not decided,
    `refused` the smallest that cannot run, with its `reason`; each None where none was met.
    """

    parameter: str
    value: int
    fits: int | None
    open: int | None
    refused: int | None
    reason: Reason | None

    def to_json(self) -> dict[str, object]:
        return {
            "parameter": self.parameter,
            "value": self.value,
            "fits": self.fits,
            "open": self.open,
            "refused": self.refused,
            "reason": self.reason and self.reason.to_json(),
        }


def neighbours(
    tile: Mapping[str, object], current: Assessment, assess: Callable[[str, int], Assessment]
) -> tuple[Neighbour, ...]:
    """Double each parameter until it is refused; where the tile itself is, halve until not."""
    found = []
    for name, value in tile.items():
        if type(value) is int and value > 0:
            found.append(_walk(name, value, current, assess))
    return tuple(found)


def _walk(
    name: str, value: int, current: Assessment, assess: Callable[[str, int], Assessment]
) -> Neighbour:
    best: dict[str, int | None] = {"feasible": None, "unknown": None, "infeasible": None}
    best[current.status] = value
    reason = current.reasons[0] if current.status == "infeasible" and current.reasons else None
    down = current.status == "infeasible"
    step = value
    for _ in range(_STEPS):
        if down and step == 1:
            break
        step = step // 2 if down else step * 2
        seen = assess(name, step)
        best[seen.status] = step if down else max(step, best[seen.status] or 0)
        if seen.status == "infeasible":
            reason = seen.reasons[0] if seen.reasons else None
        if (seen.status != "infeasible") == down:
            break
    return Neighbour(name, value, best["feasible"], best["unknown"], best["infeasible"], reason)

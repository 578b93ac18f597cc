"""Verdicts: what would become of a candidate, and why.

Contract and words: design.md, "Contracts that callers rely on".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from ascend_autotune.analysis.ir import Location

Status = Literal["feasible", "infeasible", "unknown"]
STATUSES: tuple[Status, ...] = ("feasible", "infeasible", "unknown")
FEASIBLE, INFEASIBLE, UNKNOWN = range(len(STATUSES))
"""Statuses as numbers: their places in `STATUSES`."""
SCHEMA_VERSION = 1
UNBOUNDED = 2**63 - 1
"""An upper bound in bytes where none is known; None in JSON."""


class ReasonCode(str, Enum):
    """Why a candidate got its verdict. The value is what JSON carries.

    Codes of an `infeasible` verdict say who would refuse; `undecided`, `unreadable`
    and `judge_failed` belong to `unknown` ones; `front_end` belongs to either, by
    whether the front end that spoke is the Ascend build's.
    """

    NUMEL = "numel"
    """A tensor has more elements than Triton's front end allows (1,048,576)."""
    ARANGE = "arange"
    """tl.arange over an empty range, or over one whose end does not fit in 32 bits."""
    OVERFLOW = "overflow"
    """The compiler's last attempt needs more of one memory than the chip has."""
    GRID = "grid"
    """The grid has more blocks than one launch takes (65,535)."""
    FRONT_END = "front_end"
    """Triton's front end does not compile the kernel for this candidate."""
    REFUSED = "refused"
    """The Ascend compiler refuses it for another reason than memory."""
    UNDECIDED = "undecided"
    """The capacity lies between the lower and the upper bound of the need."""
    UNREADABLE = "unreadable"
    """The program could not be analysed, so nothing is claimed about it."""
    JUDGE_FAILED = "judge_failed"
    """The compiler crashed or ran out of time; this says nothing about the candidate."""

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, form: str) -> str:
        return format(str(self.value), form)


@dataclass(frozen=True)
class Reason:
    """One reason. Bytes are of one core; None where the reason is not about memory.

    `required_bytes` is the need of the compiler's last attempt, as it would print it;
    where the need is an interval, its lower bound for `overflow` and its upper bound
    for `undecided`.
    """

    code: ReasonCode
    memory: str | None
    required_bytes: int | None
    available_bytes: int | None
    text: str
    location: Location | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "code": self.code.value,
            "memory": self.memory,
            "required_bytes": self.required_bytes,
            "available_bytes": self.available_bytes,
            "text": self.text,
            "location": location_json(self.location),
        }


@dataclass(frozen=True)
class Verdict:
    """What would become of one candidate.

    `footprint` is {memory: (low, high)} in bytes, one core, as asked; empty where no
    program could be traced; a high of `UNBOUNDED` is not known. `fallback` names the
    compiler flags that the compiler would switch off to make it fit. `same_as` is the
    earlier candidate that compiles to the same program, or None.
    """

    candidate: Mapping[str, object]
    status: Status
    reasons: tuple[Reason, ...] = ()
    footprint: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    fallback: tuple[str, ...] = ()
    same_as: Mapping[str, object] | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "candidate": dict(self.candidate),
            "status": self.status,
            "reasons": [reason.to_json() for reason in self.reasons],
            "footprint": bounds_json(self.footprint),
            "fallback": list(self.fallback),
            "same_as": None if self.same_as is None else dict(self.same_as),
        }


def bounds_json(bounds: Mapping[str, tuple[int, int]]) -> dict[str, list[int | None]]:
    """[low, high] in bytes; the high is None where no upper bound is known."""
    return {m: [low, high if high < UNBOUNDED else None] for m, (low, high) in bounds.items()}


def location_json(location: Location | None) -> dict[str, object] | None:
    if location is None or not location.line:
        return None
    return {"file": location.file, "line": location.line}

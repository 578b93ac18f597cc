"""What the judge answers, as values that go to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

from ascend_autotune.analysis.ir import UNKNOWN, Location

Status = Literal["fits", "fits_after_fallback", "overflow", "refused", "crash", "timeout", "failed"]
# What is the program's own property; the rest may go away on another day or machine.
LASTING: frozenset[Status] = frozenset({"fits", "fits_after_fallback", "overflow", "refused"})


class Overflow(NamedTuple):
    """One memory that the compiler's last attempt could not satisfy, in bytes."""

    memory: str
    required_bytes: int
    available_bytes: int


@dataclass(frozen=True, slots=True)
class JudgedBuffer:
    """One buffer of the compiler's plan: `bytes` is one copy, `offsets` one byte offset a copy.

    `first` and `last` are operation numbers of the compiler's own, both inclusive; they compare
    within one `core` ("aiv" vector, "aic" cube) only. `type` is the shape and element type,
    "32x64xf32"; "1024xi1/1024xf32" where values were merged in place. `location` is that of the
    operation that fills it, where the compiler kept it.
    """

    memory: str
    bytes: int
    offsets: tuple[int, ...]
    first: int
    last: int
    temporary: bool
    location: Location
    type: str
    core: str

    @property
    def copies(self) -> int:
        """How often the buffer is laid out: more than once when multi-buffered."""
        return len(self.offsets)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The compiler's word on one program.

    `fits` as asked, or `fits_after_fallback` with the flags that it switched off by itself in
    `fallback`; `overflow` with the figures of its last attempt; `refused` with its own sentence in
    `message`. `crash` (twice), `timeout` and `failed` (the machine's fault: no disk, no memory)
    are no verdict. `mode` is "aiv", "aic" or "mix", "" where the adapter did not get that far.
    `dropped` names options of the request that this compiler does not have. `seconds` is the time
    of the compile itself, also when `cached`.
    """

    status: Status
    message: str = ""
    fallback: tuple[str, ...] = ()
    overflows: tuple[Overflow, ...] = ()
    mode: str = ""
    buffers: tuple[JudgedBuffer, ...] = ()
    dropped: tuple[str, ...] = ()
    seconds: float = 0.0
    cached: bool = False

    @property
    def fits(self) -> bool | None:
        """Whether the program compiles; None where the compiler gave no verdict."""
        if self.status not in LASTING:
            return None
        return self.status in ("fits", "fits_after_fallback")


def to_json(outcome: Outcome) -> dict[str, Any]:
    """Plain values; a location is its line of the compiled text."""
    value = asdict(outcome)
    del value["cached"]
    for buffer in value["buffers"]:
        buffer["location"] = buffer["location"]["line"]
    return value


def from_json(value: Mapping[str, Any]) -> Outcome:
    """The inverse of `to_json`. Raises KeyError, TypeError or ValueError on anything else."""
    if value["status"] not in LASTING:
        raise ValueError(f"no verdict: {value['status']!r}")
    buffers = tuple(
        JudgedBuffer(
            **{
                **buffer,
                "offsets": tuple(buffer["offsets"]),
                "location": text_line(int(buffer["location"])),
            }
        )
        for buffer in value["buffers"]
    )
    return Outcome(
        **{
            **value,
            "buffers": buffers,
            "fallback": tuple(value["fallback"]),
            "dropped": tuple(value["dropped"]),
            "overflows": tuple(Overflow(*overflow) for overflow in value["overflows"]),
        }
    )


def text_line(line: int) -> Location:
    """A line of the text that the compiler got; `locate` turns it into the kernel's own."""
    return Location("", line) if line else UNKNOWN


def locate(outcome: Outcome, lines: Mapping[int, Location]) -> Outcome:
    """Replace lines of the compiled text by the source locations that stand there."""
    buffers = tuple(
        replace(buffer, location=lines.get(buffer.location.line, UNKNOWN))
        for buffer in outcome.buffers
    )
    return replace(outcome, buffers=buffers)

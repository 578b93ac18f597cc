"""Reads what the compiler says: its standard error, and its memory report.

Texts and report are ascendnpu-ir 1.2.0's (facts.md §1).
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_autotune.analysis.judge.outcome import (
    JudgedBuffer,
    Outcome,
    Overflow,
    text_line,
)
from ascend_autotune.analysis.judge.process import Finished

MEMORIES = {"ub": "ub", "cbuf": "l1", "cc": "l0c", "ca": "l0a", "cb": "l0b"}
NO_SPACE = "No space left on device"

_OVERFLOW = re.compile(r"(\w+) overflow, requires (\d+) bits while (\d+) bits available[^\n]*")
_SWITCHED_OFF = re.compile(r"\bset ([\w-]+) to false")
_LOCATION = re.compile(r"^(?:loc\((?:\"[^\"]*\"(?::\d+:\d+)?|[^()]*)\)|<unknown>:\d+|-:\d+:\d+): ")
_ERROR = re.compile(r"(?:error: |\[ERROR\] ?|LLVM ERROR: )(.*)")
# Said of every failure, after the reason.
_EMPTY_WORDS = re.compile(r"Failed to run|failed to run|Cannot find hivmc|External hivmc run fails")
_DEATH = re.compile(r"Assertion .*failed|LLVM ERROR|terminate called|what\(\):|UNREACHABLE")
_TYPE = re.compile(r"memref<([^,>]*)")
_LINE = re.compile(r":(\d+):\d+")

# The a5 binary compiles five times before it gives up on the missing code generator, and an
# attempt that overflowed uses one of them up: the first without code motion, the second without
# multi-buffering too. It prints no [NOTE] (measured on 1.2.0, both settings of the two flags).
_A5_ATTEMPTS = 5
_A5_STEPS = ("enable-code-motion", "enable-auto-multi-buffer")


def read_outcome(run: Finished, folder: Path, a5: bool) -> Outcome:
    """The verdict of a compile that neither crashed nor ran out of time.

    `folder` holds its memory report. Raises ValueError where that was cut short.
    """
    text = run.stderr
    overflows = {MEMORIES.get(m[1], m[1]): m for m in _OVERFLOW.finditer(text)}
    notes = [line for line in text.splitlines() if "[NOTE]" in line]
    fallback = tuple(sorted({name for line in notes for name in _SWITCHED_OFF.findall(line)}))
    outcome = Outcome("refused", fallback=fallback, buffers=_buffers(folder))
    if run.code != 0 and overflows:
        # One attempt's figures at most stay per memory: those of the last.
        figures = tuple(
            Overflow(memory, int(m[2]) // 8, int(m[3]) // 8) for memory, m in overflows.items()
        )
        message = "; ".join(m[0] for m in overflows.values())
        return replace(outcome, status="overflow", message=message, overflows=figures)
    if run.code == 0 or _only_code_generation_is_missing(text, a5):
        fallback = fallback or _a5_fallback(text, a5)
        if not fallback:
            return replace(outcome, status="fits")
        message = notes[-1].partition("[NOTE]")[2].strip() if notes else ""
        return replace(outcome, status="fits_after_fallback", fallback=fallback, message=message)
    return replace(outcome, message=sentence(text))


def sentence(stderr: str) -> str:
    """The compiler's own last sentences about a failure, without source locations."""
    said: list[str] = []
    for line in stderr.splitlines():
        match = _ERROR.search(line)
        if match and match[1].strip() and not _EMPTY_WORDS.search(match[1]):
            said.append(_LOCATION.sub("", match[1].strip()))
    if not said:
        lines = [line.strip() for line in stderr.splitlines() if line.strip()]
        said = [line for line in lines if not _EMPTY_WORDS.search(line)][-1:] or lines[-1:]
    return "; ".join(dict.fromkeys(said[-3:])) or "no reason given"


def last_words(run: Finished) -> str:
    """What a binary said when it died: an assertion, else the signal or exit code."""
    for line in run.stderr.splitlines():
        if _DEATH.search(line):
            return line.strip()
    return f"killed by signal {-run.code}" if run.code < 0 else f"died with exit code {run.code}"


def _only_code_generation_is_missing(text: str, a5: bool) -> bool:
    # Where hivmc is there and fails, the kernel is refused after all.
    if a5:
        return "Cannot find hivmc-a5" in text
    return "External hivmc run fails" in text and "Cannot find hivmc" in text


def _a5_fallback(text: str, a5: bool) -> tuple[str, ...]:
    if not a5:
        return ()
    overflowed = _A5_ATTEMPTS - text.count("Cannot find hivmc-a5")
    return tuple(sorted(_A5_STEPS[: max(0, overflowed)]))


def _buffers(folder: Path) -> tuple[JudgedBuffer, ...]:
    """The report's buffers. Entries that share core, offsets and lifetime are one buffer: the
    report has one for each value that was merged in place, and repeats some."""
    found: dict[tuple[object, ...], JudgedBuffer] = {}
    for core in ("aic", "aiv"):
        file = folder / f"memory_info_{core}.json"
        if not file.exists():
            continue
        for record in json.loads(file.read_text(encoding="utf-8"))["Record"]:
            memory = MEMORIES.get(record["scope"], record["scope"])
            for entry in record["memory_info_array"]:
                buffer = _buffer(entry, memory, core)
                place = (core, memory, buffer.offsets, buffer.first, buffer.last)
                known = found.get(place)
                found[place] = buffer if known is None else _merged(known, buffer)
    return tuple(found.values())


def _merged(one: JudgedBuffer, other: JudgedBuffer) -> JudgedBuffer:
    types = dict.fromkeys([*one.type.split("/"), other.type])
    return replace(
        one,
        bytes=max(one.bytes, other.bytes),
        temporary=one.temporary and other.temporary,
        location=one.location if one.location.line else other.location,
        type="/".join(types),
    )


def _buffer(entry: dict[str, Any], memory: str, core: str) -> JudgedBuffer:
    offset, life = entry["offset"], entry["life_time_in_ir"]
    shape = _TYPE.search(entry["buffer"])
    line = _LINE.search(entry["source_location"])
    return JudgedBuffer(
        memory=memory,
        bytes=(entry["extent"] + 7) // 8,
        offsets=tuple(offset) if isinstance(offset, list) else (offset,),
        first=min(life),
        last=max(life),
        temporary=bool(entry["is_tmpbuf"]),
        location=text_line(int(line[1]) if line else 0),
        type=shape[1] if shape else "",
        core=core,
    )

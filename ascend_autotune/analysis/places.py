"""Where something stands in the source, as a report names it."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ascend_autotune.analysis.ir import Location
from ascend_autotune.analysis.text import short_path

_LINES = 6


def places(lines: Iterable[tuple[str, int]], home: str) -> str:
    """Lines of the kernel's own file as `lines 3, 5`, others by file; the first few of them."""
    own: list[str] = []
    other: list[str] = []
    for file, line in dict.fromkeys(lines):
        if not line:
            continue
        if file == home:
            own.append(str(line))
        else:
            other.append(f"{short_path(file, 32)}:{line}")
    parts = []
    if own:
        more = f" and {len(own) - _LINES} more" if len(own) > _LINES else ""
        parts.append(f"line{'s' if len(own) > 1 else ''} {', '.join(own[:_LINES])}{more}")
    if other:
        more = f" and {len(other) - 2} more" if len(other) > 2 else ""
        parts.append(", ".join(other[:2]) + more)
    return ", ".join(parts)


def at_place(location: Location | None) -> str:
    """` (at file:line)`; "" where that is not known."""
    if location is None or not location.line:
        return ""
    return f" (at {place(location.file, location.line, 40)})"


def place(file: str, line: int, columns: int) -> str:
    """`file:line`, from the working directory where it lies below it, cut from the left."""
    shown = os.path.relpath(file) if _below(file) else file
    return short_path(f"{shown}:{line}" if line else shown, max(columns, 16))


def _below(file: str) -> bool:
    try:
        return os.path.commonpath([os.getcwd(), os.path.abspath(file)]) == os.getcwd()
    except (ValueError, OSError):
        return False

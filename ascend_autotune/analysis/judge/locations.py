"""TTIR text without locations, and where its lines come from.

The compiler gets the bare text, so that MLIR's parser gives each operation its own line as its
location. The memory report then names lines of a text that is the same wherever the kernel's
source lies, which the cache needs; `Bare.lines` leads from there back to the source.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ascend_autotune.analysis.ir import Location
from ascend_autotune.analysis.reader import location_reader

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![\w.$#])loc\(')
_PAREN = re.compile(r'"(?:[^"\\]|\\.)*"|[()]')


@dataclass(frozen=True, slots=True)
class Bare:
    """`text` holds no location; `lines` maps its lines, from 1, to source locations."""

    text: str
    lines: Mapping[int, Location]


def strip_locations(ttir: str) -> Bare:
    """Split TTIR in custom form into the program and its locations."""
    read = location_reader(ttir)
    text: list[str] = []
    lines: dict[int, Location] = {}
    opened: list[int] = []  # first lines of the operations whose regions are open
    for line in ttir.splitlines():
        if line.startswith("#loc"):
            continue
        bare, location = _strip(line)
        text.append(bare)
        start = len(text)
        code = bare.strip()
        if code.startswith("}") and opened:
            start = opened.pop()
        if code.endswith("{"):
            opened.append(start)
        elif location is not None:
            # Of an operation with regions, the location stands behind the closing brace.
            lines[start] = read(location)
    return Bare("\n".join(text) + "\n", lines)


def _strip(line: str) -> tuple[str, str | None]:
    """The line without `loc(...)`, and the inside of the one that ends it."""
    kept, position, last = [], 0, None
    while match := _find(line, position):
        end = _closing(line, match)
        kept.append(line[position : match - len("loc(")].rstrip(" "))
        last = line[match:end]
        position = end + 1
    trailing = not line[position:].strip()
    kept.append(line[position:])
    return "".join(kept).rstrip(), last if trailing else None


def _find(line: str, position: int) -> int | None:
    """The index behind the next `loc(` outside strings."""
    for token in _TOKEN.finditer(line, position):
        if not token[0].startswith('"'):
            return token.end()
    return None


def _closing(line: str, start: int) -> int:
    depth = 1
    for token in _PAREN.finditer(line, start):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if not depth:
            return token.start()
    return len(line)

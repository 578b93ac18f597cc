"""Plain text that never passes 80 columns: wrapping, shortened paths, bars, figures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

WIDTH = 80
_BAR = 20


def width(text: str) -> int:
    """Columns that a terminal needs; East Asian wide characters take two."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def wrap(
    text: str, indent: str = "", hanging: str | None = None, columns: int = WIDTH
) -> list[str]:
    """`text` on as many lines as it takes, none for nothing; `hanging` indents all but the first.

    Spaces inside a line stay as they are: two of them separate parameters.
    """
    if not text.strip():
        return []
    following = indent if hanging is None else hanging
    lines: list[str] = []
    line, empty = indent, True
    for gap, word in _words(text):
        if not empty and width(line) + len(gap) + width(word) > columns:
            lines.append(line)
            line, empty = following, True
        while width(line) + (0 if empty else len(gap)) + width(word) > columns:
            # One word that is longer than a line, such as a mangled name: cut it.
            head = _head(word, columns - width(line))
            lines.append(line + head)
            word, line, empty = word[len(head) :], following, True
        line = line + word if empty else f"{line}{gap}{word}"
        empty = False
    lines.append(line)
    return lines


def _words(text: str) -> list[tuple[str, str]]:
    """Each word with the spaces before it, as they are on a line."""
    flat = re.sub(r"[\t\r\n\f\v]+", " ", text).strip()
    return re.findall(r"( *)([^ ]+)", flat)


def _head(word: str, columns: int) -> str:
    taken = ""
    for char in word:
        if width(taken + char) > columns:
            break
        taken += char
    return taken or word[0]


def short_path(path: str, columns: int) -> str:
    """A path cut from the left where it is too long: its end is what tells."""
    if width(path) <= columns:
        return path
    kept = path
    while kept and width(kept) > columns - 3:
        _, slash, rest = kept.partition("/")
        kept = rest if slash and rest else kept[1:]
    return "..." + ("/" if path[: -len(kept)].endswith("/") else "") + kept if kept else "..."


def fit(text: str, columns: int) -> str:
    """`text` cut at the right to `columns`."""
    if width(text) <= columns:
        return text
    return _head(text, columns - 3) + "..."


def bar(low: int, high: int, capacity: int) -> str:
    """`#` what is surely taken, `+` what may be, `.` what is free; `!` past the capacity."""
    if capacity <= 0:
        return "." * _BAR
    sure = min(_cells(low, capacity), _BAR)
    maybe = min(_cells(high, capacity), _BAR)
    cells = "#" * sure + "+" * (maybe - sure) + "." * (_BAR - maybe)
    return cells + ("!" if low > capacity else "?" if high > capacity else " ")


def _cells(part: int, whole: int) -> int:
    return -(-part * _BAR // whole)


def share(part: int, whole: int) -> str:
    """Per cent of the whole; something is never shown as nothing, nor 99.9% as full."""
    if whole <= 0:
        return "-"
    percent = part * 100 / whole
    if 0 < percent < 1:
        return "<1%"
    return f"{int(percent):,}%" if percent < 100 else f"{round(percent):,}%"


def table(
    rows: Iterable[Sequence[str]], indent: str = "  ", right: Iterable[int] = ()
) -> list[str]:
    """Rows in columns two apart; `right` names the columns of figures. Not wrapped."""
    listed = [list(row) for row in rows]
    if not listed:
        return []
    columns = max(map(len, listed))
    widths = [max(width(r[c]) if c < len(r) else 0 for r in listed) for c in range(columns)]
    aligned = set(right)
    lines = []
    for row in listed:
        cells = []
        for column, cell in enumerate(row):
            gap = " " * (widths[column] - width(cell))
            cells.append(gap + cell if column in aligned else cell + gap)
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines

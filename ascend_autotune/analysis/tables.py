"""The outcome of `prune` as plain text: a map or a list of candidates, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ascend_autotune.analysis.places import at_place
from ascend_autotune.analysis.text import WIDTH, table, width, wrap
from ascend_autotune.analysis.verdict import Reason, Verdict

if TYPE_CHECKING:
    from ascend_autotune.analysis.result import PruneResult

_LISTED = 16
"""Spaces up to this many candidates are listed one by one."""
_EXAMPLES = 2
_WORDS = {"feasible": "fits", "infeasible": "cannot run", "unknown": "not decided"}
_MARKS = {"feasible": "o", "infeasible": ".", "unknown": "?"}
_AFTER_FALLBACK = "~"


def render_pruning(result: PruneResult) -> str:
    """The whole outcome: counts, candidates, reasons, and what it took."""
    from ascend_autotune.analysis.report import target_text

    stats = result.stats
    lines = wrap(f"{result.kernel}: {len(result.verdicts):,} candidates", "", "  ")
    lines += wrap(f"target    {target_text(str(stats['target']), stats['target_source'])}", "  ")
    lines += ["", *(f"  {line}" if line else "" for line in overview(result, WIDTH - 2))]
    if not len(result.survivors):
        lines += ["", "  Nothing in this space can run."]
    lines += ["", *stats_lines(stats)]
    return "\n".join(lines)


def stats_lines(stats: Mapping[str, object]) -> list[str]:
    parts = [f"{stats['ttir_traces']} traces"]
    if stats.get("judge_calls"):
        parts.append(f"{stats['judge_calls']} questions to the compiler")
    if stats.get("merged"):
        parts.append(f"{stats['merged']} merged, being the same program as an earlier one")
    return wrap(f"{', '.join(parts)}, {float(str(stats['seconds'])):.2f} s", "  ", "    ")


def overview(result: PruneResult, columns: int = WIDTH - 2) -> list[str]:
    """Counts, then the candidates as suits their number, then the reasons with their counts."""
    counts = {
        "feasible": len(result.feasible),
        "unknown": len(result.unknown),
        "infeasible": len(result.infeasible),
    }
    lines = [", ".join(f"{count:,} {status}" for status, count in counts.items())]
    if len(result.verdicts) <= _LISTED:
        return [*lines, "", *_list(result, columns)]
    drawn = _map(result, columns)
    return [*lines, "", *drawn, *([""] if drawn else []), *_reasons(result, columns)]


def frontier(result: PruneResult) -> list[Verdict]:
    """Survivors that no other survivor is at least as large as in every tile parameter."""
    tiles = result.space.tiles
    kept: list[tuple[tuple[int, ...], Verdict]] = []
    for verdict in result.verdicts:
        if verdict.status == "infeasible" or verdict.same_as is not None:
            continue
        sizes = tuple(int(str(verdict.candidate[name])) for name in tiles)
        if any(_covers(other, sizes) for other, _ in kept):
            continue
        kept = [(other, v) for other, v in kept if not _covers(sizes, other)]
        kept.append((sizes, verdict))
    kept.sort(key=lambda pair: pair[0])
    return [verdict for _, verdict in kept]


def _covers(one: Sequence[int], other: Sequence[int]) -> bool:
    return all(a >= b for a, b in zip(one, other, strict=True))


def _list(result: PruneResult, columns: int) -> list[str]:
    """One candidate a line, numbered, so that a line can name the one it is merged with."""
    names = list(result.space.values)
    numbers: dict[tuple[object, ...], int] = {}
    rows = [["", *names]]
    fates = [""]
    for number, verdict in enumerate(result.verdicts, 1):
        values = tuple(verdict.candidate.values())
        numbers.setdefault(values, number)
        rows.append([str(number), *map(str, values)])
        fates.append(_fate(verdict, numbers))
    heads = table(rows, "", right=range(len(names) + 1))
    left = max(map(width, heads)) + 3
    lines = []
    for row, head, fate in zip(rows, heads, fates, strict=True):
        if left + 24 <= columns:
            beside = wrap(fate, " " * left, columns=columns)
            lines.append((head.ljust(left) + beside[0][left:] if beside else head).rstrip())
            lines += beside[1:]
        elif fate:  # too many or too long names for a table
            lines += wrap(
                f"{row[0]}  {_values(dict(zip(names, row[1:], strict=True)))}", "", "   ", columns
            )
            lines += wrap(fate, "   ", columns=columns)
    return lines


def _fate(verdict: Verdict, numbers: Mapping[tuple[object, ...], int]) -> str:
    text = _WORDS[verdict.status]
    if verdict.fallback:
        text += f" after a fallback ({', '.join(verdict.fallback)} off)"
    if verdict.same_as is not None:
        return f"{text}, the same program as {numbers[tuple(verdict.same_as.values())]}"
    if verdict.reasons:
        text += f": {_short(verdict.reasons[0])}"
        others = [r.memory or str(r.code) for r in verdict.reasons[1:]]
        text += f" (and {', '.join(others)})" if others else ""
    return text


def _short(reason: Reason) -> str:
    if reason.memory is None or reason.required_bytes is None or reason.available_bytes is None:
        return f"{reason.code}, {_said(reason)}"
    verb = "needs" if reason.code == "overflow" else "may need up to"
    return f"{reason.memory} {verb} {reason.required_bytes:,} of {reason.available_bytes:,} bytes"


def _said(reason: Reason) -> str:
    """Its text; of a program that does not compile, the line too."""
    return reason.text + (at_place(reason.location) if reason.code == "front_end" else "")


def _map(result: PruneResult, columns: int) -> list[str]:
    """A space of two parameters as a chart, where it is small enough to be one."""
    if len(result.space.values) != 2:
        return []
    (down, rows), (across, heads) = result.space.values.items()
    labels = [str(value) for value in rows]
    names = [str(value) for value in heads]
    left = max(map(width, [down, *labels]))
    cell = max(map(width, names))
    if left + (cell + 2) * len(names) > columns or len(rows) > 40:
        return []
    lines = [f"{' ' * left}  {across}"]
    lines.append(f"{down:<{left}}  " + "  ".join(name.rjust(cell) for name in names))
    used = set()
    verdicts = result.verdicts
    for i, label in enumerate(labels):
        marks = []
        for j in range(len(names)):
            verdict = verdicts[i * len(names) + j]
            mark = _AFTER_FALLBACK if verdict.fallback else _MARKS[verdict.status]
            used.add(mark)
            marks.append(mark.rjust(cell))
        lines.append(f"{label:>{left}}  " + "  ".join(marks))
    legend = {
        "o": "fits",
        _AFTER_FALLBACK: "fits after a fallback",
        "?": "not decided",
        ".": "cannot run",
    }
    lines += ["", "   ".join(f"{mark} {word}" for mark, word in legend.items() if mark in used)]
    return lines


def _reasons(result: PruneResult, columns: int) -> list[str]:
    """One entry per status, code and memory: how many, the figures, and examples."""
    groups: dict[tuple[str, str, str], list[tuple[Verdict, Reason | None]]] = {}
    for verdict in result.verdicts:
        # The first reason decides where a candidate is counted, so that counts add up.
        reason = verdict.reasons[0] if verdict.reasons else None
        word = _WORDS[verdict.status] + (" after a fallback" if verdict.fallback else "")
        memory = (reason.memory or "") if reason is not None else ""
        key = (word, str(reason.code) if reason is not None else "", memory)
        groups.setdefault(key, []).append((verdict, reason))
    order = {"feasible": 0, "unknown": 1, "infeasible": 2}
    ordered = sorted(groups.items(), key=lambda item: order[item[1][0][0].status])
    lines: list[str] = []
    for (word, code, memory), members in ordered:
        head = f"{len(members):>6,}  {word}" + (f": {code} {memory}".rstrip() if code else "")
        lines.append(head)
        lines += wrap(_figures(members), " " * 8, columns=columns)
        values = [_values(verdict.candidate) for verdict, _ in members]
        shown = values if len(values) <= _EXAMPLES else [values[0], "...", values[-1]]
        for value in shown:
            lines += wrap(value, " " * 8, " " * 10, columns)
    return lines


def _figures(members: Sequence[tuple[Verdict, Reason | None]]) -> str:
    reasons = [reason for _, reason in members if reason is not None]
    if not reasons:
        return ""
    needs = sorted(r.required_bytes for r in reasons if r.required_bytes is not None)
    if not needs or needs[0] == needs[-1]:
        same = len({reason.text for reason in reasons}) == 1
        return _said(reasons[0]) if same else f"such as: {_said(reasons[0])}"
    first = reasons[0]
    verb = "needs" if first.code == "overflow" else "may need up to"
    return (
        f"{first.memory} {verb} {needs[0]:,} to {needs[-1]:,} bytes, the chip has "
        f"{first.available_bytes or 0:,}"
    )


def _values(candidate: Mapping[str, object]) -> str:
    return "  ".join(f"{name}={value}" for name, value in candidate.items())

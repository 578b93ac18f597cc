"""Reports as plain text for people, never wider than 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ascend_autotune.analysis.places import at_place, place, places
from ascend_autotune.analysis.text import WIDTH, bar, fit, share, table, width, wrap
from ascend_autotune.analysis.verdict import UNBOUNDED
from ascend_autotune.analysis.words import operation_word, source_text

if TYPE_CHECKING:
    from ascend_autotune.analysis.classifier import Claim
    from ascend_autotune.analysis.explaining import Report
    from ascend_autotune.analysis.footprint import Buffer, Footprint
    from ascend_autotune.analysis.neighbours import Neighbour
    from ascend_autotune.analysis.verdict import Reason, Verdict

_MEMORIES = {
    "ub": "UB, the vector unit's buffer",
    "l1": "L1, the cube unit's operands",
    "l0a": "L0A, left operand",
    "l0b": "L0B, right operand",
    "l0c": "L0C, the cube unit's results",
}
_STATUS = {
    "feasible": "it fits",
    "infeasible": "it cannot run",
    "unknown": "not decided: only the compiler can tell",
}
_LEGEND = ("# taken", "+ may be taken", ". free", "? may be too much", "! too much")
_NO_PROGRAM = "Not known: the program could not be had, see the verdict above."
_BUFFERS = 8
_LINES = 6


def render_report(report: Report) -> str:
    """What kernel it is, what the tile takes, what binds, what would fit: in this order."""
    lines = [
        *_heading(report),
        "",
        *_what_kernel(report),
        "",
        *_what_it_takes(report),
        "",
        *_what_binds(report),
        "",
        *_what_would_fit(report),
        *_assumptions(report),
    ]
    return "\n".join(lines)


def _heading(report: Report) -> list[str]:
    request, verdict = report.request, report.verdict
    where = place(request.info.file, request.info.line, WIDTH - width(request.info.name) - 4)
    lines = wrap(f"{request.info.name}  ({where})", "", "  ")
    lines += wrap(f"tile      {_values(report.tile) or 'no parameter to search'}", "  ", " " * 12)
    source = " (assumed, see below)" if request.target_source == "assumed" else ""
    if request.target_source == "active device":
        source = " (the active device)"
    lines += wrap(f"target    {request.chip.name}{source}", "  ")
    status = _STATUS[verdict.status]
    if verdict.fallback:
        status += f", after the compiler switches off {', '.join(verdict.fallback)}"
    lines += wrap(f"verdict   {verdict.status}: {status}", "  ", " " * 12)
    for reason in verdict.reasons:
        lines += wrap(_reason_text(reason), " " * 12)
    return lines


def target_text(chip: str, source: object) -> str:
    explained = {
        "given": "as given",
        "active device": "the active device",
        "assumed": "assumed: none was given and no Ascend device is active",
    }
    return f"{chip} ({explained.get(str(source), source)})"


def _reason_text(reason: Reason) -> str:
    return f"{reason.code}: {reason.text}{at_place(reason.location)}"


def _what_kernel(report: Report) -> list[str]:
    lines = ["What kind of kernel is it?"]
    found = report.classification
    if found is None:
        return [*lines, f"  {_NO_PROGRAM}"]
    family = {
        "mixcv": "cube and vector cores work together",
        "vector": "vector cores only",
    }[found.family]
    lines += wrap(f"{found.kind}, family {found.family} ({family})", "  ")
    home = report.request.info.file
    for claim in found.claims:
        lines += _claim(claim, home)
    return lines


def _claim(claim: Claim, home: str) -> list[str]:
    shown = places([(e.file, e.line) for e in claim.evidence], home)
    return wrap(f"- {claim.text}{f': {shown}' if shown else ''}", "  ", "    ")


def _what_it_takes(report: Report) -> list[str]:
    lines = ["What does this tile take of each memory? (bytes, one core)"]
    footprint = report.footprint
    if footprint is None:
        return [*lines, f"  {_NO_PROGRAM}"]
    capacity = report.request.chip.capacity
    rows = []
    for memory, (low, high) in footprint.bounds.items():
        if high:
            rows.append(
                (
                    memory,
                    bar(low, high, capacity[memory]),
                    _interval(low, high),
                    f"of {capacity[memory]:,}",
                    _shares(low, high, capacity[memory]),
                )
            )
    lines += table(rows, right=(2, 4))
    drawn = "".join(row[1] for row in rows)
    lines += wrap("   ".join(t for t in _LEGEND if t[0] in drawn), "  ")
    unused = [memory for memory, (_, high) in footprint.bounds.items() if not high]
    if unused:
        lines += wrap(f"Not used: {', '.join(unused)}.", "  ")
    return [*lines, *_later_attempt(report, footprint)]


def _later_attempt(report: Report, footprint: Footprint) -> list[str]:
    """What it takes once the compiler has switched something off, where that makes it fit."""
    capacity = report.request.chip.capacity
    if report.verdict.status != "feasible":
        return []
    for switched_off, bounds in footprint.attempts:
        if all(high <= capacity[memory] for memory, (_, high) in bounds.items()):
            if not switched_off:
                return []
            taken = ", ".join(f"{m} {_interval(*pair)}" for m, pair in bounds.items() if pair[1])
            sure = "" if report.verdict.fallback else "This may be too much. If so, "
            flags = " and ".join(switched_off)
            return wrap(
                f"{sure}{'the' if sure else 'The'} compiler switches off {flags} by itself, and "
                f"then it fits: {taken}.",
                "  ",
            )
    return []


def _interval(low: int, high: int) -> str:
    if high >= UNBOUNDED:
        return f"{low:,} or more"
    return f"{low:,}" if low == high else f"{low:,}..{high:,}"


def _shares(low: int, high: int, capacity: int) -> str:
    if high >= UNBOUNDED:
        return f"{share(low, capacity)}.."
    first, last = share(low, capacity), share(high, capacity)
    return first if first == last else f"{first}..{last}"


def _what_binds(report: Report) -> list[str]:
    lines = ["Which buffers bind, and at which lines?"]
    footprint = report.footprint
    if footprint is None:
        return [*lines, f"  {_NO_PROGRAM}"]
    memories = binding(report.verdict, footprint, report.request.chip.capacity)
    if not memories:
        return [*lines, "  None: no memory is used."]
    for memory in memories:
        lines += wrap(f"{_MEMORIES.get(memory, memory)}: alive together at its peak", "  ")
        lines += _buffers(footprint.peak.get(memory, ()), report.request.info.file)
    return lines


def binding(verdict: Verdict, footprint: Footprint, capacity: Mapping[str, int]) -> list[str]:
    """The memories that decide: those the verdict names, else the fullest one at its peak."""
    named = [r.memory for r in verdict.reasons if r.memory in footprint.bounds]
    if named:
        return [m for m in dict.fromkeys(named) if m is not None]
    sizes = {
        memory: sum(buffer.bytes * buffer.copies for buffer in buffers)
        for memory, buffers in footprint.peak.items()
        if buffers
    }
    return [max(sizes, key=lambda m: sizes[m] / capacity[m])] if sizes else []


def _buffers(buffers: Sequence[Buffer], home: str) -> list[str]:
    if not buffers:
        return ["    (not known)"]
    grouped: dict[tuple[object, ...], list[Buffer]] = {}
    for buffer in buffers:
        key = (
            *(buffer.bytes, buffer.copies, buffer.type, buffer.op, buffer.temporary),
            *(buffer.location.file, buffer.location.line),
        )
        grouped.setdefault(key, []).append(buffer)
    ordered = sorted(grouped.values(), key=lambda g: -len(g) * g[0].bytes * g[0].copies)
    rows = []
    for group in ordered[:_BUFFERS]:
        first, copies = group[0], len(group) * group[0].copies
        size = f"{first.bytes:,}" if copies == 1 else f"{copies} x {first.bytes:,}"
        op = f"{operation_word(first.op)}{' (temporary)' if first.temporary else ''}"
        at = first.location
        where = places([(at.file, at.line)], home) or "no line"
        code = source_text(at.file, at.line)
        rows.append((size, fit(first.type, 18), fit(op, 22), where, code))
    lines = [fit(line, WIDTH) for line in table(rows, "    ", right=(0,))]
    rest = ordered[_BUFFERS:]
    if rest:
        total = sum(b.bytes * b.copies for group in rest for b in group)
        lines.append(f"    and {sum(map(len, rest))} smaller ones, {total:,} bytes in all")
    return lines


def _what_would_fit(report: Report) -> list[str]:
    lines = ["What would fit?"]
    if report.pruned is not None:
        from ascend_autotune.analysis.tables import frontier, overview

        lines += [f"  {line}" if line else "" for line in overview(report.pruned)]
        largest = frontier(report.pruned)
        if largest and report.pruned.space.tiles:
            lines += ["", "  Largest that can run, none larger in every parameter:"]
            for verdict in largest[:_LINES]:
                mark = "" if verdict.status == "feasible" else "  (not decided)"
                lines += wrap(f"{_values(verdict.candidate)}{mark}", "    ", "      ")
            if len(largest) > _LINES:
                lines.append(f"    and {len(largest) - _LINES} more")
        return lines
    for neighbour in report.nearest:
        lines += wrap(_neighbour(neighbour), "  ", "    ")
    if not report.nearest:
        lines += wrap(
            "No parameter to change was found; give a space, such as space={'BLOCK': [16, 32]}.",
            "  ",
        )
    return lines


def _neighbour(found: Neighbour) -> str:
    parts = []
    name = found.parameter
    if found.fits is not None:
        parts.append(f"{found.fits} fits")
    if found.open is not None:
        parts.append(f"{found.open} is not decided")
    if found.refused is not None:
        why = f" ({found.reason.text})" if found.reason is not None else ""
        if found.fits is None and found.open is None:
            tried = f"{name}: no value from {found.value} down to {found.refused}"
            if found.reason is not None and found.reason.code == "front_end":
                return f"{tried} compiles{why}"
            return f"{tried} fits: another parameter must become smaller{why}"
        parts.append(f"{found.refused} does not{why}")
    else:
        parts.append("nothing larger was tried")
    return f"{name}: {'; '.join(parts)}"


def _assumptions(report: Report) -> list[str]:
    request = report.request
    texts = [assumption.text for assumption in request.assumptions]
    if request.target_source == "assumed":
        texts.append(f"target: {request.chip.name} (no Ascend device is active)")
    if not texts:
        return []
    lines = ["", "Assumed, since it was not given (say otherwise, and the answer may change):"]
    for text in texts:
        lines += wrap(f"- {text}", "  ", "    ")
    return lines


def _values(candidate: object) -> str:
    assert hasattr(candidate, "items")
    return "  ".join(f"{name}={value}" for name, value in candidate.items())

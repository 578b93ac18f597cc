"""A search result in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ascend_autotune.analysis.text import wrap

if TYPE_CHECKING:
    from ascend_autotune.search.result import SearchResult, Trial

FASTEST = 8
REASONS = 6
LONGEST = 200
_FIGURES = re.compile(r"\[[^\]]*\]|\d[\d,.]*")
"""Figures, and the names of other configs."""


def text_of(result: SearchResult) -> str:
    """What was found, what was tried, and why the rest was not; 80 columns, no last newline."""
    where = f"{result.device.name} (modelled)" if result.device.modelled else result.device.name
    head = f"Search of {result.kernel} on {where}" + (f", key {result.key}" * bool(result.key))
    lines = wrap(head, "", "  ")
    if result.best is None:
        lines += _entry("no config", result.ended)
    else:
        took = f", {_ms(result.best_ms)}" if result.best_ms is not None else ""
        lines += _entry("best", f"{result.best}{took}")
        default = _of_stage(result.trials, "default")
        if default is not None and default.time_ms and result.best_ms:
            gain = default.time_ms / result.best_ms
            lines += _entry("default", f"{default.config}, {_ms(default.time_ms)} ({gain:.2f}x)")
    state = "" if result.complete else "incomplete: "
    lines += _entry("ended", f"{state}{result.ended}, after {result.seconds:.1f} s")
    lines += _entry("checked", _gate(result.gate))
    counts = Counter(trial.fate for trial in result.trials)
    lines += _entry("configs", ", ".join(f"{n:,} {fate}" for fate, n in counts.most_common()))
    timed = sorted(
        (t for t in result.trials if t.fate == "timed" and t.time_ms is not None),
        key=lambda t: t.time_ms or 0.0,
    )
    if timed:
        shown = timed[:FASTEST]
        lines.append(f"  fastest {len(shown)} of {len(timed)} timed:")
        fastest = shown[0].time_ms or 1.0
        for trial in shown:
            ratio = (trial.time_ms or 0.0) / fastest
            before = f"    {_ms(trial.time_ms):>10}  {ratio:5.2f}x  "
            lines += wrap(str(trial.config), before, " " * len(before))
    lines += _reasons(result.trials)
    for notice in result.notices:
        lines += wrap(f"note: {notice}", "  ", "    ")
    return "\n".join(lines)


def _entry(name: str, text: str) -> list[str]:
    return wrap(f"{name:<10}{text}", "  ", " " * 12)


def _reasons(trials: Sequence[Trial]) -> list[str]:
    """Why configs failed or were left out; causes that differ only in their figures as one."""
    lines = []
    for fate in ("failed", "rejected", "pruned"):
        alike: dict[str, list[Trial]] = {}
        for trial in trials:
            if trial.fate == fate:
                alike.setdefault(_FIGURES.sub("#", _first_line(trial)), []).append(trial)
        if alike:
            lines.append(f"  {fate}:")
        groups = sorted(alike.values(), key=len, reverse=True)
        for group in groups[:REASONS]:
            some = "such as " * (len(group) > 1) + str(group[0].config)
            reason = _first_line(group[0])[:LONGEST]
            lines += wrap(f"{some}: {reason}", f"  {len(group):>6,}  ", " " * 10)
        if len(groups) > REASONS:
            lines.append(f"          and {len(groups) - REASONS} other reasons")
    return lines


def _first_line(trial: Trial) -> str:
    return trial.reason.splitlines()[0] if trial.reason else "no reason"


def _of_stage(trials: Sequence[Trial], stage: str) -> Trial | None:
    return next((t for t in trials if t.stage == stage), None)


def _gate(gate: str) -> str:
    return "the result was not checked" if gate == "none" else f"the result against {gate}"


def _ms(value: float | None) -> str:
    if value is None:
        return "not timed"
    return f"{value * 1000:.3g} us" if value < 1 else f"{value:.4g} ms"

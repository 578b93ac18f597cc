"""A search result in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_autotune.search.result import SearchResult, Trial

FASTEST = 8
REASONS = 6


def text_of(result: SearchResult) -> str:
    """What was found, what was tried, and why the rest was not; lines without a newline."""
    where = f"{result.device.name} (modelled)" if result.device.modelled else result.device.name
    lines = [f"Search of {result.kernel} on {where}" + (f", key {result.key}" * bool(result.key))]
    if result.best is None:
        lines.append(f"  no config: {result.ended}")
    else:
        took = f", {_ms(result.best_ms)}" if result.best_ms is not None else ""
        lines.append(f"  best      {result.best}{took}")
        default = _of_stage(result.trials, "default")
        if default is not None and default.time_ms and result.best_ms:
            gain = default.time_ms / result.best_ms
            lines.append(f"  default   {default.config}, {_ms(default.time_ms)} ({gain:.2f}x)")
    state = "" if result.complete else "incomplete: "
    lines.append(f"  ended     {state}{result.ended}, after {result.seconds:.1f} s")
    lines.append(f"  checked   {_gate(result.gate)}")
    counts = Counter(trial.fate for trial in result.trials)
    lines.append("  configs   " + ", ".join(f"{n} {fate}" for fate, n in counts.most_common()))
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
            lines.append(f"    {_ms(trial.time_ms):>12}  {ratio:5.2f}x  {trial.config}")
    lines += _reasons(result.trials)
    lines += [f"  note: {notice}" for notice in result.notices]
    return "\n".join(lines)


def _reasons(trials: Sequence[Trial]) -> list[str]:
    lines = []
    for fate in ("failed", "rejected", "pruned"):
        of_fate = [t for t in trials if t.fate == fate]
        if not of_fate:
            continue
        reasons = Counter(t.reason.splitlines()[0] if t.reason else "no reason" for t in of_fate)
        lines.append(f"  {fate}:")
        for reason, count in reasons.most_common(REASONS):
            first = next(t for t in of_fate if t.reason.startswith(reason) or not t.reason)
            more = f" and {count - 1} more" if count > 1 else ""
            lines.append(f"    [{first.config}]{more}: {reason[:160]}")
        if len(reasons) > REASONS:
            lines.append(f"    and {len(reasons) - REASONS} other reasons")
    return lines


def _of_stage(trials: Sequence[Trial], stage: str) -> Trial | None:
    return next((t for t in trials if t.stage == stage), None)


def _gate(gate: str) -> str:
    return "the result was not checked" if gate == "none" else f"the result against {gate}"


def _ms(value: float | None) -> str:
    if value is None:
        return "not timed"
    return f"{value * 1000:.3g} us" if value < 1 else f"{value:.4g} ms"

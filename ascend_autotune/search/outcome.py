"""From the book of a search to its result."""

from __future__ import annotations

from collections.abc import Callable

from ascend_autotune.search.bench import Bench
from ascend_autotune.search.config import Config
from ascend_autotune.search.result import SearchResult, Trial
from ascend_autotune.search.spaces import ConfigSpace

LISTED = 20_000
"""A space of more configs than this is not listed config by config where nothing was tried."""


def outcome(
    bench: Bench,
    best: Config | None,
    ended: str,
    complete: bool,
    gate: Callable[[Config], None] | None,
    gated: bool,
) -> SearchResult:
    """The result of a search that is over."""
    problem, ledger = bench.problem, bench.ledger
    space = ConfigSpace(problem.candidates, problem.profiles)
    trials = list(ledger)
    if len(space) <= LISTED:
        trials += [
            Trial(c, "not tried")
            for c in map(space.__getitem__, range(len(space)))
            if c not in ledger
        ]
    fates = [trial.fate for trial in ledger]
    notices = []
    if best is None:
        ended = "no config could be run" if complete else ended
    elif gate is not None and not gated:
        notices.append("the best config's result was not checked: the search ended before")
    return SearchResult(
        kernel=problem.kernel,
        key=problem.key,
        device=bench.device.info,
        best=best,
        best_ms=ledger.time_of(best) if best is not None else None,
        trials=tuple(trials),
        complete=complete,
        ended=ended,
        seconds=bench.seconds,
        family=problem.family,
        gate=str(getattr(gate, "kind", "reference_fn")) if gated else "none",
        stats={
            "candidates": len(problem.candidates),
            "profiles": len(problem.profiles),
            "configs": len(space),
            "measured": ledger.measured,
            "timed": fates.count("timed"),
            "failed": fates.count("failed"),
            "pruned": fates.count("pruned"),
            "merged": fates.count("merged"),
            "rejected": fates.count("rejected"),
            "compile_s": sum(trial.compile_s for trial in ledger),
            "bench_s": sum(trial.bench_s for trial in ledger),
        },
        notices=tuple(notices),
    )

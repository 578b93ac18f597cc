"""What is said of a tuning: the search's result with what was pruned before it, what a search
without timings comes to, and why nothing can run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ascend_autotune.errors import NoConfigRuns
from ascend_autotune.hooks.candidates import LISTED as SPACE_LISTED
from ascend_autotune.hooks.candidates import Candidates
from ascend_autotune.hooks.decision import triton_config
from ascend_autotune.hooks.devices import info_for
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.search.config import Config
from ascend_autotune.search.result import SearchResult, Trial

LISTED = 24
"""So many reasons are listed where no config can run."""
NAMED = 4
"""Of configs that failed alike so many are named."""


def complete(result: SearchResult, found: Candidates) -> SearchResult:
    """The result with what was pruned before the search, and what had to be said."""
    if found.handwritten:  # its configs are no product of candidates and profiles
        tried = tuple(trial for trial in result.trials if trial.fate != "not tried")
        result = replace(result, trials=tried)
    seen = {trial.config for trial in result.trials}
    before = tuple(trial for trial in found.trials if trial.config not in seen)
    stats = {**result.stats, **found.stats}
    stats["pruned"] = int(str(result.stats.get("pruned", 0))) + sum(
        trial.fate == "pruned" for trial in before
    )
    stats["merged"] = int(str(result.stats.get("merged", 0))) + sum(
        trial.fate == "merged" for trial in before
    )
    return replace(
        result,
        trials=(*result.trials, *before),
        notices=(*found.notices, *result.notices),
        stats=stats,
    )


def without_timing(
    here: Situation, found: Candidates, key: tuple[object, ...], best: Config, why: str
) -> SearchResult:
    """The report where nothing was timed; `why` says how `best` was come by."""
    listed = found.configs if len(found.configs) <= SPACE_LISTED else ()
    return SearchResult(
        kernel=here.call.info.name,
        key=key,
        device=info_for(here.target),
        best=best,
        best_ms=None,
        trials=(*(Trial(config, "not tried") for config in listed), *found.trials),
        complete=True,
        ended=why,
        seconds=0.0,
        family=here.family,
        stats={"measured": 0, **found.stats},
        notices=found.notices,
    )


def stock_timings(found: Candidates, result: SearchResult) -> dict[Any, list[float]]:
    """Times as stock Triton keeps them: per triton.Config the median, low and high, in ms."""
    return {
        found.originals.get(trial.config)
        or triton_config(trial.config.candidate, trial.config.profile): [
            trial.time_ms,
            trial.low_ms if trial.low_ms is not None else trial.time_ms,
            trial.high_ms if trial.high_ms is not None else trial.time_ms,
        ]
        for trial in result.trials
        if trial.time_ms is not None
    }


def nothing_runs(here: Situation, trials: Sequence[Trial]) -> NoConfigRuns:
    """What was tried, and why each failed; configs that failed alike in one line."""
    name, shown = here.call.info.name, [trial for trial in trials if trial.reason]
    alike: dict[str, list[Trial]] = {}
    for trial in shown:
        alike.setdefault(" ".join(trial.reason.split()), []).append(trial)
    lines = [f"{name}: no config can run on {here.target.arch}; of {len(shown)} tried:"]
    for reason, group in list(alike.items())[:LISTED]:
        others = len(group) - NAMED
        form = "{}" if len(group) == 1 else "[{}]"
        named = ", ".join(form.format(trial.config) for trial in group[:NAMED])
        lines.append(f"  {named}{f' and {others} more' if others > 0 else ''}: {reason}")
    if len(alike) > LISTED:
        lines.append(f"  and {len(alike) - LISTED} other reasons")
    if not trials:
        lines = [f"{name}: the search is empty: constraints or prune_configs_by leave no config"]
    error = NoConfigRuns("\n".join(lines))
    error.search = SearchResult(
        kernel=name,
        key=(),
        device=info_for(here.target),
        best=None,
        best_ms=None,
        trials=tuple(trials),
        complete=True,
        ended="no config can run",
        seconds=0.0,
        family=here.family,
    )
    return error

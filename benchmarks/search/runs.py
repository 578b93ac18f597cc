"""One run of a tuner on a landscape, and what it had at each budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascend_autotune.search import Config
from ascend_autotune.search.replay import Landscape

BUDGETS: tuple[int | str, ...] = (16, 32, 64, "5%")


def configs_of(budget: int | str, space: int) -> int:
    """How many configs a budget allows in a space of so many."""
    wanted = max(16, space // 20) if budget == "5%" else int(budget)
    return min(wanted, space)


@dataclass(frozen=True)
class Run:
    """What a tuner tried (each config once), what it chose, and the simulated seconds."""

    tried: tuple[Config, ...]
    chosen: Config | None
    simulated_s: float

    def fraction(self, landscape: Landscape) -> float:
        """The exhaustive best time over the chosen config's true time; 0 where it has none."""
        row = landscape.by_config[self.chosen] if self.chosen is not None else None
        if row is None or row.time_ms is None:
            return 0.0
        return landscape.best_ms / row.time_ms


# (landscape, seed, configs) -> what was tried in order, repeats allowed
Order = Callable[[Landscape, int, int], Sequence[Config]]
# (landscape, seed, budgets) -> a run at each of them
Tuner = Callable[[Landscape, int, Sequence[int | str]], list[Run]]


def run_of(landscape: Landscape, tried: Sequence[Config], configs: int) -> Run:
    """A run that tries these in turn and keeps the fastest; a repeat costs nothing."""
    unique = tuple(dict.fromkeys(tried))[:configs]
    rows = [landscape.by_config[c] for c in unique]
    seconds = sum(row.compile_s + row.bench_s for row in rows)
    ran = [row for row in rows if row.time_ms is not None]
    best = min(ran, key=lambda row: row.time_ms or 0.0) if ran else None
    return Run(unique, best.config if best else None, seconds)


def cut(order: Order) -> Tuner:
    """A tuner that does not know its budget: one long run, looked at early and late."""

    def runs(landscape: Landscape, seed: int, budgets: Sequence[int | str]) -> list[Run]:
        counts = [configs_of(b, len(landscape.rows)) for b in budgets]
        tried = order(landscape, seed, max(counts))
        return [run_of(landscape, tried, count) for count in counts]

    return runs

"""The book of a search: every config that was met, and what became of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, Reading
from ascend_autotune.search.result import Stage, Trial


@dataclass
class Ledger:
    """Trials by config, in the order in which they were met, with every reading in ms."""

    trials: dict[Config, Trial] = field(default_factory=dict)
    readings: dict[Config, list[float]] = field(default_factory=dict)
    precise: dict[Config, list[float]] = field(default_factory=dict)

    def __contains__(self, config: Config) -> bool:
        return config in self.trials

    def timed(self, config: Config, stage: Stage, reading: Reading) -> None:
        self.readings.setdefault(config, []).append(reading.time_ms)
        old = self.trials.get(config)
        self.trials[config] = Trial(
            config,
            "timed",
            old.stage if old else stage,
            self.time_of(config),
            reading.low_ms,
            reading.high_ms,
            "stopped: clearly slower than the best" if reading.stopped else "",
            compile_s=reading.compile_s + (old.compile_s if old else 0.0),
            bench_s=reading.bench_s + (old.bench_s if old else 0.0),
        )

    def timed_precisely(self, config: Config, reading: Reading) -> None:
        self.precise.setdefault(config, []).append(reading.time_ms)
        old = self.trials[config]
        self.trials[config] = replace(
            old,
            time_ms=self.time_of(config),
            low_ms=reading.low_ms,
            high_ms=reading.high_ms,
            bench_s=old.bench_s + reading.bench_s,
        )

    def failed(self, config: Config, stage: Stage, failure: ConfigFailed) -> None:
        old = self.trials.get(config)
        self.trials[config] = Trial(
            config, "failed", old.stage if old else stage, reason=f"{failure.kind}: {failure}"
        )

    def pruned(self, config: Config, reason: str) -> None:
        self.trials[config] = Trial(config, "pruned", "prune", reason=reason)

    def merged(self, config: Config, becomes: Config) -> None:
        self.trials[config] = Trial(config, "merged", "prune", same_as=becomes)

    def rejected(self, config: Config, reason: str) -> None:
        self.trials[config] = replace(self.trials[config], fate="rejected", reason=reason)

    def time_of(self, config: Config) -> float:
        """The typical one of the precise readings, or of the others where there are none; in ms."""
        values = self.precise.get(config) or self.readings[config]
        return typical(values)

    def is_timed(self, config: Config) -> bool:
        return config in self.trials and self.trials[config].fate == "timed"

    def ranked(self) -> list[Config]:
        """The timed configs, the fastest first; among equals the one met first."""
        timed = [c for c, trial in self.trials.items() if trial.fate == "timed"]
        return sorted(timed, key=self.time_of)

    def best(self) -> Config | None:
        return next(iter(self.ranked()), None)

    @property
    def measured(self) -> int:
        """Configs that cost a compile or a timing, each once, failures included."""
        return sum(1 for trial in self.trials.values() if trial.fate in COSTLY)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials.values())


COSTLY = ("timed", "failed", "rejected")


OUTLIER = 1.3
"""A reading this many times the median of its config's was disturbed."""


def typical(values: list[float]) -> float:
    """The mean of readings without those that were disturbed; of two far apart, the faster.

    The mean of clean readings wanders 20% less than their median.
    """
    ordered = sorted(values)
    middle = ordered[(len(ordered) - 1) // 2]
    clean = [v for v in ordered if middle / OUTLIER <= v <= middle * OUTLIER]
    return math.fsum(clean) / len(clean)

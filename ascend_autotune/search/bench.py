"""One config after another on the device, within the limits: the part that costs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, Device, Reading
from ascend_autotune.search.ledger import Ledger
from ascend_autotune.search.lessons import Lessons
from ascend_autotune.search.problem import Checked, Problem
from ascend_autotune.search.progress import watcher_for
from ascend_autotune.search.result import Stage

logger = logging.getLogger("ascend_autotune")

SLOW = 3.0
"""A config this many times slower than the best need not be timed to the end."""
FINISH = 0.15
"""The part of the seconds that is kept for the finalists' precise timing."""


class OutOfBudget(Exception):
    """The seconds or the configs are spent; the message says which."""

    def __init__(self, message: str, *, early: bool) -> None:
        super().__init__(message)
        self.early = early


class Watcher(Protocol):
    """Who watches a search: told before each timing and after it."""

    def timing(self, stage: Stage, config: Config, ledger: Ledger) -> None: ...

    def done(self, ledger: Ledger) -> None: ...


@dataclass
class Bench:
    """The device with the book, the lessons and the limits of one search.

    Where nobody is given to watch, a line shows on stderr where that is a terminal.
    """

    problem: Problem
    device: Device
    configs: int
    budget_s: float | None
    lessons: Lessons
    watcher: Watcher | None = None
    ledger: Ledger = field(default_factory=Ledger)
    known: dict[Config, Checked] = field(default_factory=dict)
    start: float = 0.0

    def __post_init__(self) -> None:
        self.start = self.device.clock()
        if self.watcher is None:
            kernel, clock = self.problem.kernel, self.device.clock
            self.watcher = watcher_for(kernel, self.configs, self.budget_s, clock)

    @property
    def seconds(self) -> float:
        return self.device.clock() - self.start

    # -- before any compile --------------------------------------------------------------

    def check(self, config: Config) -> Checked:
        """What the problem knows of a config, asked once."""
        if config not in self.known:
            self.known[config] = self.problem.check(config)
        return self.known[config]

    def admit(self, config: Config) -> Config | None:
        """The config to measure in place of this one; None where there is nothing to measure.

        What is refused, merged or ruled out by an earlier failure goes into the book.
        """
        if config in self.ledger:
            return None
        checked = self.check(config)
        if checked.refused:
            self.ledger.pruned(config, checked.refused)
            return None
        target, seen = checked.becomes, {config}
        while target not in seen:  # a fallback may itself fall back
            seen.add(target)
            checked = self.check(target)
            if not checked.refused:
                target = checked.becomes
        if target != config:
            self.ledger.merged(config, target)
            if target in self.ledger:
                return None
            if checked.refused:
                self.ledger.pruned(target, checked.refused)
                return None
        reason = self.lessons.verdict(self.problem.program, target, checked.bytes)
        if reason:
            self.ledger.pruned(target, reason)
            return None
        return target

    # -- on the device ---------------------------------------------------------------------

    def measure(self, config: Config, stage: Stage) -> Reading | None:
        """Time a config that was admitted; None where it failed.

        Raises `OutOfBudget` before the device is touched. The first config is always measured.
        """
        first = self.ledger.measured == 0
        if not first and self.ledger.measured >= self.configs:
            raise OutOfBudget(f"the effort's {self.configs} configs are measured", early=False)
        explored = None if self.budget_s is None else self.budget_s * (1 - FINISH)
        if not first and explored is not None and self.seconds >= explored:
            raise OutOfBudget(f"the budget of {self.budget_s:g} s is spent", early=True)
        best = self.ledger.best()
        limit = SLOW * self.ledger.time_of(best) if best else None
        return self._timed(
            config, stage, lambda: self.device.time(config, limit_ms=limit), precise=False
        )

    def again(self, config: Config, stage: Stage) -> Reading | None:
        """Read a timed config once more: costs seconds, no config."""
        return self._timed(config, stage, lambda: self.device.time(config), precise=False)

    def precisely(self, config: Config) -> Reading | None:
        """Time a finalist for longer. Raises `OutOfBudget` when the seconds are spent."""
        if self.budget_s is not None and self.seconds >= self.budget_s:
            raise OutOfBudget(f"the budget of {self.budget_s:g} s is spent", early=True)
        return self._timed(
            config, "final", lambda: self.device.time(config, precise=True), precise=True
        )

    def ahead(self, configs: Sequence[Config]) -> None:
        """Let the device compile these while it times others, as far as they may come up."""
        room = self.configs - self.ledger.measured
        wanted = [c for c in configs if c not in self.ledger][: max(0, room)]
        if wanted:
            self.device.prepare(wanted)

    def _timed(
        self, config: Config, stage: Stage, time: Callable[[], Reading], *, precise: bool
    ) -> Reading | None:
        if self.watcher is not None:
            self.watcher.timing(stage, config, self.ledger)
        try:
            reading = time()
        except ConfigFailed as failure:
            logger.debug("%s [%s]: %s", self.problem.kernel, config, failure)
            self.ledger.failed(config, stage, failure)
            program = self.problem.program
            self.lessons.learn(program, config, failure, self.check(config).bytes)
            return None
        if precise:
            self.ledger.timed_precisely(config, reading)
        else:
            self.ledger.timed(config, stage, reading)
        return reading

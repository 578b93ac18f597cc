"""The search: a sane default, tiles under the neutral profile, profiles, then the finalists."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ascend_autotune.search.bench import Bench, OutOfBudget, Watcher
from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, Device, Reading
from ascend_autotune.search.effort import Effort, effort_named
from ascend_autotune.search.field import Choice, Field, profile_field, tile_field
from ascend_autotune.search.finals import race, standing
from ascend_autotune.search.lessons import Lessons
from ascend_autotune.search.outcome import outcome
from ascend_autotune.search.problem import Problem
from ascend_autotune.search.result import SearchResult, Stage

Gate = Callable[[Config], None]
AHEAD = 4
"""So many likely configs are compiled while one is timed."""
LOOKED_AT = 256
"""So many configs are looked at for one that can run before the model is asked again."""
PROMISING, DOUBTFUL = 1.1, 1.6
"""A config expected within the first factor of the best that reads the second factor slower than
expected is read again."""
CLOSE = 1.15
"""A config this many times slower than the best is no finalist."""
WARM = 12
"""So many configs are measured before the model's word that nothing is to be gained counts."""


def search(
    problem: Problem,
    device: Device,
    *,
    effort: Effort | str = "default",
    budget_s: float | None = None,
    seed: int = 0,
    gate: Gate | None = None,
    progress: Watcher | None = None,
    lessons: Lessons | None = None,
) -> SearchResult:
    """The best config of `problem` on `device`, with what became of every other.

    `effort` limits the configs that are measured, `budget_s` the seconds by `device.clock()`;
    at least one config is always measured. `gate` raises `ConfigFailed("wrong", ...)` for a
    finalist whose result differs. `lessons` carries failures from one search of a kernel to
    the next. `progress` watches; without one a line shows on stderr where that is a terminal.
    The same seed and the same readings give the same configs in the same order.

    Ctrl-C and a spent budget end the search with the best so far, `complete` False. A config
    that fails costs that config; where all fail, `best` is None.

    Raises `RequestError` for an effort that is not known.
    """
    chosen = effort_named(effort)

    def searched(known: Lessons) -> SearchResult:
        bench = Bench(problem, device, chosen.configs, budget_s, known, progress)
        return _Search(bench, chosen, seed, gate).run()

    inherited = lessons is not None and bool(lessons.overflows)
    result = searched(lessons if lessons is not None else Lessons())
    if inherited and result.best is None and result.complete:
        return searched(Lessons())  # what another key taught left nothing
    return result


@dataclass
class _Search:
    bench: Bench
    effort: Effort
    seed: int
    gate: Gate | None
    gated: bool = False
    ended: str = ""
    complete: bool = True
    best: Config | None = None

    def run(self) -> SearchResult:
        bench = self.bench
        try:
            try:
                self._explore()
            except OutOfBudget as spent:
                self.ended, self.complete = str(spent), not spent.early
            self._decide()
        except KeyboardInterrupt:
            self.ended, self.complete = "interrupted", False
            self.best = self._best_so_far()
        finally:
            if bench.watcher is not None:
                bench.watcher.done(bench.ledger)
        return outcome(bench, self.best, self.ended, self.complete, self.gate, self.gated)

    # -- exploring -------------------------------------------------------------------------

    def _explore(self) -> None:
        problem = self.bench.problem
        for config in self._first():
            self._try(config, "default")
        tiles = tile_field(problem, self.bench.device.info, self.seed)
        rest = len(problem.profiles) > 1
        limit = self.effort.configs - (problem.last_trials is not None)
        share = 1 - self.effort.profile_share if rest else 1.0
        self._walk(tiles, "tiles", max(1, round(limit * share)))
        if rest:
            neutral = problem.profiles[0]
            best = [c for c in self.bench.ledger.ranked() if dict(c.profile) == dict(neutral)][
                : problem.shape_final_top_k
            ]
            if best:
                self._walk(profile_field(problem, best, self.seed), "profiles", limit)

    def _first(self) -> Iterator[Config]:
        problem = self.bench.problem
        if problem.default is not None:
            yield problem.default
        yield from problem.starts

    def _try(self, config: Config, stage: Stage) -> None:
        target = self.bench.admit(config)
        if target is not None:
            self.bench.measure(target, stage)

    def _walk(self, field: Field, stage: Stage, until: int) -> None:
        """Measure configs of `field` until so many are measured in all, or nothing is gained."""
        bench = self.bench
        while bench.ledger.measured < until:
            choice = field.choice(bench.ledger, LOOKED_AT)
            if not choice.configs:
                what = "tile" if stage == "tiles" else "profile of the best tiles"
                self.ended = f"every {what} was looked at"
                return
            if self._warm and choice.gain < self.effort.gain:  # never, where that is 0
                self.ended = f"the model expects less than {self.effort.gain:.1%} to gain"
                return
            admitted = filter(None, map(bench.admit, choice.configs))
            target = next(admitted, None)
            if target is None:
                continue
            bench.ahead([target, *choice.configs[1:AHEAD]])
            reading = bench.measure(target, stage)
            self.ended = f"{bench.ledger.measured} configs are measured, what the effort allows"
            if reading is not None and target == choice.configs[0] and self._warm:
                self._doubt(target, reading, choice, stage)

    def _doubt(self, target: Config, reading: Reading, choice: Choice, stage: Stage) -> None:
        """Read again what should be among the best and looks far off: it may be disturbed."""
        expected = math.exp(choice.expected)
        best = self.bench.ledger.best()
        if best is None or best == target:
            return
        promising = expected < PROMISING * self.bench.ledger.time_of(best)
        if promising and reading.time_ms > DOUBTFUL * expected:
            self.bench.again(target, stage)

    @property
    def _warm(self) -> bool:
        return self.bench.ledger.measured >= min(WARM, self.effort.configs // 2)

    # -- deciding --------------------------------------------------------------------------

    def _decide(self) -> None:
        """The fastest finalist by precise times whose result the gate passes."""
        bench = self.bench
        pending = bench.ledger.ranked()
        raced: list[Config] = []
        default = bench.problem.default
        while pending:
            limit = CLOSE * bench.ledger.time_of(pending[0])
            near = [c for c in pending if bench.ledger.time_of(c) <= limit]
            wave = near[: self.effort.finalists]
            pending = [c for c in pending if c not in wave]
            if default is not None and default in pending:
                pending.remove(default)
                wave.append(default)
            raced += wave
            race(bench, wave, self.effort.readings)
            self.best = self._passed(standing(bench, raced))
            # Where those near the first are wrong, others may still be faster than the default.
            if self.best is not None and not self._faster(pending, self.best):
                break
        if self.best is None:  # the seconds ended before any precise timing
            self.best = self._passed(bench.ledger.ranked())
        if self.best is not None and bench.problem.last_trials is not None:
            self._last(self.best)

    def _faster(self, pending: list[Config], best: Config) -> bool:
        ledger = self.bench.ledger
        return bool(pending) and ledger.time_of(pending[0]) < ledger.time_of(best)

    def _last(self, best: Config) -> None:
        bench = self.bench
        assert bench.problem.last_trials is not None
        added = []
        for config in bench.problem.last_trials(best):
            target = bench.admit(config)
            if target is None:
                continue
            try:
                if bench.measure(target, "final") is not None:
                    added.append(target)
            except OutOfBudget:
                break
        if added:
            race(bench, added, self.effort.readings)
            passed = self._passed(standing(bench, [*added, best]))
            self.best = passed or best

    def _passed(self, ordered: list[Config]) -> Config | None:
        for config in ordered:
            if self.gate is None:
                return config
            try:
                self.gate(config)
            except ConfigFailed as failure:
                self.bench.ledger.rejected(config, str(failure))
                continue
            self.gated = True
            return config
        return None

    def _best_so_far(self) -> Config | None:
        ledger = self.bench.ledger
        if self.best is not None:
            return self.best
        precise = standing(self.bench, list(ledger.trials))
        return precise[0] if precise else ledger.best()

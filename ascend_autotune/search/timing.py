"""How long a launch takes, by a device's own clock: medians that can be trusted.

Each repetition stands between two events, with the L2 cache cleared before the first of them, as
`triton.testing.do_bench` has it. Beyond that: repetitions are looked at in rounds, so that a drift
is seen and timed again; the queue is kept longer than a launch takes the host; a wait has an end.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ascend_autotune.search.device import ConfigFailed

logger = logging.getLogger("ascend_autotune")

ROUNDS = 4
"""The repetitions are taken in so many rounds, whose medians are compared."""
MORE_ROUNDS = 4
"""So many rounds more, at most, where the last ones do not agree."""
DRIFT = 0.04
"""Medians of rounds that lie further apart than this, relatively, and than their noise: a drift.

Less is not timed again: a chip at its power limit wanders by 2 or 3% within a tenth of a second
(H200, a matmul of 4096), and to keep the later part of some timings and all of others would
spread them."""
CLEARLY = 1.25
"""A first look this many times above the limit ends the timing."""
LOOKS = 5
"""So many repetitions are a first look."""
HOST_AHEAD = 2.0
"""The queue before a launch is to last so many times what the host takes to make it."""
MOST_BATCHED = 16
POLL_S = 0.0005


class Event(Protocol):
    """A mark in the device's queue, as torch.cuda.Event and torch.npu.Event are."""

    def record(self) -> None: ...

    def query(self) -> bool: ...

    def elapsed_time(self, end: Event, /) -> float: ...


class Clock(Protocol):
    """What timing asks of a device. `clear_cache` fills the L2 cache with other data."""

    def event(self) -> Event: ...

    def synchronize(self) -> None: ...

    def clear_cache(self) -> None: ...


@dataclass(frozen=True)
class Plan:
    """Milliseconds of device time to warm up and to repeat for, and repetitions at least and most.

    `wait_s`: a queue that takes longer than this is a hang. `batched_ms`: a launch shorter than
    this is too short for two events: several stand between them, the cache cleared before the
    first, unless something has to come before each (`before`).
    """

    warmup_ms: float = 5.0
    active_ms: float = 20.0
    least: int = 8
    most: int = 2000
    wait_s: float = 60.0
    batched_ms: float = 0.0

    def repetitions(self, each_ms: float, budget_ms: float, least: int) -> int:
        return min(self.most, max(least, math.ceil(budget_ms / max(each_ms, 1e-4))))


COARSE = Plan()
"""For exploring: the earlier tuner's stages had 5 and 10 ms (facts.md §5)."""
PRECISE = Plan(warmup_ms=50.0, active_ms=200.0, least=12)
"""For finalists: twice as long as `triton.testing.do_bench`, whose 100 ms are about what a chip at
its power limit takes to wander by a percent or two."""


@dataclass(frozen=True)
class Timing:
    """Milliseconds: the median (`middle`), and the 20th and 80th percentile.

    `settled` is False where rounds still drifted at the end; `stopped`: given up early as
    clearly slower than the limit; `outliers` were left out of nothing, medians bear them.
    """

    median: float
    low: float
    high: float
    repetitions: int
    rounds: int = 1
    settled: bool = True
    stopped: bool = False
    outliers: int = 0


def time_launch(
    launch: Callable[[], object],
    clock: Clock,
    plan: Plan = PRECISE,
    *,
    limit_ms: float | None = None,
    before: Callable[[], object] | None = None,
) -> Timing:
    """Time `launch`, which must have run once already (a first run compiles).

    `before` is called before each repetition, outside of what is timed. Raises `ConfigFailed`
    ("hang") for a queue that does not end, and whatever a launch raises.
    """
    return _Timer(launch, clock, plan, limit_ms, before).timing()


def wait_for(clock: Clock, seconds: float) -> None:
    """Wait for the device's queue. Raises `ConfigFailed` ("hang") where it does not end."""
    event = clock.event()
    event.record()
    end = time.monotonic() + seconds
    while not event.query():
        if time.monotonic() > end:
            raise ConfigFailed("hang", f"the device did not finish within {seconds:g} s")
        time.sleep(POLL_S)
    clock.synchronize()  # asks for errors of what ran


class _Timer:
    def __init__(
        self,
        launch: Callable[[], object],
        clock: Clock,
        plan: Plan,
        limit_ms: float | None,
        before: Callable[[], object] | None,
    ) -> None:
        self.launch, self.clock, self.plan = launch, clock, plan
        self.limit_ms, self.before = limit_ms, before
        self.clears = self.batch = 1
        self.host_s: list[float] = []

    def timing(self) -> Timing:
        looks, whole_ms = self._look()
        first = min(looks)
        if self.limit_ms is not None and first > CLEARLY * self.limit_ms:
            return Timing(median(looks), first, max(looks), len(looks), stopped=True)
        for _ in range(self.plan.repetitions(first, self.plan.warmup_ms, 1)):
            if self.before is not None:
                self.before()
            self.launch()
        count = self.plan.repetitions(whole_ms, self.plan.active_ms, self.plan.least)
        return self._rounds(count)

    def _look(self) -> tuple[list[float], float]:
        """A few repetitions, and how long one takes with all that stands around it."""
        self._prepare()
        self.launch()
        wait_for(self.clock, self.plan.wait_s)
        start, end = self.clock.event(), self.clock.event()
        start.record()
        self.clock.clear_cache()
        end.record()
        wait_for(self.clock, self.plan.wait_s)
        clear_ms = max(start.elapsed_time(end), 1e-3)
        times = self._repeat(LOOKS)
        if self.before is None and min(times) < self.plan.batched_ms:
            self.batch = min(MOST_BATCHED, math.ceil(self.plan.batched_ms / max(min(times), 1e-4)))
            self.host_s.clear()
            times = self._repeat(LOOKS)
        # Where the host is slower than the device, the device waits inside what is timed.
        short_ms = HOST_AHEAD * 1000 * min(self.host_s) - self.batch * min(times)
        self.clears = min(16, max(1, math.ceil(short_ms / clear_ms)))
        if self.clears > 1:
            times = self._repeat(LOOKS)
        return times, self.batch * min(times) + self.clears * clear_ms

    def _rounds(self, count: int) -> Timing:
        each = max(2, math.ceil(count / ROUNDS))
        # In one go: a pause between rounds would let the device cool down.
        whole = self._repeat(ROUNDS * each)
        rounds = [whole[i * each : (i + 1) * each] for i in range(ROUNDS)]
        while not settled(rounds) and len(rounds) < ROUNDS + MORE_ROUNDS:
            rounds.append(self._repeat(each))
        steady = settled(rounds)
        kept = rounds[-ROUNDS:]
        times = sorted(t for times in kept for t in times)
        typical = middle(times)
        outliers = sum(t > 2 * typical for t in times)
        if not steady:
            logger.debug("timing still drifts after %d rounds", len(rounds))
        return Timing(
            typical,
            quantile(times, 0.2),
            quantile(times, 0.8),
            len(times),
            len(rounds),
            steady,
            outliers=outliers,
        )

    def _repeat(self, count: int) -> list[float]:
        pairs = []
        for _ in range(count):
            began = time.perf_counter()
            self._prepare()
            start, end = self.clock.event(), self.clock.event()
            start.record()
            for _ in range(self.batch):
                self.launch()
            end.record()
            pairs.append((start, end))
            self.host_s.append(time.perf_counter() - began)
        wait_for(self.clock, self.plan.wait_s)
        return [start.elapsed_time(end) / self.batch for start, end in pairs]

    def _prepare(self) -> None:
        if self.before is not None:
            self.before()
        for _ in range(self.clears):
            self.clock.clear_cache()


def settled(rounds: Sequence[Sequence[float]]) -> bool:
    """Do the earlier and the later of the last rounds agree, as far as their noise lets one say?"""
    last = rounds[-ROUNDS:]
    half = len(last) // 2
    first = [t for times in last[:half] for t in times]
    second = [t for times in last[half:] for t in times]
    if not first or not second:
        return True
    a, b = median(first), median(second)
    noise = max(_error(first), _error(second))
    return abs(a - b) <= max(DRIFT * min(a, b), 3 * noise)


def _error(times: Sequence[float]) -> float:
    """The standard error of a median, from the middle half (normal: 1.2533 sigma / sqrt n)."""
    ordered = sorted(times)
    sigma = (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / 1.349
    return 1.2533 * sigma / math.sqrt(len(ordered))


def median(times: Sequence[float]) -> float:
    return quantile(sorted(times), 0.5)


def middle(ordered: Sequence[float]) -> float:
    """The mean of the middle fifth of sorted numbers: a median that does not jump.

    A kernel often runs in one of two states (H200, a softmax of 8192: 79.7 or 80.3 us, about as
    often). A plain median of such readings is the one or the other by chance.
    """
    part = ordered[math.floor(0.4 * len(ordered)) : math.ceil(0.6 * len(ordered))]
    return math.fsum(part) / len(part)


def quantile(ordered: Sequence[float], part: float) -> float:
    """Of sorted numbers, with straight lines between them (as numpy and Triton have it)."""
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

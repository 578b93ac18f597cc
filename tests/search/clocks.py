"""A clock whose device is a queue in a list: for timing without a device."""

from __future__ import annotations

import random
from collections.abc import Callable


class FakeEvent:
    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.at = 0.0

    def record(self) -> None:
        self.at = self.clock.now_ms

    def query(self) -> bool:
        return not self.clock.hanging

    def elapsed_time(self, end: FakeEvent) -> float:
        return end.at - self.at


class FakeClock:
    """`now_ms` moves with what is run on it."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.clears = 0
        self.warm = False
        self.hanging = False

    def event(self) -> FakeEvent:
        return FakeEvent(self)

    def synchronize(self) -> None:
        pass

    def clear_cache(self) -> None:
        self.clears += 1
        self.warm = False
        self.now_ms += 0.05


class FakeKernel:
    """Takes what `time_ms(number of the run)` says; half as long where the cache is warm."""

    def __init__(self, clock: FakeClock, time_ms: Callable[[int], float]) -> None:
        self.clock, self.time_ms, self.runs = clock, time_ms, 0

    def __call__(self) -> None:
        took = self.time_ms(self.runs) * (0.5 if self.clock.warm else 1.0)
        self.runs += 1
        self.clock.now_ms += took
        self.clock.warm = True


def noisy(middle_ms: float, spread: float, seed: int = 0) -> Callable[[int], float]:
    draw = random.Random(seed)
    return lambda run: middle_ms * (1 + abs(draw.gauss(0, spread)))

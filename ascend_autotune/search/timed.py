"""A device whose launches are timed by its own events, one kernel with one call's arguments."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, DeviceInfo, Reading
from ascend_autotune.search.launching import as_failure
from ascend_autotune.search.timing import (
    COARSE,
    PRECISE,
    Clock,
    Plan,
    Timing,
    time_launch,
    wait_for,
)

Timer = Callable[
    [Callable[[], object], Plan, "float | None", "Callable[[], object] | None"], Timing
]
"""Times a launch by a plan, with a limit in ms and what comes before each repetition."""


class TimedDevice:
    """`launch` runs a config once, its first time compiling it.

    `trial` surrounds the timing of a config, `refresh` runs before each repetition (see
    `buffers.Buffers`). `first` runs a config's first launch where it can do no harm (see
    `isolation`); None: here. `timer` replaces events (a profiler, say). After a fault or a hang
    the device answers no more: every later config fails with that reason, and the search ends
    with what it has.
    """

    def __init__(
        self,
        info: DeviceInfo,
        clock: Clock,
        launch: Callable[[Config], object],
        *,
        coarse: Plan = COARSE,
        precise: Plan = PRECISE,
        trial: Callable[[], AbstractContextManager[None]] = nullcontext,
        refresh: Callable[[], object] | None = None,
        first: Callable[[Config], object] | None = None,
        timer: Timer | None = None,
        context: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._info, self._clock, self._launch = info, clock, launch
        self._coarse, self._precise = coarse, precise
        self._trial, self._refresh, self._first = trial, refresh, first
        self._timer, self._context = timer or self._by_events, context
        self._ran: set[Config] = set()
        self._dead: ConfigFailed | None = None

    @property
    def info(self) -> DeviceInfo:
        return self._info

    @property
    def usable(self) -> bool:
        """False once the device has faulted or hung in this process."""
        return self._dead is None

    def clock(self) -> float:
        return time.perf_counter()

    def prepare(self, configs: list[Config]) -> None:
        """Nothing is compiled ahead: Triton's front end is not safe in threads."""

    def time(
        self, config: Config, *, precise: bool = False, limit_ms: float | None = None
    ) -> Reading:
        if self._dead is not None:
            raise ConfigFailed(self._dead.kind, f"not run: the device is lost ({self._dead})")
        plan = self._precise if precise else self._coarse
        began = time.perf_counter()
        try:
            with self._context(), self._trial():
                if config not in self._ran:
                    self._run_first(config, plan)
                compiled = time.perf_counter()
                timing = self._timer(lambda: self._launch(config), plan, limit_ms, self._refresh)
        except Exception as error:
            failure = as_failure(error)
            if failure.kind in ("fault", "hang") and config in self._ran:
                self._dead = failure
            raise failure from error
        return Reading(
            timing.median,
            timing.low,
            timing.high,
            timing.repetitions,
            compile_s=compiled - began,
            bench_s=time.perf_counter() - compiled,
            stopped=timing.stopped,
        )

    def _run_first(self, config: Config, plan: Plan) -> None:
        if self._first is not None:
            self._first(config)
        self._ran.add(config)  # from here on a fault is this process's own
        self._launch(config)
        wait_for(self._clock, plan.wait_s)

    def _by_events(
        self,
        launch: Callable[[], object],
        plan: Plan,
        limit_ms: float | None,
        before: Callable[[], object] | None,
    ) -> Timing:
        return time_launch(launch, self._clock, plan, limit_ms=limit_ms, before=before)


def plans(
    warmup_ms: float | None = None,
    active_ms: float | None = None,
    coarse_warmup_ms: float | None = None,
    coarse_active_ms: float | None = None,
) -> tuple[Plan, Plan]:
    """The coarse and the precise plan within what a user gives, in ms: `bench_warmup` and
    `bench_active` (or Triton's `warmup` and `rep`), `stage1_bench_warmup` and `stage1_bench_rep`.

    Without bounds of its own the coarse plan takes at most a fifth of the precise one.
    """
    warmup = PRECISE.warmup_ms if warmup_ms is None else float(warmup_ms)
    active = PRECISE.active_ms if active_ms is None else float(active_ms)
    least = PRECISE.least if active_ms is None else 4
    if coarse_warmup_ms is None:
        coarse_warmup_ms = min(COARSE.warmup_ms, warmup)
    if coarse_active_ms is None:
        coarse_active_ms = min(COARSE.active_ms, max(active / 5, 1.0))
    return Plan(coarse_warmup_ms, coarse_active_ms), Plan(warmup, active, least=least)

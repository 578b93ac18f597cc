"""Timing on a clock that does what it is told: no assertion here reads a real clock."""

from __future__ import annotations

import random
import statistics

import pytest
from clocks import FakeClock, FakeKernel, noisy

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, Device, DeviceInfo
from ascend_autotune.search.timed import TimedDevice, plans
from ascend_autotune.search.timing import (
    COARSE,
    PRECISE,
    ROUNDS,
    Plan,
    median,
    middle,
    quantile,
    settled,
    time_launch,
)


def test_the_cache_is_cleared_before_each_repetition() -> None:
    clock = FakeClock()
    kernel = FakeKernel(clock, lambda run: 1.0)
    timing = time_launch(kernel, clock)
    assert timing.median == pytest.approx(1.0)  # 0.5 were it warm
    assert timing.settled and not timing.stopped


@pytest.mark.parametrize("each_ms", [0.005, 0.1, 1.0, 30.0])
def test_repetitions_follow_the_kernels_own_duration(each_ms: float) -> None:
    clock = FakeClock()
    kernel = FakeKernel(clock, lambda run: each_ms)
    plan = Plan(warmup_ms=5, active_ms=50, least=8, most=500)
    timing = time_launch(kernel, clock, plan)
    assert 8 <= timing.repetitions <= 500
    spent = timing.repetitions * each_ms
    assert spent <= 2 * 50 or timing.repetitions <= 8


def test_a_median_bears_outliers() -> None:
    clock = FakeClock()
    kernel = FakeKernel(clock, lambda run: 50.0 if run % 11 == 3 else 1.0)
    timing = time_launch(kernel, clock)
    assert timing.median == pytest.approx(1.0)
    assert timing.outliers > 0 and timing.high < 2


def test_a_kernel_of_two_speeds_is_timed_alike_every_time() -> None:
    runs = [
        [draw.choice((79.7, 80.3)) for _ in range(400)] for draw in map(random.Random, range(20))
    ]
    middles = [middle(sorted(times)) for times in runs]
    assert statistics.pstdev(middles) < 0.6 * statistics.pstdev(map(median, runs))
    kernel = FakeKernel(clock := FakeClock(), lambda run: 79.7 if run % 11 < 6 else 80.3)
    assert 79.7 < time_launch(kernel, clock).median < 80.3


def test_the_middle_is_the_median_of_few() -> None:
    for times in (
        [3.0],
        [1.0, 2.0],
        [1.0, 2.0, 9.0],
        [1.0, 2.0, 3.0, 9.0],
        [1.0, 2.0, 3.0, 8.0, 9.0],
    ):
        assert middle(times) == median(times)


def test_a_drift_is_timed_again() -> None:
    clock = FakeClock()
    calm = time_launch(FakeKernel(clock, noisy(1.0, 0.01)), clock)
    assert calm.rounds == ROUNDS
    # The device gets faster for a while, as its clock rises.
    rising = time_launch(FakeKernel(clock, lambda run: 1.0 + max(0.0, 80 - run) / 80), clock)
    assert rising.rounds > ROUNDS
    assert rising.median == pytest.approx(1.0, rel=0.05)
    endless = time_launch(FakeKernel(clock, lambda run: 1.0 + run / 50), clock)
    assert not endless.settled


def test_what_is_clearly_slower_is_given_up() -> None:
    clock = FakeClock()
    slow = FakeKernel(clock, lambda run: 10.0)
    timing = time_launch(slow, clock, limit_ms=3.0)
    assert timing.stopped and timing.median == pytest.approx(10.0)
    assert slow.runs < 10
    assert not time_launch(slow, clock, limit_ms=9.5).stopped


def test_what_is_too_short_for_two_events_is_batched() -> None:
    clock = FakeClock()
    kernel = FakeKernel(clock, lambda run: 0.004)
    plan = Plan(0, 1, least=8, batched_ms=0.03)
    timing = time_launch(kernel, clock, plan)
    assert kernel.runs > 7 * timing.repetitions
    assert timing.median == pytest.approx(0.004 * (1 + 7 * 0.5) / 8)  # warm after the first
    alone = FakeKernel(clock, lambda run: 0.004)
    timing = time_launch(alone, clock, plan, before=lambda: None)
    assert timing.median == pytest.approx(0.004) and alone.runs < 2 * timing.repetitions


def test_what_comes_before_is_not_timed() -> None:
    clock = FakeClock()
    called = []

    def before() -> None:
        called.append(1)
        clock.now_ms += 100

    kernel = FakeKernel(clock, lambda run: 1.0)
    timing = time_launch(kernel, clock, Plan(0, 1, least=8), before=before)
    assert timing.median == pytest.approx(1.0)
    assert len(called) >= timing.repetitions


def test_a_queue_that_does_not_end_is_a_hang() -> None:
    clock = FakeClock()

    def hangs() -> None:
        clock.hanging = True

    with pytest.raises(ConfigFailed) as caught:
        time_launch(hangs, clock, Plan(wait_s=0.01))
    assert caught.value.kind == "hang"


def test_settled_asks_no_more_than_noise_allows() -> None:
    assert settled([[1.0, 1.1, 0.9, 1.0]] * 4)
    assert not settled([[1.0] * 8, [1.0] * 8, [1.2] * 8, [1.2] * 8])
    assert settled([[1.0, 2.0, 1.5], [1.2, 1.9, 1.6], [1.1, 2.1, 1.4], [1.3, 1.8, 1.7]])


def test_quantiles_are_numpys() -> None:
    numpy = pytest.importorskip("numpy")
    times = [3.0, 1.0, 2.0, 10.0, 4.0]
    assert median(times) == 3.0
    for part in (0.2, 0.8, 0.25):
        assert quantile(sorted(times), part) == pytest.approx(float(numpy.quantile(times, part)))


# -- the device ----------------------------------------------------------------------------------

FAST, SLOW = Config({"BLOCK": 64}), Config({"BLOCK": 16})


def device(launch, clock: FakeClock, **more) -> TimedDevice:  # type: ignore[no-untyped-def]
    return TimedDevice(DeviceInfo("fake", "replay"), clock, launch, **more)


def test_a_device_of_the_protocol() -> None:
    clock = FakeClock()
    made = device(lambda config: None, clock)
    assert isinstance(made, Device)
    assert made.info.name == "fake"


def test_a_config_is_compiled_first_and_timed_after() -> None:
    clock = FakeClock()
    kernels = {FAST: FakeKernel(clock, lambda run: 1.0), SLOW: FakeKernel(clock, lambda run: 4.0)}
    made = device(lambda config: kernels[config](), clock)
    assert made.time(FAST).time_ms == pytest.approx(1.0)
    assert made.time(SLOW, limit_ms=2.0).stopped
    assert made.time(FAST, precise=True).repetitions >= PRECISE.least


def test_after_a_fault_the_device_answers_no_more() -> None:
    clock = FakeClock()

    def launch(config: Config) -> None:
        if config == SLOW:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    made = device(launch, clock)
    made.time(FAST)
    with pytest.raises(ConfigFailed) as caught:
        made.time(SLOW)
    assert caught.value.kind == "fault" and not made.usable
    with pytest.raises(ConfigFailed, match="the device is lost"):
        made.time(FAST)


def test_a_fault_elsewhere_costs_one_config() -> None:
    clock = FakeClock()

    def first(config: Config) -> None:
        if config == SLOW:
            raise ConfigFailed("fault", "the worker's device faulted")

    made = device(lambda config: None, clock, first=first)
    with pytest.raises(ConfigFailed):
        made.time(SLOW)
    assert made.usable
    made.time(FAST)


def test_a_launch_that_is_refused_costs_one_config() -> None:
    clock = FakeClock()

    def launch(config: Config) -> None:
        if config == SLOW:
            raise ValueError("grid too large")

    made = device(launch, clock)
    with pytest.raises(ConfigFailed, match="grid too large") as caught:
        made.time(SLOW)
    assert caught.value.kind == "launch" and made.usable


def test_interrupts_pass_through() -> None:
    def launch(config: Config) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        device(launch, FakeClock()).time(FAST)


def test_plans_stay_within_what_the_user_says() -> None:
    coarse, precise = plans(None, None)
    assert (coarse, precise) == (COARSE, PRECISE)
    coarse, precise = plans(2, 10)
    assert precise.warmup_ms == 2 and precise.active_ms == 10
    assert coarse.warmup_ms <= 2 and coarse.active_ms <= 10
    coarse, precise = plans(2, 10, 1, 3)
    assert (coarse.warmup_ms, coarse.active_ms) == (1, 3)

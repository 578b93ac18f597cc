"""A device made of launches and a timer: what it times, and what errors mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, Device, DeviceInfo
from ascend_autotune.search.launching import LaunchDevice, as_failure

INFO = DeviceInfo("a device", "standin")
CONFIG = Config({"BLOCK": 64})


def device(launch: Callable[[Config], Any], times: Any = (2.0, 1.5, 3.0)) -> LaunchDevice:
    def bench(call: Callable[[], None], quantiles: tuple[float, ...]) -> Any:
        call()
        call()
        return times

    return LaunchDevice(INFO, launch, bench)


def test_it_is_a_device_and_launches_the_config() -> None:
    launched: list[Config] = []
    made = device(launched.append)
    assert isinstance(made, Device)
    reading = made.time(CONFIG)
    assert (reading.time_ms, reading.low_ms, reading.high_ms) == (2.0, 1.5, 3.0)
    assert launched == [CONFIG, CONFIG]
    assert reading.compile_s >= 0


def test_a_timer_may_give_one_number() -> None:
    assert device(lambda config: None, 0.5).time(CONFIG).high_ms == 0.5


def test_infinite_times_are_failures() -> None:
    with pytest.raises(ConfigFailed, match="no finite time"):
        device(lambda config: None, [float("inf")] * 3).time(CONFIG)


def test_interruption_passes_through() -> None:
    def launch(config: Config) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        device(launch).time(CONFIG)


def test_an_overflow_keeps_its_figures() -> None:
    """The message of the Ascend compiler; the last attempt counts."""
    error = RuntimeError(
        "ub overflow, requires 4194304 bits while 1572864 bits available!\n"
        "cbuf overflow, requires 8388608 bits while 4194304 bits available!"
    )
    failure = as_failure(error)
    assert (failure.kind, failure.memory) == ("overflow", "l1")
    assert (failure.required_bytes, failure.available_bytes) == (1048576, 524288)


class CompilationError(Exception):
    """Named as Triton's."""


class OutOfMemoryError(RuntimeError):
    """Named as torch's."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (CompilationError("bad"), "compile"),
        (OutOfMemoryError("full"), "memory"),
        (RuntimeError("grid"), "launch"),
        (ConfigFailed("hang", "no end"), "hang"),
    ],
)
def test_errors_are_told_apart(error: Exception, kind: str) -> None:
    assert as_failure(error).kind == kind


def test_the_line_of_the_users_own_code_is_named() -> None:
    def grid(meta: dict[str, int]) -> int:
        return meta["BLOK"]

    with pytest.raises(ConfigFailed, match=r"KeyError: 'BLOK' \(at test_launching.py:\d+\)"):
        device(lambda config: grid(dict(config.candidate))).time(CONFIG)

"""A driver for machines without a device, only while kernels are imported."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

from triton.runtime import driver

from ascend_autotune.analysis import hostdriver
from ascend_autotune.analysis.hostdriver import HostDriver, host_only
from ascend_autotune.errors import RequestError


@pytest.fixture(autouse=True)
def no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostdriver, "has_device", lambda: False)


def test_inside_a_module_sees_the_chip_and_outside_nothing_has_changed() -> None:
    before = dict(vars(driver))
    with host_only("Ascend910B1"):
        target = driver.active.get_current_target()
        properties = driver.active.utils.get_device_properties(0)
    assert (target.backend, target.arch) == ("npu", "Ascend910B1")
    assert (properties["num_aicore"], properties["num_vectorcore"]) == (24, 48)
    assert vars(driver) == before


def test_a_failing_block_restores_too() -> None:
    before = dict(vars(driver))
    with pytest.raises(ValueError, match="from inside"), host_only():
        raise ValueError("from inside")
    assert vars(driver) == before


def test_a_device_that_is_there_stays_active(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostdriver, "has_device", lambda: True)
    before = dict(vars(driver))
    with host_only():
        assert vars(driver) == before


def test_autotune_can_decorate() -> None:
    import triton
    from front_end_kernels import scale

    with host_only():
        tuned = triton.autotune([triton.Config({"BLOCK": 32})], key=["n"])(scale)
    assert tuned.fn is scale


def test_nothing_can_be_launched_or_timed() -> None:
    with host_only():
        assert isinstance(driver.active, HostDriver)
        benchmark = driver.active.get_benchmarker()
        with pytest.raises(RuntimeError, match="there is no device"):
            benchmark(lambda: None, quantiles=(0.5,))
        with pytest.raises(RuntimeError, match="there is no device"):
            driver.active.launcher_cls(None, None)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(RequestError, match="no chip is called"), host_only("H100"):
        raise AssertionError("not reached")

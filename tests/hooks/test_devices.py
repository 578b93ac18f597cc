"""Which device a search gets: the user's timer, a real device's events, a worker before them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import plain_kernels
import pytest
import triton

from ascend_autotune.errors import RequestError
from ascend_autotune.hooks import devices, workers
from ascend_autotune.hooks.safety import Guard
from ascend_autotune.hooks.target import Target
from ascend_autotune.search.config import Config
from ascend_autotune.search.launching import LaunchDevice
from ascend_autotune.search.timed import TimedDevice
from tests.search.fake_torch_npu import FakeNpu


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeNpu:
    made = FakeNpu()
    monkeypatch.setitem(sys.modules, "torch", made.torch())
    monkeypatch.setitem(sys.modules, "torch_npu", made.torch_npu())
    return made


def tuner(**more: Any) -> Any:
    hints = SimpleNamespace(timing_ms={}, isolate="never")
    hints.__dict__.update({n: more.pop(n) for n in ("timing_ms", "isolate") if n in more})
    known = {"benched_by_user": False, "bounds_ms": (None, None), "do_bench": None, "hints": hints}
    return SimpleNamespace(**{**known, "user_defined_pre_hook": False, **more})


def situation(backend: str = "npu", arch: str = "Ascend910B3", index: int | None = 2) -> Any:
    tensor = SimpleNamespace(device=SimpleNamespace(type=backend, index=index))
    call = SimpleNamespace(
        tensors={"x": tensor}, info=SimpleNamespace(name="kernel"), arguments={}, options={}
    )
    return SimpleNamespace(target=Target(backend, arch), call=call)


FOUND: Any = SimpleNamespace(configs=[Config({})] * 9, profiles=({},), originals={})


def test_an_npu_is_timed_by_its_events(machine: FakeNpu) -> None:
    bounds = {"bench_active": 3.0, "stage1_bench_rep": 1.0}
    with devices.device_for(tuner(timing_ms=bounds), situation(), FOUND, Guard()) as device:
        assert isinstance(device, TimedDevice)
        assert device.info.kind == "npu" and device.info.cores == 20
        assert (device._coarse.active_ms, device._precise.active_ms) == (1.0, 3.0)
        with device._context():
            assert machine.index == 2


def test_a_users_timer_comes_first(machine: FakeNpu) -> None:
    theirs = tuner(benched_by_user=True, do_bench=lambda call, quantiles: 1.0)
    with devices.device_for(theirs, situation(), FOUND, Guard()) as device:
        assert isinstance(device, LaunchDevice)


def test_warmup_and_rep_bound_the_timing(machine: FakeNpu) -> None:
    with devices.device_for(tuner(bounds_ms=(7, 11)), situation(), FOUND, Guard()) as device:
        assert isinstance(device, TimedDevice)
        assert (device._precise.warmup_ms, device._precise.active_ms) == (7, 11)


def test_a_device_without_events_has_its_drivers_timer() -> None:
    with devices.device_for(tuner(), situation("fake", "90"), FOUND, Guard()) as device:
        assert isinstance(device, LaunchDevice)


def test_the_profiler_is_asked_for_as_in_triton_ascend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_BENCH_METHOD", raising=False)
    assert devices.method() == "auto"
    monkeypatch.setenv("TRITON_BENCH_METHOD", "NPU")
    assert devices.method() == "profiler"


# -- the worker ------------------------------------------------------------------------------------


def test_a_kernel_within_a_function_is_tried_here() -> None:
    def kernel(): ...  # type: ignore[no-untyped-def]

    jitted = triton.jit(kernel)
    here = situation()
    with workers.first_elsewhere(tuner(fn=jitted, isolate="auto"), here, FOUND) as first:
        assert first is None
    with (
        pytest.raises(RequestError, match=r"isolate is 'always', but .* defined within a function"),
        workers.first_elsewhere(tuner(fn=jitted, isolate="always"), here, FOUND),
    ):
        pass


def test_hooks_of_the_user_stay_in_this_process() -> None:
    hooked = tuner(user_defined_pre_hook=True, isolate="auto")
    with workers.first_elsewhere(hooked, situation(), FOUND) as first:
        assert first is None


@pytest.mark.parametrize("backend", ["fake", "npu"])
def test_no_worker_where_none_is_needed(backend: str) -> None:
    few = SimpleNamespace(**{**vars(FOUND), "configs": FOUND.configs[:1]})
    here, asked = situation(backend), tuner(isolate="auto")
    with workers.first_elsewhere(asked, here, few) as first:
        assert first is None


def test_a_worker_gets_what_heuristics_make_of_a_config() -> None:
    kernel = triton.jit(plain_kernels.even)
    rule: dict[str, Callable[[Any], Any]] = {"EVEN": lambda given: given["N"] % given["BLOCK"] == 0}
    layered = triton.heuristics(rule)(kernel)
    here = situation()
    here.call.arguments, here.call.options = {"N": 96}, {"num_warps": 8}
    added = workers._values(tuner(launched=layered), here, FOUND, Config({"BLOCK": 32}))
    assert added == {"BLOCK": 32, "EVEN": True}
    added = workers._values(
        tuner(launched=layered), here, FOUND, Config({"BLOCK": 64}, {"num_warps": 4})
    )
    assert added == {"BLOCK": 64, "EVEN": False}  # the call's own option stands


def test_first_comes_once_before_a_config() -> None:
    seen: list[str] = []
    launch = workers.once(lambda config: seen.append("first"), lambda config: seen.append("launch"))
    for _ in range(2):
        launch(Config({"BLOCK": 1}))
    assert seen == ["first", "launch", "launch"]

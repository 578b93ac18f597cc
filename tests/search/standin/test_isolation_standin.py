"""Faults of the modelled NPU cost one config each, and the search goes on in a fresh worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed
from ascend_autotune.search.engine import search
from ascend_autotune.search.isolation import Isolation, Job, Limits
from ascend_autotune.search.problem import Problem
from ascend_autotune.search.timed import TimedDevice
from tests.search.clocks import FakeClock, FakeKernel
from tests.search.standin.conftest import _missing

ISOLATED = Path(__file__).parents[1] / "isolated.py"
ROOMY = Limits()
TIGHT = {"compile_hang": Limits(compile_s=1.0), "launch_hang": Limits(launch_s=1.0)}
FAULTS = {
    "compile_error": "compile",
    "compile_hang": "timeout",
    "launch_fault": "fault",
    "launch_memory": "memory",
    "launch_hang": "hang",
}


def test_a_search_survives_every_fault(triton_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if _missing():
        pytest.skip(_missing())
    monkeypatch.setenv("TRITON_CACHE_DIR", str(triton_cache))
    clock = FakeClock()
    configs = [Config({"BLOCK": 64, "fault": "none"}), Config({"BLOCK": 128, "fault": "none"})]
    configs += [Config({"BLOCK": 256, "fault": fault}) for fault in FAULTS]
    times = {
        config: FakeKernel(clock, lambda run, n=n: 1.0 + n) for n, config in enumerate(configs)
    }
    started = {}
    with Isolation(Job(f"{ISOLATED}:OnStandin"), lambda config: (4,), ROOMY) as isolation:

        def first(config: Config) -> None:
            isolation.limits = TIGHT.get(str(config.candidate["fault"]), ROOMY)
            try:
                isolation.first(config)
            except ConfigFailed as failure:
                started[config.candidate["fault"]] = failure.kind
                raise

        from ascend_autotune.search.device import DeviceInfo

        device = TimedDevice(
            DeviceInfo("fake", "standin"), clock, lambda c: times[c](), first=first
        )
        problem = Problem("scale", [c.candidate for c in configs], ({},), default=configs[1])
        result = search(problem, device, effort="full")
    assert result.best == configs[0] and result.complete
    assert started == FAULTS
    fates = {t.config.candidate["fault"]: t.fate for t in result.trials}
    assert all(fates[fault] == "failed" for fault in FAULTS)
    assert isolation.started == 1 + sum(k in ("timeout", "fault", "hang") for k in FAULTS.values())

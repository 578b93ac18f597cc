"""Workers on a GPU that are killed, hang, find no memory or are interrupted: nothing is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import device_kernels as kernels  # noqa: E402
import faulty  # noqa: E402

from ascend_autotune.search.config import Config  # noqa: E402
from ascend_autotune.search.cuda import cuda_device  # noqa: E402
from ascend_autotune.search.device import ConfigFailed  # noqa: E402
from ascend_autotune.search.engine import search  # noqa: E402
from ascend_autotune.search.isolation import Isolation, Limits  # noqa: E402
from ascend_autotune.search.problem import Problem  # noqa: E402
from ascend_autotune.search.rebuilt import job_for  # noqa: E402
from ascend_autotune.search.timing import Plan  # noqa: E402

N = 1 << 16
GOOD, HANGS = Config({"BLOCK": 128}), Config({"BLOCK": 32})


def grid(config: Config) -> tuple[int]:
    return (-(-N // int(str(config.values["BLOCK"]))),)


class Workplace:
    """The caller's tensors, and a worker with copies of them."""

    def __init__(self, folder: Path) -> None:
        self.x = torch.full((N,), -1.0, device="cuda")
        self.flag = torch.zeros(1, device="cuda", dtype=torch.int32)
        job = job_for(kernels.risky, {"x_ptr": self.x, "flag_ptr": self.flag, "n": N}, folder)
        job = replace(job, factory=f"{Path(faulty.__file__).resolve()}:Faulty")
        self.isolation = Isolation(job, grid, Limits(compile_s=60.0, launch_s=60.0))

    def launch(self, config: Config) -> object:
        return kernels.risky[grid(config)](self.x, self.flag, N, **config.values)

    def failure(self, config: Config) -> ConfigFailed:
        with pytest.raises(ConfigFailed) as caught:
            self.isolation.first(config)
        return caught.value

    def while_it_runs(self, config: Config, act: Any) -> threading.Thread:
        """Calls `act` with the worker's process id 2 s after the launch of `config` began."""

        def wait() -> None:
            time.sleep(2)
            assert self.isolation._worker is not None
            act(self.isolation._worker._process.pid)

        thread = threading.Thread(target=wait)
        thread.start()
        return thread

    def is_well(self) -> None:
        """The caller's tensors are as they were, and the GPU computes on."""
        assert bool((self.x == -1).all()) and int(self.flag) == 0
        self.launch(GOOD)
        torch.cuda.synchronize()
        assert torch.equal(self.x, torch.arange(N, device="cuda", dtype=torch.float32))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Workplace]:
    made = Workplace(tmp_path)
    made.isolation.first(GOOD)
    yield made
    made.isolation.close()
    made.is_well()


def test_a_worker_killed_in_a_launch(place: Workplace) -> None:
    thread = place.while_it_runs(HANGS, lambda pid: os.kill(pid, signal.SIGKILL))
    found = place.failure(HANGS)
    thread.join()
    assert found.kind == "fault" and "SIGKILL" in str(found)
    place.isolation.first(GOOD)
    assert place.isolation.started == 2


def test_a_compile_that_does_not_end(place: Workplace) -> None:
    place.isolation.limits = Limits(compile_s=1.0)
    assert place.failure(Config({"BLOCK": faulty.COMPILE_HANGS})).kind == "timeout"
    place.isolation.limits = Limits()
    place.isolation.first(GOOD)


def test_no_memory_keeps_the_worker(place: Workplace) -> None:
    assert place.failure(Config({"BLOCK": faulty.NO_MEMORY})).kind == "memory"
    place.isolation.first(GOOD)
    assert place.isolation.started == 1


def test_an_interrupt_while_a_kernel_hangs_keeps_what_is_found(place: Workplace) -> None:
    x = place.x.clone()

    def launch(config: Config) -> object:
        return kernels.risky[grid(config)](x, place.flag, N, **config.values)

    def first(config: Config) -> None:
        if config == HANGS:
            place.while_it_runs(config, lambda _: os.kill(os.getpid(), signal.SIGINT))
        place.isolation.first(config)

    device = cuda_device(launch, first=first, coarse=Plan(1, 4, least=4))
    problem = Problem("risky", [{"BLOCK": b} for b in (128, 32)], ({},), default=GOOD)
    result = search(problem, device)
    assert not result.complete and result.ended == "interrupted"
    assert result.best == GOOD and result.best_ms

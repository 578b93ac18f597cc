"""Check on a real device what has never met one: docs/first-run-on-hardware.md.

    python tools/first_run.py STEP [--device npu|cuda]

Each step prints what it saw and ends with 0 where that is as expected, 1 where it is not.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import triton
import triton.language as tl

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed
from ascend_autotune.search.isolation import Isolation, Limits
from ascend_autotune.search.launching import as_failure
from ascend_autotune.search.timing import PRECISE, Clock, Timing, time_launch, wait_for

SMALL, LARGE = 1 << 14, 1 << 26
LIMITS = Limits(launch_s=10.0)
TILE = Config({"BLOCK": 1024})


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n)
    tl.store(out + at, total, mask=at < n)


@triton.jit
def in_place(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2 + 1, mask=at < n)


@triton.jit
def outside(x, far, BLOCK: tl.constexpr):
    """Writes `far` elements behind the end of everything."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + far + at, tl.load(x + at))


@triton.jit
def endless(x, steps, BLOCK: tl.constexpr):
    """Ends after hours."""
    at = tl.arange(0, BLOCK)
    total = tl.load(x + at)
    for _ in range(0, steps):
        total = total * 0.5 + tl.load(x + at)
        tl.store(x + at, total)


class Machine:
    """The device under test, its tensors and its clock."""

    def __init__(self, kind: str, index: int = 0) -> None:
        import torch

        self.torch, self.kind, self.index = torch, kind, index
        if kind == "npu":
            from ascend_autotune.search.npu import NpuClock

            self.clock: Clock = NpuClock(index)
        else:
            from ascend_autotune.search.cuda import CudaClock

            self.clock = CudaClock(index)

    @property
    def api(self) -> Any:
        return getattr(self.torch, self.kind)

    def tensor(self, count: int) -> Any:
        return self.torch.rand(count, dtype=self.torch.float32, device=f"{self.kind}:{self.index}")

    def adding(self, count: int, block: int = 1024) -> Callable[[], object]:
        x, y, out = (self.tensor(count) for _ in range(3))
        grid = (min(triton.cdiv(count, block), 65_535),)

        def launch() -> object:
            return add[grid](x, y, out, count, BLOCK=block)

        launch()
        wait_for(self.clock, 60)
        return launch

    def works(self) -> bool:
        """Does it still compute, in this process?"""
        x = self.tensor(SMALL)
        wanted = x * 2 + 1
        in_place[(SMALL // 1024,)](x, SMALL, BLOCK=1024)
        wait_for(self.clock, 60)
        return bool(self.torch.equal(x, wanted))


def say(name: str, timing: Timing) -> None:
    low, middle, high = (1000 * t for t in (timing.low, timing.median, timing.high))
    print(f"{name}: {middle:.2f} us ({low:.2f} to {high:.2f}), {timing.repetitions} repetitions, "
          f"{'settled' if timing.settled else 'still drifting'}")  # fmt: skip


# -- the steps -------------------------------------------------------------------------------------


def what(machine: Machine) -> bool:
    """Versions, devices, and the chip as this package names it."""
    from ascend_autotune.analysis.flavour import detect
    from ascend_autotune.hooks.target import active_target

    target = active_target()
    print(f"torch {machine.torch.__version__}, Triton {detect()}")
    print(f"{machine.api.device_count()} devices: {machine.api.get_device_name(0)}")
    print(f"Triton's target: {target}; chip: {target.chip.name if target.chip else 'not known'}")
    return machine.kind != "npu" or target.chip is not None


def events(machine: Machine) -> bool:
    """Events count milliseconds, and `query` says False while a queue runs."""
    launch = machine.adding(LARGE // 4)
    busy = machine.clock.event()
    for _ in range(50):
        launch()
    busy.record()
    early = busy.query()
    began = time.perf_counter()
    wait_for(machine.clock, 60)
    print(f"query() at once: {early}; the queue took {time.perf_counter() - began:.4f} s more")
    start, end = machine.clock.event(), machine.clock.event()
    start.record()
    end.record()
    wait_for(machine.clock, 60)
    print(f"nothing between two events: {1000 * start.elapsed_time(end):.2f} us")
    timing = time_launch(launch, machine.clock, PRECISE)
    say("add of 16 Mi floats", timing)
    rate = 12 * (LARGE // 4) / timing.median / 1e6
    print(f"that is {rate:.0f} GB/s: must lie below the chip's memory bandwidth, and near it")
    return not early and 50 < rate < 20_000 and timing.settled


def cache(machine: Machine) -> bool:
    """A kernel whose data lies in L2 is faster than after the clearing: the clearing clears."""
    count = 1 << 20  # 12 MiB in all
    launch, clear = machine.adding(count), machine.clock.clear_cache

    def fill() -> None:  # the queue is as long as before, and the kernel's data is in L2 again
        clear()
        launch()

    cold = time_launch(launch, machine.clock, PRECISE)
    machine.clock.clear_cache = fill  # type: ignore[method-assign]
    warm = time_launch(launch, machine.clock, PRECISE)
    machine.clock.clear_cache = clear  # type: ignore[method-assign]
    say("cleared", cold)
    say("filled", warm)
    return warm.median < cold.median


def profiler(machine: Machine) -> bool:
    """The profiler finds the kernel's own rows; events lie above it by what a launch costs."""
    if machine.kind != "npu":
        print("only on an NPU")
        return True
    from ascend_autotune.search.npu import NpuClock, Profiler

    assert isinstance(machine.clock, NpuClock)
    apart = []
    for name, count in (("short", SMALL), ("long", LARGE // 4)):
        launch = machine.adding(count)
        by_events = time_launch(launch, machine.clock, PRECISE)
        by_profile = Profiler("add", machine.clock).time(launch)
        say(f"{name}, events", by_events)
        say(f"{name}, profiler", by_profile)
        apart.append(by_events.median - by_profile.median)
    return all(-0.002 < ms < 0.1 for ms in apart)


def hook(machine: Machine) -> bool:
    """One decorator: the first call's result is exact, and a report says what was tried."""
    import ascend_autotune
    import ascend_autotune.hooks

    hints = {"search_params": {"params": ["BLOCK"], "values": {"BLOCK": [256, 512, 1024, 2048]}}}
    kernel = triton.autotune(configs=[], key=["n"], hints=hints)(in_place)
    count = 1 << 22
    x = machine.tensor(count)
    wanted = x * 2 + 1
    kernel[lambda meta: (triton.cdiv(count, meta["BLOCK"]),)](x, count)
    print(ascend_autotune.explain(kernel).search)
    return bool(machine.torch.equal(x, wanted))


def _isolation(kernel: Any, arguments: dict[str, object], folder: str) -> Isolation:
    from ascend_autotune.search.rebuilt import job_for

    return Isolation(job_for(kernel, arguments, Path(folder)), lambda config: (1,), LIMITS)


def _in_worker(machine: Machine, kernel: Any, number: int) -> ConfigFailed | None:
    """What becomes of a kernel in a worker."""
    arguments = {"x": machine.tensor(SMALL), kernel.arg_names[1]: number}
    with tempfile.TemporaryDirectory() as folder, _isolation(kernel, arguments, folder) as made:
        for turn in ("with the worker's start", "again"):
            began = time.perf_counter()
            try:
                made.first(TILE)
            except ConfigFailed as failure:
                print(f"{failure.kind} after {time.perf_counter() - began:.1f} s: {failure}")
                return failure
            print(f"{turn}: {time.perf_counter() - began:.2f} s; {made.off or 'in a worker'}")
        return ConfigFailed("launch", made.off) if made.off else None


def worker(machine: Machine) -> bool:
    """A kernel is made again in a worker, beside this process on the same device."""
    return _in_worker(machine, in_place, SMALL) is None and machine.works()


def fault(machine: Machine) -> bool:
    """An access outside of memory costs the worker; this process's device works on."""
    failure = _in_worker(machine, outside, 1 << 44)
    return failure is not None and failure.kind == "fault" and machine.works()


def hang(machine: Machine) -> bool:
    """A kernel that does not end costs the worker; this process's device works on."""
    failure = _in_worker(machine, endless, 1 << 40)
    return failure is not None and failure.kind == "hang" and machine.works()


def memory(machine: Machine) -> bool:
    """A full device is told from a fault, and is no end."""
    try:
        machine.tensor(1 << 44)
    except Exception as error:
        failure = as_failure(error)
        print(f"{failure.kind}: {failure}")
        return failure.kind == "memory" and machine.works()
    return False


def several(machine: Machine) -> bool:
    """Devices timed at once, from threads, give the times that each gives alone."""
    count = int(machine.api.device_count())
    if count < 2:
        print("there is one device only")
        return True
    found: dict[int, list[float]] = {}

    def time_on(index: int) -> None:
        with machine.api.device(index):
            own = Machine(machine.kind, index)
            timing = time_launch(own.adding(LARGE // 4), own.clock, PRECISE)
        found.setdefault(index, []).append(timing.median)

    for index in range(count):
        time_on(index)
    threads = [threading.Thread(target=time_on, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, (alone, together) in sorted(found.items()):
        print(f"device {index}: {alone:.4f} ms alone, {together:.4f} ms beside the others")
    return all(abs(a / b - 1) < 0.05 for a, b in found.values())


STEPS = (what, events, cache, profiler, hook, worker, fault, hang, memory, several)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=[step.__name__ for step in STEPS])
    parser.add_argument("--device", choices=("npu", "cuda"), default="npu")
    arguments = parser.parse_args()
    step = next(step for step in STEPS if step.__name__ == arguments.step)
    fine = step(Machine(arguments.device))
    print("as expected" if fine else f"NOT as expected: {step.__doc__}")
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())

"""An Ascend NPU as a device, on torch_npu's own interface.

No line of this file has met hardware yet: docs/first-run-on-hardware.md lists what to run first.
Every name of torch_npu is checked against the wheel's own files by tests/search/test_npu.py.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ascend_autotune.analysis.chips import CHIPS
from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, DeviceInfo
from ascend_autotune.search.profiled import kernel_times
from ascend_autotune.search.timed import TimedDevice
from ascend_autotune.search.timing import (
    COARSE,
    PRECISE,
    Event,
    Plan,
    Timing,
    middle,
    quantile,
    time_launch,
)

logger = logging.getLogger("ascend_autotune")

_CLEARED = 192 * 1024 * 1024
"""Bytes written to clear the L2 cache: as triton-ascend's driver does; A2 and A3 have 192 MiB."""
SHORT_MS = 0.03
"""A kernel that events give less than this is timed by the profiler: its own launch counts."""
PROFILED = 30
"""So many launches are profiled: writing and reading a trace takes longer than they do."""

Method = Literal["auto", "events", "profiler"]


def _torch() -> Any:
    """torch with torch_npu in it. Raises `ConfigFailed` with a plain message where it is not."""
    try:
        import torch
        import torch_npu  # noqa: F401
    except Exception as error:  # without CANN importing torch itself fails (facts.md §6)
        raise ConfigFailed(
            "launch",
            f"torch_npu cannot be imported ({error}): install CANN and source its set_env.sh",
        ) from error
    return torch


class NpuClock:
    """Events and the cache of one NPU; None: the current one."""

    def __init__(self, index: int | None = None) -> None:
        self._torch = _torch()
        self.index = self._torch.npu.current_device() if index is None else index
        self._cache: Any = None

    def event(self) -> Event:
        event: Event = self._torch.npu.Event(enable_timing=True)
        return event

    def synchronize(self) -> None:
        self._torch.npu.synchronize(self.index)

    def clear_cache(self) -> None:
        if self._cache is None:
            self._cache = self._torch.empty(
                _CLEARED // 4, dtype=self._torch.int32, device=f"npu:{self.index}"
            )
        self._cache.zero_()

    def current(self) -> AbstractContextManager[object]:
        """Makes the NPU the current one for a while: several NPUs may be tuned on at once."""
        guard: AbstractContextManager[object] = self._torch.npu.device(self.index)
        return guard


def npu_info(name: str) -> DeviceInfo:
    """What is published of a chip by the compiler's own table (facts.md §3)."""
    chip = CHIPS.get(name)
    if chip is None:
        return DeviceInfo(name, "npu")
    return DeviceInfo(
        name,
        "npu",
        cores=chip.cube_cores or 0,
        vector_cores=chip.vector_cores or 0,
        capacity=dict(chip.capacity),
    )


def npu_device(
    launch: Callable[[Config], object],
    *,
    kernel: str,
    chip: str,
    info: DeviceInfo | None = None,
    index: int | None = None,
    method: Method = "auto",
    coarse: Plan = COARSE,
    precise: Plan = PRECISE,
    trial: Callable[[], AbstractContextManager[None]] = nullcontext,
    refresh: Callable[[], object] | None = None,
    first: Callable[[Config], object] | None = None,
) -> TimedDevice:
    """An NPU with one kernel's launches; `kernel` is its function's name, as a profile shows it.

    `method`: events, several launches between two where one is too short; profiler (the device's
    own time); auto: the profiler for finalists that are too short for events.
    """
    batched = replace(precise, batched_ms=SHORT_MS)
    clock = NpuClock(index)
    profiler = Profiler(kernel, clock)
    short = False  # one finalist is: then all are profiled, for they are compared

    def timer(
        run: Callable[[], object],
        plan: Plan,
        limit_ms: float | None,
        before: Callable[[], object] | None,
    ) -> Timing:
        nonlocal short
        if method == "profiler":
            return profiler.time(run, before)
        if method == "events" and plan is precise:
            return time_launch(run, clock, batched, limit_ms=limit_ms, before=before)
        timing = time_launch(run, clock, plan, limit_ms=limit_ms, before=before)
        short = short or timing.median < SHORT_MS
        if method == "auto" and plan is precise and short:
            try:
                return profiler.time(run, before)
            except (OSError, RuntimeError, ValueError) as error:
                logger.info("the profiler gives no time (%s): events do", error)
                return time_launch(run, clock, batched, limit_ms=limit_ms, before=before)
        return timing

    return TimedDevice(
        info or npu_info(chip),
        clock,
        launch,
        coarse=coarse,
        precise=precise,
        trial=trial,
        refresh=refresh,
        first=first,
        timer=timer,
        context=clock.current,
    )


class Profiler:
    """Device time of one kernel by torch_npu.profiler."""

    def __init__(self, kernel: str, clock: NpuClock) -> None:
        self.kernel, self.clock = kernel, clock

    def time(
        self, launch: Callable[[], object], before: Callable[[], object] | None = None
    ) -> Timing:
        """Raises ValueError where the profile has no row of the kernel."""
        with tempfile.TemporaryDirectory(prefix="ascend_autotune_profile_") as folder:
            self._profile(launch, before, folder)
            times = sorted(kernel_times(Path(folder), self.kernel, PROFILED))
        return Timing(middle(times), quantile(times, 0.2), quantile(times, 0.8), len(times))

    def _profile(
        self, launch: Callable[[], object], before: Callable[[], object] | None, folder: str
    ) -> None:
        import torch_npu

        profiler = torch_npu.profiler
        with profiler.profile(
            activities=[profiler.ProfilerActivity.NPU],
            schedule=profiler.schedule(wait=0, warmup=2, active=PROFILED, repeat=1, skip_first=1),
            on_trace_ready=profiler.tensorboard_trace_handler(folder),
            experimental_config=profiler._ExperimentalConfig(
                profiler_level=profiler.ProfilerLevel.Level1,
                aic_metrics=profiler.AiCMetrics.PipeUtilization,
                data_simplification=False,
            ),
        ) as profile:
            for _ in range(1 + 2 + PROFILED):
                if before is not None:
                    before()
                self.clock.clear_cache()
                launch()
                self.clock.synchronize()
                profile.step()

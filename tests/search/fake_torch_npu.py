"""A stand-in for torch and torch_npu with the surface that search/npu.py uses, and no more.

A kernel on it takes the time that it says; the profiler writes what ran as CANN's tables do.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class FakeNpu:
    """One machine with several NPUs: `ran` holds (kind of operation, microseconds) in order."""

    def __init__(self) -> None:
        self.now_us = 0.0
        self.index = 0
        self.entered: list[int] = []
        self.ran: list[tuple[str, float]] = []
        self.profile_rows: list[tuple[str, float]] | None = None
        self.profiles = 0
        self.rows_of: Callable[[str, float], list[tuple[str, float]]] = lambda name, us: [
            (name, us)
        ]

    def run(self, name: str, microseconds: float) -> None:
        self.now_us += microseconds
        if self.profile_rows is not None:
            self.profile_rows += self.rows_of(name, microseconds)

    # -- the modules -----------------------------------------------------------------------------

    def torch(self) -> Any:
        return SimpleNamespace(
            npu=SimpleNamespace(
                Event=lambda enable_timing=False: _Event(self),
                synchronize=lambda device=None: None,
                current_device=lambda: self.index,
                device=lambda device: _Guard(self, device),
            ),
            int32="int32",
            empty=lambda count, dtype, device: SimpleNamespace(
                zero_=lambda: self.run("ZerosLike", count * 4 / 1.6e6)
            ),
        )

    def torch_npu(self) -> Any:
        return SimpleNamespace(
            profiler=SimpleNamespace(
                profile=lambda **given: _Profile(self, **given),
                ProfilerActivity=SimpleNamespace(NPU="npu"),
                schedule=lambda **given: SimpleNamespace(**given),
                tensorboard_trace_handler=lambda dir_name: dir_name,
                _ExperimentalConfig=lambda **given: SimpleNamespace(**given),
                ProfilerLevel=SimpleNamespace(Level1=1),
                AiCMetrics=SimpleNamespace(PipeUtilization=1),
            )
        )


class _Event:
    def __init__(self, npu: FakeNpu) -> None:
        self.npu, self.at = npu, 0.0

    def record(self) -> None:
        self.at = self.npu.now_us

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: _Event) -> float:
        return (end.at - self.at) / 1000


class _Guard:
    def __init__(self, npu: FakeNpu, index: int) -> None:
        self.npu, self.index, self.before = npu, index, npu.index

    def __enter__(self) -> None:
        self.before, self.npu.index = self.npu.index, self.index
        self.npu.entered.append(self.index)

    def __exit__(self, *_: object) -> None:
        self.npu.index = self.before


class _Profile:
    """As torch_npu's: `schedule` says which steps are written, the handler where."""

    def __init__(
        self, npu: FakeNpu, *, activities: Any, schedule: Any, on_trace_ready: str,
        experimental_config: Any,
    ) -> None:  # fmt: skip
        self.npu, self.schedule, self.folder = npu, schedule, Path(on_trace_ready)
        self.steps: list[list[tuple[str, float]]] = []

    def __enter__(self) -> _Profile:
        self.npu.profile_rows = []
        self.npu.profiles += 1
        return self

    def step(self) -> None:
        assert self.npu.profile_rows is not None
        self.steps.append(self.npu.profile_rows)
        self.npu.profile_rows = []

    def __exit__(self, *_: object) -> None:
        self.npu.profile_rows = None
        first = self.schedule.skip_first + self.schedule.wait + self.schedule.warmup
        active = self.steps[first : first + self.schedule.active]
        folder = self.folder / "host_1_20260101_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        folder.mkdir(parents=True)
        with (folder / "kernel_details.csv").open("w", newline="") as out:
            table = csv.writer(out)
            table.writerow(
                ["Step Id", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)"]
            )
            for number, rows in enumerate(active):
                for name, duration in rows:
                    table.writerow([number, name, name, "AI_CORE", "0", f"{duration:.3f}"])

"""A device made of a kernel's own launches and somebody's timer.

It serves whatever Triton can launch on: a `do_bench` of the user's, the modelled NPU, a driver
that does nothing.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from traceback import walk_tb
from typing import Any

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, DeviceInfo, Failure, Reading

Bench = Callable[..., Any]
"""`do_bench(kernel_call, quantiles=(0.5, 0.2, 0.8))`: ms, one for each quantile or a single one."""

QUANTILES = (0.5, 0.2, 0.8)
_OVERFLOW = re.compile(
    r"(\w+) overflow, requires (\d+) bits while (\d+) bits available", re.IGNORECASE
)
_MEMORIES = {"ub": "ub", "cbuf": "l1", "cc": "l0c"}
_OF_COMPILERS = frozenset(
    {"CompilationError", "CompileTimeAssertionFailure", "MLIRCompilationError", "PTXASError"}
)
_LIBRARIES = sys.stdlib_module_names | {"triton", "torch", "torch_npu", "numpy", "ascend_autotune"}
_OUT_OF_MEMORY = ("OutOfMemoryError", "MemoryError")
# Errors after which a device's context is of no use. CUDA's by their text (cudaErrorIllegalAddress,
# MisalignedAddress, LaunchFailure, Assert, EccUncorrectable); ACL's by their number: 507000 and up
# are the runtime's (507011 to 507057 an AI core's or a vector core's exception or timeout).
_FAULT = re.compile(
    r"illegal memory access|misaligned address|unspecified launch failure|device-side assert|"
    r"illegal instruction|uncorrectable|hardware stack error|invalid program counter|"
    r"\b5070[1-5]\d\b|ai ?core exception|vector core exception|device task abort",
    re.IGNORECASE,
)
_EXHAUSTED = re.compile(r"out of memory|\b207018\b", re.IGNORECASE)


def as_failure(error: Exception) -> ConfigFailed:
    """What an error of a compile or a launch means for the config, with its own message."""
    if isinstance(error, ConfigFailed):
        return error
    name, text = type(error).__name__, str(error).strip()
    found = _OVERFLOW.findall(text)
    if found:
        memory, needed, available = found[-1]  # the compiler's last attempt
        which = _MEMORIES.get(memory.lower(), memory.lower())
        return ConfigFailed(
            "overflow",
            f"{which} needs {int(needed) // 8:,} bytes, the chip has {int(available) // 8:,} "
            f"(the compiler's own word)",
            memory=which,
            required_bytes=int(needed) // 8,
            available_bytes=int(available) // 8,
        )
    if name == "OutOfResources":
        return ConfigFailed(
            "overflow",
            text,
            memory=str(getattr(error, "name", "")) or None,
            required_bytes=getattr(error, "required", None),
            available_bytes=getattr(error, "limit", None),
        )
    kind: Failure = "launch"
    if any(parent.__name__ in _OF_COMPILERS for parent in type(error).__mro__):
        kind = "compile"
    elif name in _OUT_OF_MEMORY or _EXHAUSTED.search(text):
        kind = "memory"
    elif _FAULT.search(text):
        kind = "fault"
    where = _raised_at(error) if kind == "launch" else ""
    return ConfigFailed(kind, (f"{name}: {text}" if text else name) + where)


def _raised_at(error: Exception) -> str:
    """The line of the user's own code - a grid, a hook - that raised; "" where it was another's."""
    frames = list(walk_tb(error.__traceback__))
    if not frames:
        return ""
    frame, line = frames[-1]
    module = str(frame.f_globals.get("__name__", "")).split(".")[0]
    return "" if module in _LIBRARIES else f" (at {Path(frame.f_code.co_filename).name}:{line})"


class LaunchDevice:
    """One kernel with one call's arguments.

    `launch` runs a config once, its first time compiling it. `bench` times a call, in ms.
    `trial` surrounds each timing.
    """

    def __init__(
        self,
        info: DeviceInfo,
        launch: Callable[[Config], object],
        bench: Bench,
        precise_bench: Bench | None = None,
        trial: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._info = info
        self._launch = launch
        self._bench = bench
        self._precise = precise_bench or bench
        self._trial = trial

    @property
    def info(self) -> DeviceInfo:
        return self._info

    def clock(self) -> float:
        return time.perf_counter()

    def prepare(self, configs: list[Config]) -> None:
        """Nothing is compiled ahead: Triton's front end is not safe in threads."""

    def time(
        self, config: Config, *, precise: bool = False, limit_ms: float | None = None
    ) -> Reading:
        bench = self._precise if precise else self._bench
        first_call: list[float] = []
        began = time.perf_counter()

        def call() -> None:
            before = time.perf_counter()
            self._launch(config)
            if not first_call:  # compiles
                first_call.append(time.perf_counter() - before)

        try:
            with self._trial():
                measured = bench(call, quantiles=QUANTILES)
        except Exception as error:
            raise as_failure(error) from error
        took = time.perf_counter() - began
        median, low, high = _three(measured)
        if not median < float("inf"):
            raise ConfigFailed("launch", "its timer gives no finite time")
        compile_s = first_call[0] if first_call else 0.0
        return Reading(median, low, high, compile_s=compile_s, bench_s=max(0.0, took - compile_s))


def _three(measured: Any) -> tuple[float, float, float]:
    if isinstance(measured, Sequence):
        times = [float(value) for value in measured]
        if len(times) >= 3:
            return times[0], times[1], times[2]
        return times[0], times[0], times[-1]
    return float(measured), float(measured), float(measured)

"""What the isolation tests' workers run: faults to order, with no device and no Triton."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ascend_autotune.search.device import ConfigFailed


class Faulty:
    """Goes wrong as the config's `do` says; writes what it did to a file."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.note(f"start {os.getpid()}")

    def note(self, text: str) -> None:
        with open(self.log, "a") as out:
            out.write(text + "\n")

    def compile(self, values: Mapping[str, Any], grid: Sequence[int] | None) -> None:
        self.note(f"compile {values['do']}")
        if values["do"] == "compile_hang":
            time.sleep(600)
        if values["do"] == "compile_crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if values["do"] == "compile_error":
            raise ValueError("ub overflow, requires 4194304 bits while 1572864 bits available!")
        if values["do"] == "refused":
            raise ConfigFailed("compile", "refused")

    def launch(self, values: Mapping[str, Any], grid: Sequence[int] | None) -> None:
        self.note(f"launch {values['do']} {grid}")
        if values["do"] == "launch_hang":
            time.sleep(600)
        if values["do"] == "killed":
            os.write(2, b"no space left for me\n")
            os.kill(os.getpid(), signal.SIGKILL)
        if values["do"] == "fault":
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if values["do"] == "memory":
            raise MemoryError("NPU out of memory")
        if values["do"] == "argument":
            raise TypeError("missing an argument")


def broken(**_: object) -> object:
    raise ImportError("no such kernel here")


class OnStandin:
    """A Triton kernel on the modelled NPU, with its faults to order."""

    def __init__(self) -> None:
        from ascend_autotune.search.standin import activate

        self.fault: str | None = None
        activate(faults=lambda kernel, values: self.fault)

    def compile(self, values: Mapping[str, Any], grid: Sequence[int] | None) -> None:
        self.fault = values["fault"] if values["fault"].startswith("compile") else None
        from tests.search.standin.kernels import Tensor, scale

        scale.warmup(Tensor("fp32"), 1000, 2.0, BLOCK=values["BLOCK"], grid=(1,))

    def launch(self, values: Mapping[str, Any], grid: Sequence[int] | None) -> None:
        from tests.search.standin.kernels import Tensor, scale

        self.fault = values["fault"] if values["fault"].startswith("launch") else None
        scale[tuple(grid or (4,))](Tensor("fp32"), 1000, 2.0, BLOCK=values["BLOCK"])

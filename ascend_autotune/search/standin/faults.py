"""Faults to order, for tests of what must survive them. Nothing else passes a plan in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from ascend_autotune.search.standin.refusal import CompileFailure

Fault = Literal[
    "compile_error",  # the compiler refuses
    "compile_crash",  # it dies without a word on the program
    "compile_hang",  # it does not end until the stand-in is taken away
    "launch_fault",  # the device reports an exception of a core
    "launch_memory",  # the device's memory is full
    "launch_hang",  # the launch does not end until the stand-in is taken away
    "nan",  # the tensors that the kernel writes hold NaN afterwards
]
FAULTS: tuple[Fault, ...] = get_args(Fault)

# The kernel's name, and its constants and compile options by name; a fault, or None for none.
FaultPlan = Callable[[str, Mapping[str, Any]], str | None]


class OutOfMemoryError(RuntimeError):
    """Stands for torch's error of the same name, on a machine that may have no torch."""


class Faults:
    """A plan and what it does. Without a plan nothing ever happens."""

    def __init__(self, plan: FaultPlan | None) -> None:
        self._plan = plan
        self._released = threading.Event()

    def __bool__(self) -> bool:
        return self._plan is not None

    def release(self) -> None:
        """End every hang."""
        self._released.set()

    def compiling(self, kernel: str, values: Mapping[str, Any]) -> None:
        """Before the judge is asked. Raises `CompileFailure`, or hangs."""
        fault = self._ask(kernel, values)
        if fault == "compile_error":
            raise CompileFailure("error: refused by the fault plan (modelled)", "compile")
        if fault == "compile_crash":
            raise CompileFailure("the compiler crashed by the fault plan (modelled)", "compile")
        if fault == "compile_hang":
            self._hang(kernel)

    def launching(self, kernel: str, values: Mapping[str, Any]) -> bool:
        """Before a launch; whether its results are to be spoilt. Raises RuntimeError, or hangs."""
        fault = self._ask(kernel, values)
        if fault == "launch_fault":
            # As torch_npu words it: ACL's "aicore exception".
            raise RuntimeError(
                f"{kernel}: ACL stream synchronize failed, error code:507015 (modelled fault)"
            )
        if fault == "launch_memory":
            raise OutOfMemoryError(f"{kernel}: NPU out of memory (modelled fault)")
        if fault == "launch_hang":
            self._hang(kernel)
        return fault == "nan"

    def _ask(self, kernel: str, values: Mapping[str, Any]) -> str | None:
        fault = self._plan(kernel, values) if self._plan is not None else None
        if fault is not None and fault not in FAULTS:
            raise ValueError(f"no such fault: {fault!r}; known: {', '.join(FAULTS)}")
        return fault

    def _hang(self, kernel: str) -> None:
        self._released.wait()
        raise RuntimeError(f"{kernel}: the modelled NPU was taken away while it hung")

"""The simulated clock, and Triton's device interface on it."""

from __future__ import annotations

import threading
from typing import Any


class Clock:
    """Modelled time since the stand-in was made.

    Whole picoseconds: a launch takes the same however much time has gone by before it.
    """

    def __init__(self) -> None:
        self.picoseconds = 0
        self._lock = threading.Lock()

    def advance(self, seconds: float) -> None:
        with self._lock:
            self.picoseconds += round(seconds * 1e12)

    def now_ms(self) -> float:
        return self.picoseconds / 1e9


class ModelledEvent:
    """An event of the simulated clock, for `triton.testing.do_bench`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at: int | None = None

    def record(self, *_stream: object) -> None:
        self._at = self._clock.picoseconds

    def wait(self, *_stream: object) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: ModelledEvent) -> float:
        """Modelled ms from this event to `end`."""
        if self._at is None or end._at is None:
            raise RuntimeError("elapsed_time (modelled): both events must be recorded before")
        return (end._at - self._at) / 1e9


class ModelledInterface:
    """The part of `torch.npu` that Triton's own benchmarks use."""

    def __init__(self, clock: Clock, device: int) -> None:
        self._clock = clock
        self._device = device

    def Event(self, *_arguments: Any, **_options: Any) -> ModelledEvent:
        return ModelledEvent(self._clock)

    def synchronize(self, *_device: object) -> None: ...

    def current_device(self) -> int:
        return self._device

    def set_device(self, _device: object) -> None: ...

    def is_available(self) -> bool:
        return True

"""What a search asks of a device: compile a config, time it, say what it is.

A device stands for one kernel with one call's arguments on one chip. A recorded landscape,
a modelled NPU, a real NPU and a GPU are devices alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from ascend_autotune.search.config import Config

Failure = Literal["overflow", "compile", "timeout", "launch", "memory", "fault", "hang", "wrong"]


class ConfigFailed(Exception):
    """A config that cannot be had: costs that config, never the search.

    `kind`: overflow (an on-chip memory; `memory`, `required_bytes` and `available_bytes` say
    which and by how much), compile (refused for another reason), timeout (of the compiler),
    launch (refused), memory (the device's own is full), fault (of the device), hang (a launch
    that did not end), wrong (its result).
    """

    def __init__(
        self,
        kind: Failure,
        message: str,
        *,
        memory: str | None = None,
        required_bytes: int | None = None,
        available_bytes: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.memory = memory
        self.required_bytes = required_bytes
        self.available_bytes = available_bytes


@dataclass(frozen=True)
class DeviceInfo:
    """What the cost model may know of a device; 0 or an empty mapping where it is not known.

    `cores` are those that run one program each (cube cores of an NPU, SMs of a GPU);
    `vector_cores` as far as they are others. `bandwidth` is in bytes per second by level
    ("memory", "l2"); `flops` per second by dtype as Triton writes it ("fp16", "fp32");
    `capacity` in bytes by memory of one core (ub, l1, l0c; "shared" on a GPU), and "l2" of
    the whole. `modelled`: its times are a model's, not a clock's.
    """

    name: str
    kind: Literal["npu", "cuda", "standin", "replay"]
    cores: int = 0
    vector_cores: int = 0
    bandwidth: Mapping[str, float] = field(default_factory=dict)
    flops: Mapping[str, float] = field(default_factory=dict)
    capacity: Mapping[str, int] = field(default_factory=dict)
    modelled: bool = False


@dataclass(frozen=True)
class Reading:
    """One timing of a config, in ms: the median and the spread of `repetitions` runs.

    `compile_s` and `bench_s` are the seconds that it took; `stopped` says that it was cut
    short because it was clearly slower than the limit given.
    """

    time_ms: float
    low_ms: float
    high_ms: float
    repetitions: int = 1
    compile_s: float = 0.0
    bench_s: float = 0.0
    stopped: bool = False


@runtime_checkable
class Device(Protocol):
    """One kernel with its arguments on one chip.

    Every method raises `ConfigFailed` for a config that cannot be had, and nothing else for
    a config's sake. `KeyboardInterrupt` passes through.
    """

    @property
    def info(self) -> DeviceInfo: ...

    def clock(self) -> float:
        """Seconds since any fixed moment, on the clock that budgets are kept by."""
        ...

    def prepare(self, configs: list[Config]) -> None:
        """Start to compile these ahead, where the device can; never waits, never raises."""
        ...

    def time(
        self, config: Config, *, precise: bool = False, limit_ms: float | None = None
    ) -> Reading:
        """Compile where needed, then time. `precise`: longer, for finalists. `limit_ms`: a
        config clearly slower than this need not be timed to the end."""
        ...

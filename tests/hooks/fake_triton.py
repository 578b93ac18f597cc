"""A device that is none: Triton traces kernels for it, nothing is compiled, nothing runs.

The front end is the installed Triton's own, so that wrong arguments and unknown options are
refused as they are on a chip. What follows is made up here: the binary, the launch and its time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import triton
from triton import backends as _backends
from triton.backends.compiler import GPUTarget
from triton.runtime import driver as _place

BACKEND = "fake"
# A JIT function keeps its kernels by device number: one for each driver.
_NUMBERS = itertools.count(7100)

ASCEND = hasattr(triton._C.libtriton, "ascend")
VERSION = "triton-ascend" if ASCEND else triton.__version__


@dataclass(frozen=True)
class Launch:
    """What reached the device: the tile, the other constants and the options of the compile."""

    kernel: str
    grid: tuple[int, int, int]
    constants: Mapping[str, Any]
    options: Mapping[str, Any]
    arguments: tuple[Any, ...] = field(compare=False, default=())

    def __getitem__(self, name: str) -> Any:
        return self.constants[name] if name in self.constants else self.options[name]


class FakeDriver:
    """Records launches; `effect` is called with each, and may raise. `times` says what one takes.

    `asked` has the names of what was asked of it.
    """

    def __init__(
        self,
        effect: Callable[[Launch], object] | None = None,
        times: Callable[[Launch], float] = lambda launch: 1.0,
        arch: object = 90,
    ) -> None:
        self.device = next(_NUMBERS)
        self.arch = arch
        self.launches: list[Launch] = []
        self.compiled: list[Mapping[str, Any]] = []
        self.effect = effect
        self.times = times
        self.benches = 0
        self.utils = _Utilities()
        self._spare = SimpleNamespace(zero_=lambda: None)

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_device(self) -> int:
        return self.device

    def set_current_device(self, device: object) -> None: ...

    def get_current_stream(self, device: object = None) -> int:
        return 0

    def get_current_target(self) -> Any:
        return GPUTarget(BACKEND, self.arch, 32)

    def get_benchmarker(self) -> Callable[..., Any]:
        return self.do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        return self._spare

    def get_device_interface(self) -> Any:
        raise AssertionError("a fake device has no clock of its own")

    def launcher_cls(self, src: Any, metadata: Any) -> Callable[..., None]:
        names = list(src.fn.arg_names)
        constants = {}
        for key, value in src.constants.items():
            name = key if isinstance(key, str) else names[key[0] if isinstance(key, tuple) else key]
            constants[name] = getattr(value, "value", value)
        options = dict(metadata._asdict())

        def launch(gx: int, gy: int, gz: int, *rest: Any) -> None:
            done = Launch(src.fn.__name__, (gx, gy, gz), constants, options, rest[6:])
            self.launches.append(done)
            if self.effect is not None:
                self.effect(done)

        return launch

    def do_bench(
        self, call: Callable[[], object], quantiles: Sequence[float] | None = None, **_: object
    ) -> Any:
        """Runs the call once."""
        self.benches += 1
        call()
        taken = self.times(self.launches[-1]) if self.launches else 1.0
        return taken if quantiles is None else [taken] * len(quantiles)

    def tiles(self, *names: str) -> list[tuple[Any, ...]]:
        """Of each launch the values of these names."""
        return [tuple(launch[name] for name in names) for launch in self.launches]


class _Utilities:
    def get_device_properties(self, device: object = 0) -> dict[str, int]:
        return {
            "max_shared_mem": 1 << 20,
            "multiprocessor_count": 8,
            "warpSize": 32,
            "num_aicore": 8,
            "num_vectorcore": 16,
        }

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[Any, ...]:
        if ASCEND or _version() < (3, 4):
            return object(), object(), 0, 0
        # Later releases ask for the largest block too, and unload a module that is none of None.
        return None, object(), 0, 0, 4096


def _version() -> tuple[int, ...]:
    return tuple(int(part) for part in triton.__version__.split(".")[:2])


class _Untouchable:
    """A driver that must not be asked anything."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"the driver was asked for {name}")


def _backend_class() -> type[Any]:
    native = _backends.backends["ascend" if ASCEND else "nvidia"].compiler

    class FakeBackend(native):  # type: ignore[misc, valid-type]
        @staticmethod
        def supports_target(target: Any) -> bool:
            return bool(target.backend == BACKEND)

        def __init__(self, target: Any) -> None:
            super().__init__(target)
            if ASCEND:  # whose options go by the target's name
                self.target = GPUTarget("npu", "Ascend910B3", 0)
            self.binary_ext = BACKEND

        def pack_metadata(self, metadata: Any) -> Any:
            return ()

        def add_stages(self, stages: dict[str, Any], options: Any, *language: Any) -> None:
            def named(module: Any, metadata: dict[str, Any]) -> Any:
                metadata.update(name="kernel", shared=0, warp_size=32, tmem_size=0)
                return module

            stages["ttir"] = named
            stages[BACKEND] = lambda module, metadata: b"nothing"

        def hash(self) -> str:
            return "fake"

    return FakeBackend


@contextmanager
def fake_device(driver: Any) -> Iterator[Any]:
    """`driver` is Triton's active one inside the block."""
    before = dict(vars(_place))
    known = _backends.backends
    known[BACKEND] = _backends.Backend(_backend_class(), FakeDriver)
    _place.set_active(driver)
    try:
        yield driver
    finally:
        known.pop(BACKEND, None)
        vars(_place).clear()
        vars(_place).update(before)


@contextmanager
def no_device() -> Iterator[None]:
    """Inside the block, asking the active driver anything fails."""
    with fake_device(_Untouchable()):
        yield


class Events(list[Any]):
    """What happened, in order."""

    def note(self, *what: Any) -> None:
        self.append(what[0] if len(what) == 1 else what)


class Tensor:
    """Stands for a tensor; notes what is done to it. It has one value."""

    def __init__(
        self,
        dtype: str = "float16",
        *,
        pointer: int = 4096,
        name: str = "",
        value: float = 0.0,
        events: Events | None = None,
    ) -> None:
        self.dtype = dtype
        self.pointer = pointer
        self.name = name
        self.value = value
        self.events = events if events is not None else Events()

    def data_ptr(self) -> int:
        return self.pointer

    def numel(self) -> int:
        return 1024

    def element_size(self) -> int:
        return 2

    def zero_(self) -> None:
        self.events.note("zero", self.name)
        self.value = 0.0

    def clone(self) -> Tensor:
        self.events.note("clone", self.name)
        return Tensor(self.dtype, name=self.name, value=self.value, events=self.events)

    def copy_(self, other: Tensor) -> None:
        self.events.note("copy", self.name)
        self.value = other.value

    def __repr__(self) -> str:
        return f"Tensor({self.name or self.dtype}={self.value})"

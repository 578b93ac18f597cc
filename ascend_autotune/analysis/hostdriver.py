"""A driver for machines without a device, so that modules that ask for one can be imported.

Triton 3.2 asks the active driver whenever `@triton.autotune` decorates; kernels' own modules
ask it for the device's properties. Nothing can be launched through it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from ascend_autotune.analysis.chips import DEFAULT_CHIP, Chip, chip

_NO_DEVICE = "there is no device on this machine: this driver only lets kernels be imported"


class _Utilities:
    def __init__(self, described: Chip) -> None:
        self._chip = described

    def get_device_properties(self, _device: int = 0) -> dict[str, int]:
        """The properties that kernels read; cores that are not published count as one."""
        return {
            "num_aicore": self._chip.cube_cores or 1,
            "num_vectorcore": self._chip.vector_cores or 1,
            "multiprocessor_count": self._chip.vector_cores or 1,
            "max_shared_mem": self._chip.capacity["ub"],
            "warpSize": 32,
        }

    def get_arch(self) -> str:
        return self._chip.name


class HostDriver:
    """Answers what modules ask of a driver at import, as the given chip would."""

    def __init__(self, described: Chip) -> None:
        self._chip = described
        self.utils = _Utilities(described)

    @classmethod
    def is_active(cls) -> bool:
        return True

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("npu", self._chip.name, 0)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, _device: int) -> None:
        return None

    def get_current_stream(self, _device: int | None = None) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> NoReturn:
        raise RuntimeError(_NO_DEVICE)

    def get_benchmarker(self) -> Any:
        def no_device(*_args: object, **_kwargs: object) -> NoReturn:
            raise RuntimeError(_NO_DEVICE)

        return no_device

    def launcher_cls(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise RuntimeError(_NO_DEVICE)


def has_device() -> bool:
    """Whether Triton finds exactly one driver for a device that works."""
    from triton.runtime import driver

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on tools that only a device's machine has
        try:
            driver.active.get_current_target()
        except Exception:
            return False
    return True


@contextmanager
def host_only(target: str = DEFAULT_CHIP) -> Iterator[None]:
    """Where there is no device, have a `HostDriver` active inside the block, then put back what
    was there. Raises `RequestError` for an unknown target."""
    described = chip(target)
    if has_device():
        yield
        return
    from triton.runtime import driver

    # `active` is made on first use, under different names: keep the object's whole state.
    before = dict(vars(driver))
    driver.set_active(HostDriver(described))
    try:
        yield
    finally:
        vars(driver).clear()
        vars(driver).update(before)

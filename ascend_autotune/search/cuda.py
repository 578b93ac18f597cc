"""A CUDA GPU as a device, through torch.cuda: for the parts that are the same on an NPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import DeviceInfo
from ascend_autotune.search.known import known_device
from ascend_autotune.search.timed import TimedDevice
from ascend_autotune.search.timing import COARSE, PRECISE, Event, Plan

_CLEARED = 256 * 1024 * 1024
"""Bytes written to clear the L2 cache: as Triton's NVIDIA driver does."""


class CudaClock:
    """Events and the cache of one GPU; None: the current one."""

    def __init__(self, index: int | None = None) -> None:
        import torch

        self._torch: Any = torch
        self.index = torch.cuda.current_device() if index is None else index
        self._cache: Any = None

    def event(self) -> Event:
        event: Event = self._torch.cuda.Event(enable_timing=True)
        return event

    def synchronize(self) -> None:
        self._torch.cuda.synchronize(self.index)

    def clear_cache(self) -> None:
        if self._cache is None:
            self._cache = self._torch.empty(
                _CLEARED // 4, dtype=self._torch.int32, device=f"cuda:{self.index}"
            )
        self._cache.zero_()

    def current(self) -> AbstractContextManager[object]:
        """Makes the GPU the current one for a while."""
        guard: AbstractContextManager[object] = self._torch.cuda.device(self.index)
        return guard


def cuda_info(index: int | None = None) -> DeviceInfo:
    """What the driver and published figures say of a GPU."""
    import torch

    properties: Any = torch.cuda.get_device_properties(
        torch.cuda.current_device() if index is None else index
    )
    info = known_device(properties.name, "cuda")
    l2 = int(getattr(properties, "L2_cache_size", 0))
    return replace(
        info,
        cores=int(properties.multi_processor_count),
        vector_cores=int(properties.multi_processor_count),
        capacity={**info.capacity, **({"l2": l2} if l2 else {})},
    )


def cuda_device(
    launch: Callable[[Config], object],
    *,
    index: int | None = None,
    coarse: Plan = COARSE,
    precise: Plan = PRECISE,
    trial: Callable[[], AbstractContextManager[None]] = nullcontext,
    refresh: Callable[[], object] | None = None,
    first: Callable[[Config], object] | None = None,
) -> TimedDevice:
    """A GPU with one kernel's launches; see `timed.TimedDevice`."""
    clock = CudaClock(index)
    return TimedDevice(
        cuda_info(clock.index),
        clock,
        launch,
        coarse=coarse,
        precise=precise,
        trial=trial,
        refresh=refresh,
        first=first,
        context=clock.current,
    )

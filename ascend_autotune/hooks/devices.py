"""The device that a call is timed on: the active driver's, with this call's arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ascend_autotune.hooks.candidates import Candidates
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.hooks.target import Target
from ascend_autotune.hooks.workers import first_elsewhere, once
from ascend_autotune.search.config import Config
from ascend_autotune.search.device import Device, DeviceInfo
from ascend_autotune.search.gate import Gate
from ascend_autotune.search.launching import LaunchDevice

if TYPE_CHECKING:
    from ascend_autotune.hooks.safety import Guard
    from ascend_autotune.hooks.tuner import SearchTuner
    from ascend_autotune.search.npu import Method


def info_for(target: Target) -> DeviceInfo:
    """What is known of the active device."""
    from ascend_autotune.search.known import known_device
    from ascend_autotune.search.standin import active, standin_info

    modelled = active()
    if modelled is not None:
        return modelled.info
    if target.chip is not None:  # the same published figures, of a chip that is really there
        return replace(standin_info(target.chip), kind="npu", modelled=False)
    return known_device(target.arch, "npu" if target.backend == "npu" else "cuda")


@contextmanager
def device_for(
    tuner: SearchTuner, here: Situation, found: Candidates, guard: Guard
) -> Iterator[Device]:
    """The device of one search. Times with the user's `do_bench` where there is one, else with
    the events of a real NPU or GPU, else with the driver's own timer (the modelled NPU's)."""

    def launch(config: Config) -> Any:
        return run_config(tuner, here, found, config)

    with first_elsewhere(tuner, here, found) as first:
        if isinstance(guard.gate, Gate):  # it launches too, the default that may have hung there
            guard.gate.first = first
        real = None if tuner.benched_by_user else _by_events(tuner, here, guard, launch, first)
        yield real or LaunchDevice(
            info_for(here.target), once(first, launch), tuner.do_bench, trial=guard.trial
        )


def _by_events(
    tuner: SearchTuner,
    here: Situation,
    guard: Guard,
    launch: Callable[[Config], object],
    first: Callable[[Config], object] | None,
) -> Device | None:
    """A device with a clock of its own; None where this one has none."""
    from ascend_autotune.search.standin import active
    from ascend_autotune.search.timed import plans

    backend = here.target.backend
    if active() is not None or backend not in ("npu", "cuda"):
        return None
    bounds = tuner.hints.timing_ms
    warmup, rep = tuner.bounds_ms
    coarse, precise = plans(
        bounds.get("bench_warmup", warmup),
        bounds.get("bench_active", rep),
        bounds.get("stage1_bench_warmup"),
        bounds.get("stage1_bench_rep"),
    )
    index, info = _index(here, backend), info_for(here.target)
    if backend == "cuda":
        from ascend_autotune.search.cuda import cuda_device

        return cuda_device(
            launch, index=index, coarse=coarse, precise=precise, trial=guard.trial,
            refresh=guard.refresh, first=first,
        )  # fmt: skip
    from ascend_autotune.search.npu import npu_device

    return npu_device(
        launch, kernel=here.call.info.name, chip=here.target.arch, info=info, index=index,
        coarse=coarse, precise=precise, trial=guard.trial, refresh=guard.refresh, first=first,
        method=method(),
    )  # fmt: skip


def method() -> Method:
    """How an NPU is timed: `TRITON_BENCH_METHOD=npu` asks for its profiler, as in
    triton-ascend's own do_bench."""
    asked = os.environ.get("TRITON_BENCH_METHOD", "").lower()
    return "profiler" if asked == "npu" else "auto"


def _index(here: Situation, backend: str) -> int | None:
    """The number of the device that the call's tensors are on; None: the current one."""
    for tensor in here.call.tensors.values():
        device: Any = getattr(tensor, "device", None)
        if getattr(device, "type", None) == backend:
            index: int | None = device.index
            return index
    return None


def launch_of(here: Situation, config: Config) -> dict[str, Any]:
    """The keywords of a generated config. Heuristics may read what stock Triton always passes."""
    fields: dict[str, Any] = {}
    if here.call.info.heuristics:
        from triton.runtime.autotuner import Config as TritonConfig

        stock = TritonConfig({}).all_kwargs()
        fields = {n: stock[n] for n in ("num_warps", "num_stages", "num_ctas") if n in stock}
    return {**fields, **here.beside, **config.values}


def run_config(tuner: SearchTuner, here: Situation, found: Candidates, config: Config) -> Any:
    """One launch of a config, with the hooks in the order in which stock Triton calls them.

    Source: `Autotuner._bench` of triton/runtime/autotuner.py.
    """
    call, original = here.call, found.originals.get(config)
    added = launch_of(here, config) if original is None else original.all_kwargs()
    current = {n: v for n, v in added.items() if n not in call.arguments and n not in call.kwargs}
    current = {**call.kwargs, **current}
    named = {**dict(zip(tuner.arg_names, call.args, strict=False)), **current}
    own_hook = getattr(original, "pre_hook", None)
    if own_hook is not None:
        own_hook(named)
    tuner.pre_hook(named)
    tuner.trials += 1
    try:
        result = tuner.launched.run(*call.args, **current)
    except Exception as error:
        try:
            tuner.post_hook(named, exception=error)
        finally:
            raise error  # whatever the hook made of it
    tuner.post_hook(named, exception=None)
    return result

"""The device that a call is timed on: the active driver's, with this call's arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ascend_autotune.hooks.candidates import Candidates
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.hooks.target import Target
from ascend_autotune.search.config import Config
from ascend_autotune.search.device import Device, DeviceInfo
from ascend_autotune.search.launching import LaunchDevice

if TYPE_CHECKING:
    from ascend_autotune.hooks.safety import Guard
    from ascend_autotune.hooks.tuner import SearchTuner


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


def device_for(tuner: SearchTuner, here: Situation, found: Candidates, guard: Guard) -> Device:
    """Times with the user's `do_bench` where there is one, else with the driver's own timer."""

    def launch(config: Config) -> Any:
        return run_config(tuner, here, found, config)

    return LaunchDevice(info_for(here.target), launch, tuner.do_bench, trial=guard.trial)


def run_config(tuner: SearchTuner, here: Situation, found: Candidates, config: Config) -> Any:
    """One launch of a config, with the hooks in the order in which stock Triton calls them.

    Source: `Autotuner._bench` of triton/runtime/autotuner.py.
    """
    call, original = here.call, found.originals.get(config)
    added = config.values if original is None else original.all_kwargs()
    current = {n: v for n, v in added.items() if n not in call.arguments and n not in call.kwargs}
    current = {**call.kwargs, **current}
    named = {**dict(zip(tuner.arg_names, call.args, strict=False)), **current}
    own_hook = getattr(original, "pre_hook", None)
    if own_hook is not None:
        own_hook(named)
    tuner.pre_hook(named)
    try:
        result = tuner.launched.run(*call.args, **current)
    except Exception as error:
        tuner.post_hook(named, exception=error)
        raise
    tuner.post_hook(named, exception=None)
    return result

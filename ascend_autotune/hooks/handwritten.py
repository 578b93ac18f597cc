"""Handwritten configs: each with its own options, those that are one program merged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.judge.flags import OPTIONS
from ascend_autotune.analysis.request import num_stages_matters
from ascend_autotune.analysis.space import LAUNCH_FIELDS
from ascend_autotune.hooks.candidates import Candidates, reasons_of, user_prune
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.search.config import Config
from ascend_autotune.search.profiles import effective
from ascend_autotune.search.result import Trial

if TYPE_CHECKING:
    from ascend_autotune.hooks.tuner import SearchTuner


def handwritten(tuner: SearchTuner, here: Situation) -> Candidates:
    """The user's own configs, less those that cannot run or are the program of another."""
    originals: dict[Config, Any] = {}
    trials: list[Trial] = []
    programs: dict[object, Config] = {}
    for original in user_prune(tuner, here, list(tuner.handwritten)):
        config = as_config(original, here)
        if config in originals or any(t.config == config for t in trials):
            continue
        program = _program(config, here)
        if program in programs:
            trials.append(Trial(config, "merged", "prune", same_as=programs[program]))
            continue
        found = here.assess(config.candidate, config.profile)
        if found is not None and found.status == "infeasible":
            trials.append(Trial(config, "pruned", "prune", reason=reasons_of(found.reasons)))
            programs[program] = config
            continue
        programs[program] = config
        originals[config] = original
    configs = tuple(originals)
    return Candidates(
        configs,
        trials=tuple(trials),
        default=configs[0] if configs else None,
        handwritten=True,
        originals=originals,
        notices=tuner.hints.notices,
        stats={"space": len(tuner.handwritten)},
    )


def as_config(original: Any, here: Situation) -> Config:
    """A triton.Config as the search has it, without what it says by default."""
    values = {k: v for k, v in original.all_kwargs().items() if k not in here.call.arguments}
    said = {n: v for n, v in values.items() if n == "multibuffer" or v not in (None, False)}
    profile = {n: v for n, v in said.items() if n in OPTIONS and n not in LAUNCH_FIELDS}
    shown = {n: v for n, v in values.items() if n not in OPTIONS and _UNSAID.get(n, ...) != v}
    fields = {n: values[n] for n in ("num_warps", "num_stages") if n in values}
    return Config({**shown, **fields}, profile)


# Fields that a triton.Config always has, as they are where nobody sets them.
_UNSAID: Mapping[str, object] = {
    "num_ctas": 1,
    "num_buffers_warp_spec": 0,
    "num_consumer_groups": 0,
    "reg_dec_producer": 0,
    "reg_inc_consumer": 0,
    "force_simt_template": False,
}


def _program(config: Config, here: Situation) -> object:
    """Equal for handwritten configs that compile to the same program."""
    values = dict(config.candidate)
    profile = {n: v for n, v in config.profile.items() if n not in here.call.options}
    if here.target.chip is not None:
        stages = values.get("num_stages")
        for name in LAUNCH_FIELDS:
            values.pop(name, None)
        if num_stages_matters() and stages == 1:
            profile["multibuffer"] = False
        profile = effective(profile)
    return tuple(sorted(values.items())), tuple(sorted(profile.items(), key=str))

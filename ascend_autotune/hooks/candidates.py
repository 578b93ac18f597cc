"""The configs of one call: generated or handwritten, and what was pruned before any compile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.judge.flags import OPTIONS
from ascend_autotune.analysis.sequences import LazySequence
from ascend_autotune.analysis.space import LAUNCH_FIELDS
from ascend_autotune.errors import RequestError
from ascend_autotune.hooks.choosing import middle_of, middle_tile
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.search.config import Config
from ascend_autotune.search.problem import Checked, Problem
from ascend_autotune.search.result import Trial
from ascend_autotune.search.spaces import pool

if TYPE_CHECKING:
    from ascend_autotune.hooks.tuner import SearchTuner

LISTED = 20_000
"""Of a space with more candidates the pruned ones are counted, not listed."""
SURE = 32
"""So many large tiles are asked for one that is sure to fit."""
_MULTIBUFFER = "enable-auto-multi-buffer"


@dataclass(frozen=True)
class Candidates:
    """What may be tried. `configs` are the survivors under the neutral profile (handwritten:
    under their own), `trials` those that are gone, `originals` the user's own triton.Config."""

    configs: Sequence[Config]
    profiles: tuple[Mapping[str, object], ...] = ({},)
    trials: tuple[Trial, ...] = ()
    default: Config | None = None
    starts: tuple[Config, ...] = ()
    handwritten: bool = False
    originals: Mapping[Config, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    stats: Mapping[str, object] = field(default_factory=dict)
    check: Callable[[Config], Checked] = Checked

    def problem(self, here: Situation, key: tuple[object, ...]) -> Problem:
        from ascend_autotune.hooks.work import workload_of

        configs = self.configs
        return Problem(
            here.call.info.name,
            LazySequence(len(configs), lambda i: configs[i].candidate),
            ({},) if self.handwritten or here.hints.mode == "prune" else self.profiles,
            key=key,
            program=here.identity if here.program is not None else key,
            family=here.family,
            default=self.default,
            starts=self.starts,
            check=self.check,
            workload=None if self.handwritten else workload_of(here),
            shape_final_top_k=here.hints.shape_final_top_k,
            last_trials=here.last_trials if here.target.chip and not self.handwritten else None,
        )


def make(tuner: SearchTuner, here: Situation) -> Candidates:
    """The candidates of a call. Raises `RequestError` for a constraint that fails."""
    complete = bool(tuner.handwritten) and all(
        name in config.kwargs for config in tuner.handwritten for name in here.searched
    )
    if complete and not tuner.hints.generate:
        from ascend_autotune.hooks.handwritten import handwritten

        return handwritten(tuner, here)
    return _generated(tuner, here)


def unpruned(tuner: SearchTuner, here: Situation) -> Candidates:
    """One usual tile, or the first handwritten config, with nothing analysed."""
    if tuner.handwritten:
        from ascend_autotune.hooks.handwritten import as_config

        config = as_config(tuner.handwritten[0], here)
        return Candidates(
            (config,), handwritten=True, originals={config: tuner.handwritten[0]}, default=config
        )
    space = tuner.hints.space(dots=True)
    tile = Config(middle_tile({n: space[n] for n in here.searched}))
    return Candidates((tile,), default=tile)


# -- generated -----------------------------------------------------------------------------


def _generated(tuner: SearchTuner, here: Situation) -> Candidates:
    pruned = here.pruned
    trials: list[Trial] = []
    stats: dict[str, object] = {}
    if pruned is not None:
        tiles: Sequence[Mapping[str, object]] = pruned.survivors
        stats = {"space": len(pruned.verdicts), "ttir_traces": pruned.stats["ttir_traces"]}
        stats["infeasible"] = len(pruned.infeasible)
        if len(pruned.verdicts) <= LISTED:
            trials = [
                Trial(Config(v.candidate), "pruned", "prune", reason=reasons_of(v.reasons))
                for v in pruned.verdicts
                if v.status == "infeasible"
            ]
    else:
        tiles = _product(here.space)
        stats = {"space": len(tiles)}
    if tuner.hints.constraints is not None:
        tiles, left_out = _constrained(tiles, tuner.hints.constraints)
        trials += left_out
    if tuner.early_config_prune or tuner.perf_model:
        tiles, left_out = _user_pruned(tuner, here, tiles)
        trials += left_out
    configs = LazySequence(len(tiles), lambda i: Config(tiles[i]))
    default = _usual(tiles, here.searched)
    starts = tuple(
        Config({**(default.candidate if default else {}), **known}, _options(config))
        for config in tuner.handwritten
        if (known := {n: config.kwargs[n] for n in here.searched if n in config.kwargs})
    )
    return Candidates(
        configs,
        here.profiles.profiles,
        tuple(trials),
        default,
        starts,
        notices=(*tuner.hints.notices, *here.profiles.notices),
        stats=stats,
        check=_checker(here),
    )


def _product(space: Mapping[str, Sequence[object]]) -> Sequence[Mapping[str, object]]:
    from ascend_autotune.analysis.space import Space

    if not space:
        return ({},)
    return Space({n: tuple(v) for n, v in space.items()}, tuple(space), ()).candidates


def _usual(tiles: Sequence[Mapping[str, object]], params: Sequence[str]) -> Config | None:
    if not len(tiles):
        return None
    looked_at = [tiles[int(i)] for i in pool(len(tiles), 0, LISTED)]
    return Config(middle_of(looked_at, params))


def _constrained(
    tiles: Sequence[Mapping[str, object]], allowed: Callable[[dict[str, Any]], object]
) -> tuple[Sequence[Mapping[str, object]], list[Trial]]:
    kept: list[Mapping[str, object]] = []
    out: list[Trial] = []
    for tile in tiles:
        try:
            passes = allowed(dict(tile))
        except Exception as error:
            raise RequestError(
                f"search_params: constraints fails for {dict(tile)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if passes:
            kept.append(tile)
        else:
            out.append(Trial(Config(tile), "pruned", "prune", reason="constraints says no"))
    return kept, out


def _user_pruned(
    tuner: SearchTuner, here: Situation, tiles: Sequence[Mapping[str, object]]
) -> tuple[Sequence[Mapping[str, object]], list[Trial]]:
    """`prune_configs_by`, as `Autotuner.prune_configs` applies it to handwritten configs."""
    from triton.runtime.autotuner import Config as TritonConfig

    configs = [TritonConfig(dict(tile)) for tile in tiles]
    wrapped = {id(config): tile for config, tile in zip(configs, tiles, strict=True)}
    # What it returns may be configs of its own making.
    kept = [wrapped.get(id(c)) or dict(c.kwargs) for c in user_prune(tuner, here, list(configs))]
    kept = [tile for tile in kept if all(name in tile for name in here.searched)]
    left = {tuple(sorted(tile.items())) for tile in kept}
    out = [
        Trial(Config(tile), "pruned", "prune", reason="prune_configs_by leaves it out")
        for tile in tiles
        if tuple(sorted(tile.items())) not in left
    ]
    return kept, out


def user_prune(tuner: SearchTuner, here: Situation, configs: list[Any]) -> list[Any]:
    """What the user's `early_config_prune` and `perf_model` leave of `configs`."""
    named = dict(zip(tuner.arg_names, here.call.args, strict=False))
    kwargs = dict(here.call.kwargs)
    if tuner.early_config_prune:
        configs = list(tuner.early_config_prune(configs, named, **kwargs))
    if tuner.perf_model:
        top = tuner.configs_top_k
        if isinstance(top, float) and top <= 1.0:
            top = max(1, int(len(configs) * top))
        if len(configs) > top:
            guess = {
                id(c): tuner.perf_model(**{**named, **kwargs, **c.all_kwargs()}) for c in configs
            }
            configs = sorted(configs, key=lambda c: guess[id(c)])[: int(top)]
    return configs


def _checker(here: Situation) -> Callable[[Config], Checked]:
    def check(config: Config) -> Checked:
        found = here.assess(config.candidate, config.profile)
        if found is None:
            return Checked(config)
        if found.status == "infeasible":
            return Checked(config, reasons_of(found.reasons))
        becomes = config
        if _MULTIBUFFER in found.fallback and "multibuffer" not in here.call.options:
            # The compiler's last attempt is the program that multibuffer=False asks for.
            becomes = config.with_profile({"multibuffer": False})
        exact = {m: low for m, (low, high) in found.bounds.items() if low == high}
        return Checked(becomes, bytes=exact)

    return check


def narrowed(
    found: Candidates, at_least: Mapping[str, int], unsure: Collection[str], here: Situation
) -> Candidates:
    """Less the tiles that are too small to be right; where that cannot be told, the default is
    the largest tile that is sure to fit, for others are compared with its result."""
    configs, trials, default = found.configs, list(found.trials), found.default
    if at_least:
        kept = []
        for config in configs:
            small = [n for n, least in at_least.items() if below(config, n, least)]
            if not small:
                kept.append(config)
                continue
            why = ", ".join(f"{n} of {at_least[n]} or more" for n in small)
            trials.append(
                Trial(config, "pruned", "prune", reason=f"one block has to cover everything: {why}")
            )
        configs = kept
        tiles = [config.candidate for config in kept]
        default = Config(middle_of(tiles, here.searched)) if tiles else None
    if unsure and len(configs):
        looked_at = [configs[int(i)] for i in pool(len(configs), 0, LISTED)]
        ordered = sorted(looked_at, key=lambda c: [-float(str(c.candidate[n])) for n in unsure])
        sure = (c for c in ordered[:SURE] if here.status(c) in ("feasible", ""))
        default = next(sure, default)
    starts = tuple(
        s for s in found.starts if not any(below(s, n, least) for n, least in at_least.items())
    )
    return replace(found, configs=configs, trials=tuple(trials), default=default, starts=starts)


def below(config: Config, name: str, least: int) -> bool:
    """Is the config's value of `name` smaller than `least`?"""
    value = config.candidate.get(name)
    return isinstance(value, int) and value < least


def _options(config: Any) -> dict[str, object]:
    known = {n: v for n, v in config.all_kwargs().items() if n in OPTIONS}
    return {n: v for n, v in known.items() if n not in LAUNCH_FIELDS and v not in (None, False)}


def reasons_of(reasons: Sequence[Any]) -> str:
    """Why; where the front end refuses the program, the line too."""
    said = []
    for reason in reasons:
        at = reason.location if reason.code == "front_end" else None
        where = f" (at {at.file}:{at.line})" if at is not None and at.line else ""
        said.append(f"{reason.text}{where}")
    return "; ".join(said)

"""From a call to the config that it runs with."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ascend_autotune.errors import NoConfigRuns, NoPerformanceTile, ReferenceFailed
from ascend_autotune.hooks import candidates as _candidates
from ascend_autotune.hooks.calls import KernelCall
from ascend_autotune.hooks.candidates import Candidates
from ascend_autotune.hooks.choosing import middle_tile
from ascend_autotune.hooks.decision import Decision, lasting_grid, triton_config
from ascend_autotune.hooks.devices import device_for, info_for, launch_of
from ascend_autotune.hooks.kept import Kept
from ascend_autotune.hooks.printing import Printer
from ascend_autotune.hooks.reports import complete, nothing_runs, stock_timings, without_timing
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.hooks.target import active_target
from ascend_autotune.search.config import Config
from ascend_autotune.search.result import SearchResult
from ascend_autotune.search.store import Winner

if TYPE_CHECKING:
    from ascend_autotune.hooks.safety import Roles
    from ascend_autotune.hooks.tuner import SearchTuner


def situation(tuner: SearchTuner, call: KernelCall) -> Situation:
    beside: dict[str, Any] = {}
    for config in tuner.handwritten[:1]:
        beside = {
            name: value
            for name, value in config.kwargs.items()
            if name in call.info.constexprs and name not in {*tuner.hints.params, *call.arguments}
        }
    return Situation(tuner.fn, tuner.hints, call, active_target(), beside)


def launches_nothing(tuner: SearchTuner, call: KernelCall) -> bool:
    """Is the grid empty, whatever the tile?"""
    tile: Mapping[str, Any] = middle_tile(tuner.hints.space(dots=True))
    if tuner.handwritten:
        tile = {**tile, **tuner.handwritten[0].kwargs}
    shape = call.grid_for(tile)
    return shape is not None and 0 in shape


def still_holds(tuner: SearchTuner, call: KernelCall, decision: Decision) -> bool:
    """May this call, of a key that is tuned, run with its config? Only another specialisation
    that makes the config not fit says no."""
    here = situation(tuner, call)
    if here.target.chip is None or here.request is None:
        return True
    if dict(call.bound.signature) == dict(decision.signature):
        return True
    found = here.assess(decision.launch, decision.chosen.profile)
    return found is None or found.status != "infeasible"


def predict(tuner: SearchTuner, call: KernelCall) -> Decision:
    """The config to run with where nothing may be measured. Raises `NoConfigRuns`."""
    here = situation(tuner, call)
    found, _ = _usable(tuner, here)
    return replace(_untimed(here, found, (), "predicted: nothing may be measured here"), kept=False)


def tune(tuner: SearchTuner, call: KernelCall, key: tuple[object, ...]) -> Decision:
    """Prune, search, decide. What goes wrong costs the tuning, not the call.

    Raises `NoConfigRuns` where nothing can run, `NoPerformanceTile` for a parameter whose search
    would change the result, `ReferenceFailed` for a reference that cannot be asked, and under
    `strict` whatever went wrong.
    """
    printer = Printer(tuner)
    here = situation(tuner, call)
    try:
        decision = _tuned(tuner, here, key, printer)
    except (NoConfigRuns, NoPerformanceTile, ReferenceFailed):
        raise
    except Exception as error:
        if tuner.hints.strict:
            raise
        decision = _fallen_back(tuner, here, error)
    printer.finished(decision)
    return decision


def _tuned(
    tuner: SearchTuner, here: Situation, key: tuple[object, ...], printer: Printer
) -> Decision:
    from ascend_autotune.hooks.safety import guard_for
    from ascend_autotune.search.engine import search
    from ascend_autotune.search.exhaustive import time_all

    found, roles = _usable(tuner, here)
    _notice(tuner, here, found)
    printer.begin(here, found)
    store = Kept(tuner, here, found, key) if tuner.keeps_results else None
    restored = store.restored() if store is not None else None
    if restored is not None and not roles.too_small(restored.config):
        kept = without_timing(
            here, found, key, restored.config, "kept by an earlier process (cache_results)"
        )
        return _decision(here, found, restored.config, replace(kept, best_ms=restored.time_ms))
    if not found.configs:
        raise nothing_runs(here, found.trials)
    unsure = roles.said(here.call.info.name) if roles.unsure else ""
    if tuner.hints.mode == "static":
        if unsure:
            warn_once(tuner, f"{unsure}; nothing is compared, for mode is static")
        return _untimed(here, found, key, "chosen by the model: mode is static")
    if len(found.configs) == 1 and len(found.profiles) == 1:
        return _untimed(here, found, key, "the only config that is left")
    with (
        guard_for(tuner, here, found) as guard,
        device_for(tuner, here, found, guard) as device,
    ):
        if unsure:
            checked = "every finalist is compared with the default config"
            warn_once(
                tuner, f"{unsure}; {checked if guard.gate else 'nothing can be compared here'}"
            )
        problem = found.problem(here, key)
        hints = tuner.hints
        watcher = printer.watcher()
        if found.handwritten or hints.mode == "prune":
            result = time_all(
                problem,
                device,
                found.configs,
                stage="handwritten" if found.handwritten else "tiles",
                budget_s=hints.budget_s,
                gate=guard.gate,
                progress=watcher,
            )
        else:
            result = search(
                problem,
                device,
                effort=hints.effort,
                budget_s=hints.budget_s,
                seed=hints.seed,
                gate=guard.gate,
                progress=watcher,
                lessons=tuner.lessons,
            )
    result = complete(result, found)
    if result.best is None:
        if result.ended == "interrupted" and found.default is not None:
            return replace(_decision(here, found, found.default, result), kept=False)
        raise nothing_runs(here, result.trials)
    if store is not None and result.complete:
        store.keep(Winner(result.best, result.best_ms))
    tuner.bench_time = result.seconds
    tuner.configs_timings = stock_timings(found, result)
    return _decision(here, found, result.best, result)


def failed_record(tuner: SearchTuner, call: KernelCall, error: Exception) -> dict[str, Any]:
    """What `explain(kernel)` reads after a call for which nothing could run."""
    here = situation(tuner, call)
    bound = here.call.bound if here.program is not None else None
    return {
        "signature": dict(bound.signature) if bound else {},
        "constants": dict(bound.constants) if bound else {},
        "target": here.target.arch,
        "compile_options": here.compile_options({}),
        "grid": lasting_grid(call),
        "search": getattr(error, "search", None),
    }


def _usable(tuner: SearchTuner, here: Situation) -> tuple[Candidates, Roles]:
    """The candidates that may run and are large enough to be right."""
    from ascend_autotune.hooks.safety import Roles, check_tiles

    found = _candidates.make(tuner, here)
    if found.handwritten or not found.configs:
        return found, Roles()
    roles = check_tiles(tuner, here, found)
    return _candidates.narrowed(found, roles.at_least, roles.unsure, here), roles


def _decision(
    here: Situation, found: Candidates, best: Config, result: SearchResult | None
) -> Decision:
    original = found.originals.get(best)
    launch = launch_of(here, best) if original is None else dict(original.all_kwargs())
    tile = {n: v for n, v in launch.items() if n in here.call.info.constexprs}
    bound = here.call.bound if here.program is not None else None
    return Decision(
        best,
        original if original is not None else triton_config(tile, dict(best.profile)),
        launch,
        here.target.arch,
        result,
        dict(bound.signature) if bound else {},
        dict(bound.constants) if bound else {},
        here.compile_options(best.profile),
    )


def _untimed(here: Situation, found: Candidates, key: tuple[object, ...], why: str) -> Decision:
    """Without a measurement: the first handwritten config, else the likeliest tile that fits."""
    if not found.configs:
        raise nothing_runs(here, found.trials)
    best = _likeliest(here, found)
    return _decision(here, found, best, without_timing(here, found, key, best, why))


def _likeliest(here: Situation, found: Candidates) -> Config:
    """The first handwritten config, else the one that the cost model has for the fastest."""
    from ascend_autotune.search.field import tile_field

    if found.handwritten or len(found.configs) == 1:
        return found.configs[0]
    problem = found.problem(here, ())
    if problem.workload is None and found.default is not None:
        return found.default
    field = tile_field(problem, info_for(here.target), here.hints.seed)
    ordered = sorted(range(len(field.configs)), key=lambda i: float(field.prior[i]))
    # Nothing tells whether an undecided tile compiles before the launch does: a sure one first.
    looked_at = [field.configs[i] for i in ordered[:LOOKED_AT]]
    sure = (c for c in looked_at if here.status(c) in ("feasible", ""))
    return next(sure, found.default or looked_at[0])


def _fallen_back(tuner: SearchTuner, here: Situation, error: Exception) -> Decision:
    """The first handwritten config, else a usual tile, with the reason said once."""
    said = f"{here.call.info.name}: not tuned ({type(error).__name__}: {error})"
    try:
        found, _ = _usable(tuner, here)
    except Exception:
        found = _candidates.unpruned(tuner, here)
    if found.configs:
        best = found.configs[0] if found.handwritten else found.default or found.configs[0]
        warn_once(tuner, f"{said}; runs with {best}")
        return replace(_decision(here, found, best, None), kept=False)
    raise nothing_runs(here, found.trials) from error


def warn_once(tuner: SearchTuner, message: str) -> None:
    """Say it once per kernel."""
    if message not in tuner.said:
        tuner.said.add(message)
        warnings.warn(f"ascend_autotune: {message}", RuntimeWarning, stacklevel=2)


def _notice(tuner: SearchTuner, here: Situation, found: Candidates) -> None:
    """A family that the user says and the graph does not: said once, and the graph holds."""
    said = tuner.hints.family
    if said is not None and here.family and said != here.family:
        why = "it has" if here.family == "mixcv" else "it has no"
        warn_once(
            tuner,
            f"{here.call.info.name}: compile_options={said!r} is not followed: the kernel is "
            f"{here.family} ({why} tl.dot)",
        )


LOOKED_AT = 64
"""So many likely tiles are asked for one that is sure to fit."""

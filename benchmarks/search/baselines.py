"""The tuners that are compared with: random, kernel_tuner's strategies, optuna's TPE."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ascend_autotune.search import Config
from ascend_autotune.search.replay import Landscape
from benchmarks.search.runs import Order

KERNEL_TUNER = (
    "genetic_algorithm",
    "dual_annealing",
    "greedy_ils",
    "simulated_annealing",
    "pso",
    "diff_evo",
    "firefly_algorithm",
    "mls",
    "hybrid_vndx",
    "adaptive_tabu_greywolf",
    "bayes_opt",
)


def baselines(names: Sequence[str] | None = None) -> dict[str, Order]:
    """Every baseline by name; those whose package is missing are left out with a warning."""
    found: dict[str, Order] = {"random": random_order}
    for package, tuners in (
        ("optuna", {"optuna_tpe": tpe_order}),
        ("kernel_tuner", {f"kernel_tuner_{s}": _strategy(s) for s in KERNEL_TUNER}),
    ):
        try:
            __import__(package)
        except ImportError:
            warnings.warn(f"{package} is not installed: its baselines are left out", stacklevel=2)
            continue
        found.update(tuners)
    return {k: v for k, v in found.items() if names is None or k in names}


def random_order(landscape: Landscape, seed: int, budget: int) -> list[Config]:
    """Every config in a random order."""
    order = np.random.default_rng(seed).permutation(len(landscape.rows))
    return [landscape.rows[int(i)].config for i in order[:budget]]


def axes_of(landscape: Landscape) -> dict[str, list[Any]]:
    """The values of each parameter, in the order of the grid."""
    axes: dict[str, dict[Any, None]] = {}
    for row in landscape.rows:
        for name, value in row.config.candidate.items():
            axes.setdefault(name, {})[value] = None
    return {name: list(values) for name, values in axes.items()}


def tpe_order(landscape: Landscape, seed: int, budget: int) -> list[Config]:
    """optuna's TPESampler with its own defaults; a failure is a pruned trial.

    Parameters are categories, as the documentation asks for where the values are a list. A
    config that it suggests again is told its time again and costs nothing.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.TPESampler(seed=seed)
        study = optuna.create_study(sampler=sampler)
    axes = axes_of(landscape)
    tried: dict[Config, None] = {}
    for _ in range(5 * budget):
        trial = study.ask()
        config = Config({n: trial.suggest_categorical(n, v) for n, v in axes.items()})
        row = landscape.by_config.get(config)
        if row is None or row.time_ms is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, row.time_ms)
        if row is not None:
            tried[config] = None
        if len(tried) >= budget:
            break
    return list(tried)


def _strategy(name: str) -> Order:
    def order(landscape: Landscape, seed: int, budget: int) -> list[Config]:
        return kernel_tuner_order(name, landscape, seed, budget)

    return order


def kernel_tuner_order(name: str, landscape: Landscape, seed: int, budget: int) -> list[Config]:
    """One of kernel_tuner's strategies with its defaults, through its own simulation runner."""
    from kernel_tuner.interface import Options, strategy_map
    from kernel_tuner.runners.simulation import SimulationRunner
    from kernel_tuner.searchspace import Searchspace
    from kernel_tuner.util import StopCriterionReached, TuningBudget

    axes = axes_of(landscape)
    tried: list[Config] = []

    class Recorder(SimulationRunner):  # type: ignore[misc]
        def run(self, parameter_space: Any, tuning_options: Any) -> Any:
            elements = list(parameter_space)
            for element in elements:
                tried.append(Config(dict(zip(axes, element, strict=True))))
            return super().run(elements, tuning_options)

    random.seed(seed)
    np.random.seed(seed)
    runner = Recorder(
        None, Options({"kernel_name": landscape.kernel}), Options({"quiet": True}), 7, None
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = Searchspace({k: list(v) for k, v in axes.items()}, None, 10**9)
    options = Options(
        {
            "tune_params": space.tune_params,
            "objective": ["time"],
            "objective_higher_is_better": [False],
            "restrictions": None,
            "restrictions_unmodified": None,
            "metrics": None,
            "strategy_options": Options({"max_fevals": budget}),
            "max_fevals": budget,
            "cache": _cache(landscape),
            "cachefile": None,
            "simulated_time": 0,
            "verbose": False,
            "seed": seed,
            "quiet": True,
            "budget": TuningBudget(None, budget),
        }
    )
    strategy = strategy_map[name]
    if isinstance(strategy, str):
        import importlib

        strategy = importlib.import_module(strategy)
    with warnings.catch_warnings(), contextlib.suppress(StopCriterionReached):
        warnings.simplefilter("ignore")
        strategy.tune(space, runner, options)
    return tried


def _cache(landscape: Landscape) -> Mapping[str, dict[str, Any]]:
    from kernel_tuner.util import RuntimeFailedConfig

    cache: dict[str, dict[str, Any]] = {}
    for row in landscape.rows:
        values = row.config.candidate
        entry: dict[str, Any] = {
            **values,
            "compile_time": row.compile_s * 1000,
            "verification_time": 0.0,
            "benchmark_time": row.bench_s * 1000,
            "strategy_time": 0.0,
            "framework_time": 0.0,
            "timestamp": "2026-01-01T00:00:00+00:00",
        }
        if row.time_ms is None:
            entry["time"] = RuntimeFailedConfig()
            entry["__error__"] = RuntimeFailedConfig()
        else:
            entry["time"] = row.time_ms
        cache[",".join(str(v) for v in values.values())] = entry
    return cache

"""The search of this package on a recorded landscape."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ascend_autotune.search import EFFORTS, search
from ascend_autotune.search.problem import Problem
from ascend_autotune.search.replay import Landscape, Noise, ReplayDevice, problem_of
from ascend_autotune.search.work import Workload
from benchmarks.search.kernels import work_of
from benchmarks.search.runs import Run, Tuner, configs_of


def searched(
    landscape: Landscape, problem: Problem, seed: int, configs: int, noise: Noise | None = None
) -> Run:
    """One search with the default effort, cut to so many configs.

    The early stop is off, so that a budget is what is compared.
    """
    effort = replace(EFFORTS["default"], configs=configs, gain=0.0)
    device = ReplayDevice(landscape, noise=noise, seed=seed)
    result = search(problem, device, effort=effort, seed=seed)
    return Run(tuple(dict.fromkeys(device.asked)), result.best, device.now)


class _Remembered(Workload):
    """The work of one landscape's candidates, traced once for all seeds."""

    def __init__(self, landscape: Landscape, folder: Path) -> None:
        self.landscape, self.folder = landscape, folder
        self.found: Mapping[str, np.ndarray] | None = None

    def of(self, candidates: Sequence[Mapping[str, object]]) -> Mapping[str, np.ndarray]:
        if self.found is None:
            try:
                self.found = work_of(self.landscape, self.folder).of(candidates)
            except Exception as error:  # a kernel that cannot be read is searched without
                warnings.warn(f"{self.landscape.name}: no cost model: {error!r}", stacklevel=2)
                self.found = {}
        return self.found


def losses_by_noise(folder: Path, landscape: Landscape, seeds: int) -> list[float]:
    """True time of the config chosen under noise over that of the one chosen without, per seed.

    The noise is the issue's: every reading afresh times a Gaussian of mean 1 and sigma 5%, one
    in 50 tripled. The budget is 5%.
    """
    problem = problem_of(landscape, _Remembered(landscape, folder))
    configs = configs_of("5%", len(landscape.rows))
    found = []
    for seed in range(seeds):
        quiet = searched(landscape, problem, seed, configs).fraction(landscape)
        loud = searched(landscape, problem, seed, configs, Noise()).fraction(landscape)
        found.append(quiet / loud if loud else float("inf"))
    return found


def ours(folder: Path, *, model: bool = True) -> Tuner:
    """The search as a tuner: it knows its budget, so each has a run of its own.

    `folder` has the kernels; `model` False: without the cost model, by measurements alone.
    """
    works: dict[str, Workload] = {}

    def work(landscape: Landscape) -> Workload | None:
        if model and landscape.name not in works:
            works[landscape.name] = _Remembered(landscape, folder)
        return works.get(landscape.name)

    def runs(landscape: Landscape, seed: int, budgets: Sequence[int | str]) -> list[Run]:
        problem = problem_of(landscape, work(landscape))
        counts = [configs_of(b, len(landscape.rows)) for b in budgets]
        distinct = {n: searched(landscape, problem, seed, n) for n in sorted(set(counts))}
        return [distinct[n] for n in counts]

    return runs

"""The search of this package on a recorded landscape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ascend_autotune.search import EFFORTS, search
from ascend_autotune.search.problem import Problem
from ascend_autotune.search.replay import Landscape, Noise, ReplayDevice, problem_of
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


def ours() -> Tuner:
    """The search as a tuner: it knows its budget, so each has a run of its own."""

    def runs(landscape: Landscape, seed: int, budgets: Sequence[int | str]) -> list[Run]:
        problem = problem_of(landscape)
        counts = [configs_of(b, len(landscape.rows)) for b in budgets]
        distinct = {n: searched(landscape, problem, seed, n) for n in sorted(set(counts))}
        return [distinct[n] for n in counts]

    return runs

"""The configs that one stage chooses from, and the order in which it does."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import DeviceInfo
from ascend_autotune.search.ledger import Ledger
from ascend_autotune.search.model import gp
from ascend_autotune.search.model.cost import log_cost
from ascend_autotune.search.model.figures import figures_of
from ascend_autotune.search.problem import Problem
from ascend_autotune.search.spaces import coordinates, pool

logger = logging.getLogger("ascend_autotune")

KNEE, SLOPE = 0.7, 0.35
"""Log time above the best from which on it matters less how slow a config is, and how much."""
BOWL = 0.32
"""How much slower, in log time, the edge of a parameter's range is believed to be."""
TRUST, BESIDE = 0.8, 0.25
"""How much of the cost model's log time is the prior, and how much of the bowl is beside it."""
FARTHEST = 3.0
"""Log time above its best beyond which the cost model's word is cut off."""


@dataclass(frozen=True)
class Choice:
    """Configs that are left, the most promising first, and what the first promises to gain.

    `gain` is the expected improvement on the best so far in log time; infinite where nothing
    was timed yet. `expected`: the first one's log time (ms), as believed.
    """

    configs: list[Config]
    gain: float
    expected: float = math.inf


@dataclass
class Field:
    """Configs with their places in a plane (configs, columns), and what is believed before.

    `prior`: log times (configs,) of which the measurements choose how much is believed;
    `edges`: log times that are believed in any case.
    """

    configs: Sequence[Config]
    places: gp.Array
    prior: gp.Array
    edges: gp.Array
    seed: int
    where: dict[Config, int] = field(init=False)

    def __post_init__(self) -> None:
        self.where = {config: i for i, config in enumerate(self.configs)}
        self._guesses = gp.draw(self.places.shape[1], self.seed)
        self._jitter = np.random.default_rng(self.seed).random(len(self.configs)) * 1e-6

    def choice(self, ledger: Ledger, count: int) -> Choice:
        """The `count` most promising configs that are not in the book yet."""
        left = np.ones(len(self.configs), dtype=bool)
        met: list[int] = []
        times: list[float] = []
        for config, trial in ledger.trials.items():
            i = self.where.get(config)
            if i is not None:
                left[i] = False
                if trial.fate == "timed":
                    met.append(i)
                    times.append(math.log(ledger.time_of(config)))
        if not left.any():
            return Choice([], 0.0)
        if met:
            logs = _softened(np.array(times))
            belief = gp.believe(
                self.places, self.prior, self.edges, np.array(met), logs, self._guesses
            )
            score, expected = belief.gain(float(logs.min())), belief.average()
        else:
            score, expected = -self.prior - self.edges, np.full(len(self.configs), np.inf)
        order = np.argsort(-np.where(left, score + 1e-3 * self._jitter, -np.inf), kind="stable")
        chosen = [int(i) for i in order[:count] if left[i]]
        gain = float(score[chosen[0]]) if met and chosen else math.inf
        if not chosen:
            return Choice([], 0.0)
        return Choice([self.configs[i] for i in chosen], gain, float(expected[chosen[0]]))


def _softened(logs: gp.Array) -> gp.Array:
    """Log times in which very slow configs stand closer to the best."""
    above = logs - logs.min()
    soft: gp.Array = np.where(above > KNEE, KNEE + SLOPE * (above - KNEE), above)
    return soft + float(logs.min())


def bowl(places: gp.Array) -> gp.Array:
    """A prior that knows nothing but that extremes are slow: log time, lowest in the middle."""
    low, high = places.min(axis=0), places.max(axis=0)
    off = (2 * places - low - high) / np.maximum(high - low, 1.0)
    prior: gp.Array = BOWL * (off**2).sum(axis=1)
    return prior


def prior_of(problem: Problem, configs: Sequence[Config], info: DeviceInfo) -> gp.Array | None:
    """The cost model's log times, the least 0; None where there is no model."""
    if problem.workload is None or not configs:
        return None
    candidates = [c.candidate for c in configs]
    try:
        work = problem.workload.of(candidates)
        cost = log_cost(work, candidates, figures_of(info)) if work else np.zeros(0)
    except Exception as error:  # a model is a help: no kernel may be refused for want of it
        logger.debug("no cost model for %s: %r", problem.kernel, error)
        return None
    if not cost.size or not np.isfinite(cost).all():
        return None
    prior: gp.Array = np.minimum(cost - cost.min(), FARTHEST)
    return prior


def tile_field(problem: Problem, info: DeviceInfo, seed: int) -> Field:
    """The candidates under the neutral profile."""
    neutral = problem.profiles[0] if problem.profiles else {}
    indices = pool(len(problem.candidates), seed)
    configs = [Config(problem.candidates[int(i)], neutral) for i in indices]
    places = coordinates([c.candidate for c in configs])
    edges = bowl(places) if configs else np.zeros(0)
    prior = prior_of(problem, configs, info)
    if prior is None:
        return Field(configs, places, np.zeros(len(configs)), edges, seed)
    return Field(configs, places, TRUST * prior, BESIDE * edges, seed)


def profile_field(problem: Problem, tiles: Sequence[Config], seed: int) -> Field:
    """The best tiles under every profile, the best tile first."""
    configs = [Config(t.candidate, p) for t in tiles for p in problem.profiles]
    places = coordinates([c.values for c in configs])
    nothing = np.zeros(len(configs))
    return Field(configs, places, nothing, nothing, seed)

"""A Gaussian process over log times, its scales integrated out over a fixed set of guesses.

Numpy alone: a few dozen points need nothing else, and the package stays light. For the
formulas see Rasmussen and Williams, Gaussian Processes for Machine Learning (2006): Matern 5/2
kernel (4.17), prediction (2.25), marginal likelihood (2.30). The amplitude has an inverse gamma
prior, which makes the likelihood a Student's t (Shah et al., AISTATS 2014).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CONSTANT = 4.0
"""Prior variance of the mean, in units of the process's own variance."""
SHAPE = 4.0
"""The amplitude's prior counts as this many observations."""
TRUSTS = (1.0, 0.8, 0.4, 0.0)
"""The parts of the prior that guesses believe, in turn: the measurements choose among them."""
KEPT = 8
"""So many of the likeliest guesses predict."""


@dataclass(frozen=True)
class Guesses:
    """Guesses at the scales: lengths (guesses, columns), the others (guesses,).

    `noise` and `trend` are variances in units of the process's own; `trust` is the part of
    the prior that is believed; `amplitude` is the prior standard deviation of the process, in
    log time.
    """

    lengths: Array
    noise: Array
    trend: Array
    trust: Array
    amplitude: float


def draw(
    columns: int,
    seed: int,
    *,
    count: int = 64,
    length: float = 3.0,
    width: float = 0.7,
    amplitude: float = 0.5,
) -> Guesses:
    """Guesses around `length` (in steps of a column), log-normal with `width`."""
    rng = np.random.default_rng(seed)
    lengths = length * np.exp(width * rng.standard_normal((count, columns)))
    noise = 10.0 ** rng.uniform(-3.5, -1.5, count)
    trend = 10.0 ** rng.uniform(-2.5, 0.0, count)
    trust = np.resize(TRUSTS, count)
    return Guesses(lengths, noise, trend, trust, amplitude)


@dataclass(frozen=True)
class Belief:
    """What is believed of the points: mean and standard deviation per guess, and its weight.

    `mean`, `spread`: (guesses, points), in log time; `weight`: (guesses,), summing to 1.
    """

    mean: Array
    spread: Array
    weight: Array

    def average(self) -> Array:
        average: Array = self.weight @ self.mean
        return average

    def gain(self, best: float) -> Array:
        """Expected improvement on `best` in log time, averaged over the guesses (points,)."""
        z = (best - self.mean) / self.spread
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        gain: Array = self.weight @ (self.spread * (z * _normal(z) + density))
        return np.maximum(gain, 0.0)


def believe(
    places: Array,
    prior: Array,
    edges: Array,
    met: NDArray[np.int64],
    times: Array,
    guesses: Guesses,
) -> Belief:
    """Condition on the log times of the points `met` (indices); the prior is a log time too.

    places: (points, columns). prior: (points,), of which each guess believes a part; edges:
    (points,), which all believe. Any constant may be added to them.
    """
    seen = places[met]
    trend = prior - prior[met].mean()
    scale = float(prior.std()) or 1.0
    slope = trend / scale
    believed = guesses.trust[:, None] * prior + edges
    residual = times - believed[:, met]
    centre = np.median(residual, axis=1)
    residual = residual - centre[:, None]
    count = len(met)
    kernel = _matern(seen, seen, guesses.lengths) + CONSTANT
    kernel += guesses.trend[:, None, None] * np.outer(slope[met], slope[met])
    kernel += guesses.noise[:, None, None] * np.eye(count)
    factor = np.linalg.cholesky(kernel)
    half = np.linalg.solve(factor, residual[..., None])
    squares = (half[..., 0] ** 2).sum(axis=1)
    prior_squares = SHAPE * guesses.amplitude**2
    logdet = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
    likelihood = -logdet - 0.5 * (count + SHAPE) * np.log(prior_squares + squares)
    kept = np.argsort(-likelihood, kind="stable")[:KEPT]
    weight = np.exp(likelihood[kept] - likelihood[kept[0]])
    weight /= weight.sum()
    amplitude = (prior_squares + squares[kept]) / (count + SHAPE)
    cross = _matern(seen, places, guesses.lengths[kept]) + CONSTANT
    cross += guesses.trend[kept, None, None] * np.outer(slope[met], slope)
    solved = np.linalg.solve(factor[kept], cross)
    mean = (solved * half[kept]).sum(axis=1) + believed[kept] + centre[kept, None]
    own = 1 + CONSTANT + guesses.trend[kept, None] * slope**2
    variance = np.maximum(own - (solved**2).sum(axis=1), 1e-9)
    return Belief(mean, np.sqrt(amplitude[:, None] * variance), weight)


def _matern(one: Array, other: Array, lengths: Array) -> Array:
    """Matern 5/2 per guess: (guesses, one, other)."""
    a = one[None] / lengths[:, None, :]
    b = other[None] / lengths[:, None, :]
    squares = (a**2).sum(-1)[:, :, None] + (b**2).sum(-1)[:, None, :] - 2 * a @ b.swapaxes(1, 2)
    r = np.sqrt(5 * np.maximum(squares, 0.0))
    kernel: Array = (1 + r + r * r / 3) * np.exp(-r)
    return kernel


def _normal(z: Array) -> Array:
    """The standard normal distribution function (Abramowitz and Stegun 7.1.26)."""
    x = np.abs(z) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * x)
    poly = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    tail = 0.5 * poly * np.exp(-x * x)
    return np.where(z < 0, tail, 1 - tail)

"""The finalists: timed precisely against the default in turns, until one is the fastest.

Readings are noisy: each finalist is read in rounds, and one that is clearly slower leaves the
race. How noisy they are is taken from how far the readings of one config lie apart, so a quiet
device needs two rounds and a loud one as many as the effort allows.
"""

from __future__ import annotations

import math

from ascend_autotune.search.bench import Bench, OutOfBudget
from ascend_autotune.search.config import Config
from ascend_autotune.search.ledger import OUTLIER, typical

QUIET = 0.005
"""A relative difference known this well needs no further reading."""
CLEAR = 2.5
"""So many standard errors behind the first, a finalist leaves the race."""


def race(bench: Bench, finalists: list[Config], readings: int) -> list[Config]:
    """The finalists that ran, the fastest first, by their precise times.

    Ends early, with what is known, when the seconds are spent.
    """
    running = list(finalists)
    try:
        for turn in range(readings):
            for config in list(running):
                if bench.precisely(config) is None:
                    running.remove(config)
            if turn >= 1:
                running = _still_racing(bench, running)
                if len(running) < 2:
                    break
    except OutOfBudget:
        pass
    return standing(bench, finalists)


def standing(bench: Bench, finalists: list[Config]) -> list[Config]:
    """The finalists that are timed precisely, the fastest first."""
    timed = [c for c in finalists if bench.ledger.is_timed(c) and bench.ledger.precise.get(c)]
    return sorted(timed, key=bench.ledger.time_of)


def _still_racing(bench: Bench, running: list[Config]) -> list[Config]:
    noise = _noise([bench.ledger.precise[c] for c in running])
    order = sorted(running, key=bench.ledger.time_of)
    if not order:
        return []
    first = order[0]
    close = [first]
    for config in order[1:]:
        counts = [len(bench.ledger.precise[c]) for c in (first, config)]
        error = noise * math.sqrt(sum(1 / n for n in counts))
        behind = math.log(bench.ledger.time_of(config) / bench.ledger.time_of(first))
        if behind <= CLEAR * error and error > QUIET:
            close.append(config)
    return close


def _noise(groups: list[list[float]]) -> float:
    """The relative spread of one reading, outliers left out."""
    squares: list[float] = []
    for values in groups:
        middle = typical(values)
        logs = [math.log(v / middle) for v in values if v < OUTLIER * middle]
        if len(logs) > 1:
            mean = sum(logs) / len(logs)
            squares.append(sum((x - mean) ** 2 for x in logs) / (len(logs) - 1))
    return math.sqrt(sum(squares) / len(squares)) if squares else 0.0

"""The benchmark's lines as a table and a plot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

FLOOR = 1e-3
"""A run that found nothing counts as this fraction in a geometric mean."""
Line = Mapping[str, Any]


def geometric(values: Iterable[float]) -> float:
    """The geometric mean; 0 of nothing."""
    logs = [math.log(max(v, FLOOR)) for v in values]
    return math.exp(fmean(logs)) if logs else 0.0


def table(lines: Sequence[Line], budgets: Sequence[int | str]) -> str:
    """Per budget: a row per landscape, a column per tuner; the mean fraction of the best.

    The last rows are the geometric mean over landscapes and seeds, of all landscapes and of
    those with more than 64 configs, and the mean of simulated seconds.
    """
    tuners = list(dict.fromkeys(line["tuner"] for line in lines))
    landscapes = list(dict.fromkeys(line["landscape"] for line in lines))
    width = max(len(name) for name in [*landscapes, "geometric mean, over 64 configs"])
    text = []
    for budget in budgets:
        at = [line for line in lines if line["budget"] == budget]
        text.append(f"\n{budget} configs: fraction of the exhaustive best, mean over seeds")
        text += [f"  {chr(ord('A') + i)} {tuner}" for i, tuner in enumerate(tuners)]
        text.append(" " * width + "".join(f"{chr(ord('A') + i):>7}" for i in range(len(tuners))))
        for landscape in landscapes:
            cells = [_mean(at, landscape, tuner) for tuner in tuners]
            text.append(f"{landscape:{width}}" + "".join(f"{c:7.3f}" for c in cells))
        for name, least in (("geometric mean", 0), ("geometric mean, over 64 configs", 65)):
            cells = [
                geometric(
                    line["fraction_of_best"]
                    for line in at
                    if line["tuner"] == tuner and line["configs"] >= least
                )
                for tuner in tuners
            ]
            text.append(f"{name:{width}}" + "".join(f"{c:7.3f}" for c in cells))
        seconds = [fmean([x["simulated_s"] for x in at if x["tuner"] == t] or [0]) for t in tuners]
        text.append(f"{'simulated seconds':{width}}" + "".join(f"{s:7.1f}" for s in seconds))
    return "\n".join(text)


def _mean(lines: Sequence[Line], landscape: str, tuner: str) -> float:
    found = [
        line["fraction_of_best"]
        for line in lines
        if line["landscape"] == landscape and line["tuner"] == tuner
    ]
    return fmean(found) if found else 0.0


def plot(lines: Sequence[Line], budgets: Sequence[int | str], path: Path) -> None:
    """Geometric mean of the fraction against configs measured and simulated seconds, as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    counts = [b for b in budgets if isinstance(b, int)]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 5), sharey=True)
    for tuner in dict.fromkeys(line["tuner"] for line in lines):
        of = [line for line in lines if line["tuner"] == tuner]
        at = [[x for x in of if x["budget"] == n] for n in counts]
        at = [group for group in at if group]
        if not at:
            continue
        height = [geometric(x["fraction_of_best"] for x in group) for group in at]
        bold = {"linewidth": 3} if tuner.startswith("ascend_autotune") else {"linewidth": 1}
        left.plot([fmean(x["measured"] for x in g) for g in at], height, "o-", label=tuner, **bold)
        right.plot(
            [fmean(x["simulated_s"] for x in g) for g in at], height, "o-", label=tuner, **bold
        )
    left.set_xlabel("configs measured (mean)")
    right.set_xlabel("simulated seconds of compiling and timing (mean)")
    left.set_ylabel("fraction of the exhaustive best (geometric mean)")
    right.set_xscale("log")
    right.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)

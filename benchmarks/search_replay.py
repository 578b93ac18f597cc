"""The search against other tuners, on recorded landscapes.

    python -m benchmarks.search_replay FOLDER [--seeds 10] [--json FILE] [--plot FILE.png]
        [--tuners NAME,NAME] [--jobs 1] [--noise]

FOLDER holds landscapes (*.json.gz) with their kernels.py beside them; benchmarks/landscapes/ has
some. Prints a table per budget; FILE gets one JSON line per landscape, tuner, seed and budget:
{"landscape", "tuner", "seed", "budget": 16 | 32 | 64 | "5%", "measured", "fraction_of_best",
"simulated_s", "configs"}. A budget counts configs tried, failures included, each once; "5%" is
max(16, floor(0.05 x configs)); a budget is capped at the space. Simulated seconds are those that
compiling and timing took when the landscape was recorded. --noise: how much slower what is chosen
under noisy readings is. Needs the `benchmarks` extra.

No constant of the search comes out of a fit to landscapes (ascend_autotune/search/model/cost.py has
them, with sources), so there is no other column for leaving a kernel out; docs/search.md says what
was settled with benchmarks/landscapes in view.
`--tuners ascend_autotune_without_model` is the search by its measurements alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

if __package__ in (None, ""):  # run as a file: other packages are called `benchmarks` too
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ascend_autotune.errors import RequestError
from ascend_autotune.search.replay import Landscape, load_landscapes
from benchmarks.search.baselines import baselines
from benchmarks.search.ours import losses_by_noise, ours
from benchmarks.search.runs import BUDGETS, Tuner, cut
from benchmarks.search.table import plot, table

OURS = "ascend_autotune"
WITHOUT = "ascend_autotune_without_model"


def tuners(folder: Path, names: Sequence[str] | None) -> dict[str, Tuner]:
    """The tuners asked for, ours first."""
    found = {OURS: ours(folder)}
    if names is not None and WITHOUT in names:
        found[WITHOUT] = ours(folder, model=False)
    found.update({name: cut(order) for name, order in baselines().items()})
    unknown = sorted(set(names or ()) - set(found))
    if unknown:
        raise RequestError(f"--tuners: {', '.join(unknown)}: give some of {', '.join(found)}")
    return {k: v for k, v in found.items() if names is None or k in names}


def lines_of(
    folder: Path, landscape: Landscape, seeds: int, names: Sequence[str] | None
) -> list[dict[str, Any]]:
    """Every line of one landscape."""
    lines = []
    for name, tuner in tuners(folder, names).items():
        for seed in range(seeds):
            for budget, run in zip(BUDGETS, tuner(landscape, seed, BUDGETS), strict=True):
                lines.append(
                    {
                        "landscape": landscape.name,
                        "tuner": name,
                        "seed": seed,
                        "budget": budget,
                        "measured": len(run.tried),
                        "fraction_of_best": round(run.fraction(landscape), 5),
                        "simulated_s": round(run.simulated_s, 3),
                        "configs": len(landscape.rows),
                    }
                )
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--tuners", type=lambda text: text.split(","))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--noise", action="store_true")
    given = parser.parse_args(argv)
    try:
        landscapes = load_landscapes(given.folder)
        tuners(given.folder, given.tuners)
    except RequestError as error:
        print(f"search_replay: {error}", file=sys.stderr)
        return 2
    work = [(given.folder, landscape, given.seeds, given.tuners) for landscape in landscapes]
    if given.jobs > 1:
        with ProcessPoolExecutor(given.jobs) as workers:
            parts = list(workers.map(lines_of, *zip(*work, strict=True)))
    else:
        parts = [lines_of(*one) for one in work]
    lines = [line for part in parts for line in part]
    if given.json:
        given.json.write_text("".join(json.dumps(line) + "\n" for line in lines))
    print(table(lines, BUDGETS))
    exhaustive = [sum(row.compile_s + row.bench_s for row in one.rows) for one in landscapes]
    print(f"\nexhaustive: {sum(exhaustive) / len(exhaustive):.1f} simulated seconds on average")
    if given.noise:
        of = {one.name: losses_by_noise(given.folder, one, given.seeds) for one in landscapes}
        print("\nunder noise, true time over that of the choice without noise (median, worst):")
        for name, losses in of.items():
            print(f"  {name}: {median(losses):.3f}, {max(losses):.3f}")
        together = [loss for losses in of.values() for loss in losses]
        print(f"  all: {median(together):.3f}, {max(together):.3f}")
    if given.plot:
        plot(lines, BUDGETS, given.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())

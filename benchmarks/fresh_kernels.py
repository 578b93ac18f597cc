"""How often the largest sum of live bytes is the compiler's own, on random kernels.

    python -m benchmarks.fresh_kernels [--kernels 200] [--seed N] [--json FILE]

Hypothesis makes the kernels (`random_kernels`), the compiler plans them afresh, and its memory
report is compared with the model, memory by memory: `equal` and `above` are shares of the
(kernel, memory) pairs, `above_by_a_sound_rule` those whose certain lower bound is over the
compiler's (must be 0). One JSON object per family and one for all; the seed is among its fields.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.footprint import footprint_of
from ascend_autotune.analysis.judge import Judge
from ascend_autotune.analysis.kernel import make_instance
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.plan.attempts import layouts_of
from ascend_autotune.analysis.reader import parse_module
from ascend_autotune.analysis.ttir import trace
from ascend_autotune.errors import FrontEndError
from benchmarks.live_sums import Counts, attempt_of, live_sums, reported
from benchmarks.random_kernels import RandomKernel, kernels
from benchmarks.tables import Table

TARGET = "Ascend910B3"
_LARGEST = 1 << 16  # elements of a tile that is compiled: most fit, some do not


def generate(count: int, seed: int) -> list[RandomKernel]:
    """Different kernels, the same for the same seed and Hypothesis."""
    found: dict[str, RandomKernel] = {}

    @seeded(seed)
    @settings(
        max_examples=10 * count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(kernels())
    def collect(kernel: RandomKernel) -> None:
        if len(found) < count:
            found.setdefault(kernel.source, kernel)

    collect()
    return list(found.values())


def measure(made: Iterable[RandomKernel], seed: int) -> dict[str, Counts]:
    """Compile each kernel at a size drawn for it, under a profile drawn for it."""
    target = chip(TARGET)
    draw = random.Random(seed)
    families: dict[str, Counts] = {}
    questions = []
    for kernel in made:
        others = [value for value in kernel.constants.values() if isinstance(value, int)]
        sizes = [size for size in kernel.sizes if size * max(others, default=1) <= _LARGEST]
        constants = kernel.given(draw.choice(sizes))
        options = CompileOptions.from_request({"multibuffer": draw.random() < 0.5})
        try:
            ttir = trace(make_instance(kernel.function, kernel.signature, constants, target))
        except FrontEndError as error:
            print(json.dumps({"not_traced": str(error), "source": kernel.source}), flush=True)
            continue
        questions.append((kernel.family, ttir, options))
    with Judge.find(target) as judge:
        outcomes = judge.ask_many([(ttir.text, options) for _, ttir, options in questions])
    for (family, ttir, options), outcome in zip(questions, outcomes, strict=True):
        counts = families.setdefault(family, Counts())
        counts.pairs[f"compile_{outcome.status}"] += 1
        if outcome.fits is None or outcome.status == "refused":
            continue
        module = parse_module(ttir.generic)
        attempts = live_sums(module, target, options)
        overflow = outcome.status == "overflow"
        index = attempt_of(outcome.fallback, overflow, len(attempts))
        counts.add(attempts[index], reported(outcome))
        footprint = footprint_of(layouts_of(module, target, options), target)
        counts.pairs["false_prunes"] += not overflow and footprint.refused(target.capacity)
    return families


def main() -> None:
    """Print the table as JSON lines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--seed", type=int, help="of the kernels; drawn where not given")
    parser.add_argument("--json", type=Path, help="write the table to this file too")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().getrandbits(32)
    print(json.dumps({"seed": seed}), flush=True)  # at once: what ends early can be repeated
    made = generate(arguments.kernels, seed)
    total = Counts()
    with Table(arguments.json) as table:
        for family, counts in sorted(measure(made, seed).items()):
            total.merge(counts)
            table.add({"family": family, **_row(counts)})
        table.add({"family": "all", "kernels": len(made), "seed": seed, **_row(total)})


def _row(counts: Counts) -> dict[str, object]:
    compiles = {
        name: number for name, number in sorted(counts.pairs.items()) if name.startswith("compile_")
    }
    return {**compiles, "false_prunes": counts.pairs["false_prunes"], **counts.to_json()}


if __name__ == "__main__":
    main()

"""Can the timing layer be trusted? Against `triton.testing.do_bench`, on a GPU.

    python -m benchmarks.search.timing_on_gpu --json FILE

Three figures: how far the medians lie apart on eleven kernels from 5 us to 10 ms; how far twenty
runs of each lie apart; on how many pairs of 50 matmul configs two runs agree which is faster.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ascend_autotune.search.config import Config
from ascend_autotune.search.cuda import CudaClock, cuda_info
from ascend_autotune.search.timing import COARSE, PRECISE, Plan, median, quantile, time_launch

RUNS = 20
APART = 0.02
"""Pairs that differ by more than this count."""
DEVICE_TESTS = Path(__file__).resolve().parents[2] / "tests" / "device"


def cases() -> dict[str, tuple[Callable[[Config], object], Config]]:
    """Eleven kernels with a config each, from a few microseconds to ten milliseconds."""
    sys.path.insert(0, str(DEVICE_TESTS))
    made: Any = importlib.import_module("launches")
    tile = Config({"BM": 128, "BN": 128, "BK": 64}, {"num_warps": 8})
    block, rows = Config({"BLOCK": 1024}), Config({"BLOCK": 4096})
    return {
        "add 64 Ki": (made.add(1 << 16)[0], block),
        "add 4 Mi": (made.add(1 << 22)[0], block),
        "softmax 1024 x 1024": (made.softmax(1024, 1024)[0], Config({"BLOCK": 1024})),
        "softmax 8192 x 8192": (made.softmax(8192, 8192)[0], rows),
        "matmul 512": (made.matmul(512, 512, 512)[0], tile),
        "matmul 2048": (made.matmul(2048, 2048, 2048)[0], tile),
        "matmul 4096": (made.matmul(4096, 4096, 4096)[0], tile),
        "attention 32 x 4096": (
            made.attention(32, 4096, 64)[0], Config({"BM": 128, "BN": 64}, {"num_warps": 8}),
        ),
        "add 1 Gi": (made.add(1 << 30)[0], block),
        "attention 48 x 16384": (
            made.attention(48, 16384, 64)[0], Config({"BM": 128, "BN": 64}, {"num_warps": 8}),
        ),
        "matmul 16384 x 16384 x 8192": (made.matmul(16384, 16384, 8192)[0], tile),
    }  # fmt: skip


def ours(launch: Callable[[], object], clock: CudaClock, plan: Plan = PRECISE) -> float:
    return time_launch(launch, clock, plan).median


def theirs(launch: Callable[[], object]) -> float:
    import triton.testing

    return float(triton.testing.do_bench(launch, quantiles=[0.5]))


def spread(times: Sequence[float]) -> float:
    """The interquartile range over the median."""
    ordered = sorted(times)
    return (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / quantile(ordered, 0.5)


def is_larger(first: Sequence[float], second: Sequence[float], draws: int = 2000) -> bool:
    """Is the spread of `first` larger, as far as so many runs can tell (bootstrap, 95%)?"""
    draw = random.Random(0)

    def drawn(times: Sequence[float]) -> float:
        return spread(draw.choices(times, k=len(times)))

    return quantile(sorted(drawn(first) - drawn(second) for _ in range(draws)), 0.05) > 0


def against_do_bench(clock: CudaClock) -> list[dict[str, object]]:
    """Both timers in turns, on each kernel."""
    found: list[dict[str, object]] = []
    for name, (run, config) in cases().items():

        def launch(run: Callable[[Config], object] = run, config: Config = config) -> object:
            return run(config)

        launch()
        clock.synchronize()
        mine, other = [], []
        for turn in range(RUNS):
            for timer in (0, 1) if turn % 2 else (1, 0):  # neither always comes first
                if timer == 0:
                    mine.append(ours(launch, clock))
                else:
                    other.append(theirs(launch))
        a, b = median(mine), median(other)
        row: dict[str, object] = {
            "kernel": name,
            "ours_us": round(1000 * a, 3),
            "do_bench_us": round(1000 * b, 3),
            "apart_us": round(1000 * (a - b), 3),
            "apart": round(a / b - 1, 5),
            "spread": round(spread(mine), 5),
            "do_bench_spread": round(spread(other), 5),
            "spread_is_larger": is_larger(mine, other),
            "ours_runs_us": [round(1000 * t, 3) for t in mine],
            "do_bench_runs_us": [round(1000 * t, 3) for t in other],
        }
        row["agrees"] = abs(a / b - 1) <= 0.02 if b >= 0.05 else abs(a - b) <= 0.001
        found.append(row)
        print(json.dumps({n: v for n, v in row.items() if "runs" not in n}), flush=True)
    return found


def matmul_configs() -> list[Config]:
    sizes = itertools.product((32, 64, 128), (32, 64, 128, 256), (32, 64), (4, 8), (2, 3))
    return [
        Config({"BM": bm, "BN": bn, "BK": bk}, {"num_warps": w, "num_stages": s})
        for bm, bn, bk, w, s in sizes
    ]


def agreement(first: Sequence[float], second: Sequence[float]) -> dict[str, object]:
    """On how many pairs, more than 2% apart by both runs' mean, the two runs say the same."""
    pairs = agreed = 0
    for i, j in itertools.combinations(range(len(first)), 2):
        a, b = first[i] + second[i], first[j] + second[j]
        if max(a, b) / min(a, b) - 1 <= APART:
            continue
        pairs += 1
        agreed += (first[i] < first[j]) == (second[i] < second[j])
    return {"pairs": pairs, "agreed": agreed, "share": round(agreed / max(1, pairs), 5)}


def pairs(clock: CudaClock, count: int = 50) -> dict[str, object]:
    """Two runs over matmul configs, by plan and by do_bench."""
    sys.path.insert(0, str(DEVICE_TESTS))
    made: Any = importlib.import_module("launches")
    run = made.matmul(2048, 2048, 2048)[0]
    found = []
    for config in matmul_configs():
        try:
            run(config)
            clock.synchronize()
        except Exception:  # too large for this GPU
            continue
        found.append(config)
        if len(found) == count:
            break
    timers: dict[str, Callable[[Config], float]] = {
        "coarse": lambda c: ours(lambda: run(c), clock, COARSE),
        "precise": lambda c: ours(lambda: run(c), clock, PRECISE),
        "do_bench": lambda c: theirs(lambda: run(c)),
    }
    figures: dict[str, object] = {"configs": len(found)}
    for name, timer in timers.items():
        figures[name] = agreement(
            [timer(c) for c in found], [timer(c) for c in reversed(found)][::-1]
        )
        print(json.dumps({name: figures[name]}), flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    import torch
    import triton

    clock = CudaClock()
    report = {
        "gpu": cuda_info().name,
        "torch": str(torch.__version__),
        "triton": str(triton.__version__),
        "runs": RUNS,
        "kernels": against_do_bench(clock),
        "pairs": pairs(clock),
    }
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

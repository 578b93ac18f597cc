"""What `explain` and `prune` cost, in traces of the same kernel measured in the same run.

    python -m benchmarks.prune_speed [--repeats 5] [--skip-million]

Prints one JSON object per measurement; times are medians in ms. `in_traces` is the time over
that of one trace. `explain`, `report` (with its text) and `prune` are of flash attention, `cold`
where no program is remembered from before; `prune` is over its 8x8 space. `million` is a space
of four parameters and a million candidates, `us_per_candidate` without its traces, `peak_mib`
the process's largest resident size.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ascend_autotune
from ascend_autotune.analysis.assessing import forget
from ascend_autotune.analysis.request import resolve
from ascend_autotune.analysis.ttir import trace
from benchmarks.labels import load_module

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
TARGET = "Ascend910B3"
SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048]


def _median(action: Callable[[], Any], repeats: int, before: Callable[[], Any]) -> float:
    times = []
    for _ in range(repeats):
        before()
        gc.collect()
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def attention(repeats: int) -> None:
    module = load_module(EXAMPLES / "flash_attention.py")
    given = {"signature": module.SIGNATURE, "constants": module.CONSTANTS, "target": TARGET}
    request = resolve(module.KERNEL, **given, compile_options=None, grid=None)
    space = {"BLOCK_M": SIZES, "BLOCK_N": SIZES}
    one = request.instance(module.TILE)

    def explained() -> Any:
        return ascend_autotune.explain(module.KERNEL, **given, **module.TILE)

    def pruned() -> Any:
        return ascend_autotune.prune(module.KERNEL, space, **given)

    for action in (lambda: trace(one), explained, pruned):
        action()  # imports, and what the front end sets up once
    traced = _median(lambda: trace(one), 2 * repeats, lambda: None)
    _print("trace", traced, traced)
    for name, action in (
        ("explain", explained),
        ("report", lambda: str(explained())),
        ("prune", pruned),
    ):
        _print(f"{name}, cold", _median(action, repeats, forget), traced)
        _print(f"{name}, warm", _median(action, repeats, lambda: None), traced)
    forget()
    stats = pruned().stats
    print(json.dumps({"what": "prune", "ttir_traces": stats["ttir_traces"]}), flush=True)


def _print(what: str, ms: float, traced: float) -> None:
    values = {"what": what, "ms": round(ms, 2), "in_traces": round(ms / traced, 2)}
    print(json.dumps(values), flush=True)


def million() -> None:
    """Judge a million candidates of one kernel."""
    module = load_module(Path(__file__).with_name("wide_space.py"))
    start = time.perf_counter()
    result = ascend_autotune.prune(
        module.KERNEL, module.SPACE, signature=module.SIGNATURE, target=TARGET
    )
    seconds = time.perf_counter() - start
    request = resolve(module.KERNEL, module.SIGNATURE, {}, TARGET, None, None)
    one = request.instance({name: values[-1] for name, values in module.SPACE.items()})
    traced = _median(lambda: trace(one), 5, lambda: None) / 1e3
    traces = int(str(result.stats["ttir_traces"]))
    count = len(result.verdicts)
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    values = {
        "what": "million",
        "candidates": count,
        "ttir_traces": traces,
        "seconds": round(seconds, 3),
        "us_per_candidate": round((seconds - traces * traced) / count * 1e6, 3),
        "infeasible": len(result.infeasible),
        "unknown": len(result.unknown),
        "peak_mib": round(kib / 1024, 1),
    }
    print(json.dumps(values), flush=True)


def main() -> None:
    """Print the measurements as JSON lines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--skip-million", action="store_true")
    arguments = parser.parse_args()
    attention(arguments.repeats)
    if not arguments.skip_million:
        million()
    sys.stdout.flush()


if __name__ == "__main__":
    main()

"""What `explain` and `prune` cost, in traces of the same kernel measured in the same run.

    python -m benchmarks.prune_speed [--repeats 5] [--skip-million] [--skip-compiling]
        [--flaggems FOLDER] [--json FILE]

Prints one JSON object per measurement; times are medians in ms. `in_traces` is the time over
that of one trace, measured between the others. `explain`, `report` (with its text) and `prune` are
of flash attention, `prune` over its 8x8 space. `cold`: no program is remembered from before;
`fresh process`: nor has anything been judged in its process; `prune` is imported, and the front
end set up by one trace.
`million` is a space of four parameters and a million candidates, `us_per_candidate` without its
traces, `peak_mib` the process's largest resident size. `compiling everything` is what the
alternative takes: the seconds that the labels' compiles took, one core each, beside those of
`prune` over the same spaces, cold.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ascend_autotune
from ascend_autotune.analysis.assessing import forget
from ascend_autotune.analysis.request import resolve
from ascend_autotune.analysis.ttir import trace
from benchmarks.labels import EXAMPLES, load_module
from benchmarks.spaces import TARGET, spaces
from benchmarks.tables import Table

_SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048]
SPACE = {"BLOCK_M": _SIZES, "BLOCK_N": _SIZES}
REPOSITORY = Path(__file__).resolve().parents[1]


def _median(action: Callable[[], Any], repeats: int, before: Callable[[], Any]) -> float:
    times = []
    for _ in range(repeats):
        before()
        gc.collect()
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def attention(repeats: int, table: Table) -> None:
    """`explain` and `prune` of flash attention, beside traces of it made in between."""
    module = load_module(EXAMPLES / "flash_attention.py")
    given = {"signature": module.SIGNATURE, "constants": module.CONSTANTS, "target": TARGET}
    request = resolve(module.KERNEL, **given, compile_options=None, grid=None)
    one = request.instance(module.TILE)

    def explained() -> Any:
        return ascend_autotune.explain(module.KERNEL, **given, **module.TILE)

    def pruned() -> Any:
        return ascend_autotune.prune(module.KERNEL, SPACE, **given)

    for action in (explained, pruned):
        action()  # imports, and what the front end sets up once

    def traced() -> Any:
        return trace(one)

    table.add(_compared("trace", traced, traced, repeats, lambda: None))
    for name, action in (
        ("explain", explained),
        ("report", lambda: str(explained())),
        ("prune", pruned),
    ):
        table.add(_compared(f"{name}, cold", action, traced, repeats, forget))
        table.add(_compared(f"{name}, warm", action, traced, repeats, lambda: None))
    forget()
    table.add({"what": "prune", "ttir_traces": pruned().stats["ttir_traces"]})


def _compared(
    what: str,
    action: Callable[[], Any],
    traced: Callable[[], Any],
    repeats: int,
    before: Callable[[], Any],
) -> dict[str, object]:
    """`action` beside traces right before and after it: a machine may slow down in between."""
    pairs = []
    for _ in range(repeats):
        one = _median(traced, 3, lambda: None)
        ms = _median(action, 1, before)
        pairs.append((ms, (one + _median(traced, 3, lambda: None)) / 2))
    return _row(what, *sorted(pairs, key=lambda pair: pair[0] / pair[1])[len(pairs) // 2])


def _row(what: str, ms: float, traced: float) -> dict[str, object]:
    return {"what": what, "ms": round(ms, 2), "in_traces": round(ms / traced, 2)}


_FRESH = """
import json
from benchmarks.prune_speed import fresh
print(json.dumps(fresh()))
"""


def fresh() -> tuple[float, float]:
    """(ms of a trace, ms of `prune`) of flash attention, in a process that has judged nothing yet.

    One trace comes before, for the front end to be set up, and six after.
    """
    prune = ascend_autotune.prune  # imports what it needs
    module = load_module(EXAMPLES / "flash_attention.py")
    given = {"signature": module.SIGNATURE, "constants": module.CONSTANTS, "target": TARGET}
    request = resolve(module.KERNEL, **given, compile_options=None, grid=None)
    trace(request.instance(module.TILE))
    start = time.perf_counter()
    prune(module.KERNEL, SPACE, **given)
    pruned = time.perf_counter() - start
    tiles = [{"BLOCK_M": m, "BLOCK_N": n} for m in (32, 64, 128) for n in (64, 128)]
    start = time.perf_counter()
    for tile in tiles:
        trace(request.instance(tile))
    traced = (time.perf_counter() - start) / len(tiles)
    return traced * 1e3, pruned * 1e3


def fresh_processes(repeats: int, table: Table) -> None:
    """The cold figure of `prune`, each in a process of its own."""
    found = []
    for _ in range(repeats):
        command = [sys.executable, "-W", "ignore", "-c", _FRESH]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=REPOSITORY)
        found.append(json.loads(done.stdout))
    middle = sorted(found, key=lambda pair: pair[1] / pair[0])[len(found) // 2]
    table.add(_row("prune, fresh process", middle[1], middle[0]))


def million(table: Table) -> None:
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
    table.add(
        {
            "what": "million",
            "candidates": count,
            "ttir_traces": traces,
            "seconds": round(seconds, 3),
            "us_per_candidate": round((seconds - traces * traced) / count * 1e6, 3),
            "infeasible": len(result.infeasible),
            "unknown": len(result.unknown),
            "peak_mib": round(kib / 1024, 1),
        }
    )


def compiling_everything(name: str, flaggems: Path | None, table: Table) -> None:
    """Seconds of compiling every labelled candidate, and of judging them."""
    compiles: list[float] = []
    judged = 0.0
    for space in spaces(name, flaggems):
        compiles += [float(row.row["s"]) for row in space.rows]
        forget()
        start = time.perf_counter()
        space.judge()
        judged += time.perf_counter() - start
    table.add(
        {
            "what": "compiling everything",
            "set": name,
            "candidates": len(compiles),
            "compile_s": round(sum(compiles), 1),
            "compile_s_median": round(statistics.median(compiles), 3),
            "prune_s": round(judged, 2),
            "times": round(sum(compiles) / judged, 1),
        }
    )


def main() -> None:
    """Print the measurements as JSON lines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--skip-million", action="store_true")
    parser.add_argument("--skip-compiling", action="store_true", help="needs ../shared")
    parser.add_argument("--flaggems", type=Path, help="folder that holds flag_gems/")
    parser.add_argument("--json", type=Path, help="write the table to this file too")
    arguments = parser.parse_args()
    with Table(arguments.json) as table:
        fresh_processes(arguments.repeats, table)
        attention(arguments.repeats, table)
        if not arguments.skip_compiling:
            for name in ("reports", "flaggems"):
                compiling_everything(name, arguments.flaggems, table)
        if not arguments.skip_million:
            million(table)


if __name__ == "__main__":
    main()

"""Is what `prune` refuses refused by the compiler under every profile, and on other chips?

    python -m benchmarks.profiles_and_chips [--flaggems FOLDER] [--json FILE] [--match REGEX]

For each kernel (those of FlagGems that have labels, and ours of examples/), and for each profile
of facts.md §4 (on Ascend910B3) and chip (under the default profile), tiles that `prune` calls
infeasible are compiled afresh: of the smallest refused ones, those that are over the memory by
the least. Prints one JSON object per profile or chip: `kernels`, `cases` (a kernel under other
types counts again), `refused` (cases with a refused tile), `asked`, `false_prunes` (tiles that
the compiler accepts: must be 0), `no_verdict` (it crashed or ran out of time), `unknown` (share
of tiles left open). Needs the Ascend compiler and ../shared; answers are kept in the judge's
cache. `profiles_and_chips.jsonl` beside this file is what it printed last.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ascend_autotune
from ascend_autotune.analysis.exact import smallest
from ascend_autotune.analysis.judge import Judge
from ascend_autotune.analysis.request import resolve
from ascend_autotune.analysis.result import PruneResult
from ascend_autotune.analysis.ttir import trace
from ascend_autotune.analysis.verdict import Verdict
from benchmarks.labels import EXAMPLES, Label, labels, load_module
from benchmarks.tables import Table

DEFAULT_TARGET = "Ascend910B3"
A3 = "Ascend910_9382"
CHIPS = (A3, "Ascend310B1", "Ascend950PR_9579")
_WORKSPACE = {"set_workspace_multibuffer": 2, "tile_mix_vector_loop": 2, "tile_mix_cube_loop": 2}
_LOCAL = {"limit_auto_multi_buffer_only_for_local_buffer": True}
PROFILES: tuple[Mapping[str, object], ...] = (
    {},
    {"multibuffer": False},
    _LOCAL,
    {**_LOCAL, "limit_auto_multi_buffer_of_local_buffer": "no-limit"},
    {**_LOCAL, "limit_auto_multi_buffer_of_local_buffer": "no-l0c"},
    {"limit_auto_multi_buffer_of_local_buffer": "no-limit"},
    _WORKSPACE,
    {**_WORKSPACE, "set_workspace_multibuffer": 4},
    *({**_WORKSPACE, "tile_mix_vector_loop": n, "tile_mix_cube_loop": n} for n in (1, 4, 8)),
    {"enable_hivm_auto_cv_balance": True},
    {"enable_auto_bind_sub_block": False},
    {"sync_solver": True},
    {"enable_ubuf_saving": True},
)
_ASKED = 2  # refused tiles that are compiled, per case


@dataclass(frozen=True)
class Case:
    """A kernel with its types and constants, and the values of the parameters searched."""

    name: str
    function: Any
    given: Mapping[str, Any]
    space: Mapping[str, Sequence[Any]]


def cases(flaggems: Path | None) -> Iterator[Case]:
    """Every kernel of FlagGems' labels and of examples/."""
    rows: dict[int, list[Label]] = {}
    for label in labels("flaggems", flaggems):
        if label.status in ("ok", "overflow"):
            rows.setdefault(id(label.case), []).append(label)
    for found in rows.values():
        first = found[0]
        function = first.function()
        yield Case(
            first.case.name,
            function,
            first.given(function, first.config),
            {name: sorted({row.config[name] for row in found}) for name in first.config},
        )
    for file in sorted(EXAMPLES.glob("*.py")):
        module = load_module(file)
        given = {"signature": module.SIGNATURE, "constants": module.CONSTANTS}
        yield Case(file.stem, module.KERNEL, given, module.SPACE)


def measure(found: Sequence[Case], target: str, options: Mapping[str, object]) -> dict[str, object]:
    """Compile what is refused under one profile on one chip."""
    counts = dict.fromkeys(("refused", "asked", "false_prunes", "no_verdict"), 0)
    tiles = unknown = 0
    with Judge.find(target) as judge:
        for case in found:
            given = {**case.given, "target": target, "compile_options": options}
            result = ascend_autotune.prune(case.function, case.space, **given)
            tiles += len(result.verdicts)
            unknown += len(result.unknown)
            asked = nearest(result)
            counts["refused"] += bool(asked)
            counts["asked"] += len(asked)
            request = resolve(case.function, **given, grid=None)
            questions = [
                (trace(request.instance(verdict.candidate)).text, request.options({}))
                for verdict in asked
            ]
            for verdict, outcome in zip(asked, judge.ask_many(questions), strict=True):
                counts["no_verdict"] += outcome.fits is None
                if outcome.fits:
                    counts["false_prunes"] += 1
                    fault = {"kernel": case.name, "tile": verdict.candidate}
                    print(json.dumps({"false_prune": fault, "target": target, "profile": options}))
    return {
        "target": target,
        "profile": dict(options),
        "kernels": len({case.function for case in found}),
        "cases": len(found),
        **counts,
        "unknown": round(unknown / max(tiles, 1), 4),
    }


def nearest(result: PruneResult) -> list[Verdict]:
    """Of the smallest tiles refused for a memory, those that are over it by the least."""
    refused = [
        verdict
        for verdict in result.verdicts
        if verdict.status == "infeasible" and verdict.reasons[0].code == "overflow"
    ]
    if not refused:
        return []
    sizes = np.array([list(verdict.candidate.values()) for verdict in refused], dtype=np.int64)
    return sorted((refused[row] for row in smallest(sizes)), key=_excess)[:_ASKED]


def _excess(verdict: Verdict) -> float:
    """By what factor the need is over the memory that it is over the most."""
    return max(
        reason.required_bytes / reason.available_bytes
        for reason in verdict.reasons
        if reason.required_bytes and reason.available_bytes
    )


def main() -> None:
    """Print the table as JSON lines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--flaggems", type=Path, help="folder that holds flag_gems/")
    parser.add_argument("--json", type=Path, help="write the table to this file too")
    parser.add_argument("--match", default="", help="only cases whose name this pattern finds")
    arguments = parser.parse_args()
    found = [c for c in cases(arguments.flaggems) if re.search(arguments.match, c.name)]
    runs = [(DEFAULT_TARGET, options) for options in PROFILES]
    runs += [(target, {}) for target in CHIPS]
    runs += [(A3, {"enable_ubuf_saving": True})]  # A2 does not have it
    with Table(arguments.json) as table:
        for target, options in runs:
            table.add(measure(found, target, options))


if __name__ == "__main__":
    main()

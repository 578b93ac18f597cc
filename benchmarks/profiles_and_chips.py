"""Is what `prune` refuses refused by the compiler under every profile, and on other chips?

    python -m benchmarks.profiles_and_chips [--kernels 30] [--flaggems FOLDER]

For each FlagGems kernel, and for each profile (on Ascend910B3) and chip (under the default
profile), the smallest tiles that `prune` calls infeasible are compiled afresh. Prints one JSON
object per profile or chip: `kernels`, `refused` (kernels with a refused tile), `asked`,
`false_prunes` (tiles that the compiler accepts: must be 0) and `unknown` (share of tiles left
open). Needs the Ascend compiler and ../shared; answers are kept in the judge's cache.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import ascend_autotune
from ascend_autotune.analysis.exact import smallest
from ascend_autotune.analysis.judge import Judge
from ascend_autotune.analysis.request import resolve
from ascend_autotune.analysis.ttir import trace
from benchmarks.labels import Label, labels

DEFAULT_TARGET = "Ascend910B3"
CHIPS = ("Ascend910_9382", "Ascend310B1", "Ascend950PR_9579")
_WORKSPACE = {"set_workspace_multibuffer": 2, "tile_mix_vector_loop": 2, "tile_mix_cube_loop": 2}
PROFILES: tuple[Mapping[str, object], ...] = (
    {},
    {"multibuffer": False},
    {"limit_auto_multi_buffer_only_for_local_buffer": True},
    {
        "limit_auto_multi_buffer_only_for_local_buffer": True,
        "limit_auto_multi_buffer_of_local_buffer": "no-limit",
    },
    {
        "limit_auto_multi_buffer_only_for_local_buffer": True,
        "limit_auto_multi_buffer_of_local_buffer": "no-l0c",
    },
    {"limit_auto_multi_buffer_of_local_buffer": "no-limit"},
    _WORKSPACE,
    {**_WORKSPACE, "set_workspace_multibuffer": 4},
    *({**_WORKSPACE, "tile_mix_vector_loop": n, "tile_mix_cube_loop": n} for n in (1, 4, 8)),
    {"enable_hivm_auto_cv_balance": True},
    {"enable_auto_bind_sub_block": False},
    {"sync_solver": True},
    {"enable_ubuf_saving": True},
)
_ASKED = 2  # smallest refused tiles that are compiled, per kernel


def cases(kernels: int, flaggems: Path | None) -> list[list[Label]]:
    """The rows of the first kernels of the set that have some."""
    found: dict[int, list[Label]] = {}
    for label in labels("flaggems", flaggems):
        if label.status in ("ok", "overflow"):
            found.setdefault(id(label.case), []).append(label)
    return list(found.values())[:kernels]


def measure(
    kernels: list[list[Label]], target: str, options: Mapping[str, object]
) -> dict[str, object]:
    """Compile what is refused under one profile on one chip."""
    judge = Judge.find(target)
    counts = {"kernels": 0, "refused": 0, "asked": 0, "false_prunes": 0}
    tiles = unknown = 0
    for rows in kernels:
        label = rows[0]
        function = label.function()
        given: dict[str, Any] = {
            **label.given(function, label.config),
            "target": target,
            "compile_options": options,
        }
        space = {name: sorted({row.config[name] for row in rows}) for name in label.config}
        result = ascend_autotune.prune(function, space, **given)
        counts["kernels"] += 1
        tiles += len(result.verdicts)
        unknown += len(result.unknown)
        refused = [
            verdict.candidate
            for verdict in result.verdicts
            if verdict.status == "infeasible" and verdict.reasons[0].code == "overflow"
        ]
        if not refused:
            continue
        counts["refused"] += 1
        sizes = np.array([list(tile.values()) for tile in refused], dtype=np.int64)
        request = resolve(function, **given, grid=None)
        questions = [
            (trace(request.instance(refused[row])).text, request.options({}))
            for row in smallest(sizes)[:_ASKED]
        ]
        outcomes = judge.ask_many(questions)
        counts["asked"] += len(outcomes)
        for row, outcome in zip(smallest(sizes), outcomes, strict=False):
            if outcome.fits:
                counts["false_prunes"] += 1
                fault = {"kernel": label.case.name, "tile": refused[row]}
                print(json.dumps({"false_prune": fault, "target": target, "profile": options}))
    return {
        "target": target,
        "profile": dict(options),
        **counts,
        "unknown": round(unknown / max(tiles, 1), 4),
    }


def main() -> None:
    """Print the table as JSON lines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kernels", type=int, default=30)
    parser.add_argument("--flaggems", type=Path, help="folder that holds flag_gems/")
    arguments = parser.parse_args()
    kernels = cases(arguments.kernels, arguments.flaggems)
    for options in PROFILES:
        print(json.dumps(measure(kernels, DEFAULT_TARGET, options)), flush=True)
    for target in CHIPS:
        print(json.dumps(measure(kernels, target, {})), flush=True)


if __name__ == "__main__":
    main()

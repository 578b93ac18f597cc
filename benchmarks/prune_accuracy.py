"""How often `prune` is right: its verdicts against the labels of the real compiler.

    python -m benchmarks.prune_accuracy [--set flaggems] [--exact] [--family] [--flaggems FOLDER]

Prints one JSON object per kernel and one per set. `ok_infeasible` counts the worst fault, a
config that compiles and was called infeasible. Shares and errors are None where there is
nothing to take them of:

caught            overflow rows called infeasible, over all of them; `mean_caught` over kernels
required_error    |required_bytes - the row's first figure| / that figure, median and 95th
                  percentile, of the overflow rows called infeasible
fallback          ok rows whose compile fell back (or did not) as `Verdict.fallback` says
family            rows (--family) whose family is the compiler's own mode: `aiv` is vector,
                  `aic` and `mix` are mixcv
asked             programs that the compiler was asked about (--exact), over the rows
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ascend_autotune
from ascend_autotune.analysis.verdict import Verdict
from benchmarks.labels import SETS, Label, labels

TARGET = "Ascend910B3"
_GRID = 4  # a product of values this many times its labelled rows is judged row by row


@dataclass
class Tally:
    """Counts over rows, with what the figures are taken of."""

    rows: Counter[str] = field(default_factory=Counter)
    errors: list[float] = field(default_factory=list)
    asked: int = 0

    def add(self, label: Label, verdict: Verdict) -> None:
        self.rows[f"{label.status}_{verdict.status}"] += 1
        if label.status == "ok":
            kind = "fallback" if label.fallback else "plain"
            right = bool(label.fallback) == bool(verdict.fallback)
            self.rows[f"{kind}_{'right' if right else 'wrong'}"] += 1
        elif verdict.status == "infeasible" and label.required:
            memory, figure = next(iter(label.required.items()))
            said = [r.required_bytes or 0 for r in verdict.reasons if r.memory == memory]
            self.errors.append(abs((said[0] if said else 0) - figure) / figure)

    def add_family(self, label: Label) -> None:
        mode = label.row.get("mode")
        if not mode:
            return
        function = label.function()
        report = ascend_autotune.explain(function, target=TARGET, **label.given(function))
        found = report.classification.family if report.classification else None
        right = found == ("vector" if mode == "aiv" else "mixcv")
        self.rows[f"family_{'right' if right else 'wrong'}"] += 1

    def merge(self, other: Tally) -> None:
        self.rows.update(other.rows)
        self.errors += other.errors
        self.asked += other.asked

    @property
    def caught(self) -> float | None:
        total = sum(n for name, n in self.rows.items() if name.startswith("overflow_"))
        return round(self.rows["overflow_infeasible"] / total, 4) if total else None

    def to_json(self) -> dict[str, object]:
        labelled = sum(n for name, n in self.rows.items() if name.startswith(("ok_", "overflow_")))
        errors = sorted(self.errors)
        return {
            **dict(sorted(self.rows.items())),
            "caught": self.caught,
            "required_error_median": _quantile(errors, 0.5),
            "required_error_p95": _quantile(errors, 0.95),
            "asked": self.asked,
            "asked_share": round(self.asked / labelled, 4) if labelled else None,
        }


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    if not ordered:
        return None
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 4)


def measure(
    name: str, *, exact: bool, family: bool, flaggems: Path | None
) -> Iterator[tuple[str, Tally]]:
    """(kernel, tally) over the ok and overflow rows of one set."""
    cases: dict[tuple[int, str], list[Label]] = defaultdict(list)
    for label in labels(name, flaggems):
        if label.status in ("ok", "overflow"):
            fixed = {n: v for n, v in label.config.items() if not _searchable(v)}
            key = json.dumps([label.options, fixed], default=str)
            cases[id(label.case), key].append(label)
    found: dict[str, Tally] = {}
    for rows in cases.values():
        tally = found.setdefault(rows[0].case.name, Tally())
        for label, verdict in _judged(rows, tally, exact=exact):
            tally.add(label, verdict)
            if family:
                tally.add_family(label)
    yield from found.items()


def _judged(rows: Sequence[Label], tally: Tally, *, exact: bool) -> Iterator[tuple[Label, Verdict]]:
    """Each labelled row with its verdict, from one space where the rows nearly fill one."""
    names = [name for name, value in rows[0].config.items() if _searchable(value)]
    values = {name: sorted({row.config[name] for row in rows}) for name in names}
    groups = [rows]
    if math.prod(map(len, values.values())) > _GRID * len(rows):
        groups = [[row] for row in rows]
    for group in groups:
        space = {name: [v for v in values[name] if _seen(group, name, v)] for name in names}
        first = group[0]
        function = first.function()
        result = ascend_autotune.prune(
            function,
            space,
            target=TARGET,
            compile_options=first.options,
            exact=exact,
            **first.given(function, names),
        )
        tally.asked += int(str(result.stats["judge_calls"]))
        known = {_key(verdict.candidate, names): verdict for verdict in result.verdicts}
        for row in group:
            yield row, known[_key(row.config, names)]


def _searchable(value: object) -> bool:
    return type(value) is int and value > 0


def _seen(rows: Iterable[Label], name: str, value: Any) -> bool:
    return any(row.config[name] == value for row in rows)


def _key(config: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(config[name] for name in names)


def main() -> None:
    """Print the table as JSON lines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--set", choices=SETS, action="append")
    parser.add_argument("--flaggems", type=Path, help="folder that holds flag_gems/")
    parser.add_argument("--exact", action="store_true", help="with the compiler as judge")
    parser.add_argument("--family", action="store_true", help="check the family of every row too")
    arguments = parser.parse_args()
    for name in arguments.set or SETS:
        total, shares = Tally(), []
        for kernel, tally in measure(
            name,
            exact=arguments.exact,
            family=arguments.family,
            flaggems=arguments.flaggems,
        ):
            print(json.dumps({"set": name, "kernel": kernel, **tally.to_json()}), flush=True)
            total.merge(tally)
            if tally.caught is not None:
                shares.append(tally.caught)
        mean = round(sum(shares) / len(shares), 4) if shares else None
        print(json.dumps({"set": name, **total.to_json(), "mean_caught": mean}), flush=True)


if __name__ == "__main__":
    main()

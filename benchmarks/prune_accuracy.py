"""How often `prune` is right: its verdicts against the labels of the real compiler.

    python -m benchmarks.prune_accuracy [--set flaggems] [--exact] [--family] [--json FILE]
        [--flaggems FOLDER]

Prints one JSON object per kernel, one per set, and for each set one per way of deciding that
others have (`hand_models`), on the same rows. `ok_infeasible` counts the worst fault, a
config that compiles and was called infeasible. Shares and errors are None where there is
nothing to take them of:

caught            overflow rows called infeasible, over all of them; `mean_caught` over kernels
required_error    |required_bytes - the row's first figure| / that figure, median and 95th
                  percentile, of the overflow rows called infeasible
fallback          ok rows whose compile fell back (or did not) as `Verdict.fallback` says
family            rows (--family) whose family is the compiler's own mode: `aiv` is vector,
                  `aic` and `mix` are mixcv
asked             programs that the compiler was asked about (--exact), over the rows
live              rows of micro, memory by memory: how often our largest sum of live bytes, copies
                  included, is the compiler's (`live_sums`)
hand models       `false_prunes`: ok rows that the model would not let through; `caught`: overflow
                  rows that it would not; `own_*`: of kernels that it has a factor of its own for
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import ascend_autotune
from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.ir import Module
from ascend_autotune.analysis.kernel import make_instance
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.reader import parse_module
from ascend_autotune.analysis.ttir import trace
from ascend_autotune.analysis.verdict import Verdict
from benchmarks.hand_models import MODELS
from benchmarks.labels import SETS, Label
from benchmarks.live_sums import Counts, attempt_of, live_sums
from benchmarks.spaces import TARGET, spaces
from benchmarks.tables import Table


@dataclass
class Tally:
    """Counts over rows, with what the figures are taken of."""

    rows: Counter[str] = field(default_factory=Counter)
    errors: list[float] = field(default_factory=list)
    asked: int = 0
    live: Counts = field(default_factory=Counts)
    hand: dict[str, Counter[str]] = field(
        default_factory=lambda: {model.name: Counter() for model in MODELS}
    )

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

    def add_program(self, label: Label, module: Module) -> None:
        """What is said by the program alone: others' thresholds, and the live sums of micro."""
        elements, widest = _tile(label, module)
        for model in MODELS:
            refused = not model.fits(label.case.kernel, elements, widest)
            counts = self.hand[model.name]
            for prefix in ("", "own_") if model.known(label.case.kernel) else ("",):
                counts[f"{prefix}{label.status}"] += 1
                counts[f"{prefix}{label.status}_refused"] += refused
        scopes = label.row.get("scopes")
        if scopes:
            options = CompileOptions.from_request(label.options)
            attempts = live_sums(module, chip(TARGET), options)
            index = attempt_of(label.fallback, label.status == "overflow", len(attempts))
            theirs = {_SCOPES[name]: scope["live"] for name, scope in scopes.items()}
            self.live.add(attempts[index], theirs)

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
        self.live.merge(other.live)
        for name, counts in other.hand.items():
            self.hand[name].update(counts)

    def hand_rows(self) -> Iterator[dict[str, object]]:
        """How each of the others does on the same rows."""
        for name, counts in self.hand.items():
            row: dict[str, object] = {"model": name}
            for prefix in ("", "own_"):
                ok, overflow = counts[f"{prefix}ok"], counts[f"{prefix}overflow"]
                row[f"{prefix}ok"] = ok
                row[f"{prefix}false_prunes"] = counts[f"{prefix}ok_refused"]
                row[f"{prefix}overflow"] = overflow
                caught = counts[f"{prefix}overflow_refused"]
                row[f"{prefix}caught"] = round(caught / overflow, 4) if overflow else None
            yield row

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
            **({"live": self.live.to_json()} if self.live.pairs else {}),
        }


_SCOPES = MappingProxyType({"ub": "ub", "cbuf": "l1", "cc": "l0c"})


def _tile(label: Label, module: Module) -> tuple[int, int]:
    """Elements of the largest tensor, and bytes of the widest type that an argument points to."""
    tensors = [value.type.numel for op in module.walk() for value in op.results]
    pointers = [re.match(r"\*\D+(\d+)", kind) for kind in label.case.types]
    return max(tensors, default=1), max((int(p[1]) // 8 for p in pointers if p), default=1)


def _program(label: Label) -> Module:
    function = label.function()
    return parse_module(
        trace(make_instance(function, **label.given(function), chip=chip(TARGET))).generic
    )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    if not ordered:
        return None
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 4)


def measure(
    name: str, *, exact: bool, family: bool, flaggems: Path | None
) -> Iterator[tuple[str, Tally]]:
    """(kernel, tally) over the ok and overflow rows of one set."""
    found: dict[str, Tally] = {}
    for space in spaces(name, flaggems):
        tally = found.setdefault(space.rows[0].case.name, Tally())
        result = space.judge(exact=exact)
        tally.asked += int(str(result.stats["judge_calls"]))
        for label, verdict in space.verdicts(result):
            tally.add(label, verdict)
            tally.add_program(label, _program(label))
            if family:
                tally.add_family(label)
    yield from found.items()


def main() -> None:
    """Print the table as JSON lines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--set", choices=SETS, action="append")
    parser.add_argument("--flaggems", type=Path, help="folder that holds flag_gems/")
    parser.add_argument("--json", type=Path, help="write the table to this file too")
    parser.add_argument("--exact", action="store_true", help="with the compiler as judge")
    parser.add_argument("--family", action="store_true", help="check the family of every row too")
    arguments = parser.parse_args()
    with Table(arguments.json) as table:
        for name in arguments.set or SETS:
            total, shares = Tally(), []
            for kernel, tally in measure(
                name,
                exact=arguments.exact,
                family=arguments.family,
                flaggems=arguments.flaggems,
            ):
                table.add({"set": name, "kernel": kernel, **tally.to_json()})
                total.merge(tally)
                if tally.caught is not None:
                    shares.append(tally.caught)
            mean = round(sum(shares) / len(shares), 4) if shares else None
            table.add({"set": name, **total.to_json(), "mean_caught": mean})
            for row in total.hand_rows():
                table.add({"set": name, **row})


if __name__ == "__main__":
    main()

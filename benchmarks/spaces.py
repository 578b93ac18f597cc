"""The labelled rows of a set as search spaces: what `prune` is asked, beside what it should say."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ascend_autotune
from ascend_autotune.analysis.result import PruneResult
from ascend_autotune.analysis.verdict import Verdict
from benchmarks.labels import Label, labels

TARGET = "Ascend910B3"
_GRID = 4  # a product of values this many times its labelled rows is judged row by row


@dataclass(frozen=True)
class LabelledSpace:
    """Rows of one kernel under one profile, and the space that they stand in."""

    rows: Sequence[Label]
    values: Mapping[str, Sequence[int]]

    def judge(self, *, exact: bool = False) -> PruneResult:
        """`prune` over the space."""
        first = self.rows[0]
        function = first.function()
        return ascend_autotune.prune(
            function,
            self.values,
            target=TARGET,
            compile_options=first.options,
            exact=exact,
            **first.given(function, list(self.values)),
        )

    def verdicts(self, result: PruneResult) -> Iterator[tuple[Label, Verdict]]:
        """Each row with its verdict."""
        known = {self._key(verdict.candidate): verdict for verdict in result.verdicts}
        for row in self.rows:
            yield row, known[self._key(row.config)]

    def _key(self, config: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(config[name] for name in self.values)


def spaces(name: str, flaggems: Path | None) -> Iterator[LabelledSpace]:
    """The ok and overflow rows of a set, those of a kernel together where they can be."""
    cases: dict[tuple[int, str], list[Label]] = defaultdict(list)
    for label in labels(name, flaggems):
        if label.status in ("ok", "overflow"):
            fixed = {n: v for n, v in label.config.items() if not _searchable(v)}
            key = json.dumps([label.options, fixed], default=str)
            cases[id(label.case), key].append(label)
    for rows in cases.values():
        names = [name for name, value in rows[0].config.items() if _searchable(value)]
        whole = LabelledSpace(rows, _values(rows, names))
        if math.prod(map(len, whole.values.values())) <= _GRID * len(rows):
            yield whole
        else:
            yield from (LabelledSpace([row], _values([row], names)) for row in rows)


def _values(rows: Iterable[Label], names: Sequence[str]) -> dict[str, list[int]]:
    return {name: sorted({row.config[name] for row in rows}) for name in names}


def _searchable(value: object) -> bool:
    return type(value) is int and value > 0

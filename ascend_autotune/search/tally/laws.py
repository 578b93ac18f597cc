"""The numbers of a program as products of powers of the searched parameters, from few traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_autotune.analysis.reader import parse_module
from ascend_autotune.analysis.request import Request
from ascend_autotune.analysis.ttir import trace
from ascend_autotune.errors import AnalysisError, FrontEndError
from ascend_autotune.search.tally.items import Item, items_of
from ascend_autotune.search.tally.scalars import Scalars

TRACES = 20
"""So many programs are traced at most."""
_WHOLE = 0.2  # a power this close to a whole number is that number

# Rounded up from a quotient: the number of steps that cover a length.
_COUNTS = frozenset({"trips", "outer"})


@dataclass(frozen=True)
class _Law:
    """numbers (columns) = constant * product of parameters (rows) to the powers."""

    powers: np.ndarray
    constants: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class Laws:
    """The items of a kernel's program for any candidate."""

    names: tuple[str, ...]
    codes: Mapping[str, Mapping[str, float]]
    kinds: tuple[str, ...]
    fields: tuple[tuple[str, ...], ...]
    law: _Law

    @classmethod
    def learn(cls, request: Request, candidates: Sequence[Mapping[str, object]]) -> Laws:
        """Trace a few of `candidates` and fit. Raises `AnalysisError` where none can be read."""
        names = _searched(request, candidates)
        codes = _codes(names, candidates)
        traced: list[tuple[np.ndarray, list[Item]]] = []
        # A law needs one program more than it has powers; the candidates themselves step in.
        spare = (candidates[0], candidates[len(candidates) // 2], candidates[-1])
        for group in (chosen(names, candidates), spare):
            for candidate in group if len(traced) <= len(names) else ():
                items = _traced(request, {name: candidate[name] for name in names})
                if items is not None:
                    traced.append((_logs(names, codes, [candidate])[0], items))
        if not traced:
            raise AnalysisError(f"no candidate of {request.info.name} could be traced")
        kinds = _commonest([tuple(i.kind for i in items) for _, items in traced])
        alike = [(logs, items) for logs, items in traced if tuple(i.kind for i in items) == kinds]
        fields = tuple(tuple(item.numbers) for item in alike[0][1])
        table = np.array(
            [[v for item in items for v in item.numbers.values()] for _, items in alike]
        )
        columns = [name for item in fields for name in item]
        law = _fit(np.array([logs for logs, _ in alike]), table, columns)
        return cls(names, codes, kinds, fields, law)

    def items(self, candidates: Sequence[Mapping[str, object]]) -> list[Item]:
        """Items whose numbers are arrays (candidates,)."""
        logs = _logs(self.names, self.codes, candidates)
        law = self.law
        values = law.constants * np.exp2(logs @ law.powers)
        values = np.where(law.counts, np.ceil(values - 1e-6), values)
        found, at = [], 0
        for kind, fields in zip(self.kinds, self.fields, strict=True):
            columns: dict[str, Any] = {name: values[:, at + i] for i, name in enumerate(fields)}
            found.append(Item(kind, columns))
            at += len(fields)
        return found


def _commonest(kinds: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The form that programs have most often, among those with the most loops.

    A loop that runs once is no loop in TTIR; the law of one that runs often gives once, too.
    """
    counts = Counter(kinds)
    often = [kind for kind, count in counts.items() if 4 * count >= len(kinds)] or list(counts)
    return max(often, key=lambda kind: (kind.count("loop"), counts[kind]))


def _searched(request: Request, candidates: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """The parameters that reach the program: constexprs, not fields of triton.Config."""
    names = dict.fromkeys(name for c in candidates[:1] for name in c)
    return tuple(name for name in names if name in request.info.constexprs)


def _codes(
    names: Iterable[str], candidates: Sequence[Mapping[str, object]]
) -> dict[str, dict[str, float]]:
    """A number for each value of a parameter that is no size."""
    codes: dict[str, dict[str, float]] = {}
    for name in names:
        values = dict.fromkeys(c[name] for c in candidates)
        if not all(isinstance(v, int) and not isinstance(v, bool) and v > 0 for v in values):
            codes[name] = {repr(v): float(i) for i, v in enumerate(values)}
    return codes


def _logs(
    names: Sequence[str],
    codes: Mapping[str, Mapping[str, float]],
    candidates: Sequence[Mapping[str, object]],
) -> np.ndarray:
    columns = []
    for name in names:
        if name in codes:
            columns.append([codes[name].get(repr(c[name]), 0.0) for c in candidates])
        else:
            columns.append(np.log2([float(str(c[name])) for c in candidates]))  # type: ignore
    return np.array(columns, dtype=float).T.reshape(len(candidates), len(names))


def chosen(
    names: Sequence[str], candidates: Sequence[Mapping[str, object]]
) -> list[Mapping[str, object]]:
    """The candidates to trace: a middle and a small one, from each of them every parameter
    up and down, and the smallest. In a space that is no full grid some are none of its own."""
    axes = [_ordered({c[name] for c in candidates}) for name in names]
    middle = tuple(axis[len(axis) // 2] for axis in axes)
    small = tuple(axis[len(axis) // 4] for axis in axes)
    wanted = [middle, small]
    for i, axis in enumerate(axes):
        for j in (0, len(axis) // 2, 3 * len(axis) // 4):
            wanted.append((*small[:i], axis[j], *small[i + 1 :]))
        for j in (len(axis) // 4, len(axis) - 1):
            wanted.append((*middle[:i], axis[j], *middle[i + 1 :]))
    wanted.append(tuple(axis[0] for axis in axes))
    keys = list(dict.fromkeys(wanted))[:TRACES]
    return [dict(zip(names, key, strict=True)) for key in keys]


def _ordered(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda v: (not isinstance(v, int), v if isinstance(v, int) else 0,
                                         repr(v)))  # fmt: skip


def _traced(request: Request, tile: Mapping[str, object]) -> list[Item] | None:
    try:
        module = parse_module(trace(request.instance(tile)).generic)
    except (FrontEndError, AnalysisError):
        return None
    grid = request.grid_of(tile) or (1,)
    place = tuple(max(0, (n - 1) // 2) for n in grid)
    return items_of(module, Scalars(grid, place))


def _fit(logs: np.ndarray, table: np.ndarray, names: Sequence[str]) -> _Law:
    """Least squares in logarithms; powers that are nearly whole numbers become whole."""
    counts = np.array([name in _COUNTS for name in names])
    fixed = np.array([name[0] == "e" and name[1:].isdigit() for name in names])
    positive = np.maximum(table, 1e-9)
    design = np.column_stack([np.ones(len(logs)), logs])
    solved = np.linalg.lstsq(design, np.log2(positive), rcond=None)[0]
    powers = solved[1:]
    whole = np.round(powers)
    powers = np.where(np.abs(powers - whole) < _WHOLE, whole, powers)
    # A mask's bound belongs to the problem; along a side of length 1 it does not show.
    powers = np.where(fixed | (table.max(axis=0) <= 0), 0.0, powers)
    constants = positive / np.exp2(logs @ powers)
    # A count was rounded up: its true constant is at most the least seen.
    middle = np.where(counts, constants.min(axis=0), np.median(constants, axis=0))
    middle = np.where(fixed, table.max(axis=0), middle)
    return _Law(powers, np.where(table.max(axis=0) > 0, middle, 0.0), counts)

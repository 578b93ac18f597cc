"""The space of a search: candidates x profiles, immutable, indexable, each made when looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ascend_autotune.search.config import Config

POOL = 6144
"""So many candidates at most are weighed against each other; a larger space is sampled."""


class ConfigSpace(Sequence[Config]):
    """Every candidate under every profile, the profile varying fastest."""

    def __init__(
        self,
        candidates: Sequence[Mapping[str, object]],
        profiles: Sequence[Mapping[str, object]] = ({},),
    ) -> None:
        self.candidates = candidates
        self.profiles = tuple(profiles) or ({},)

    def __len__(self) -> int:
        return len(self.candidates) * len(self.profiles)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"config {index} of {len(self)}")
        candidate, profile = divmod(index % len(self), len(self.profiles))
        return Config(self.candidates[candidate], self.profiles[profile])


def pool(count: int, seed: int, limit: int = POOL) -> np.ndarray:
    """Indices of the candidates to weigh: all, or `limit` of them, one from each equal stretch."""
    if count <= limit:
        return np.arange(count)
    edges = np.linspace(0, count, limit + 1)
    drawn = np.random.default_rng(seed).random(limit)
    picked: np.ndarray = (edges[:-1] + drawn * np.diff(edges)).astype(np.int64)
    return picked


def coordinates(points: Sequence[Mapping[str, object]]) -> np.ndarray:
    """Points in a plane where near means alike: one row each, log2 for sizes, 0/1 for kinds.

    A parameter with one value has no column. Positive numbers that spread over a factor of 2
    or more count by their logarithm, since doubling a tile is one step.
    """
    columns: list[np.ndarray] = []
    names = list(dict.fromkeys(name for point in points for name in point))
    for name in names:
        values = [point.get(name) for point in points]
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            numbers = np.array(values, dtype=float)
            if numbers.min() > 0 and numbers.max() >= 2 * numbers.min():
                numbers = np.log2(numbers)
            if numbers.max() > numbers.min():
                columns.append(numbers)
        else:
            kinds = list(dict.fromkeys(map(repr, values)))
            codes = np.array([kinds.index(repr(v)) for v in values])
            if len(kinds) == 2:
                columns.append(codes.astype(float))
            elif len(kinds) > 2:
                columns.extend((codes == k) * 1.0 for k in range(len(kinds)))
    if not columns:
        return np.zeros((len(points), 0))
    return np.column_stack(columns)

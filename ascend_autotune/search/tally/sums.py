"""From the items of a program to quantities, one figure per candidate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_autotune.search.tally.items import RANK, Item

_SUMS = (
    *("load_bytes", "store_bytes", "again_bytes", "load_lanes"),
    *("dot_flops", "vector", "special", "reduced", "steps"),
)
_MOST = (
    *("dot_m", "dot_n", "dot_k", "dot_bits", "axis"),
    *("step_bytes", "live_bytes", "staged_bytes", "tile"),
)
_SIDES = {"dot_m": "m", "dot_n": "n", "dot_k": "k", "dot_bits": "bits"}


def quantities(items: Sequence[Item], programs: np.ndarray) -> dict[str, np.ndarray]:
    """Sum up items whose numbers are arrays (candidates,); see `work.KernelWork` for names."""
    return _Sums(programs).of(items)


class _Sums:
    def __init__(self, programs: np.ndarray) -> None:
        self.zero = np.zeros(len(programs))
        self.found = {name: self.zero for name in (*_SUMS, *_MOST)}
        self.found["programs"] = programs
        self.run = np.full(len(programs), np.inf)
        self.by_loop: dict[int, np.ndarray] = {}
        self.by_base: dict[int, np.ndarray] = {}
        self.largest_dot = self.zero

    def of(self, items: Sequence[Item]) -> dict[str, np.ndarray]:
        for item in items:
            numbers = {k: np.asarray(v, dtype=float) for k, v in item.numbers.items()}
            if item.kind in ("load", "store", "atomic"):
                self._access(item.kind, numbers)
            elif item.kind == "dot":
                self._dot(numbers)
            elif item.kind == "reduce":
                self._add("reduced", numbers["numel"] * numbers["trips"])
                self._most("axis", numbers["axis"])
            elif item.kind in ("vector", "special"):
                self._add(item.kind, numbers["numel"] * numbers["trips"])
                self._most("tile", numbers["numel"])
            elif item.kind == "loop":
                self._add("steps", numbers["trips"] * numbers["outer"])
            else:
                self._most("live_bytes", numbers["bytes"])
        for brought in self.by_loop.values():
            self._most("step_bytes", brought)
        return {**self.found, "run_bytes": np.where(np.isfinite(self.run), self.run, 0.0)}

    def _add(self, name: str, value: np.ndarray) -> None:
        self.found[name] = self.found[name] + value

    def _most(self, name: str, value: np.ndarray) -> None:
        self.found[name] = np.maximum(self.found[name], value)

    def _access(self, kind: str, n: dict[str, np.ndarray]) -> None:
        elements, share = self.zero + 1, self.zero + 1
        for d in range(RANK):
            side, bound = np.maximum(n[f"d{d}"], 1), n[f"e{d}"]
            elements = elements * side
            covered = np.ceil(np.maximum(bound, 1) / side) * side
            share = share * np.where(bound > 0, np.minimum(1.0, bound / covered), 1.0)
        lanes, size = elements * n["trips"], elements * n["bytes"]
        moved = lanes * share * n["bytes"]
        self._add("load_lanes", lanes)
        self._most("tile", elements)
        self.run = np.where(elements > 1, np.minimum(self.run, n["run"] * n["bytes"]), self.run)
        if kind != "load":
            self._add("store_bytes", moved * (2 if kind == "atomic" else 1))
            return
        self._add("load_bytes", moved)
        loop, base = round(float(n["loop"][0])), round(float(n["base"][0]))
        if loop:
            self.by_loop[loop] = self.by_loop.get(loop, self.zero) + size
        if base:
            before = self.by_base.get(base, self.zero)
            self._add("again_bytes", np.minimum(moved, before))
            self.by_base[base] = np.maximum(moved, before)
        if n["staged"][0] > 0.5:
            self._add("staged_bytes", size)

    def _dot(self, n: dict[str, np.ndarray]) -> None:
        flops = 2 * n["m"] * n["n"] * n["k"] * n["trips"]
        self._add("dot_flops", flops)
        larger = flops > self.largest_dot
        self.largest_dot = np.where(larger, flops, self.largest_dot)
        for name, side in _SIDES.items():
            self.found[name] = np.where(larger, n[side], self.found[name])

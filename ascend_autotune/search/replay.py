"""Recorded landscapes as devices: real times on a simulated clock.

A landscape is a JSON file (`.json` or `.json.gz`), one per kernel and problem, with every config
of a grid, compiled and timed once on a real chip; its folder holds `kernels.py`, the kernels
themselves. The format is described in benchmarks/landscapes/README.md.
"""

from __future__ import annotations

import gzip
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ascend_autotune.errors import RequestError
from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, DeviceInfo, Reading
from ascend_autotune.search.known import known_device
from ascend_autotune.search.problem import Problem
from ascend_autotune.search.work import Workload

MET_BEFORE_S = 0.05
"""A recorded compile shorter than this was served from a cache (the landscapes' README)."""
LAUNCH_FIELDS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


@dataclass(frozen=True)
class Row:
    """One recorded config: `time_ms` and `error`, one of them None; seconds that it cost."""

    config: Config
    time_ms: float | None
    low_ms: float
    high_ms: float
    error: str | None
    detail: Mapping[str, Any]
    compile_s: float
    bench_s: float


@dataclass(frozen=True)
class Landscape:
    """A kernel with one problem on one chip: every config of a grid with its time."""

    name: str
    kernel: str
    problem: Mapping[str, Any]
    dtype: str
    device: str
    rows: tuple[Row, ...]

    @cached_property
    def by_config(self) -> Mapping[Config, Row]:
        return {row.config: row for row in self.rows}

    @cached_property
    def best_ms(self) -> float:
        """The least time of a config whose result was right."""
        return min(row.time_ms for row in self.rows if row.time_ms is not None)


def load_landscape(path: Path) -> Landscape:
    """Read one landscape. Raises `RequestError` for a file that is none."""
    try:
        raw = path.read_bytes()
        data = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
        compiled = _compile_seconds(data["rows"])
        rows = tuple(_row(r, s) for r, s in zip(data["rows"], compiled, strict=True))
        return Landscape(
            path.name.removesuffix(".gz").removesuffix(".json"),
            data["kernel"],
            data["problem"],
            data.get("dtype", "float16"),
            data["device"],
            rows,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RequestError(f"{path} is no landscape: {type(error).__name__}: {error}") from error


def load_landscapes(folder: Path) -> list[Landscape]:
    """Every landscape of a folder, by name. Raises `RequestError` where there is none."""
    paths = sorted([*folder.glob("*.json.gz"), *folder.glob("*.json")])
    if not paths:
        raise RequestError(f"{folder} holds no landscapes (*.json.gz)")
    return [load_landscape(path) for path in paths]


def _row(row: Mapping[str, Any], compile_s: float) -> Row:
    timed = row.get("time_ms") if row.get("ok") and not row.get("error") else None
    error = row.get("error")
    if timed is None and not error:
        error = "wrong result"
    return Row(
        Config(_values(row)),
        timed,
        row.get("p10_ms") or row.get("min_ms") or timed or 0.0,
        row.get("p90_ms") or timed or 0.0,
        error,
        row.get("detail") or {},
        compile_s,
        (row.get("load_s") or 0.0) + (row.get("bench_s") or 0.0),
    )


def _values(row: Mapping[str, Any]) -> dict[str, object]:
    fields = {name: row[name] for name in LAUNCH_FIELDS if row.get(name) is not None}
    return {**row["params"], **fields}


def _compile_seconds(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Seconds of a cold compile; of a config met before, those of the most alike one.

    Alike: the same tile and warps under another number of stages, else the same tile, else
    the median of all.
    """
    cold = [r for r in rows if (r.get("compile_s") or 0.0) >= MET_BEFORE_S]
    fallback = statistics.median([r["compile_s"] for r in cold]) if cold else 0.0
    by_warps: dict[str, float] = {}
    by_tile: dict[str, float] = {}
    for row in cold:
        tile = json.dumps(row["params"], sort_keys=True)
        for table, name in ((by_warps, f"{tile}{row.get('num_warps')}"), (by_tile, tile)):
            table[name] = max(table.get(name, 0.0), row["compile_s"])
    seconds = []
    for row in rows:
        own = row.get("compile_s") or 0.0
        if own < MET_BEFORE_S:
            tile = json.dumps(row["params"], sort_keys=True)
            own = by_warps.get(f"{tile}{row.get('num_warps')}", by_tile.get(tile, fallback))
        seconds.append(own)
    return seconds


@dataclass
class Noise:
    """What disturbs a reading: a Gaussian of mean 1, and now and then a multiple.

    `sigma` is relative; one reading in `one_in` is multiplied by `spike`.
    """

    sigma: float = 0.05
    one_in: int = 50
    spike: float = 3.0


@dataclass
class ReplayDevice:
    """A landscape as a device; its clock moves by what each config cost when recorded.

    A config is compiled once. A precise timing reads the same recorded time again, and costs
    `PRECISE` times as long. `noise` disturbs every reading afresh.
    """

    landscape: Landscape
    noise: Noise | None = None
    seed: int = 0
    now: float = 0.0
    asked: list[Config] = field(default_factory=list)
    compiled: set[Config] = field(default_factory=set)

    PRECISE = 3.0

    def __post_init__(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    @property
    def info(self) -> DeviceInfo:
        return known_device(self.landscape.device, "replay")

    def clock(self) -> float:
        return self.now

    def prepare(self, configs: list[Config]) -> None:
        """Nothing: the simulated cost of a config is its compile and its timing, in turn."""

    def time(
        self, config: Config, *, precise: bool = False, limit_ms: float | None = None
    ) -> Reading:
        """The recorded time. Raises `RequestError` for a config that was not recorded."""
        row = self.landscape.by_config.get(config)
        if row is None:
            raise RequestError(f"{self.landscape.name} has no recording of [{config}]")
        fresh = config not in self.compiled
        self.compiled.add(config)
        self.asked.append(config)
        compile_s = row.compile_s if fresh else 0.0
        bench_s = row.bench_s * (self.PRECISE if precise else 1.0)
        self.now += compile_s + bench_s
        if row.time_ms is None:
            raise _failure(row)
        factor = self._factor()
        return Reading(
            row.time_ms * factor,
            row.low_ms * factor,
            row.high_ms * factor,
            compile_s=compile_s,
            bench_s=bench_s,
        )

    def _factor(self) -> float:
        if self.noise is None:
            return 1.0
        factor = max(0.05, 1 + self.noise.sigma * float(self._rng.standard_normal()))
        return factor * (self.noise.spike if self._rng.random() * self.noise.one_in < 1 else 1.0)


def _failure(row: Row) -> ConfigFailed:
    error = row.error or "failed"
    if error.startswith("OutOfResources"):
        memory = error.partition(":")[2].strip().split(" ")[0] or "shared"
        return ConfigFailed(
            "overflow",
            error,
            memory=memory,
            required_bytes=row.detail.get("required"),
            available_bytes=row.detail.get("limit"),
        )
    if error.startswith("CompileTimeout"):
        return ConfigFailed("timeout", error)
    return ConfigFailed("wrong" if error == "wrong result" else "fault", error)


def problem_of(landscape: Landscape, workload: Workload | None = None) -> Problem:
    """What the search is given: the grid that was recorded, without a default config."""
    return Problem(
        kernel=landscape.kernel,
        candidates=tuple(row.config.candidate for row in landscape.rows),
        profiles=({},),
        key=tuple(landscape.problem.items()),
        workload=workload,
    )

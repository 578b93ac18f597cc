"""What a search found: every config, its fate and its time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import DeviceInfo

SCHEMA_VERSION = 1
Fate = Literal["timed", "failed", "pruned", "merged", "rejected", "not tried"]
Stage = Literal["prune", "default", "tiles", "profiles", "final", "handwritten", "none"]


@dataclass(frozen=True)
class Trial:
    """One config and what became of it.

    `fate`: timed; failed (`reason` has the message); pruned before any compile (`reason`);
    merged with `same_as`; rejected by the gate (`reason`: where and by how much its result
    differs); not tried. Times in ms, None where it was not timed.
    """

    config: Config
    fate: Fate
    stage: Stage = "none"
    time_ms: float | None = None
    low_ms: float | None = None
    high_ms: float | None = None
    reason: str = ""
    same_as: Config | None = None
    compile_s: float = 0.0
    bench_s: float = 0.0

    def to_json(self) -> dict[str, object]:
        return {
            **self.config.to_json(),
            "fate": self.fate,
            "stage": self.stage,
            "time_ms": self.time_ms,
            "low_ms": self.low_ms,
            "high_ms": self.high_ms,
            "reason": self.reason,
            "same_as": self.same_as and self.same_as.to_json(),
            "compile_s": self.compile_s,
            "bench_s": self.bench_s,
        }


@dataclass(frozen=True)
class SearchResult:
    """The outcome of one search.

    `best` is None where nothing ran. `best_ms` is None where it was chosen without timing.
    `complete` is False where Ctrl-C or the budget ended the search early; `ended` says in
    words why it ended. `stats`: candidates, profiles, pruned, merged, measured, failed, and
    whatever else is counted. `gate`: "reference_fn", "default config" or "none".
    """

    kernel: str
    key: tuple[object, ...]
    device: DeviceInfo
    best: Config | None
    best_ms: float | None
    trials: tuple[Trial, ...]
    complete: bool
    ended: str
    seconds: float
    family: str = ""
    gate: str = "none"
    stats: Mapping[str, object] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def __str__(self) -> str:
        from ascend_autotune.search.showing import text_of

        return text_of(self)

    def to_json(self) -> dict[str, object]:
        return {
            "schema_version": SCHEMA_VERSION,
            "kernel": self.kernel,
            "key": [
                part if isinstance(part, int | float | str) else str(part) for part in self.key
            ],
            "device": self.device.name,
            "modelled": self.device.modelled,
            "family": self.family,
            "best": self.best and self.best.to_json(),
            "best_ms": self.best_ms,
            "complete": self.complete,
            "ended": self.ended,
            "seconds": self.seconds,
            "gate": self.gate,
            "stats": dict(self.stats),
            "notices": list(self.notices),
            "trials": [trial.to_json() for trial in self.trials],
        }

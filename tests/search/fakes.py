"""A device that exists only in numbers, for the search's own tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, DeviceInfo, Reading
from ascend_autotune.search.problem import Problem

SIZES = (16, 32, 64, 128, 256, 512)


@dataclass
class FakeDevice:
    """Times a config by a formula, in ms; a formula may raise. Each timing takes a second."""

    formula: Callable[[Config], float]
    noise: float = 0.0
    seed: int = 0
    info: DeviceInfo = field(default_factory=lambda: DeviceInfo("fake", "replay", cores=20))
    now: float = 0.0
    asked: list[Config] = field(default_factory=list)
    prepared: list[Config] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def clock(self) -> float:
        return self.now

    def prepare(self, configs: list[Config]) -> None:
        self.prepared += configs

    def time(
        self, config: Config, *, precise: bool = False, limit_ms: float | None = None
    ) -> Reading:
        self.asked.append(config)
        self.now += 1.0
        value = self.formula(config)
        if self.noise:
            value *= 1 + self.noise * self.rng.standard_normal()
            value *= 3 if self.rng.random() < 0.02 else 1
        return Reading(value, value, value, compile_s=0.5, bench_s=0.5)


def tiles(names: Iterable[str] = ("BLOCK_M", "BLOCK_N"), sizes: Iterable[int] = SIZES):
    grid: list[dict[str, object]] = [{}]
    for name in names:
        grid = [{**c, name: size} for c in grid for size in sizes]
    return grid


def bowl(config: Config) -> float:
    """Fastest at 64 x 128; too large overflows."""
    m, n = (float(config.candidate[name]) for name in ("BLOCK_M", "BLOCK_N"))
    if m * n > 256 * 256:
        need = int(m * n * 4)
        raise ConfigFailed(
            "overflow", "ub overflow", memory="ub", required_bytes=need, available_bytes=262144
        )
    distance = (np.log2(m) - 6) ** 2 + (np.log2(n) - 7) ** 2
    slow = 1.0 if config.profile.get("multibuffer", True) else 1.2
    slow *= 0.9 if config.profile.get("sync_solver") else 1.0
    return float(0.01 * (1 + 0.1 * distance) * slow)


PROFILES: tuple[dict[str, object], ...] = (
    {},
    {"multibuffer": False},
    {"sync_solver": True},
    {"multibuffer": False, "sync_solver": True},
)


def problem(**changes: object) -> Problem:
    given: dict[str, object] = {
        "kernel": "kernel",
        "candidates": tiles(),
        "profiles": PROFILES,
        "default": Config({"BLOCK_M": 64, "BLOCK_N": 64}, {}),
        **changes,
    }
    return Problem(**given)  # type: ignore[arg-type]

"""How much a search may spend: quick, default, full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ascend_autotune.analysis.suggest import did_you_mean
from ascend_autotune.errors import RequestError


@dataclass(frozen=True)
class Effort:
    """The limits of one search; counts are of configs measured, failures included, each once.

    `configs`: how many at most; `profile_share`: the part of them that is kept for compile
    profiles, where there are any. `finalists`: how many are timed precisely against the
    default; `readings`: how often each at most. `gain`: the search for tiles ends when the
    model expects less than this relative gain of any config (0: only when nothing is left).
    """

    name: str
    configs: int
    profile_share: float = 0.45
    finalists: int = 6
    readings: int = 25
    gain: float = 0.0

    def __post_init__(self) -> None:
        if self.configs < 1:
            raise RequestError(f"effort: configs is {self.configs}: give at least 1")


EFFORTS: Mapping[str, Effort] = MappingProxyType(
    {
        "quick": Effort("quick", configs=12, finalists=4, readings=9, gain=0.01),
        "default": Effort("default", configs=40, gain=0.001),
        "full": Effort("full", configs=200, finalists=8, readings=40),
    }
)


def effort_named(effort: Effort | str) -> Effort:
    """The effort of this name, or itself. Raises `RequestError` for a name that is not known."""
    if isinstance(effort, Effort):
        return effort
    if effort not in EFFORTS:
        raise RequestError(
            f"effort is {effort!r}{did_you_mean(str(effort), list(EFFORTS))}: "
            f"give one of {', '.join(EFFORTS)}"
        )
    return EFFORTS[effort]

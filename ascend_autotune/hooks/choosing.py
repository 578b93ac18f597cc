"""Which tile to run where nothing was timed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Tile = dict[str, object]


def middle_tile(space: Mapping[str, Sequence[object]]) -> Tile:
    """Of each parameter the value that is closest to a usual one."""
    aim = _aim(len(space))
    return {name: min(values, key=lambda v: _steps(v, aim)) for name, values in space.items()}


def middle_of(tiles: Sequence[Mapping[str, object]], params: Sequence[str]) -> Mapping[str, object]:
    """The tile of `tiles` that is closest to a usual one in all of `params`."""
    aim = _aim(len(params))
    return min(tiles, key=lambda tile: sum(_steps(tile.get(name), aim) ** 2 for name in params))


def _aim(params: int) -> int:
    # A block of two sides or more is commonly 64 a side, one of a single side 1024 long: both
    # fill a part of UB that leaves room for double buffers.
    return 1024 if params == 1 else 64


def _steps(value: object, aim: int) -> float:
    """Doublings between a value and the aim."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return abs(math.log2(value / aim))
    return 0.0

"""The chips: how much each on-chip memory holds, how it is aligned, how many cores there are.

Source: AscendNPU-IR's `bishengir/include/bishengir/Dialect/HACC/Targets/NPUTargetSpec.td` for
910B (A2) and 910_93 (A3). It leaves 950 open, and does not list 310B: their capacities are the
compiler's own answers (`bishengir-compile-a5` of ascendnpu-ir 1.2.0). The names are the
compiler's targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Literal

from ascend_autotune.errors import RequestError

Series = Literal["A2", "A3", "310B", "950"]
MEMORIES = ("ub", "l1", "l0a", "l0b", "l0c")
DEFAULT_CHIP = "Ascend910B3"

_KIB = 1024
# Buffers start at multiples of these. The target table names UB, L1 and L0C; L0A and L0B hold
# whole fractals, which are 512 bytes.
_ALIGNMENT: Mapping[str, int] = MappingProxyType(
    {"ub": 32, "l1": 32, "l0a": 512, "l0b": 512, "l0c": 512}
)


@dataclass(frozen=True)
class Chip:
    """One chip. `capacity` and `alignment` are in bytes, for each of ub, l1, l0a, l0b and l0c.

    `cube_cores` and `vector_cores` are None where no public source gives them.
    """

    name: str
    series: Series
    capacity: Mapping[str, int]
    alignment: Mapping[str, int]
    cube_cores: int | None
    vector_cores: int | None


def _capacity(ub: int, l1: int, l0c: int) -> Mapping[str, int]:
    sizes = {"ub": ub, "l1": l1, "l0a": 64, "l0b": 64, "l0c": l0c}
    return MappingProxyType({memory: kib * _KIB for memory, kib in sizes.items()})


_CAPACITY: Mapping[Series, Mapping[str, int]] = {
    "A2": _capacity(192, 512, 128),
    "A3": _capacity(192, 512, 128),
    "310B": _capacity(256, 1024, 128),
    "950": _capacity(248, 512, 256),  # of 256 KiB of UB the compiler keeps 8 for itself
}

# Series, what the names start with, how they end, cube cores, vector cores.
_TABLE: tuple[tuple[Series, str, str, int | None, int | None], ...] = (
    ("A2", "Ascend910", "B1 B2 B2C", 24, 48),
    ("A2", "Ascend910", "B3 B4 B4-1", 20, 40),
    ("A3", "Ascend910_", "9362 9372", 20, 40),
    ("A3", "Ascend910_", "9381 9382 9391 9392", 24, 48),
    ("310B", "Ascend310B", "1 2 3 4", 1, 1),
    ("950", "Ascend910_", "950z 9579 957b 957d 9581 9589 958a 958b 9599", None, None),
    (
        "950",
        "Ascend950PR_",
        "950z 9579 957a 957b 957c 957d 9589 958a 958b 958c 958d 9599 959a 959b",
        None,
        None,
    ),
    (
        "950",
        "Ascend950DT_",
        "950x 950y 9571 9572 9573 9574 9575 9576 9577 9578 9581 9582 9583 9584 9585 9586 9587 "
        "9588 9591 9592 9595 9596 95A1 95A2",
        None,
        None,
    ),
)

CHIPS: Mapping[str, Chip] = MappingProxyType(
    {
        prefix + end: Chip(prefix + end, series, _CAPACITY[series], _ALIGNMENT, cube, vector)
        for series, prefix, ends, cube, vector in _TABLE
        for end in ends.split()
    }
)


def chip(name: str) -> Chip:
    """The chip of this name. Raises `RequestError` with the close names and the list."""
    found = CHIPS.get(name)
    if found is not None:
        return found
    folded = {known.lower(): known for known in CHIPS}
    asked = str(name).lower()
    # What device tools print often lacks the first word: 910B3, 950PR_9579.
    close = get_close_matches(asked if "ascend" in asked else "ascend" + asked, folded, 3, 0.82)
    meant = f"; did you mean {', '.join(folded[c] for c in close)}?" if close else ""
    raise RequestError(f"target: no chip is called {name!r}{meant or '.'} Known: {_known()}")


def _known() -> str:
    groups = (f"{prefix}{{{ends.replace(' ', ',')}}}" for _, prefix, ends, _, _ in _TABLE)
    return " ".join(groups)

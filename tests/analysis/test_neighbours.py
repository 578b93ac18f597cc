from __future__ import annotations

from ascend_autotune.analysis.assessing import Assessment
from ascend_autotune.analysis.neighbours import Neighbour, neighbours
from ascend_autotune.analysis.verdict import Reason, ReasonCode

REASON = Reason(ReasonCode.OVERFLOW, "ub", 2, 1, "ub is too small")


def fate(size: int, fits: int, decided: int) -> Assessment:
    if size <= fits:
        return Assessment("feasible")
    return Assessment("unknown") if size < decided else Assessment("infeasible", (REASON,))


def look(value: int, fits: int, refused: int) -> tuple[Neighbour, list[int]]:
    asked: list[int] = []

    def assess(name: str, size: int) -> Assessment:
        assert name == "BLOCK"
        asked.append(size)
        return fate(size, fits, refused)

    (found,) = neighbours({"BLOCK": value}, fate(value, fits, refused), assess)
    return found, asked


def test_a_tile_that_fits_is_doubled_until_it_is_refused() -> None:
    found, asked = look(64, fits=128, refused=512)
    assert asked == [128, 256, 512]
    assert (found.fits, found.open, found.refused) == (128, 256, 512)
    assert found.reason == REASON


def test_a_tile_that_is_refused_is_halved_until_it_is_not() -> None:
    found, asked = look(512, fits=32, refused=256)
    assert asked == [256, 128]
    assert (found.fits, found.open, found.refused) == (None, 128, 256)
    found, _ = look(64, fits=32, refused=64)
    assert (found.fits, found.refused) == (32, 64)


def test_where_nothing_fits_the_smallest_one_tried_is_told() -> None:
    found, asked = look(4, fits=0, refused=0)
    assert asked == [2, 1]
    assert (found.fits, found.open, found.refused) == (None, None, 1)


def test_the_walk_ends_where_nothing_is_ever_refused() -> None:
    found, asked = look(16, fits=10**9, refused=10**9)
    assert found.refused is None and found.fits == asked[-1] == 65_536


def test_only_positive_integers_are_walked() -> None:
    def never(name: str, size: int) -> Assessment:
        raise AssertionError(name)

    tile = {"FLAG": True, "NAME": "relu", "ZERO": 0}
    assert neighbours(tile, Assessment("feasible"), never) == ()

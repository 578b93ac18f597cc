"""Chips by name, with the capacities of AscendNPU-IR's target table."""

from __future__ import annotations

import pytest

from ascend_autotune.analysis.chips import CHIPS, DEFAULT_CHIP, MEMORIES, chip
from ascend_autotune.errors import RequestError

KIB = 1024


@pytest.mark.parametrize(
    ("name", "series", "ub", "l1", "l0c", "cores"),
    [
        ("Ascend910B1", "A2", 192, 512, 128, (24, 48)),
        ("Ascend910B2C", "A2", 192, 512, 128, (24, 48)),
        ("Ascend910B3", "A2", 192, 512, 128, (20, 40)),
        ("Ascend910B4-1", "A2", 192, 512, 128, (20, 40)),
        ("Ascend910_9362", "A3", 192, 512, 128, (20, 40)),
        ("Ascend910_9382", "A3", 192, 512, 128, (24, 48)),
        ("Ascend310B1", "310B", 256, 1024, 128, (1, 1)),
        ("Ascend950PR_9579", "950", 248, 512, 256, (None, None)),
        ("Ascend910_9579", "950", 248, 512, 256, (None, None)),
    ],
)
def test_a_chip_is_what_the_target_table_says(
    name: str,
    series: str,
    ub: int,
    l1: int,
    l0c: int,
    cores: tuple[int | None, int | None],
) -> None:
    found = chip(name)
    assert (found.name, found.series) == (name, series)
    expected = {"ub": ub, "l1": l1, "l0a": 64, "l0b": 64, "l0c": l0c}
    assert found.capacity == {memory: kib * KIB for memory, kib in expected.items()}
    assert (found.alignment["ub"], found.alignment["l1"], found.alignment["l0c"]) == (32, 32, 512)
    assert (found.cube_cores, found.vector_cores) == cores


def test_every_chip_has_every_memory() -> None:
    for known in CHIPS.values():
        assert tuple(known.capacity) == tuple(known.alignment) == MEMORIES
    assert DEFAULT_CHIP in CHIPS


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("ascend910b3", "Ascend910B3"),
        ("910B4", "Ascend910B4"),
        ("Ascend910B4_1", "Ascend910B4-1"),
        ("Ascend950PR9579", "Ascend950PR_9579"),
    ],
)
def test_an_unknown_target_is_refused_with_the_close_names_and_the_list(
    asked: str, meant: str
) -> None:
    with pytest.raises(RequestError) as refusal:
        chip(asked)
    message = str(refusal.value)
    assert "\n" not in message
    assert repr(asked) in message
    assert meant in message.partition("did you mean")[2].partition("?")[0]
    assert "Ascend910{B3,B4,B4-1}" in message


def test_a_target_like_no_chip_gets_the_list_alone() -> None:
    with pytest.raises(RequestError, match=r"no chip is called 'H100'\. Known: Ascend910"):
        chip("H100")

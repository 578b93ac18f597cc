"""Which known name an unknown one is meant for."""

from __future__ import annotations

import pytest

from ascend_autotune.analysis.suggest import closest, did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("BLOK", ["n_cols", "BLOCK_SIZE"], "BLOCK_SIZE"),
        ("blok", ["BLOCK_M", "NUM"], "BLOCK_M"),
        ("SIZ", ["BLOCK_SIZE", "num_warps"], "BLOCK_SIZE"),
        ("BLOCK_SISE", ["BLOCK", "BLOCK_SIZE"], "BLOCK_SIZE"),
        ("num_warp", ["num_stages", "num_warps"], "num_warps"),
        ("TILE", ["BLOCK_SIZE", "n_cols"], None),
        ("M", ["BLOCK_M", "BLOCK_N"], None),  # too little to go by
    ],
)
def test_the_closest_name(name: str, known: list[str], meant: str | None) -> None:
    assert closest(name, known) == meant


def test_where_none_is_close_all_are_listed() -> None:
    assert did_you_mean("TILE", ["BLOCK", "N"]) == "; it has: BLOCK, N"

from __future__ import annotations

from ascend_autotune.analysis.assumptions import (
    assume_constants,
    assume_types,
    other_assumptions,
    smallest_tile,
)
from ascend_autotune.analysis.source import Roles


def test_types_follow_the_use_and_every_one_is_stated() -> None:
    roles = Roles(
        pointers=frozenset({"x", "out", "idx"}),
        index_pointers=frozenset({"idx"}),
        integers=frozenset({"n", "stride"}),
    )
    types, notes = assume_types(["x", "idx", "out", "n", "eps"], roles)
    assert types == {"x": "*fp16", "idx": "*i32", "out": "*fp16", "n": "i32", "eps": "fp32"}
    assert [note.values for note in notes] == [
        {"x": "*fp16", "out": "*fp16"},
        {"idx": "*i32"},
        {"n": "i32"},
        {"eps": "fp32"},
    ]
    assert notes[0].text.startswith("x, out: *fp16")


def test_the_smallest_tile_of_a_search_space() -> None:
    assert smallest_tile([], {"M": [64, 16, 128], "N": [32]}) == {"M": 16, "N": 32}
    configs = [{"M": 128, "N": 16}, {"M": 32, "N": 32}, {"M": 16, "N": 256}]
    assert smallest_tile(configs, {}) == {"M": 32, "N": 32}
    assert smallest_tile([], {}) == {}


def test_constants_come_from_the_smallest_tile_then_the_default_then_64() -> None:
    values, notes = assume_constants(
        ["M", "GROUP", "N"], Roles(), {"M": 16, "OTHER": 1}, {"GROUP": 8}
    )
    assert values == {"M": 16, "GROUP": 8, "N": 64}
    # A default is what a call would use: nothing to state.
    assert [note.values for note in notes] == [{"M": 16}, {"N": 64}]


def test_where_the_first_guess_does_not_compile_others_are_made() -> None:
    _, types = assume_types(["x", "eps"], Roles(pointers=frozenset({"x"})))
    _, constants = assume_constants(["N"], Roles(), {}, {})
    others = list(other_assumptions([*types, *constants]))
    guesses = [{n: v for note in notes for n, v in note.values.items()} for notes in others]
    assert {"x": "*fp32", "eps": "fp32", "N": 64} in guesses
    assert {"x": "*i32", "eps": "i32", "N": 64} in guesses
    assert {"x": "*fp16", "eps": "fp32", "N": 1} in guesses
    assert "does not compile" in others[0][0].text
    # What is given is never changed.
    assert list(other_assumptions([])) == []

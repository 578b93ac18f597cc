from __future__ import annotations

import pytest

from ascend_autotune.analysis import text


@pytest.mark.parametrize(
    "line",
    ["word " * 40, "x" * 500, "中文" * 60, "short", "a  b  " * 30, "名 " * 100, "x" * 79 + " y"],
)
def test_no_wrapped_line_passes_80_columns_and_no_character_is_lost(line: str) -> None:
    lines = text.wrap(line, "  - ", "    ")
    assert max(map(text.width, lines)) <= 80
    kept = "".join(lines).replace(" ", "")
    assert kept == "-" + line.replace(" ", "")


def test_two_spaces_between_parameters_stay() -> None:
    assert text.wrap("BLOCK_M=64  BLOCK_N=32", "  ") == ["  BLOCK_M=64  BLOCK_N=32"]
    assert text.wrap("   ") == []


def test_long_paths_keep_their_end() -> None:
    assert text.short_path("kernel.py:12", 12) == "kernel.py:12"
    short = text.short_path("/a/very/long/path/to/some/kernel.py:12", 21)
    assert short == ".../some/kernel.py:12" and len(short) <= 21
    assert text.short_path("a" * 50 + ".py:7", 20).endswith("aaa.py:7")
    assert len(text.short_path("a" * 50 + ".py:7", 20)) <= 20


def test_a_bar_never_hides_what_matters() -> None:
    assert text.bar(0, 0, 100) == "." * 20 + " "
    assert text.bar(1, 1, 196_608).startswith("#.")
    assert text.bar(50, 100, 100) == "#" * 10 + "+" * 10 + " "
    assert text.bar(50, 101, 100).endswith("+?")
    assert text.bar(101, 200, 100) == "#" * 20 + "!"


def test_shares_are_never_rounded_to_nothing_or_to_full() -> None:
    assert text.share(1, 196_608) == "<1%"
    assert text.share(0, 196_608) == "0%"
    assert text.share(196_607, 196_608) == "99%"
    assert text.share(196_608, 196_608) == "100%"
    assert text.share(4 * 196_608, 196_608) == "400%"

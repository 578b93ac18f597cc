from __future__ import annotations

from judge_texts import REDUCE, TTIR

from ascend_autotune.analysis.judge.locations import strip_locations


def test_the_program_stays_and_its_locations_go() -> None:
    bare = strip_locations(TTIR)
    assert "loc(" not in bare.text
    assert "#loc" not in bare.text
    assert "tt.func public @copy1(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>)" in bare.text
    assert bare.text.count("\n") == TTIR.count("\n") - 11


def test_a_line_leads_back_to_its_source() -> None:
    bare = strip_locations(TTIR)
    load = next(n for n, line in enumerate(bare.text.splitlines(), 1) if "tt.load" in line)
    assert str(bare.lines[load]) == "/src/kernels.py:13"


def test_the_same_program_elsewhere_is_the_same_text() -> None:
    moved = TTIR.replace("/src/kernels.py", "/other/place (2).py").replace(":13:", ":99:")
    assert strip_locations(moved).text == strip_locations(TTIR).text
    assert {str(at) for at in strip_locations(moved).lines.values() if at.line} == {
        "/other/place (2).py:11",
        "/other/place (2).py:12",
        "/other/place (2).py:99",
    }


def test_an_operation_with_regions_has_its_first_line() -> None:
    bare = strip_locations(REDUCE)
    lines = bare.text.splitlines()
    first = lines.index('    %5 = "tt.reduce"(%4) <{axis = 0 : i32}> ({') + 1
    assert bare.lines[first].line == 26
    branch = lines.index("    scf.if %6 {") + 1
    assert bare.lines[branch].line == 30


def test_strings_are_left_alone() -> None:
    text = 'module {\n  tt.print " loc(x) " {hex = false} : i32 loc(#loc1)\n}\n'
    assert '" loc(x) "' in strip_locations(text).text

"""What is counted, on small programs written by hand."""

from __future__ import annotations

import pytest

from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.reader import parse_module
from ascend_autotune.search.standin.figures import figures_of
from ascend_autotune.search.standin.work import UNKNOWN_TRIPS, Counter, Work

_HEAD = """"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<f32>, !tt.ptr<f32>, i32) -> (), sym_name = "k",
    sym_visibility = "public"}> ({
  ^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32):""".replace(",\n    ", ", ")
_TAIL = """
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""
_TILE = """
    %c0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
    %c1 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %c4 = "arith.constant"() <{value = 4 : i32}> : () -> i32
    %pid = "tt.get_program_id"() <{axis = 0 : i32}> : () -> i32
    %r = "tt.make_range"() <{end = 1024 : i32, start = 0 : i32}> : () -> tensor<1024xi32>
    %p = "tt.splat"(%x) : (!tt.ptr<f32>) -> tensor<1024x!tt.ptr<f32>>
    %a = "tt.addptr"(%p, %r) : (tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>) -> """ + (
    "tensor<1024x!tt.ptr<f32>>"
)
_LOAD = '"tt.load"(%a) : (tensor<1024x!tt.ptr<f32>>) -> tensor<1024xf32>'
_STORE = '\n    "tt.store"(%a, {0}) : (tensor<1024x!tt.ptr<f32>>, tensor<1024xf32>) -> ()'


def count(body: str, scalars=(None, None, 8), program=(0, 0, 0), grid=(8, 1, 1)) -> Work:
    module = parse_module(_HEAD + _TILE + body + _TAIL)
    return Counter(module, figures_of(chip("Ascend910B3"))).count(scalars, program, grid)


def test_a_read_and_a_write() -> None:
    work = count(f"\n    %v = {_LOAD}" + _STORE.format("%v"))
    assert work.read == {0: 4096 + 64}
    assert work.written == 4096 + 64
    assert (work.transfers, work.cube, work.vector, work.handovers) == (2, 0, 0, 0)


def test_vector_work_counts_where_it_is_data() -> None:
    add = (
        '\n    %w = "arith.addf"(%v, %v) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>'
    )
    used = count(f"\n    %v = {_LOAD}" + add + _STORE.format("%w"))
    unused = count(f"\n    %v = {_LOAD}" + add + _STORE.format("%v"))
    assert used.vector == 4096 / 256 + 24
    assert unused.vector == 0


def loop(lower: str, upper: str) -> str:
    return f"""
    "scf.for"({lower}, {upper}, %c1) ({{
    ^bb0(%i: i32):
      %v = {_LOAD}
      {_STORE.format("%v").strip()}
      "scf.yield"() : () -> ()
    }}) : (i32, i32, i32) -> ()"""


@pytest.mark.parametrize(
    ("bounds", "program", "trips"),
    [
        (("%c0", "%c4"), 0, 4),
        (("%c0", "%n"), 0, 8),  # an argument of the launch
        (("%c0", "%pid"), 5, 5),
        (("%pid", "%n"), 5, 3),
        (("%n", "%c4"), 0, 0),
    ],
)
def test_a_loop_counts_its_trips(bounds, program: int, trips: int) -> None:
    work = count(loop(*bounds), program=(program, 0, 0))
    assert work.transfers == 2 * trips
    assert (work.turns, work.entries) == (trips, 1)


def test_a_loop_whose_bound_is_unknown() -> None:
    assert count(loop("%c0", "%n"), scalars=(None, None, None)).turns == UNKNOWN_TRIPS


@pytest.mark.parametrize(("program", "writes"), [(0, 1.0), (4, 0.0)])
def test_a_branch_that_is_known_is_taken(program: int, writes: float) -> None:
    body = f"""
    %q = "arith.cmpi"(%pid, %c4) <{{predicate = 2 : i64}}> : (i32, i32) -> i1
    %v = {_LOAD}
    "scf.if"(%q) ({{
      {_STORE.format("%v").strip()}
      "scf.yield"() : () -> ()
    }}, {{
    }}) : (i1) -> ()"""
    assert count(body, program=(program, 0, 0)).transfers == 1 + writes


def test_a_branch_that_is_not_known_counts_by_half() -> None:
    body = f"""
    %q = "arith.cmpi"(%n, %c4) <{{predicate = 2 : i64}}> : (i32, i32) -> i1
    %v = {_LOAD}
    "scf.if"(%q) ({{
      {_STORE.format("%v").strip()}
      "scf.yield"() : () -> ()
    }}, {{
    }}) : (i1) -> ()"""
    assert count(body, scalars=()).transfers == 1.5

"""The facts read off known kernels, the same on every Triton flavour."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("triton")

import tracing
from dataflow_kernels import CASES

from ascend_autotune.analysis.features import Features, features_of, reachable_nodes
from ascend_autotune.analysis.graph import build_graph
from ascend_autotune.analysis.reader import parse_module


@cache
def features(name: str) -> Features:
    return features_of(build_graph(tracing.module(name)))


def argument(name: str, which: str) -> int:
    return list(CASES[name][1]).index(which)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matmul", [("32x16xf16", "16x64xf16", "32x64xf32", "loop")]),
        ("batched_matmul", [("32x16xf16", "16x64xf16", "32x64xf32", "loop")]),
        (
            "attention",
            [
                ("32x64xf16", "64x64xf16", "32x64xf32", "fresh"),
                ("32x64xf16", "64x64xf16", "32x64xf32", "rescaled"),
            ],
        ),
        (
            "linear_attention",
            [
                ("32x32xf16", "32x32xf16", "32x32xf32", "fresh"),
                ("32x32xf16", "32x32xf16", "32x32xf32", "rescaled"),
            ],
        ),
        (
            "chained_matmul",
            [
                ("32x32xf16", "32x32xf16", "32x32xf32", "fresh"),
                ("32x32xf16", "32x32xf16", "32x32xf32", "fresh"),
            ],
        ),
        ("add", []),
    ],
)
def test_dots_and_their_accumulators(name: str, expected: list[tuple[str, ...]]) -> None:
    found = [(str(d.lhs), str(d.rhs), str(d.result), d.accumulator) for d in features(name).dots]
    assert found == expected


def test_a_dot_knows_its_loops() -> None:
    assert [len(dot.loops) for dot in features("matmul").dots] == [1]
    assert [len(dot.loops) for dot in features("chained_matmul").dots] == [0, 0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("row_sum", [("add", 0, (64,), "f32")]),
        ("row_argmax", [("argmax", 1, (8, 16), "f32")]),
        ("softmax", [("max", 0, (64,), "f32"), ("add", 0, (64,), "f32")]),
        ("attention", [("max", 1, (32, 64), "f32"), ("add", 1, (32, 64), "f32")]),
        ("sort", []),
        ("flip", []),
    ],
)
def test_reductions(name: str, expected: list[tuple[object, ...]]) -> None:
    found = [(r.combiner, r.axis, r.shape, r.dtype) for r in features(name).reductions]
    assert found == expected


def reduced_by(body: str, types: str = "f32", arguments: int = 2) -> str:
    """The combiner of a reduction with this body; the body must define %r."""
    names = ", ".join(f"%a{i}: {types}" for i in range(arguments))
    module = parse_module(
        f""""builtin.module"() ({{
  "tt.func"() <{{function_type = (tensor<8x{types}>) -> (), sym_name = "k"}}> ({{
  ^bb0(%x: tensor<8x{types}>):
    %0 = "tt.reduce"(%x) <{{axis = 0 : i32}}> ({{
    ^bb0({names}):
{body}
      "tt.reduce.return"(%r) : ({types}) -> ()
    }}) : (tensor<8x{types}>) -> {types}
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
    )
    [reduction] = features_of(build_graph(module)).reductions
    return reduction.combiner


@pytest.mark.parametrize(
    ("operation", "types", "combiner"),
    [
        ("arith.addf", "f32", "add"),
        ("arith.addi", "i32", "add"),
        ("arith.mulf", "f32", "multiply"),
        ("arith.maxnumf", "f32", "max"),
        ("arith.maximumf", "f32", "max"),
        ("arith.minsi", "i32", "min"),
        ("arith.andi", "i32", "and"),
        ("arith.xori", "i32", "xor"),
        ("arith.subf", "f32", "other"),
    ],
)
def test_combiners(operation: str, types: str, combiner: str) -> None:
    body = f'      %r = "{operation}"(%a0, %a1) : ({types}, {types}) -> {types}'
    assert reduced_by(body, types) == combiner


@pytest.mark.parametrize(("predicate", "combiner"), [(2, "max"), (4, "min")])
def test_a_comparison_and_a_choice_are_max_or_min(predicate: int, combiner: str) -> None:
    body = (
        f'      %c = "arith.cmpf"(%a0, %a1) <{{predicate = {predicate} : i64}}>'
        " : (f32, f32) -> i1\n"
        '      %r = "arith.select"(%c, %a0, %a1) : (i1, f32, f32) -> f32'
    )
    assert reduced_by(body) == combiner


def test_scans_sorts_flips_and_transposes() -> None:
    [scan] = features("cumsum").scans
    assert (scan.combiner, scan.axis, scan.shape, scan.reverse) == ("add", 0, (64,), False)
    assert features("sort").sorts and not features("sort").flips
    assert features("flip").flips and not features("flip").sorts
    assert features("transpose").transposes
    for name in ("add", "softmax", "matmul"):
        found = features(name)
        assert not (found.scans or found.sorts or found.flips or found.transposes)


def test_gathers_scatters_and_atomics() -> None:
    for name in CASES:
        if name in ("block_pointers", "descriptors"):
            continue
        found = features(name)
        assert bool(found.gathers) == (name == "gather_rows"), name
        assert bool(found.scatters) == (name in ("scatter_rows", "histogram_atomics")), name
        assert bool(found.atomics) == (name == "histogram_atomics"), name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("row_sum", [("scf.for", "runtime", None, 2, 1)]),
        ("batched_matmul", [("scf.for", "static", 4, 1, 1)]),
        ("ragged_sum", [("scf.for", "loaded", None, 1, 1)]),
        ("collatz", [("scf.while", "loaded", None, 2, 2)]),
        ("recurrence", [("scf.for", "runtime", None, 1, 1)]),
        ("attention", [("scf.for", "runtime", None, 3, 3)]),
        ("add", []),
    ],
)
def test_loops(name: str, expected: list[tuple[object, ...]]) -> None:
    """op, bounds, trips, number of carried values, number of those that hold data."""
    found = [
        (loop.op, loop.bounds, loop.trips, len(loop.carried), len(loop.state))
        for loop in features(name).loops
    ]
    assert found == expected


def test_data_dependent_control() -> None:
    lines = {}
    for name in ("ragged_sum", "collatz", "row_sum", "nested_branches", "gather_rows"):
        graph = build_graph(tracing.module(name))
        found = features_of(graph)
        lines[name] = [graph.nodes[n]["op"] for n in found.data_dependent]
    assert lines["ragged_sum"] == ["scf.for"]
    assert set(lines["collatz"]) == {"scf.while", "scf.if"}
    assert lines["row_sum"] == lines["nested_branches"] == lines["gather_rows"] == []


def test_what_is_written_and_in_place() -> None:
    found = features("relu_in_place")
    assert found.in_place == (0,)
    assert set(found.writes) == {0}
    plain = features("add")
    assert plain.in_place == ()
    assert set(plain.writes) == {argument("add", "out")}
    assert set(plain.reads) == {argument("add", "x"), argument("add", "y")}
    atomic = features("histogram_atomics")
    assert atomic.in_place == (argument("histogram_atomics", "counts"),)


def test_helpers_that_nobody_calls_do_not_count() -> None:
    text = tracing.generic("add")
    head, func, rest = text.partition('  "tt.func"()')
    tile, total = "tensor<16x16xf16>", "tensor<16x16xf32>"
    dead = f"""  "tt.func"() <{{sym_name = "dead", sym_visibility = "private"}}> ({{
  ^bb0(%a: {tile}, %c: {total}):
    %0 = "tt.dot"(%a, %a, %c) : ({tile}, {tile}, {total}) -> {total}
    "tt.return"() : () -> ()
  }}) : () -> ()
"""
    graph = build_graph(parse_module(head + dead + func + rest))
    assert "tt.dot" in dict(graph.nodes(data="op")).values()
    assert features_of(graph).dots == ()
    called = build_graph(tracing.module("calls_helper"))
    assert set(reachable_nodes(called)) == set(called.nodes)
    assert set(features("calls_helper").reads) == {0}

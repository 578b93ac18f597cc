"""The graph against two independent readers, and the edges that only the graph knows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

import oracles
import tracing
from dataflow_kernels import CASES

from ascend_autotune.analysis.graph import build_graph
from ascend_autotune.analysis.reader import parse_module

NAMES = sorted(CASES)


def edges(graph: Any, kind: str) -> list[tuple[int, int, int, int]]:
    """(source, result, user, operand) of all edges of one kind."""
    return [
        (source, data["result"], user, data["operand"])
        for source, user, data in graph.edges(data=True)
        if data["kind"] == kind
    ]


def node(graph: Any, name: str, nth: int = 0) -> int:
    return [n for n, op in graph.nodes(data="op") if op == name][nth]


def argument(graph: Any, around: int, index: int, region: int = 0) -> int:
    for n, data in graph.nodes(data=True):
        place = (data["op"], data["region"][-1:], data["attrs"].get("index"))
        if place == ("arg", ((around, region),), index):
            return n
    raise AssertionError("no such block argument")


@pytest.mark.parametrize("name", NAMES)
def test_reader_and_graph_agree_with_xdsl(name: str) -> None:
    pytest.importorskip("xdsl")
    text = tracing.generic(name)
    module = parse_module(text)
    expected = oracles.by_xdsl(text)
    assert len(expected) > 5
    assert oracles.by_reader(module) == expected
    assert oracles.by_graph(build_graph(module)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_reader_agrees_with_libtritons_own_def_use(name: str, tmp_path: Path) -> None:
    text = tracing.generic(name)
    module = parse_module(text)
    ours = [op for f in module.functions.values() for op in oracles.post_order(f)]
    theirs = oracles.by_libtriton(text, tmp_path / "kernel.mlir")
    assert [op.name for op in ours] == [n for n, _, _ in theirs if n != "builtin.module"]
    # One id per value and one value per id, over the whole module.
    ids: dict[int, Any] = {}
    for op, (_, operands, results) in zip(
        ours, (t for t in theirs if t[0] != "builtin.module"), strict=True
    ):
        for value, number in [
            *zip(op.operands, operands, strict=True),
            *zip(op.results, results, strict=True),
        ]:
            assert ids.setdefault(number, value) is value
    assert len(set(map(id, ids.values()))) == len(ids)


@pytest.mark.parametrize("name", NAMES)
def test_every_node_says_what_it_is_and_where(name: str) -> None:
    graph = build_graph(tracing.module(name))
    for n, data in graph.nodes(data=True):
        assert isinstance(n, int)
        assert data["region"] == () or data["region"][-1][0] < n
        assert all(graph.nodes[loop]["op"] in ("scf.for", "scf.while") for loop in data["loops"])
        if data["op"] in ("tt.load", "tt.store"):
            assert Path(data["file"]).name == "dataflow_kernels.py"
            assert data["line"] > 0
    assert graph.nodes[graph.graph["kernel"]]["op"] == "tt.func"
    signature = CASES[name][1]
    assert len(graph.graph["arguments"]) == len(signature)


def test_types_attributes_and_lines_of_a_known_operation() -> None:
    graph = build_graph(tracing.module("row_argmax"))
    load = graph.nodes[node(graph, "tt.load")]
    assert [str(t) for t in load["types"]] == ["8x16xf32"]
    assert load["line"] == tracing.line_of("row_argmax", "tl.load")
    reduce = graph.nodes[node(graph, "tt.reduce")]
    assert reduce["attrs"]["axis"] == 1
    assert [str(t) for t in reduce["types"]] == ["8xf32", "8xi32"]
    widths = {d["attrs"]["end"] for _, d in graph.nodes(data=True) if d["op"] == "tt.make_range"}
    assert widths == {8, 16}


def test_a_loop_carries_values_round() -> None:
    graph = build_graph(tracing.module("row_sum"))
    loop = node(graph, "scf.for")
    op = graph.nodes[loop]["ir"]
    body = op.body()
    for index, init in enumerate(op.operands[3:]):
        into = argument(graph, loop, index + 1)
        [start] = [e for e in edges(graph, "init") if e[2] == into]
        [again] = [e for e in edges(graph, "carried") if e[2] == into]
        assert graph.nodes[start[0]]["ir"] is (init.op or init)
        assert graph.nodes[again[0]]["ir"] is body.ops[-1].operands[index].op
        [out] = [e for e in edges(graph, "yield") if e[2] == loop and e[3] == index]
        assert out[:2] == again[:2]
    bounds = [e for e in edges(graph, "bound") if e[2] == argument(graph, loop, 0)]
    assert [e[3] for e in sorted(bounds, key=lambda e: e[3])] == [0, 1, 2]


def test_a_while_loop_passes_its_condition_region_on() -> None:
    graph = build_graph(tracing.module("collatz"))
    loop = node(graph, "scf.while")
    count = len(graph.nodes[loop]["ir"].operands)
    assert count == 2
    for index in range(count):
        before, after = (argument(graph, loop, index, region) for region in (0, 1))
        assert [e[3] for e in edges(graph, "init") if e[2] == before] == [index]
        assert len([e for e in edges(graph, "carried") if e[2] == before]) == 1
        passed = [e[:2] for e in edges(graph, "carried") if e[2] == after]
        assert passed == [e[:2] for e in edges(graph, "yield") if e[2] == loop and e[3] == index]
        assert len(passed) == 1


def test_both_branches_of_an_if_reach_its_results() -> None:
    graph = build_graph(tracing.module("nested_branches"))
    branch = node(graph, "scf.if")
    for index in range(len(graph.nodes[branch]["types"])):
        sources = [e for e in edges(graph, "yield") if e[2] == branch and e[3] == index]
        assert len(sources) == 2
    inner = node(graph, "scf.for", 1)
    outer = node(graph, "scf.for", 0)
    assert graph.nodes[inner]["loops"] == (outer,)
    assert graph.nodes[branch]["loops"] == (outer,)
    assert [around for around, _ in graph.nodes[inner]["region"]] == [
        graph.graph["kernel"],
        outer,
        branch,
    ]


def test_operands_of_a_reduction_of_pairs_meet_both_body_arguments() -> None:
    graph = build_graph(tracing.module("row_argmax"))
    reduce = node(graph, "tt.reduce")
    values, indices = graph.nodes[reduce]["ir"].operands
    into = {user: source for source, _, user, _ in edges(graph, "body")}
    sources = [graph.nodes[into[argument(graph, reduce, i)]]["ir"] for i in range(4)]
    assert sources == [values.op, indices.op, values.op, indices.op]
    assert sorted(e[3] for e in edges(graph, "yield") if e[2] == reduce) == [0, 1]


def test_calls_lead_into_the_helper_and_back() -> None:
    graph = build_graph(tracing.module("calls_helper"))
    call = node(graph, "tt.call")
    helper = next(
        n
        for n, data in graph.nodes(data=True)
        if data["op"] == "tt.func" and n != graph.graph["kernel"]
    )
    given = graph.nodes[call]["ir"].operands
    for index, value in enumerate(given):
        [edge] = [e for e in edges(graph, "call") if e[2] == argument(graph, helper, index)]
        assert graph.nodes[edge[0]]["ir"] is (value.op or value)
    [back] = edges(graph, "return")
    assert back[2:] == (call, 0)
    assert graph.nodes[back[0]]["region"][0][0] == helper


def test_branches_between_blocks_carry_their_operands() -> None:
    text = """
"builtin.module"() ({
  "tt.func"() <{function_type = (i1, i32) -> (), sym_name = "k", sym_visibility = "public"}> ({
  ^bb0(%f: i1, %n: i32):
    "cf.cond_br"(%f, %n, %n, %n)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 1, 2>}> : TYPES
  ^bb1(%a: i32):  // pred: ^bb0
    "cf.br"(%a, %n)[^bb2] : (i32, i32) -> ()
  ^bb2(%b: i32, %c: i32):  // 2 preds: ^bb0, ^bb1
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""
    text = text.replace("TYPES", "(i1, i32, i32, i32) -> ()")
    graph = build_graph(parse_module(text))
    _, n, a, b, c = [n for n, op in graph.nodes(data="op") if op == "arg"]
    found = [(source, user) for source, _, user, _ in edges(graph, "branch")]
    assert sorted(found) == sorted([(n, a), (n, b), (n, c), (a, b), (n, c)])


def test_a_kernel_that_returns_early_keeps_both_ways() -> None:
    module = tracing.module("early_return")

    def branching() -> Iterator[Any]:
        for op in module.walk():
            if op.name.startswith("cf."):
                yield op

    ways = [op for op in branching() if op.name == "cf.cond_br"]
    assert not ways or [len(op.successors) for op in ways] == [2]
    assert "tt.store" in {op.name for op in module.walk()}


def test_building_is_linear_in_the_number_of_operations() -> None:
    """Counted in calls, which no busy machine changes: twice the operations, twice the calls."""

    def calls(length: int) -> int:
        ops = ['%0 = "arith.constant"() <{value = 1 : i32}> : () -> i32']
        ops += [f'%{n} = "arith.addi"(%{n - 1}, %0) : (i32, i32) -> i32' for n in range(1, length)]
        module = parse_module(
            '"builtin.module"() ({\n'
            '"tt.func"() <{function_type = () -> (), sym_name = "k"}> ({\n'
            + "\n".join([*ops, '"tt.return"() : () -> ()'])
            + "\n}) : () -> ()\n}) : () -> ()\n"
        )
        counted = 0

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal counted
            counted += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(count)
        try:
            build_graph(module)
        finally:
            sys.setprofile(before)
        return counted

    assert calls(800) < 2.2 * calls(400)

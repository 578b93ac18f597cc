"""Two readers of MLIR that know nothing of ours: xDSL, and libtriton's own parser.

Each gives a program as a list of operations in program order, an operation as its name,
its operands and the number of its results, and an operand as what defines it:
("op", index of the operation, result) or ("arg", index of the operation around it,
region, block, argument).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Definition = tuple[Any, ...]
Program = list[tuple[str, tuple[Definition, ...], int]]


def without_locations(text: str) -> str:
    """Generic form without `loc(...)`, which xDSL does not read."""
    kept = []
    for line in text.splitlines():
        if line.startswith("#loc"):
            continue
        while (start := _location(line)) is not None:
            depth, end, quoted = 1, start + len(" loc("), False
            while depth:
                char = line[end]
                if char == '"' and line[end - 1] != "\\":
                    quoted = not quoted
                elif not quoted:
                    depth += (char == "(") - (char == ")")
                end += 1
            line = line[:start] + line[end:]
        kept.append(line)
    return "\n".join(kept)


def _location(line: str) -> int | None:
    quoted = False
    for i, char in enumerate(line):
        if char == '"' and line[i - 1] != "\\":
            quoted = not quoted
        elif not quoted and line.startswith(" loc(", i):
            return i
    return None


def by_xdsl(text: str) -> Program:
    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin
    from xdsl.ir import OpResult
    from xdsl.parser import Parser

    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    root = Parser(context, without_locations(text)).parse_module()
    operations = [op for op in root.walk() if op is not root]
    index = {id(op): i for i, op in enumerate(operations)}
    places: dict[int, tuple[int, int, int]] = {}
    for i, op in enumerate(operations):
        for r, region in enumerate(op.regions):
            for b, block in enumerate(region.blocks):
                places[id(block)] = (i, r, b)

    def name(op: Any) -> str:
        return op.op_name.data if op.name == "builtin.unregistered" else op.name

    def definition(value: Any) -> Definition:
        if isinstance(value, OpResult):
            return ("op", index[id(value.op)], value.index)
        return ("arg", *places[id(value.block)], value.index)

    return [
        (name(op), tuple(definition(v) for v in op.operands), len(op.results)) for op in operations
    ]


def by_reader(module: Any) -> Program:
    """Our own reading in the same form."""
    operations = list(module.walk())
    index = {op: i for i, op in enumerate(operations)}

    def definition(value: Any) -> Definition:
        if value.op is not None:
            return ("op", index[value.op], value.index)
        block = value.block
        blocks = block.parent.regions[block.region]
        return ("arg", index[block.parent], block.region, blocks.index(block), value.index)

    return [
        (op.name, tuple(definition(v) for v in op.operands), len(op.results)) for op in operations
    ]


def by_graph(graph: Any) -> Program:
    """The graph's operations and `data` edges in the same form."""
    nodes = [n for n, op in graph.nodes(data="op") if op != "arg"]
    index = {n: i for i, n in enumerate(nodes)}

    def definition(node: int, result: int) -> Definition:
        data = graph.nodes[node]
        if data["op"] != "arg":
            return ("op", index[node], result)
        around, region = data["region"][-1]
        blocks = graph.nodes[around]["ir"].regions[region]
        return (
            "arg",
            index[around],
            region,
            blocks.index(data["ir"].block),
            data["attrs"]["index"],
        )

    program: Program = []
    for node in nodes:
        edges = [
            (data["operand"], definition(source, data["result"]))
            for source, _, data in graph.in_edges(node, data=True)
            if data["kind"] == "data"
        ]
        operands = [found for _, found in sorted(edges, key=lambda edge: edge[0])]
        assert [i for i, _ in sorted(edges)] == list(range(len(edges)))
        types = graph.nodes[node]["types"]
        program.append((graph.nodes[node]["op"], tuple(operands), len(types)))
    return program


def by_libtriton(text: str, path: Any) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Names, operand ids and result ids of all operations, in libtriton's order.

    libtriton walks in post-order; an id that no operation has as a result is a block
    argument's.
    """
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    # The attribute without a dialect, which made the text generic, would not verify.
    head, brace, tail = text.rpartition("}) {")
    path.write_text(head + "})" + tail[tail.index("}") + 1 :] if brace else text)
    module = ir.parse_mlir_module(str(path), context)
    found = []

    def visit(op: Any) -> None:
        operands = tuple(op.get_operand(i).id() for i in range(op.get_num_operands()))
        results = tuple(op.get_result(i).id() for i in range(op.get_num_results()))
        found.append((op.get_name(), operands, results))

    module.walk(visit)
    return found


def post_order(operation: Any) -> Iterator[Any]:
    """Our operations in the order in which libtriton walks."""
    for region in operation.regions:
        for block in region:
            for op in block.ops:
                yield from post_order(op)
    yield operation

"""The dataflow graph of a kernel: a `networkx.MultiDiGraph` of operations and values.

One node per operation (the module itself left out) and per block argument, with
    op         the operation's name, `arg` for a block argument
    types      result types (`ir.Type`); a block argument has one
    attrs      the operation's attributes (axis, value, start, end, predicate ...)
    region     where it stands: ((node of the enclosing operation, region index), ...)
    loops      nodes of the enclosing scf.for and scf.while, outermost first
    file, line, location     where the kernel's own text stands (`ir.Location`)
    order      position in program order (a block argument: of its block's operation)
    ir         the `ir.Operation` or `ir.Value` it was made from
One edge per use of a value, from the node that defines it, with `operand` (index at the
user; at a block argument or result that a value flows into: its index there), `result`
(index at the definition) and `kind`:
    data       an operand of an operation
    init       a loop's initial value into the loop's block argument
    bound      a bound or step of scf.for into its induction variable
    carried    what an iteration yields into the block argument of the next one
    yield      what a region yields into a result of its operation (`if`, loops, bodies)
    body       an operand of tt.reduce, tt.scan, tt.map_elementwise into its body
    call       an argument of tt.call into the function's block argument
    return     what the function returns into a result of the call
    branch     an operand of cf.br, cf.cond_br or cf.switch into a block argument
The graph's own attributes: `module`, `kernel` (node of the kernel function), `arguments` (nodes
of its arguments, in order).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.affine import callee_of
from ascend_autotune.analysis.ir import Block, Module, Operation, Value

if TYPE_CHECKING:
    import networkx

LOOPS = frozenset({"scf.for", "scf.while"})
_BODIES = frozenset({"tt.reduce", "tt.scan", "tt.map_elementwise"})
_BRANCHES = frozenset({"cf.br", "cf.cond_br", "cf.switch"})

_Path = tuple[tuple[int, int], ...]
# User node, operand index there, kind, and the value that flows.
_Use = tuple[int, int, str, Value]


def build_graph(module: Module) -> networkx.MultiDiGraph[int]:
    """The dataflow graph of a module; see the module's text for nodes and edges."""
    import networkx

    builder = _Builder(module)
    for function in module.functions.values():
        builder.operation(function, (), ())
    graph: networkx.MultiDiGraph[int] = networkx.MultiDiGraph(
        module=module,
        kernel=builder.nodes[module.kernel],
        arguments=tuple(builder.values[v][0] for v in module.kernel.body().args),
    )
    graph.add_nodes_from(builder.attributes)
    for node, user, key, data in builder.edges():
        graph.add_edge(node, user, key, **data)
    return graph


class _Builder:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.attributes: list[tuple[int, dict[str, Any]]] = []
        self.nodes: dict[Operation, int] = {}
        self.values: dict[Value, tuple[int, int]] = {}  # node, result index
        self.operations: list[Operation] = []

    def operation(self, op: Operation, region: _Path, loops: tuple[int, ...]) -> None:
        """Number an operation and everything nested in it, in program order."""
        node = len(self.attributes)
        self.nodes[op] = node
        self.operations.append(op)
        results = op.results
        for value in results:
            self.values[value] = (node, value.index)
        location = op.location
        self.attributes.append(
            (
                node,
                {
                    "op": op.name,
                    "types": tuple(value.type for value in results),
                    "attrs": op.attrs,
                    "region": region,
                    "loops": loops,
                    "file": location.file,
                    "line": location.line,
                    "location": location,
                    "order": op.order,
                    "ir": op,
                },
            )
        )
        if op.regions:
            inner = (*loops, node) if op.name in LOOPS else loops
            for index, blocks in enumerate(op.regions):
                path = (*region, (node, index))
                for block in blocks:
                    self.arguments(block, op, path, inner)
                    for nested in block.ops:
                        self.operation(nested, path, inner)

    def arguments(self, block: Block, op: Operation, region: _Path, loops: tuple[int, ...]) -> None:
        for value in block.args:
            node = len(self.attributes)
            self.values[value] = (node, 0)
            self.attributes.append(
                (
                    node,
                    {
                        "op": "arg",
                        "types": (value.type,),
                        "attrs": {"index": value.index},
                        "region": region,
                        "loops": loops,
                        "file": op.location.file,
                        "line": op.location.line,
                        "location": op.location,
                        "order": op.order,
                        "ir": value,
                    },
                )
            )

    def edges(self) -> Iterator[tuple[int, int, int, dict[str, Any]]]:
        values = self.values
        keys: dict[tuple[int, int], int] = {}
        for user, operand, kind, value in self.uses():
            node, result = values[value]
            pair = (node, user)
            key = keys.get(pair, 0)
            keys[pair] = key + 1
            yield node, user, key, {"operand": operand, "result": result, "kind": kind}

    def uses(self) -> Iterator[_Use]:
        for op in self.operations:
            node = self.nodes[op]
            for index, value in enumerate(op.operands):
                yield node, index, "data", value
            name = op.name
            if name == "scf.for":
                yield from self._for(op, node)
            elif name == "scf.while":
                yield from self._while(op, node)
            elif name in _BODIES:
                yield from self._body(op, node)
            elif name == "tt.call":
                yield from self._call(op, node)
            elif name in _BRANCHES:
                yield from self._branch(op)
            elif op.regions and op.results:
                for blocks in op.regions:
                    yield from self._yielded(blocks, node, "yield")

    def _into(self, block: Block, first: int, given: list[Value], kind: str) -> Iterator[_Use]:
        for value, argument in zip(given, block.args[first:], strict=False):
            yield self.values[argument][0], argument.index, kind, value

    def _yielded(self, blocks: list[Block], node: int, kind: str) -> Iterator[_Use]:
        for block in blocks:
            if block.ops:
                for index, value in enumerate(block.ops[-1].operands):
                    yield node, index, kind, value

    def _for(self, op: Operation, node: int) -> Iterator[_Use]:
        body = op.body()
        induction = self.values[body.args[0]][0]
        for index, bound in enumerate(op.operands[:3]):
            yield induction, index, "bound", bound
        yield from self._into(body, 1, op.operands[3:], "init")
        yield from self._into(body, 1, body.ops[-1].operands, "carried")
        yield from self._yielded([body], node, "yield")

    def _while(self, op: Operation, node: int) -> Iterator[_Use]:
        before, after = op.body(0), op.body(1)
        passed = before.ops[-1].operands[1:]  # scf.condition: the flag comes first
        yield from self._into(before, 0, op.operands, "init")
        yield from self._into(after, 0, passed, "carried")
        yield from self._into(before, 0, after.ops[-1].operands, "carried")
        for index, value in enumerate(passed):
            yield node, index, "yield", value

    def _body(self, op: Operation, node: int) -> Iterator[_Use]:
        for blocks in op.regions:
            for block in blocks:
                # Argument i of n takes operand i (the running value), n + i operand i too.
                for argument in block.args:
                    operand = op.operands[self._source(op, block, argument.index)]
                    yield self.values[argument][0], argument.index, "body", operand
            yield from self._yielded(blocks, node, "yield")

    @staticmethod
    def _source(op: Operation, block: Block, index: int) -> int:
        count = len(op.operands)
        if op.name == "tt.map_elementwise":  # `pack` neighbours of each operand in a row
            return min(index * count // max(len(block.args), 1), count - 1)
        return index % count

    def _call(self, op: Operation, node: int) -> Iterator[_Use]:
        function = self.module.functions.get(callee_of(op))
        if function is None or not function.regions[0]:
            return
        yield from self._into(function.body(), 0, op.operands, "call")
        for block in function.regions[0]:
            if block.ops and block.ops[-1].name == "tt.return":
                yield from self._yielded([block], node, "return")

    def _branch(self, op: Operation) -> Iterator[_Use]:
        segments = op.attrs.get("operandSegmentSizes")
        at = 0
        if op.name != "cf.br":
            at = segments[0] if isinstance(segments, tuple) else 1
        for block in op.successors:
            given = op.operands[at : at + len(block.args)]
            at += len(block.args)
            yield from self._into(block, 0, given, "branch")

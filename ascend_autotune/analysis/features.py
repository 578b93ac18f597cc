"""What a kernel does, read off its graph: the facts that the classifier decides by.

Every entry names the node that shows it. Nodes of helpers that the kernel does not
call are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.addressing import ACCESSES, UPDATE, Access, access_of
from ascend_autotune.analysis.affine import LOADED, Forms, callee_of
from ascend_autotune.analysis.flow import Flow
from ascend_autotune.analysis.graph import LOOPS
from ascend_autotune.analysis.ir import Operation, Type, Value

if TYPE_CHECKING:
    import networkx

DOTS = frozenset({"tt.dot", "tt.dot_scaled"})
ACCUMULATOR = 2  # operand of a dot
SHAPING = frozenset(
    {
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
        "tt.splat",
        "tt.trans",
        "tt.bitcast",
        "tt.flip",
        "arith.bitcast",
    }
)
CASTS = frozenset(
    {
        "arith.extf",
        "arith.truncf",
        "arith.extsi",
        "arith.extui",
        "arith.trunci",
        "arith.sitofp",
        "arith.uitofp",
        "arith.fptosi",
        "arith.fptoui",
        "tt.fp_to_fp",
    }
)


@dataclass(frozen=True, slots=True)
class Dot:
    """A tl.dot. `accumulator`: `loop` (only this dot touches it from one iteration to
    the next), `rescaled` (vector code of the loop touches it too), `fresh` (zeros),
    `given` (any other tile)."""

    node: int
    op: str
    lhs: Type
    rhs: Type
    result: Type
    accumulator: str
    loops: tuple[int, ...]

    @property
    def batched(self) -> bool:
        return len(self.result.shape) > 2


@dataclass(frozen=True, slots=True)
class Reduction:
    """A tl.reduce or scan along `axis`. `combiner`: add, multiply, max, min, argmax, argmin,
    and, or, xor, else other."""

    node: int
    axis: int
    combiner: str
    shape: tuple[int, ...]
    dtype: str
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop. `bounds`: `static`, `runtime` or `loaded` (read from memory); `trips` where
    static. `carried`: types of its carried values; `state`: the block arguments among
    them that hold data, rather than indices or pointers."""

    node: int
    op: str
    bounds: str
    trips: int | None
    carried: tuple[Type, ...]
    state: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Features:
    """What was found, each tuple in program order. Arguments are given by index."""

    dots: tuple[Dot, ...]
    reductions: tuple[Reduction, ...]
    scans: tuple[Reduction, ...]
    sorts: tuple[int, ...]
    flips: tuple[int, ...]
    transposes: tuple[int, ...]
    gathers: tuple[int, ...]
    scatters: tuple[int, ...]
    atomics: tuple[int, ...]
    accesses: tuple[tuple[int, Access], ...]
    loops: tuple[Loop, ...]
    data_dependent: tuple[int, ...]
    reads: Mapping[int, tuple[int, ...]]
    writes: Mapping[int, tuple[int, ...]]

    @property
    def in_place(self) -> tuple[int, ...]:
        """Arguments that are both read and written (an atomic update does both)."""
        return tuple(sorted(set(self.reads) & set(self.writes)))


def features_of(graph: networkx.MultiDiGraph[int], flow: Flow | None = None) -> Features:
    """The features of a graph that `build_graph` made."""
    return _Collector(graph, flow if flow is not None else Flow(graph)).features()


def reachable_nodes(graph: networkx.MultiDiGraph[int]) -> list[int]:
    """Nodes of the kernel and of the helpers that it calls, in program order."""
    nodes: Mapping[int, Mapping[str, Any]] = graph.nodes
    functions = {
        data["attrs"].get("sym_name"): node
        for node, data in nodes.items()
        if data["op"] == "tt.func"
    }
    calls: dict[int, set[int]] = {}
    for data in nodes.values():
        if data["op"] == "tt.call":
            callee = functions.get(callee_of(data["ir"]))
            if callee is not None:
                calls.setdefault(data["region"][0][0], set()).add(callee)
    wanted, stack = {graph.graph["kernel"]}, [graph.graph["kernel"]]
    while stack:
        for callee in calls.get(stack.pop(), ()):
            if callee not in wanted:
                wanted.add(callee)
                stack.append(callee)
    return [
        node
        for node, data in nodes.items()
        if (data["region"][0][0] if data["region"] else node) in wanted
    ]


class _Collector:
    def __init__(self, graph: networkx.MultiDiGraph[int], flow: Flow) -> None:
        self.graph = graph
        self.flow = flow
        self.nodes: Mapping[int, Mapping[str, Any]] = graph.nodes
        self.forms = Forms(graph.graph["module"])
        self.by_op: dict[str, list[int]] = {}
        for node in reachable_nodes(graph):
            self.by_op.setdefault(self.nodes[node]["op"], []).append(node)
        self.arguments: dict[Value, int] = {
            self.nodes[node]["ir"]: node for node in self.by_op.get("arg", ())
        }

    def features(self) -> Features:
        accesses = self._accesses()
        reads: dict[int, tuple[int, ...]] = {}
        writes: dict[int, tuple[int, ...]] = {}
        for node, access in accesses:
            if access.base is not None:
                if access.effect in ("read", UPDATE):
                    reads[access.base] = (*reads.get(access.base, ()), node)
                if access.effect in ("write", UPDATE):
                    writes[access.base] = (*writes.get(access.base, ()), node)
        exchanges = self._exchanges()
        return Features(
            dots=tuple(self._dot(node) for node in self._named(*DOTS)),
            reductions=tuple(
                self._reduction(node) for node in self._named("tt.reduce") if node not in exchanges
            ),
            scans=tuple(self._reduction(node) for node in self._named("tt.scan")),
            sorts=tuple(self._sorts(exchanges)),
            flips=tuple(self._flips(exchanges)),
            transposes=self._named("tt.trans"),
            gathers=self._gathers(accesses),
            scatters=tuple(n for n, a in accesses if a.effect != "read" and a.kind == "indirect"),
            atomics=tuple(n for n, a in accesses if a.atomic and a.effect == UPDATE),
            accesses=accesses,
            loops=tuple(self._loop(node) for node in self._named(*LOOPS)),
            data_dependent=self._data_dependent(),
            reads=reads,
            writes=writes,
        )

    def _named(self, *names: str) -> tuple[int, ...]:
        return tuple(sorted(node for name in names for node in self.by_op.get(name, ())))

    def _accesses(self) -> tuple[tuple[int, Access], ...]:
        found = []
        for node in self._named(*ACCESSES):
            access = access_of(self.nodes[node]["ir"], self.forms)
            if access is not None:
                found.append((node, access))
        return tuple(found)

    def _gathers(self, accesses: tuple[tuple[int, Access], ...]) -> tuple[int, ...]:
        indirect = [n for n, a in accesses if a.effect == "read" and a.kind == "indirect"]
        return tuple(sorted([*indirect, *self._named("tt.gather")]))

    # -- dots --------------------------------------------------------------------------

    def _dot(self, node: int) -> Dot:
        op: Operation = self.nodes[node]["ir"]
        return Dot(
            node,
            op.name,
            op.operands[0].type,
            op.operands[1].type,
            op.result.type,
            self._accumulator(node),
            self.nodes[node]["loops"],
        )

    def _accumulator(self, node: int) -> str:
        source = self.flow.sources(node, ACCUMULATOR)
        names = {self.nodes[n]["op"] for n, _ in source}
        if names <= {"arith.constant"}:
            return "fresh"
        arguments = [n for n, _ in source if self.nodes[n]["op"] == "arg"]
        if any(self._through_dots(argument) for argument in arguments):
            return "loop"
        # Does the result come back to this dot, through vector code, in the next iteration?
        comes_back = (node, ACCUMULATOR) in self.flow.forward([(node, 0)])
        return "rescaled" if comes_back else "given"

    def _through_dots(self, argument: int) -> bool:
        """The carried value goes through dots alone (and loops around them)."""
        path = {"arg", *DOTS}
        users = {n for n, _ in self.flow.forward([(argument, 0)], lambda n: False)}
        if any(self.nodes[n]["op"] not in (*path, *LOOPS) for n in users):
            return False
        arrivals = self.flow.forward([(argument, 0)], lambda n: self.nodes[n]["op"] in path)
        return any(n == argument for n, _ in arrivals)

    # -- reductions, scans, sorts --------------------------------------------------------

    def _reduction(self, node: int) -> Reduction:
        op: Operation = self.nodes[node]["ir"]
        axis = op.attrs.get("axis", 0)
        source = op.operands[0].type
        return Reduction(
            node,
            axis if isinstance(axis, int) else 0,
            combiner_of(op),
            source.shape,
            source.dtype,
            bool(op.attrs.get("reverse", False)),
        )

    def _exchanges(self) -> frozenset[int]:
        """Pairwise swaps: upstream Triton writes tl.sort and tl.flip with them.

        A fold of an axis of length 2 that gives each element its partner: by xor, or (up
        to 3.2) as the sum of a product with a mask made of indices.
        """
        found = set()
        for node in self._named("tt.reduce"):
            op: Operation = self.nodes[node]["ir"]
            shape, axis = op.operands[0].type.shape, op.attrs.get("axis")
            if not isinstance(axis, int) or shape[axis] != 2 or len(op.operands) != 1:
                continue
            combiner = combiner_of(op)
            if combiner == "xor" or (combiner == "add" and self._masked(op.operands[0])):
                found.add(node)
        return frozenset(found)

    def _masked(self, value: Value) -> bool:
        op = value.op
        if op is None or op.name not in ("arith.mulf", "arith.muli"):
            return False
        return sum(self.forms.of(factor).loaded for factor in op.operands) == 1

    def _sorts(self, exchanges: frozenset[int]) -> list[int]:
        return [*self._named("tt.sort"), *self._compared(exchanges)]

    def _compared(self, exchanges: frozenset[int]) -> list[int]:
        """Exchanges whose partners are compared to choose one: a sorting network."""
        passes = {*SHAPING, "arith.xori"}
        found = []
        for node in sorted(exchanges):
            arrivals = self.flow.forward([(node, 0)], lambda n: self.nodes[n]["op"] in passes)
            if any(self.nodes[n]["op"] in ("arith.cmpf", "arith.cmpi") for n, _ in arrivals):
                found.append(node)
        return found

    def _flips(self, exchanges: frozenset[int]) -> list[int]:
        compared = set(self._compared(exchanges))
        return [*self._named("tt.flip"), *(n for n in sorted(exchanges) if n not in compared)]

    # -- loops and control ---------------------------------------------------------------

    def _loop(self, node: int) -> Loop:
        op: Operation = self.nodes[node]["ir"]
        carried = op.body().args[1 if op.name == "scf.for" else 0 :]
        bounds, trips = self._bounds(op)
        state = tuple(self.arguments[v] for v in carried if self._holds_data(v))
        return Loop(node, op.name, bounds, trips, tuple(v.type for v in carried), state)

    def _bounds(self, op: Operation) -> tuple[str, int | None]:
        if op.name != "scf.for":
            condition = op.body().ops[-1].operands[0]
            return ("loaded" if self.forms.of(condition).loaded else "runtime"), None
        forms = [self.forms.of(v) for v in op.operands[:3]]
        if any(form.loaded for form in forms):
            return "loaded", None
        low, high, step = (form.value for form in forms)
        if low is None or high is None or not step:
            return "runtime", None
        return "static", max(0, -((low - high) // step))

    def _holds_data(self, value: Value) -> bool:
        if value.type.is_pointer or value.type.pointee is not None:
            return False
        form = self.forms.of(value)
        if not value.type.dtype.startswith(("f", "bf")):
            return bool(form.bends & LOADED) or (form.loaded and not value.type.is_tensor)
        return True

    def _data_dependent(self) -> tuple[int, ...]:
        """Loops, ifs and branches that a number read from memory decides."""
        found = []
        for node in self._named(*LOOPS):
            if self._bounds(self.nodes[node]["ir"])[0] == "loaded":
                found.append(node)
        for node in self._named("scf.if", "cf.cond_br", "cf.switch"):
            op: Operation = self.nodes[node]["ir"]
            if self.forms.of(op.operands[0]).loaded:
                found.append(node)
        return tuple(sorted(found))


_COMBINERS: Mapping[str, str] = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.mulf": "multiply",
    "arith.muli": "multiply",
    "arith.maxnumf": "max",
    "arith.maximumf": "max",
    "arith.maxsi": "max",
    "arith.maxui": "max",
    "arith.minnumf": "min",
    "arith.minimumf": "min",
    "arith.minsi": "min",
    "arith.minui": "min",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
}
# Ordering predicates that say "greater": arith.cmpf ogt oge ugt uge, arith.cmpi sgt sge ugt uge.
_GREATER = {"arith.cmpf": {2, 3, 9, 10}, "arith.cmpi": {4, 5, 8, 9}}
_LESS = {"arith.cmpf": {4, 5, 11, 12}, "arith.cmpi": {2, 3, 6, 7}}


def combiner_of(op: Operation) -> str:
    """The function that a tt.reduce or tt.scan folds with, by name."""
    body = [inner for inner in op.body().ops if not inner.name.endswith(".return")]
    work = [inner for inner in body if inner.name not in CASTS]
    if len(work) == 1 and work[0].name in _COMBINERS:
        return _COMBINERS[work[0].name]
    if any(inner.name == "arith.select" for inner in work):
        pair = "arg" if len(op.operands) > 1 else ""
        first = op.body().args[0]  # the running value; a tie may also compare indices
        for inner in work:
            if first not in inner.operands[:1]:
                continue
            if inner.attrs.get("predicate") in _GREATER.get(inner.name, ()):
                return pair + "max"
            if inner.attrs.get("predicate") in _LESS.get(inner.name, ()):
                return pair + "min"
    return "other"

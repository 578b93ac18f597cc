"""The kinds of kernels, and how each is recognised in the graph.

`KINDS` is the one list that says which kinds there are, what each means and which goes
first. A predicate gives the nodes that show its kind, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ascend_autotune.analysis.addressing import Access
from ascend_autotune.analysis.features import ACCUMULATOR, CASTS, DOTS, SHAPING, features_of
from ascend_autotune.analysis.flow import Flow

if TYPE_CHECKING:
    import networkx

MIXCV, VECTOR = "mixcv", "vector"
_EXP = frozenset({"math.exp", "math.exp2"})
_ROOTS = frozenset({"math.sqrt", "math.rsqrt", "tt.precise_sqrt"})
_LOGS = frozenset({"math.log", "math.log2"})


class View:
    """A graph with its features and flow, and the questions that the predicates ask."""

    def __init__(self, graph: networkx.MultiDiGraph[int]) -> None:
        self.graph = graph
        self.kernel: int = graph.graph["kernel"]
        self.flow = Flow(graph)
        self.features = features_of(graph, self.flow)
        self.stores = [n for n, a in self.features.accesses if a.effect != "read"]

    def name(self, node: int) -> str:
        return str(self.graph.nodes[node]["op"])

    def reaches(self, node: int, stop: frozenset[str] = frozenset()) -> set[tuple[int, int]]:
        """The (node, operand) pairs that a node's results flow into; not through `stop`."""
        points = [(node, i) for i in range(len(self.graph.nodes[node]["types"]))]
        return self.flow.forward(points, lambda n: self.name(n) not in stop)

    def inside(self, loop: int, argument: int) -> set[tuple[int, int]]:
        """What one iteration of a loop does with a carried value: (node, operand) pairs."""
        nodes = self.graph.nodes

        def within(node: int) -> bool:
            return node != loop and loop in nodes[node]["loops"]

        return {a for a in self.flow.forward([(argument, 0)], within) if within(a[0])}

    def named(self, arrivals: Iterable[tuple[int, int]], names: Iterable[str]) -> list[int]:
        wanted = set(names)
        return sorted({n for n, _ in arrivals if self.name(n) in wanted})

    def reductions(self, *combiners: str) -> list[int]:
        return [r.node for r in self.features.reductions if r.combiner in combiners]

    def access(self, node: int) -> Access | None:
        return dict(self.features.accesses).get(node)

    def loads_behind(self, node: int, operand: int) -> list[int]:
        """Reads whose tile reaches an operand without going through a dot or another read."""
        reads = {n for n, a in self.features.accesses if a.effect == "read"}
        start = self.flow.sources(node, operand)
        behind = self.flow.backward(
            start, lambda n: n not in reads and self.name(n) not in DOTS
        ) | {n for n, _ in start}
        return sorted(behind & reads)

    def work_behind(self, node: int, operand: int) -> set[str]:
        """Names of the operations behind an operand, as far as the reads."""
        reads = {n for n, _ in self.features.accesses}
        start = self.flow.sources(node, operand)
        behind = {n for n, _ in start}
        behind |= self.flow.backward(
            [p for p in start if p[0] not in reads], lambda n: n not in reads
        )
        return {self.name(n) for n in behind}

    def stored_operand(self, node: int) -> int:
        """Operand of a writing operation that holds what is written."""
        return 2 if self.name(node) == "tt.atomic_cas" else 1


# A predicate gives the nodes that show the kind; empty: it is not this kind.
Predicate = Callable[[View], "list[int]"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of kernel: its name, what it means, and how it is recognised."""

    name: str
    family: str
    text: str
    shown_by: Predicate


# -- mixcv ---------------------------------------------------------------------------------


def _chain(view: View, through: frozenset[str]) -> list[int]:
    """Dots whose result becomes a factor (not the accumulator) of another dot."""
    for dot in view.features.dots:
        arrivals = view.reaches(dot.node, DOTS)
        if not through:
            ends = [n for n, operand in arrivals if view.name(n) in DOTS and operand < ACCUMULATOR]
            if ends:
                return [dot.node, *ends]
        for middle in view.named(arrivals, through):
            after = view.reaches(middle, DOTS)
            ends = [n for n, operand in after if view.name(n) in DOTS and operand < ACCUMULATOR]
            if ends:
                return [dot.node, middle, *ends]
    return []


def _attention(view: View) -> list[int]:
    return _chain(view, _EXP)


def _chained_matmul(view: View) -> list[int]:
    return _chain(view, frozenset())


def _stateful(view: View) -> list[int]:
    """A carried tile that the same loop also stores or multiplies, besides updating it."""
    dots = {dot.node for dot in view.features.dots}
    for loop in view.features.loops:
        for argument in loop.state:
            inside = view.inside(loop.node, argument)
            stored = [n for n, operand in inside if n in view.stores and operand > 0]
            multiplied = [n for n, operand in inside if n in dots and operand < ACCUMULATOR]
            if stored or multiplied:
                return [loop.node, argument, *stored, *multiplied]
    return []


def _factor_read(view: View, wanted: Callable[[Access], bool]) -> list[int]:
    """A tl.dot and the read of one of its factors whose addresses are such."""
    for dot in view.features.dots:
        for operand in (0, 1):
            for read in view.loads_behind(dot.node, operand):
                access = view.access(read)
                if access is not None and wanted(access):
                    return [dot.node, read]
    return []


def _grouped_matmul(view: View) -> list[int]:
    return _factor_read(view, lambda access: access.loaded_offset)


def _wrapped_matmul(view: View) -> list[int]:
    """Rows or columns taken modulo a bound: no rectangle, so the vector core reads it."""
    return _factor_read(view, lambda access: access.modulo) if _matmul(view) else []


def _batched_matmul(view: View) -> list[int]:
    """A batch dimension in the tile, or one that all matrices share in the grid."""
    batched = [dot.node for dot in view.features.dots if dot.batched]
    if batched or not _matmul(view):
        return batched
    dot = view.features.dots[0]
    reads = [read for operand in (0, 1) for read in view.loads_behind(dot.node, operand)]
    arrivals = {n for n, _ in view.reaches(dot.node)}
    sharing = [_moved_by(view, n) for n in (*reads, *(s for s in view.stores if s in arrivals))]
    shared = frozenset.intersection(*sharing) if len(sharing) > 2 else frozenset()
    return [*sorted(shared), dot.node] if shared else []


def _moved_by(view: View, access: int) -> frozenset[int]:
    """Program ids that move the whole matrix: they are in a scalar offset of its pointer."""
    nodes = view.graph.nodes
    start = view.flow.sources(access, 0)
    behind = {n for n, _ in start} | view.flow.backward(start)
    found: set[int] = set()
    for node in behind:
        data = nodes[node]
        if data["op"] == "tt.addptr" and not data["types"][0].is_tensor:
            offsets = view.flow.sources(node, 1)
            before = {n for n, _ in offsets} | view.flow.backward(offsets)
            found |= {n for n in before if nodes[n]["op"] == "tt.get_program_id"}
    return frozenset(found)


def _matmul(view: View) -> list[int]:
    """Every dot multiplies tiles that come from memory, and a result is written."""
    stores = set(view.stores)
    for dot in view.features.dots:
        if not (view.loads_behind(dot.node, 0) and view.loads_behind(dot.node, 1)):
            return []
        if not any(n in stores for n, _ in view.reaches(dot.node)):
            return []
    return [dot.node for dot in view.features.dots]


def _dot(view: View) -> list[int]:
    return [dot.node for dot in view.features.dots]


# -- vector --------------------------------------------------------------------------------


def _softmax(view: View) -> list[int]:
    """max, then exp of what lies under it, then the sum of that."""
    sums = set(view.reductions("add"))
    for top in view.reductions("max"):
        for exp in view.named(view.reaches(top), _EXP):
            ends = {n for n, _ in view.reaches(exp)} & sums
            if ends:
                return [top, exp, *sorted(ends)]
    return []


def _cross_entropy(view: View) -> list[int]:
    """A log of a softmax's sum, beside a score picked by a loaded label."""
    softmax = _softmax(view)
    if not softmax:
        return []
    logs = view.named(view.reaches(softmax[-1]), _LOGS)
    picked = [
        n
        for n, a in view.features.accesses
        if a.effect == "read" and a.base is not None and (a.kind == "indirect" or a.loaded_offset)
    ]
    return [*softmax, *logs, *picked] if logs and picked else []


def _normalization(view: View) -> list[int]:
    """A sum, then a root of it, then a tile of data scaled by that and written."""
    for total in view.reductions("add", "other"):
        for root in view.named(view.reaches(total), _ROOTS):
            for node, operand in view.reaches(root):
                access = view.access(node)
                if access is None or node not in view.stores or operand == 0:
                    continue
                scaled = view.graph.nodes[root]["types"][0]
                if prod(access.shape) > scaled.numel:
                    return [total, root, node]
    return []


def _reduction(view: View) -> list[int]:
    found = [r.node for r in view.features.reductions]
    found += [n for n in view.graph.nodes if view.name(n) == "tt.histogram"]
    return found or _accumulated(view)


def _accumulated(view: View) -> list[int]:
    """Loops that fold loaded tiles into a carried one which is written behind the loop."""
    folds = {"arith.addf", "arith.addi", "arith.maxnumf", "arith.minnumf", "arith.maximumf"}
    for loop in view.features.loops:
        for argument in loop.state:
            users = view.flow.forward([(argument, 0)], lambda n: False)
            if view.named(users, folds):
                return [loop.node, argument]
    return []


def _atomic(view: View) -> list[int]:
    return list(view.features.atomics)


def _scatter(view: View) -> list[int]:
    found = list(view.features.scatters)
    return found or _chosen(view, "write", "read")


def _gather(view: View) -> list[int]:
    found = list(view.features.gathers)
    return found or _chosen(view, "read", "write")


def _chosen(view: View, effect: str, other: str) -> list[int]:
    """Tiles whose place is a loaded number on one side only: rows picked, not ragged data."""
    tiles = [(n, a) for n, a in view.features.accesses if a.shape and a.loaded_offset]
    if any(a.effect == other for _, a in tiles):
        return []
    return [n for n, a in tiles if a.effect == effect]


def _scan(view: View) -> list[int]:
    return [scan.node for scan in view.features.scans]


def _sort(view: View) -> list[int]:
    return list(view.features.sorts)


def _flip(view: View) -> list[int]:
    return list(view.features.flips)


def _transpose(view: View) -> list[int]:
    """tl.trans of the data, or tiles read along one dimension and written along another."""
    found = [n for n in view.features.transposes if not view.graph.nodes[n]["types"][0].is_pointer]
    if found:
        return found
    inner: dict[str, dict[int, int]] = {"read": {}, "write": {}}
    for node, access in view.features.accesses:
        if len(access.shape) > 1 and access.effect in inner and access.kind == "affine":
            unit = [d for d, stride in enumerate(access.strides) if stride == 1]
            if len(unit) == 1:
                inner[access.effect].setdefault(unit[0], node)
    read, write = inner["read"], inner["write"]
    if len(read) == 1 and len(write) == 1 and set(read) != set(write):
        return [*read.values(), *write.values()]
    return []


def _copy(view: View) -> list[int]:
    """What is written is what was read, at most cast or reshaped."""
    moves = {*SHAPING, *CASTS, "tt.load", "tt.descriptor_load", "arg", "scf.for"}
    moves.add("tt.experimental_descriptor_load")
    for store in view.stores:
        if any(a.mask in ("data", "other") for _, a in view.features.accesses):
            return []
        work = view.work_behind(store, view.stored_operand(store))
        if not work <= moves or not work & {name for name in moves if name.endswith("load")}:
            return []
    return list(view.stores)


def _fill(view: View) -> list[int]:
    """Nothing is read."""
    return [] if view.features.reads else list(view.stores)


def _any(view: View) -> list[int]:
    return list(view.stores) or [view.kernel]


KINDS: tuple[Kind, ...] = (
    Kind("attention", MIXCV, "a tl.dot goes through exp into another tl.dot", _attention),
    Kind("stateful", MIXCV, "a loop carries a tile that it also uses and updates", _stateful),
    Kind("chained_matmul", MIXCV, "the result of a tl.dot is a factor of another", _chained_matmul),
    Kind(
        "grouped_matmul", MIXCV, "loaded numbers choose the matrices of a tl.dot", _grouped_matmul
    ),
    Kind("batched_matmul", MIXCV, "a tl.dot of one matrix out of a batch", _batched_matmul),
    Kind(
        "wrapped_matmul", MIXCV, "a factor of a tl.dot is read at wrapped offsets", _wrapped_matmul
    ),
    Kind("matmul", MIXCV, "a tl.dot of tiles from memory, written back", _matmul),
    Kind("dot", MIXCV, "a tl.dot among other work", _dot),
    Kind("sort", VECTOR, "elements are sorted", _sort),
    Kind("cross_entropy", VECTOR, "log of a softmax at a loaded label", _cross_entropy),
    Kind("softmax", VECTOR, "max, exp and the sum of that", _softmax),
    Kind("normalization", VECTOR, "a sum's root scales the tile that is written", _normalization),
    Kind("scan", VECTOR, "a running total along an axis", _scan),
    Kind("stateful", VECTOR, "a loop carries a value that it also writes", _stateful),
    Kind("reduction", VECTOR, "elements are folded along an axis or a loop", _reduction),
    Kind("atomic", VECTOR, "results are merged into memory by atomics", _atomic),
    Kind("scatter", VECTOR, "loaded numbers choose where to write", _scatter),
    Kind("gather", VECTOR, "loaded numbers choose what to read", _gather),
    Kind("transpose", VECTOR, "dimensions change places", _transpose),
    Kind("flip", VECTOR, "the order of elements is reversed", _flip),
    Kind("copy", VECTOR, "what is written is what was read", _copy),
    Kind("fill", VECTOR, "numbers are written, nothing is read", _fill),
    Kind("elementwise", VECTOR, "each element is computed by itself", _any),
)

"""The features of a kernel as sentences, each with the lines that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ascend_autotune.analysis.features import Dot, Features, Loop

if TYPE_CHECKING:
    import networkx

_ACCUMULATORS = {
    "loop": "accumulated over a loop",
    "rescaled": "accumulated over a loop and rescaled there",
    "fresh": "a fresh result",
    "given": "added to another tile",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """One operation of the kernel and the source line where it stands."""

    op: str
    file: str
    line: int
    node: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about the kernel, with the operations that show it."""

    feature: str
    text: str
    evidence: tuple[Evidence, ...]


def evidence_of(graph: networkx.MultiDiGraph[int], nodes: Iterable[int]) -> tuple[Evidence, ...]:
    """One entry per source line and operation, in program order."""
    found: dict[tuple[str, str, int], Evidence] = {}
    for node in sorted(nodes):
        data = graph.nodes[node]
        key = (data["op"], data["file"], data["line"])
        found.setdefault(key, Evidence(*key, node))
    return tuple(found.values())


def claims_of(graph: networkx.MultiDiGraph[int], features: Features) -> tuple[Claim, ...]:
    """Everything worth telling beside family and kind, in a fixed order."""
    return tuple(
        Claim(feature, text, evidence_of(graph, nodes)) for feature, text, nodes in _told(features)
    )


_Told = tuple[str, str, Iterable[int]]


def _told(features: Features) -> Iterator[_Told]:
    for dot in features.dots:
        yield "dot", _dot(dot), [dot.node]
    for name, found in (("reduction", features.reductions), ("scan", features.scans)):
        for fold in found:
            shape = "x".join(map(str, fold.shape))
            way = ", from the end" if fold.reverse else ""
            text = f"{fold.combiner} along axis {fold.axis} of {shape}x{fold.dtype}{way}"
            yield name, text, [fold.node]
    for name, text, nodes in (
        ("sort", "elements are sorted", features.sorts),
        ("flip", "elements are reversed", features.flips),
        ("transpose", "tl.trans of a tile", features.transposes),
        ("gather", "reads through loaded indices", features.gathers),
        ("scatter", "writes through loaded indices", features.scatters),
        ("atomic", "atomic updates of memory", features.atomics),
    ):
        if nodes:
            yield name, text, list(nodes)
    yield from _addressing(features)
    for loop in features.loops:
        yield "loop", _loop(loop), [loop.node]
    if features.data_dependent:
        yield "control", "loaded numbers decide the control flow", list(features.data_dependent)
    if features.in_place:
        writes = [n for i in features.in_place for n in features.writes[i]]
        names = ", ".join(map(str, features.in_place))
        yield "in_place", f"read and written in place: argument {names}", writes


def _dot(dot: Dot) -> str:
    return f"{dot.lhs} by {dot.rhs} into {dot.result}, {_ACCUMULATORS[dot.accumulator]}"


def _addressing(features: Features) -> Iterator[_Told]:
    for kind in ("affine", "indirect", "unknown"):
        nodes = [n for n, a in features.accesses if a.kind == kind]
        if nodes:
            count = f"{len(nodes)} access" + ("es" if len(nodes) > 1 else "")
            yield "addressing", f"{count} with {kind} addresses", nodes
    strided = [
        (n, a) for n, a in features.accesses if a.kind == "affine" and not a.contiguous_inner
    ]
    for text, found in (
        ("addresses that wrap (% or //)", [n for n, a in features.accesses if a.modulo]),
        ("block pointers or descriptors", [n for n, a in features.accesses if a.block]),
        (
            "tiles across their contiguous dimension",
            [n for n, a in strided if 1 in a.strides],
        ),
        (
            "innermost stride not known to be 1",
            [n for n, a in strided if 1 not in a.strides],
        ),
        (
            "masks that are no rectangle",
            [n for n, a in features.accesses if a.mask in ("data", "other")],
        ),
    ):
        if found:
            yield "addressing", text, found


def _loop(loop: Loop) -> str:
    trips = f"{loop.trips} iterations" if loop.trips is not None else f"{loop.bounds} bounds"
    name = "while loop" if loop.op == "scf.while" else "loop"
    # Sorted, since the order of carried values differs between Triton releases.
    counts = sorted(Counter(map(str, loop.carried)).items())
    carried = ", ".join(f"{n} x {text}" if n > 1 else text for text, n in counts)
    return f"{name}, {trips}" + (f", carries {carried}" if carried else "")

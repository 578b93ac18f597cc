"""Following values through the dataflow graph, loops, branches and calls included.

A point is one result of one node. Arriving at a point's user by operand matters (the
third operand of a dot is its accumulator), so a walk reports arrivals: (node, operand).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx

Point = tuple[int, int]  # node, result index
Arrival = tuple[int, int]  # node, operand index

# What these do with their operands is told by the edges into their regions and results.
_STRUCTURE = frozenset(
    {
        "scf.for",
        "scf.while",
        "scf.if",
        "scf.yield",
        "scf.condition",
        "tt.call",
        "tt.return",
        "tt.reduce.return",
        "tt.scan.return",
        "cf.br",
        "cf.cond_br",
        "cf.switch",
    }
)
_INTO_ARGUMENT = frozenset({"init", "bound", "carried", "call", "branch"})


class Flow:
    """Where values go to and come from; made once for a graph."""

    def __init__(self, graph: networkx.MultiDiGraph[int]) -> None:
        self.ahead: dict[Point, list[tuple[Point, Arrival]]] = {}
        self.behind: dict[Point, list[tuple[Point, Arrival]]] = {}
        names: dict[int, str] = {}
        results: dict[int, int] = {}
        for node, data in graph.nodes(data=True):
            names[node], results[node] = data["op"], max(len(data["types"]), 1)
        for source, user, data in graph.edges(data=True):
            kind, operand = data["kind"], data["operand"]
            point = (source, data["result"])
            if kind == "data":
                if names[user] in _STRUCTURE:
                    continue
                targets = [(user, i) for i in range(results[user])]
            elif kind in _INTO_ARGUMENT:
                targets = [(user, 0)]
            elif kind in ("yield", "return") and names[user] not in ("tt.reduce", "tt.scan"):
                targets = [(user, operand)]
            else:
                continue  # bodies of tt.reduce and tt.scan: the operation stands for them
            for target in targets:
                self.ahead.setdefault(point, []).append((target, (user, operand)))
                self.behind.setdefault(target, []).append((point, (user, operand)))

    def forward(
        self, start: Iterable[Point], passes: Callable[[int], bool] = lambda node: True
    ) -> set[Arrival]:
        """Every (node, operand) that a value from `start` arrives at.

        The walk goes on behind a node only where `passes(node)`; arrivals there count.
        """
        seen: set[Point] = set()
        found: set[Arrival] = set()
        stack = list(start)
        while stack:
            for target, arrival in self.ahead.get(stack.pop(), ()):
                found.add(arrival)
                if target not in seen and passes(target[0]):
                    seen.add(target)
                    stack.append(target)
        return found

    def backward(
        self, start: Iterable[Point], passes: Callable[[int], bool] = lambda node: True
    ) -> set[int]:
        """Every node whose value went into `start`; stops at nodes that do not pass."""
        seen: set[Point] = set()
        found: set[int] = set()
        stack = list(start)
        while stack:
            for source, _ in self.behind.get(stack.pop(), ()):
                found.add(source[0])
                if source not in seen and passes(source[0]):
                    seen.add(source)
                    stack.append(source)
        return found

    def sources(self, node: int, operand: int) -> list[Point]:
        """The points that flow into one operand of a node."""
        entries = self.behind.get((node, 0), ())
        return list(dict.fromkeys(point for point, arrival in entries if arrival[1] == operand))

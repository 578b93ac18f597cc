"""Reading blocks out of index arithmetic: `X * P + r`, where r runs through a block of P."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ascend_autotune.analysis.invariance.facts import Cover, Fact, Mark
from ascend_autotune.analysis.invariance.polynomial import (
    PARAMETER,
    Atom,
    Monomial,
    Poly,
    constant_of,
    divided,
    single,
)
from ascend_autotune.analysis.ir import Operation

Role = Literal["load", "store", "value", "inner", "compare"]
Term = tuple[Monomial, int]
CHOSEN = -2
"""Dimension of a position that an argmax chose: any of the block's, no axis of the result's."""
_USED: Mapping[Role, str] = {
    "load": "an index of what is read",
    "store": "an index of what is stored",
    "value": "part of a stored value",
    "inner": "",
    "compare": "",
}


@dataclass
class Index:
    """What is known of atoms, filled while a program is walked.

    `blocks`: ranges that are as long as a block. `walks`: loops whose number of iterations
    varies with the parameter. `edges`: loops that begin or end where a block does; `diagonal`:
    what such a loop counts is compared with positions in a block. `counters`: atoms that count
    blocks. `bounds`: what positions of a range are compared with; `compared`: ranges that any
    comparison looks at.
    """

    name: str
    blocks: set[int] = field(default_factory=set)
    walks: set[int] = field(default_factory=set)
    edges: set[int] = field(default_factory=set)
    diagonal: bool = False
    counters: set[Atom] = field(default_factory=set)
    facts: dict[Atom, Fact] = field(default_factory=dict)
    makers: dict[int, Operation] = field(default_factory=dict)
    bounds: dict[int, set[Poly]] = field(default_factory=dict)
    compared: set[int] = field(default_factory=set)

    def deps(self, poly: Poly) -> frozenset[str | int]:
        found: set[str | int] = set()
        for atom in poly.atoms:
            if atom == PARAMETER:
                found.add("parameter")
            elif atom.kind == "pid":
                found.add("pid")
            elif atom.kind == "loop":
                found.add(atom.key)
            elif atom in self.facts:
                found |= self.facts[atom].deps
        return frozenset(found)

    def cover(self, block: Poly, ranges: int) -> Cover:
        deps = self.deps(block)
        loops = frozenset(dep for dep in deps if isinstance(dep, int))
        return Cover(block, loops, "pid" in deps, ranges)


def read(poly: Poly, rank: int, op: Operation, role: Role, index: Index) -> Fact:
    """The blocks, runs and marks of a number that is used as `role` at `op`."""
    return _Reading(poly, rank, op, role, index).fact()


class _Reading:
    def __init__(self, poly: Poly, rank: int, op: Operation, role: Role, index: Index) -> None:
        self.poly, self.rank, self.op, self.role, self.index = poly, rank, op, role, index
        self.axes: list[frozenset[Cover]] = [frozenset()] * rank
        self.runs: set[tuple[int, Cover]] = set()
        self.marks: set[Mark] = set()

    def fact(self) -> Fact:
        within: list[tuple[Atom, Term]] = []  # a position within a block, and its stride
        strides: list[Term] = []  # terms with the parameter
        rest: list[Term] = []
        for monomial, number in self.poly.terms:
            positions = [a for a in monomial if a.kind == "range" and a.key in self.index.blocks]
            if positions:
                stride = list(monomial)
                stride.remove(positions[0])
                if PARAMETER in stride:
                    self._mark(
                        "changes", f"{self.index.name} is a stride of the layout", "load", "store"
                    )
                elif len(positions) > 1:
                    self._mark("open", "positions within a block are multiplied", "load", "store")
                within.append((positions[0], (tuple(stride), number)))
            elif PARAMETER in monomial:
                strides.append((monomial, number))
            else:
                rest.append((monomial, number))
        left = self._match(within, strides)
        left = self._shuffled(self._walked(left, rest), rest)
        for monomial, _ in left:
            self._stride(monomial)
        self._rest(rest)
        return Fact(
            self.rank, None, tuple(self.axes), frozenset(self.runs), frozenset(self.marks), None,
            self._deps(left, [stride for _, stride in within]),
        )  # fmt: skip

    def _deps(self, left: list[Term], strides: list[Term]) -> frozenset[str | int]:
        """What went into it; the parameter only where it was not read as a block's size."""
        deps = self.index.deps(self.poly)
        facts = self.index.facts
        hidden = any("parameter" in facts[a].deps for a in self.poly.atoms if a in facts)
        if not hidden and not left and all(PARAMETER not in stride[0] for stride in strides):
            return deps - {"parameter"}
        return deps

    def _match(self, within: list[tuple[Atom, Term]], strides: list[Term]) -> list[Term]:
        """Give each term with the parameter to the positions that it moves on; what is left."""
        blocks: dict[int, Poly] = {i: Poly() for i in range(len(within))}
        order = sorted(blocks, key=lambda i: (-len(within[i][1][0]), -abs(within[i][1][1])))
        left = []
        for term in strides:
            once = divided(term, ((PARAMETER,), 1))
            assert once is not None
            for i in order:
                quotient = divided(once, within[i][1])
                if quotient is not None and PARAMETER not in quotient[0]:
                    blocks[i] += Poly(frozenset({quotient}))
                    break
            else:
                left.append(term)
        for i, (position, _) in enumerate(within):
            self._count(blocks[i])
            cover = self.index.cover(blocks[i], position.key)
            if position.dim == CHOSEN:
                self.marks |= self.index.facts[position].marks
            elif 0 <= position.dim < self.rank:
                self.axes[position.dim] |= {cover}
            elif self.rank:
                self._mark(
                    "open", f"blocks of {self.index.name} are reshaped", "load", "store", "value"
                )
        return left

    def _walked(self, left: list[Term], rest: list[Term]) -> list[Term]:
        """Terms whose block a loop walks through: `X * P + t * step`."""
        kept = []
        for term in left:
            once = divided(term, ((PARAMETER,), 1))
            assert once is not None
            for other in list(rest):
                walker = next((a for a in other[0] if self._walks(a) or self._ends(a)), None)
                if walker is None:
                    continue
                stride = list(other[0])
                stride.remove(walker)
                quotient = divided((once[0], 1), (tuple(stride), 1))
                if quotient is not None and PARAMETER not in quotient[0]:
                    block = Poly(frozenset({(quotient[0], once[1])}))
                    self._count(block)
                    if self._walks(walker):
                        self.runs.add((walker.key, self.index.cover(block, walker.key)))
                    rest.remove(other)
                    break
            else:
                kept.append(term)
        return kept

    def _shuffled(self, left: list[Term], rest: list[Term]) -> list[Term]:
        """Terms of a block's number put together as `group * P + i`, i worked out with P."""
        kept = []
        for term in left:
            once = divided(term, ((PARAMETER,), 1))
            assert once is not None
            for monomial, number in rest:
                within = next((a for a in monomial if self._by_parameter(a)), None)
                if within is not None:
                    stride = list(monomial)
                    stride.remove(within)
                    if divided(once, (tuple(stride), number)) is not None:
                        break
            else:
                kept.append(term)
        return kept

    def _by_parameter(self, atom: Atom) -> bool:
        fact = self.index.facts.get(atom)
        return fact is not None and fact.clean and "parameter" in fact.deps and "pid" in fact.deps

    def _ends(self, atom: Atom) -> bool:
        return atom.kind == "loop" and atom.key in self.index.edges

    def _walks(self, atom: Atom) -> bool:
        return atom.kind == "loop" and atom.key in self.index.walks

    def _count(self, block: Poly) -> None:
        """Atoms of a block's number are counters of blocks."""
        for atom in block.atoms:
            deps = self.index.deps(single(atom))
            if "pid" in deps or any(isinstance(dep, int) for dep in deps):
                self.index.counters.add(atom)
            if atom in self.index.facts:
                self.marks |= self.index.facts[atom].marks

    def _stride(self, monomial: Monomial) -> None:
        others = [atom for atom in monomial if atom != PARAMETER]
        if self.role == "value":
            self._mark("changes", f"{self.index.name} is part of a stored value", "value")
        elif not others:
            self._mark(
                "changes",
                f"{self.index.name} is an offset between what a program touches",
                "load",
                "store",
            )
        elif any(atom.kind in ("pid", "range") for atom in others):
            self._mark("changes", f"{self.index.name} is a stride of the layout", "load", "store")
        else:
            self._mark(
                "stride",
                f"{self.index.name} moves an address in a way that was not understood",
                "load",
                "store",
            )

    def _rest(self, rest: list[Term]) -> None:
        for monomial, _ in rest:
            for atom in monomial:
                fact = self.index.facts.get(atom)
                if atom in self.index.counters:
                    text = (
                        f"the number of a block of {self.index.name} is itself {_USED[self.role]}"
                    )
                    self._mark("changes", text, "load", "store", "value")
                elif self._walks(atom):
                    if self.role == "inner":
                        continue
                    self.runs.add((atom.key, self.index.cover(Poly(), atom.key)))
                elif fact is not None:
                    self._opaque(fact)

    def _opaque(self, fact: Fact) -> None:
        for d, covers in enumerate(fact.axes):
            if d < self.rank:
                self.axes[d] |= covers
        self.runs |= fact.runs
        self.marks |= fact.marks
        counts = "pid" in fact.deps or any(isinstance(dep, int) for dep in fact.deps)
        if "parameter" in fact.deps and fact.clean and (self.role == "value" or not counts):
            self._mark("open", f"{self.index.name} goes into a number that was not understood",
                       "load", "store", "value")  # fmt: skip

    def _mark(self, kind: Literal["changes", "open", "stride"], text: str, *roles: Role) -> None:
        if self.role in roles:
            self.marks.add(Mark(kind, self.op, text))


def bound_of(left: Poly, right: Poly, index: Index) -> None:
    """Note what a comparison says of positions within a block that stands alone."""
    difference = left - right
    loops = {atom.key for atom in difference.atoms if atom.kind == "loop"}
    for atom in difference.atoms:
        if atom.kind != "range" or atom.key not in index.blocks:
            continue
        index.compared.add(atom.key)
        index.diagonal |= bool(loops & index.edges)
        factor = difference.without(atom).number
        rest = difference - difference.holding(atom)
        if factor in (1, -1) and PARAMETER not in rest.atoms:
            index.bounds.setdefault(atom.key, set()).add(-rest if factor == 1 else rest)


def known(poly: Poly, arguments: Mapping[int, int]) -> int | None:
    """The number that a polynomial of arguments comes to, where they are known."""
    total = Poly()
    for monomial, number in poly.terms:
        value = constant_of(number)
        for atom in monomial:
            if atom.kind != "argument" or atom.key not in arguments:
                return None
            value = value * constant_of(arguments[atom.key])
        total = total + value
    return total.number

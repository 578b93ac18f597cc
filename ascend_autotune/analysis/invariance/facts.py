"""What is noted of a value while a program is walked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ascend_autotune.analysis.invariance.polynomial import Poly
from ascend_autotune.analysis.ir import Operation

Certainty = Literal["changes", "open", "stride", "extent", "partial", "prefix", "scan"]


@dataclass(frozen=True, slots=True)
class Cover:
    """How blocks of the parameter's size cover an axis.

    `block` counts the blocks: 0 where there is one alone. `loops` count blocks (as the order of
    their operations), `program`: program ids do. `ranges` is the operation that makes the
    positions within a block. `folded`: a loop over blocks was folded already.
    """

    block: Poly
    loops: frozenset[int]
    program: bool
    ranges: int
    folded: bool = False

    @property
    def alone(self) -> bool:
        return self.block.number is not None

    def folded_over(self, loop: int) -> Cover:
        """What is left to cover once a loop is over that folds its blocks into one value."""
        return replace(self, loops=self.loops - {loop}, folded=True)

    @property
    def complete(self) -> bool:
        return not self.alone and not self.loops and not self.program


@dataclass(frozen=True, slots=True)
class Mark:
    """Something of a value that depends on the parameter.

    changes: certain, whatever comes after. open: not known. stride: so
    too, and blocks lie as far apart as the parameter says. extent: right only where one block
    covers everything. partial: of one block only (`scan`: so too, element by element); complete
    once the loops of its cover are folded. prefix: of the blocks so far of a loop.
    """

    kind: Certainty
    op: Operation
    text: str
    cover: Cover | None = None
    loop: int = -1


@dataclass(frozen=True, slots=True)
class BlockPointer:
    """`make_tensor_ptr`: all polynomials; `made` is the order of the operation."""

    base: Poly
    shape: tuple[Poly, ...]
    strides: tuple[Poly, ...]
    offsets: tuple[Poly, ...]
    made: int


@dataclass(frozen=True, slots=True)
class Fact:
    """One value: its index arithmetic where it has any, its blocks by dimension, its marks.

    `runs` are the loops that walk through a block element by element: (loop, cover). `deps`:
    "pid", "parameter" and the loops whose counters went into it.
    """

    rank: int = 0
    poly: Poly | None = None
    axes: tuple[frozenset[Cover], ...] = ()
    runs: frozenset[tuple[int, Cover]] = frozenset()
    marks: frozenset[Mark] = frozenset()
    pointer: BlockPointer | None = None
    deps: frozenset[str | int] = frozenset()

    @property
    def clean(self) -> bool:
        """Nothing here depends on the parameter."""
        return not (self.marks or self.runs or any(self.axes))


def plain(rank: int) -> Fact:
    return Fact(rank, axes=(frozenset(),) * rank)


def joined(facts: Iterable[Fact], rank: int) -> Fact:
    """A value made of all of these, element by element; polynomials are left behind."""
    axes: list[frozenset[Cover]] = [frozenset()] * rank
    runs: frozenset[tuple[int, Cover]] = frozenset()
    marks: frozenset[Mark] = frozenset()
    deps: frozenset[str | int] = frozenset()
    for fact in facts:
        deps |= fact.deps
        runs |= fact.runs
        marks |= fact.marks
        if len(fact.axes) == rank:
            axes = [a | b for a, b in zip(axes, fact.axes, strict=True)]
        elif fact.axes:
            every = frozenset().union(*fact.axes)
            axes = [a | every for a in axes]
    return Fact(rank, None, tuple(axes), runs, marks, None, deps)

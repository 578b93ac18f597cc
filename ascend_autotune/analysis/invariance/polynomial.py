"""Index arithmetic as polynomials with integer coefficients over atoms.

An atom is what is not taken apart further: the parameter, a program id, an argument, a loop's
counter, a range along a dimension, the result of another operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["parameter", "pid", "programs", "argument", "loop", "range", "op", "carried"]
LARGEST = 64
"""A polynomial of more terms than this is not kept."""


@dataclass(frozen=True, order=True, slots=True)
class Atom:
    """`key` tells apart atoms of a kind; a range lies along dimension `dim` of its tensor."""

    kind: Kind
    key: int = 0
    dim: int = -1


PARAMETER = Atom("parameter")
Monomial = tuple[Atom, ...]
Terms = frozenset[tuple[Monomial, int]]


@dataclass(frozen=True, slots=True)
class Poly:
    """A sum of monomials, each with its coefficient; equal where all terms are."""

    terms: Terms = frozenset()

    def __add__(self, other: Poly) -> Poly:
        total: Counter[Monomial] = Counter(dict(self.terms))
        for monomial, number in other.terms:
            total[monomial] += number
        return of(total)

    def __neg__(self) -> Poly:
        return Poly(frozenset((monomial, -number) for monomial, number in self.terms))

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        total: Counter[Monomial] = Counter()
        for left, a in self.terms:
            for right, b in other.terms:
                total[tuple(sorted((*left, *right)))] += a * b
        return of(total)

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def number(self) -> int | None:
        """Its value where it is a constant."""
        if not self.terms:
            return 0
        if len(self.terms) == 1:
            ((monomial, number),) = self.terms
            return number if not monomial else None
        return None

    @property
    def atoms(self) -> frozenset[Atom]:
        return frozenset(atom for monomial, _ in self.terms for atom in monomial)

    def where(self, keep: Iterable[tuple[Monomial, int]]) -> Poly:
        return Poly(frozenset(keep))

    def without(self, atom: Atom) -> Poly:
        """Its terms that hold the atom, divided by it."""
        found: Counter[Monomial] = Counter()
        for monomial, number in self.terms:
            if atom in monomial:
                rest = list(monomial)
                rest.remove(atom)
                found[tuple(rest)] += number
        return of(found)

    def holding(self, atom: Atom) -> Poly:
        return Poly(frozenset(term for term in self.terms if atom in term[0]))


def of(terms: Mapping[Monomial, int]) -> Poly:
    return Poly(frozenset((monomial, number) for monomial, number in terms.items() if number))


def constant_of(number: int) -> Poly:
    return Poly(frozenset({((), number)})) if number else Poly()


def single(atom: Atom, number: int = 1) -> Poly:
    return Poly(frozenset({((atom,), number)}))


def divided(term: tuple[Monomial, int], by: tuple[Monomial, int]) -> tuple[Monomial, int] | None:
    """One term by another; None where that leaves a rest."""
    (monomial, number), (divisor, scale) = term, by
    if number % scale:
        return None
    left = Counter(monomial)
    left.subtract(Counter(divisor))
    if any(count < 0 for count in left.values()):
        return None
    return tuple(sorted(left.elements())), number // scale

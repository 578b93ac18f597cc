"""Constants, ranges, index arithmetic, comparisons and choices."""

from __future__ import annotations

from dataclasses import replace

from ascend_autotune.analysis.invariance.facts import Mark, joined, plain
from ascend_autotune.analysis.invariance.places import bound_of, read
from ascend_autotune.analysis.invariance.polynomial import LARGEST, Atom, constant_of, single
from ascend_autotune.analysis.invariance.walk import Walk
from ascend_autotune.analysis.ir import Operation

_ADDS = frozenset({"arith.addi", "tt.addptr"})


def constant(walk: Walk, op: Operation) -> None:
    rank, value = len(op.result.type.shape), op.attrs.get("value")
    fact = plain(rank)
    if op in walk.twins.floats:
        text = f"{walk.index.name} is part of a stored value"
        fact = replace(fact, marks=frozenset({Mark("changes", _user(op), text)}))
    elif op in walk.twins.numbers:
        law = walk.twins.numbers[op]
        if law is None:
            opaque = replace(fact, deps=frozenset({"parameter"}))
            atom = Atom("op", walk.identity(op))
            walk.index.facts[atom] = opaque
            law = single(atom)
        fact = replace(fact, poly=law)
    elif isinstance(value, int) and op.result.type.dtype.startswith("i"):
        fact = replace(fact, poly=constant_of(value))
    walk.env[op.result] = fact


def make_range(walk: Walk, op: Operation) -> None:
    start = op.attrs.get("start", 0)
    varies = op.result in walk.twins.extents
    poly = single(walk.position(op, 0, 0, varies))
    if isinstance(start, int):
        poly = poly + constant_of(start)
    walk.env[op.result] = replace(plain(1), poly=poly)


def program_id(walk: Walk, op: Operation) -> None:
    axis = op.attrs.get("axis", 0)
    kind = "pid" if op.name == "tt.get_program_id" else "programs"
    number = axis if isinstance(axis, int) else 0
    walk.env[op.result] = replace(plain(0), poly=single(Atom(kind, number)))  # type: ignore[arg-type]


def arithmetic(walk: Walk, op: Operation) -> None:
    a, b = op.operands
    if op.result.type.dtype == "i1" or not _indexes(walk, op):
        return walk.plain_operation(op)
    left, right = walk.poly(a, op), walk.poly(b, op)
    if op.name in _ADDS:
        poly = left + right
    elif op.name == "arith.subi":
        poly = left - right
    elif op.name == "arith.shli":
        if right.number is None:
            return walk.plain_operation(op)
        poly = left * constant_of(1 << right.number)
    else:
        poly = left * right
    if len(poly.terms) > LARGEST:
        return walk.plain_operation(op)
    walk.env[op.result] = replace(plain(len(op.result.type.shape)), poly=poly)


def _indexes(walk: Walk, op: Operation) -> bool:
    return any(walk.fact(v).poly is not None for v in op.operands)


def compare(walk: Walk, op: Operation) -> None:
    left, right = (walk.fact(v).poly for v in op.operands)
    if left is not None and right is not None:
        bound_of(left, right, walk.index)
        for poly in (left, right):
            read(poly, len(op.result.type.shape), op, "compare", walk.index)
    facts = [walk.data(v, op, "inner") for v in op.operands]
    fact = joined(facts, len(op.result.type.shape))
    # Which elements take part may depend on the tile; a partial result compared is data.
    kept = frozenset(m for m in fact.marks if m.kind in ("partial", "scan", "prefix"))
    walk.env[op.result] = replace(fact, marks=kept)


def select(walk: Walk, op: Operation) -> None:
    _, a, b = op.operands
    if walk.fact(a).poly is not None or walk.fact(b).poly is not None:
        return walk.plain_operation(op)
    walk.env[op.result] = joined([walk.data(v, op) for v in op.operands], len(op.result.type.shape))


def _user(op: Operation) -> Operation:
    """The operation that reads a constant, past those that only spread it."""
    for _ in range(8):
        if op.location.line or not op.results or not op.result.uses:
            break
        op = op.result.uses[-1][0]
    return op

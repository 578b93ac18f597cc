"""Operations that mix the elements of an axis: reductions, scans, sorts, dots."""

from __future__ import annotations

from dataclasses import replace

from ascend_autotune.analysis.invariance.facts import Cover, Mark, joined, plain
from ascend_autotune.analysis.invariance.places import CHOSEN
from ascend_autotune.analysis.invariance.polynomial import single
from ascend_autotune.analysis.invariance.walk import Walk
from ascend_autotune.analysis.ir import Operation, Value


def mix(walk: Walk, op: Operation) -> None:
    axis = op.attrs.get("axis", -1)
    source = op.operands[0]
    at = axis if isinstance(axis, int) else -1
    at = at % max(len(source.type.shape), 1)
    positions = _positions(walk, op, at)
    facts = [walk.data(v, op) for v in op.operands if v not in positions]
    rank = len(source.type.shape)
    fact = joined(facts, rank)
    marks = set(fact.marks)
    scan = op.name != "tt.reduce"
    marks |= _partial(walk, op, fact.axes[at] if fact.axes else frozenset(), scan)
    if source in walk.twins.extents and at in walk.twins.extents[source] and not fact.axes[at]:
        text = f"{walk.index.name} numbers are folded that come from no address"
        if op.name == "tt.reduce":
            marks.add(Mark("open", op, text))
    for value in op.results:
        if _chosen(walk, op, value, at, marks):
            continue
        axes = fact.axes if scan else (*fact.axes[:at], *fact.axes[at + 1 :])
        walk.env[value] = replace(fact, rank=len(axes), axes=axes, marks=frozenset(marks))


def _positions(walk: Walk, op: Operation, axis: int) -> list[Value]:
    """Operands of a tl.argmax or the like that are the positions along its axis."""
    if op.name != "tt.reduce" or len(op.operands) < 2:
        return []
    found = []
    for value in op.operands[1:]:
        poly = walk.fact(value).poly
        atoms = list(poly.atoms) if poly is not None else []
        if len(atoms) == 1 and poly == single(atoms[0]) and atoms[0].dim == axis:
            found += [value] if atoms[0].key in walk.index.blocks else []
    return found


def _chosen(walk: Walk, op: Operation, value: Value, axis: int, marks: set[Mark]) -> bool:
    """The result of an argmax is a position within the block, like the range it came from."""
    if op.operands[value.index] not in _positions(walk, op, axis):
        return False
    rank = len(value.type.shape)
    atom = walk.position(op, value.index, CHOSEN, True)
    walk.index.facts[atom] = replace(plain(rank), marks=frozenset(marks))
    walk.env[value] = replace(plain(rank), poly=single(atom))
    return True


def _partial(walk: Walk, op: Operation, covers: frozenset[Cover], scan: bool) -> set[Mark]:
    found = set()
    for cover in covers:
        over = cover.loops - set(walk.loops)
        left = cover
        for loop in over:
            left = left.folded_over(loop)
        if left.alone and not over:
            text = f"{_verb(op)} one block of {walk.index.name} alone"
            found.add(Mark("extent", op, text, left))
        elif not left.complete and not left.alone:
            text = f"{_verb(op)} one block of {walk.index.name}"
            found.add(Mark("scan" if scan else "partial", op, text, left))
    return found


def dot(walk: Walk, op: Operation) -> None:
    lhs, rhs = (walk.data(v, op) for v in op.operands[:2])
    acc = walk.data(op.operands[2], op) if len(op.operands) > 2 else plain(lhs.rank)
    rank = len(op.result.type.shape)
    contracted = lhs.axes[-1] | rhs.axes[-2]
    axes = list(acc.axes) if len(acc.axes) == rank else [frozenset[Cover]()] * rank
    axes[-2] |= lhs.axes[-2]
    axes[-1] |= rhs.axes[-1]
    for d in range(rank - 2):
        axes[d] |= lhs.axes[d] | rhs.axes[d]
    fact = joined([replace(f, axes=()) for f in (lhs, rhs, acc)], rank)
    marks = fact.marks | _partial(walk, op, contracted, scan=False)
    walk.env[op.result] = replace(fact, axes=tuple(axes), marks=marks)


def _verb(op: Operation) -> str:
    names = {
        "tt.dot": "a tl.dot adds up",
        "tt.reduce": "a reduction takes",
        "tt.scan": "a scan runs over",
    }
    return names.get(op.name, f"{op.name} mixes")

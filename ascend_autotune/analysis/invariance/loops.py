"""scf.for: what it counts, what it carries, what is left of that after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ascend_autotune.analysis.invariance.facts import Fact, Mark, joined, plain
from ascend_autotune.analysis.invariance.folds import fold_of
from ascend_autotune.analysis.invariance.polynomial import Atom, Poly, single
from ascend_autotune.analysis.invariance.walk import Walk
from ascend_autotune.analysis.ir import Operation, Value

_ROUNDS = 6
"""So often a loop is walked until what it carries no longer gains facts."""


def loop(walk: Walk, op: Operation) -> None:
    order = walk.orders[op]
    low, high, step = (walk.poly(v, op) for v in op.operands[:3])
    if any(_edge(walk, bound) for bound in (low, high)):
        walk.index.edges.add(order)
    elif {"parameter"} & (walk.index.deps(low) | walk.index.deps(high)):
        walk.index.walks.add(order)
    counter = single(Atom("loop", order))
    body = op.body()
    carried, inits = body.args[1:], op.operands[3:]
    walk.env[body.args[0]] = replace(plain(0), poly=low + counter * step)
    walk.loops.append(order)
    steps = _inductions(walk, op, carried, inits)
    facts = [initial(walk, v, op) for v in inits]
    for _ in range(_ROUNDS):
        for i, value in enumerate(carried):
            walk.env[value] = _carried(walk, value, inits[i], steps[i], counter, facts[i])
        kept, stores = list(walk.marks), walk.stored
        walk.block(body)
        following = [
            _following(walk, op, i, order) if steps[i] is None else facts[i]
            for i in range(len(carried))
        ]
        wider = [
            joined([old, new], len(carried[i].type.shape))
            for i, (old, new) in enumerate(zip(facts, following, strict=True))
        ]
        if wider == facts:
            break
        facts = wider
        walk.marks, walk.stored = kept, stores
    walk.loops.pop()
    for i, value in enumerate(op.results):
        walk.env[value] = _after(walk, op, i, steps[i], inits[i], facts[i], order)
        if order in walk.index.edges and not walk.index.diagonal:
            text = f"the loop ends where a block of {walk.index.name} does"
            walk.mark(value, Mark("open", op, text))


def _edge(walk: Walk, bound: Poly) -> bool:
    """Is it where a block begins or ends, such as the diagonal of causal attention?"""
    for monomial, _ in bound.terms:
        deps = walk.index.deps(Poly(frozenset({(monomial, 1)})))
        if "parameter" in deps and ("pid" in deps or len(deps) > 1):
            return True
    return False


def initial(walk: Walk, value: Value, op: Operation) -> Fact:
    fact = walk.data(value, op, "inner")
    return replace(fact, poly=None, pointer=None)


def _inductions(
    walk: Walk, op: Operation, carried: Sequence[Value], inits: Sequence[Value]
) -> list[tuple[Poly, ...] | None]:
    """What each carried number or pointer grows by in one iteration; None: something else."""
    marks, stores = list(walk.marks), walk.stored
    guesses: dict[int, tuple[Poly, ...]] = {}
    for i, value in enumerate(carried):
        fact = walk.fact(inits[i])
        if fact.pointer is not None:
            rank = len(fact.pointer.offsets)
            guesses[i] = tuple(
                single(Atom("carried", walk.identity(op, 3000 + 8 * i + d))) for d in range(rank)
            )
            pointer = replace(fact.pointer, offsets=guesses[i])
            walk.env[value] = replace(fact, pointer=pointer)
        elif fact.poly is not None:
            guesses[i] = (single(Atom("carried", walk.identity(op, 3000 + 8 * i))),)
            walk.env[value] = replace(fact, poly=guesses[i][0])
        else:
            walk.env[value] = fact
    walk.block(op.body())
    walk.marks, walk.stored = marks, stores
    steps: list[tuple[Poly, ...] | None] = []
    yielded = op.body().ops[-1].operands
    for i in range(len(carried)):
        fact = walk.fact(yielded[i])
        if i not in guesses:
            steps.append(None)
            continue
        new = fact.pointer.offsets if fact.pointer is not None else (fact.poly,)
        steps.append(_steps(walk, op, guesses[i], new))
    return steps


def _steps(
    walk: Walk, op: Operation, old: tuple[Poly, ...], new: Sequence[Poly | None]
) -> tuple[Poly, ...] | None:
    found = []
    inside = {walk.orders[inner] for inner in op.walk()}
    for before, after in zip(old, new, strict=True):
        if after is None:
            return None
        step = after - before
        for atom in step.atoms:
            moves = atom.kind == "carried" or (atom.kind == "loop" and atom.key in inside)
            if moves or (atom.kind == "op" and atom.key // 4096 in inside):
                return None
        found.append(step)
    return tuple(found)


def _carried(
    walk: Walk, value: Value, init: Value, steps: tuple[Poly, ...] | None, counter: Poly, fact: Fact
) -> Fact:
    if steps is None:
        return fact
    start = walk.fact(init)
    if start.pointer is not None:
        offsets = tuple(a + counter * b for a, b in zip(start.pointer.offsets, steps, strict=True))
        return replace(start, pointer=replace(start.pointer, offsets=offsets))
    assert start.poly is not None
    return replace(start, poly=start.poly + counter * steps[0])


def _following(walk: Walk, op: Operation, i: int, order: int) -> Fact:
    """What the next iteration gets: blocks that were folded are a prefix now."""
    value = op.body().ops[-1].operands[i]
    fact = replace(walk.data(value, op), poly=None, pointer=None)
    fold = fold_of(op, i)
    if fold in ("replaced", "same"):
        return fact
    marks: set[Mark] = set()
    for mark in fact.marks:
        pending = mark.cover if mark.kind in ("partial", "scan") else None
        if pending is None or order not in pending.loops:
            marks.add(mark)
        elif fold == "other":
            text = f"{mark.text}, which the loop carries by more than a plain fold"
            marks.add(Mark("open", mark.op, text))
        else:
            marks.add(Mark("prefix", mark.op, mark.text, None, order))
            left = pending.folded_over(order)
            if not left.complete:
                marks.add(replace(mark, cover=left))
    for loop, cover in fact.runs:
        if loop != order:
            continue
        kind = "extent" if cover.alone else "partial"
        text = f"the loop goes through one block of {walk.index.name}"
        marks.add(Mark(kind, op, text, cover))  # type: ignore[arg-type]
    lanes = any(order in cover.loops for axis in fact.axes for cover in axis)
    if lanes and fold == "other":
        text = f"blocks of {walk.index.name} are carried by more than a plain fold"
        marks.add(Mark("open", op, text))
    elif lanes:
        marks.add(Mark("prefix", op, f"blocks of {walk.index.name} are folded", None, order))
    return replace(fact, marks=frozenset(marks))


def _after(
    walk: Walk,
    op: Operation,
    i: int,
    steps: tuple[Poly, ...] | None,
    init: Value,
    fact: Fact,
    order: int,
) -> Fact:
    """What a result of the loop is: folds are complete, and lanes stay lanes."""
    value = op.results[i]
    if steps is not None:
        if all(not step for step in steps):
            return walk.fact(init)
        start = walk.fact(init)
        if start.pointer is not None or start.poly is None:
            return replace(start, pointer=start.pointer)
        trips = Atom("op", walk.identity(op, 3900 + i))
        walk.index.facts[trips] = plain(0)
        return replace(start, poly=start.poly + single(trips) * steps[0])
    marks = frozenset(m for m in fact.marks if not (m.kind == "prefix" and m.loop == order))
    runs = frozenset(run for run in fact.runs if run[0] != order)
    if fold_of(op, i) == "replaced":
        last = any(order in cover.loops for axis in fact.axes for cover in axis)
        last = last or any(m.cover is not None and order in m.cover.loops for m in marks)
        if last:
            text = f"the last block of {walk.index.name} alone is used after the loop"
            marks |= {Mark("open", op, text)}
    found = replace(fact, marks=marks, runs=runs)
    if value.type.dtype.startswith("i") and value.type.dtype != "i1":
        return walk.opaque(op, value, [found]) if found.clean else found
    return found

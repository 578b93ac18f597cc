"""Operations that move, repeat or drop dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ascend_autotune.analysis.invariance.facts import Cover, Mark, joined
from ascend_autotune.analysis.invariance.polynomial import Atom, Poly, constant_of, single
from ascend_autotune.analysis.invariance.walk import Walk
from ascend_autotune.analysis.ir import Operation


def shaped(walk: Walk, op: Operation) -> None:
    """splat, broadcast, expand_dims, trans, reshape and their like."""
    source, result = op.operands[0], op.result
    moved = _dimensions(op)
    fact = walk.fact(source)
    if fact.pointer is not None:
        walk.env[result] = fact
        return
    rank = len(result.type.shape)
    if moved is None:
        if fact.poly is not None:
            walk.env[result] = walk.opaque(op, result, [walk.data(source, op, "inner")])
            moved_fact = walk.index.facts[next(iter(walk.env[result].poly.atoms))]  # type: ignore[union-attr]
        else:
            moved_fact = walk.env[result] = joined([fact], rank)
        if any(moved_fact.axes):
            text = f"blocks of {walk.index.name} are reshaped"
            walk.mark(result, Mark("open", op, text))
        return
    axes = [frozenset[Cover]()] * rank
    for old, new in enumerate(moved):
        if old < len(fact.axes) and 0 <= new < rank:
            axes[new] |= fact.axes[old]
    poly = fact.poly
    if poly is not None:
        poly = _moved(walk, op, poly, moved, rank)
    walk.env[result] = replace(fact, rank=rank, poly=poly, axes=tuple(axes))


def _moved(walk: Walk, op: Operation, poly: Poly, moved: Sequence[int], rank: int) -> Poly:
    """A polynomial of a tensor whose dimensions moved."""
    total, order = Poly(), sorted(poly.atoms)
    for monomial, number in poly.terms:
        product = constant_of(number)
        for atom in monomial:
            if atom.kind == "range":
                to = moved[atom.dim] if 0 <= atom.dim < len(moved) else -1
                product = product * single(replace(atom, dim=to))
            elif atom in walk.index.facts and any(walk.index.facts[atom].axes):
                fact = walk.index.facts[atom]
                axes = [frozenset[Cover]()] * rank
                for old, new in enumerate(moved):
                    if old < len(fact.axes) and 0 <= new < rank:
                        axes[new] |= fact.axes[old]
                new_atom = Atom("op", walk.identity(op, 2000 + order.index(atom)))
                walk.index.facts[new_atom] = replace(fact, rank=rank, axes=tuple(axes))
                if atom in walk.index.counters:
                    walk.index.counters.add(new_atom)
                product = product * single(new_atom)
            else:
                product = product * single(atom)
        total = total + product
    return total


def _dimensions(op: Operation) -> list[int] | None:
    """Where each dimension of the operand goes; None where they do not stay apart."""
    source, target = op.operands[0].type.shape, op.result.type.shape
    if op.name in ("tt.splat", "tensor.splat"):
        return []
    if op.name == "tt.expand_dims":
        axis = op.attrs.get("axis", 0)
        at = axis if isinstance(axis, int) else 0
        return [d + (d >= at) for d in range(len(source))]
    if op.name == "tt.trans":
        order = op.attrs.get("order")
        if not isinstance(order, tuple):
            order = tuple(reversed(range(len(source))))
        return [order.index(d) for d in range(len(source))]
    if op.name == "tt.reshape":
        old = [(d, n) for d, n in enumerate(source) if n != 1]
        new = [(d, n) for d, n in enumerate(target) if n != 1]
        if [n for _, n in old] != [n for _, n in new]:
            return None
        moved = [-1] * len(source)
        for (a, _), (b, _) in zip(old, new, strict=True):
            moved[a] = b
        return moved
    return list(range(len(source)))

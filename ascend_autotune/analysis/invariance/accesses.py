"""Pointers to blocks, loads, stores and atomic updates."""

from __future__ import annotations

from dataclasses import replace

from ascend_autotune.analysis.invariance.facts import BlockPointer, Fact, joined, plain
from ascend_autotune.analysis.invariance.outcomes import stored
from ascend_autotune.analysis.invariance.places import Role
from ascend_autotune.analysis.invariance.polynomial import Poly
from ascend_autotune.analysis.invariance.walk import Walk
from ascend_autotune.analysis.ir import Operation

UPDATES = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce"})


def pointer(walk: Walk, op: Operation) -> None:
    rank = len(op.result.type.pointee.shape) if op.result.type.pointee else 0
    base, *rest = op.operands
    polys = [walk.poly(v, op) for v in rest]
    shape, strides = tuple(polys[:rank]), tuple(polys[rank : 2 * rank])
    offsets = tuple(polys[2 * rank : 3 * rank]) or (Poly(),) * rank
    made = BlockPointer(walk.poly(base, op), shape, strides, offsets, walk.identity(op))
    varies = walk.twins.extents.get(op.result, frozenset())
    for d in range(rank):
        walk.position(op, d, d, d in varies)
    walk.index.makers[made.made] = op
    walk.env[op.result] = replace(plain(0), pointer=made)


def advance(walk: Walk, op: Operation) -> None:
    fact = walk.fact(op.operands[0])
    if fact.pointer is None:
        return walk.plain_operation(op)
    steps = [walk.poly(v, op) for v in op.operands[1:]]
    offsets = tuple(a + b for a, b in zip(fact.pointer.offsets, steps, strict=True))
    walk.env[op.result] = replace(fact, pointer=replace(fact.pointer, offsets=offsets))


def _address(walk: Walk, op: Operation, role: Role) -> Fact:
    pointer = op.operands[0]
    return walk.data(pointer, op, role)


def load(walk: Walk, op: Operation) -> None:
    rank = len(op.result.type.shape)
    facts = [replace(_address(walk, op, "load"), pointer=None)]
    if op.name == "tt.load" and len(op.operands) > 2:
        facts.append(walk.data(op.operands[2], op))
    walk.env[op.result] = joined(facts, rank)


def store(walk: Walk, op: Operation) -> None:
    address = _address(walk, op, "store")
    at = 2 if op.name == "tt.atomic_cas" else 1
    value = walk.data(op.operands[at], op) if at < len(op.operands) else plain(0)
    walk.stored += 1
    walk.marks += stored(op, address, value, walk.loops, walk.index, op.name in UPDATES)
    for result in op.results:
        walk.env[result] = joined([address, value], len(result.type.shape))

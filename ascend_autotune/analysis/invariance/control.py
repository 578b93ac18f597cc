"""Branches, while loops, and regions that nobody wrote a rule for."""

from __future__ import annotations

from dataclasses import replace

from ascend_autotune.analysis.invariance.facts import Mark, joined, plain
from ascend_autotune.analysis.invariance.loops import initial
from ascend_autotune.analysis.invariance.walk import Walk
from ascend_autotune.analysis.ir import Operation


def nothing(walk: Walk, op: Operation) -> None:
    """Terminators: what holds them reads their operands."""


def branch(walk: Walk, op: Operation) -> None:
    for region in op.regions:
        for block in region:
            walk.block(block)
    for value in op.results:
        sides = [r[0].ops[-1].operands[value.index] for r in op.regions if r]
        polys = {walk.fact(v).poly for v in sides}
        if len(polys) == 1 and None not in polys:
            walk.env[value] = walk.fact(sides[0])
        elif None not in polys:
            facts = [walk.data(v, op, "inner") for v in (op.operands[0], *sides)]
            walk.env[value] = walk.opaque(op, value, facts)
        else:
            facts = [walk.data(v, op) for v in sides]
            walk.env[value] = joined(facts, len(value.type.shape))


def repeat(walk: Walk, op: Operation) -> None:
    """scf.while: followed once, and open where blocks are in what it carries."""
    before, after = op.body(0), op.body(1)
    for value, init in zip(before.args, op.operands, strict=False):
        walk.env[value] = replace(initial(walk, init, op), poly=None)
    walk.block(before)
    for value, passed in zip(after.args, before.ops[-1].operands[1:], strict=False):
        walk.env[value] = initial(walk, passed, op)
    walk.block(after)
    facts = [initial(walk, v, op) for v in before.ops[-1].operands[1:]]
    for value, fact in zip(op.results, facts, strict=False):
        walk.env[value] = fact
        if not fact.clean:
            walk.mark(value, Mark("open", op, "a while loop was not followed"))


def unknown_region(walk: Walk, op: Operation) -> None:
    for region in op.regions:
        for block in region:
            for value in block.args:
                walk.env[value] = plain(len(value.type.shape))
            walk.block(block)
    walk.plain_operation(op)
    for value in op.results:
        if not walk.env[value].clean:
            walk.mark(value, Mark("open", op, f"{op.name} was not followed"))

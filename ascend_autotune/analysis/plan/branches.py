"""The basic blocks of a function as nested branches, where the TTIR has early returns.

Source: triton-adapter lifts cf.cond_br to scf.if before anything else (MLIR's
lift-cf-to-scf): what runs after an early return stands in the other arm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ascend_autotune.analysis.ir import Block, Operation, Value


@dataclass(frozen=True)
class Fork:
    """A conditional branch: each arm is a sequence of its own."""

    op: Operation
    arms: tuple[tuple[Part, ...], ...]


Part = Block | Fork


def parts_of(function: Operation) -> tuple[Part, ...]:
    """The function's blocks in the order that they run, branches nested."""
    return tuple(_follow(function.body(), frozenset()))


def _follow(block: Block, stops: frozenset[Block]) -> Iterator[Part]:
    current: Block | None = block
    while current is not None and current not in stops:
        yield current
        last = current.ops[-1] if current.ops else None
        targets = last.successors if last is not None else ()
        if last is None or not targets:
            return
        if len(targets) == 1:
            current = targets[0]
            continue
        meeting = _meeting(targets)
        inner = stops | {meeting} if meeting is not None else stops
        yield Fork(last, tuple(tuple(_follow(target, inner)) for target in targets))
        current = meeting


def _meeting(targets: tuple[Block, ...]) -> Block | None:
    """The first block that every arm may reach."""
    common = [_reachable(target) for target in targets]
    return next((b for b in common[0] if all(b in other for other in common[1:])), None)


def _reachable(block: Block) -> list[Block]:
    found: list[Block] = []
    queue = [block]
    while queue:
        top = queue.pop(0)
        if top in found:
            continue
        found.append(top)
        if top.ops:
            queue.extend(top.ops[-1].successors)
    return found


def incoming(arg: Value) -> list[Value]:
    """What the branches to a block pass for one of its arguments."""
    block = arg.block
    if block is None or block.parent is None:
        return []
    found: list[Value] = []
    for source in block.parent.regions[block.region]:
        last = source.ops[-1] if source.ops else None
        if last is None or block not in last.successors:
            continue
        passed = last.operands[1:] if last.name == "cf.cond_br" else last.operands
        for target in last.successors:
            if target is block and arg.index < len(passed):
                found.append(passed[arg.index])
            passed = passed[len(target.args) :]
    return found

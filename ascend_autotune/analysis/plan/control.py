"""Loops and branches: which buffer a carried value lives in, and what a scope keeps alive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ascend_autotune.analysis.ir import Block, Operation, Value
from ascend_autotune.analysis.plan.branches import Fork, Part, incoming
from ascend_autotune.analysis.plan.cube import DOTS, keeps_sum, may_arrive_otherwise
from ascend_autotune.analysis.plan.demand import passed_on
from ascend_autotune.analysis.plan.program import Buffer, Carried, Scalar, Tile

if TYPE_CHECKING:
    from ascend_autotune.analysis.plan.lower import Handler, Lowering


def _for(low: Lowering, op: Operation) -> None:
    body = op.body()
    inits, args, results = op.operands[3:], body.args[1:], op.results
    low.loops += 1
    number = low.loops
    homes: list[Buffer | None] = []
    finals = body.ops[-1].operands
    for init, arg, result, final in zip(inits, args, results, finals, strict=True):
        if low.cube is not None and arg in low.cube.resident:
            homes.append(None)
        elif _unchanged(final) is arg:  # the loop does not carry it (ForOpIterArgsFolder)
            homes.append(None)
            low.env[arg] = low.env[result] = low.get(init)
        elif _enters(low, init, arg, homes):
            low.env[result] = low.env[arg]
    _bracket(low, "loop", number)
    outer = low.emit.scope
    if all(s in low.program.doubling or s in low.program.branches for s in outer):
        low.program.doubling.add(number)
    low.emit.scope = (*outer, number)
    low.block(body)
    low.emit.op = body.ops[-1]
    _carry(low, number, body.ops[-1].operands, homes)
    low.emit.scope = outer
    low.emit.op = op
    _bracket(low, "end", number)
    for arg, result in zip(args, results, strict=True):
        if low.cube is not None and arg in low.cube.resident and result in low.need:
            low.arrive(result)


def _unchanged(value: Value) -> Value:
    """What a value stands for where nothing is added to it."""
    while value.op is not None:
        source = passed_on(value.op)
        if source is None:
            break
        value = source
    return value


def _enters(low: Lowering, init: Value, arg: Value, homes: list[Buffer | None]) -> bool:
    """Give a carried value its home, the next of `homes`; False where it needs none."""
    if not init.type.is_tensor or init.type.is_pointer or arg not in low.need:
        homes.append(None)
        return False
    home = _home(low, init, homes)
    homes.append(home)
    low.emit.homes.add(home)
    low.env[arg] = Tile(home, low.shape(init), init.type.dtype)
    return True


def _home(low: Lowering, init: Value, taken: Sequence[Buffer | None]) -> Buffer:
    """The buffer that a loop-carried tensor lives in; a shared one is copied first."""
    emit = low.emit
    operand = low.get(init)
    readers = [
        user
        for user, _ in init.uses
        if user.name != "tt.load"
        and any(result in low.need for result in user.results)
        and passed_on(user) in (None, init)
    ]
    again = len(readers) > 1
    if isinstance(operand, Scalar) and low.emit.scope and not again:
        low.program.moved = True
    if isinstance(operand, Scalar) and not low.code_motion and not again:
        return emit.fill(operand, low.shape(init), init.type.dtype).buffer
    tile = low.tile(init)
    if again or tile.buffer in taken or tile.buffer.scope != emit.scope:
        return emit.step("copy", [tile], low.shape(init), init.type.dtype).buffer
    return tile.buffer


def _carry(
    low: Lowering, loop: int, values: Sequence[Value], homes: Sequence[Buffer | None]
) -> None:
    """What a round leaves for the next one; another buffer than its home is copied there."""
    for value, home in zip(values, homes, strict=True):
        if home is None:
            continue
        tile = low.tile(value)
        low.emit.touch(tile)
        if value.op is not None and value.op.name in DOTS and not keeps_sum(value.op):
            home.sure &= not may_arrive_otherwise(value)
        if tile.buffer is not home:
            low.program.carried.append(Carried(loop, home, tile.buffer))


def _bracket(low: Lowering, name: str, number: int) -> None:
    low.emit.write(name, [], None)
    low.program.steps[-1].loop = number


def _while(low: Lowering, op: Operation) -> None:
    before, after = op.body(0), op.body(1)
    low.loops += 1
    number = low.loops
    homes: list[Buffer | None] = []
    for init, arg in zip(op.operands, before.args, strict=True):
        _enters(low, init, arg, homes)
    _bracket(low, "loop", number)
    outer = low.emit.scope
    low.emit.scope = (*outer, number)
    low.block(before)
    condition = before.ops[-1]
    for value, arg, result in zip(condition.operands[1:], after.args, op.results, strict=True):
        if value.type.is_tensor and arg in low.need:
            tile = low.env[arg] = low.env[result] = low.tile(value)
            if tile.buffer in homes and result.uses:
                # What leaves the loop is a copy: the next round may write the home anew.
                low.env[result] = low.emit.step("copy", [tile], tile.shape, tile.dtype)
    low.block(after)
    _carry(low, number, after.ops[-1].operands, homes)
    low.emit.scope = outer
    _bracket(low, "end", number)


def _if(low: Lowering, op: Operation) -> None:
    """Nothing dies inside a branch that was alive before it: a branch is a scope."""
    branches: list[list[Tile | None]] = []
    low.loops += 1
    number = low.loops
    low.program.branches.add(number)
    outer = low.emit.scope
    _bracket(low, "if", number)
    for region in op.regions:
        if not region or not region[0].ops:
            continue
        low.emit.scope = (*outer, number)
        low.block(region[0])
        low.emit.op = op
        tiles: list[Tile | None] = []
        for value, result in zip(region[0].ops[-1].operands, op.results, strict=True):
            wanted = result in low.need and value.type.is_tensor and not value.type.is_pointer
            tiles.append(low.tile(value) if wanted else None)
            if tiles[-1] is not None:
                low.emit.touch(tiles[-1])
        branches.append(tiles)
        low.emit.next_branch()
    low.emit.scope = outer
    _bracket(low, "end", number)
    for i, result in enumerate(op.results):
        options = [tiles[i] for tiles in branches if tiles[i] is not None]
        if not options:
            continue
        first = options[0]
        assert first is not None
        low.env[result] = first
        for other in options[1:]:
            if other is not None and other.buffer is not first.buffer:
                low.program.joined.setdefault(first.buffer, []).append(other.buffer)


def sequence(low: Lowering, parts: Sequence[Part]) -> None:
    """The blocks of the function, what follows an early return as the arm of a branch."""
    for part in parts:
        if isinstance(part, Fork):
            _fork(low, part)
        else:
            _arguments(low, part)
            low.block(part)


def _fork(low: Lowering, fork: Fork) -> None:
    low.loops += 1
    number = low.loops
    low.program.branches.add(number)
    outer = low.emit.scope
    low.emit.op = fork.op
    _bracket(low, "if", number)
    for arm in fork.arms:
        low.emit.scope = (*outer, number)
        sequence(low, arm)
        low.emit.op = fork.op
        for target in fork.op.successors:
            for arg in target.args:
                for value in incoming(arg):
                    if arg in low.need and isinstance(low.env.get(value), Tile):
                        low.emit.touch(low.tile(value))
        low.emit.next_branch()
    low.emit.scope = outer
    _bracket(low, "end", number)


def _arguments(low: Lowering, block: Block) -> None:
    """A tensor that several arms pass on is any one of theirs."""
    if block.parent is None or block is block.parent.body():
        return
    for arg in block.args:
        if arg not in low.need or not arg.type.is_tensor or arg.type.is_pointer:
            continue
        tiles = [low.tile(value) for value in incoming(arg)]
        if not tiles:
            continue
        low.env[arg] = tiles[0]
        for other in tiles[1:]:
            if other.buffer is not tiles[0].buffer:
                low.program.joined.setdefault(tiles[0].buffer, []).append(other.buffer)


HANDLERS: dict[str, Handler] = {"scf.for": _for, "scf.while": _while, "scf.if": _if}

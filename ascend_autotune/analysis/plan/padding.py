"""Rows that are padded to 32 bytes: where a copy's or instruction's operands do not collapse.

Source: the MarkStrideAlign and EnableStrideAlign passes. An instruction whose operands
cannot be seen as one contiguous run keeps its innermost group as a row, and every row in
the unified buffer starts at a block; the padding spreads over the instructions that work
on the same tiles. With tiles of a power of two this shows only on rows under 32 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ascend_autotune.analysis.addressing import Access
from ascend_autotune.analysis.plan.program import Buffer, Program


def row_of(access: Access, shape: tuple[int, ...], bounded: frozenset[int]) -> int | None:
    """Elements of the row that a copy of `shape` keeps apart; None where it collapses.

    1 where the innermost stride is not known to be one: every element gets a block.
    """
    # A bounded dimension of one element may turn out empty, so it does not collapse.
    dims = [d for d, size in enumerate(shape) if size != 1 or d in bounded]
    if not dims:
        return None
    if access.strides[dims[-1]] != 1:
        return 1
    row = shape[dims[-1]]
    for outer, inner in zip(reversed(dims[:-1]), reversed(dims[1:]), strict=False):
        step = access.strides[inner]
        joins = step is not None and access.strides[outer] == step * shape[inner]
        if not joins or inner in bounded:
            return row
        row = row * shape[outer]
    return None


def pad_rows(program: Program) -> None:
    """Set `row` of every buffer whose rows get padded, directly or through a neighbour.

    A buffer whose rows are whole blocks anyway stays dense, and passes nothing on.
    """
    near: dict[Buffer, list[Buffer]] = {}
    over: dict[Buffer, list[Buffer]] = {}
    # A branch yields dense tiles, whatever they are made from.
    settled = {*program.joined, *(b for others in program.joined.values() for b in others)}
    queue: list[tuple[Buffer, int]] = []
    for step in program.steps:
        if step.spreads_rows and step.output is not None:
            for buffer in _like(step.output, step.inputs):
                near.setdefault(buffer, []).append(step.output)
                near.setdefault(step.output, []).append(buffer)
            for buffer in _broadcast_rows(step.output, step.inputs):
                over.setdefault(buffer, []).append(step.output)
                over.setdefault(step.output, []).append(buffer)
        if step.row is not None:
            outputs = [step.output] if step.output is not None else []
            queue.extend((buffer, step.row) for buffer in (*step.inputs, *outputs))
    for carried in program.carried:
        near.setdefault(carried.yielded, []).append(carried.home)
        near.setdefault(carried.home, []).append(carried.yielded)
    while queue:
        buffer, row = queue.pop()
        if buffer.temporary or row * buffer.bits % 256 == 0 or math.prod(buffer.shape) % row:
            continue
        if buffer.row is None or row < buffer.row:
            buffer.row = row
            if buffer not in settled:
                joined = (*near.get(buffer, ()), *(over.get(buffer, ()) if row == 1 else ()))
                queue.extend((other, row) for other in joined if other not in settled)


def _like(output: Buffer, inputs: Sequence[Buffer]) -> list[Buffer]:
    """The inputs that have the output's elements, one for one."""
    size = math.prod(output.shape)
    return [buffer for buffer in inputs if math.prod(buffer.shape) == size]


def _broadcast_rows(output: Buffer, inputs: Sequence[Buffer]) -> list[Buffer]:
    """The inputs that are read over and over along outer dimensions: elements that lie apart
    in one lie apart in the other."""
    return [
        buffer
        for buffer in inputs
        if math.prod(buffer.shape) != math.prod(output.shape)
        and len(buffer.shape) == len(output.shape)
        and buffer.shape[-1] == output.shape[-1]
    ]

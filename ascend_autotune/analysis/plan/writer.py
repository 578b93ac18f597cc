"""Writes instructions and buffers into a `Program`, at the place where the compiler has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ascend_autotune.analysis.ir import Operation, Value
from ascend_autotune.analysis.plan.program import (
    Buffer,
    Operand,
    Program,
    Reuse,
    Scalar,
    Spread,
    Step,
    Tile,
    width,
)

ISA = frozenset({"vadd", "vsub", "vmul", "vmax", "vmin", "vor", "vand"})
# InlineOTFBroadcast: the instructions that read a last-axis broadcast on the fly, and
# the binary ones that read a broadcast of any other axis.
SPREAD_LAST = ISA | {"vdiv", "vabs", "vln", "vrelu", "vexp", "vrsqrt", "vsqrt", "vnot"}
SPREAD_OUTER = ISA | {"vdiv", "vshl", "vshr"}
# What an expansion is made of: LICM may take a part of it out of a loop.
_MOVED = SPREAD_LAST | SPREAD_OUTER | {"vcmp", "vnot", "vsel", "vcast", "vbrc"}


@dataclass(slots=True)
class _Frame:
    name: str  # "loop" | "if"
    start: int
    fills: dict[object, Tile]
    op: Operation | None  # the loop or branch


class Writer:
    """Appends instructions to a program; `op` is the TTIR operation they come from."""

    def __init__(self, program: Program, code_motion: bool = True) -> None:
        self.program = program
        self.code_motion = code_motion
        self.scope: tuple[int, ...] = ()
        self.op: Operation | None = None
        # The loops and branches around: kind, place of the bracket, fills known before it.
        self._around: list[_Frame] = []
        self._fills: dict[object, Tile] = {}
        self._byte_casts: set[Buffer] = set()
        self.homes: set[Buffer] = set()  # buffers that some loop carries

    def buffer(self, shape: tuple[int, ...], dtype: str, *, temporary: bool = False) -> Buffer:
        buffer = Buffer(shape, width(dtype), dtype, "ub", self.op, self.scope, temporary=temporary)
        self.program.buffers.append(buffer)
        return buffer

    def scratch(self, elements: int | None, bits: int) -> list[Buffer]:
        return [] if elements is None else [self._scratch((elements,), bits)]

    def scratch_later(self, elements: Callable[[], int], bits: int) -> list[Buffer]:
        """Scratch whose size follows from a buffer that padding may still enlarge."""
        buffer = self._scratch((), bits)
        buffer.elements = elements
        return [buffer]

    def _scratch(self, shape: tuple[int, ...], bits: int) -> Buffer:
        buffer = Buffer(shape, bits, f"i{bits}", "ub", self.op, self.scope, temporary=True)
        self.program.buffers.append(buffer)
        return buffer

    def step(
        self,
        name: str,
        inputs: Sequence[Operand],
        shape: tuple[int, ...],
        dtype: str,
        reuse: Reuse = Reuse.NEVER,
        temporary: Sequence[Buffer] = (),
        *,
        row: int | None = None,
        spreads_rows: bool = True,
    ) -> Tile:
        """One instruction with a new output of `shape`, before the loops it does not depend on.

        Source: LoopInvariantCodeMotion. What TTIR could move is moved already; this is for the
        parts of an expansion, say a test of a constant for NaN.
        """
        depth = self._invariant_from(name, inputs)
        inside, self.scope = self.scope, self.scope[:depth]
        output = self.buffer(shape, dtype)
        self.write(name, inputs, output, reuse, temporary, row=row, spreads_rows=spreads_rows)
        self.scope = inside
        self._move_before(depth)
        return Tile(output, shape, dtype)

    def _invariant_from(self, name: str, inputs: Sequence[Operand]) -> int:
        """How many of the loops and branches around an instruction must keep it."""
        here = len(self.scope)
        buffers = [
            x.tile.buffer if isinstance(x, Spread) else x.buffer
            for x in inputs
            if not isinstance(x, Scalar)
        ]
        if not buffers or name not in _MOVED or any(b in self.homes for b in buffers):
            return here
        made = [x.origin for x in inputs if isinstance(x, Scalar) and x.origin is not None]
        depth = here
        while depth and self._around[depth - 1].name == "loop":
            if any(len(buffer.scope) >= depth for buffer in buffers):
                break
            if any(_is_inside(value, self._around[depth - 1].op) for value in made):
                break  # a scalar of this loop, say of its counter: TTIR would have moved others
            depth -= 1
        if depth < here:
            self.program.moved = True
        return depth if self.code_motion else here

    def _move_before(self, depth: int) -> None:
        """Take the last instruction out of the loops beyond `depth`."""
        if depth == len(self._around):
            return
        steps = self.program.steps
        steps.insert(self._around[depth].start, steps.pop())
        for frame in self._around[depth:]:
            frame.start += 1

    def write(
        self,
        name: str,
        inputs: Sequence[Operand],
        output: Buffer | None,
        reuse: Reuse = Reuse.NEVER,
        temporary: Sequence[Buffer] = (),
        *,
        row: int | None = None,
        spreads_rows: bool = True,
    ) -> None:
        self._bracket(name)
        buffers, spread = [], False
        for operand in inputs:
            if isinstance(operand, Spread):
                buffers.append(operand.tile.buffer)
                spread = True
                inner = math.prod(operand.shape[max(operand.axes[-1], 1) :])
                row = inner if row is None else min(row, inner)
            elif isinstance(operand, Tile):
                buffers.append(operand.buffer)
        self.program.steps.append(
            Step(
                name,
                buffers,
                output,
                reuse,
                tuple(temporary),
                self.scope,
                self.op,
                spread,
                output.shape if output is not None else (),
                row,
                spreads_rows,
            )
        )

    def _bracket(self, name: str) -> None:
        """What is filled inside a loop or branch is not known behind it."""
        if name in ("loop", "if"):
            frame = _Frame(name, len(self.program.steps), dict(self._fills), self.op)
            self._around.append(frame)
        elif name == "end":
            self._fills = self._around.pop().fills

    def drop_dead(self) -> None:
        """Casts, fills and divisions that nothing reads are erased (an unused chain of casts that
        folded, a reciprocal that was multiplied alone)."""
        program = self.program
        kept: set[Buffer] = set()
        for carried in program.carried:
            kept.update((carried.home, carried.yielded))
        for first, others in program.joined.items():
            kept.update((first, *others))
        while True:
            read = {buffer for step in program.steps for buffer in step.inputs} | kept
            alive = [
                step
                for step in program.steps
                if step.name not in ("vcast", "vbrc", "vdiv")
                or step.output is None
                or step.output in read
            ]
            if len(alive) == len(program.steps):
                break
            program.steps = alive
        casts = {
            buffer
            for step in program.steps
            if step.name == "vcast" and step.output is not None and step.output.dtype == "i8"
            for buffer in (*step.inputs, step.output)
        }
        for buffer in program.buffers:
            if buffer in self._byte_casts and buffer not in casts:
                buffer.units = None

    def next_branch(self) -> None:
        """The other branch of an scf.if begins: it knows nothing of the first one's fills."""
        self._fills = dict(self._around[-1].fills)

    def touch(self, operand: Operand, row: int | None = None) -> None:
        """A use that writes nothing in this memory (a store, a scalar read)."""
        self.write("use", [operand], None, row=row)


def _is_inside(value: Value, around: Operation | None) -> bool:
    """Does the value's own block lie inside the operation, however deep?"""
    block = value.block if value.op is None else value.op.block
    while around is not None and block is not None and block.parent is not None:
        if block.parent is around:
            return True
        block = block.parent.block
    return False

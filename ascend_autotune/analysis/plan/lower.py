"""Walks a kernel's TTIR and lays it out as the vector core's tile program.

Only values that something stores, reduces or tests are laid out: index arithmetic and
rectangular masks cost nothing, since triton-adapter's triton-to-linalg turns them into
sub-boxes of the copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Block, Module, Operation, Value
from ascend_autotune.analysis.plan import control, elementwise, memory, reductions, shapes
from ascend_autotune.analysis.plan.branches import parts_of
from ascend_autotune.analysis.plan.cube import (
    CubePlan,
    arriving_type,
    keeps_sum,
    may_arrive_otherwise,
)
from ascend_autotune.analysis.plan.demand import demanded
from ascend_autotune.analysis.plan.emit import Emitter
from ascend_autotune.analysis.plan.program import Buffer, Operand, Program, Scalar, Tile
from ascend_autotune.analysis.plan.split import halved

Handler = Callable[["Lowering", Operation], None]


def lower_vector(
    module: Module,
    forms: Forms,
    *,
    cube: CubePlan | None = None,
    split: bool = True,
    code_motion: bool = True,
) -> Program:
    """The vector core's tile program; `cube` is what the cube core does, if there is any.

    `split`: the work of a kernel with dots is halved over two vector cores where it can be.

    Two passes: the first finds which constants and broadcasts must exist as tiles, the
    second lays each of them out where the TTIR defines it.
    """
    need = demanded(module.kernel, forms, cube)
    shapes, whole = None, True
    if cube is not None and split:
        shapes, whole = halved(module, need, cube, forms)
    wanted: set[Value] = set()
    for _ in range(3):
        lowering = Lowering(module, forms, need, wanted, code_motion, cube, shapes)
        control.sequence(lowering, parts_of(module.kernel))
        found = lowering.emit.wanted
        if found <= wanted:
            break
        wanted = wanted | found
    lowering.emit.drop_dead()
    lowering.program.perhaps_halved = shapes is None and not whole
    if shapes is not None:
        _doubt_ranges(lowering.program, shapes)
    return lowering.program


def _doubt_ranges(program: Program, shapes: Mapping[Value, tuple[int, ...]]) -> None:
    """Equal ranges are one value (CSE): one along another dimension, as long as that which is
    halved, may be halved with it."""
    lengths = {
        length
        for value, shape in shapes.items()
        for length, part in zip(value.type.shape, shape, strict=True)
        if length != part
    }
    doubted: set[Buffer] = set()
    for step in program.steps:
        op, output = step.op, step.output
        if op is None or output is None:
            continue
        if op.name == "tt.make_range":
            shape = op.result.type.shape
            doubtful = shapes.get(op.result, shape) == shape and shape[0] in lengths
        else:
            doubtful = bool(step.inputs) and doubted.issuperset(step.inputs)
        if doubtful:
            output.sure = False
            doubted.add(output)


class Lowering:
    """One pass over the TTIR. `env` maps each laid-out value to its operand."""

    def __init__(
        self,
        module: Module,
        forms: Forms,
        need: set[Value],
        wanted: set[Value],
        code_motion: bool,
        cube: CubePlan | None = None,
        shapes: Mapping[Value, tuple[int, ...]] | None = None,
    ) -> None:
        self.cube = cube
        self.shapes = shapes or {}
        self.module = module
        self.forms = forms
        self.need = need
        self.planned = wanted
        self.code_motion = code_motion
        self.program = Program()
        self.emit = Emitter(self.program, code_motion)
        self.env: dict[Value, Operand] = {}
        self.loops = 0

    # -- values ------------------------------------------------------------------------

    def shape(self, value: Value) -> tuple[int, ...]:
        """The value's shape on one vector core."""
        return self.shapes.get(value, value.type.shape)

    def get(self, value: Value) -> Operand:
        """The operand of a TTIR value; scalars need no entry."""
        known = self.env.get(value)
        if known is None:
            known = self.env[value] = Scalar(value.type.dtype)
        return known

    def tile(self, value: Value) -> Tile:
        return self.emit.full(self.get(value), self.shape(value), value.type.dtype)

    def set(self, value: Value, operand: Operand) -> None:
        self.env[value] = operand
        if value in self.planned and not isinstance(operand, Tile):
            self.emit.full(operand, self.shape(value), value.type.dtype)

    def arrive(self, value: Value) -> None:
        """What fixpipe hands over comes from the workspace."""
        tile = self.emit.step("load", [], self.shape(value), arriving_type(value))
        tile.buffer.sure = not may_arrive_otherwise(value)
        self.env[value] = tile

    def unknown(self, op: Operation, why: str) -> None:
        self.program.notes.append(f"{why} ({op.name}, {op.location})")

    # -- walking -----------------------------------------------------------------------

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.operation(op)

    def operation(self, op: Operation) -> None:
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            self.emit.op = op
            handler(self, op)
        elif any(result in self.need for result in op.results):
            self.emit.op = op
            elementwise.lower(self, op)
        if self.cube is not None:
            for result in op.results:
                if result in self.cube.computed:
                    self.emit.touch(self.tile(result))  # it leaves for the workspace
                    self.program.sent[result] = self.program.steps[-1]


def _ignore(low: Lowering, op: Operation) -> None:
    """Terminators, and operations that hold nothing in the vector memory."""


def _constant(low: Lowering, op: Operation) -> None:
    result = op.result
    if result in low.need:
        low.set(result, Scalar(result.type.dtype, op.attrs.get("value"), result))


def _dot(low: Lowering, op: Operation) -> None:
    """The product arrives from the workspace."""
    emit, result = low.emit, op.result
    if result not in low.need:
        return
    shape, dtype = low.shape(result), result.type.dtype
    if not keeps_sum(op):
        low.arrive(result)
    else:
        product = emit.step("load", [], shape, dtype)
        low.env[result] = product
        total = low.get(op.operands[2])
        low.set(result, emit.binary("vadd", total, product, shape, dtype))


_HANDLERS: dict[str, Handler] = {
    "arith.constant": _constant,
    "tt.dot": _dot,
    "tt.dot_scaled": _dot,
    "scf.yield": _ignore,
    "scf.condition": _ignore,
    "cf.br": _ignore,
    "cf.cond_br": _ignore,
    "tt.return": _ignore,
    **memory.HANDLERS,
    **control.HANDLERS,
    **shapes.HANDLERS,
    **reductions.HANDLERS,
}

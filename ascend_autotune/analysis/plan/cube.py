"""The cube core's side of a kernel with tl.dot: what goes to L1 and L0C, and what does not.

Source: NormalizeMatmul, InlineFixpipe, InsertLoadStoreForMixCV and SplitMixKernel
(AscendNPU-IR v1.2.0), LoadStoreConverter.cpp (triton-ascend 3.2.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ascend_autotune.analysis.addressing import access_of
from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Block, Module, Operation, Value
from ascend_autotune.analysis.plan.blockpointers import memory_order
from ascend_autotune.analysis.plan.boxes import box_of
from ascend_autotune.analysis.plan.branches import Fork, Part, parts_of
from ascend_autotune.analysis.plan.program import Buffer, Program, Reuse, Step, ceil_to, width

DOTS = frozenset({"tt.dot", "tt.dot_scaled"})
FRACTAL = 16
_RESHAPES = frozenset(
    {"tt.reshape", "tt.expand_dims", "tt.trans", "tt.broadcast", "tt.split", "ttg.convert_layout"}
)


@dataclass(frozen=True)
class CubePlan:
    """How the dots of a kernel are fed and drained.

    `direct`: loads that go straight from global memory into L1, with no other reader.
    `shared`: loads that go there and are read by vector instructions too.
    `computed`: operands that the vector core writes to a workspace first.
    `resident`: loops' carried values (by block argument) that stay in L0C.
    `chained`: dot results that feed another dot, or a store, by way of fixpipe alone.
    `turned`: loads that the vector core must transpose (MayImplicitTransposeWithLastAxis).
    `scattered`: loads that the vector core does element by element.
    """

    dots: tuple[Operation, ...]
    operands: dict[tuple[Operation, int], Value] = field(default_factory=dict)
    direct: frozenset[Operation] = frozenset()
    computed: frozenset[Value] = frozenset()
    resident: frozenset[Value] = frozenset()
    drained: frozenset[Operation] = frozenset()
    turned: frozenset[Operation] = frozenset()
    scattered: frozenset[Operation] = frozenset()


def plan_cube(module: Module, forms: Forms) -> CubePlan:
    """Sort the operands, accumulators and results of every dot of the kernel."""
    dots = tuple(op for op in module.kernel.walk() if op.name in DOTS)
    operands: dict[tuple[Operation, int], Value] = {}
    direct: set[Operation] = set()
    turned: set[Operation] = set()
    scattered: set[Operation] = set()
    computed: set[Value] = set()
    for dot in dots:
        for index in (0, 1):
            source = untransposed(dot.operands[index])
            operands[dot, index] = source
            op = source.op
            if op is not None and op.name in ("tt.load", "tt.descriptor_load"):
                if _straight(op, forms):
                    direct.add(op)
                    continue
                access = access_of(op, forms)
                affine = access is not None and access.kind == "affine"
                (turned if affine else scattered).add(op)
            if drained_root(source) is None:
                computed.add(source)
    return CubePlan(
        dots,
        operands,
        frozenset(direct),
        frozenset(computed),
        frozenset(_resident(dots)),
        frozenset(op for op in module.kernel.walk() if _drains(op)),
        frozenset(turned),
        frozenset(scattered),
    )


def untransposed(value: Value) -> Value:
    """The operand before tl.trans, which the copy into L1 does on the way."""
    while value.op is not None:
        op = value.op
        if op.name == "tt.trans" or (op.name == "arith.addf" and _is_zero(op.operands[1])):
            value = op.operands[0]  # x + 0 is x (SimplifyOps)
        else:
            break
    return value


def _straight(op: Operation, forms: Forms) -> bool:
    """Can the copy engine bring this tile into L1 by itself?"""
    access = access_of(op, forms)
    if access is None or access.kind != "affine":
        return False
    if len(op.operands) > 1 and not access.block and box_of(op.operands[1]) is None:
        return False
    return access.block or access.contiguous_inner


def drained_root(value: Value) -> Value | None:
    """The dot (or loop) result that reaches `value` by at most one narrowing cast."""
    op = value.op
    if op is not None and op.name == "arith.truncf":
        value = op.operands[0]
        op = value.op
    if op is None:
        return None
    if op.name in DOTS:
        return None if keeps_sum(op) else value
    if op.name == "scf.for":
        arg = op.body().args[value.index + 1]
        return value if is_resident(arg) else None
    return None


def arriving_type(value: Value) -> str:
    """The type in which fixpipe hands a dot's (or loop's) result over: where a narrowing cast
    is its only reader, that cast's (InlineFixpipe)."""
    users = {user for user, _ in value.uses}
    if len(users) == 1 and value.type.dtype == "f32":
        (user,) = users
        if user.name == "arith.truncf" and user.result.type.dtype in ("f16", "bf16"):
            return user.result.type.dtype
    return value.type.dtype


def may_arrive_otherwise(value: Value) -> bool:
    """May fixpipe hand over something smaller, or later, than what the program says?

    A narrowing cast behind changes of shape may be taken in too; a product that a loop only
    hands on is brought behind the loop (moveFixpipeOutOfScfFor).
    """
    while True:
        users = {user for user, _ in value.uses}
        if len(users) != 1:
            return False
        (user,) = users
        if user.name in _RESHAPES:
            value = user.results[0]
        elif user.name in ("tt.fp_to_fp", "arith.trunci"):
            return True
        elif user.name == "arith.truncf":
            return value.op is None or value.op.name in _RESHAPES
        else:
            return user.name == "scf.yield"


def keeps_sum(dot: Operation) -> bool:
    """The dot adds to a tile that the vector core holds."""
    total = dot.operands[2] if len(dot.operands) > 2 else None
    return total is not None and not _is_zero(total) and not _in_l0c(total)


def _is_zero(value: Value) -> bool:
    op = value.op
    if op is None:
        return False
    if op.name == "tt.splat":
        return _is_zero(op.operands[0])
    return op.name == "arith.constant" and op.attrs.get("value") == 0


def _in_l0c(value: Value) -> bool:
    op = value.op
    if op is not None and op.name == "scf.for":
        return len(value.uses) == 1 and is_resident(op.body().args[value.index + 1])
    if op is not None:
        return op.name in DOTS and len(value.uses) == 1
    return is_resident(value)


def is_resident(arg: Value) -> bool:
    """A loop-carried sum that only dots touch: it starts at zero, and is only added to."""
    block = arg.block
    parent = block.parent if block is not None else None
    if parent is None or block is None or parent.name != "scf.for" or arg.index == 0:
        return False
    position = arg.index - 1
    init, final = parent.operands[position + 3], block.ops[-1].operands[position]
    if not (_is_zero(init) or _in_l0c(init)):
        return False
    value = final
    while value is not arg:
        op = value.op
        if op is None or len(value.uses) != 1:
            return False
        if op.name in DOTS and len(op.operands) > 2:
            value = op.operands[2]
        elif op.name == "scf.for":
            value = op.operands[value.index + 3]
        else:
            return False
    return all(
        (user.name in DOTS and index == 2) or (user.name == "scf.for" and index >= 3)
        for user, index in arg.uses
    ) and bool(arg.uses)


def _resident(dots: tuple[Operation, ...]) -> set[Value]:
    found: set[Value] = set()
    for dot in dots:
        parent = dot.parent
        while parent is not None:
            if parent.name == "scf.for":
                found.update(arg for arg in parent.body().args[1:] if is_resident(arg))
            parent = parent.parent
    return found


def _drains(op: Operation) -> bool:
    """A store that fixpipe does by itself: a dot's result, narrowed at most, in a box."""
    if op.name != "tt.store" or drained_root(op.operands[1]) is None:
        return False
    if op.operands[0].type.is_block_pointer and memory_order(op.operands[0]) is not None:
        return False
    return len(op.operands) < 3 or box_of(op.operands[2]) is not None


# -- the cube core's program ---------------------------------------------------------------


def lower_cube(module: Module, plan: CubePlan) -> Program:
    """Buffers in L1 and L0C, with the loops around them."""
    lowering = _CubeLowering(plan)
    lowering.sequence(parts_of(module.kernel))
    return lowering.program


class _CubeLowering:
    def __init__(self, plan: CubePlan) -> None:
        self.plan = plan
        self.program = Program()
        self.scope: tuple[int, ...] = ()
        self.loaded: dict[Operation, Buffer] = {}
        self.fetched: dict[tuple[Operation, int], Buffer] = {}
        self.sums: dict[Value, Buffer] = {}
        self._loops = 0

    def sequence(self, parts: Sequence[Part]) -> None:
        for part in parts:
            if isinstance(part, Fork):
                self._fork(part)
            else:
                self.block(part)

    def _fork(self, fork: Fork) -> None:
        self._loops += 1
        number, outer = self._loops, self.scope
        self.program.branches.add(number)
        self._mark("loop", number, fork.op)
        self.scope = (*outer, number)
        for arm in fork.arms:
            self.sequence(arm)
        self.scope = outer
        self._mark("end", number, fork.op)

    def block(self, block: Block) -> None:
        for op in block.ops:
            if op in self.plan.direct:
                self.loaded[op] = self._into_l1(op.result.type.shape, op.result.type.dtype, op)
            elif op.name in DOTS:
                self._dot(op)
            elif op.name == "scf.for":
                self._for(op)
            elif op.regions and op.name in ("scf.if", "scf.while"):
                self._region(op)
            for result in op.results:
                if result in self.plan.computed:
                    self._fetch(result)

    def _buffer(self, shape: tuple[int, ...], dtype: str, memory: str, op: Operation) -> Buffer:
        bits = 32 if memory == "l0c" else max(8, width(dtype))
        buffer = Buffer(shape, bits, dtype, memory, op, self.scope)
        self.program.buffers.append(buffer)
        return buffer

    def _step(self, name: str, inputs: list[Buffer], output: Buffer | None, op: Operation) -> None:
        self.program.steps.append(
            Step(name, inputs, output, Reuse.NEVER, (), self.scope, op, spreads_rows=False)
        )

    def _into_l1(self, shape: tuple[int, ...], dtype: str, op: Operation) -> Buffer:
        """nd2nz: rows to 16, columns to one block (C0 elements)."""
        block = 256 // max(8, width(dtype))
        fractal = (*shape[:-2], ceil_to(shape[-2], FRACTAL), ceil_to(shape[-1], block))
        buffer = self._buffer(fractal, dtype, "l1", op)
        buffer.loaded = True
        self._step("nd2nz", [], buffer, op)
        return buffer

    def _fetch(self, source: Value) -> None:
        """What the vector core made comes from the workspace as soon as it is there, once for
        each dot that reads it (InsertLoadStoreForMixCV)."""
        for (dot, index), operand in self.plan.operands.items():
            if operand is source:
                buffer = self._into_l1(source.type.shape, source.type.dtype, dot)
                self.fetched[dot, index] = buffer

    def _dot(self, op: Operation) -> None:
        inputs = []
        for index in (0, 1):
            source = self.plan.operands[op, index]
            buffer = self.loaded.get(source.op) if source.op is not None else None
            if buffer is None:
                buffer = self.fetched.get((op, index))
            if buffer is None:
                buffer = self._into_l1(source.type.shape, source.type.dtype, op)
            inputs.append(buffer)
        total = op.operands[2] if len(op.operands) > 2 else None
        kept = self.sums.get(total) if total is not None else None
        if kept is not None:
            self._step("mmad", [*inputs, kept], kept, op)
            self.sums[op.result] = kept
            return
        result = self._buffer(_l0c(op.result.type.shape), "f32", "l0c", op)
        self._step("mmad", inputs, result, op)
        if any(user.name in DOTS and index == 2 for user, index in op.result.uses):
            self.sums[op.result] = result
        self._step("fixpipe", [result], None, op)

    def _for(self, op: Operation) -> None:
        body = op.body()
        for init, arg, result in zip(op.operands[3:], body.args[1:], op.results, strict=True):
            if arg in self.plan.resident:
                kept = self.sums.get(init)
                if kept is None:
                    kept = self._buffer(_l0c(arg.type.shape), "f32", "l0c", op)
                    self._step("clear", [], kept, op)
                self.sums[arg] = self.sums[result] = kept
        self._enter(op, body)
        for arg, result in zip(body.args[1:], op.results, strict=True):
            if arg in self.plan.resident and result.uses:
                self._step("fixpipe", [self.sums[arg]], None, op)

    def _enter(self, op: Operation, *bodies: Block) -> None:
        self._loops += 1
        number, outer = self._loops, self.scope
        plain = op.name == "scf.for" and all(
            s in self.program.doubling or s in self.program.branches for s in outer
        )
        if plain:
            self.program.doubling.add(number)
        if op.name == "scf.if":
            self.program.branches.add(number)
        self._mark("loop", number, op)
        self.scope = (*outer, number)
        for body in bodies:
            self.block(body)
        self.scope = outer
        self._mark("end", number, op)

    def _mark(self, name: str, number: int, op: Operation) -> None:
        self._step(name, [], None, op)
        self.program.steps[-1].loop = number

    def _region(self, op: Operation) -> None:
        self._enter(op, *(block for region in op.regions for block in region))


def _l0c(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A batch is worked off one matrix at a time."""
    return tuple(ceil_to(size, FRACTAL) for size in shape[-2:])

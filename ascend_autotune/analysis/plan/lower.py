"""Walks a kernel's TTIR and lays it out as the vector core's tile program.

Only values that something stores, reduces or tests are laid out: index arithmetic and
rectangular masks cost nothing, since triton-adapter's triton-to-linalg turns them into
sub-boxes of the copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ascend_autotune.analysis.addressing import Access, access_of
from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Block, Module, Operation, Value
from ascend_autotune.analysis.plan import elementwise, reductions, shapes
from ascend_autotune.analysis.plan.boxes import box_of
from ascend_autotune.analysis.plan.cube import CubePlan, keeps_sum
from ascend_autotune.analysis.plan.demand import demanded, folds, is_box, stores_box
from ascend_autotune.analysis.plan.emit import Emitter
from ascend_autotune.analysis.plan.padding import row_of
from ascend_autotune.analysis.plan.split import halved
from ascend_autotune.analysis.plan.program import (
    Buffer,
    Carried,
    Operand,
    Program,
    Reuse,
    Scalar,
    Spread,
    Tile,
)

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
    shapes = None
    if cube is not None and split:
        shapes = halved(module, need, cube, forms)
    wanted: set[Value] = set()
    for _ in range(3):
        lowering = Lowering(module, forms, need, wanted, code_motion, cube, shapes)
        lowering.block(module.kernel.body())
        found = lowering.emit.wanted
        if found <= wanted:
            break
        wanted = wanted | found
    return lowering.program


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
        self.emit = Emitter(self.program)
        self.env: dict[Value, Operand] = {}
        self._loops = 0

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


# -- memory ------------------------------------------------------------------------------


def _load(low: Lowering, op: Operation) -> None:
    result = op.result
    if not result.type.is_tensor:
        low.env[result] = Scalar(result.type.dtype)
        return
    if result not in low.need:
        return
    if low.cube is not None and op in low.cube.turned:
        low.env[result] = low.emit.step("load", [], low.shape(result), result.type.dtype)
        return
    access = access_of(op, low.forms)
    dtype = "i8" if result.type.dtype == "i1" else result.type.dtype
    emit = low.emit
    uses = [low.get(v) for v in index_tiles(op.operands[0]) if v in low.need]
    if access is None or access.kind == "affine":
        tile = _copy_in(low, access, _bounded(op, 1, access), low.shape(result), dtype)
    else:
        # An unstructured load runs as a scalar loop over the index tile.
        tile = emit.step("gather_loop", uses, low.shape(result), dtype)
        uses = []
    for operand in uses:
        emit.touch(operand)
    low.env[result] = tile
    box = box_of(op.operands[1]) if len(op.operands) > 1 else None
    scattered = access is not None and access.kind != "affine"
    if scattered and box and len(op.operands) > 2 and not stores_box(op, op.operands[1]):
        # The scalar loop reads everything; the box is cut out of it afterwards.
        low.env[result] = _over(low, op, tile, op.operands[2])
    if len(op.operands) > 1 and box is None:
        mask = low.get(op.operands[1])
        other = low.get(op.operands[2]) if len(op.operands) > 2 else Scalar(dtype)
        low.env[result] = emit.select(mask, tile, other, low.shape(result), dtype)
    if result.type.dtype == "i1":
        # A bool is a byte in memory and a bit in registers.
        maths = elementwise.Maths(emit, low.shape(result))
        low.env[result] = maths.widen(low.env[result], "i1")


def _copy_in(
    low: Lowering,
    access: Access | None,
    box: frozenset[int],
    shape: tuple[int, ...],
    dtype: str,
) -> Operand:
    """A strided or dense copy from global memory (RecognizeDeinterleave for the former)."""
    emit = low.emit
    row = row_of(access, shape, box) if access is not None else None
    inner = _inner_stride(access)
    if row != 1 or inner is None or inner == 1:
        tile = emit.step("load", [], shape, dtype, row=row)
        tile.buffer.loaded = True
        return tile
    if inner == 2:
        wide = emit.step("load", [], (*shape[:-1], 2 * shape[-1]), dtype)
    else:
        wide = emit.step("load", [], shape, dtype, row=1, spreads_rows=False)
    wide.buffer.loaded = True
    return emit.step("vdeinterleave", [wide], shape, dtype, spreads_rows=False)


def _inner_stride(access: Access | None) -> int | None:
    """The constant stride of the innermost dimension that holds more than one element."""
    if access is None:
        return 1
    for size, stride in zip(reversed(access.shape), reversed(access.strides), strict=True):
        if size != 1:
            return stride
    return 1


def _store(low: Lowering, op: Operation) -> None:
    value = op.operands[1]
    emit = low.emit
    if low.cube is not None and op in low.cube.drained:
        return
    if not value.type.is_tensor:
        one = emit.step("scalar", [], (1,), value.type.dtype)
        emit.touch(one)
        return
    access = access_of(op, low.forms)
    tile = low.tile(value)
    if value.type.dtype == "i1":
        maths = elementwise.Maths(emit, low.shape(value))
        tile = emit.full(maths.widen(tile, "i8"), low.shape(value))
    if len(op.operands) > 2 and box_of(op.operands[2]) is None:
        # discrete-mask-access-conversion: read the old values, select, write all.
        old = emit.step("load", [], low.shape(value), tile.dtype)
        old.buffer.loaded = True
        mask = low.get(op.operands[2])
        tile = emit.select(mask, tile, old, low.shape(value), tile.dtype)
    if access is not None and access.kind != "affine":
        uses = [low.get(v) for v in index_tiles(op.operands[0]) if v in low.need]
        low.emit.write("scatter_loop", [tile, *uses], None)
        one = emit.step("scalar", [tile, *uses], (1,), value.type.dtype)
        one.buffer.slot = True
        emit.touch(one)
        return
    tile.buffer.stored = True
    box = _bounded(op, 2, access)
    emit.touch(tile, row_of(access, low.shape(value), box) if access is not None else None)


def _bounded(op: Operation, position: int, access: Access | None) -> frozenset[int]:
    """The dimensions whose extent only the launch knows."""
    if access is not None and access.block:
        return frozenset(d for d, bounded in enumerate(access.bounded) if bounded)
    return (box_of(op.operands[position]) or frozenset()) if len(op.operands) > position else frozenset()


def index_tiles(pointer: Value) -> list[Value]:
    """The loaded tensors that an unstructured address is made of."""
    found: list[Value] = []
    stack, seen = [pointer], set()
    while stack:
        value = stack.pop()
        if value in seen or not value.type.is_tensor:
            continue
        seen.add(value)
        op = value.op
        if op is None:
            continue
        if op.name in ("tt.load", "tt.reduce", "tt.scan", "scf.for", "scf.if", "scf.while"):
            found.append(value)
        else:
            stack.extend(op.operands)
    return found


def _atomic(low: Lowering, op: Operation) -> None:
    emit = low.emit
    value = op.operands[-1] if op.name == "tt.atomic_cas" else op.operands[1]
    used = bool(op.results) and op.result in low.need and bool(op.result.uses)
    if not value.type.is_tensor:
        one = emit.step("scalar", [], (1,), value.type.dtype)
        emit.touch(one)
        return
    tile = low.tile(value)
    if used:
        old = emit.step("load", [], low.shape(value), value.type.dtype)
        low.env[op.result] = old
    uses = [low.get(v) for v in index_tiles(op.operands[0]) if v in low.need]
    emit.write("atomic", [tile, *uses], None)


# -- control flow --------------------------------------------------------------------------


def _for(low: Lowering, op: Operation) -> None:
    body = op.body()
    inits, args, results = op.operands[3:], body.args[1:], op.results
    low._loops += 1
    number = low._loops
    homes: list[Buffer | None] = []
    for init, arg, result in zip(inits, args, results, strict=True):
        if low.cube is not None and arg in low.cube.resident:
            homes.append(None)
            continue
        if not init.type.is_tensor or init.type.is_pointer or arg not in low.need:
            homes.append(None)
            continue
        home = _home(low, init, homes)
        homes.append(home)
        tile = Tile(home, low.shape(init), init.type.dtype)
        low.env[arg] = tile
        low.env[result] = tile
    _bracket(low, "loop", number)
    outer = low.emit.scope
    if all(s in low.program.doubling or s in low.program.branches for s in outer):
        low.program.doubling.add(number)
    low.emit.scope = (*outer, number)
    low.block(body)
    for value, home in zip(body.ops[-1].operands, homes, strict=True):
        if home is not None:
            tile = low.tile(value)
            low.emit.touch(tile)
            if tile.buffer is not home:
                low.program.carried.append(Carried(number, home, tile.buffer))
    low.emit.scope = outer
    _bracket(low, "end", number)
    for arg, result in zip(args, results, strict=True):
        if low.cube is not None and arg in low.cube.resident and result in low.need:
            low.env[result] = low.emit.step("load", [], low.shape(result), result.type.dtype)


def _dot(low: Lowering, op: Operation) -> None:
    """The product arrives from the workspace."""
    emit, result = low.emit, op.result
    if result not in low.need:
        return
    shape, dtype = low.shape(result), result.type.dtype
    product = emit.step("load", [], shape, dtype)
    low.env[result] = product
    if keeps_sum(op):
        total = low.get(op.operands[2])
        low.set(result, emit.binary("vadd", total, product, shape, dtype))


def _home(low: Lowering, init: Value, taken: Sequence[Buffer | None]) -> Buffer:
    """The buffer that a loop-carried tensor lives in; a shared one is copied first."""
    emit = low.emit
    operand = low.get(init)
    readers = [
        user
        for user, _ in init.uses
        if user.name != "tt.load" and any(result in low.need for result in user.results)
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


def _bracket(low: Lowering, name: str, number: int) -> None:
    low.emit.write(name, [], None)
    low.program.steps[-1].loop = number


def _while(low: Lowering, op: Operation) -> None:
    before, after = op.body(0), op.body(1)
    low._loops += 1
    number = low._loops
    homes: list[Buffer | None] = []
    for init, arg in zip(op.operands, before.args, strict=True):
        if not init.type.is_tensor or init.type.is_pointer or arg not in low.need:
            homes.append(None)
            continue
        home = _home(low, init, homes)
        homes.append(home)
        low.env[arg] = Tile(home, low.shape(init), init.type.dtype)
    _bracket(low, "loop", number)
    outer = low.emit.scope
    low.emit.scope = (*outer, number)
    low.block(before)
    condition = before.ops[-1]
    for value, arg, result in zip(
        condition.operands[1:], after.args, op.results, strict=True
    ):
        if value.type.is_tensor and arg in low.need:
            low.env[arg] = low.env[result] = low.tile(value)
    low.block(after)
    for value, home in zip(after.ops[-1].operands, homes, strict=True):
        if home is not None:
            tile = low.tile(value)
            low.emit.touch(tile)
            if tile.buffer is not home:
                low.program.carried.append(Carried(number, home, tile.buffer))
    low.emit.scope = outer
    _bracket(low, "end", number)


def _if(low: Lowering, op: Operation) -> None:
    """Nothing dies inside a branch that was alive before it: a branch is a scope."""
    branches: list[list[Tile | None]] = []
    low._loops += 1
    number = low._loops
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


def _ignore(low: Lowering, op: Operation) -> None:
    """Terminators, and operations that hold nothing in the vector memory."""


def _constant(low: Lowering, op: Operation) -> None:
    result = op.result
    if result in low.need:
        low.set(result, Scalar(result.type.dtype, op.attrs.get("value"), result))


def _select(low: Lowering, op: Operation) -> None:
    """A select on a rectangular mask is an insert_slice; any other one is a vsel."""
    result = op.result
    if result not in low.need:
        return
    _, a, b = op.operands
    if not result.type.is_tensor:
        low.env[result] = Scalar(result.type.dtype)
        return
    if is_box(op):
        _insert(low, op, a, b)
        return
    elementwise.lower(low, op)


def _insert(low: Lowering, op: Operation, a: Value, b: Value) -> None:
    """where(box, a, b): the box of `a` is copied over `b`; folded where the box is stored."""
    result = op.result
    if folds(op):
        low.env[result] = low.get(a)
        return
    low.env[result] = _over(low, op, low.tile(a), b)


def _over(low: Lowering, op: Operation, box: Tile, base_value: Value) -> Tile:
    """The box copied over the base, in place where nothing else reads the base."""
    emit, shape = low.emit, low.shape(op.result)
    base = low.tile(base_value)
    if len(base_value.uses) > 1 or base.buffer.scope != emit.scope:
        base = emit.step("copy", [base], shape, base.dtype)
    emit.write("insert", [box], base.buffer)
    return Tile(base.buffer, shape, base.dtype)


_HANDLERS: dict[str, Handler] = {
    "arith.constant": _constant,
    "arith.select": _select,
    "tt.load": _load,
    "tt.store": _store,
    "tt.atomic_rmw": _atomic,
    "tt.atomic_cas": _atomic,
    "tt.dot": _dot,
    "tt.dot_scaled": _dot,
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": _if,
    "scf.yield": _ignore,
    "scf.condition": _ignore,
    "tt.return": _ignore,
    "tt.descriptor_load": _load,
    "tt.descriptor_store": _store,
    **shapes.HANDLERS,
    **reductions.HANDLERS,
}

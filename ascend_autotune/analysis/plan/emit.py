"""Emits single vector instructions into a `Program`: operands, broadcasts, scratch, reuse.

Every method mirrors one HIVM instruction and the pass that shapes its operands:
HFusionInlineBrc (scalars), InlineOTFBroadcast (broadcasts), AllocExtraBuffer (scratch).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ascend_autotune.analysis.ir import Operation, Value
from ascend_autotune.analysis.plan import temporaries
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
# What an expansion is made of beside these: LICM may take a part of it out of a loop.
_PARTS = {"vcmp", "vnot", "vsel", "vcast", "vbrc"}
SPREAD_OUTER = ISA | {"vdiv", "vshl", "vshr"}

_MOVED = SPREAD_LAST | SPREAD_OUTER | _PARTS

# What a cast between floats may lose (hasPrecisionDownUpPattern).
_PRECISION = {"bf16": 0, "f16": 1, "f32": 2}


def _is_integer(dtype: str) -> bool:
    return dtype.startswith("i")


def _narrows_then_widens(types: Sequence[str]) -> bool:
    narrowed = False
    for before, after in pairwise(types):
        if before in _PRECISION and after in _PRECISION:
            if narrowed and _PRECISION[after] > _PRECISION[before]:
                return True
            narrowed = narrowed or _PRECISION[after] < _PRECISION[before]
    return False


def _neutral(name: str, a: Operand, b: Operand) -> Operand | None:
    """x + 0, x - 0, x * 1 and x / 1 are x (ElemBinaryPattern of HFusion's SimplifyOps)."""
    number = {"vadd": 0, "vsub": 0, "vmul": 1, "vdiv": 1}.get(name)
    if number is None:
        return None
    if isinstance(b, Scalar) and b.value is not None and b.value == number:
        return a
    if name in ("vadd", "vmul") and isinstance(a, Scalar) and a.value is not None:
        return b if a.value == number else None
    return None


@dataclass(slots=True)
class _Frame:
    name: str  # "loop" | "if"
    start: int
    fills: dict[object, Tile]


class Emitter:
    """Appends instructions to a program; `op` is the TTIR operation they come from."""

    def __init__(self, program: Program, code_motion: bool = True) -> None:
        self.program = program
        self.code_motion = code_motion
        self.scope: tuple[int, ...] = ()
        self.op: Operation | None = None
        # TTIR tensors that some instruction needs as a tile, and those tiles.
        self.wanted: set[Value] = set()
        self._full: dict[Value, Tile] = {}
        self._wide: dict[tuple[int, str], Operand] = {}
        self._cast_from: dict[Tile, Tile] = {}
        self._byte_casts: set[Buffer] = set()
        self._alive: list[object] = []  # keeps memo keys (ids) from being recycled
        # 1 / x values that only multiplications read: id of the mark -> x.
        self.reciprocals: dict[int, Operand] = {}
        # The loops and branches around: kind, place of the bracket, fills known before it.
        self._around: list[_Frame] = []
        self._fills: dict[object, Tile] = {}
        self.homes: set[Buffer] = set()  # buffers that some loop carries

    # -- buffers -------------------------------------------------------------------

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
        depth = here
        while depth and self._around[depth - 1].name == "loop":
            if any(len(buffer.scope) >= depth for buffer in buffers):
                break
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
            self._around.append(_Frame(name, len(self.program.steps), dict(self._fills)))
        elif name == "end":
            self._fills = self._around.pop().fills

    def drop_dead(self) -> None:
        """Casts and fills that nothing reads are erased (an unused chain of casts that folded)."""
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
                if step.name not in ("vcast", "vbrc") or step.output is None or step.output in read
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

    # -- operands ------------------------------------------------------------------

    def full(self, operand: Operand, shape: tuple[int, ...], dtype: str | None = None) -> Tile:
        """The operand as a materialised tile of `shape`."""
        if isinstance(operand, Tile):
            return operand
        origin = operand.origin
        if origin is not None and origin in self._full:
            return self._full[origin]
        if isinstance(operand, Scalar):
            tile = self.fill(operand, shape, dtype or operand.dtype)
        else:
            tile = self._materialise(operand)
        if origin is not None:
            self.wanted.add(origin)
            self._full[origin] = tile
        return tile

    def _materialise(self, spread: Spread) -> Tile:
        tile = spread.tile
        if spread.dtype == "i1":
            # NormalizeToTargetType<bool, linalg::BroadcastOp>: spread in f16, then tested.
            half = self.cast(tile, "f16")
            assert isinstance(half, Tile)
            wide = self._materialise(Spread(half, spread.shape, spread.axes, "f16"))
            return self.test([wide], spread.shape, negate=True)
        for axis in spread.axes:
            shape = tuple(
                spread.shape[i] if i == axis else size for i, size in enumerate(tile.shape)
            )
            bits = width(spread.dtype)
            if axis == len(shape) - 1:
                if all(size == 1 for size in tile.shape):
                    elements = None
                else:
                    rows = shape[-2] if len(shape) > 1 else 1
                    elements = temporaries.broadcast_last(rows, shape[-1], bits)
            elif axis == 0:
                elements = temporaries.broadcast_first(shape, bits)
            else:
                elements = None
            tile = self.step(
                "vbrc", [tile], shape, spread.dtype, temporary=self.scratch(elements, bits),
                spreads_rows=False,
            )  # fmt: skip
        return tile

    def readable(self, name: str, operand: Operand, shape: tuple[int, ...]) -> Operand:
        """The operand as `name` can read it: broadcasts on the fly or materialised."""
        if not isinstance(operand, Spread) or self.reads_spread(name, operand):
            return operand
        return self.full(operand, shape)

    @staticmethod
    def reads_spread(name: str, operand: Spread) -> bool:
        if len(operand.axes) != 1 or operand.dtype in ("i64", "i1"):
            return False
        last = operand.axes[0] == len(operand.shape) - 1
        return name in (SPREAD_LAST if last else SPREAD_OUTER)

    # -- instructions --------------------------------------------------------------

    def fill(self, value: Operand, shape: tuple[int, ...], dtype: str) -> Tile:
        return self.step("vbrc", [], shape, dtype)

    def fill_here(self, value: Scalar, shape: tuple[int, ...], dtype: str) -> Tile:
        """A scalar that an instruction needs as a tile, filled where the instruction stands.

        Source: convertInvalidScalarOperandByBrc (HFusionToHIVM), after which CSE shares equal
        fills and, with code motion, LICM takes them out of the loops around.
        """
        known = self._full.get(value.origin) if value.origin is not None else None
        if known is not None:
            return known
        key: object = value.origin if value.value is None else (value.value, dtype)
        if key is None:
            return self._fill_early(value, shape, dtype)
        tile = self.shared(key, shape, lambda: self._fill_early(value, shape, dtype))
        assert isinstance(tile, Tile)
        return tile

    def shared(self, key: object, shape: tuple[int, ...], make: Callable[[], Operand]) -> Operand:
        """What is made of constants alone, made once in a block and all blocks inside (CSE)."""
        tile = self._fills.get(key)
        if tile is None or tile.shape != shape:
            made = make()
            assert isinstance(made, Tile)
            tile = self._fills[key] = made
        return tile

    def _fill_early(self, value: Scalar, shape: tuple[int, ...], dtype: str) -> Tile:
        """A fill before all the loops directly around it, where code motion is on."""
        depth = len(self._around)
        while depth and self._around[depth - 1].name == "loop":
            depth -= 1
        if depth < len(self._around):
            self.program.moved = True
        inside = self.scope
        if self.code_motion:
            self.scope = inside[:depth]
        tile = self.fill(value, shape, dtype)
        self.scope = inside
        return tile

    def as_tile(self, operand: Operand, shape: tuple[int, ...], dtype: str) -> Tile:
        """An operand of an instruction that takes no scalar there."""
        if isinstance(operand, Scalar):
            return self.fill_here(operand, shape, dtype)
        return self.full(operand, shape, dtype)

    def binary(
        self, name: str, a: Operand, b: Operand, shape: tuple[int, ...], dtype: str
    ) -> Operand:
        """`a op b`; a scalar stands on the right, as the hardware wants it."""
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            return Scalar(dtype)
        same = _neutral(name, a, b)
        if same is not None:
            return same
        if isinstance(a, Scalar) and name in ISA and name != "vsub":
            a, b = b, a
        a, b = self.readable(name, a, shape), self.readable(name, b, shape)
        elements = self._binary_scratch(name, a, b, shape, width(dtype))
        spread = isinstance(a, Spread) or isinstance(b, Spread)
        reuse = Reuse.ISA if name in ISA and not spread else Reuse.ELEMENTWISE
        bits = width(dtype)
        # i64 goes element by element: no instruction that asks for rows in whole blocks.
        return self.step(
            name, [a, b], shape, dtype, reuse, self.scratch(elements, bits), spreads_rows=bits != 64
        )

    @staticmethod
    def _binary_scratch(
        name: str, a: Operand, b: Operand, shape: tuple[int, ...], bits: int
    ) -> int | None:
        """getExtraBufferSizeForBinaryOp: scalars that need a block, broadcast rows."""
        elements: int | None = None
        if name in ("vdiv", "vsub") and (isinstance(a, Scalar) or isinstance(b, Scalar)):
            elements = temporaries.per_block(bits)
        elif isinstance(a, Scalar):
            elements = 0
        for operand in (a, b):
            if isinstance(operand, Spread) and operand.axes == (len(shape) - 1,):
                rows = operand.tile.shape[-2] if len(shape) > 1 else 1
                elements = (elements or 0) + temporaries.spread_last(rows, bits)
            elif isinstance(operand, Spread) and elements is None:
                elements = None
        return elements

    def unary(self, name: str, a: Operand, shape: tuple[int, ...], dtype: str) -> Operand:
        if isinstance(a, Scalar):
            return Scalar(dtype)
        a = self.readable(name, a, shape)
        elements = None
        if isinstance(a, Spread) and a.axes == (len(shape) - 1,):
            rows = a.tile.shape[-2] if len(shape) > 1 else 1
            elements = temporaries.spread_last(rows, width(dtype))
        return self.step(
            name, [a], shape, dtype, Reuse.ELEMENTWISE, self.scratch(elements, width(dtype))
        )

    def cast(self, a: Operand, dtype: str) -> Operand:
        """One hardware cast; broadcasts and fills are cast before they are spread."""
        if isinstance(a, Scalar):
            return Scalar(dtype, a.value)
        if a.dtype == dtype:
            return a
        if isinstance(a, Spread):
            narrow = self.cast(a.tile, dtype)
            assert isinstance(narrow, Tile)
            return Spread(narrow, a.shape, a.axes, dtype)
        result = self._uncast(a, dtype)
        if result is None:
            result = self._cast(a, dtype)
            self._cast_from[result] = a
        return result

    def _cast(self, a: Tile, dtype: str) -> Tile:
        if dtype == "i8" and a.dtype in ("i32", "i16"):
            return self._cast_byte(a)
        scratch = temporaries.cast_elements(a.dtype, dtype)
        temps = self.scratch(*scratch) if scratch else []
        reuse = Reuse.NEVER if temps else Reuse.CAST
        return self.step("vcast", [a], a.shape, dtype, reuse, temps)

    def _uncast(self, a: Tile, dtype: str) -> Tile | None:
        """A tile that the chain of casts up to `a` began with, if a cast to `dtype` ends it there.

        Source: CastOpPattern of HFusion's SimplifyOps. It looks at single hardware casts, so
        that f32 -> i32 -> i8 -> f16 -> f32 folds too. A float that was narrowed on the way
        and widened again does not fold.
        """
        if _is_integer(a.dtype) != _is_integer(dtype):
            return None
        types, source = [dtype, a.dtype], self._cast_from.get(a)
        while source is not None:
            types.append(source.dtype)
            if source.dtype == dtype:
                return None if _narrows_then_widens(types[::-1]) else source
            source = self._cast_from.get(source)
        return None

    def _cast_byte(self, a: Tile) -> Tile:
        """Whole-number to i8: two transposes of 32 x 32 bytes (getCastSrcUnAlignSizeInfo)."""
        source = a.buffer
        self._byte_casts.add(source)
        source.shape = a.shape
        source.units = temporaries.byte_cast_units(a.shape, source.bits)
        temps = self.scratch_later(lambda: 2 * source.numel, source.bits)
        result = self.step("vcast", [a], a.shape, "i8", Reuse.NEVER, temps)
        result.buffer.units = temporaries.byte_cast_units(a.shape, 8)
        return result

    def widened(self, a: Operand, dtype: str) -> Operand:
        """`cast`, remembered: equal casts of one value are made once (CSE)."""
        if isinstance(a, Scalar) or a.dtype == dtype:
            return self.cast(a, dtype)
        key = (id(a), dtype)
        if isinstance(a, Tile) and dtype not in ("f32", "f16"):
            return self.cast(a, dtype)
        if key not in self._wide:
            self._alive.append(a)
            self._wide[key] = self.cast(a, dtype)
        return self._wide[key]

    def byte_to_bit(self, condition: Tile) -> Tile:
        """The result of an i64 comparison is a byte; a test in f16 makes it a bit."""
        half = self.cast(condition, "f16")
        zero = self.fill(Scalar("f16"), condition.shape, "f16")
        return self.step("vcmp", [half, zero], condition.shape, "i1", Reuse.ELEMENTWISE)

    def keep(self, operand: Operand) -> None:
        """Keep the object alive, so that its id stays its own."""
        self._alive.append(operand)

    def remember(self, narrow: Operand, dtype: str, wide: Operand) -> None:
        """`narrow` was cast from `wide`: a cast back to `dtype` reads `wide` itself."""
        self._alive.append(narrow)
        self._wide[id(narrow), dtype] = wide

    def remembered(self, a: Operand, dtype: str) -> Operand | None:
        return self._wide.get((id(a), dtype))

    def compare(self, a: Operand, b: Operand, shape: tuple[int, ...], negate: bool = False) -> Tile:
        """vcmp, and vnot for `ne`: the hardware's own `ne` is wrong for NaN."""
        dtype = a.dtype
        tiles = [self.full(a, shape, dtype), self.full(b, shape, dtype)]
        return self.test(tiles, shape, negate)

    def test(self, tiles: Sequence[Operand], shape: tuple[int, ...], negate: bool = False) -> Tile:
        """vcmp of tiles, or of one tile with a scalar that is not counted."""
        result = self.step("vcmp", tiles, shape, "i1", Reuse.ELEMENTWISE)
        if negate:
            result = self.step("vnot", [result], shape, "i1", Reuse.ELEMENTWISE)
        return result

    def select(
        self, condition: Operand, a: Operand, b: Operand, shape: tuple[int, ...], dtype: str
    ) -> Tile:
        cond = self.full(condition, shape, "i1")
        sides = [x if isinstance(x, Scalar) else self.full(x, shape) for x in (a, b)]
        scalars = sum(isinstance(x, Scalar) for x in sides)
        if cond.dtype == "i8" and (dtype != "i64" or scalars):
            cond = self.byte_to_bit(cond)
        if cond.dtype == "i8":
            return self.step(
                "vsel", [cond, *sides], shape, dtype,
                temporary=self.scratch(temporaries.select64_elements(shape[-1]), 64),
            )  # fmt: skip
        elements = temporaries.select_elements(dtype, width(dtype), scalars)
        reuse = Reuse.SELECT64 if elements is None else Reuse.NEVER
        return self.step(
            "vsel", [cond, *sides], shape, dtype, reuse, self.scratch(elements, width(dtype))
        )

"""Emits single vector instructions into a `Program`: operands, broadcasts, scratch, reuse.

Every method mirrors one HIVM instruction and the pass that shapes its operands:
HFusionInlineBrc (scalars), InlineOTFBroadcast (broadcasts), AllocExtraBuffer (scratch).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from ascend_autotune.analysis.ir import Value
from ascend_autotune.analysis.plan import temporaries
from ascend_autotune.analysis.plan.program import (
    Buffer,
    Operand,
    Program,
    Reuse,
    Scalar,
    Spread,
    Tile,
    width,
)
from ascend_autotune.analysis.plan.writer import ISA, SPREAD_LAST, SPREAD_OUTER, Writer

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


class Emitter(Writer):
    """Single instructions, each with the operands, scratch and reuse that the compiler gives it."""

    def __init__(self, program: Program, code_motion: bool = True) -> None:
        super().__init__(program, code_motion)
        # TTIR tensors that some instruction needs as a tile, and those tiles.
        self.wanted: set[Value] = set()
        self._full: dict[Value, Tile] = {}
        self._wide: dict[tuple[int, str], Operand] = {}
        self._read: set[Buffer] = set()  # tiles of one element whose element has been read
        self._cast_from: dict[Tile, Tile] = {}
        self._alive: list[object] = []  # keeps memo keys (ids) from being recycled
        # Of 1 / x values, which multiplications do without: id of the quotient -> x.
        self.reciprocals: dict[int, Operand] = {}

        self._negatives: dict[tuple[int, str, tuple[int, ...]], Operand] = {}

    # -- operands ------------------------------------------------------------------

    def negative_of(self, a: Operand, dtype: str) -> Operand | None:
        """`a` * -1, where it was made here or further out."""
        scopes = (self.scope[:depth] for depth in range(len(self.scope) + 1))
        made = (self._negatives.get((id(a), dtype, scope)) for scope in scopes)
        return next((found for found in made if found is not None), None)

    def inverse(self, quotient: Operand, of: Operand) -> Operand:
        """Mark 1 / `of`: multiplications read `of` anew; where nothing else does, it is dead."""
        self.keep(quotient)
        self.reciprocals[id(quotient)] = of
        return quotient

    def remember_negative(self, a: Operand, dtype: str, negative: Operand) -> None:
        self.keep(a)
        self._negatives[id(a), dtype, self.scope] = negative

    def next_branch(self) -> None:
        super().next_branch()
        made = self._negatives.items()
        self._negatives = {key: value for key, value in made if key[2] != self.scope}

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

    def _reads_single(self, name: str, operand: Operand, other: Operand) -> bool:
        """A tile of one element is read out, and the instruction takes a scalar (InlineBrc)."""
        if not isinstance(operand, Spread) or not isinstance(other, Tile):
            return False
        return all(size == 1 for size in operand.tile.shape) and self.reads_spread(name, operand)

    def _read_out(self, buffer: Buffer) -> None:
        """The element is read once; whether other instructions come before that is not known."""
        if buffer in self._read:
            return
        self._read.add(buffer)
        buffer.sure &= self.program.steps[-1].output is buffer
        self.touch(Tile(buffer, (1,), buffer.dtype))

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
        if name in ISA and name != "vsub" and self._reads_single(name, a, b):
            a, b = b, a
        if self._reads_single(name, b, a):
            assert isinstance(b, Spread)
            self._read_out(b.tile.buffer)
            b, name = Scalar(b.dtype), "vadd" if name == "vsub" else name
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

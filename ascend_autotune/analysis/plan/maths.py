"""How one elementwise TTIR operation becomes vector instructions.

Source: HFusion's Normalize, LegalizeBF16 and LegalizeBool passes (AscendNPU-IR v1.2.0);
each function names its pattern. Functions take the emitter, the operands and the result's
shape and dtype, and return the result operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ascend_autotune.analysis.plan.emit import Emitter
from ascend_autotune.analysis.plan.program import Operand, Reuse, Scalar, Tile

Shape = tuple[int, ...]


def is_constant(a: Operand, value: float) -> bool:
    return isinstance(a, Scalar) and a.value is not None and a.value == value


class Maths:
    """Elementwise operations at one shape; `dtype` is the type they compute in."""

    def __init__(self, emit: Emitter, shape: Shape) -> None:
        self.emit = emit
        self.shape = shape

    # -- single instructions ---------------------------------------------------------

    def op(self, name: str, a: Operand, b: Operand, dtype: str) -> Operand:
        return self.emit.binary(name, a, b, self.shape, dtype)

    def one(self, name: str, a: Operand, dtype: str) -> Operand:
        return self.emit.unary(name, a, self.shape, dtype)

    def const(self, dtype: str, value: object = None) -> Scalar:
        return Scalar(dtype, value)

    def adds(self, a: Operand, dtype: str) -> Operand:
        """Add a known constant."""
        return self.op("vadd", a, self.const(dtype, 2.5), dtype)

    def muls(self, a: Operand, dtype: str) -> Operand:
        """Multiply by a known constant."""
        return self.mul(a, self.const(dtype, 2.5), dtype)

    # -- floating point --------------------------------------------------------------

    def mul(self, a: Operand, b: Operand, dtype: str) -> Operand:
        """NormalizeMulRec: a * (1 / b) is a / b."""
        for one, other in ((a, b), (b, a)):
            divisor = self.emit.reciprocals.get(id(one))
            if divisor is not None:
                return self.div(other, divisor, dtype)
        return self.op("vmul", a, b, dtype)

    def negative(self, a: Operand, dtype: str) -> Operand:
        """a * -1, made once for all that dominates (CSE): of 1 - a and 2 - a, too."""
        known = self.emit.negative_of(a, dtype)
        if known is None:
            known = self.muls(a, dtype)
            self.emit.remember_negative(a, dtype, known)
        return known

    def sub(self, a: Operand, b: Operand, dtype: str) -> Operand:
        """NormalizeSubVSToVMulAndVAdd: s - x is x * -1 + s; x - s is x + -s."""
        if isinstance(a, Scalar) and not isinstance(b, Scalar):
            return self.adds(self.negative(b, dtype), dtype)
        if isinstance(b, Scalar):
            return self.op("vadd", a, b, dtype)
        return self.op("vsub", a, b, dtype)

    def div(self, a: Operand, b: Operand, dtype: str) -> Operand:
        """A scalar numerator is filled; NormalizeDivVSToRec makes 1 / f16 a reciprocal in f32."""
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            return Scalar(dtype)
        if isinstance(a, Scalar):
            if dtype == "f16" and is_constant(a, 1.0):
                return self.emit.cast(self.reciprocal(self.emit.widened(b, "f32")), "f16")
            a = self.emit.fill_here(a, self.shape, dtype)
        return self.op("vdiv", a, b, dtype)

    def reciprocal(self, a: Operand) -> Operand:
        """vrec in f32 is one filled with ones and a division."""
        if isinstance(a, Scalar):
            return a
        ones = self.emit.fill(Scalar("f32", 1.0), self.shape, "f32")
        return self.emit.inverse(self.op("vdiv", ones, a, "f32"), a)

    def clip(self, a: Operand) -> Operand:
        return self.op(
            "vmax", self.op("vmin", a, self.const("f32"), "f32"), self.const("f32"), "f32"
        )

    def is_nan(self, a: Operand) -> Tile:
        """NormalizeIsNanOp: x != x, which NormalizeCmpVne makes not (x == x)."""
        tile = self.emit.full(a, self.shape, a.dtype)
        return self.emit.compare(tile, tile, self.shape, negate=True)

    def extreme(self, name: str, a: Operand, b: Operand, dtype: str) -> Operand:
        """NormalizeMinMaxNumFOp: where exactly one side is NaN, the other one."""
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            return Scalar(dtype)
        nan_a, nan_b = self.is_nan(a), self.is_nan(b)
        best = self.op(name, a, b, dtype)
        first = self.emit.select(nan_a, b, best, self.shape, dtype)
        return self.emit.select(nan_b, a, first, self.shape, dtype)

    def log_base(self, a: Operand, base: float) -> Operand:
        """NormalizeLogLikeOp: ln x / ln base, the base filled into a tile."""
        top = self.one("vln", a, "f32")
        bottom = self.emit.shared(
            ("ln", base),
            self.shape,
            lambda: self.one("vln", self._base(base), "f32"),
        )
        return self.op("vdiv", top, bottom, "f32")

    def _base(self, base: float) -> Operand:
        return self.emit.fill_here(Scalar("f32", f"base {base}"), self.shape, "f32")

    def rsqrt(self, a: Operand) -> Operand:
        return self.reciprocal(self.one("vsqrt", a, "f32"))

    def tanh(self, a: Operand) -> Operand:
        """NormalizeTanhOp: (exp 2x - 1) / (exp 2x + 1), x clipped."""
        e = self.one("vexp", self.muls(self.clip(a), "f32"), "f32")
        return self.op("vdiv", self.adds(e, "f32"), self.adds(e, "f32"), "f32")

    def erf(self, a: Operand) -> Operand:
        """NormalizeErfOp: a quotient of two polynomials in x * x, x clipped."""
        x = self.clip(a)
        square = self.op("vmul", x, x, "f32")
        top = self._polynomial(self.muls(square, "f32"), square, 5)
        top = self.op("vmul", x, top, "f32")
        return self.op("vdiv", top, self._polynomial(square, square, 5), "f32")

    def _polynomial(self, start: Operand, square: Operand, terms: int) -> Operand:
        """genPolyExpr without the last multiplication."""
        result = start
        for i in range(terms):
            result = self.adds(result, "f32")
            if i != terms - 1:
                result = self.op("vmul", result, square, "f32")
        return result

    def round(self, a: Operand) -> Operand:
        """A rounding cast f32 -> f32: floor, ceil, trunc, round."""
        if isinstance(a, Scalar):
            return a
        tile = self.emit.full(a, self.shape)
        return self.emit.step("vcast", [tile], self.shape, "f32", Reuse.CAST)

    def trigonometric(self, a: Operand, cosine: bool) -> Operand:
        """NormalizeTrigBase with NormalizeSinOp or NormalizeCosOp."""
        turns = self.muls(a, "f32")
        shifted = self.adds(turns, "f32") if cosine else turns
        small = self.muls(turns, "f32")
        rounded = self.round(shifted)
        coarse = self.muls(self.round(small), "f32")
        fine = self.op("vsub", rounded, coarse, "f32")
        x = a
        for i in range(4):
            x = self.op("vsub", x, self.muls(coarse, "f32"), "f32")
            if cosine and i == 1:
                x = self.adds(x, "f32")
            x = self.op("vsub", x, self.muls(fine, "f32"), "f32")
        if cosine:
            x = self.adds(x, "f32")
        floor4 = self.muls(self.round(self.muls(rounded, "f32")), "f32")
        sign = self.adds(self.op("vadd", floor4, self.muls(rounded, "f32"), "f32"), "f32")
        square = self.op("vmul", x, x, "f32")
        result = self.adds(self.muls(square, "f32"), "f32")
        for _ in range(3):
            result = self.adds(self.op("vmul", result, square, "f32"), "f32")
        result = self.op("vmul", self.op("vmul", result, x, "f32"), sign, "f32")
        return self.clip(result) if cosine else result

    # -- integers --------------------------------------------------------------------

    def widen(self, a: Operand, dtype: str) -> Operand:
        """NormalizeCastLoweringOp: the chain of hardware casts between two types."""
        if isinstance(a, Scalar):
            return Scalar(dtype, a.value)
        for target in cast_chain(a.dtype, dtype):
            if target == "cmp0":
                a = self.emit.test([self.emit.full(a, self.shape)], self.shape, negate=True)
            else:
                a = self.emit.widened(a, target)
        return a

    def as_float(self, a: Operand) -> Operand:
        return self.widen(a, "f32")

    def int_compare(self, a: Operand, b: Operand, predicate: int) -> Operand:
        """NormalizeI8I32CmpOp: i32 order tests are max and an equality; i8 goes by f16."""
        dtype = a.dtype
        if predicate == 1 and is_constant(b, 0) and dtype in ("i16", "i32", "i64"):
            return self.widen(a, "i1")  # NormalizeCmpToCastOp
        if dtype == "i64":
            tiles = [self.emit.full(x, self.shape, dtype) for x in (a, b)]
            return self.emit.step("vcmp", tiles, self.shape, "i8", Reuse.ELEMENTWISE)
        if dtype == "i8":
            a, b = self.widen(a, "f16"), self.widen(b, "f16")
        elif dtype in ("i32",) and predicate in (2, 3, 4, 5):
            best = self.op("vmax", a, b, dtype)
            other = a if predicate in (2, 5) else b
            if predicate in (2, 4) and is_constant(other, 0):
                return self.widen(best, "i1")  # NormalizeCmpToCastOp again
            return self.emit.compare(best, other, self.shape, negate=predicate in (2, 4))
        elif dtype == "i32" and predicate > 5:
            a, b = self.widen(a, "i64"), self.widen(b, "i64")
        return self.emit.compare(a, b, self.shape, negate=predicate == 1)

    def int_division(self, a: Operand, b: Operand, dtype: str, floor: bool = False) -> Operand:
        """divWithRoundMode: through f32, and back with a truncating cast."""
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            return Scalar(dtype)
        if dtype == "i64":
            return self.emit.step("vdiv", [a, b], self.shape, dtype, Reuse.ELEMENTWISE)
        quotient = self.div(self.as_float(a), self.as_float(b), "f32")
        return self.widen(self.round(quotient) if floor else quotient, dtype)

    def remainder(self, a: Operand, b: Operand, dtype: str) -> Operand:
        """NormalizeModOp."""
        if isinstance(a, Scalar) and isinstance(b, Scalar):
            return Scalar(dtype)
        if dtype in ("i32", "i64"):
            result = self.emit.step("vmod", [a, b], self.shape, dtype, Reuse.ELEMENTWISE)
            divisor = self.emit.full(b, self.shape, dtype)
            if dtype == "i64":
                test = self.emit.step("vcmp", [divisor], self.shape, "i8", Reuse.ELEMENTWISE)
            else:
                test = self.emit.test([divisor], self.shape)
            return self.emit.select(test, Scalar(dtype, -1), result, self.shape, dtype)
        x, y = self.as_float(a), self.as_float(b)
        quotient = self.round(self.div(x, y, "f32"))
        return self.widen(self.sub(x, self.op("vmul", y, quotient, "f32"), "f32"), dtype)

    def wrapped_byte(self, a: Operand) -> Operand:
        """f16 to i8 as integers overflow (handleTruncOverFlowMode): a remainder by 256."""
        shifted = self.adds(a, "f16")
        quotient = self.op("vdiv", self.emit.cast(shifted, "f32"), self.const("f32", 2.5), "f32")
        whole = self.emit.cast(self.round(quotient), "f16")
        rest = self.op("vsub", shifted, self.muls(whole, "f16"), "f16")
        return self.emit.cast(self.adds(rest, "f16"), "i8")

    def absolute(self, a: Operand, dtype: str) -> Operand:
        """Integer abs: max(x, not x + 1); i64 has an instruction, i8 goes by f16."""
        if dtype == "i64":
            return self.one("vabs", a, dtype)
        if dtype == "i8":
            return self.wrapped_byte(self.one("vabs", self.widen(a, "f16"), "f16"))
        return self.op("vmax", a, self.adds(self.one("vnot", a, dtype), dtype), dtype)

    def xor(self, a: Operand, b: Operand, dtype: str) -> Operand:
        """NormalizeXorOp: (not (x and y)) and (x or y)."""
        a, b = self._bits(a, dtype), self._bits(b, dtype)
        both = self.op("vand", a, b, dtype)
        either = self.op("vor", a, b, dtype)
        return self.op("vand", self.one("vnot", both, dtype), either, dtype)

    def _bits(self, a: Operand, dtype: str) -> Operand:
        return self.emit.as_tile(a, self.shape, dtype)

    def bitwise(self, name: str, a: Operand, b: Operand, dtype: str) -> Operand:
        """Bit operations take no scalar: a constant is filled first."""
        return self.op(name, self._bits(a, dtype), self._bits(b, dtype), dtype)


def cast_chain(source: str, target: str) -> tuple[str, ...]:
    """The casts that take `source` to `target`, in order ("cmp0": a test against zero)."""
    if source == target:
        return ()
    if target == "i1":
        middle = {
            "i8": ("f16",),
            "i16": ("f16",),
            "i32": ("f32",),
            "i64": ("f32",),
            "bf16": ("f32",),
        }
        return (*middle.get(source, ()), "cmp0")
    if source == "i8":
        return {
            "i64": ("f16", "f32", "i64"),
            "f32": ("f16", "f32"),
            "i32": ("f16", "i32"),
            "i16": ("f16", "i16"),
            "bf16": ("f16", "f32", "bf16"),
        }.get(target, (target,))
    if source == "i1":
        return {"i64": ("f32", "i64"), "i8": ("f16", "i8")}.get(target, (target,))
    if source == "i16" and target in ("i64", "i32"):
        return ("f32", target)
    if source in ("i32", "i64", "i16") and target == "bf16":
        return ("f32", "bf16")
    if source in ("i64", "i32") and target == "f16":
        return ("f32", "f16")
    if source in ("f32", "bf16", "f16") and target == "i16":
        return ("i32", "i16")
    if target == "i8":
        return {"f32": ("i32", "i8"), "bf16": ("f32", "i32", "i8"), "i64": ("i32", "i8")}.get(
            source, ("i8",)
        )
    if source == "i64" and target == "i16":
        return ("i32", "i16")
    if {source, target} == {"f16", "bf16"}:
        return ("f32", target)
    if source == "bf16" and target != "f32":
        return ("f32", target)
    return (target,)


Expansion = Callable[[Maths, Sequence[Operand], str], Operand]

"""Elementwise TTIR operations: their operands, the type they compute in, their expansion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ascend_autotune.analysis.ir import Operation
from ascend_autotune.analysis.plan.demand import the_same, untruncated
from ascend_autotune.analysis.plan.maths import Maths, is_constant
from ascend_autotune.analysis.plan.program import Operand, Scalar, Tile

if TYPE_CHECKING:
    from ascend_autotune.analysis.plan.lower import Lowering

Args = list[Operand]
Rule = Callable[[Maths, Args, str, Operation], Operand]


def lower(low: Lowering, op: Operation) -> None:
    """Lay out one elementwise operation; an unknown one is noted and given a tile."""
    result = op.result
    shape, dtype = low.shape(result), result.type.dtype
    same = the_same(op)
    if same is not None and shape:
        low.set(result, low.get(same))
        return
    args = [low.get(v) for v in op.operands]
    if not shape:
        low.env[result] = Scalar(dtype)
        return
    if op.name == "arith.truncf" and untruncated(op) is not op.operands[0]:
        low.set(result, low.get(untruncated(op)))
        return
    maths = Maths(low.emit, shape)
    rule = _RULES.get(op.name)
    if rule is _extern and not _known_extern(op):
        rule = None
    if rule is None:
        low.unknown(op, "no rule for this operation")
        for operand in args:
            if not isinstance(operand, Scalar):
                low.emit.touch(operand)
        tile = low.emit.step(op.name, [], shape, dtype)
        tile.buffer.sure = False
        low.env[result] = tile
        return
    if op.name in _FLOAT:
        low.set(result, _float(low, maths, op, args, dtype, rule))
    else:
        low.set(result, rule(maths, args, dtype, op))


def _float(
    low: Lowering, maths: Maths, op: Operation, args: Args, dtype: str, rule: Rule
) -> Operand:
    """bf16 is computed in f32 (LegalizeBF16); f16 too where precision asks for it."""
    if all(isinstance(a, Scalar) for a in args):
        return Scalar(dtype, None, op.result)
    wide = dtype == "bf16" or (dtype == "f16" and op.name in _F16_BY_F32)
    if not wide:
        return rule(maths, args, dtype, op)
    computed = rule(maths, [maths.emit.widened(a, "f32") for a in args], "f32", op)
    if dtype == "bf16" and all(user.name in _READ_WIDE for user, _ in op.result.uses):
        return computed
    narrow = maths.emit.cast(computed, dtype)
    # ext(trunc(x)) folds to x (NormalizetruncfExtf): later wide uses read the f32 tile.
    if not isinstance(narrow, Scalar):
        maths.emit.remember(narrow, "f32", computed)
    return narrow


def _binary(name: str) -> Rule:
    return lambda m, a, dtype, op: m.op(name, a[0], a[1], dtype)


def _unary(name: str) -> Rule:
    return lambda m, a, dtype, op: m.one(name, a[0], dtype)


def _extreme(name: str) -> Rule:
    return lambda m, a, dtype, op: m.extreme(name, a[0], a[1], dtype)


def _divf(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    quotient = m.div(a[0], a[1], dtype)
    if is_constant(a[0], 1.0) and not isinstance(a[1], Scalar):
        return m.emit.inverse(quotient, a[1])
    return quotient


def _mulhi(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    """vmulext (MulhiUIOpConverter): both halves of the product are written."""
    if all(isinstance(x, Scalar) for x in a):
        return Scalar(dtype)
    tiles = [m.emit.full(x, m.shape, dtype) for x in a]
    high = m.emit.step("vmulext", tiles, m.shape, dtype)
    m.emit.program.steps[-1].also = m.emit.buffer(m.shape, dtype)
    return high


def _negf(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    return m.negative(a[0], dtype)


def _exp2(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    return m.one("vexp", m.muls(a[0], dtype), dtype)


def _log(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    return m.one("vln", a[0], dtype)


def _fma(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    return m.op("vadd", m.op("vmul", a[0], a[1], dtype), a[2], dtype)


def _clamp(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    low = m.extreme("vmin", a[0], a[2], dtype)
    return m.extreme("vmax", a[1], low, dtype)


def _cmpf(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    left, right = a
    source = left.dtype
    if source in ("bf16",):
        left, right = m.emit.widened(left, "f32"), m.emit.widened(right, "f32")
    # oeq 1, ogt 2, oge 3, olt 4, ole 5, one 6; une 13: the last two are inequalities
    return m.emit.compare(left, right, m.shape, negate=op.attrs.get("predicate") in (6, 13))


def _cmpi(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    predicate = op.attrs.get("predicate")
    return m.int_compare(a[0], a[1], predicate if isinstance(predicate, int) else 0)


def _select(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    condition, left, right = a
    if dtype == "i8":
        half = [m.widen(x, "f16") for x in (left, right)]
        return m.emit.cast(m.emit.select(condition, half[0], half[1], m.shape, "f16"), "i8")
    if dtype == "i1":
        half = [m.widen(x, "i16") for x in (left, right)]
        return m.widen(m.emit.select(condition, half[0], half[1], m.shape, "i16"), "i1")
    return m.emit.select(condition, left, right, m.shape, dtype)


def _convert(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    source = a[0]
    if isinstance(source, Scalar):
        return Scalar(dtype, source.value, op.result)
    known = m.emit.remembered(source, dtype)
    return known if known is not None else m.widen(source, dtype)


def _add_int(name: str) -> Rule:
    def rule(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
        if dtype == "i8":
            wide = [m.as_float(x) for x in a]
            return m.widen(m.op(name, wide[0], wide[1], "f32"), "i8")
        if name == "vsub":
            return m.sub(a[0], a[1], dtype)
        return m.op(name, a[0], a[1], dtype)

    return rule


def _extreme_int(name: str) -> Rule:
    def rule(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
        if dtype == "i8":
            half = [m.widen(x, "f16") for x in a]
            return m.wrapped_byte(m.op(name, half[0], half[1], "f16"))
        return m.op(name, a[0], a[1], dtype)

    return rule


def _div_int(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    return m.int_division(a[0], a[1], dtype)


def _rem(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    return m.remainder(a[0], a[1], dtype)


def _bits(name: str) -> Rule:
    return lambda m, a, dtype, op: m.bitwise(name, a[0], a[1], dtype)


def _xor(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    if is_constant(a[1], -1) or (dtype == "i1" and is_constant(a[1], 1)):
        return m.one("vnot", a[0], dtype)
    return m.xor(a[0], a[1], dtype)


def _shift(name: str) -> Rule:
    def rule(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
        if dtype == "i8":
            wide = [m.widen(x, "i16") for x in a]
            return m.widen(m.op(name, wide[0], wide[1], "i16"), "i8")
        return m.op(name, a[0], a[1], dtype)

    return rule


def _bitcast(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    source = a[0]
    if isinstance(source, Tile):
        return Tile(source.buffer, source.shape, dtype)
    return Scalar(dtype)


def _round(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    return m.round(a[0])


def _extern(m: Maths, a: Args, dtype: str, op: Operation) -> Operand:
    """libdevice: the functions whose expansion is known; the others are noted."""
    symbol = str(op.attrs.get("symbol", ""))
    wide = [m.emit.widened(x, "f32") for x in a]
    rule = next(rule for name, rule in _EXTERN.items() if name in symbol)
    return m.emit.cast(rule(m, wide), dtype)


def _known_extern(op: Operation) -> bool:
    symbol = str(op.attrs.get("symbol", ""))
    return any(name in symbol for name in _EXTERN)


_EXTERN: dict[str, Callable[[Maths, Args], Operand]] = {
    "rsqrt": lambda m, a: m.rsqrt(a[0]),
    "tanh": lambda m, a: m.tanh(a[0]),
    "erff": lambda m, a: m.erf(a[0]),
    "log2": lambda m, a: m.log_base(a[0], 2),
    "log10": lambda m, a: m.log_base(a[0], 10),
    "floor": lambda m, a: m.round(a[0]),
    "ceil": lambda m, a: m.round(a[0]),
    "trunc": lambda m, a: m.round(a[0]),
    "fabs": lambda m, a: m.one("vabs", a[0], "f32"),
    "sqrt": lambda m, a: m.one("vsqrt", a[0], "f32"),
    "relu": lambda m, a: m.one("vrelu", a[0], "f32"),
    "recip": lambda m, a: m.reciprocal(a[0]),
}

_F16_BY_F32 = frozenset(
    {
        "math.log", "math.log2", "math.log10", "math.rsqrt", "math.sin", "math.cos", "math.erf",
        "math.tanh", "math.floor", "math.ceil", "arith.remf",
    }
)  # fmt: skip
_FLOAT_RULES: dict[str, Rule] = {
    "arith.addf": _binary("vadd"),
    "arith.subf": lambda m, a, dtype, op: m.sub(a[0], a[1], dtype),
    "arith.mulf": lambda m, a, dtype, op: m.mul(a[0], a[1], dtype),
    "arith.divf": _divf,
    "tt.precise_divf": _divf,
    "arith.negf": _negf,
    "arith.maximumf": _binary("vmax"),
    "arith.minimumf": _binary("vmin"),
    "arith.maxnumf": _extreme("vmax"),
    "arith.minnumf": _extreme("vmin"),
    "arith.remf": _rem,
    "math.exp": _unary("vexp"),
    "math.exp2": _exp2,
    "math.log": _log,
    "math.log2": lambda m, a, dtype, op: m.log_base(a[0], 2),
    "math.log10": lambda m, a, dtype, op: m.log_base(a[0], 10),
    "math.sqrt": _unary("vsqrt"),
    "tt.precise_sqrt": _unary("vsqrt"),
    "math.rsqrt": lambda m, a, dtype, op: m.rsqrt(a[0]),
    "math.absf": _unary("vabs"),
    "math.floor": _round,
    "math.ceil": _round,
    "math.erf": lambda m, a, dtype, op: m.erf(a[0]),
    "math.tanh": lambda m, a, dtype, op: m.tanh(a[0]),
    "math.sin": lambda m, a, dtype, op: m.trigonometric(a[0], False),
    "math.cos": lambda m, a, dtype, op: m.trigonometric(a[0], True),
    "math.fma": _fma,
    "tt.clampf": _clamp,
}
_FLOAT = frozenset(_FLOAT_RULES)
# Operations that read a bf16 value in f32 whatever it was made of.
_READ_WIDE = _FLOAT | {"arith.cmpf", "arith.extf", "tt.reduce"}
_RULES: dict[str, Rule] = {
    **_FLOAT_RULES,
    "arith.cmpf": _cmpf,
    "arith.cmpi": _cmpi,
    "arith.select": _select,
    "arith.extf": _convert,
    "arith.truncf": _convert,
    "tt.fp_to_fp": _convert,
    "arith.sitofp": _convert,
    "arith.uitofp": _convert,
    "arith.fptosi": _convert,
    "arith.fptoui": _convert,
    "arith.extsi": _convert,
    "arith.extui": _convert,
    "arith.trunci": _convert,
    "arith.index_cast": _convert,
    "arith.addi": _add_int("vadd"),
    "arith.subi": _add_int("vsub"),
    "arith.muli": _add_int("vmul"),
    "tt.mulhiui": _mulhi,
    "arith.maxsi": _extreme_int("vmax"),
    "arith.minsi": _extreme_int("vmin"),
    "arith.maxui": _extreme_int("vmax"),
    "arith.minui": _extreme_int("vmin"),
    "arith.divsi": _div_int,
    "arith.divui": _div_int,
    "arith.floordivsi": _div_int,
    "arith.ceildivsi": _div_int,
    "arith.remsi": _rem,
    "arith.remui": _rem,
    "arith.andi": _bits("vand"),
    "arith.ori": _bits("vor"),
    "arith.xori": _xor,
    "arith.shli": _shift("vshl"),
    "arith.shrsi": _shift("vshr"),
    "arith.shrui": _shift("vshr"),
    "math.absi": lambda m, a, dtype, op: m.absolute(a[0], dtype),
    "tt.bitcast": _bitcast,
    "arith.bitcast": _bitcast,
    "tt.extern_elementwise": _extern,
}

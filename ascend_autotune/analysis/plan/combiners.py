"""What a tt.reduce or tt.scan combines with, read off its body."""

from __future__ import annotations

from ascend_autotune.analysis.ir import Operation

_KINDS = {
    "arith.addf": "sum", "arith.addi": "sum",
    "arith.mulf": "prod", "arith.muli": "prod",
    "arith.maxnumf": "max", "arith.maximumf": "max", "arith.maxsi": "max", "arith.maxui": "max",
    "arith.minnumf": "min", "arith.minimumf": "min", "arith.minsi": "min", "arith.minui": "min",
    "arith.xori": "xor", "arith.ori": "or", "arith.andi": "and",
}  # fmt: skip


def combination(op: Operation) -> str | None:
    """`sum`, `max`, `argmax` ... for the combiners that have an instruction, else None."""
    body = op.body().ops
    if len(op.operands) == 1:
        named = [_KINDS[o.name] for o in body if o.name in _KINDS]
        rest = [o for o in body if o.name not in _KINDS and not o.name.endswith(".return")]
        casts = {"arith.extf", "arith.truncf", "arith.extsi", "arith.trunci"}
        return named[0] if len(named) == 1 and all(o.name in casts for o in rest) else None
    if len(op.operands) == 2:
        tests = {o.attrs.get("predicate") for o in body if o.name in ("arith.cmpf", "arith.cmpi")}
        if tests & {2, 4} and any(o.name == "arith.select" for o in body):
            floats = any(o.name == "arith.cmpf" for o in body)
            return "argmax" if (2 if floats else 4) in tests else "argmin"
    return None

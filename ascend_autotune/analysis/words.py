"""Operations of TTIR in the words of the kernel's author."""

from __future__ import annotations

import linecache
from collections.abc import Mapping

_WORDS: Mapping[str, str] = {
    "scf.for": "carried by the loop",
    "scf.while": "carried by the loop",
    "scf.if": "result of the branch",
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.subf": "subtract",
    "arith.subi": "subtract",
    "arith.mulf": "multiply",
    "arith.muli": "multiply",
    "arith.divf": "divide",
    "arith.divsi": "divide",
    "arith.divui": "divide",
    "arith.remsi": "modulo",
    "arith.remui": "modulo",
    "arith.remf": "modulo",
    "arith.negf": "negate",
    "arith.maximumf": "maximum",
    "arith.maxnumf": "maximum",
    "arith.maxsi": "maximum",
    "arith.maxui": "maximum",
    "arith.minimumf": "minimum",
    "arith.minnumf": "minimum",
    "arith.minsi": "minimum",
    "arith.minui": "minimum",
    "arith.select": "tl.where",
    "arith.cmpf": "compare",
    "arith.cmpi": "compare",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
    "arith.constant": "constant",
    "arith.extf": "cast",
    "arith.truncf": "cast",
    "arith.extsi": "cast",
    "arith.extui": "cast",
    "arith.trunci": "cast",
    "arith.sitofp": "cast",
    "arith.uitofp": "cast",
    "arith.fptosi": "cast",
    "arith.fptoui": "cast",
    "arith.bitcast": "bitcast",
    "tt.fp_to_fp": "cast",
    "tt.make_range": "tl.arange",
    "tt.broadcast": "broadcast",
    "tt.splat": "broadcast of a scalar",
    "tt.expand_dims": "[:, None]",
}


def operation_word(op: str) -> str:
    """`arith.mulf` is `multiply`, `tt.load` is `tl.load`, `math.exp2` is `exp2`."""
    if op in _WORDS:
        return _WORDS[op]
    dialect, dot, name = op.partition(".")
    if not dot:
        return op
    return f"tl.{name}" if dialect == "tt" else name if dialect in ("math", "arith") else op


def source_text(file: str, line: int) -> str:
    """The text of a source line, empty where it cannot be read."""
    return linecache.getline(file, line).strip() if line else ""

"""Triton's type notation, as a signature gives it: `*fp16`, `i32`, `i32:16`, `tensordesc<...>`."""

from __future__ import annotations

import re
from difflib import get_close_matches

from ascend_autotune.errors import RequestError

DIVISOR = 16
"""The one divisor that Triton specialises on (`triton/backends/compiler.py`, `tt.divisibility`)."""

# `triton.language.str_to_ty`, the same names on every flavour; `B` and `u1` are its aliases of i1.
SCALARS = (
    *("i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "B"),
    *("fp16", "bf16", "fp32", "fp64"),
    *("fp8e4nv", "fp8e5", "fp8e4b15", "fp8e4b8", "fp8e5b16"),
)
# What people write who come from MLIR, numpy or torch.
_SPELLINGS = {
    "f16": "fp16",
    "f32": "fp32",
    "f64": "fp64",
    "half": "fp16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float": "fp32",
    "float32": "fp32",
    "double": "fp64",
    "float64": "fp64",
    "int": "i32",
    "int1": "i1",
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
}
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[\s*\d+(\s*,\s*\d+)*\s*\]>")


def parse_type(name: str, text: object) -> tuple[str, bool]:
    """The bare type of argument `name`, and whether it is divisible by 16.

    Raises `RequestError` naming the closest type.
    """
    if not isinstance(text, str):
        raise RequestError(f"signature: {name} is {text!r}: give a type such as '*fp16' or 'i32'")
    bare, colon, divisor = text.strip().partition(":")
    bare = bare.strip()
    if colon and divisor.strip() != str(DIVISOR):
        raise RequestError(
            f"signature: {name} is {text!r}: only :{DIVISOR} (divisible by {DIVISOR}) may follow a "
            f"type; a value, such as a stride of 1, stands in constants"
        )
    descriptor = _DESCRIPTOR.fullmatch(bare)
    element = descriptor[1] if descriptor else bare.removeprefix("*").removeprefix("k")
    if bare.startswith("k") or element not in SCALARS:
        raise RequestError(f"signature: {name} has the unknown type {text!r}{_meant(bare)}")
    if colon and not bare.startswith("*") and not re.fullmatch(r"[iu]\d+", bare):
        raise RequestError(f"signature: {name} is {text!r}: only integers and pointers divide")
    return bare, bool(colon)


def is_descriptor(bare: str) -> bool:
    """Whether the type is a tensor descriptor, which only newer Triton takes as an argument."""
    return bare.startswith("tensordesc<")


def _meant(bare: str) -> str:
    star = "*" if bare.startswith("*") else ""
    element = bare.removeprefix("*")
    meant = _SPELLINGS.get(element.lower())
    if meant is None:
        close = get_close_matches(element.lower(), [s.lower() for s in SCALARS], 1, 0.6)
        meant = close[0] if close else None
    hint = f"; did you mean {star + meant!r}?" if meant else "."
    return f"{hint} Known: {', '.join(SCALARS)}, with * in front for a pointer"

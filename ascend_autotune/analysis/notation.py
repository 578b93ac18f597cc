"""MLIR's notation for types, attributes and bracketed lists, read into plain values."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from functools import lru_cache

from ascend_autotune.analysis.ir import Type
from ascend_autotune.errors import AnalysisError

_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{2})|(.))")
_OPENERS, _CLOSERS = "<({[", ">)}]"


def matching(text: str, start: int) -> int:
    """Index of the bracket that closes the one at `start`; skips strings and `->`."""
    depth, i, n = 0, start, len(text)
    while i < n:
        char = text[i]
        if char == '"':
            i += 1
            while text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif char in _OPENERS:
            depth += 1
        elif char in _CLOSERS and not (char == ">" and text[i - 1] == "-"):
            depth -= 1
            if depth == 0:
                return i
        i += 1
    raise AnalysisError(f"unbalanced brackets in TTIR: {text[:120]}")


def split(text: str) -> list[str]:
    """Split at the commas that stand outside every bracket and string."""
    parts, depth, start, i, n = [], 0, 0, 0, len(text)
    while i < n:
        char = text[i]
        if char == '"':
            i += 1
            while text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif char in _OPENERS:
            depth += 1
        elif char in _CLOSERS and not (char == ">" and text[i - 1] == "-"):
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
        i += 1
    last = text[start:].strip()
    if last:
        parts.append(last)
    return parts


def split_at(text: str) -> tuple[str, str]:
    """`A at B` of a call-site location, at the outermost ` at `."""
    depth, quoted = 0, False
    for i, char in enumerate(text):
        if char == '"' and (i == 0 or text[i - 1] != "\\"):
            quoted = not quoted
        elif quoted:
            continue
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == " " and depth == 0 and text.startswith(" at ", i):
            return text[:i], text[i + 4 :]
    return text, ""


def cut_location(text: str) -> tuple[str, str | None]:
    """Cut the trailing ` loc(...)` off, at nesting depth 0."""
    if not text.endswith(")"):
        return text, None
    start = text.rfind(" loc(")
    if start < 0:
        if not text.startswith("loc("):
            return text, None
        return "", text[4:-1]
    return text[:start].rstrip(), text[start + 5 : -1]


@lru_cache(maxsize=4096)
def function_results(text: str) -> tuple[str, ...]:
    """Result types of ` : (operands) -> results`."""
    open_at = text.index("(")
    result = text[matching(text, open_at) + 1 :].strip().removeprefix("->").strip()
    if result.startswith("("):
        return tuple(split(result[1:-1]))
    return (result,)


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type:
    """`tensor<32x!tt.ptr<f16>>`, `!tt.ptr<tensor<64x64xf16>>`, `i32` ... as a `Type`."""
    if text.startswith("tensor<"):
        dims = []
        rest = text[len("tensor<") : -1]
        while match := re.match(r"(\d+)x", rest):
            dims.append(int(match[1]))
            rest = rest[match.end() :]
        element = parse_type(rest.split(",")[0] if not rest.startswith("!") else rest)
        return Type(tuple(dims), element.dtype, element.pointee)
    if text.startswith("!tt.ptr<"):
        pointee = parse_type(split(text[len("!tt.ptr<") : -1])[0])
        return Type((), f"ptr<{pointee}>", pointee)
    if text.startswith("!tt.tensordesc<"):
        inner = split(text[len("!tt.tensordesc<") : -1])[0]
        # Triton 3.9 writes the tile bare: !tt.tensordesc<64x64xf16>.
        pointee = parse_type(inner if inner.startswith("tensor<") else f"tensor<{inner}>")
        return Type((), f"desc<{pointee}>", pointee)
    return Type((), text)


@lru_cache(maxsize=8192)
def parse_attributes(text: str) -> Mapping[str, object]:
    """The inside of an attribute dictionary; a unit attribute reads as True."""
    found: dict[str, object] = {}
    for part in split(text):
        name, equals, value = part.partition(" = ")
        found[name.strip('"')] = _attribute(value) if equals else True
    return found


def _attribute(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    first = text[0]
    if first == '"':
        return _string(text)
    if first == "{":
        return parse_attributes(text[1:-1])
    if first == "[":
        return tuple(_attribute(part) for part in split(text[1:-1]))
    if text.startswith("dense<"):
        end = matching(text, len("dense"))
        dtype = parse_type(text[end + 1 :].removeprefix(" : ")).dtype
        return _elements(text[len("dense<") : end], dtype)
    if text.startswith("array<"):
        return tuple(_number(v) for v in text[6:-1].partition(":")[2].split(",") if v.strip())
    number, _, dtype = text.partition(" : ")
    return _number(number, dtype)


def _elements(text: str, dtype: str) -> object:
    """A splat as one number; listed elements as nested tuples; raw bytes as their text."""
    if text.startswith("["):
        return tuple(_elements(part, dtype) for part in split(text[1:-1]))
    return _number(text, dtype)


def _string(text: str) -> str:
    end = 1
    while text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    return _ESCAPE.sub(_unescape, text[1:end])


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2]


# Infinities and NaNs are printed as the bits of the float.
_FLOATS: Mapping[str, tuple[str, str]] = {"f16": ("H", "e"), "f32": ("I", "f"), "f64": ("Q", "d")}


def _number(text: str, dtype: str = "") -> object:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("0x") and dtype in (*_FLOATS, "bf16"):
        bits = int(text, 16) << 16 if dtype == "bf16" else int(text, 16)
        integer, real = _FLOATS["f32" if dtype == "bf16" else dtype]
        return float(struct.unpack(real, struct.pack(integer, bits))[0])
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text

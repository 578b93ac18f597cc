"""Random small kernels as a Hypothesis strategy: elementwise, reduction and dot graphs.

Each has one size that grows (`B`), so that a tile can be found that no longer fits.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

_TYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "i8": "int8"}
_POINTERS = {"f32": "*fp32", "f16": "*fp16", "bf16": "*bf16", "i32": "*i32", "i8": "*i8"}
_FLOATS = ("f32", "f16", "bf16")
_CASTS = {"f32": ("f16", "bf16", "i32"), "f16": ("f32",), "bf16": ("f32",), "i32": ("f32",)}
_MATHS = ("exp", "log", "sqrt", "abs", "sigmoid", "sin", "rsqrt", "exp2")  # sigmoid and so on: f32
_ANY_FLOAT = ("exp", "log", "sqrt", "abs")
_HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
_HELD = tempfile.TemporaryDirectory(prefix="ascend-autotune-kernels-")


@dataclass(frozen=True)
class RandomKernel:
    """A source text with what it is called with; `B` is left open, `sizes` are worth trying."""

    family: str
    source: str
    signature: Mapping[str, str]
    constants: Mapping[str, Any]
    sizes: tuple[int, ...]

    @property
    def function(self) -> Any:
        """The JITFunction: Triton reads a kernel's source from a file."""
        return _load(self.source)

    def given(self, size: int) -> dict[str, Any]:
        """The constants with this size."""
        return {**self.constants, "B": size}


@cache
def _load(source: str) -> Any:
    file = Path(_HELD.name) / f"kernel_{len(list(Path(_HELD.name).iterdir()))}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module.kernel


@dataclass
class _Text:
    """The lines of a kernel that is being written, and its pointers."""

    draw: st.DrawFn
    lines: list[str] = field(default_factory=list)
    pointers: dict[str, str] = field(default_factory=dict)
    pad: str = ""
    names: int = 0

    def line(self, text: str) -> None:
        self.lines.append(self.pad + text)

    def put(self, text: str) -> str:
        self.names += 1
        name = f"v{self.names}"
        self.line(f"{name} = {text}")
        return name

    def pointer(self, dtype: str) -> str:
        name = f"p{len(self.pointers)}"
        self.pointers[name] = _POINTERS[dtype]
        return name

    def choose(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def load(self, dtype: str, offsets: str, mask: str) -> str:
        other = self.choose("", ", other=0") if mask else ""
        where = f", mask={mask}{other}" if mask else ""
        return self.put(f"tl.load({self.pointer(dtype)} + {offsets}{where})")

    def store(self, dtype: str, value: str, offsets: str, mask: str) -> None:
        where = f", mask={mask}" if mask else ""
        self.line(f"tl.store({self.pointer(dtype)} + {offsets}, {value}{where})")

    def chain(self, first: str, dtype: str, steps: int) -> tuple[str, str]:
        """Instructions on tiles of one shape; each reads the last value, some an earlier one."""
        known = {dtype: [first]}
        value = first
        for _ in range(steps):
            value, dtype = self._step(value, dtype, known)
            known.setdefault(dtype, []).append(value)
        return value, dtype

    def _step(self, value: str, dtype: str, known: Mapping[str, list[str]]) -> tuple[str, str]:
        earlier = self.choose(*known[dtype])
        kinds = ["binary", "scalar", "select", *(("unary",) if dtype in _FLOATS else ("bits",))]
        kind = self.choose(*kinds, "cast")
        if kind == "cast":
            to = self.choose(*_CASTS[dtype])
            return self.put(f"{value}.to(tl.{_TYPES[to]})"), to
        if kind == "unary":
            name = self.choose(*(_MATHS if dtype == "f32" else _ANY_FLOAT))
            return self.put(f"tl.{name}({value})"), dtype
        if kind == "bits":
            return self.put(f"{value} {self.choose('&', '|')} {earlier}"), dtype
        if kind == "select":
            return self.put(f"tl.where({value} > {earlier}, {earlier}, {value})"), dtype
        if kind == "scalar":
            number = self.choose("2", "3") + (".0" if dtype in _FLOATS else "")
            return self.put(f"{value} {self.choose('+', '*', '-')} {number}"), dtype
        text = self.choose("{} + {}", "{} * {}", "tl.maximum({}, {})", "{} - {}")
        return self.put(text.format(value, earlier)), dtype

    def kernel(
        self, family: str, constants: Mapping[str, Any], sizes: tuple[int, ...], *integers: str
    ) -> RandomKernel:
        searched = ", ".join(f"{name}: tl.constexpr" for name in (*constants, "B"))
        head = f"def kernel({', '.join((*self.pointers, *integers))}, {searched}):\n"
        body = "\n".join("    " + line for line in self.lines)
        signature = {**self.pointers, **dict.fromkeys(integers, "i32")}
        return RandomKernel(family, f"{_HEAD}{head}{body}\n", signature, constants, sizes)


_LONG = (1024, 2048, 4096, 8192, 16384, 32768, 65536)
_WIDE = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
_DOTS = (16, 32, 64, 128, 256, 512, 1024)


@st.composite
def elementwise(draw: st.DrawFn) -> RandomKernel:
    """A chain on a vector, in a loop or not, with a running total or not."""
    text = _Text(draw)
    dtype = text.choose("f32", "f32", "f16", "bf16", "i32")
    loop, total = draw(st.booleans()), draw(st.booleans())
    text.line("o = tl.program_id(0) * B + tl.arange(0, B)")
    if loop:
        if total:
            text.line("total = tl.zeros([B], tl.float32)")
        text.line("for i in range(0, n, B):")
        text.pad = "    "
        text.line("o = i + tl.arange(0, B)")
    text.line("m = o < n")
    value, last = text.chain(text.load(dtype, "o", "m"), dtype, draw(st.integers(1, 5)))
    if loop and total:
        text.line(f"total += {value}.to(tl.float32)")
        text.pad, value, last = "", "total", "f32"
        text.line("o = tl.arange(0, B)")
        text.line("m = o < n")
    text.store(last, value, "o", "m")
    return text.kernel("elementwise", {}, _LONG, "n")


@st.composite
def reductions(draw: st.DrawFn) -> RandomKernel:
    """A tile reduced along rows or columns: the result stored, or taken off the tile again."""
    text = _Text(draw)
    dtype = text.choose("f32", "f32", "f16", "bf16")
    rows = text.choose(1, 2, 4, 8, 16, 32, 64)
    text.line("rm = tl.program_id(0) * M + tl.arange(0, M)")
    text.line("rn = tl.arange(0, B)")
    mask = text.choose("(rm[:, None] < n) & (rn[None, :] < n)", "rn[None, :] < n", "")
    offsets = "rm[:, None] * s + rn[None, :]"
    value = text.put(f"{text.load(dtype, offsets, mask)}.to(tl.float32)")
    if draw(st.booleans()):
        value = text.put(f"{value} * {text.load('f32', 'rn', '')}[None, :]")
    value, last = text.chain(value, "f32", draw(st.integers(0, 2)))
    if last != "f32":
        value = text.put(f"{value}.to(tl.float32)")
    axis, kept, along = text.choose(
        (1, "rm", "[:, None]"), (1, "rm", "[:, None]"), (0, "rn", "[None, :]")
    )
    found = text.put(f"tl.{text.choose('sum', 'max', 'min')}({value}, {axis})")
    if draw(st.booleans()):
        text.store("f32", found, kept, f"{kept} < n")
    else:
        sign = text.choose("-", "*", "/")
        value, last = text.chain(
            text.put(f"{value} {sign} {found}{along}"), "f32", draw(st.integers(0, 2))
        )
        text.store(last, value, offsets, mask)
    return text.kernel("reduction", {"M": rows}, _WIDE, "n", "s")


@st.composite
def dots(draw: st.DrawFn) -> RandomKernel:
    """A product of two tiles, summed over a loop or not, with vector work after it or not."""
    text = _Text(draw)
    dtype = text.choose("f16", "bf16", "f32")
    constants = {"N": text.choose(16, 32, 64, 128), "K": text.choose(16, 32, 64, 128)}
    text.line("rm = tl.program_id(0) * B + tl.arange(0, B)")
    text.line("rn = tl.program_id(1) * N + tl.arange(0, N)")
    text.line("rk = tl.arange(0, K)")
    loop = draw(st.booleans())
    if loop:
        text.line("acc = tl.zeros([B, N], tl.float32)")
        text.line("for k in range(0, n, K):")
        text.pad = "    "
    shift = " + k" if loop else ""
    masked = draw(st.booleans())
    rows = "(rm[:, None] < n) & (rk[None, :] < n)" if masked else ""
    cols = "(rk[:, None] < n) & (rn[None, :] < n)" if masked else ""
    a = text.load(dtype, f"rm[:, None] * s + (rk{shift})[None, :]", rows)
    b = text.load(dtype, f"(rk{shift})[:, None] * s + rn[None, :]", cols)
    if loop:
        text.line(f"acc += tl.dot({a}, {b})")
        text.pad = ""
        value = "acc"
    else:
        value = text.put(f"tl.dot({a}, {b})")
    value, last = text.chain(value, "f32", draw(st.integers(0, 2)))
    mask = "(rm[:, None] < n) & (rn[None, :] < n)" if masked else ""
    text.store(last, value, "rm[:, None] * s + rn[None, :]", mask)
    return text.kernel("dot", constants, _DOTS, "n", "s")


def kernels() -> st.SearchStrategy[RandomKernel]:
    """Any of the three families."""
    return st.one_of(elementwise(), reductions(), dots())

"""The footprint model on random small kernels: never stricter than the compiler, and monotone."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("triton")

from tracing import trace
from triton._C import libtriton

from ascend_autotune.analysis.assessing import judge_footprint
from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.footprint import measure
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.errors import AscendAutotuneError

CHIP = chip("Ascend910B3")
TYPES = {"f32": "*fp32", "f16": "*fp16", "i32": "*i32"}
UNARY = {
    "f32": (
        "tl.exp({})",
        "tl.log2({})",
        "tl.rsqrt({})",
        "tl.sigmoid({})",
        "tl.sin({})",
        "tl.abs({})",
        "{} + 0.0",
        "1.0 / {}",
    ),
    "f16": ("tl.exp({})", "tl.abs({})", "{} * 2.0", "{}.to(tl.float32).to(tl.float16)"),
    "i32": ("{} & 7", "{} // 3", "tl.abs({})", "{} * 5", "{}.to(tl.int8).to(tl.int32)"),
}
BINARY = ("{} + {}", "{} * {}", "tl.maximum({}, {})", "tl.where({} > {}, {}, {})")
_HELD = tempfile.TemporaryDirectory(prefix="ascend-autotune-kernels-")
FOLDER = Path(_HELD.name)
few = settings(max_examples=8, suppress_health_check=list(HealthCheck))


@st.composite
def kernels(draw: st.DrawFn) -> tuple[str, str]:
    """A source text and the element type: a chain of instructions on one tile, in a loop or not."""
    dtype = draw(st.sampled_from(sorted(TYPES)))
    loop = draw(st.booleans())
    lines = ["o = tl.program_id(0) * B + tl.arange(0, B)"]
    if loop:
        lines += ["for i in range(0, n, B):", "    o = i + tl.arange(0, B)"]
    pad = "    " if loop else ""
    lines += [f"{pad}m = o < n", f"{pad}v = tl.load(x + o, mask=m, other=0)", f"{pad}w = v"]
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            text = draw(st.sampled_from(UNARY[dtype])).format("w")
        else:
            text = draw(st.sampled_from(BINARY)).format("w", "v", "v", "w")
        lines.append(f"{pad}w = {text}")
    lines.append(f"{pad}tl.store(y + o, w, mask=m)")
    body = "\n".join("    " + line for line in lines)
    head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    return f"{head}def kernel(x, y, n, B: tl.constexpr):\n{body}\n", dtype


@cache
def load(text: str) -> Any:
    """The kernel of a source text; triton reads its source from a file."""
    file = FOLDER / f"kernel_{len(list(FOLDER.iterdir()))}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module.kernel


def verdict(text: str, dtype: str, tile: int, multibuffer: bool = True) -> str:
    signature = {"x": TYPES[dtype], "y": TYPES[dtype], "n": "i32"}
    module = trace(load(text), signature, {"B": tile})
    options = CompileOptions.from_request({"multibuffer": multibuffer})
    return judge_footprint(measure(module, CHIP, options), CHIP)[0]


@given(kernels())
@few
def test_a_larger_tile_never_fits_where_a_smaller_one_cannot(kernel: tuple[str, str]) -> None:
    verdicts = [verdict(*kernel, tile) for tile in (2048, 4096, 8192, 16384, 32768, 65536)]
    first = verdicts.index("infeasible") if "infeasible" in verdicts else len(verdicts)
    assert all(found == "infeasible" for found in verdicts[first:])


@given(kernels(), st.sampled_from((False, True)))
@few
def test_what_the_compiler_accepts_is_never_infeasible(
    kernel: tuple[str, str], multibuffer: bool
) -> None:
    judge = _judge()
    refused = None
    for tile in (4096, 8192, 16384, 32768, 65536):
        if verdict(*kernel, tile, multibuffer) == "infeasible":
            refused = tile
            break
    if refused is None:
        return
    outcome = judge.ask(_text(kernel, refused), {"multibuffer": multibuffer})
    assert outcome.status not in ("fits", "fits_after_fallback"), kernel[0]


@cache
def _judge() -> Any:
    if not hasattr(libtriton, "ascend"):
        pytest.skip("the compiler takes triton-ascend's TTIR")
    from ascend_autotune.analysis.judge import Judge

    try:
        return Judge.find(CHIP)
    except AscendAutotuneError as error:
        pytest.skip(str(error))


def _text(kernel: tuple[str, str], tile: int) -> str:
    from ascend_autotune.analysis.kernel import make_instance
    from ascend_autotune.analysis.ttir import trace as trace_instance

    source, dtype = kernel
    signature = {"x": TYPES[dtype], "y": TYPES[dtype], "n": "i32"}
    return trace_instance(make_instance(load(source), signature, {"B": tile}, CHIP)).text

"""What the compiler may need less of than the model lays out is not taken for certain."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import triton
import triton.language as tl
from tracing import trace

from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.footprint import measure
from ascend_autotune.analysis.options import CompileOptions


@triton.jit
def softmax(x, o, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    v = tl.exp(v - tl.max(v, 0))
    tl.store(o + at, v / tl.sum(v, 0))


@triton.jit
def filled(x, o, n, B: tl.constexpr):
    """A tile of ones that the loop reads, and that the compiler may fill in every round."""
    at = tl.arange(0, B)
    for i in range(0, n):
        v = tl.load(x + i * B + at)
        tl.store(o + i * B + at, 1.0 / v + v)


def certain(kernel: Any, types: dict[str, str], constants: dict[str, int], **options: Any) -> int:
    """The bytes of the unified buffer that are certain, by what no attempt goes below."""
    asked = CompileOptions.from_request(options)
    return measure(trace(kernel, types, constants), chip("Ascend910_9382"), asked).bounds["ub"][0]


POINTERS = {"x": "*fp32", "o": "*fp32"}


@pytest.mark.parametrize(("saving", "tiles"), [(False, 1.5), (True, 1)])
def test_scratch_of_a_reduction_that_saving_makes_smaller(saving: bool, tiles: float) -> None:
    # Compiled: 147,488 bytes with the option, 196,640 without.
    found = certain(softmax, POINTERS, {"B": 32768}, enable_ubuf_saving=saving)
    assert found // 1024 == tiles * 128


@pytest.mark.parametrize(("saving", "tiles"), [(False, 3), (True, 2)])
def test_a_fill_that_saving_repeats_in_the_loop(saving: bool, tiles: int) -> None:
    types = {**POINTERS, "n": "i32"}
    found = certain(filled, types, {"B": 4096}, enable_ubuf_saving=saving, multibuffer=False)
    assert found // 1024 == tiles * 16

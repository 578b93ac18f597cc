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
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.footprint import measure
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.plan.programs import Programs


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


@triton.jit
def product(x, w, o, W: tl.constexpr):
    rows, inner, cols = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 64)
    a = tl.load(x + rows[:, None] * 64 + inner[None, :])
    b = tl.load(w + inner[:, None] * 64 + cols[None, :])
    value = tl.dot(a, b)
    if W == 0:
        half = value.to(tl.float16)
        value = (half * half).to(tl.float32)
    elif W == 1:
        value = value.to(tl.bfloat16).to(tl.float32)
    elif W == 2:
        value = tl.reshape(value, [64, 128]).to(tl.float16)
        value = tl.reshape(value, [128, 64]).to(tl.float32)
    tl.store(o + rows[:, None] * 64 + cols[None, :], value)


@pytest.mark.parametrize(("way", "size"), [(0, 8192 + 16384), (1, 8192 + 16384), (2, 16384)])
def test_a_product_arrives_in_the_type_it_is_cast_to(way: int, size: int) -> None:
    # The whole tile is 64 x 64 on one vector core; a cast behind a reshape may be taken in too.
    types = {"x": "*fp16", "w": "*fp16", "o": "*fp32"}
    assert certain(product, types, {"W": way}) <= size
    if way < 2:
        assert certain(product, types, {"W": way}) == size


@triton.jit
def chosen(x, o, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at)
    w = tl.exp(v)
    tl.store(o + at, tl.where(v > w, w, v))


def test_a_bf16_select_is_one_of_bf16() -> None:
    """Compiled: 49,152 bytes."""
    if not detect().ascend:
        pytest.skip("other Tritons take the exponential of fp32 and fp64 alone")
    assert certain(chosen, {"x": "*bf16", "o": "*fp32"}, {"B": 4096}) == 49152


@triton.jit
def unchanged(x, o, n, B: tl.constexpr):
    at = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    for i in range(0, n):
        v = tl.load(x + i * B + at)
        total += (tl.where(v > v, v, v) - v).to(tl.float32)
    tl.store(o + at, total)


@pytest.mark.parametrize(("type_", "tiles"), [("*i32", 1), ("*fp32", 2)])
def test_a_sum_that_nothing_is_added_to_is_not_carried(type_: str, tiles: int) -> None:
    types = {"x": type_, "o": "*fp32", "n": "i32"}
    assert certain(unchanged, types, {"B": 4096}, multibuffer=False) == tiles * 16384


@triton.jit
def equal_ranges(x, w, o, n):
    rows, cols = tl.arange(0, 64), tl.arange(0, 64)
    top = tl.zeros([64], tl.float32)
    a = tl.load(x + rows[:, None] * 64 + cols[None, :])
    for s in range(0, n, 64):
        b = tl.load(w + rows[:, None] * 64 + (s + cols)[None, :])
        top += tl.sum(tl.dot(a, b) + (s + cols)[None, :].to(tl.float32), 1)
    tl.store(o + rows, top)


def test_a_range_as_long_as_the_halved_rows_is_not_certain() -> None:
    module = trace(equal_ranges, {"x": "*fp16", "w": "*fp16", "o": "*fp32", "n": "i32"}, {})
    entries = Programs(module, CompileOptions({})).orders(doubled=False, code_motion=True)[0]["ub"]
    ranges = [
        buffer
        for entry in entries
        for buffer in entry.buffers
        if buffer.op is not None and buffer.op.name in ("tt.make_range", "arith.addi")
    ]
    assert ranges and not any(buffer.sure for buffer in ranges)


@triton.jit
def largest(x, o, B: tl.constexpr):
    at = tl.arange(0, B)
    v = tl.load(x + at).to(tl.float32)
    tl.store(o + at, tl.minimum(tl.maximum(v, v), v) + v)


def test_the_larger_of_a_value_and_itself_is_that_value() -> None:
    """Compiled: 24,576 bytes."""
    assert certain(largest, {"x": "*bf16", "o": "*fp32"}, {"B": 4096}) == 24576


@triton.jit
def one_row(x, o, s, B: tl.constexpr, LEFT: tl.constexpr):
    row, at = tl.arange(0, 1), tl.arange(0, B)
    v = tl.log(tl.load(x + row[:, None] * s + at[None, :]))
    low = tl.min(v, 1)[:, None]
    tl.store(o + row[:, None] * s + at[None, :], low * v if LEFT else v - low)


@pytest.mark.parametrize("left", [0, 1])
def test_a_tile_of_one_element_is_read_out(left: int) -> None:
    """Compiled: 288 bytes."""
    assert certain(one_row, {**POINTERS, "s": "i32"}, {"B": 64, "LEFT": left}) <= 288


@triton.jit
def silu_mul_backward(x, o, B: tl.constexpr):
    """The reciprocal is multiplied, and taken from one: -1 / d and 1 / d are made of d anew."""
    at = tl.arange(0, B)
    a, b, dc = tl.load(x + at), tl.load(x + B + at), tl.load(x + 2 * B + at)
    s = 1.0 / (1.0 + tl.exp(-a))
    tl.store(o + B + at, dc * a * s)
    tl.store(o + at, dc * b * s * (1.0 + a * (1.0 - s)))


def test_a_reciprocal_that_is_taken_from_one_is_no_tile() -> None:
    # Compiled at 10,240: 204,800 bytes, five tiles.
    assert certain(silu_mul_backward, POINTERS, {"B": 8192}, multibuffer=False) == 5 * 32768


@triton.jit
def sigmoid_backward(x, o, B: tl.constexpr):
    """1 - s and -s are made of one -1 / d."""
    at = tl.arange(0, B)
    a, d = tl.load(x + at), tl.load(x + B + at)
    s = 1.0 / (1.0 + tl.exp(-a))
    tl.store(o + at, (d * s) * (1.0 - s))
    tl.store(o + B + at, -s)


def test_two_differences_share_what_they_are_made_of() -> None:
    # Compiled at 14,336: 172,032 bytes, three tiles.
    assert certain(sigmoid_backward, POINTERS, {"B": 8192}, multibuffer=False) == 3 * 32768


@triton.jit
def normalised(x, o, B: tl.constexpr):
    """y * rsqrt(v) is y / sqrt(v)."""
    at = tl.arange(0, B)
    v, y = tl.load(x + at), tl.load(x + B + at)
    tl.store(o + at, y * tl.rsqrt(v))


def test_a_reciprocal_root_that_is_multiplied_is_no_tile() -> None:
    # Compiled at 24,576: two tiles fit, three would not.
    assert certain(normalised, POINTERS, {"B": 8192}, multibuffer=False) == 2 * 32768

"""Which vector work is shared out over two cores, and where that is not certain."""

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
def two_operands(x, w, o, K):
    """Both operands are computed: the compiler halves each along its own dimension."""
    rows, inner, cols = tl.arange(0, 256), tl.arange(0, 32), tl.arange(0, 128)
    acc = tl.zeros((256, 128), tl.float32)
    for start in range(0, K, 32):
        a = tl.load(x + rows[:, None] * K + (start + inner)[None, :]).to(tl.float32)
        a = tl.exp(a - tl.max(a, 0)[None, :])
        b = tl.exp(tl.load(w + (start + inner)[:, None] * 128 + cols[None, :]).to(tl.float32))
        acc += tl.dot(a.to(tl.float16), b.to(tl.float16))
    value = tl.sqrt(acc) + acc + tl.exp(acc)
    tl.store(o + rows[:, None] * 128 + cols[None, :], value.to(tl.float16))


@triton.jit
def folded(x, w, o, K, BOTH: tl.constexpr):
    """Folded along rows, and perhaps along columns too: then no dimension is left."""
    rows = tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 64):
        a = tl.load(x + rows[:, None] * K + (start + rows)[None, :])
        b = tl.load(w + (start + rows)[:, None] * 64 + rows[None, :])
        acc += tl.dot(a, b)
    acc = acc - tl.max(acc, 0)[None, :]
    if BOTH:
        acc = acc - tl.max(acc, 1)[:, None]
    tl.store(o + rows[:, None] * 64 + rows[None, :], acc.to(tl.float16))


@triton.jit
def in_place(x, w, o, K):
    rows = tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 64):
        a = tl.load(x + rows[:, None] * K + (start + rows)[None, :])
        b = tl.load(w + (start + rows)[:, None] * 64 + rows[None, :])
        acc += tl.dot(a, b)
    place = o + rows[:, None] * 64 + rows[None, :]
    tl.store(place, (acc + tl.load(place)).to(tl.float16))


def unified_buffer(kernel: Any, **constants: int) -> tuple[int, int]:
    """(low, high) of the last attempt."""
    types = {"x": "*fp16", "w": "*fp16", "o": "*fp16", "K": "i32"}
    module = trace(kernel, types, constants)
    return measure(module, chip("Ascend910B3"), CompileOptions({})).need["ub"]


def test_without_a_common_dimension_half_is_certain_and_the_whole_possible() -> None:
    """The compiler needs 131,072 bytes."""
    assert unified_buffer(two_operands) == (131072, 262144)


def test_a_dimension_that_is_folded_is_not_shared_out() -> None:
    low, high = unified_buffer(folded, BOTH=0)
    assert high < 2 * low
    low, high = unified_buffer(folded, BOTH=1)
    assert high >= 2 * low


def test_a_tile_that_is_read_and_written_again_may_be_kept_whole() -> None:
    low, high = unified_buffer(in_place)
    assert high >= 2 * low


@triton.jit
def strided_late(x, w, o, K, n, LATE: tl.constexpr):
    rows, inner = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 32):
        place = x + rows[:, None] + (start + inner)[None, :] * 4
        if LATE:
            a = tl.load(place, mask=(inner >= n)[None, :], other=0.0)
        else:
            a = tl.load(place, mask=(inner < n)[None, :], other=0.0)
        b = tl.load(w + (start + inner)[:, None] * 64 + rows[None, :])
        acc += tl.dot((a * 2.0).to(tl.float16), b)
    tl.store(o + rows[:, None] * 64 + rows[None, :], acc.to(tl.float16))


def test_a_strided_box_that_begins_late_may_arrive_dense() -> None:
    """The compiler needs 4,096 bytes there, and 69,632 where the box begins at the front."""
    types = {"x": "*fp16", "w": "*fp16", "o": "*fp16", "K": "i32", "n": "i32"}
    chips, options = chip("Ascend910B3"), CompileOptions({})
    low = [
        measure(trace(strided_late, types, {"LATE": late}), chips, options).need["ub"][0]
        for late in (0, 1)
    ]
    assert low[0] > 4096 >= low[1]


@triton.jit
def gated_state(x, w, g, o, WHOLE: tl.constexpr):
    rows, cols, inner = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 32)
    acc = tl.zeros((256, 128), tl.float32)
    for start in range(0, 64, 32):
        a = tl.load(x + rows[:, None] * 64 + (start + inner)[None, :])
        b = tl.load(w + (start + inner)[:, None] * 128 + cols[None, :])
        gate = tl.sum(tl.load(g + start + inner), 0)
        if WHOLE:
            gate += tl.sum(tl.sum(acc, 1), 0)
        acc = acc * gate + tl.dot(a, b)
    tl.store(o + rows[:, None] * 128 + cols[None, :], acc)


@pytest.mark.parametrize("whole", [False, True])
def test_a_number_made_of_other_data_keeps_nothing_whole(whole: bool) -> None:
    types = {"x": "*fp16", "w": "*fp16", "g": "*fp32", "o": "*fp32"}
    found = measure(
        trace(gated_state, types, {"WHOLE": whole}), chip("Ascend910B3"), CompileOptions({})
    )
    tile = 256 * 128 * 4
    assert (found.need["ub"][0] >= 2 * tile) == whole

"""Accesses that run element by element, and which tiles such a loop reads."""

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

from ascend_autotune.analysis.addressing import access_of
from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Module, Operation
from ascend_autotune.analysis.plan.scattered import (
    is_scattered,
    read_by_element,
    rows_are_strided,
)

TYPES = {"x": "*fp32", "index": "*i32", "y": "*fp32", "n": "i32", "s": "i32"}


@triton.jit
def gather(x, index, y, n, s, B: tl.constexpr):
    o = tl.arange(0, B)
    at = tl.load(index + o)
    tl.store(y + o, tl.load(x + at * 2 + 1))


@triton.jit
def gather_through_exp(x, index, y, n, s, B: tl.constexpr):
    o = tl.arange(0, B)
    at = tl.exp(tl.load(index + o).to(tl.float32)).to(tl.int32)
    tl.store(y + o, tl.load(x + at))


@triton.jit
def rows(x, index, y, n, s, B: tl.constexpr):
    o = tl.arange(0, B)
    c = tl.arange(0, 16)
    at = tl.load(index + o)
    tl.store(y + o[:, None] * 16 + c[None, :], tl.load(x + at[:, None] * n + c[None, :] * s))


@triton.jit
def few_in_a_row(x, index, y, n, s, B: tl.constexpr):
    o = tl.arange(0, B)
    c = tl.arange(0, 4)
    at = tl.load(index + o)
    tl.store(y + o[:, None] * 4 + c[None, :], tl.load(x + at[:, None] * n + c[None, :] * s))


@triton.jit
def dense_rows(x, index, y, n, s, B: tl.constexpr):
    o = tl.arange(0, B)
    c = tl.arange(0, 16)
    at = tl.load(index + o)
    tl.store(y + o[:, None] * 16 + c[None, :], tl.load(x + at[:, None] * n + c[None, :]))


def loads(kernel: Any) -> tuple[Module, list[Operation]]:
    module = trace(kernel, TYPES, {"B": 64})
    return module, [op for op in module.walk() if op.name == "tt.load"]


def test_what_follows_an_index_is_scattered_and_what_follows_a_stride_is_not() -> None:
    module, (index, gathered) = loads(gather)
    forms = Forms(module)
    assert not is_scattered(index, forms)
    assert is_scattered(gathered, forms)
    store = next(op for op in module.walk() if op.name == "tt.store")
    assert not is_scattered(store, forms)


def test_arithmetic_on_an_index_is_done_on_scalars() -> None:
    _, (index, gathered) = loads(gather)
    assert read_by_element(gathered.operands[0]) == [index.result]


def test_what_is_no_scalar_arithmetic_stays_a_tile() -> None:
    _, (index, gathered) = loads(gather_through_exp)
    (read,) = read_by_element(gathered.operands[0])
    assert read is not index.result
    assert read.op is not None and read.op.name == "math.exp"


def test_a_tile_that_is_read_twice_counts_once() -> None:
    _, (index, gathered) = loads(gather)
    pointer = gathered.operands[0]
    assert read_by_element(pointer, index.result, pointer) == [index.result]


@pytest.mark.parametrize(
    ("kernel", "strided"), [(rows, True), (dense_rows, False), (few_in_a_row, False)]
)
def test_rows_whose_elements_lie_apart(kernel: Any, strided: bool) -> None:
    module, (_, gathered) = loads(kernel)
    access = access_of(gathered, Forms(module))
    assert access is not None
    assert rows_are_strided(access, 32) is strided

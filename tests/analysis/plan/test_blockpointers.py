"""Block pointers whose `order` says how memory holds the tile."""

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
from ascend_autotune.analysis.plan.blockpointers import as_memory_has_it, memory_order

if not hasattr(tl, "make_block_ptr"):
    pytest.skip("this Triton has no block pointers", allow_module_level=True)


@triton.jit
def copied(x, y, n, FIRST: tl.constexpr, SECOND: tl.constexpr):
    source = tl.make_block_ptr(x, (n, 64), (1, n), (0, 0), (32, 16), (FIRST, SECOND))
    target = tl.make_block_ptr(y, (n, 64), (64, 1), (0, 0), (32, 16), (1, 0))
    tl.store(target, tl.load(source))


@triton.jit
def advanced(x, y, n, FIRST: tl.constexpr, SECOND: tl.constexpr):
    source = tl.make_block_ptr(x, (n, 64), (1, n), (0, 0), (32, 16), (FIRST, SECOND))
    total = tl.zeros((32, 16), tl.float32)
    for _ in range(0, n, 32):
        total += tl.load(source)
        source = tl.advance(source, (32, 0))
    target = tl.make_block_ptr(y, (n, 64), (64, 1), (0, 0), (32, 16), (1, 0))
    tl.store(target, total)


def load_of(kernel: Any, first: int, second: int) -> tuple[Module, Operation]:
    types = {"x": "*fp32", "y": "*fp32", "n": "i32"}
    try:
        module = trace(kernel, types, {"FIRST": first, "SECOND": second})
    except Exception as error:
        if "Block pointers have been removed" in f"{error} {error.__cause__}":
            pytest.skip("this Triton has no block pointers")
        raise
    return module, next(op for op in module.walk() if op.name == "tt.load")


@pytest.mark.parametrize("kernel", [copied, advanced])
def test_the_usual_order_is_none(kernel: Any) -> None:
    _, load = load_of(kernel, 1, 0)
    assert memory_order(load.operands[0]) is None


@pytest.mark.parametrize("kernel", [copied, advanced])
def test_a_turned_order_is_found_through_loops_and_advances(kernel: Any) -> None:
    _, load = load_of(kernel, 0, 1)
    assert memory_order(load.operands[0]) == (1, 0)


def test_a_turned_access_has_the_dimensions_of_memory() -> None:
    module, load = load_of(copied, 0, 1)
    access = access_of(load, Forms(module))
    assert access is not None and (access.shape, access.strides) == ((32, 16), (1, None))
    held = as_memory_has_it(access, (1, 0))
    assert (held.shape, held.strides) == ((16, 32), (None, 1))
    assert held.bounded == tuple(reversed(access.bounded))


def test_what_is_no_block_pointer_has_no_order() -> None:
    module, _ = load_of(copied, 1, 0)
    assert memory_order(module.kernel.body().args[2]) is None

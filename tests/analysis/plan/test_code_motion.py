"""What the compiler takes out of loops: the parts of an expansion that do not change in them."""

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

from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.plan.lower import lower_vector
from ascend_autotune.analysis.plan.program import Program


@triton.jit
def upper_rows(x, y, row, N, BLOCK: tl.constexpr):
    """The compared index changes from round to round, if only by the loop's counter."""
    for start in range(0, N, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        tile = tl.load(x + cols)
        tl.store(y + cols, tl.where(row <= cols, tile, 0.0))


@triton.jit
def same_rows(x, y, row, N, BLOCK: tl.constexpr):
    """The compared index is the same in every round."""
    index = tl.arange(0, BLOCK)
    for start in range(0, N, BLOCK):
        tile = tl.load(x + start + index)
        tl.store(y + start + index, tl.where(row <= index, tile, 0.0))


def program(kernel: Any) -> Program:
    types = {"x": "*fp32", "y": "*fp32", "row": "i32", "N": "i32"}
    module = trace(kernel, types, {"BLOCK": 256})
    return lower_vector(module, Forms(module))


def depth_of(program: Program, name: str) -> set[int]:
    return {len(step.scope) for step in program.steps if step.name == name}


def test_what_reads_the_counter_stays_in_its_loop() -> None:
    found = program(upper_rows)
    assert depth_of(found, "vcmp") == {1}


def test_what_reads_nothing_of_the_loop_leaves_it() -> None:
    found = program(same_rows)
    assert depth_of(found, "vcmp") == {0}

"""Early returns: what runs after one stands in the other arm, and arms meet where they join."""

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

from ascend_autotune.analysis.ir import Block, Module
from ascend_autotune.analysis.plan.branches import Fork, Part, incoming, parts_of
from ascend_autotune.analysis.reader import parse_module


@triton.jit
def straight(x, y, n, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y + o, tl.load(x + o) + 1)


@triton.jit
def early(x, y, n, B: tl.constexpr):
    o = tl.arange(0, B)
    if n == 0:
        return
    tl.store(y + o, tl.load(x + o) + 1)


@triton.jit
def twice(x, y, n, B: tl.constexpr):
    o = tl.arange(0, B)
    if n == 0:
        return
    value = tl.load(x + o)
    if n == 1:
        return
    tl.store(y + o, value * 2)


# Two arms that hand a value of their own to the block where they meet.
DIAMOND = """
"builtin.module"() ({
  "tt.func"() <{function_type = (f32, i1) -> (), sym_name = "k", sym_visibility = "public"}> ({
  ^bb0(%arg0: f32, %arg1: i1):
    "cf.cond_br"(%arg1)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()
  ^bb1:
    %0 = "arith.addf"(%arg0, %arg0) : (f32, f32) -> f32
    "cf.br"(%0)[^bb3] : (f32) -> ()
  ^bb2:
    %1 = "arith.mulf"(%arg0, %arg0) : (f32, f32) -> f32
    "cf.br"(%1)[^bb3] : (f32) -> ()
  ^bb3(%2: f32):
    %3 = "arith.subf"(%2, %arg0) : (f32, f32) -> f32
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
"""


def module(kernel: Any) -> Module:
    return trace(kernel, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"B": 64})


def shown(parts: tuple[Part, ...]) -> list[Any]:
    """The names of what matters in each block; a fork as a tuple of its arms."""
    wanted = ("tt.load", "tt.store", "arith.addf", "arith.mulf", "arith.subf")
    return [
        tuple(shown(arm) for arm in part.arms)
        if isinstance(part, Fork)
        else [op.name for op in part.ops if op.name in wanted]
        for part in parts
    ]


def test_a_function_of_one_block_is_one_part() -> None:
    (part,) = parts_of(module(straight).kernel)
    assert isinstance(part, Block)


def test_what_follows_an_early_return_stands_in_the_other_arm() -> None:
    first, fork = parts_of(module(early).kernel)[:2]
    assert isinstance(first, Block) and isinstance(fork, Fork)
    assert first.ops[-1] is fork.op
    arms = [repr(shown(arm)) for arm in fork.arms]
    assert sorted("tt.store" in arm for arm in arms) == [False, True]


def test_returns_nest() -> None:
    (fork,) = [part for part in parts_of(module(twice).kernel) if isinstance(part, Fork)]
    (long,) = [arm for arm in fork.arms if "tt.load" in repr(shown(arm))]
    (inner,) = [part for part in long if isinstance(part, Fork)]
    assert "tt.store" not in repr([shown((p,)) for p in long if isinstance(p, Block)])
    assert sum("tt.store" in repr(shown(arm)) for arm in inner.arms) == 1


def test_arms_that_meet_go_on_together() -> None:
    parts = parts_of(parse_module(DIAMOND).kernel)
    assert shown(parts) == [[], ([["arith.addf"]], [["arith.mulf"]]), ["arith.subf"]]


def test_each_arm_hands_its_value_over() -> None:
    kernel = parse_module(DIAMOND).kernel
    meeting = kernel.regions[0][-1]
    made = [value.op.name for value in incoming(meeting.args[0]) if value.op is not None]
    assert made == ["arith.addf", "arith.mulf"]
    assert incoming(kernel.body().args[0]) == []

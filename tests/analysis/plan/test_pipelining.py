"""The stages of mixed loops, as the compiler's IR has them after its CVPipelining pass.

Each expectation was read off `--mlir-print-ir-after=cv-pipelining` (ascendnpu-ir 1.2.0).
"""

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
from triton._C import libtriton

from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.footprint import Footprint, measure
from ascend_autotune.analysis.ir import Module
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.plan.attempts import layouts_of
from ascend_autotune.analysis.plan.cube import plan_cube
from ascend_autotune.analysis.plan.lower import lower_vector
from ascend_autotune.analysis.plan.program import Program
from ascend_autotune.analysis.plan.stages import Pipelined, pipeline


@triton.jit
def attention(q, k, v, o, sm, N, SHIFT: tl.constexpr):
    rows, cols, dims = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    queries = tl.load(q + rows[:, None] * 64 + dims[None, :])
    top = tl.full((64,), -float("inf"), tl.float32)
    total = tl.zeros((64,), tl.float32)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, N, 64):
        keys = tl.load(k + (start + cols)[:, None] * 64 + dims[None, :])
        scores = tl.dot(queries, tl.trans(keys)) * sm
        if SHIFT:
            scores = scores + (start + cols).to(tl.float32)[None, :]
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - new[:, None])
        decay = tl.exp(top - new)
        total = total * decay + tl.sum(p, 1)
        values = tl.load(v + (start + cols)[:, None] * 64 + dims[None, :])
        acc = acc * decay[:, None] + tl.dot(p.to(tl.float16), values)
        top = new
    tl.store(o + rows[:, None] * 64 + dims[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def computed_operand(x, w, o, K):
    rows, inner = tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 64):
        a = tl.exp(tl.load(x + rows[:, None] * K + (start + inner)[None, :]).to(tl.float32))
        b = tl.load(w + (start + inner)[:, None] * 64 + rows[None, :])
        acc += tl.dot(a.to(tl.float16), b)
    tl.store(o + rows[:, None] * 64 + rows[None, :], acc.to(tl.float16))


@triton.jit
def plain_sum(x, w, o, K):
    rows, inner = tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 64):
        a = tl.load(x + rows[:, None] * K + (start + inner)[None, :])
        b = tl.load(w + (start + inner)[:, None] * 64 + rows[None, :])
        acc += tl.dot(a, b)
    tl.store(o + rows[:, None] * 64 + rows[None, :], tl.exp(acc).to(tl.float16))


@triton.jit
def two_products(x, y, w, o, N):
    """The first product is read again beside the second one."""
    rows, dims = tl.arange(0, 64), tl.arange(0, 64)
    for start in range(0, N, 64):
        tile = tl.load(x + (start + rows)[:, None] * 64 + dims[None, :])
        p = tl.exp(tl.dot(tile, tl.load(w + dims[:, None] * 64 + rows[None, :])))
        other = tl.load(y + rows[:, None] * 64 + dims[None, :])
        second = tl.dot(p.to(tl.float16), other)
        place = o + (start + rows)[:, None] * 64 + rows[None, :]
        tl.store(place, (p * tl.sum(second, 1)[:, None]).to(tl.float16))


@triton.jit
def turned_operand(x, w, o, K, stride_k, stride_n):
    """The vector core transposes an operand, and its epilogue is a stage of its own."""
    rows, inner = tl.arange(0, 512), tl.arange(0, 64)
    a = tl.load(x + rows[:, None] * 64 + inner[None, :])
    for start in range(0, K, 64):
        b = tl.load(w + inner[:, None] * stride_k + (start + inner)[None, :] * stride_n)
        d = tl.dot(a, b)
        value = tl.exp(d) * d + tl.sqrt(d)
        tl.store(o + rows[:, None] * K + (start + inner)[None, :], value.to(tl.float16))


@triton.jit
def key_twice(q, k, o, N):
    """A tile that two stages of the cube core read."""
    rows, cols = tl.arange(0, 64), tl.arange(0, 128)
    queries = tl.load(q + rows[:, None] * 64 + rows[None, :])
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, N, 128):
        keys = tl.load(k + (start + cols)[:, None] * 64 + rows[None, :])
        p = tl.exp(tl.dot(queries, tl.trans(keys))).to(tl.float16)
        acc += tl.dot(p, keys)
    tl.store(o + rows[:, None] * 64 + rows[None, :], acc.to(tl.float16))


@triton.jit
def masked_store(x, w, o, K, N, MASKED: tl.constexpr):
    rows, inner = tl.arange(0, 128), tl.arange(0, 64)
    a = tl.load(x + rows[:, None] * 64 + inner[None, :])
    for start in range(0, K, 64):
        d = tl.dot(a, tl.load(w + inner[:, None] * K + (start + inner)[None, :]))
        place = o + rows[:, None] * K + (start + inner)[None, :]
        if MASKED:
            tl.store(place, (tl.exp(d) * d).to(tl.float16), mask=(rows < N)[:, None])
        else:
            tl.store(place, (tl.exp(d) * d).to(tl.float16))


@triton.jit
def nested_sum(x, w, o, K):
    """The products are summed in a loop inside the loop."""
    rows, inner = tl.arange(0, 64), tl.arange(0, 64)
    for start in range(0, K, 64):
        acc = tl.zeros((64, 64), tl.float32)
        for k in range(0, K, 64):
            a = tl.load(x + (start + rows)[:, None] * K + (k + inner)[None, :])
            b = tl.load(w + (k + inner)[:, None] * 64 + rows[None, :])
            acc += tl.dot(a, b)
        place = o + (start + rows)[:, None] * 64 + rows[None, :]
        tl.store(place, tl.exp(acc).to(tl.float16))


def module_of(kernel: Any, **constants: int) -> Module:
    pointers = {name: "*fp16" for name in ("q", "k", "v", "x", "y", "w", "o")}
    types = {**pointers, "sm": "fp32", "N": "i32", "K": "i32"}
    types.update(stride_k="i32", stride_n="i32")
    names = [name for name in kernel.arg_names if name not in constants]
    return trace(kernel, {name: types[name] for name in names}, constants)


def cut(kernel: Any, **constants: int) -> tuple[Program, list[Pipelined]]:
    module = module_of(kernel, **constants)
    forms = Forms(module)
    cube = plan_cube(module, forms)
    program = lower_vector(module, forms, cube=cube)
    return program, pipeline(program, cube, 4)


def cores(kernel: Any, **constants: int) -> list[list[str]]:
    return [[stage.core for stage in found.stages] for found in cut(kernel, **constants)[1]]


def test_an_attention_loop_has_four_stages() -> None:
    assert cores(attention, SHIFT=0) == [["cube", "vector", "cube", "vector"]]


def test_vector_work_ahead_of_the_first_product_stops_the_pass() -> None:
    """tl.maximum tests last round's value for NaN: that test cannot wait, nor go first."""
    if not hasattr(libtriton, "ascend"):
        pytest.skip("the order of the instructions is that of triton-ascend's TTIR")
    assert cores(attention, SHIFT=1) == []


def test_an_operand_that_is_computed_comes_first() -> None:
    assert cores(computed_operand) == [["vector", "cube"]]


def test_a_loop_that_only_sums_products_is_left_alone() -> None:
    assert cores(plain_sum) == []


def test_a_loop_of_products_inside_is_one_unit() -> None:
    assert cores(nested_sum) == [["cube", "vector"]]


def test_what_passes_between_stages_is_held_once_a_round() -> None:
    program, found = cut(two_products)
    assert [stage.core for stage in found[0].stages] == ["cube", "vector", "cube", "vector"]
    shared = [b for b in program.buffers if b.shape[:1] == (4,) and len(b.shape) == 3]
    assert [(b.shape[0], b.shape[2], b.dtype) for b in shared] == [(4, 64, "f32")]


def test_each_stage_is_a_loop_of_its_own() -> None:
    program, _ = cut(two_products)
    loops = [step.loop for step in program.steps if step.name == "loop"]
    ends = [step.loop for step in program.steps if step.name == "end"]
    assert len(loops) == len(set(loops)) == 3
    assert sorted(loops) == sorted(ends)


def test_only_attempts_with_multi_buffering_have_stages() -> None:
    module = module_of(two_products)
    plans = layouts_of(module, chip("Ascend910B3"), CompileOptions({}))
    assert [bool(plan.staged) for plan in plans] == [True, True, False]
    local = CompileOptions.from_request({"limit_auto_multi_buffer_only_for_local_buffer": True})
    assert not any(plan.staged for plan in layouts_of(module, chip("Ascend910B3"), local))


def footprint(kernel: Any, **constants: int) -> Footprint:
    return measure(module_of(kernel, **constants), chip("Ascend910B3"), CompileOptions({}))


def test_a_stage_may_be_tiled_beside_an_operand_that_is_turned() -> None:
    """The compiler fits this in 131,072 bytes of UB; without stages it needs 262,144."""
    found = footprint(turned_operand)
    assert found.need["ub"][0] == 262144
    assert found.bounds["ub"][0] == 131072
    assert not found.refused(chip("Ascend910B3").capacity)


def test_a_tile_that_two_cube_stages_read_is_held_once_a_round_and_twice() -> None:
    """65,536 bytes, doubled, beside the doubled probabilities and the queries."""
    module = module_of(key_twice)
    plan = layouts_of(module, chip("Ascend910B3"), CompileOptions({}))[0]
    entries = sorted((e.size, e.copies) for e in plan.staged[0]["l1"])
    assert entries == [(8192, 1), (16384, 2), (65536, 2)]
    assert footprint(key_twice).bounds["l1"] == (73728, 172032)


def test_a_stage_that_copies_a_box_of_changing_size_is_not_tiled() -> None:
    assert footprint(masked_store, MASKED=0).bounds["ub"][0] == 16384
    assert footprint(masked_store, MASKED=1).bounds["ub"][0] == 32768


@triton.jit
def causal(q, k, v, o, N):
    """Rows are compared with the loop's columns: the stage is tiled, and then its
    instructions share fewer places than they do here."""
    rows, cols, dims = tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, 128)
    queries = tl.load(q + rows[:, None] * 128 + dims[None, :])
    top = tl.full((128,), -float("inf"), tl.float32)
    acc = tl.zeros((128, 128), tl.float32)
    for start in range(0, N, 256):
        keys = tl.load(k + (start + cols)[:, None] * 128 + dims[None, :])
        scores = tl.dot(queries, tl.trans(keys)) * 0.5
        scores = tl.where(rows[:, None] >= (start + cols)[None, :], scores, -1e9)
        new = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - new[:, None])
        values = tl.load(v + (start + cols)[:, None] * 128 + dims[None, :])
        acc = acc * tl.exp(top - new)[:, None] + tl.dot(p.to(tl.float16), values)
        top = new
    tl.store(o + rows[:, None] * 128 + dims[None, :], acc.to(tl.float16))


def test_what_is_certain_of_a_tiled_stage_is_one_instructions_tiles() -> None:
    """Around the loop stand whole tiles; of the stage, a part of one instruction's."""
    found = footprint(causal)
    assert found.bounds["ub"][0] < chip("Ascend910B3").capacity["ub"] < found.need["ub"][0]

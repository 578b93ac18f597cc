"""Strides, masks and the kinds of addresses, on kernels whose accesses are known."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")
pytest.importorskip("numpy")

import tracing
from dataflow_kernels import CASES
from hypothesis import given
from hypothesis import strategies as st

from ascend_autotune.analysis.addressing import Access, access_of, accesses_of
from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.forms import FLAT, reshape_steps
from ascend_autotune.analysis.reader import parse_module


def accesses(name: str) -> list[Access]:
    return list(accesses_of(tracing.module(name)).values())


def access(name: str, argument: str, nth: int = 0) -> Access:
    """The nth access of a case to the argument of this name."""
    index = list(CASES[name][1]).index(argument)
    return [a for a in accesses(name) if a.base == index][nth]


# kernel, argument, kind, strides, is the inner stride certainly 1, mask
TABLE = [
    ("add", "x", "affine", (1,), True, "rectangular"),
    ("add", "out", "affine", (1,), True, "rectangular"),
    ("copy_rows", "x", "affine", (None, 1), True, "row"),
    ("row_sum", "x", "affine", (1,), True, "rectangular"),
    ("row_sum", "out", "affine", (), True, "none"),
    ("row_argmax", "x", "affine", (16, 1), True, "none"),
    ("gather_rows", "index", "affine", (1,), True, "none"),
    ("gather_rows", "x", "indirect", (None, 1), True, "none"),
    ("gather_rows", "out", "affine", (16, 1), True, "none"),
    ("scatter_rows", "out", "indirect", (None, 1), True, "none"),
    ("histogram_atomics", "counts", "indirect", (None,), False, "rectangular"),
    ("transposed_access", "out", "affine", (1, 8), False, "none"),
    ("wrapped", "x", "unknown", (None,), False, "none"),
    ("triangle", "x", "affine", (None, 1), True, "other"),
    ("positive_only", "out", "affine", (1,), True, "data"),
    ("reshaped_pointers", "x", "affine", (1, 16), False, "none"),
    ("matmul", "a", "affine", (None, 1), True, "rectangular"),
    ("matmul", "b", "affine", (None, 1), True, "row"),
    ("matmul", "c", "affine", (None, 1), True, "rectangular"),
    ("batched_matmul", "a", "affine", (64, 1), True, "none"),
    ("attention", "K", "affine", (64, 1), True, "none"),
    ("ragged_sum", "x", "affine", (1,), True, "rectangular"),
    ("calls_helper", "x", "affine", (1,), True, "none"),
]


@pytest.mark.parametrize(("name", "argument", "kind", "strides", "contiguous", "mask"), TABLE)
def test_known_accesses(
    name: str,
    argument: str,
    kind: str,
    strides: tuple[int | None, ...],
    contiguous: bool,
    mask: str,
) -> None:
    found = access(name, argument)
    assert (found.kind, found.strides) == (kind, strides)
    assert found.contiguous_inner is contiguous
    assert found.mask == mask


def test_constant_and_runtime_inner_strides_differ() -> None:
    second = access("every_second", "x", 0)
    runtime = access("every_second", "x", 1)
    assert (second.strides, runtime.strides) == ((2,), (None,))
    assert runtime.kind == "affine" and not runtime.contiguous_inner


def test_which_dimensions_a_mask_bounds() -> None:
    assert access("copy_rows", "x").bounded == (True, False)
    assert access("matmul", "a").bounded == (False, True)
    assert access("matmul", "b").bounded == (True, False)
    assert access("matmul", "c").bounded == (True, True)
    assert access("triangle", "x").bounded == (False, False)


def test_wrapping_is_told_from_other_arithmetic() -> None:
    assert access("wrapped", "x").modulo
    assert access("wrapped", "x").straight == (False,)
    assert not any(a.modulo for name in ("add", "matmul", "gather_rows") for a in accesses(name))


def test_a_row_chosen_by_a_loaded_number_is_affine_but_marked() -> None:
    assert access("slots", "x").kind == "affine"
    assert access("slots", "x").loaded_offset
    assert not access("slots", "out").loaded_offset
    assert access("grouped_matmul", "b").loaded_offset
    assert not access("grouped_matmul", "a").loaded_offset
    assert access("ragged_sum", "x").loaded_offset


def test_effects_and_atomics() -> None:
    assert [a.effect for a in accesses("add")] == ["read", "read", "write"]
    counts = access("histogram_atomics", "counts")
    assert counts.effect == "update" and counts.atomic
    assert not access("histogram_atomics", "x").atomic


def test_shapes_and_lines() -> None:
    found = access("matmul", "b")
    assert (found.shape, found.dtype) == ((16, 64), "f16")
    assert found.location.line == tracing.line_of("matmul", "y = tl.load")


@pytest.mark.skipif("block_pointers" not in CASES, reason="this Triton has no block pointers")
def test_block_pointers() -> None:
    source, target = access("block_pointers", "x"), access("block_pointers", "out")
    assert source.block and target.block
    assert (source.shape, source.strides, source.contiguous_inner) == ((16, 32), (None, 1), True)
    assert (target.shape, target.strides, target.contiguous_inner) == ((32, 16), (1, None), False)
    assert (source.mask, source.bounded) == ("row", (True, False))
    assert target.mask == "none"


@pytest.mark.skipif("descriptors" not in CASES, reason="this Triton has no tensor descriptors")
def test_tensor_descriptors() -> None:
    for argument, effect in (("x", "read"), ("out", "write")):
        found = access("descriptors", argument)
        assert (found.effect, found.kind, found.block) == (effect, "affine", True)
        assert (found.shape, found.strides) == ((16, 32), (None, 1))
        assert found.mask == "rectangular"


@pytest.mark.parametrize("name", sorted(CASES))
def test_one_operation_alone_reads_as_in_its_module(name: str) -> None:
    module = tracing.module(name)
    if len(module.functions) > 1:
        pytest.skip("a helper's arguments need the module")
    for op, found in accesses_of(module).items():
        assert access_of(op) == found


def test_other_operations_touch_no_memory() -> None:
    module = tracing.module("add")
    plain = [op for op in module.walk() if op.name not in ("tt.load", "tt.store")]
    assert plain and all(access_of(op, Forms()) is None for op in plain)


def test_long_unrolled_chains_do_not_exhaust_the_stack() -> None:
    steps = "\n".join(
        f'    %{i + 1} = "tt.addptr"(%{i}, %c) : (tensor<8x!tt.ptr<f32>>, tensor<8xi32>)'
        " -> tensor<8x!tt.ptr<f32>>"
        for i in range(5000)
    )
    module = parse_module(
        f""""builtin.module"() ({{
  "tt.func"() <{{function_type = (!tt.ptr<f32>) -> (), sym_name = "k"}}> ({{
  ^bb0(%p: !tt.ptr<f32>):
    %c = "tt.make_range"() <{{end = 8 : i32, start = 0 : i32}}> : () -> tensor<8xi32>
    %0 = "tt.splat"(%p) : (!tt.ptr<f32>) -> tensor<8x!tt.ptr<f32>>
{steps}
    %v = "tt.load"(%5000) : (tensor<8x!tt.ptr<f32>>) -> tensor<8xf32>
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""
    )
    [found] = accesses_of(module).values()
    assert (found.kind, found.strides) == ("affine", (5000,))


@pytest.mark.parametrize(
    ("source", "steps", "target", "expected"),
    [
        ((32,), ((1, 0),), (4, 8), ((8, 0), (1, 0))),
        ((32,), ((3, 0),), (2, 2, 8), ((48, 0), (24, 0), (3, 0))),
        ((4, 8), ((8, 0), (1, 0)), (32,), ((1, 0),)),
        ((4, 8), ((None, 0), (1, 0)), (4, 1, 8), ((None, 0), FLAT, (1, 0))),
        ((4, 8), (FLAT, FLAT), (2, 16), (FLAT, FLAT)),
        ((4, 8, 2), ((5, 0), (2, 0), (1, 0)), (4, 16), ((5, 0), (1, 0))),
        ((4, 8), ((1, 0), (1, 0)), (5, 8), None),
    ],
)
def test_reshapes(source: object, steps: object, target: object, expected: object) -> None:
    assert reshape_steps(source, steps, target) == expected  # type: ignore[arg-type]


def test_a_reshape_that_mixes_dimensions_has_no_stride() -> None:
    found = reshape_steps((4, 8), ((None, 0), (1, 0)), (32,))
    assert found is not None and found[0][0] is None and found[0][1] != 0


# -- random index arithmetic against numpy ------------------------------------------------

SHAPE = (4, 4)
TILE = "tensor<4x4xi32>"
BINARY = ("addi", "subi", "muli", "remsi", "divsi", "andi", "shli", "minsi", "xori")


class Written:
    """Index arithmetic as TTIR text and, beside it, as numpy values."""

    def __init__(self, n: int) -> None:
        import numpy

        self.numpy = numpy
        self.lines: list[str] = []
        self.values: list[tuple[str, object]] = []
        for axis in (0, 1):
            line = numpy.arange(4).reshape((4, 1) if axis == 0 else (1, 4))
            shape = "tensor<4x1xi32>" if axis == 0 else "tensor<1x4xi32>"
            self.put('"tt.make_range"() <{end = 4 : i32, start = 0 : i32}>', "() -> tensor<4xi32>")
            expand = f'"tt.expand_dims"(%v{{}}) <{{{{axis = {1 - axis} : i32}}}}>'
            self.put(expand.format(self.last), f"(tensor<4xi32>) -> {shape}")
            self.put(f'"tt.broadcast"(%v{self.last})', f"({shape}) -> {TILE}")
            self.keep(line + numpy.zeros(SHAPE, int))
        self.put('"tt.splat"(%n)', f"(i32) -> {TILE}")
        self.keep(numpy.full(SHAPE, n))
        self.put('"arith.constant"() <{value = dense<3> : tensor<4x4xi32>}>', f"() -> {TILE}")
        self.keep(numpy.full(SHAPE, 3))

    @property
    def last(self) -> int:
        return len(self.lines) - 1

    def put(self, text: str, types: str) -> None:
        self.lines.append(f"    %v{len(self.lines)} = {text} : {types}")

    def keep(self, value: object) -> None:
        self.values.append((f"%v{self.last}", value))

    def combine(self, name: str, a: int, b: int) -> None:
        (x, left), (y, right) = (self.values[i % len(self.values)] for i in (a, b))
        np = self.numpy
        if name == "trans":
            self.put(f'"tt.trans"({x}) <{{order = array<i32: 1, 0>}}>', f"({TILE}) -> {TILE}")
            self.keep(left.T)  # type: ignore[attr-defined]
            return
        if name in ("remsi", "divsi"):
            right = np.where(right == 0, 1, right)
        results = {
            "addi": lambda: left + right,  # type: ignore[operator]
            "subi": lambda: left - right,  # type: ignore[operator]
            "muli": lambda: left * right,  # type: ignore[operator]
            "remsi": lambda: np.fmod(left, right),
            "divsi": lambda: np.trunc(left / right).astype(int),  # type: ignore[operator]
            "andi": lambda: left & right,  # type: ignore[operator]
            "xori": lambda: left ^ right,  # type: ignore[operator]
            "shli": lambda: left << np.clip(right, 0, 3),
            "minsi": lambda: np.minimum(left, right),
        }
        self.put(f'"arith.{name}"({x}, {y})', f"({TILE}, {TILE}) -> {TILE}")
        self.keep(results[name]())

    def text(self) -> str:
        body = "\n".join(self.lines)
        return f""""builtin.module"() ({{
  "tt.func"() <{{function_type = (i32) -> (), sym_name = "k"}}> ({{
  ^bb0(%n: i32):
{body}
    "tt.return"() : () -> ()
  }}) : () -> ()
}}) : () -> ()
"""


steps_taken = st.lists(
    st.tuples(st.sampled_from((*BINARY, "trans")), st.integers(0, 30), st.integers(0, 30)),
    min_size=1,
    max_size=8,
)


@given(steps_taken, st.sampled_from((1, 2, 5, 7)))
def test_no_step_is_claimed_that_numpy_refutes(taken: list[tuple[str, int, int]], n: int) -> None:
    written = Written(n)
    for name, a, b in taken:
        if name == "shli" and b % len(written.values) != 3:
            continue  # shifts by a constant only: numpy's and MLIR's overflow differ
        written.combine(name, a, b)
    ops = parse_module(written.text()).kernel.body().ops
    forms = Forms()
    for name, value in written.values:
        form = forms.of(ops[int(name[2:])].result)
        assert len(form.steps) == 2
        for axis, (step, bend) in enumerate(form.steps):
            moves = written.numpy.diff(value, axis=axis)
            if (step, bend) == FLAT:
                assert (moves == 0).all()
            elif not bend:
                assert (moves == moves.flat[0]).all()
                assert step is None or moves.flat[0] == step
        if form.value is not None:
            assert (value == form.value).all()

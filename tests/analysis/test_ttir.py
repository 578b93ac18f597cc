"""TTIR on any machine: no device, no torch, one programme for all flavours."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

import dataflow_kernels
import front_end_kernels as kernels
import triton.language as tl

from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.ir import Module
from ascend_autotune.analysis.kernel import make_instance
from ascend_autotune.analysis.reader import parse_module
from ascend_autotune.analysis.ttir import Ttir, trace
from ascend_autotune.errors import FrontEndError, RequestError

HERE = Path(__file__).parent


def traced(
    kernel: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, object] | None = None,
    target: str = "Ascend910B3",
) -> Ttir:
    return trace(make_instance(kernel, signature, constants, chip(target)))


def read(kernel: Any, signature: Mapping[str, str], constants: Any = None) -> Module:
    return parse_module(traced(kernel, signature, constants).generic)


def names(module: Module) -> list[str]:
    return [op.name for op in module.walk()]


def refused(kernel: Any, signature: Mapping[str, str], constants: Any) -> str:
    with pytest.raises(FrontEndError) as error:
        traced(kernel, signature, constants)
    message = str(error.value)
    assert "\n" not in message
    return message


def line_of(kernel: Any, text: str) -> int:
    lines, start = inspect.getsourcelines(kernel.fn)
    return next(start + i for i, line in enumerate(lines) if text in line)


@pytest.mark.parametrize("name", sorted(dataflow_kernels.CASES))
def test_each_kernel_is_traced_in_both_forms(name: str) -> None:
    try:
        found = traced(*dataflow_kernels.CASES[name])
    except FrontEndError as error:
        if "Block pointers have been removed" in str(error):
            pytest.skip("this Triton has no block pointers")
        raise
    assert "tt.func public @" in found.text
    assert '"tt.func"' not in found.text
    assert '"tt.func"' in found.generic
    assert "dataflow_kernels.py" in found.text
    assert parse_module(found.generic).kernel.name == "tt.func"


def test_the_custom_form_is_a_whole_module_again(tmp_path: Path) -> None:
    from triton._C.libtriton import ir

    file = tmp_path / "kernel.ttir"
    file.write_text(traced(*dataflow_kernels.CASES["attention"]).text)
    context = ir.context()
    ir.load_dialects(context)
    assert ir.parse_mlir_module(str(file), context).verify()


def test_helpers_are_inlined_and_dead_ones_gone() -> None:
    module = read(kernels.square, {"out": "*fp32"}, {"SIZE": 16})
    assert "tt.call" not in names(module)
    assert names(module).count("tt.func") == 1


def test_block_pointers_stay_what_they_are() -> None:
    """Upstream's own passes take them apart; Ascend's compiler wants to see them."""
    case = dataflow_kernels.CASES.get("block_pointers")
    if case is None:
        pytest.skip("this Triton has no block pointers")
    try:
        module = read(*case)
    except FrontEndError:
        pytest.skip("this Triton has no block pointers")
    assert {"tt.make_tensor_ptr", "tt.advance"} <= set(names(module))


def test_tensor_descriptors_stay_what_they_are() -> None:
    if "descriptors" not in dataflow_kernels.CASES:
        pytest.skip("this Triton has no tensor descriptors")
    module = read(*dataflow_kernels.CASES["descriptors"])
    assert {"tt.make_tensor_descriptor", "tt.descriptor_load"} <= set(names(module))


def test_tensor_descriptors_may_be_arguments() -> None:
    if not hasattr(tl.core, "tensor_descriptor_type"):
        pytest.skip("this Triton takes no tensor descriptors as arguments")
    types = dict.fromkeys(("x", "out"), "tensordesc<fp32[64, 32]>")
    module = read(kernels.descriptor_argument, types, {"BLOCK": 64})
    assert {"tt.descriptor_load", "tt.descriptor_store"} <= set(names(module))


TYPES = {"x": "*fp32", "out": "*fp32", "n": "i32", "stride": "i32", "factor": "fp32"}


def function_line(found: Ttir) -> str:
    return next(line for line in found.text.splitlines() if "tt.func public" in line)


@pytest.mark.parametrize("divisible", [set(), {"n"}, {"x"}, {"stride", "out"}])
def test_divisibility_lands_on_the_arguments_meant(divisible: set[str]) -> None:
    types = {name: kind + (":16" if name in divisible else "") for name, kind in TYPES.items()}
    arguments = function_line(traced(kernels.scale, types)).partition("(")[2].split(", %")
    marked = {
        name for name, text in zip(TYPES, arguments, strict=True) if "tt.divisibility = 16" in text
    }
    assert marked == divisible


def test_divisibility_counts_arguments_that_became_constants() -> None:
    found = traced(
        kernels.optional_bias, {"x": "*fp32", "out": "*fp32:16"}, {"bias": None, "BLOCK": 8}
    )
    first, second = function_line(found).partition("(")[2].split(", %")
    assert "tt.divisibility" not in first
    assert "tt.divisibility = 16" in second


def test_a_stride_of_1_leaves_no_multiplication() -> None:
    runtime = names(read(kernels.scale, TYPES))
    types = {k: v for k, v in TYPES.items() if k != "stride"}
    specialised = names(read(kernels.scale, types, {"stride": 1}))
    assert runtime.count("arith.muli") > specialised.count("arith.muli")


def test_none_takes_the_branch_away() -> None:
    types = {"x": "*fp32", "out": "*fp32"}
    without = names(read(kernels.optional_bias, types, {"bias": None, "BLOCK": 8}))
    given = names(read(kernels.optional_bias, {**types, "bias": "*fp32"}, {"BLOCK": 8}))
    assert (without.count("tt.load"), given.count("tt.load")) == (1, 2)


def test_heuristics_are_computed_for_the_candidate() -> None:
    types = {"x": "*fp32", "out": "*fp32"}
    even = read(kernels.even, types, {"K": 64, "BLOCK": 64})
    odd = read(kernels.even, types, {"K": 60, "BLOCK": 64})
    assert "arith.cmpi" not in names(even)
    assert "arith.cmpi" in names(odd)


@pytest.mark.parametrize("kind", ["*fp16", "*bf16", "*fp32", "*i8", "*i64", "*u8", "*fp64"])
def test_dtypes_go_through(kind: str) -> None:
    found = read(
        kernels.fill_like, {"source": kind, "out": "*fp32"}, {"BLOCK": 8, "DTYPE": tl.float32}
    )
    assert "tt.store" in names(found)


@pytest.mark.parametrize("tile", [(16, 16, 16), (8, 4, 8), (1, 1, 1), (2, 64, 2)])
def test_dots_may_be_as_small_as_ascend_takes_them(tile: tuple[int, int, int]) -> None:
    constants = dict(zip("MNK", tile, strict=True))
    module = read(kernels.dot, dict.fromkeys("abc", "*fp16") | {"c": "*fp32"}, constants)
    (dot,) = [op for op in module.walk() if op.name == "tt.dot"]
    assert dot.result.type.shape == tile[:2]


def test_a_float32_dot_is_exact_unless_asked() -> None:
    found = traced(kernels.dot, dict.fromkeys("abc", "*fp32"), dict.fromkeys("MNK", 16))
    assert "tf32" not in found.text


def test_too_many_elements_are_refused_at_the_kernels_own_line() -> None:
    message = refused(kernels.square, {"out": "*fp32"}, {"SIZE": 2048})
    file, line, cause = message.split(":", 2)
    assert file == kernels.__file__
    assert int(line) == line_of(kernels.square, "_square_of(SIZE)")
    assert cause == " numel (4194304) exceeds triton maximum tensor numel (1048576)"


def test_a_static_assertion_says_its_own_words() -> None:
    message = refused(kernels.asserts, {"out": "*fp32"}, {"BLOCK": 128})
    assert message.endswith(f":{line_of(kernels.asserts, 'static_assert')}: at most 64, please")


def test_an_unknown_name_is_named() -> None:
    message = refused(kernels.misspelt, {"out": "*fp32"}, {"BLOCK": 64})
    assert f":{line_of(kernels.misspelt, 'BLOK')}: " in message
    assert "BLOK is not defined" in message


def test_a_refusal_leaves_the_next_trace_alone() -> None:
    before = traced(kernels.square, {"out": "*fp32"}, {"SIZE": 16})
    refused(kernels.square, {"out": "*fp32"}, {"SIZE": 2048})
    assert traced(kernels.square, {"out": "*fp32"}, {"SIZE": 16}) == before


def test_a_trace_is_the_same_every_time() -> None:
    case = dataflow_kernels.CASES["attention"]
    first = traced(*case)
    for name in ("matmul", "sort", "cumsum"):
        traced(*dataflow_kernels.CASES[name])
    assert traced(*case) == first


def test_the_target_does_not_change_the_programme() -> None:
    case = dataflow_kernels.CASES["attention"]
    programmes = {
        traced(*case, target=name) for name in ("Ascend910B3", "Ascend910_9382", "Ascend950PR_9579")
    }
    assert len(programmes) == 1


def test_a_missing_constant_is_asked_for() -> None:
    with pytest.raises(RequestError, match="square needs a value for SIZE"):
        traced(kernels.square, {"out": "*fp32"})


def test_what_a_kernel_prints_does_not_mix_with_ours(capsys: pytest.CaptureFixture[str]) -> None:
    traced(kernels.asserts, {"out": "*fp32"}, {"BLOCK": 64})
    assert capsys.readouterr().out == ""


def test_threads_may_trace_at_once() -> None:
    case = dataflow_kernels.CASES["softmax"]
    expected, found = traced(*case), []
    threads = [threading.Thread(target=lambda: found.append(traced(*case))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_tracing_needs_neither_torch_nor_a_driver() -> None:
    code = """
import sys
sys.modules["torch"] = None  # any import of it fails
sys.path.insert(0, sys.argv[1])
import dataflow_kernels
from triton.runtime import driver
class Untouchable:
    def __getattr__(self, name):
        raise AssertionError(f"the driver was asked for {name}")
driver.set_active(Untouchable())
from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.kernel import make_instance
from ascend_autotune.analysis.ttir import trace
print(len(trace(make_instance(*dataflow_kernels.CASES["matmul"], chip("Ascend910B3"))).text) > 0)
"""
    shown = subprocess.run(
        [sys.executable, "-c", code, str(HERE)], capture_output=True, text=True, check=False
    )
    assert shown.stdout == "True\n", shown.stderr

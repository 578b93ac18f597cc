"""Kernels inside wrappers, and what both say of themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

import front_end_kernels as kernels
import triton
from triton.runtime.jit import JITFunction

from ascend_autotune.analysis.hostdriver import host_only
from ascend_autotune.analysis.unwrapping import apply_heuristics, describe, unwrap
from ascend_autotune.errors import RequestError


@pytest.mark.parametrize("name", ["scale", "even", "chained", "in_libentry", "wrapped"])
def test_wrappers_are_taken_off(name: str) -> None:
    assert isinstance(unwrap(getattr(kernels, name)), JITFunction)


def test_wrapping_itself_does_not_hang() -> None:
    loop = kernels.LibEntry(None)
    loop.fn = loop
    with pytest.raises(RequestError, match="no Triton kernel"):
        unwrap(loop)


@pytest.mark.parametrize(
    "other", [print, len, 3, "scale", None, test_wrapping_itself_does_not_hang]
)
def test_what_is_no_kernel_is_refused_with_the_mend(other: object) -> None:
    with pytest.raises(RequestError, match=r"no Triton kernel: decorate it with @triton\.jit"):
        unwrap(other)


def test_a_kernel_describes_itself() -> None:
    info = describe(kernels.scale)
    assert info.name == "scale"
    assert info.arguments == ("x", "out", "n", "stride", "factor", "BLOCK")
    assert info.constexprs == ("BLOCK",)
    assert info.defaults == {"factor": 2, "BLOCK": 64}
    assert info.heuristics == {}
    with open(info.file) as source:
        assert source.read().splitlines()[info.line - 1].startswith("def scale(")


def test_the_functions_own_annotations_are_types() -> None:
    assert describe(kernels.annotated).annotations == {"n": "i32", "m": "i64"}


def test_heuristics_are_described_in_the_order_of_a_launch() -> None:
    info = describe(kernels.chained)
    assert list(info.heuristics) == ["WIDE", "WIDER"]
    assert apply_heuristics(info, {"BLOCK": 8}) == {"BLOCK": 8, "WIDE": 16, "WIDER": 32}


def test_a_value_given_wins_over_its_heuristic() -> None:
    info = describe(kernels.chained)
    assert apply_heuristics(info, {"BLOCK": 8, "WIDE": 4}) == {"BLOCK": 8, "WIDE": 4, "WIDER": 8}


def test_a_heuristic_that_needs_a_launch_asks_for_its_value() -> None:
    with pytest.raises(RequestError, match=r"heuristic for EVEN of even .*'K'.* in constants"):
        apply_heuristics(describe(kernels.even), {"BLOCK": 16})


def test_configs_and_search_params_are_found_on_the_wrappers() -> None:
    with host_only():  # Triton 3.2 asks for a device when it decorates
        tuned = triton.autotune([triton.Config({"BLOCK": 32}, num_warps=8)], key=[])(kernels.even)
    tuned.search_params = {"BLOCK": [16, 32]}
    info = describe(tuned)
    assert info.configs == ({"BLOCK": 32},)
    assert info.search_params == {"BLOCK": [16, 32]}
    assert list(info.heuristics) == ["EVEN"]


def test_a_copy_of_a_wrappers_attributes_is_not_counted_twice() -> None:
    with host_only():
        tuned = triton.autotune([triton.Config({"BLOCK": 32})], key=[])(kernels.scale)
    assert describe(kernels.wrap(tuned)).configs == ({"BLOCK": 32},)


def test_an_interpreted_kernel_is_refused_with_the_mend() -> None:
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import front_end_kernels
from ascend_autotune.analysis.unwrapping import unwrap
try:
    unwrap(front_end_kernels.scale)
except Exception as error:
    print(type(error).__name__, error)
"""
    run = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named" in run.stderr:
        pytest.skip("this Triton's interpreter needs more than is installed")
    assert run.stdout.startswith("RequestError scale was decorated under TRITON_INTERPRET=1"), run

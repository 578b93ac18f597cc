"""What only says where to read and write is idle; what becomes data is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.kernel import make_instance
from ascend_autotune.analysis.parametric.idle import idle
from ascend_autotune.analysis.reader import parse_module
from ascend_autotune.analysis.ttir import trace
from benchmarks.labels import load_module

ANALYSIS = Path(__file__).resolve().parents[1]


def names(kernel: str, signature: dict[str, str], **constants: Any) -> tuple[set[str], set[str]]:
    """Names of the idle operations, and of the others."""
    function = getattr(load_module(ANALYSIS / "tile_kernels.py"), kernel)
    instance = make_instance(function, signature, constants, chip("Ascend910B3"))
    module = parse_module(trace(instance).generic)
    found = idle(module)
    rest = {op.name for op in module.kernel.walk() if op not in found}
    return {op.name for op in found}, rest


def test_addresses_and_masks_are_idle() -> None:
    found, rest = names(
        "scale_kernel",
        {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32"},
        BLOCK=64,
    )
    assert {"tt.make_range", "tt.addptr", "arith.cmpi"} <= found
    assert {"arith.mulf", "tt.load", "tt.store"} <= rest
    assert "arith.mulf" not in found


def test_a_range_that_is_data_is_not_idle() -> None:
    found, rest = names("ramps_kernel", {"x_ptr": "*fp32", "out_ptr": "*fp32"}, M=16, N=32)
    assert "tt.make_range" in rest
    assert "tt.make_range" not in found
    assert "tt.addptr" in found

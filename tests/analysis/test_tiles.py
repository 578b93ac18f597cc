"""A space judged from a few traces is judged as each of its tiles alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

import ascend_autotune
from benchmarks.labels import load_module

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SPACES = {
    "flash_attention": {"BLOCK_M": [16, 64, 128, 512], "BLOCK_N": [16, 64, 128, 1024]},
    "matmul": {"BLOCK_M": [16, 64, 256], "BLOCK_N": [32, 128, 512], "BLOCK_K": [16, 64, 256]},
    "layer_norm": {"BLOCK_ROWS": [1, 8, 16, 64], "BLOCK_COLS": [16, 128, 512, 1024, 4096]},
}


def load(name: str) -> Any:
    return load_module(EXAMPLES / f"{name}.py")


@pytest.mark.parametrize("name", SPACES)
def test_the_whole_space_says_what_each_tile_says(name: str) -> None:
    module = load(name)
    given: dict[str, Any] = {
        "signature": module.SIGNATURE,
        "constants": {k: v for k, v in module.CONSTANTS.items() if k not in SPACES[name]},
        "target": "Ascend910B3",
    }
    result = ascend_autotune.prune(module.KERNEL, SPACES[name], **given)
    assert int(str(result.stats["ttir_traces"])) < len(result.verdicts)
    for verdict in result.verdicts:
        one = {parameter: [value] for parameter, value in verdict.candidate.items()}
        (alone,) = ascend_autotune.prune(module.KERNEL, one, **given).verdicts
        assert alone.status == verdict.status, verdict.candidate
        if verdict.reasons and verdict.reasons[0].code == "numel":
            continue  # alone, the front end says so itself
        assert alone.footprint == verdict.footprint, verdict.candidate
        assert (alone.fallback, alone.reasons) == (verdict.fallback, verdict.reasons)


@pytest.mark.parametrize("masked", [False, True])
def test_bounds_and_strides_beside_a_parameter_are_known_in_the_space(masked: bool) -> None:
    """N - 1 and N + 8 are no powers of N: without them a box would be taken for a dense mask."""
    kernel = load_module(Path(__file__).with_name("tile_kernels.py")).last_column_kernel
    given: dict[str, Any] = {
        "signature": {"x_ptr": "*fp32", "out_ptr": "*fp32"},
        "constants": {"MASKED": masked},
        "target": "Ascend910B3",
    }
    space = {"M": [64, 128, 256, 512], "N": [16, 64, 128, 256]}
    result = ascend_autotune.prune(kernel, space, **given)
    assert int(str(result.stats["ttir_traces"])) <= 5
    for verdict in result.verdicts:
        one = {parameter: [value] for parameter, value in verdict.candidate.items()}
        (alone,) = ascend_autotune.prune(kernel, one, **given).verdicts
        assert (alone.status, alone.footprint) == (verdict.status, verdict.footprint)


def test_a_parameter_that_changes_nothing_merges_its_tiles() -> None:
    module = load("vector_add")
    result = ascend_autotune.prune(
        module.KERNEL,
        {"BLOCK_SIZE": [256, 1024, 4096, 16384], "num_warps": [4, 8]},
        signature=module.SIGNATURE,
        target="Ascend910B3",
    )
    assert result.stats["merged"] == 4


def test_what_is_one_where_two_sizes_are_equal_takes_its_bytes_once() -> None:
    kernel = load_module(Path(__file__).with_name("tile_kernels.py")).ramps_kernel
    sizes = [16, 32, 64, 128]
    given: dict[str, Any] = {
        "signature": {"x_ptr": "*fp32", "out_ptr": "*fp32"},
        "target": "Ascend910B3",
    }
    whole = ascend_autotune.prune(kernel, {"M": sizes, "N": sizes}, **given)
    assert whole.stats["ttir_traces"] < len(whole.verdicts)
    for verdict in whole.verdicts:
        tile = {name: [size] for name, size in verdict.candidate.items()}
        (alone,) = ascend_autotune.prune(kernel, tile, **given).verdicts
        assert alone.footprint == verdict.footprint

"""Which searched parameters are performance tiles, and which change the result."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("triton")

import role_kernels
from role_kernels import CASES, CHANGES, SIZES

from ascend_autotune.analysis.performance_tiles import TileRole, check_performance_tiles
from ascend_autotune.analysis.request import Request, resolve
from ascend_autotune.errors import RequestError

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SHARED = Path(__file__).parents[3] / "shared" / "groundtruth" / "flaggems.json"
FLAGGEMS = Path("/work/envs/fg")
# Their kernels store partial sums, or states, one for each block: not tiles, whatever their names.
NOT_TILES = {
    ("rms_norm_grad_dw_kernel", "ROW_BLOCK_SIZE"),
    ("rms_norm_grad_dw_kernel_unit_stride", "ROW_BLOCK_SIZE"),
    ("scan_part_sum_kernel", "BLOCK_SIZE"),
    ("chunk_fwd_kernel_o", "BT"),
    ("chunk_scaled_dot_kkt_fwd_kernel", "BT"),
}


def request_of(name: str) -> tuple[Request, dict[str, list[int]], dict[str, str]]:
    kernel, types, constants, roles = CASES[name]
    names = [n for n in kernel.arg_names if n not in constants and n not in roles]
    space = {parameter: SIZES for parameter in roles}
    for parameter, values in {"GROUP": [2, 4, 8], "SPLIT": [2, 4, 8], "XBLOCK": [256, 512]}.items():
        if parameter in space:
            space[parameter] = values
    request = resolve(kernel, dict(zip(names, types, strict=True)), constants)
    return request, space, roles


@cache
def roles_of(name: str) -> tuple[dict[str, TileRole], dict[str, str]]:
    request, space, wanted = request_of(name)
    return check_performance_tiles(request, space), wanted


@pytest.mark.parametrize("name", CASES)
def test_role(name: str) -> None:
    found, wanted = roles_of(name)
    assert {n: role.role for n, role in found.items()} == wanted, "; ".join(
        map(str, found.values())
    )


@pytest.mark.parametrize("name", [n for n, case in CASES.items() if CHANGES in case[3].values()])
def test_what_changes_the_result_is_shown(name: str) -> None:
    found, wanted = roles_of(name)
    for parameter, role in found.items():
        if wanted[parameter] == CHANGES:
            assert role.operation and parameter in role.why
            file, _, line = role.location.rpartition(":")
            assert Path(file) == Path(role_kernels.__file__) and int(line) > 0


def test_the_line_is_that_of_the_operation() -> None:
    role = roles_of("row_block")[0]["ROW_BLOCK"]
    lines = Path(role_kernels.__file__).read_text().splitlines()
    assert "tl.sum(x, axis=0)" in lines[int(role.location.rpartition(":")[2]) - 1]
    assert role.operation == "tt.reduce"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_no_tile_of_the_examples_is_refused(file: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"example_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        request = resolve(module.KERNEL, module.SIGNATURE, module.CONSTANTS, grid=module.grid)
    except Exception as error:
        pytest.skip(f"does not load on this Triton: {error}")
    found = check_performance_tiles(request, module.SPACE)
    if any("Block pointers have been removed" in role.why for role in found.values()):
        pytest.skip("this Triton has no block pointers")
    expected = {"BLOCK_COLS": "undecided"} if file.stem == "fused_softmax" else {}
    for name, role in found.items():
        assert role.role == expected.get(name, "tile"), str(role)


@pytest.mark.skipif(not SHARED.exists() or not FLAGGEMS.exists(), reason="no groundtruth here")
def test_no_tile_of_flaggems_is_refused() -> None:
    from benchmarks.labels import labels

    cases: dict[str, list] = {}
    for label in labels("flaggems", FLAGGEMS):
        cases.setdefault(label.case.name, []).append(label)
    refused = set()
    for name, rows in cases.items():
        function = rows[0].function()
        space = {k: sorted({row.config[k] for row in rows}) for k in rows[0].config}
        given = rows[0].given(function, list(space))
        request = resolve(function, given["signature"], given["constants"])
        roles = check_performance_tiles(request, space)
        refused |= {(name, n) for n, role in roles.items() if role.role == "changes result"}
    without_block_pointers = {case for case in NOT_TILES if case[1] != "BT"}
    assert without_block_pointers <= refused <= NOT_TILES


def test_one_block_that_covers_everything() -> None:
    request, _, _ = request_of("whole_row")
    role = check_performance_tiles(request, {"BLOCK": [16, 64]}, {"n_cols": 50})["BLOCK"]
    assert (role.role, role.at_least) == ("tile", 50)
    role = check_performance_tiles(request, {"BLOCK": [16, 64]})["BLOCK"]
    assert role.role == "undecided" and role.at_least is None


def test_a_fixed_grid_does_not_follow() -> None:
    kernel, types, _, _ = CASES["leaky_relu_in_place"]
    signature = dict(zip(["x_ptr", "n", "slope"], types, strict=True))
    request = resolve(kernel, signature, {}, grid=(64,))
    role = check_performance_tiles(request, {"BLOCK": SIZES})["BLOCK"]
    assert role.role == "undecided" and "grid" in role.why


def test_fields_of_the_launch_are_no_matter() -> None:
    request, space, _ = request_of("histogram")
    found = check_performance_tiles(request, {**space, "num_warps": [1, 2]})
    assert found["num_warps"].role == "tile"


def test_unknown_names() -> None:
    request, _, _ = request_of("histogram")
    with pytest.raises(RequestError, match="no parameter 'BLOK'"):
        check_performance_tiles(request, ["BLOK"])


def test_names_alone() -> None:
    request, _, _ = request_of("leaky_relu_in_place")
    assert check_performance_tiles(request, ["BLOCK"])["BLOCK"].role == "tile"


def test_a_kernel_that_cannot_be_traced_is_undecided() -> None:
    request, _, _ = request_of("leaky_relu_in_place")
    role = check_performance_tiles(request, {"BLOCK": [3, 5]})["BLOCK"]
    assert role.role in ("undecided", "tile")  # powers of two near by may be traced instead
    assert check_performance_tiles(request, {"BLOCK": ["a", "b"]})["BLOCK"].role == "undecided"

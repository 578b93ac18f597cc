from __future__ import annotations

import itertools
import sys

import pytest

from ascend_autotune.analysis.space import Space, make_space
from ascend_autotune.errors import RequestError


def build(space: object, constants: tuple[str, ...] = ()) -> Space:
    return make_space(
        space,  # type: ignore[arg-type]
        kernel="attention",
        arguments=["Q", "N_CTX", "BLOCK_M", "BLOCK_N"],
        constexprs=["BLOCK_M", "BLOCK_N"],
        options=["multibuffer", "tile_mix_vector_loop"],
        constants=constants,
    )


def test_candidates_come_in_the_order_of_itertools_product() -> None:
    values = {"BLOCK_N": [64, 16], "BLOCK_M": [32, 128, 96]}
    space = build(values)
    expected = [
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*values.values())
    ]
    assert list(space.candidates) == expected
    assert list(space.candidates[0]) == ["BLOCK_N", "BLOCK_M"]


def test_a_million_candidates_cost_no_more_than_their_values() -> None:
    space = build({"BLOCK_M": range(1, 1001), "BLOCK_N": range(1, 1001)})
    assert len(space.candidates) == 1_000_000
    assert space.candidates[999_999] == {"BLOCK_M": 1000, "BLOCK_N": 1000}
    assert space.candidates[-1] == space.candidates[999_999]
    assert sys.getsizeof(space.candidates) < 200
    assert space.candidates[10:12] == [{"BLOCK_M": 1, "BLOCK_N": 11}, {"BLOCK_M": 1, "BLOCK_N": 12}]
    with pytest.raises(IndexError):
        space.candidates[1_000_000]


def test_tiles_and_fields_of_the_config_are_told_apart() -> None:
    space = build({"num_warps": [4, 8], "BLOCK_M": [16], "multibuffer": [True, False]})
    assert space.tiles == ("BLOCK_M",)
    assert space.fields == ("num_warps", "multibuffer")
    assert space.candidates[1] == {"num_warps": 4, "BLOCK_M": 16, "multibuffer": False}


@pytest.mark.parametrize(
    ("space", "told"),
    [
        ({}, "space is empty"),
        ({"BLOCK_M": []}, "BLOCK_M has no values"),
        ({"BLOK_M": [16]}, "did you mean 'BLOCK_M'"),
        ({"block_m": [16]}, "did you mean 'BLOCK_M'"),
        ({"num_warp": [4]}, "did you mean 'num_warps'"),
        ({"XYZ": [16]}, "BLOCK_M, BLOCK_N, num_warps"),
        ({"N_CTX": [16]}, "N_CTX is a runtime argument of attention"),
        ({"BLOCK_M": [16, 0]}, "BLOCK_M has the value 0"),
        ({"BLOCK_M": [-16]}, "-16"),
        ({"BLOCK_M": [16.0]}, "16.0"),
        ({"BLOCK_M": ["16"]}, "'16'"),
        ({"BLOCK_M": [True]}, "True"),
        ({"num_stages": [0]}, "num_stages has the value 0"),
        ({"BLOCK_M": 16}, "give a list of values"),
        ({"BLOCK_M": "16,32"}, "give a list of values"),
        (["BLOCK_M"], "give a dict"),
    ],
)
def test_bad_spaces_are_refused_in_one_line_with_the_mend(space: object, told: str) -> None:
    with pytest.raises(RequestError) as caught:
        build(space)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_parameter_cannot_be_fixed_and_searched() -> None:
    with pytest.raises(RequestError, match="BLOCK_M stands in space and in constants"):
        build({"BLOCK_M": [16]}, constants=("BLOCK_M",))

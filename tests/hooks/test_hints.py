"""What may stand in `hints`, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_autotune.errors import RequestError
from ascend_autotune.hooks.hints import DEFAULT_VALUES, Hints, parse_hints, wants_search

ARGUMENTS = ("Q", "Out", "N_CTX", "HEAD_DIM", "BLOCK_M", "BLOCK_N")
CONSTEXPRS = ("HEAD_DIM", "BLOCK_M", "BLOCK_N")


def parse(search: object, **others: Any) -> Hints:
    return parse_hints({"search_params": search, **others}, "attention", ARGUMENTS, CONSTEXPRS)


def message(search: object, **others: Any) -> str:
    with pytest.raises(RequestError) as caught:
        parse(search, **others)
    return str(caught.value)


def test_the_defaults_are_the_guides() -> None:
    hints = parse({"params": ["BLOCK_M", "BLOCK_N"]})
    assert hints.space(dots=True) == {"BLOCK_M": DEFAULT_VALUES, "BLOCK_N": DEFAULT_VALUES}
    assert hints.shape_final_top_k == 3
    assert not hints.debug


def test_kernels_without_dots_may_have_wider_values() -> None:
    values = parse({"params": ["BLOCK_M"]}).space(dots=False)["BLOCK_M"]
    assert set(DEFAULT_VALUES) < set(values)
    assert (values[0], values[-1]) == (1, 8192)


def test_values_for_all_or_by_parameter() -> None:
    assert parse({"params": ["BLOCK_M", "BLOCK_N"], "values": [32, 96]}).space(dots=True) == {
        "BLOCK_M": (32, 96),
        "BLOCK_N": (32, 96),
    }
    hints = parse({"params": ["BLOCK_M", "BLOCK_N"], "values": {"BLOCK_N": [192]}})
    assert hints.space(dots=True) == {"BLOCK_M": DEFAULT_VALUES, "BLOCK_N": (192,)}


def test_a_dict_of_values_names_the_parameters() -> None:
    assert parse({"values": {"BLOCK_N": [64]}}).params == ("BLOCK_N",)


def test_typos_get_the_closest_name() -> None:
    assert "did you mean 'params'" in message({"parms": ["BLOCK_M"]})
    misspelt = {"serch_params": {}, "split_params": {"x": "BLOCK_M"}}
    with pytest.raises(RequestError, match="did you mean 'search_params'"):
        parse_hints(misspelt, "k", ARGUMENTS, CONSTEXPRS)
    assert "BLOCK_M" in message({"params": ["BLOK_M"]})
    assert "default" in message({"params": ["BLOCK_M"], "effort": "defualt"})


def test_params_are_constexprs() -> None:
    assert "runtime argument" in message({"params": ["N_CTX"]})
    assert "compile option" in message({"params": ["multibuffer"]})
    assert "nothing to search" in message({})


@pytest.mark.parametrize(
    "search",
    [{"params": ["BLOCK_M", "unit_flag"]}, {"params": ["BLOCK_M"], "unit_flag": [True]}],
)
def test_unit_flag_is_refused_with_the_reason(search: dict[str, object]) -> None:
    assert "its own policy" in message(search)


def test_compile_options_of_old_are_a_notice() -> None:
    hints = parse({"params": ["BLOCK_M"], "compile_options": "mixcv"})
    assert hints.family == "mixcv"
    assert "inferred" in hints.notices[0]
    assert "left" not in hints.notices[0]
    assert "inferred" in message({"params": ["BLOCK_M"], "compile_options": "cube"})


def test_old_fields_are_taken() -> None:
    hints = parse({"params": ["BLOCK_M"], "seed_budget": 8, "stage1_bench_warmup": 5})
    assert hints.timing_ms == {"stage1_bench_warmup": 5.0}
    assert "seed_budget" in hints.notices[0]


def test_axis_hints_of_triton_ascend_name_the_parameters() -> None:
    hints = {
        "split_params": {"x": "BLOCK_M"},
        "tiling_params": {"y": "BLOCK_N"},
        "low_dim_axes": ["y"],
        "reduction_axes": [],
        "auto_gen_config": True,
    }
    assert wants_search(hints)
    parsed = parse_hints(hints, "k", ARGUMENTS, CONSTEXPRS)
    assert parsed.params == ("BLOCK_M", "BLOCK_N")
    assert parsed.generate


def test_other_hints_do_not_ask_for_a_search() -> None:
    assert not wants_search(None)
    assert not wants_search({"enable_ascend_autotune": True})


@pytest.mark.parametrize(
    "search",
    [
        {"values": [0]},
        {"values": []},
        {"values": 64},
        {"values": {"BLOCK_K": [16]}},
        {"budget_s": -1},
        {"shape_final_top_k": 0},
        {"constraints": 3},
        {"reference_fn": "f"},
        {"strict": "yes"},
        {"mode": "fast"},
        {"key_buckets": {"N": "pow2"}},
        {"key_buckets": {"N_CTX": "log"}},
        {"tolerances": {"float16": 1}},
    ],
)
def test_what_cannot_be_is_refused(search: dict[str, object]) -> None:
    assert message({"params": ["BLOCK_M"], **search}).startswith("search_params: ")


def test_some_fields_may_stand_outside() -> None:
    assert parse({"params": ["BLOCK_M"]}, strict=True, mode="static").mode == "static"
    assert "twice" in message({"params": ["BLOCK_M"], "mode": "prune"}, mode="static")
    assert "belongs inside" in message({"params": ["BLOCK_M"]}, values=[16])


@pytest.mark.parametrize(
    ("hints", "mend"),
    [
        ({"search_parms": {"params": ["BLOCK"]}}, "did you mean 'search_params'"),
        ({"params": ["BLOCK"]}, "belongs inside search_params"),
        (["BLOCK"], "give a dict"),
    ],
)
def test_hints_that_were_meant_for_a_search_are_not_stock_ones(hints: object, mend: str) -> None:
    from ascend_autotune.hooks.asking import complain

    with pytest.raises(RequestError, match=mend):
        complain(hints)


def test_tolerances_name_dtypes() -> None:
    assert "float32" in message({"params": ["BLOCK_M"], "tolerances": {"fp33": (0, 0)}})
    assert "0 or more" in message({"params": ["BLOCK_M"], "tolerances": {"float32": (-1, 0)}})

from __future__ import annotations

import pytest

from ascend_autotune.analysis.grid import all_blocks_parallel, grid_shape, parse_grid
from ascend_autotune.errors import RequestError


def test_a_tuple_an_integer_and_a_callable_of_the_candidate_are_grids() -> None:
    assert grid_shape((4, 2), {}) == (4, 2)
    assert grid_shape(lambda meta: 1024 // meta["BLOCK"], {"BLOCK": 16}) == (64,)  # type: ignore[operator]
    assert grid_shape(lambda meta: (meta["BLOCK"], 8), {"BLOCK": 16}) == (16, 8)


@pytest.mark.parametrize("grid", [(), (1, 2, 3, 4), (1.5,), "64", (-1,), lambda meta: None])
def test_what_is_no_grid_is_refused(grid: object) -> None:
    with pytest.raises(RequestError, match="one to three integers"):
        grid_shape(grid, {"BLOCK": 16})  # type: ignore[arg-type]


def test_a_callable_that_asks_for_what_is_not_known_is_told_so() -> None:
    with pytest.raises(RequestError, match=r"asks for 'N'.*known: BLOCK=16"):
        grid_shape(lambda meta: (meta["N"],), {"BLOCK": 16})
    with pytest.raises(RequestError, match="ZeroDivisionError"):
        grid_shape(lambda meta: (1 // 0,), {"BLOCK": 16})


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("cdiv(1000, BLOCK), 8", (32, 8)),
        ("triton.cdiv(N, BLOCK)", (32,)),
        ("(N // BLOCK + 1) * 2 - N % 3", (63,)),
        ("max(1, 2, BLOCK), min(N, 5), next_power_of_2(N)", (32, 5, 1024)),
        ("next_power_of_2(1)", (1,)),
    ],
)
def test_grids_are_written_as_text(text: str, shape: tuple[int, ...]) -> None:
    assert parse_grid(text)({"N": 1000, "BLOCK": 32}) == shape


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "BLOCK.real",
        "[1][0]",
        "2 ** 100",
        "1 / 2",
        "cdiv(1)",
        "abs(1)",
        "lambda: 1",
        "True",
        "'1'",
        "1 +",
        "",
        "cdiv(1, b=2)",
        "os.system(1)",
    ],
)
def test_text_is_never_run_as_python(text: str) -> None:
    with pytest.raises(RequestError, match="--grid"):
        parse_grid(text)


def test_names_without_a_value_get_the_closest_one() -> None:
    with pytest.raises(RequestError, match="did you mean 'BLOCK'"):
        parse_grid("cdiv(8, BLOK)")({"BLOCK": 4})
    with pytest.raises(RequestError, match="division by zero"):
        parse_grid("8 // N")({"N": 0})


def test_the_environment_is_read_as_triton_ascend_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for value, on in {"1": True, "true": True, "TRUE": True, "0": False, "": False}.items():
        monkeypatch.setenv("TRITON_ALL_BLOCKS_PARALLEL", value)
        assert all_blocks_parallel() is on
    monkeypatch.delenv("TRITON_ALL_BLOCKS_PARALLEL")
    assert all_blocks_parallel() is False

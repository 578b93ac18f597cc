from __future__ import annotations

import pytest

from ascend_autotune.analysis import rules
from ascend_autotune.analysis.verdict import UNBOUNDED, ReasonCode


def test_the_launch_takes_65535_blocks_and_not_one_more() -> None:
    assert rules.grid((65_535,), all_blocks_parallel=False) is None
    reason = rules.grid((256, 256), all_blocks_parallel=False)
    assert reason is not None and reason.code is ReasonCode.GRID
    assert "65,536" in reason.text and "larger tiles" in reason.text
    assert rules.grid((256, 256), all_blocks_parallel=True) is None


def test_the_front_end_takes_a_mebi_element_tensor_and_not_one_more() -> None:
    assert rules.numel(1_048_576) is None
    reason = rules.numel(2_097_152)
    assert reason is not None and "2,097,152" in reason.text


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("numel (2097152) exceeds triton maximum tensor numel (1048576)", "numel"),
        (
            "end - start must be less than or equal to TRITON_MAX_TENSOR_NUMEL = 1048576",
            "numel",
        ),
        ("arange's end argument must be greater than the start argument", "arange"),
        ("arange must fit in int32", "arange"),
        # triton-ascend takes lengths such as 96 and 192: upstream's word is not Ascend's.
        ("at 3:4: ValueError: arange's range must be a power of 2", "front_end"),
        ("Shape element 0 must be a power of 2", "front_end"),
        ("name 'x' is not defined", "front_end"),
    ],
)
def test_the_front_ends_messages_get_their_codes(message: str, code: str) -> None:
    assert rules.front_end(message).code == code


def test_only_a_lower_bound_over_the_capacity_is_an_overflow() -> None:
    assert rules.overflow("ub", (196_608, 400_000), 196_608) is None
    reason = rules.overflow("ub", (196_640, 400_000), 196_608)
    assert reason is not None
    # What the compiler prints is the need of its placement: the upper bound, where there is one.
    assert (reason.memory, reason.required_bytes, reason.available_bytes) == (
        "ub",
        400_000,
        196_608,
    )
    reason = rules.overflow("ub", (196_640, UNBOUNDED), 196_608)
    assert reason is not None and reason.required_bytes == 196_640


def test_undecided_is_what_neither_bound_settles() -> None:
    assert rules.undecided("ub", (100, 196_608), 196_608) is None
    assert rules.undecided("ub", (200_000, 300_000), 196_608) is None
    reason = rules.undecided("ub", (100, 196_640), 196_608)
    assert reason is not None and reason.code == "undecided"
    reason = rules.undecided("ub", (100, UNBOUNDED), 196_608)
    assert reason is not None and reason.required_bytes is None and "at least 100" in reason.text


def test_num_warps_never_reaches_the_compiler_and_num_stages_in_some_releases() -> None:
    fields = {"num_warps": 8, "num_ctas": 2, "num_stages": 1}
    assert rules.reaches_compiler(fields, num_stages_matters=False) == ()
    assert rules.reaches_compiler(fields, num_stages_matters=True) == (("multibuffer", False),)
    assert rules.reaches_compiler({"num_warps": 4}, num_stages_matters=True) == ()

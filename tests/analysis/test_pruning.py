"""prune on real kernels, on whatever Triton is installed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

import pytest

pytest.importorskip("triton")

import tile_kernels as kernels

import ascend_autotune
from ascend_autotune import RequestError
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.judge import Judge, Outcome, Overflow

TYPES = {"x_ptr": "*fp32:16", "out_ptr": "*fp32:16", "n": "i32", "factor": "fp32"}
SUM_TYPES = {"x_ptr": "*fp32:16", "out_ptr": "*fp32:16", "stride": "i32:16"}


def test_prune_gives_each_candidate_a_verdict_in_grid_order() -> None:
    rows, cols = [16, 64, 2048], [16, 256, 8192]
    result = ascend_autotune.prune(
        kernels.row_sum_kernel, space={"ROWS": rows, "COLS": cols}, signature=SUM_TYPES
    )
    expected = [dict(zip(("ROWS", "COLS"), c, strict=True)) for c in itertools.product(rows, cols)]
    assert [verdict.candidate for verdict in result.verdicts] == expected
    small, huge = result.verdicts[0], result.verdicts[-1]
    assert small.status == "feasible" and small.reasons == ()
    assert huge.status == "infeasible" and huge.reasons[0].code == "numel"
    refused = next(v for v in result.verdicts if v.candidate == {"ROWS": 16, "COLS": 8192})
    (reason,) = refused.reasons
    assert refused.status == "infeasible" and reason.code == "overflow" and reason.memory == "ub"
    assert reason.available_bytes == 196_608
    assert reason.required_bytes is not None and reason.required_bytes >= 16 * 8192 * 4
    assert list(result.survivors) == [
        c for c in expected if c in result.feasible or c in result.unknown
    ]
    assert len(result.feasible) + len(result.infeasible) + len(result.unknown) == 9
    assert result.stats["candidates"] == 9 and 1 <= int(str(result.stats["ttir_traces"])) <= 9
    assert result.stats["judge_calls"] == 0 and result.stats["target"] == "Ascend910B3"
    assert result.stats["target_source"] == "assumed"
    value = json.loads(json.dumps(result.to_json()))
    assert value["schema_version"] == 1 and len(value["verdicts"]) == 9
    assert max(map(len, str(result).splitlines())) <= 80


def test_prune_merges_what_is_the_same_program() -> None:
    result = ascend_autotune.prune(
        kernels.scale_kernel,
        space={"BLOCK": [64, 128], "num_warps": [2, 4], "SPARE": [1, 2]},
        signature=TYPES,
    )
    assert result.stats["merged"] == 6
    assert result.verdicts[3].same_as == {"BLOCK": 64, "num_warps": 2, "SPARE": 1}


def test_the_same_program_on_another_grid_is_another_candidate() -> None:
    result = ascend_autotune.prune(
        kernels.scale_kernel,
        space={"SPARE": [1, 2], "BLOCK": [64], "num_warps": [2, 4]},
        signature=TYPES,
        grid=lambda meta: (8 * meta["SPARE"],),
    )
    assert result.stats["merged"] == 2
    assert [v.same_as is None for v in result.verdicts] == [True, False, True, False]


def test_compile_options_in_the_space_are_judged_for_what_they_are() -> None:
    """With multi-buffering off both loads of the loop keep one buffer: less, never more."""
    result = ascend_autotune.prune(
        kernels.row_sum_kernel,
        space={"multibuffer": [True, False], "ROWS": [64], "COLS": [256]},
        signature=SUM_TYPES,
        compile_options={"multibuffer": False},
    )
    assert [v.candidate["multibuffer"] for v in result.verdicts] == [True, False]
    assert [v.status for v in result.verdicts] == ["feasible", "feasible"]


def test_a_space_of_compile_options_alone() -> None:
    result = ascend_autotune.prune(
        kernels.row_sum_kernel,
        space={"multibuffer": [True, False], "num_warps": [2, 4]},
        signature=SUM_TYPES,
        constants={"ROWS": 16, "COLS": 8192},
    )
    assert [v.status for v in result.verdicts] == ["infeasible"] * 4
    assert result.stats["merged"] == 2
    assert "Nothing in this space can run" in str(result)


def test_candidates_that_are_one_program_are_cheap_by_the_hundred_thousand() -> None:
    result = ascend_autotune.prune(
        kernels.scale_kernel,
        space={"num_warps": range(1, 1001), "num_stages": range(1, 101), "BLOCK": [64, 128]},
        signature=TYPES,
    )
    assert len(result.verdicts) == 200_000 and result.stats["merged"] == 199_998
    assert result.feasible[199_999] == {"num_warps": 1000, "num_stages": 100, "BLOCK": 128}


def test_a_candidate_that_does_not_compile_gets_its_message_and_the_others_go_on() -> None:
    result = ascend_autotune.prune(
        kernels.picky_kernel,
        space={"BLOCK": [16, 32, 64]},
        signature={"x_ptr": "*fp32", "out_ptr": "*fp32"},
    )
    verdict = result.verdicts[1]
    assert verdict.status == ("infeasible" if detect().ascend else "unknown")
    assert verdict.reasons[0].code == "front_end"
    assert "32 is not to be had" in verdict.reasons[0].text
    assert [v.status for v in result.verdicts][::2] == ["feasible", "feasible"]


def test_sizes_that_are_no_power_of_two_are_no_ground_to_refuse() -> None:
    result = ascend_autotune.prune(
        kernels.scale_kernel, space={"BLOCK": [96, 192]}, signature=TYPES
    )
    assert len(result.infeasible) == 0
    if detect().ascend:
        assert len(result.feasible) == 2


def test_a_grid_over_65535_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_ALL_BLOCKS_PARALLEL", raising=False)
    result = ascend_autotune.prune(
        kernels.scale_kernel,
        space={"BLOCK": [16, 1024]},
        signature=TYPES,
        grid=lambda meta: (2**20 // meta["BLOCK"],),
    )
    assert [v.status for v in result.verdicts] == ["infeasible", "feasible"]
    reason = result.verdicts[0].reasons[0]
    assert reason.code == "grid" and "larger tiles" in reason.text
    monkeypatch.setenv("TRITON_ALL_BLOCKS_PARALLEL", "1")
    result = ascend_autotune.prune(
        kernels.scale_kernel, space={"BLOCK": [16]}, signature=TYPES, grid=(65_536,)
    )
    assert [v.status for v in result.verdicts] == ["feasible"]


def test_missing_types_are_named() -> None:
    with pytest.raises(RequestError, match="factor"):
        ascend_autotune.prune(
            kernels.scale_kernel,
            space={"BLOCK": [16]},
            signature={k: v for k, v in TYPES.items() if k != "factor"},
        )


def test_exact_without_a_compiler_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(*_: object, **__: object) -> Judge:
        raise ascend_autotune.JudgeUnavailable("no Ascend compiler: pip install ...")

    monkeypatch.setattr(Judge, "find", absent)
    with pytest.raises(ascend_autotune.JudgeUnavailable, match="pip install"):
        ascend_autotune.prune(
            kernels.scale_kernel, space={"BLOCK": [16]}, signature=TYPES, exact=True
        )


def test_exact_replaces_all_that_is_open_or_refused_by_the_compilers_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    class Compiler:
        def ask_many(self, questions: Sequence[tuple[str, object]]) -> list[Outcome]:
            asked.extend(ttir for ttir, _ in questions)
            return [
                Outcome("overflow", overflows=(Overflow("ub", 555_555, 196_608),))
                if "8192" in ttir
                else Outcome("fits_after_fallback", fallback=("enable-auto-multi-buffer",))
                for ttir, _ in questions
            ]

    monkeypatch.setattr(Judge, "find", lambda chip: Compiler())
    space = {"ROWS": [16, 2048], "COLS": [16, 4096, 8192]}
    result = ascend_autotune.prune(
        kernels.row_sum_kernel, space=space, signature=SUM_TYPES, exact=True
    )
    by_tile = {tuple(v.candidate.values()): v for v in result.verdicts}
    assert by_tile[16, 16].status == "feasible"
    # The compiler takes what the model refuses: its word counts, whatever the model thinks.
    assert by_tile[16, 4096].status == "feasible"
    assert by_tile[16, 4096].fallback == ("enable-auto-multi-buffer",)
    assert by_tile[16, 8192].reasons[0].required_bytes == 555_555
    # The front end refuses these: there is nothing to compile.
    assert by_tile[2048, 4096].reasons[0].code == "numel"
    assert len(result.unknown) == 0
    assert result.stats["judge_calls"] == len(asked) > 0

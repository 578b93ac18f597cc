"""The pass over a space, with the assessment of programs put in by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import pytest

from ascend_autotune.analysis.assessing import Assessment
from ascend_autotune.analysis.pruning import Pass
from ascend_autotune.analysis.space import make_space
from ascend_autotune.analysis.verdict import Reason, ReasonCode, Status

TOO_MUCH = Reason(ReasonCode.OVERFLOW, "ub", 200, 100, "ub needs 200 bytes, the chip has 100")


class Bench:
    """A space, a grid and a made-up chip on which tiles over `limit` overflow."""

    def __init__(
        self,
        space: Mapping[str, list[object]],
        grid: Callable[[Mapping[str, object]], tuple[int, ...]] | None = None,
        program: Callable[[Mapping[str, object]], object] | None = None,
        limit: int = 64,
    ) -> None:
        self.asked: list[tuple[dict[str, object], object]] = []
        self.program = program
        self.limit = limit
        self.space = make_space(
            space,
            kernel="k",
            arguments=["x", "BLOCK", "SPARE"],
            constexprs=["BLOCK", "SPARE"],
            options=["multibuffer"],
        )
        request = SimpleNamespace(
            grid_of=lambda candidate: grid(candidate) if grid else None,
            # num_warps and num_stages do not reach this compiler.
            options=lambda fields: ("options", fields.get("multibuffer", True)),
        )
        self.run = Pass(self.space, request, self.assess)  # type: ignore[arg-type]
        self.run.run()

    def assess(self, tile: Mapping[str, object], options: object) -> Assessment:
        self.asked.append((dict(tile), options))
        status: Status = "infeasible" if int(str(tile["BLOCK"])) > self.limit else "feasible"
        reasons = (TOO_MUCH,) if status == "infeasible" else ()
        program = (self.program(tile) if self.program else tuple(tile.values()), options)
        return Assessment(status, reasons, {"ub": (1, 2)}, program=program)

    @property
    def statuses(self) -> list[str]:
        return [self.run.verdict(i).status for i in range(len(self.space))]


def test_each_candidate_gets_its_verdict_in_grid_order() -> None:
    bench = Bench({"BLOCK": [128, 32, 64]})
    assert bench.statuses == ["infeasible", "feasible", "feasible"]
    refused = bench.run.verdict(0)
    assert refused.candidate == {"BLOCK": 128} and refused.reasons == (TOO_MUCH,)
    assert refused.same_as is None and bench.run.merged == 0


def test_what_the_compiler_never_sees_is_merged_and_asked_once() -> None:
    bench = Bench({"num_warps": [4, 8], "BLOCK": [32, 128], "num_stages": [1, 2]})
    assert len(bench.asked) == 2 and bench.run.merged == 6
    assert bench.statuses == ["feasible", "feasible", "infeasible", "infeasible"] * 2
    first = {"num_warps": 4, "BLOCK": 128, "num_stages": 1}
    assert bench.run.verdict(2).same_as is None
    last = bench.run.verdict(7)
    assert last.candidate == {"num_warps": 8, "BLOCK": 128, "num_stages": 2}
    assert last.same_as == first and last.reasons == (TOO_MUCH,)


def test_compile_options_in_the_space_make_programs_of_their_own() -> None:
    bench = Bench({"BLOCK": [32], "multibuffer": [True, False]})
    assert [options for _, options in bench.asked] == [("options", True), ("options", False)]
    assert bench.run.merged == 0


def test_a_parameter_that_leaves_the_program_as_it_is_merges_its_values() -> None:
    bench = Bench({"SPARE": [1, 2], "BLOCK": [32, 64]}, program=lambda tile: tile["BLOCK"])
    assert bench.run.merged == 2
    assert bench.run.verdict(2).same_as == {"SPARE": 1, "BLOCK": 32}


def test_the_same_program_on_another_grid_is_another_candidate() -> None:
    bench = Bench(
        {"SPARE": [1, 2], "BLOCK": [32]},
        grid=lambda candidate: (int(str(candidate["SPARE"])),),
        program=lambda tile: tile["BLOCK"],
    )
    assert bench.run.merged == 0


def test_a_grid_that_is_too_large_is_refused_without_a_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TRITON_ALL_BLOCKS_PARALLEL", raising=False)

    def blocks(candidate: Mapping[str, object]) -> tuple[int, ...]:
        return (2**21 // int(str(candidate["BLOCK"])), 1)

    bench = Bench({"BLOCK": [16, 32, 64]}, grid=blocks)
    assert bench.statuses == ["infeasible", "infeasible", "feasible"]  # 131,072 65,536 32,768
    assert bench.run.verdict(1).reasons[0].code == "grid"
    assert [tile for tile, _ in bench.asked] == [{"BLOCK": 64}]

    monkeypatch.setenv("TRITON_ALL_BLOCKS_PARALLEL", "1")
    assert Bench({"BLOCK": [16, 32, 64]}, grid=blocks).statuses == ["feasible"] * 3

"""explain on real kernels, on whatever Triton is installed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("triton")

import tile_kernels as kernels

import ascend_autotune
from ascend_autotune import RequestError
from ascend_autotune.analysis.request import RECORD

TYPES = {"x_ptr": "*fp32:16", "out_ptr": "*fp32:16", "n": "i32", "factor": "fp32"}
SUM_TYPES = {"x_ptr": "*fp32:16", "out_ptr": "*fp32:16", "stride": "i32:16"}


@dataclass
class Tensor:
    dtype: str = "torch.float32"

    def data_ptr(self) -> int:
        return 4096


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.endswith("?") or "? (" in line]


def test_a_report_answers_the_four_questions_in_order() -> None:
    report = ascend_autotune.explain(kernels.scale_kernel, signature=TYPES, BLOCK=1024)
    text = str(report)
    assert [heading.split("?")[0] for heading in headings(text)] == [
        "What kind of kernel is it",
        "What does this tile take of each memory",
        "Which buffers bind, and at which lines",
        "What would fit",
    ]
    assert "tile_kernels.py:" in text and "elementwise" in text
    assert max(map(len, text.splitlines())) <= 80
    assert report.classification is not None and report.classification.family == "vector"
    assert report.footprint is not None and report.graph is not None
    assert report.verdict.status == "feasible" and report.search is None
    low, high = report.verdict.footprint["ub"]
    assert 4096 <= low <= high


def test_json_holds_what_the_text_does() -> None:
    report = ascend_autotune.explain(
        kernels.scale_kernel, signature=TYPES, BLOCK=1024, target="Ascend910B1"
    )
    value = json.loads(json.dumps(report.to_json()))
    assert value["schema_version"] == 1 and value["kernel"] == "scale_kernel"
    assert (value["target"], value["target_source"]) == ("Ascend910B1", "given")
    assert value["classification"]["family"] == "vector"
    assert value["verdict"]["status"] == "feasible"
    assert value["tile"]["BLOCK"] == 1024 and value["assumptions"] == []
    assert {neighbour["parameter"] for neighbour in value["nearest"]} == {"BLOCK"}
    assert value["nearest"][0]["refused"] is not None


def test_the_kernel_alone_is_enough_and_every_assumption_is_stated() -> None:
    report = ascend_autotune.explain(kernels.scale_kernel)
    stated: dict[str, object] = {}
    for assumption in report.request.assumptions:
        stated.update(assumption.values)
    assert stated == {
        "x_ptr": "*fp16",
        "out_ptr": "*fp16",
        "n": "i32",
        "factor": "fp32",
        "BLOCK": 64,
    }
    text = " ".join(str(report).split())
    assert "x_ptr, out_ptr: *fp16" in text and "BLOCK=64" in text
    assert "Ascend910B3 (no Ascend device is active)" in text
    assert report.verdict.status == "feasible"


def test_types_that_do_not_compile_are_assumed_otherwise() -> None:
    report = ascend_autotune.explain(kernels.bits_kernel)
    assert report.request.signature["x_ptr"] == "*i32"
    assert report.verdict.status == "feasible"
    assert "does not compile" in " ".join(str(report).split())


def test_a_kernel_is_not_blamed_for_what_was_only_assumed_of_it() -> None:
    report = ascend_autotune.explain(kernels.impossible_kernel)
    assert report.verdict.status == "unknown"
    text = " ".join(str(report).split())
    assert "seven or nothing" in text and "give signature and constants" in text


def test_call_arguments_are_enough_too() -> None:
    report = ascend_autotune.explain(kernels.scale_kernel, Tensor(), Tensor(), 1, 0.5, BLOCK=256)
    assert dict(report.request.signature) == {
        "x_ptr": "*fp32:16",
        "out_ptr": "*fp32:16",
        "factor": "fp32",
    }
    assert report.request.constants["n"] == 1 and report.request.assumptions == ()


def test_what_is_not_given_is_taken_from_the_last_call_under_the_hook() -> None:
    class Wrapper:
        def __init__(self, fn: object, record: Mapping[str, object]) -> None:
            self.fn = fn
            setattr(self, RECORD, record)

    found = object()
    wrapped = Wrapper(
        kernels.scale_kernel,
        {
            "signature": TYPES,
            "constants": {"BLOCK": 512},
            "target": "Ascend910B1",
            "search": found,
        },
    )
    report = ascend_autotune.explain(wrapped)
    assert report.tile == {"BLOCK": 512} and report.search is found
    assert (report.request.chip.name, report.request.target_source) == (
        "Ascend910B1",
        "active device",
    )
    assert "as in the kernel's last call" in " ".join(str(report).split())
    assert ascend_autotune.explain(wrapped, BLOCK=64).tile == {"BLOCK": 64}
    assert len(ascend_autotune.prune(wrapped, space={"BLOCK": [16]}).survivors) == 1


def test_with_a_space_the_smallest_tile_is_shown_and_all_others_are_judged() -> None:
    report = ascend_autotune.explain(
        kernels.row_sum_kernel,
        signature=SUM_TYPES,
        space={"ROWS": [64, 16], "COLS": [64, 4096]},
        target="Ascend910B3",
    )
    assert report.tile == {"ROWS": 16, "COLS": 64}
    assert report.pruned is not None and len(report.pruned.verdicts) == 4
    assert {"ROWS": 64, "COLS": 4096} in report.pruned.infeasible
    text = str(report)
    assert "Largest that can run" in text and "ROWS=64  COLS=64" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_tile_that_cannot_be_compiled_still_gets_a_report() -> None:
    report = ascend_autotune.explain(kernels.row_sum_kernel, ROWS=2048, COLS=2048)
    assert report.verdict.status == "infeasible"
    assert report.verdict.reasons[0].code == "numel"
    assert report.classification is None and report.footprint is None and report.graph is None
    text = str(report)
    assert "4,194,304 elements" in text and "ROWS:" in text
    json.dumps(report.to_json())


def test_a_kernel_with_nothing_to_choose() -> None:
    report = ascend_autotune.explain(kernels.no_tile_kernel)
    assert report.tile == {} and report.nearest == ()
    assert "no parameter to search" in str(report)


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"BLOK": 64}, "did you mean 'BLOCK'"),
        ({"target": "Ascend910B9"}, "Ascend910B"),
        ({"space": {"n": [1]}}, "n is a runtime argument of scale_kernel"),
        ({"space": {"BLOCK": []}}, "BLOCK has no values"),
        ({"signature": {**TYPES, "n": "int32"}}, "int32"),
        ({"signature": {**TYPES, "m": "i32"}}, "m"),
        ({"compile_options": {"multibufer": True}}, "multibuffer"),
    ],
)
def test_wrong_requests_are_refused_in_one_line(request_: Mapping[str, Any], told: str) -> None:
    with pytest.raises(RequestError) as caught:
        ascend_autotune.explain(kernels.scale_kernel, **{"signature": TYPES, **request_})
    assert told in str(caught.value) and "\n" not in str(caught.value)

"""Family, kind and the lines that show them: the same on every Triton flavour."""

from __future__ import annotations

import importlib.util
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

import tracing
from dataflow_kernels import CASES

from ascend_autotune.analysis.classifier import KINDS, MIXCV, VECTOR, Classification, classify
from ascend_autotune.analysis.graph import build_graph

KIND_OF = {
    "add": "elementwise",
    "attention": "attention",
    "batched_matmul": "batched_matmul",
    "calls_helper": "elementwise",
    "chained_matmul": "chained_matmul",
    "collatz": "elementwise",
    "copy_rows": "copy",
    "cumsum": "scan",
    "descriptors": "elementwise",
    "early_return": "elementwise",
    "every_second": "elementwise",
    "fill": "fill",
    "flip": "flip",
    "gather_rows": "gather",
    "grouped_matmul": "grouped_matmul",
    "histogram_atomics": "atomic",
    "inline_assembly": "elementwise",
    "linear_attention": "stateful",
    "matmul": "matmul",
    "nested_branches": "reduction",
    "positive_only": "elementwise",
    "ragged_sum": "reduction",
    "recurrence": "stateful",
    "relu_in_place": "elementwise",
    "reshaped_pointers": "transpose",
    "rms_norm": "normalization",
    "row_argmax": "reduction",
    "row_sum": "reduction",
    "scatter_rows": "scatter",
    "slots": "gather",
    "softmax": "softmax",
    "sort": "sort",
    "transpose": "transpose",
    "transposed_access": "transpose",
    "block_pointers": "transpose",
    "triangle": "elementwise",
    "wrapped": "copy",
}


@cache
def classified(name: str) -> Classification:
    return classify(build_graph(tracing.module(name)))


@pytest.mark.parametrize("name", sorted(CASES))
def test_kinds(name: str) -> None:
    assert classified(name).kind == KIND_OF[name]


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_family_is_mixcv_exactly_with_a_dot(name: str) -> None:
    has_dot = "tl.dot" in tracing.source(name)
    assert classified(name).family == (MIXCV if has_dot else VECTOR)


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_claim_points_at_lines_of_the_kernel(name: str) -> None:
    found = classified(name)
    assert [claim.feature for claim in found.claims[:2]] == ["family", "kind"]
    for claim in found.claims:
        assert claim.text and "\n" not in claim.text
        if claim.feature == "family" and found.family == VECTOR:
            continue
        assert claim.evidence, claim
        for evidence in claim.evidence:
            assert Path(evidence.file).name == tracing.SOURCE.name
            assert 0 < evidence.line <= tracing.line_count()


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("matmul", ["tl.dot(x, y)"]),
        ("attention", ["tl.dot(q", "power = tl.exp", "tl.dot(power"]),
        ("softmax", ["tl.max(row", "tl.sum(power"]),
        ("gather_rows", ["tl.load(x"]),
        ("histogram_atomics", ["tl.atomic_add"]),
        ("cumsum", ["tl.cumsum"]),
        ("recurrence", ["for step", "tl.store"]),
        ("grouped_matmul", ["tl.load(b", "tl.dot"]),
    ],
)
def test_the_kind_is_shown_where_it_stands(name: str, lines: list[str]) -> None:
    shown = {evidence.line for evidence in classified(name).claims[1].evidence}
    assert {tracing.line_of(name, text) for text in lines} <= shown


def test_in_place_arguments_and_loaded_control_are_claimed() -> None:
    assert "in_place" in {claim.feature for claim in classified("relu_in_place").claims}
    assert "control" in {claim.feature for claim in classified("ragged_sum").claims}
    assert not {"in_place", "control"} & {claim.feature for claim in classified("add").claims}


def test_json_is_plain() -> None:
    found = json.loads(json.dumps(classified("attention").to_json()))
    assert (found["family"], found["kind"]) == ("mixcv", "attention")
    assert {"feature", "text", "evidence"} == set(found["claims"][0])
    assert {"op", "file", "line", "node"} == set(found["claims"][0]["evidence"][0])


def test_kinds_are_documented_once() -> None:
    names = [(kind.family, kind.name) for kind in KINDS]
    assert len(set(names)) == len(names)
    assert all(kind.text for kind in KINDS)
    assert set(KIND_OF.values()) <= {kind.name for kind in KINDS}


def _reports(shared: Path) -> list[dict[str, Any]]:
    text = (shared / "groundtruth" / "reports" / "rows.json").read_text()
    return list(json.loads(text)["cases"])


def test_families_equal_the_compilers_own_mode(shared: Path) -> None:
    folder = shared / "groundtruth" / "reports"
    rows = json.loads((folder / "rows.json").read_text())["rows"]
    checked = 0
    for case in _reports(shared):
        modes = {r["mode"] for r in rows if r["case"] == case["name"] and r.get("mode")}
        if not modes or "kernels2" in case["file"]:
            continue  # kernels2.py uses math functions that only triton-ascend has
        kernel = getattr(_load(folder / case["file"]), case["kernel"])
        constants = {**case["const"], **{k: v[0] for k, v in case["grid"].items()}}
        names = [n for n in kernel.arg_names if n not in constants]
        module = tracing.trace(kernel, dict(zip(names, case["types"], strict=True)), constants)
        expected = {"aiv": VECTOR, "aic": MIXCV, "mix": MIXCV}
        assert {expected[mode] for mode in modes} == {classify(build_graph(module)).family}
        checked += 1
    assert checked >= 8


@cache
def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"reports_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_a_kernel_that_writes_nothing_still_has_a_kind() -> None:
    from ascend_autotune.analysis.reader import parse_module

    module = parse_module(
        '"builtin.module"() ({\n'
        '  "tt.func"() <{sym_name = "k", sym_visibility = "public"}> ({\n'
        '    "tt.return"() : () -> ()\n'
        "  }) : () -> ()\n"
        "}) : () -> ()"
    )
    found = classify(build_graph(module))
    assert (found.family, found.kind) == (VECTOR, "elementwise")

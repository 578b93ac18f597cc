"""What went wrong for real users (user-cases.md, 1 to 7), on kernels shaped after the reports.

The verdicts beside them are the real compiler's: ../shared/groundtruth/reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

import ascend_autotune
from ascend_autotune.analysis.flavour import detect
from benchmarks.labels import Label, labels

TARGET = "Ascend910B3"
pytestmark = pytest.mark.skipif(
    not detect().ascend, reason="these kernels and sizes are triton-ascend's"
)


@pytest.fixture(scope="module")
def reports(shared: Path) -> dict[str, list[Label]]:
    cases: dict[str, list[Label]] = {}
    for label in labels("reports", groundtruth=shared / "groundtruth"):
        cases.setdefault(label.case.name, []).append(label)
    return cases


def prune(
    rows: list[Label], space: Mapping[str, list[int]], target: str = TARGET, **options: Any
) -> ascend_autotune.PruneResult:
    label = rows[0]
    function = label.function()
    return ascend_autotune.prune(
        function,
        space,
        target=target,
        compile_options=options,
        **label.given(function, label.config),
    )


def explain(rows: list[Label], **tile: int) -> ascend_autotune.Report:
    label = rows[0]
    function = label.function()
    return ascend_autotune.explain(
        function,
        target=TARGET,
        **label.given(function, label.config),
        **tile,
    )


def test_no_report_that_compiles_is_refused(reports: dict[str, list[Label]]) -> None:
    for rows in reports.values():
        for options in ({"multibuffer": True}, {"multibuffer": False}):
            mine = [row for row in rows if row.options == options]
            mine = [row for row in mine if row.status in ("ok", "overflow")]
            if not mine:
                continue
            space = {n: sorted({row.config[n] for row in mine}) for n in mine[0].config}
            found = {tuple(v.candidate.values()): v for v in prune(mine, space, **options).verdicts}
            for row in mine:
                verdict = found[tuple(row.config.values())]
                wrong = "infeasible" if row.status == "ok" else "feasible"
                assert verdict.status != wrong, (row.case.name, row.config)


def test_1_the_largest_head_tile_and_that_it_needs_the_fallback(
    reports: dict[str, list[Label]],
) -> None:
    rows = reports["own_tile_move_f32"]
    (name,) = rows[0].config
    one, two, four = prune(rows, {name: [1, 2, 4]}).verdicts
    assert (one.status, two.status, four.status) == ("feasible", "feasible", "infeasible")
    assert not one.fallback and "enable-auto-multi-buffer" in two.fallback
    assert four.reasons[0].required_bytes == 262_144
    text = str(explain(rows, **{name: 4}))
    assert f"{name}: 2 fits" in text
    halved = reports["own_tile_move_bf16"]
    assert [v.status for v in prune(halved, {name: [4, 8]}).verdicts] == ["feasible", "infeasible"]


def test_1_where_not_even_one_head_fits_another_parameter_is_named(
    reports: dict[str, list[Label]],
) -> None:
    rows = reports["own_tile_move_f32"]
    (name,) = rows[0].config
    function = rows[0].function()
    text = str(
        ascend_autotune.explain(
            function,
            signature=rows[0].signature(function),
            constants={"V": 512, "K": 256, name: 1},
            target=TARGET,
        )
    )
    assert "another parameter must become smaller" in text


def test_2_a_batch_tile_that_is_no_power_of_two_is_judged_where_it_is(
    reports: dict[str, list[Label]],
) -> None:
    rows = [row for row in reports["own_gate2d"] if row.options["multibuffer"]]
    (name,) = rows[0].config
    sizes = sorted(row.config[name] for row in rows)
    found = {v.candidate[name]: v for v in prune(rows, {name: sizes}).verdicts}
    for row in rows:
        verdict = found[row.config[name]]
        assert verdict.status == ("feasible" if row.status == "ok" else "infeasible")
        if row.status == "ok":
            assert bool(verdict.fallback) == bool(row.fallback)


def test_3_a_rotary_size_is_judged_from_what_it_is_padded_to(
    reports: dict[str, list[Label]],
) -> None:
    rows = reports["own_rope_half"]
    for row in rows:
        tile = {name: [value] for name, value in row.config.items()}
        (verdict,) = prune(rows, tile).verdicts
        assert verdict.status == ("feasible" if row.status == "ok" else "infeasible"), row.config
        assert bool(verdict.fallback) == bool(row.fallback) or row.status != "ok"


def test_4_the_report_names_the_binding_buffers_by_line(reports: dict[str, list[Label]]) -> None:
    rows = reports["own_flip_exp"]
    report = explain(rows, **{name: 64 for name in rows[0].config})
    assert report.verdict.status == "feasible"
    peak = report.footprint.peak["ub"] if report.footprint else ()
    assert peak and all(buffer.location.line for buffer in peak if buffer.bytes > 4096)
    assert "kernels.py" in str(report)


def test_5_capacity_belongs_to_the_target_and_a_cast_to_int8_pads_rows(
    reports: dict[str, list[Label]],
) -> None:
    rows = reports["own_cast_i8_2d"]
    first, second = rows[0].config
    for row in rows:
        tile = {name: [value] for name, value in row.config.items()}
        (verdict,) = prune(rows, tile).verdicts
        assert verdict.status == ("feasible" if row.status == "ok" else "infeasible")
        if row.status == "overflow":
            assert verdict.reasons[0].required_bytes == row.required["ub"]
    (elsewhere,) = prune(rows, {first: [8], second: [1024]}, target="Ascend950PR_9579").verdicts
    assert elsewhere.status != "infeasible"


def test_6_offsets_taken_modulo_are_no_plain_matmul(reports: dict[str, list[Label]]) -> None:
    rows = reports["own_mm_mod"]
    report = explain(rows, **dict.fromkeys(rows[0].config, 64))
    assert report.classification is not None
    assert report.classification.family == "mixcv"
    assert report.classification.kind == "wrapped_matmul"
    assert "addresses that wrap" in str(report)
    for row in rows:
        tile = {name: [value] for name, value in row.config.items()}
        (verdict,) = prune(rows, tile).verdicts
        assert verdict.status != ("infeasible" if row.status == "ok" else "feasible")


def test_7_a_grid_of_65536_blocks_is_refused_and_larger_tiles_proposed(
    reports: dict[str, list[Label]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRITON_ALL_BLOCKS_PARALLEL", raising=False)
    label = reports["own_cast_f16_2d"][0]
    function = label.function()
    first, second = label.config
    small, large = ascend_autotune.prune(
        function,
        {first: [8, 16], second: [128]},
        signature=label.signature(function),
        target=TARGET,
        grid=lambda meta: (2**19 // meta[first],),
    ).verdicts
    assert (small.status, large.status) == ("infeasible", "feasible")
    assert small.reasons[0].code == "grid" and "larger tiles" in small.reasons[0].text

"""The replay benchmark's own arithmetic and its lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_autotune.search.replay import load_landscape
from benchmarks.search.baselines import random_order
from benchmarks.search.runs import configs_of, run_of
from benchmarks.search.table import geometric, table
from benchmarks.search_replay import main

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "landscapes"


def test_budgets() -> None:
    assert [configs_of("5%", n) for n in (10, 44, 319, 320, 340, 600)] == [10, 16, 16, 16, 17, 30]
    assert [configs_of(64, n) for n in (44, 600)] == [44, 64]


def test_a_repeat_costs_nothing_and_a_failure_counts() -> None:
    landscape = load_landscape(FOLDER / "attention_B4_H16_N_CTX4096_HEAD_DIM64.json.gz")
    order = random_order(landscape, 0, 16)
    run = run_of(landscape, [*order, *order], 16)
    assert run.tried == tuple(order) and 0 < run.fraction(landscape) <= 1
    rows = [landscape.by_config[c] for c in order]
    assert run.simulated_s == pytest.approx(sum(r.compile_s + r.bench_s for r in rows))
    failed = [row.config for row in landscape.rows if row.time_ms is None]
    assert run_of(landscape, failed, 16).fraction(landscape) == 0.0


def test_lines_as_the_contract_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = tmp_path / "landscapes"
    small.mkdir()
    for name in ("add_n16777216.json.gz", "kernels.py"):
        (small / name).write_bytes((FOLDER / name).read_bytes())
    out = tmp_path / "lines.jsonl"
    names = "ascend_autotune,random"
    assert main([str(small), "--seeds", "1", "--json", str(out), "--tuners", names]) == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["budget"] for line in lines] == [16, 32, 64, "5%"] * 2
    assert [line["measured"] for line in lines if line["tuner"] == "random"] == [16, 32, 44, 16]
    ours = [line for line in lines if line["tuner"] == "ascend_autotune"]
    assert all(line["measured"] <= 44 and line["fraction_of_best"] > 0.95 for line in ours)
    assert "geometric mean" in capsys.readouterr().out


def test_a_wrong_folder_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "holds no landscapes" in capsys.readouterr().err
    assert main([str(FOLDER), "--tuners", "nobody"]) == 2


def test_means() -> None:
    assert geometric([0.25, 1.0]) == pytest.approx(0.5)
    line = {"landscape": "x", "tuner": "t", "budget": 16, "fraction_of_best": 0.5}
    assert "0.500" in table([{**line, "simulated_s": 1.0, "configs": 100}], [16])

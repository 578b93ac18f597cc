"""Recorded landscapes as devices, and the search on them."""

from __future__ import annotations

import gzip
import json
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from ascend_autotune.errors import RequestError
from ascend_autotune.search import EFFORTS, Config, ConfigFailed, search
from ascend_autotune.search.replay import (
    Landscape,
    Noise,
    ReplayDevice,
    load_landscape,
    load_landscapes,
    problem_of,
)

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "landscapes"


@pytest.fixture(scope="module")
def attention() -> Landscape:
    return load_landscape(FOLDER / "attention_B4_H16_N_CTX4096_HEAD_DIM64.json.gz")


def test_reads_every_landscape() -> None:
    found = {one.name: len(one.rows) for one in load_landscapes(FOLDER)}
    assert found["matmul_M4096_N4096_K4096"] == 600
    assert sum(found.values()) == 2328


def test_a_row_costs_what_it_cost_when_it_was_recorded(attention: Landscape) -> None:
    device = ReplayDevice(attention)
    config = Config({"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3})
    first = device.time(config)
    assert first.time_ms == attention.best_ms
    assert device.clock() == pytest.approx(first.compile_s + first.bench_s)
    assert device.time(config).compile_s == 0  # compiled once


def test_a_compile_met_before_costs_what_a_like_one_did() -> None:
    add = load_landscape(FOLDER / "add_n16777216.json.gz")
    assert all(row.compile_s >= 0.05 for row in add.rows)


def test_a_config_that_was_not_recorded_is_an_error(attention: Landscape) -> None:
    with pytest.raises(RequestError, match="no recording"):
        ReplayDevice(attention).time(Config({"BLOCK_M": 17}))


def test_a_recorded_failure_fails_again(attention: Landscape) -> None:
    large = Config({"BLOCK_M": 256, "BLOCK_N": 256, "num_warps": 8, "num_stages": 4})
    with pytest.raises(ConfigFailed) as failed:
        ReplayDevice(attention).time(large)
    assert (failed.value.kind, failed.value.memory) == ("overflow", "shared")
    assert failed.value.required_bytes and failed.value.available_bytes == 232448


def test_a_file_that_is_no_landscape(tmp_path: Path) -> None:
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"rows": []}).encode()))
    with pytest.raises(RequestError, match="is no landscape"):
        load_landscape(path)
    with pytest.raises(RequestError, match="holds no landscapes"):
        load_landscapes(tmp_path / "empty")


def test_finds_attention_without_a_model(attention: Landscape) -> None:
    effort = replace(EFFORTS["default"], configs=32, gain=0.0)
    fractions = []
    for seed in range(3):
        device = ReplayDevice(attention)
        result = search(problem_of(attention), device, effort=effort, seed=seed)
        assert len(set(device.asked)) <= 32
        assert result.best is not None
        fractions.append(attention.best_ms / (attention.by_config[result.best].time_ms or 9e9))
    assert statistics.fmean(fractions) > 0.93


def test_noise_costs_little(attention: Landscape) -> None:
    """The issue's noise: 5% Gaussian on every reading, one in 50 tripled."""
    effort = replace(EFFORTS["default"], configs=24, gain=0.0)
    losses = []
    for seed in range(5):
        quiet = search(problem_of(attention), ReplayDevice(attention), effort=effort, seed=seed)
        device = ReplayDevice(attention, noise=Noise(), seed=seed)
        loud = search(problem_of(attention), device, effort=effort, seed=seed)
        assert quiet.best is not None and loud.best is not None
        times = [attention.by_config[r.best].time_ms or 9e9 for r in (quiet, loud) if r.best]
        losses.append(times[1] / times[0])
    assert statistics.median(losses) <= 1.03

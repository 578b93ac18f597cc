"""What a candidate's work comes to: laws from a few traces against traces of others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ascend_autotune.search.model.cost import log_cost
from ascend_autotune.search.model.figures import figures_of
from ascend_autotune.search.replay import ReplayDevice, load_landscape
from ascend_autotune.search.tally.laws import TRACES, Laws, chosen
from benchmarks.search.kernels import work_of

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "landscapes"


def of(name: str) -> tuple[list[dict[str, object]], dict[str, np.ndarray]]:
    landscape = load_landscape(FOLDER / f"{name}.json.gz")
    candidates = [dict(row.config.candidate) for row in landscape.rows]
    return candidates, dict(work_of(landscape, FOLDER).of(candidates))


@pytest.fixture(scope="module")
def matmul() -> tuple[list[dict[str, object]], dict[str, np.ndarray]]:
    return of("matmul_M64_N8192_K4096")


def test_work_of_a_matmul(matmul: tuple[list[dict[str, object]], dict[str, np.ndarray]]) -> None:
    candidates, work = matmul
    m, n, k = (np.array([float(str(c[f"BLOCK_{x}"])) for c in candidates]) for x in "MNK")
    steps = 4096 / k
    assert np.allclose(work["programs"], np.ceil(64 / m) * (8192 / n))
    assert np.allclose(work["steps"], steps)
    assert np.allclose(work["dot_flops"], 2 * m * n * 4096)
    assert np.allclose(work["load_bytes"], 2 * (m + n) * 4096)
    assert np.allclose(work["staged_bytes"], 2 * (m + n) * k)
    # rows past the 64 of the output are masked: they move no bytes
    assert np.allclose(work["store_bytes"], 2 * np.minimum(m, 64) * n)
    assert np.allclose(work["run_bytes"], 2 * np.minimum(n, k))


def test_work_of_a_softmax_whose_loop_may_run_once() -> None:
    candidates, work = of("softmax_rows65536_cols1024")
    rows, cols = (np.array([float(str(c[x])) for c in candidates]) for x in ("XBLOCK", "BLOCK"))
    assert np.allclose(work["programs"], np.ceil(65536 / rows))
    assert np.allclose(work["steps"], 2 * np.ceil(1024 / cols))
    assert np.allclose(work["load_bytes"], 2 * 2 * rows * 1024)
    assert np.allclose(work["again_bytes"], 2 * rows * 1024)
    assert np.allclose(work["tile"], rows * cols)


def test_few_candidates_are_traced() -> None:
    names = ("A", "B", "C")
    grid = [{"A": a, "B": b, "C": c} for a in range(1, 33) for b in range(1, 33) for c in (1, 2)]
    assert len(chosen(names, grid)) <= TRACES
    assert len(chosen(names, grid[:1])) == 1


def test_a_law_gives_what_a_trace_gives() -> None:
    landscape = load_landscape(FOLDER / "layernorm_rows8192_cols4096.json.gz")
    request = work_of(landscape, FOLDER).request
    candidates = [dict(row.config.candidate) for row in landscape.rows]
    laws = Laws.learn(request, candidates)
    other = next(c for c in candidates if c["XBLOCK"] == 32 and c["BLOCK"] == 1024)
    alone = Laws.learn(request, [other])
    for learnt, traced in zip(laws.items([other]), alone.items([other]), strict=True):
        assert learnt.kind == traced.kind
        if learnt.kind != "live":
            for name, value in traced.numbers.items():
                assert float(learnt.numbers[name][0]) == pytest.approx(float(value[0])), name


def test_the_model_puts_good_configs_first(
    matmul: tuple[list[dict[str, object]], dict[str, np.ndarray]],
) -> None:
    candidates, work = matmul
    landscape = load_landscape(FOLDER / "matmul_M64_N8192_K4096.json.gz")
    cost = log_cost(work, candidates, figures_of(ReplayDevice(landscape).info))
    first = [landscape.rows[int(i)].time_ms or 1e9 for i in np.argsort(cost)[:8]]
    assert landscape.best_ms / min(first) > 0.9

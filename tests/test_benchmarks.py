"""What the benchmarks count by: thresholds, live sums of a report, tables, random kernels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ascend_autotune.analysis.ir import UNKNOWN
from ascend_autotune.analysis.judge.outcome import JudgedBuffer, Outcome
from benchmarks.hand_models import FLA, LIGER, TILE_GENERATOR, HandModel
from benchmarks.live_sums import Counts, Live, attempt_of, reported
from benchmarks.tables import Table


@pytest.mark.parametrize(
    ("model", "kernel", "largest"),
    [
        (LIGER, "rms_norm_kernel", 7372),  # 6 copies of 4 bytes in 0.9 of 196,608
        (LIGER, "rms_norm_grad_dw_kernel", 5529),  # 8 copies
        (LIGER, "bmm_kernel", 3932),  # no factor of its own: 10 copies in 0.8
        (FLA, "l2_norm_kernel", 20889),  # 2 copies in 0.85
        (FLA, "softmax_kernel", 3932),
    ],
)
def test_a_hand_model_lets_through_what_its_copies_leave_room_for(
    model: HandModel, kernel: str, largest: int
) -> None:
    assert model.fits(kernel, largest, 2)
    assert not model.fits(kernel, largest + 1, 2)


def test_what_a_library_has_a_factor_of_its_own_for() -> None:
    assert LIGER.known("fused_add_rms_norm_kernel") and not LIGER.known("argmax_kernel")
    assert FLA.known("chunk_fwd_kernel_o") and not FLA.known("argmax_kernel")


def test_the_tile_generator_looks_at_the_widest_argument() -> None:
    assert TILE_GENERATOR.fits("any", 16384, 4)
    assert not TILE_GENERATOR.fits("any", 16385, 4)
    assert TILE_GENERATOR.fits("any", 32768, 2)


def _buffer(memory: str, size: int, first: int, last: int, core: str, copies: int) -> JudgedBuffer:
    offsets = tuple(range(copies))
    return JudgedBuffer(memory, size, offsets, first, last, False, UNKNOWN, "", core)


def test_a_reports_live_sum_is_of_what_lives_at_once_on_one_core() -> None:
    outcome = Outcome(
        "fits",
        buffers=(
            _buffer("ub", 100, 1, 5, "aiv", 1),  # 128 bytes in blocks of 32
            _buffer("ub", 64, 5, 6, "aiv", 2),
            _buffer("ub", 96, 6, 9, "aiv", 1),
            _buffer("l0c", 100, 1, 9, "aic", 1),  # 512 in blocks of 512
            _buffer("gm", 4096, 1, 9, "aiv", 1),
        ),
    )
    assert reported(outcome) == {"ub": 256, "l0c": 512}


def test_a_report_is_of_the_last_attempt_that_was_made() -> None:
    assert attempt_of((), False, 3) == 0
    assert attempt_of(("enable-code-motion",), False, 3) == 1
    assert attempt_of(("enable-auto-multi-buffer", "enable-code-motion"), False, 3) == 2
    assert attempt_of((), True, 3) == 2


def test_pairs_are_counted_by_memory() -> None:
    counts = Counts()
    ours = {"ub": Live(64, 64), "l1": Live(128, 96)}
    counts.add(ours, {"ub": 64, "l1": 100, "l0c": 512})
    assert counts.to_json() == {
        "pairs": 3,
        "equal": 0.3333,
        "above": 0.3333,
        "above_by_a_sound_rule": 0,
    }
    assert Counts().to_json()["equal"] is None


def test_a_table_is_whole_after_every_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "table.jsonl"
    with Table(file) as table:
        table.add({"a": 1})
        assert json.loads(file.read_text()) == {"a": 1}
        table.add({"a": None})
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines == [{"a": 1}, {"a": None}]
    assert capsys.readouterr().out == file.read_text()


def test_a_seed_gives_its_kernels_again_and_another_gives_others() -> None:
    pytest.importorskip("triton")
    from benchmarks.fresh_kernels import generate

    sources = [[kernel.source for kernel in generate(12, seed)] for seed in (1, 1, 2)]
    assert sources[0] == sources[1] != sources[2]
    assert len(set(sources[0])) == 12

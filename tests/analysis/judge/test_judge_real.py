"""The real compiler on real labels; skipped where it is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from judge_texts import TTIR

from ascend_autotune.analysis.judge import Judge
from ascend_autotune.errors import JudgeUnavailable

BIG = TTIR.replace("1024", "65536")  # 256 KiB


@pytest.fixture
def judge() -> Judge:
    return find("Ascend910B3")


def find(chip: str) -> Judge:
    try:
        return Judge.find(chip)
    except JudgeUnavailable as error:
        pytest.skip(str(error))


def test_a_small_copy_fits_in_one_buffer(judge: Judge) -> None:
    outcome = judge.ask(TTIR)
    assert (outcome.status, outcome.mode, outcome.dropped) == ("fits", "aiv", ())
    (buffer,) = outcome.buffers
    assert (buffer.memory, buffer.bytes, buffer.type) == ("ub", 4096, "1024xf32")
    assert str(buffer.location) == "/src/kernels.py:13"


def test_a_large_one_overflows_by_the_compilers_own_figures(judge: Judge) -> None:
    outcome = judge.ask(BIG)
    assert outcome.status == "overflow"
    assert outcome.overflows == (("ub", 262144, 196608),)
    assert outcome.message.startswith("ub overflow, requires 2097152 bits")


def test_a_text_that_is_no_program_is_refused(judge: Judge) -> None:
    outcome = judge.ask("module { tt.nonsense }")
    assert outcome.status == "refused"
    assert "custom op 'tt.nonsense'" in outcome.message


def test_the_second_answer_comes_from_the_disk(judge: Judge) -> None:
    first = judge.ask(BIG)
    again = find("Ascend910B3").ask(BIG)
    assert again.cached
    assert (again.status, again.overflows, again.buffers) == (
        first.status,
        first.overflows,
        first.buffers,
    )


@pytest.mark.parametrize(
    ("chip", "available"), [("Ascend950PR_9579", 253952), ("Ascend310B1", None)]
)
def test_the_newer_chips_have_more_room(chip: str, available: int | None) -> None:
    outcome = find(chip).ask(BIG)
    if available is None:
        assert outcome.status == "fits"
    else:
        assert outcome.overflows == (("ub", 262144, available),)


def test_a_full_disk_is_no_verdict(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(Path("/proc")))
    assert judge.ask(BIG).status == "failed"

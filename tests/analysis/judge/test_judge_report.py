from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from judge_texts import FITS

from ascend_autotune.analysis.judge.outcome import Outcome, Overflow
from ascend_autotune.analysis.judge.process import Finished
from ascend_autotune.analysis.judge.report import last_words, read_outcome, sentence

NO_HIVMC = "[ERROR] Cannot find hivmc under $PATH \n"
PIPELINE = "[ERROR] Failed to run BiShengIR pipeline\n"
UB = "ub overflow, requires 4194304 bits while 1572864 bits available! (possible reason: ...)"
RETRIED = (
    "[NOTE] Ub overflow detected; automatically set enable-code-motion to false and retrying "
    "compilation.\n"
)
THEN = (
    "[NOTE] Due to Ub overflow, automatically set enable-code-motion to false, "
    "set enable-auto-multi-buffer to false; compilation then {}.\n"
)


def read(folder: Path, stderr: str, code: int = 1, a5: bool = False) -> Outcome:
    return read_outcome(Finished(code, "", stderr), folder, a5)


def test_only_the_code_generator_is_missing(tmp_path: Path) -> None:
    text = f'{NO_HIVMC}loc("-":1:1): error: {FITS}\n{PIPELINE}'
    assert read(tmp_path, text).status == "fits"


def test_cann_finishes(tmp_path: Path) -> None:
    assert read(tmp_path, "", 0).status == "fits"


def test_a_code_generator_that_fails_refuses(tmp_path: Path) -> None:
    text = f'loc("-":1:1): error: {FITS}\nerror: too many registers\n{PIPELINE}'
    outcome = read(tmp_path, text)
    assert (outcome.status, outcome.message) == ("refused", "too many registers")


def test_a_fallback_is_named(tmp_path: Path) -> None:
    text = f"{NO_HIVMC}{RETRIED}{THEN.format('succeeded')}error: {FITS}\n{PIPELINE}"
    outcome = read(tmp_path, text)
    assert outcome.status == "fits_after_fallback"
    assert outcome.fallback == ("enable-auto-multi-buffer", "enable-code-motion")
    assert outcome.message.endswith("compilation then succeeded.")


def test_an_overflow_has_its_figures_in_bytes(tmp_path: Path) -> None:
    text = f'{NO_HIVMC}{RETRIED}loc("-":2:3): error: {UB}\n{PIPELINE}'
    outcome = read(tmp_path, text)
    assert outcome.status == "overflow"
    assert outcome.overflows == (Overflow("ub", 524288, 196608),)
    assert outcome.message == UB
    assert outcome.fallback == ("enable-code-motion",)


def test_memories_have_this_packages_names(tmp_path: Path) -> None:
    text = UB.replace("ub", "cbuf", 1) + "\n" + UB.replace("ub", "cc", 1)
    assert [o.memory for o in read(tmp_path, text).overflows] == ["l1", "l0c"]


def test_of_several_attempts_the_last_counts(tmp_path: Path) -> None:
    text = f"{UB}\n{UB.replace('4194304', '2097152')}\n"
    assert read(tmp_path, text, a5=True).overflows == (Overflow("ub", 262144, 196608),)


@pytest.mark.parametrize(
    ("attempts", "fallback"),
    [
        (5, ()),
        (4, ("enable-code-motion",)),
        (3, ("enable-auto-multi-buffer", "enable-code-motion")),
    ],
)
def test_the_a5_build_counts_its_attempts(
    tmp_path: Path, attempts: int, fallback: tuple[str, ...]
) -> None:
    text = "[ERROR] Cannot find hivmc-a5 under $PATH \n" * attempts + PIPELINE
    outcome = read(tmp_path, text, a5=True)
    assert outcome.fits
    assert outcome.fallback == fallback


def test_a_refusal_keeps_the_compilers_sentence(tmp_path: Path) -> None:
    text = (
        f"{NO_HIVMC}loc(\"-\":12:5): error: 'scf.for' op Failed to collect tiling info\n"
        f'loc("-":1:1): error: Failed to run BiShengHIR pipeline\n{PIPELINE}'
    )
    outcome = read(tmp_path, text)
    assert outcome.status == "refused"
    assert outcome.message == "'scf.for' op Failed to collect tiling info"


def test_no_reason_is_said_to_be_none(tmp_path: Path) -> None:
    assert sentence("") == "no reason given"
    assert read(tmp_path, PIPELINE).message


def test_last_words() -> None:
    assert "uses" in last_words(Finished(-6, "", "LLVM ERROR: still has uses\n#0 0x12"))
    assert last_words(Finished(-9, "", "")) == "killed by signal 9"


def entry(**changed: Any) -> dict[str, Any]:
    return {
        "buffer": "%alloc = memref.alloc() : memref<32x64xf32, #hivm.address_space<ub>>",
        "extent": 65536,
        "is_tmpbuf": False,
        "life_time_in_ir": [16, 20],
        "offset": [0, 8192],
        "source_location": 'loc("-":9:10)',
        **changed,
    }


def write(folder: Path, core: str, scope: str, *entries: dict[str, Any]) -> None:
    record = {"scope": scope, "status": "success", "memory_info_array": entries}
    (folder / f"memory_info_{core}.json").write_text(json.dumps({"Record": [record]}))


def test_buffers_are_values(tmp_path: Path) -> None:
    write(tmp_path, "aiv", "ub", entry(), entry(is_tmpbuf=True, offset=[16384], extent=100))
    write(tmp_path, "aic", "cc", entry())
    cube, vector, temporary = read(tmp_path, f"{NO_HIVMC}{FITS}").buffers
    assert (vector.memory, vector.bytes, vector.copies, vector.offsets) == (
        "ub",
        8192,
        2,
        (0, 8192),
    )
    assert (vector.first, vector.last, vector.type, vector.core) == (16, 20, "32x64xf32", "aiv")
    assert vector.location.line == 9
    assert (temporary.temporary, temporary.bytes) == (True, 13)
    assert (cube.memory, cube.core) == ("l0c", "aic")


def test_values_merged_in_place_are_one_buffer(tmp_path: Path) -> None:
    half = entry(
        buffer="%a = memref.alloc() : memref<32x64xf16, #x>",
        extent=32768,
        source_location="loc(unknown)",
    )
    write(tmp_path, "aiv", "ub", half, entry(), entry())
    (buffer,) = read(tmp_path, f"{NO_HIVMC}{FITS}").buffers
    assert (buffer.bytes, buffer.type) == (8192, "32x64xf16/32x64xf32")
    assert buffer.location.line == 9


def test_a_report_cut_short_is_an_error_not_a_plan(tmp_path: Path) -> None:
    (tmp_path / "memory_info_aiv.json").write_text('{"Record": [{"sco')
    with pytest.raises(ValueError, match="Unterminated"):
        read(tmp_path, f"{NO_HIVMC}{FITS}")

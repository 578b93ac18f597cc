from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ascend_autotune.analysis.ir import Location
from ascend_autotune.analysis.judge.cache import OutcomeCache, cache_root
from ascend_autotune.analysis.judge.outcome import JudgedBuffer, Outcome, Overflow

KEY = "ab" * 32
OVERFLOW = Outcome(
    "overflow",
    "ub overflow",
    ("enable-code-motion",),
    (Overflow("ub", 200000, 196608),),
    "aiv",
    (JudgedBuffer("ub", 4096, (0, 4096), 3, 9, True, Location("", 7), "1024xf32", "aiv"),),
    seconds=0.5,
)


def test_a_verdict_comes_back_as_it_went(tmp_path: Path) -> None:
    OutcomeCache(tmp_path).put(KEY, OVERFLOW)
    assert OutcomeCache(tmp_path).get(KEY) == OVERFLOW


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    assert OutcomeCache(tmp_path / "absent").get(KEY) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"version":1,"outc',
        b"[]",
        b"\xff\xfe",
        b'{"version":999,"outcome":{"status":"fits"}}',
        b'{"version":1,"outcome":{"status":"fits"}}',
        b'{"version":1,"outcome":{"status":"timeout","buffers":[],"overflows":[]}}',
        b'{"version":1,"outcome":null}',
    ],
)
def test_what_cannot_be_read_is_not_there_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    cache = OutcomeCache(tmp_path)
    cache.put(KEY, OVERFLOW)
    (file,) = tmp_path.rglob("*.json")
    file.write_bytes(content)
    assert cache.get(KEY) is None
    cache.put(KEY, OVERFLOW)
    assert cache.get(KEY) == OVERFLOW


def test_a_cache_that_cannot_be_written_fails_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = OutcomeCache(tmp_path / "file" / "below")
    cache.put(KEY, OVERFLOW)
    assert cache.get(KEY) is None


def test_no_draft_stays_where_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    OutcomeCache(tmp_path).put(KEY, OVERFLOW)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_root_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASCEND_AUTOTUNE_CACHE", str(tmp_path))
    assert cache_root() == tmp_path
    monkeypatch.delenv("ASCEND_AUTOTUNE_CACHE")
    assert "ascend-autotune" in str(cache_root())


def test_processes_share_it(tmp_path: Path) -> None:
    # Four writers of the same 40 keys, each reading all of them after every write.
    body = """
import sys
from pathlib import Path
from ascend_autotune.analysis.judge.cache import OutcomeCache
from ascend_autotune.analysis.judge.outcome import Outcome
cache = OutcomeCache(Path(sys.argv[1]))
for n in range(40):
    cache.put(f"{n:064x}", Outcome("refused", "x" * 20000))
    for m in range(n + 1):
        assert cache.get(f"{m:064x}").message == "x" * 20000
"""
    command = [sys.executable, "-c", body, str(tmp_path)]
    writers = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    assert [(w.communicate()[1], w.returncode) for w in writers] == [(b"", 0)] * 4
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 40

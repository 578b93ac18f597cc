from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from ascend_autotune.analysis.judge.process import run

GIB = 1 << 30


def test_input_goes_in_and_both_outputs_come_back(tmp_path: Path) -> None:
    finished = run(
        ["/bin/sh", "-c", "tr a-z A-Z; echo oh >&2; exit 3"], tmp_path, "in", soon(10), GIB
    )
    assert (finished.stdout, finished.stderr.strip(), finished.code) == ("IN", "oh", 3)
    assert not finished.crashed


def test_a_run_that_never_ends_is_killed_with_all_its_children(tmp_path: Path) -> None:
    body = "sleep 900 & echo $! > child; echo $$ > parent; wait"
    finished = run(["/bin/sh", "-c", body], tmp_path, "", soon(2), GIB)
    assert finished.timed_out
    assert gone(int((tmp_path / "child").read_text()))
    assert gone(int((tmp_path / "parent").read_text()))


def test_a_child_left_behind_is_swept_and_costs_no_verdict(tmp_path: Path) -> None:
    body = "sleep 300 > /dev/null 2>&1 & echo $! > child; echo done"
    finished = run(["/bin/sh", "-c", body], tmp_path, "", soon(10), GIB)
    assert finished.stdout == "done\n"
    assert not finished.timed_out
    assert gone(int((tmp_path / "child").read_text()))


def test_memory_is_limited(tmp_path: Path) -> None:
    greedy = [sys.executable, "-c", "x = bytearray(1 << 30); print('had it')"]
    assert "had it" not in run(greedy, tmp_path, "", soon(20), GIB // 2).stdout
    assert "had it" in run(greedy, tmp_path, "", soon(20), 4 * GIB).stdout


def test_a_signal_is_a_crash(tmp_path: Path) -> None:
    assert run(["/bin/sh", "-c", "kill -SEGV $$"], tmp_path, "", soon(10), GIB).crashed


def test_temporary_files_of_the_binary_go_to_the_folder(tmp_path: Path) -> None:
    run(["/bin/sh", "-c", "mktemp"], tmp_path, "", soon(10), GIB)
    assert list(tmp_path.iterdir())


def soon(seconds: float) -> float:
    return time.monotonic() + seconds


def gone(pid: int) -> bool:
    """Whether the process is dead (a zombie is) within a second."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False

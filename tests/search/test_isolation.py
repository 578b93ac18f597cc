"""A worker that goes wrong costs one config, and the next runs in a fresh one."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed
from ascend_autotune.search.isolation import Isolation, Job, Limits, Tried
from ascend_autotune.search.rebuilt import only_defines

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers need POSIX pipes")
HERE = Path(__file__).with_name("isolated.py")
LIMITS = Limits(60, 60, 60)  # a busy machine is no fault
TIGHT = {"compile_hang": Limits(60, 1, 60), "launch_hang": Limits(60, 60, 1)}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def isolation(log: Path) -> Iterator[Isolation]:
    job = Job(f"{HERE}:Faulty", {"log": str(log)})
    with Isolation(job, lambda config: (4, 2), LIMITS) as made:
        yield made


def config(do: str) -> Config:
    return Config({"do": do})


def failure(isolation: Isolation, do: str) -> ConfigFailed:
    with pytest.raises(ConfigFailed) as caught:
        isolation.first(config(do))
    return caught.value


def test_a_good_config_passes_and_keeps_its_worker(isolation: Isolation, log: Path) -> None:
    isolation.first(config("a"))
    isolation.first(config("b"))
    assert isolation.started == 1
    assert "launch b [4, 2]" in log.read_text()


@pytest.mark.parametrize(
    ("do", "kind", "text"),
    [
        ("compile_hang", "timeout", "compile did not end within 1 s"),
        ("launch_hang", "hang", "launch did not end within 1 s"),
        ("compile_crash", "compile", "died in its compile (SIGSEGV)"),
        ("killed", "fault", "died in its launch (SIGKILL): no space left for me"),
        ("fault", "fault", "illegal memory access"),
    ],
)
def test_what_ends_a_worker_costs_one_config(
    isolation: Isolation, do: str, kind: str, text: str
) -> None:
    isolation.limits = TIGHT.get(do, LIMITS)
    found = failure(isolation, do)
    assert found.kind == kind and text in str(found)
    isolation.limits = LIMITS
    isolation.first(config("next"))
    assert isolation.started == 2


def test_what_is_only_refused_keeps_its_worker(isolation: Isolation) -> None:
    assert failure(isolation, "memory").kind == "memory"
    found = failure(isolation, "compile_error")
    assert (found.kind, found.memory, found.required_bytes) == ("overflow", "ub", 524288)
    isolation.first(config("next"))
    assert isolation.started == 1


def test_what_does_no_harm_is_left_to_the_caller(isolation: Isolation) -> None:
    isolation.first(config("refused"))  # nothing has passed yet: the worker may be at fault
    isolation.first(config("argument"))
    isolation.first(config("a"))
    isolation.first(config("argument"))
    assert failure(isolation, "refused").kind == "compile"
    assert isolation.started == 1


def test_a_worker_that_is_killed_from_outside(isolation: Isolation, log: Path) -> None:
    isolation.first(config("a"))

    def kill() -> None:
        while "launch launch_hang" not in log.read_text():
            time.sleep(0.01)
        os.kill(int(log.read_text().split()[1]), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    assert "SIGKILL" in str(failure(isolation, "launch_hang"))
    thread.join()


def test_an_interrupt_leaves_no_worker_behind(isolation: Isolation, log: Path) -> None:
    isolation.first(config("a"))
    pid = int(log.read_text().split()[1])

    def interrupt() -> None:
        while "launch launch_hang" not in log.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    # A shell's background jobs start with Ctrl-C ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            isolation.first(config("launch_hang"))
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    isolation.first(config("after"))  # a fresh one, should anybody go on


def test_no_worker_at_all_switches_isolation_off() -> None:
    with Isolation(Job(f"{HERE}:broken"), limits=LIMITS) as isolation:
        isolation.first(config("a"))
        assert "no such kernel here" in isolation.off
        isolation.first(config("b"))
        assert isolation.started == 1


def test_where_a_worker_is_required_nothing_runs_without_one() -> None:
    with Isolation(Job(f"{HERE}:broken"), limits=LIMITS, required=True) as isolation:
        for _ in range(2):
            assert "no such kernel here" in str(failure(isolation, "a"))


def test_a_script_that_works_at_the_top_level_is_not_run_again(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text(
        "'''Text.'''\nimport os\nX = 3\ndef f(): ...\nif __name__ == '__main__':\n    f()\n"
    )
    assert only_defines(file)
    file.write_text("import os\nprint('training')\n")
    assert not only_defines(file)
    assert not only_defines(tmp_path / "absent.py")


def test_each_config_is_tried_once(isolation: Isolation, log: Path) -> None:
    tried = Tried(isolation.first)
    for _ in range(2):
        tried(config("a"))
        with pytest.raises(ConfigFailed, match="illegal memory access"):
            tried(config("fault"))
    assert log.read_text().count("launch a") == log.read_text().count("launch fault") == 1

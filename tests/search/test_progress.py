"""What a person sees, and that a pipe sees nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ascend_autotune.search import Config, search
from ascend_autotune.search.device import Reading
from ascend_autotune.search.ledger import Ledger
from ascend_autotune.search.progress import Line, watcher_for
from tests.search.fakes import FakeDevice, bowl, problem


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_in_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    search(problem(), FakeDevice(bowl))
    assert capfd.readouterr() == ("", "")
    assert watcher_for("k", 3, None, lambda: 0.0, io.StringIO()) is None


def test_a_terminal_sees_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = Terminal()
    device = FakeDevice(bowl)
    watcher = watcher_for("kernel", 40, None, device.clock, stream)
    assert watcher is not None
    search(problem(), device, progress=watcher)
    assert "kernel: " in stream.getvalue()


def test_the_line_says_what_is_timed_the_best_and_the_time_left() -> None:
    now = [0.0]

    class Console:
        def status(self, text: str) -> Any:
            return None

    line = Line("kernel", 40, 30.0, lambda: now[0], Console())
    ledger = Ledger()
    config = Config({"BLOCK": 64})
    assert line.text("default", config, ledger).endswith("BLOCK=64 | 30 s left")
    ledger.timed(config, "default", Reading(0.25, 0.25, 0.25))
    now[0] = 10.0
    shown = line.text("tiles", Config({"BLOCK": 32}), ledger)
    assert shown == "kernel: tiles, 1 of 40 | BLOCK=32 | best 0.25 ms (BLOCK=64) | 20 s left"

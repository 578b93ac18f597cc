"""What a person who watches sees of a search: one line that changes. Nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from ascend_autotune.search.config import Config
from ascend_autotune.search.ledger import Ledger
from ascend_autotune.search.result import Stage

if TYPE_CHECKING:
    from ascend_autotune.search.bench import Watcher

_WORDS: dict[Stage, str] = {
    "default": "the default",
    "tiles": "tiles",
    "profiles": "compile profiles",
    "final": "finalists",
}


def watcher_for(
    kernel: str,
    configs: int,
    budget_s: float | None,
    clock: Callable[[], float],
    stream: TextIO | None = None,
) -> Watcher | None:
    """A line on `stream` (stderr) where it is a terminal and rich is there; else None.

    `clock` gives the seconds that `budget_s` is kept by.
    """
    stream = sys.stderr if stream is None else stream
    if stream is None or not stream.isatty():
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(file=stream)
    return None if console.is_dumb_terminal else Line(kernel, configs, budget_s, clock, console)


class Line:
    """A rich status line: what is timed, the best so far, the time left."""

    def __init__(
        self,
        kernel: str,
        configs: int,
        budget_s: float | None,
        clock: Callable[[], float],
        console: Any,
    ) -> None:
        self.kernel, self.configs, self.budget_s = kernel, configs, budget_s
        self.clock, self.start = clock, clock()
        self._status = console.status("")
        self._running = False

    def timing(self, stage: Stage, config: Config, ledger: Ledger) -> None:
        from rich.markup import escape

        if not self._running:
            self._running = True
            self._status.start()
        self._status.update(escape(self.text(stage, config, ledger)))

    def text(self, stage: Stage, config: Config, ledger: Ledger) -> str:
        """The line: `kernel: tiles, 7 of 40 | BLOCK=64 | best 0.31 ms (BLOCK=32) | 12 s left`."""
        parts = [
            f"{self.kernel}: {_WORDS.get(stage, stage)}, {ledger.measured} of {self.configs}",
            str(config),
        ]
        best = ledger.best()
        if best is not None:
            parts.append(f"best {ledger.time_of(best):.4g} ms ({best})")
        left = self.left(ledger)
        if left is not None:
            parts.append(f"{left:.0f} s left")
        return " | ".join(parts)

    def left(self, ledger: Ledger) -> float | None:
        """Seconds left: at the pace so far, within the budget; None before the first config."""
        spent = self.clock() - self.start
        rest = None if self.budget_s is None else max(0.0, self.budget_s - spent)
        if ledger.measured:
            pace = spent / ledger.measured * max(0, self.configs - ledger.measured)
            rest = pace if rest is None else min(pace, rest)
        return rest

    def done(self, ledger: Ledger) -> None:
        if self._running:
            self._status.stop()
            self._running = False

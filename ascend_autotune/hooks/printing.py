"""What the hook says when it is asked to: results, timings, the steps of a search.

`TRITON_PRINT_AUTOTUNING=1` prints each result, `TRITON_PRINT_AUTOTUNING_TIMINGS=1` each
config with its fate, `debug` the steps. All of it goes through `logging` and one formatter.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, TextIO

from ascend_autotune.search.config import Config
from ascend_autotune.search.ledger import Ledger
from ascend_autotune.search.result import SearchResult, Stage

if TYPE_CHECKING:
    from ascend_autotune.hooks.candidates import Candidates
    from ascend_autotune.hooks.decision import Decision
    from ascend_autotune.hooks.situation import Situation
    from ascend_autotune.hooks.tuner import SearchTuner

RESULT = "TRITON_PRINT_AUTOTUNING"
TIMINGS = "TRITON_PRINT_AUTOTUNING_TIMINGS"

logger = logging.getLogger("ascend_autotune.autotuning")


class _Stdout(logging.StreamHandler[TextIO]):
    """Writes where `print` would write now, as Triton's own messages do."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stdout
        super().emit(record)


_HANDLER = _Stdout(sys.stdout)
_HANDLER.setFormatter(logging.Formatter("%(message)s"))


class Printer:
    """Says of one tuning what was asked for; nothing where nothing was."""

    def __init__(self, tuner: SearchTuner) -> None:
        self.name = tuner.info.name
        self.debug = tuner.hints.debug
        self.modelled = False
        self.result = self.debug or os.environ.get(RESULT) == "1"
        self.timings = os.environ.get(TIMINGS) == "1"
        if (self.result or self.timings) and _HANDLER not in logger.handlers:
            logger.addHandler(_HANDLER)
            logger.setLevel(logging.INFO)
            logger.propagate = False

    def begin(self, here: Situation, found: Candidates) -> None:
        from ascend_autotune.hooks.devices import info_for

        if not self.debug:
            return
        self.modelled = info_for(here.target).modelled
        family = here.family or "unknown family"
        logger.info(
            f"[ascend_autotune] {self.name} on {here.target.arch}"
            f"{' (modelled)' if self.modelled else ''}: {family}, "
            f"{len(found.configs)} of {found.stats.get('space', len(found.configs))} candidates, "
            f"{1 if found.handwritten else len(found.profiles)} compile profiles"
        )
        for notice in found.notices:
            logger.info(f"[ascend_autotune] {self.name}: {notice}")

    def watcher(self) -> _Steps | None:
        """Each step where `debug` asks for it; None leaves it to the search."""
        return _Steps(self.name, self.modelled) if self.debug else None

    def finished(self, decision: Decision) -> None:
        found = decision.search
        if found is None:
            return
        if self.timings:
            for line in timing_lines(found):
                logger.info(line)
        if self.result:
            seconds = f"{found.seconds:.2f}s" + (" (modelled)" if found.device.modelled else "")
            logger.info(
                f"Triton autotuning for function {self.name},\nwith key as {found.key},\n"
                f"finished after {seconds},\nbest config selected: {found.best or decision.config};"
            )


def _ms(value: float, modelled: bool) -> str:
    return f"{value:.6g} ms" + (" (modelled)" if modelled else "")


def timing_lines(found: SearchResult) -> list[str]:
    """Each config that was tried, the fastest first, then the others with the reason."""
    modelled = found.device.modelled
    timed = sorted((t for t in found.trials if t.time_ms is not None), key=lambda t: t.time_ms or 0)
    lines = [
        f"{found.kernel}: {_ms(t.time_ms or 0, modelled)}  {t.config}  [{t.fate}]" for t in timed
    ]
    lines += [
        f"{found.kernel}: failed  {t.config}: {' '.join(t.reason.split())[:200]}"
        for t in found.trials
        if t.fate == "failed"
    ]
    return lines


class _Steps:
    """A watcher that says what is timed and what became of it."""

    def __init__(self, name: str, modelled: bool) -> None:
        self.name = name
        self.modelled = modelled
        self.last: Config | None = None

    def timing(self, stage: Stage, config: Config, ledger: Ledger) -> None:
        self._told(ledger)
        self.last = config
        logger.info(f"[ascend_autotune] {self.name}: {stage}: timing {config}")

    def done(self, ledger: Ledger) -> None:
        self._told(ledger)

    def _told(self, ledger: Ledger) -> None:
        trial = ledger.trials.get(self.last) if self.last is not None else None
        if trial is not None:
            timed = trial.time_ms is not None
            fate = _ms(trial.time_ms or 0, self.modelled) if timed else trial.reason[:200]
            logger.info(f"[ascend_autotune] {self.name}: {trial.config}: {fate}")
        self.last = None

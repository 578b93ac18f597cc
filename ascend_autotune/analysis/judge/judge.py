"""The judge itself: one question is one adapter run and one compiler run."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.judge import report
from ascend_autotune.analysis.judge.cache import VERSION, OutcomeCache
from ascend_autotune.analysis.judge.flags import CommandFlags, command_flags
from ascend_autotune.analysis.judge.locations import strip_locations
from ascend_autotune.analysis.judge.outcome import LASTING, Outcome, locate
from ascend_autotune.analysis.judge.process import Finished, Limits, run
from ascend_autotune.analysis.judge.toolchain import Toolchain, find_toolchain, series_of

if TYPE_CHECKING:
    from ascend_autotune.analysis.chips import Chip

_MODE = re.compile(r'mix_mode\s*=\s*"([^"]+)"')
_MODE_ATTRIBUTE = re.compile(r', mix_mode\s*=\s*"[^"]*"')


class Judge:
    """The real compiler for one chip. Threads may share it; processes share its cache.

    A judge never raises for a program's sake: whatever the compiler does is an `Outcome`.
    """

    def __init__(
        self,
        chip: str,
        toolchain: Toolchain,
        cache: OutcomeCache | None = None,
        limits: Limits | None = None,
        workers: int | None = None,
    ) -> None:
        self.chip = chip
        self.toolchain = toolchain
        self.limits = limits or Limits()
        self.calls = 0  # questions that reached the compiler
        self._cache = cache or OutcomeCache()
        self._workers = workers or _cores()
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._in_flight: dict[str, Future[Outcome]] = {}

    @classmethod
    def find(
        cls,
        chip: str | Chip,
        *,
        cache: OutcomeCache | None = None,
        limits: Limits | None = None,
        workers: int | None = None,
    ) -> Judge:
        """The judge for `chip` on this machine.

        Raises JudgeUnavailable, with the install command, where there is no compiler for it.
        """
        name = chip if isinstance(chip, str) else chip.name
        return cls(name, find_toolchain(name), cache, limits, workers)

    def ask(self, ttir: str, options: object = None) -> Outcome:
        """Compile one program, TTIR in custom form, under `options`; cached verdicts cost a read.

        `options` is a mapping of triton-ascend's option names to values, or a dataclass of them;
        what it leaves out is as triton-ascend passes it. The same program asked twice at once is
        compiled once. Raises RequestError for an option that does not exist.
        """
        flags = self._flags(options)
        bare = strip_locations(ttir)
        key = self._key(bare.text, flags)
        with self._lock:
            pending = self._in_flight.get(key)
            mine = pending is None
            if pending is None:
                pending = self._in_flight[key] = Future()
        if mine:
            self._answer(pending, key, bare.text, flags)
        outcome = pending.result()
        return replace(locate(outcome, bare.lines), dropped=flags.dropped)

    def submit(self, ttir: str, options: object = None) -> Future[Outcome]:
        """`ask` on the pool, which has one thread a core."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._workers, "ascend-autotune-judge")
            pool = self._pool
        return pool.submit(self.ask, ttir, options)

    def ask_many(self, questions: Iterable[tuple[str, object]]) -> list[Outcome]:
        """The outcomes of (ttir, options) pairs, in their order, as many at once as cores."""
        futures = [self.submit(ttir, options) for ttir, options in questions]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()

    def close(self) -> None:
        """Give the pool's threads back; the judge may still be asked."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _flags(self, options: object) -> CommandFlags:
        tools = self.toolchain
        return command_flags(
            _mapping(options),
            self.chip,
            series_of(self.chip),
            tools.adapter.flags,
            tools.compiler.flags,
            tools.a5,
        )

    def _key(self, text: str, flags: CommandFlags) -> str:
        tools = self.toolchain
        parts = (
            str(VERSION),
            tools.adapter.identity,
            tools.compiler.identity,
            *flags.adapter,
            *flags.compiler,
            text,
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _answer(self, pending: Future[Outcome], key: str, text: str, flags: CommandFlags) -> None:
        try:
            outcome = self._cache.get(key)
            if outcome is not None:
                outcome = replace(outcome, cached=True)
            else:
                outcome = self._compile(text, flags)
                if outcome.status in LASTING:
                    self._cache.put(key, outcome)
            pending.set_result(outcome)
        except BaseException as error:  # an interrupt: whoever waits must not wait forever
            pending.set_exception(error)
            raise
        finally:
            with self._lock:
                self._in_flight.pop(key, None)

    def _compile(self, text: str, flags: CommandFlags) -> Outcome:
        started = time.monotonic()
        with self._lock:
            self.calls += 1
        try:
            outcome = self._attempt(text, flags)
            if outcome.status == "crash":
                # The adapter dies now and then on a program that it takes the next time.
                outcome = self._attempt(text, flags)
        except (OSError, ValueError, KeyError, TypeError) as error:
            full = isinstance(error, OSError) and error.errno == errno.ENOSPC
            what = "no space left for the compiler's files" if full else "the compiler did not run"
            outcome = Outcome("failed", f"{what}: {error}")
        return replace(outcome, seconds=round(time.monotonic() - started, 3))

    def _attempt(self, text: str, flags: CommandFlags) -> Outcome:
        tools, limits = self.toolchain, self.limits
        deadline = time.monotonic() + limits.seconds
        # Files may still be written by what is being killed, hence the errors that are ignored.
        with tempfile.TemporaryDirectory(
            prefix="ascend-autotune-", ignore_cleanup_errors=True
        ) as name:
            folder = Path(name)
            command = [str(tools.adapter.path), "-", *flags.adapter, "-o", "-"]
            adapted = run(command, folder, text, deadline, limits.memory_bytes)
            early = self._early_end(adapted, "the adapter")
            if early is not None:
                return early
            if adapted.code != 0:
                return Outcome("refused", report.sentence(adapted.stderr))
            mode = _MODE.search(adapted.stdout)
            # triton-ascend takes the attribute out before it calls the compiler.
            linalg = _MODE_ATTRIBUTE.sub("", adapted.stdout)
            command = [str(tools.compiler.path), "-", *flags.compiler, "-o", "kernel.o"]
            compiled = run(command, folder, linalg, deadline, limits.memory_bytes)
            outcome = self._early_end(compiled, "the compiler")
            if outcome is None:
                outcome = report.read_outcome(compiled, folder, tools.a5)
            return replace(outcome, mode=mode[1] if mode else "")

    def _early_end(self, finished: Finished, who: str) -> Outcome | None:
        if finished.timed_out:
            return Outcome("timeout", f"{who} did not end in {self.limits.seconds:g} s")
        if report.NO_SPACE in finished.stderr:
            return Outcome("failed", f"{who}: {report.sentence(finished.stderr)}")
        if finished.crashed:
            return Outcome("crash", f"{who} crashed: {report.last_words(finished)}")
        return None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _mapping(options: object) -> Mapping[str, Any]:
    if options is None:
        return {}
    if isinstance(options, Mapping):
        return options
    if is_dataclass(options) and not isinstance(options, type):
        return asdict(options)
    raise TypeError(f"compile options must be a mapping or a dataclass, not {options!r}")

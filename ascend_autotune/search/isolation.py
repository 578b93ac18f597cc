"""Risky work in a worker process: a config's first compile and first launch.

What goes wrong there - a crash, a hang, a device fault, no memory - costs that config: the
worker is killed with everything that it started, and the next config gets a fresh one. Messages
are JSON lines over pipes; nothing is pickled. The worker dies with its parent.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, get_args

from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, Failure

logger = logging.getLogger("ascend_autotune")

_TAIL = 400  # characters of a dead worker's last words
_SLICE_S = 0.2
_KINDS = get_args(Failure)


class IsolationUnavailable(Exception):
    """No worker can be had for this kernel, on this machine; the message says why."""


@dataclass(frozen=True)
class Limits:
    """Seconds at most for a worker's start, a config's compile and its first launch."""

    start_s: float = 180.0
    compile_s: float = 180.0
    launch_s: float = 30.0


@dataclass(frozen=True)
class Job:
    """What a worker runs: `factory` is "module:function" or "file.py:function".

    It is called with `arguments` (what JSON can hold) and returns an object with
    `compile(values, grid)` and `launch(values, grid)`, which returns when the device is done.
    `environment` is added to the worker's.
    """

    factory: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


class Isolation:
    """Runs a config's first compile and launch in a worker; `first(config)` for `TimedDevice`.

    `grid_of` gives the launch grid of a config, since a grid's function stays with its caller.
    `values_of` gives what a config passes to a launch, where that is more than its own values.
    A worker that cannot even start switches isolation off: configs then run where they would
    without it, and `off` says why; where it is `required`, they fail. Close it, or use it as a
    context.

    A worker's word counts where trying it here could do harm. A launch that Python refuses is
    harmless, and may come of how the call was made again: it is tried here. So is a refused
    compile, until one config has passed in a worker.
    """

    def __init__(
        self,
        job: Job,
        grid_of: Callable[[Config], Sequence[int] | None] = lambda config: None,
        limits: Limits | None = None,
        values_of: Callable[[Config], Mapping[str, object]] = lambda config: config.values,
        *,
        required: bool = False,
    ) -> None:
        self.job, self.grid_of, self.values_of = job, grid_of, values_of
        self.limits = limits or Limits()
        self.required = required
        self.off = ""
        self.started = 0
        self._proven = False
        self._worker: _Worker | None = None

    def __enter__(self) -> Isolation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def first(self, config: Config) -> None:
        """Compile and launch a config once. Raises `ConfigFailed` for what went wrong."""
        worker = self._ready_or_off()
        if worker is None:
            if self.required:
                raise ConfigFailed("launch", f"not run: no worker process: {self.off}")
            return
        try:
            self._run(worker, config)
            self._proven = True
        except ConfigFailed as failure:
            if not worker.idle:
                self.close()
            if worker.idle and self._harmless(failure):
                logger.debug("%s: a worker says %s; it is tried here", config, failure)
                return
            raise
        except BaseException:  # Ctrl-C too: what hangs must not be left behind
            if not worker.idle:
                self.close()
            raise

    def _harmless(self, failure: ConfigFailed) -> bool:
        return failure.kind == "launch" or (failure.kind == "compile" and not self._proven)

    def close(self) -> None:
        """Kill the worker, if there is one."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def _ready_or_off(self) -> _Worker | None:
        if self.off:
            return None
        try:
            return self._ready()
        except IsolationUnavailable as error:
            self.off = str(error)
            logger.warning("no worker process: %s", error)
            return None

    def _ready(self) -> _Worker:
        if self._worker is None or not self._worker.alive:
            self.close()
            self._worker = _Worker(self.job)
            self.started += 1
            try:
                answer = self._worker.answer(self.limits.start_s)
            except BaseException:
                self.close()
                raise
            if answer is None or "ready" not in answer:
                said = _said(answer) or self._worker.last_words()
                self.close()
                raise IsolationUnavailable(said or "the worker did not start in time")
        return self._worker

    def _run(self, worker: _Worker, config: Config) -> None:
        grid = self.grid_of(config)
        worker.send(
            {"values": dict(self.values_of(config)), "grid": None if grid is None else list(grid)}
        )
        for phase, limit_s in (
            ("compile", self.limits.compile_s),
            ("launch", self.limits.launch_s),
        ):
            answer = worker.answer(limit_s)
            if answer is None:
                raise self._ended(worker, phase, limit_s)
            if "failed" in answer:
                worker.idle = not answer.get("lost")
                kind: Any = answer["failed"] if answer["failed"] in _KINDS else "launch"
                raise ConfigFailed(
                    kind,
                    str(answer.get("message", "")),
                    memory=answer.get("memory"),
                    required_bytes=answer.get("required_bytes"),
                    available_bytes=answer.get("available_bytes"),
                )
        worker.idle = True

    def _ended(self, worker: _Worker, phase: str, limit_s: float) -> ConfigFailed:
        """Why a worker gave no answer: it takes too long, or it is dead."""
        if worker.alive:
            verb = "compile" if phase == "compile" else "launch"
            kind: Failure = "timeout" if phase == "compile" else "hang"
            return ConfigFailed(kind, f"its {verb} did not end within {limit_s:g} s")
        words = worker.last_words()
        died = f"the worker died in its {phase} ({worker.ending()})"
        return ConfigFailed(
            "compile" if phase == "compile" else "fault", f"{died}: {words}" if words else died
        )


class Tried:
    """`first` of an `Isolation`, asked once for each config: its answer is kept."""

    def __init__(self, first: Callable[[Config], object]) -> None:
        self._first = first
        self._known: dict[Config, ConfigFailed | None] = {}

    def __call__(self, config: Config) -> None:
        """Raises `ConfigFailed` for a config that failed, however often it is asked for."""
        if config not in self._known:
            try:
                self._first(config)
            except ConfigFailed as failure:
                self._known[config] = failure
                raise
            self._known[config] = None
        failure_before = self._known[config]
        if failure_before is not None:
            raise failure_before


def _said(answer: Mapping[str, Any] | None) -> str:
    return str(answer.get("message", "")) if answer else ""


class _Worker:
    """One process: a line of JSON to it, lines of JSON back."""

    def __init__(self, job: Job) -> None:
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._pending = b""
        self.idle = False
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONPATH": paths, **job.environment}
        command = [sys.executable, "-m", "ascend_autotune.search.worker"]
        self._process = subprocess.Popen(
            [*command, str(to_read), str(from_write), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=(to_read, from_write),
            env=environment,
            start_new_session=True,  # Ctrl-C is the parent's; and a group to kill as a whole
        )
        os.close(to_read)
        os.close(from_write)
        self.send({"factory": job.factory, "arguments": dict(job.arguments)})

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, message: Mapping[str, object]) -> None:
        self.idle = False
        with contextlib.suppress(BrokenPipeError):  # the answer will say that it is dead
            os.write(self._to, json.dumps(message).encode() + b"\n")

    def answer(self, seconds: float) -> dict[str, Any] | None:
        """Its next line; None where it is dead or silent for so long."""
        end = time.monotonic() + seconds
        while b"\n" not in self._pending:
            left = end - time.monotonic()
            if left <= 0:
                return None
            # In slices: a signal that another thread took is looked at in between.
            if select.select([self._from], [], [], min(left, _SLICE_S))[0]:
                more = os.read(self._from, 65536)
                if not more:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(5)
                    return None
                self._pending += more
        line, _, self._pending = self._pending.partition(b"\n")
        found = json.loads(line)
        return found if isinstance(found, dict) else None

    def ending(self) -> str:
        code = self._process.poll()
        if code is None:
            return "still there"
        if code < 0:
            try:
                return signal.Signals(-code).name
            except ValueError:
                return f"signal {-code}"
        return f"exit code {code}"

    def last_words(self) -> str:
        """The end of what it wrote to stderr, on one line."""
        try:
            self._errors.seek(0)
            text = self._errors.read().decode(errors="replace")
        except (OSError, ValueError):
            return ""
        line = " ".join(text.split())
        return line if len(line) <= _TAIL else f"...{line[-_TAIL:]}"

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        for descriptor in (self._to, self._from):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._errors.close()

"""One run of a binary under a time and a memory limit; nothing of it outlives the call."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# A launcher rather than preexec_fn, which may deadlock in a process with threads. No core files:
# a crash is an answer here.
_LAUNCHER = 'ulimit -c 0; ulimit -v "$1" 2>/dev/null || :; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` of wall-clock time for the whole question, `memory_bytes` of address space."""

    seconds: float = 60.0
    memory_bytes: int = 8 << 30


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run ended. `code` is negative for a signal; `timed_out` when the limit ended it."""

    code: int
    stdout: str
    stderr: str
    timed_out: bool = False

    @property
    def crashed(self) -> bool:
        """Whether the binary died instead of answering."""
        return self.code < 0 or self.code >= 128 or "PLEASE submit a bug report" in self.stderr


def run(
    command: Sequence[str], folder: Path, stdin: str, deadline: float, memory_bytes: int
) -> Finished:
    """Run `command` in `folder` until `deadline` (of `time.monotonic`). Raises OSError.

    The run is a process group of its own, killed whole when the deadline passes or the caller is
    interrupted, and swept when it ends: a compiler may leave helpers behind.
    """
    environment = {
        **os.environ,
        "TMPDIR": str(folder),  # the compiler's own temporary files go with the folder
        "LC_ALL": "C",
        "LLVM_DISABLE_SYMBOLIZATION": "1",  # the stack of a crash is not read
    }
    launched = ["/bin/sh", "-c", _LAUNCHER, "sh", str(memory_bytes // 1024), *command]
    process = subprocess.Popen(
        launched,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    timed_out = False
    try:
        try:
            out, err = process.communicate(stdin, max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            timed_out = process.poll() is None  # else only a helper of it lingers
            _kill(process.pid)
            out, err = process.communicate()
    finally:
        _kill(process.pid)
        process.wait()
    return Finished(process.returncode, out, err, timed_out)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)

"""The worker of `isolation`: makes what a factory makes, then runs configs until it is killed.

python -m ascend_autotune.search.worker READ WRITE PARENT      (descriptors, a process id)
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1


def main(read: int, write: int, parent: int) -> int:
    """Answer each line of JSON from `read` with lines to `write`, until there are no more."""
    _die_with(parent)
    with os.fdopen(read, encoding="utf-8") as lines, os.fdopen(write, "w", encoding="utf-8") as out:

        def say(**message: object) -> None:
            out.write(json.dumps(message) + "\n")
            out.flush()

        try:
            made = _make(json.loads(lines.readline()))
        except BaseException as error:
            say(message=f"{type(error).__name__}: {error}")
            raise
        say(ready=os.getpid())
        for line in lines:
            asked = json.loads(line)
            try:
                made.compile(asked["values"], asked["grid"])
                say(done="compile")
                made.launch(asked["values"], asked["grid"])
                say(done="launch")
            except Exception as error:
                failure = _told(error)
                say(**failure)
                if failure["lost"]:
                    return 1
    return 0


def _told(error: Exception) -> dict[str, object]:
    """A failure as a message; `lost`: the device's context is of no use any more."""
    from ascend_autotune.search.launching import as_failure

    failure = as_failure(error)
    return {
        "failed": failure.kind,
        "message": str(failure),
        "memory": failure.memory,
        "required_bytes": failure.required_bytes,
        "available_bytes": failure.available_bytes,
        "lost": failure.kind in ("fault", "hang"),
    }


def _make(job: Mapping[str, Any]) -> Any:
    where, _, name = str(job["factory"]).rpartition(":")
    return getattr(load(where), name)(**job["arguments"])


def load(where: str) -> Any:
    """A module by its name, or by its file."""
    if not where.endswith(".py"):
        return importlib.import_module(where)
    name = Path(where).stem
    spec = importlib.util.spec_from_file_location(name, where)
    if spec is None or spec.loader is None:
        raise ImportError(f"{where} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _die_with(parent: int) -> None:
    """Have the system kill this process when its parent dies, however that comes about."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    except (AttributeError, OSError):  # no Linux
        return
    if os.getppid() != parent:
        raise SystemExit(1)


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:4])))

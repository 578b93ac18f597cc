"""Records on disk, one JSON line a file, shared by any number of processes.

A record appears whole or not at all (written beside its place, then moved there) and is never
changed: its name is a hash of everything that it depends on. What cannot be read, for whatever
reason, is not there; what cannot be written is not kept. A cache never fails its user.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ascend_autotune.analysis.judge.outcome import Outcome, from_json, to_json

_LOG = logging.getLogger("ascend_autotune")
# Part of every record; raise it when the meaning of a record changes.
VERSION = 1


def cache_root() -> Path:
    """`ASCEND_AUTOTUNE_CACHE`, else this user's cache folder."""
    chosen = os.environ.get("ASCEND_AUTOTUNE_CACHE")
    if chosen:
        return Path(chosen)
    try:
        import platformdirs
    except ImportError:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return Path(base) / "ascend-autotune"
    return Path(platformdirs.user_cache_dir("ascend-autotune"))


class OutcomeCache:
    """The judge's verdicts by key, a SHA-256 in hexadecimal digits."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_root() / "judge" / "outcomes" if folder is None else folder

    def get(self, key: str) -> Outcome | None:
        """The verdict stored under `key`; its locations are lines of the compiled text."""
        record = read_record(self._file(key))
        if record is None:
            return None
        try:
            return from_json(record["outcome"])
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def put(self, key: str, outcome: Outcome) -> None:
        """Keep a verdict."""
        write_record(self._file(key), {"outcome": to_json(outcome)})

    def _file(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"


def read_record(file: Path) -> dict[str, Any] | None:
    """The record, or None where there is none of this version."""
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("version") != VERSION:
        return None
    return record


def write_record(file: Path, record: Mapping[str, Any]) -> None:
    """Store the record whole, or not at all."""
    draft = None
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(dir=file.parent, prefix=".draft-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(json.dumps({"version": VERSION, **record}, separators=(",", ":")) + "\n")
        os.replace(draft, file)
    except OSError as error:
        _LOG.info("not cached: %s", error)
        if draft is not None:
            with contextlib.suppress(OSError):
                os.unlink(draft)

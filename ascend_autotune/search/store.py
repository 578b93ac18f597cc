"""Winners on disk, for `cache_results`: one JSON line a file, safe under several processes.

An entry's name is a hash of everything that it depends on, the compile options fixed at launch
among them; fields that a reader does not know are left alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_autotune._version import __version__
from ascend_autotune.analysis.judge.cache import cache_root, read_record, write_record
from ascend_autotune.search.config import Config


@dataclass(frozen=True)
class Winner:
    """A config that won, with its time in ms (None: it was the only one)."""

    config: Config
    time_ms: float | None


class Store:
    """Winners by what they were searched for."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_root() / "tuned" if folder is None else folder

    def get(self, identity: Sequence[object]) -> Winner | None:
        record = read_record(self._file(identity))
        try:
            found = (record or {})["winner"]
            config = Config(_plain(found["candidate"]), _plain(found["profile"]))
            time_ms = found.get("time_ms")
            return Winner(config, None if time_ms is None else float(time_ms))
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def put(self, identity: Sequence[object], winner: Winner) -> None:
        """Keep a winner; what cannot be written is not kept."""
        write_record(
            self._file(identity),
            {
                "identity": [str(part) for part in identity],
                "winner": {**winner.config.to_json(), "time_ms": winner.time_ms},
                "written_by": __version__,
            },
        )

    def _file(self, identity: Sequence[object]) -> Path:
        text = json.dumps([str(part) for part in identity])
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()}.json"


def _plain(values: Mapping[str, Any]) -> dict[str, object]:
    """The values of an entry; what no config can hold makes it unreadable."""
    plain = dict(values)
    if not all(isinstance(v, int | float | str | bool | None) for v in plain.values()):
        raise ValueError("an entry of another release")
    return plain

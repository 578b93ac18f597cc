"""Where a benchmark's figures go: JSON lines on the terminal, and in a file where one is given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO


class Table:
    """JSON lines, each printed as soon as it is known; the file is whole after every line."""

    def __init__(self, file: Path | None = None) -> None:
        self._out: IO[str] | None = None if file is None else file.open("w", encoding="utf-8")

    def add(self, row: Mapping[str, object]) -> None:
        line = json.dumps(row)
        print(line, flush=True)
        if self._out is not None:
            self._out.write(line + "\n")
            self._out.flush()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        if self._out is not None:
            self._out.close()

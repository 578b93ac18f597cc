"""Reading a kernel's times out of a profile of torch_npu: kernel_details.csv, row by row.

A profile lists everything that ran on the device: the kernel, helpers that it launches (a
workspace's zeroing, a cast), and what cleared the cache. The first row, which is what the usual
reader takes, may be any of these.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

TABLE = "kernel_details.csv"
NAME, TYPE, DURATION, STEP = "Name", "Type", "Duration(us)", "Step Id"


def kernel_times(folder: Path, kernel: str, launches: int) -> list[float]:
    """Milliseconds of each launch of `kernel` in the profile below `folder`.

    A launch may show as several rows (its cube and its vector part): where there are k times as
    many rows as launches, k in a row are one launch, and the longest of them, which run at the
    same time, counts. Raises ValueError where the kernel has no row, naming what has.
    """
    rows = list(_rows(folder))
    own = [row for row in rows if _is(row, kernel)]
    if not own:
        seen = sorted({row.get(NAME, "") for row in rows})
        raise ValueError(
            f"the profile has no row of {kernel}; it has {', '.join(seen[:8]) or 'no rows'}"
        )
    times = [float(row[DURATION]) / 1000 for row in own]
    parts = max(1, round(len(times) / launches))
    if parts > 1 and len(times) % parts == 0:
        return [max(times[i : i + parts]) for i in range(0, len(times), parts)]
    return times


def _is(row: Mapping[str, str], kernel: str) -> bool:
    """Triton's function name, or that with a suffix of the compiler's (`_mix_aic`)."""
    return any(
        text == kernel or text.startswith(f"{kernel}_mix_")
        for text in (row.get(NAME, "").strip(), row.get(TYPE, "").strip())
    )


def _rows(folder: Path) -> Iterator[Mapping[str, str]]:
    for table in sorted(folder.rglob(TABLE)):
        with table.open(newline="", encoding="utf-8") as lines:
            yield from csv.DictReader(lines)

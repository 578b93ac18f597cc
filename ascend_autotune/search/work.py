"""How much work one candidate is: what the cost model ranks by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np


class Workload(Protocol):
    """The work of candidates, from the kernel's graph and its grid."""

    def of(self, candidates: Sequence[Mapping[str, object]]) -> Mapping[str, np.ndarray]:
        """Per quantity, one figure for each candidate (see `KernelWork` for the names)."""
        ...

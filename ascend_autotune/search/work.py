"""How much work one candidate is: what the cost model ranks by."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from ascend_autotune.analysis.request import Request
from ascend_autotune.errors import AscendAutotuneError
from ascend_autotune.search.tally.laws import Laws
from ascend_autotune.search.tally.sums import quantities

logger = logging.getLogger("ascend_autotune")


class Workload(Protocol):
    """The work of candidates, from the kernel's graph and its grid."""

    def of(self, candidates: Sequence[Mapping[str, object]]) -> Mapping[str, np.ndarray]:
        """Per quantity, one figure for each candidate (see `KernelWork` for the names)."""
        ...


class KernelWork:
    """The work of a kernel's candidates, from a few traces.

    Every number of a program (the sides of a tile, the trips of a loop) is a product of powers
    of the searched parameters; a handful of traces tell the powers, the rest is arithmetic.
    `arguments` gives the call's whole numbers by name: without them a loop's trips and a mask's
    bounds are not known. Quantities, each per program unless it says otherwise:
        programs                the launch grid's size, of the whole launch
        load_bytes, store_bytes moved between memory and the core, masked elements left out
        again_bytes             those of load_bytes that an earlier load of the program brought too
        load_lanes              elements that loads and stores touch, masked ones counted
        run_bytes               bytes in a row in memory, of the access with the shortest
        dot_flops               2 m n k of the dots; dot_m, dot_n, dot_k: sides of the largest
        dot_bits                width of its operands' elements
        vector, special         elements of plain and of costly elementwise operations
        reduced                 elements that reductions and scans read; axis: the longest
        steps                   iterations of all loops
        step_bytes              what the innermost loads bring in one iteration, the most
        live_bytes              the most that tiles hold at once, operands of dots left out
        staged_bytes            operands of dots that a loop loads in one step
        tile                    elements of the largest tile
    """

    def __init__(self, request: Request, arguments: Mapping[str, object] | None = None) -> None:
        self.request = _specialised(request, arguments or {})

    def of(self, candidates: Sequence[Mapping[str, object]]) -> Mapping[str, np.ndarray]:
        """The quantities of each candidate; {} where the kernel could not be traced."""
        try:
            laws = Laws.learn(self.request, candidates)
        except AscendAutotuneError as error:
            logger.debug("no cost model for %s: %s", self.request.info.name, error)
            return {}
        return quantities(laws.items(candidates), self._programs(candidates))

    def _programs(self, candidates: Sequence[Mapping[str, object]]) -> np.ndarray:
        grids = [self.request.grid_of(c) or (1,) for c in candidates]
        return np.array([float(np.prod(grid)) for grid in grids])


def _specialised(request: Request, arguments: Mapping[str, object]) -> Request:
    """The request with every whole number that is known written in as a constant."""
    known = {
        name: value
        for name, value in arguments.items()
        if isinstance(value, int) and name in request.signature
    }
    signature = {n: kind for n, kind in request.signature.items() if n not in known}
    return replace(request, signature=signature, constants={**request.constants, **known})

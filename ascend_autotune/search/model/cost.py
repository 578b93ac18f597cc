"""A cost model for order, not for truth: what a candidate's work would take on a chip.

A program takes the longest of what its memory traffic, its dots, their operands' way through
shared memory and its vector arithmetic take (a roofline: Williams et al., CACM 2009), smoothed;
programs share the cores in rounds (waves); and each has a chain of latencies that only other
programs on the same core can hide (Little's law). Every constant is a published figure or a
rounded guess at one, named below with its source; none comes out of a fit to recorded landscapes
(docs/search.md says what was settled with them in view). The search takes only
differences of the logarithm, so it stays scale-free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ascend_autotune.search.model.figures import Figures

Array = NDArray[np.float64]
Work = Mapping[str, NDArray[np.float64]]

WARP = 32
WARPS_PER_CORE = 64.0  # CUDA C++ Programming Guide, compute capabilities 8.0 and 9.0
PROGRAMS_PER_CORE = 32.0  # the same
REGISTER_BYTES = 1020.0  # 255 registers a thread, the same
THREAD_BYTES = 96.0  # registers a thread needs besides its data: addresses, masks, counters

SECTOR = 32.0  # bytes that a memory transaction moves at least (the same guide)
SMALL_DOT = 24.0  # a dot's side at which a third of its time goes into fill and drain
WIDE_DOT = 1.3  # what warp-group instructions gain from 64 rows and 4 warps on (Hopper)
SPECIAL = 6.0  # plain operations that a costly one takes (16 of 128 lanes a clock, and fix-up)
LANES = 1.0  # plain operations that addressing one element takes
DOT_LANES = 0.15  # the same in kernels with dots, whose loads go around the registers
REDUCED = 2.0  # plain operations that reducing one element takes
AGAIN = 0.4  # what bytes cost that the cache still holds
BUSY_WARPS = 6.0  # warps that keep a core's four schedulers busy
START_US = 1.5  # a program's first loads and last stores, one after another
STEP_US = 0.6  # one round trip to memory (published measurements: 500 to 800 clocks)
ISSUE_US = 4e-3  # one element's operations in one thread, when nothing overlaps
LAUNCH_US = 2.0  # what any launch takes
SPILL = 0.8  # power of the time with data that does not fit into registers
TOO_MUCH = 1.5  # log time of a config that needs more shared memory than there is
TAIL = 0.3  # part of a last, partly filled round that is lost although programs differ
POWER = 3.0  # smoothing of the longest of several times


def log_cost(work: Work, candidates: Sequence[Mapping[str, object]], chip: Figures) -> Array:
    """The logarithm of each candidate's modelled time (in microseconds)."""
    warps = _field(candidates, "num_warps", 4.0)
    stages = _field(candidates, "num_stages", 3.0)
    dots = work["dot_flops"] > 0
    programs = np.maximum(work["programs"], 1.0)
    share = programs / chip.cores
    threads = WARP * warps if chip.simt else np.full_like(programs, 128.0)
    together = _together(work, warps, stages, chip)
    active = np.minimum(together, np.maximum(share, 1.0))
    operations = _operations(work, threads, dots)
    times = (
        _memory(work, active, chip) / (chip.memory / chip.cores),
        work["dot_flops"] / _efficiency(work, warps, dots, chip) / (chip.dots / chip.cores),
        work["staged_bytes"] * np.maximum(work["steps"], 1) * dots / (chip.staging / chip.cores),
        operations / (chip.vectors / chip.cores),
    )
    busy = np.minimum(1.0, active * warps / BUSY_WARPS) if chip.simt else 1.0
    filled = np.ceil(share / active) / (share / active)
    through = np.maximum(share, 1.0) * _longest(*times) / busy * (1 + TAIL * (filled - 1))
    overlap = np.where(dots, np.maximum(stages - 1, 1) * np.where(stages > 1, 1.0, 0.7), 1.0)
    if not chip.simt:
        overlap = np.full_like(programs, 2.0)  # two buffers: one fills while the other is used
    chain = START_US + work["steps"] * STEP_US / overlap + ISSUE_US * operations / threads
    rounds = share / together
    rounds = np.maximum(1.0, 0.5 * (rounds + np.ceil(rounds)))
    total = np.sqrt(through**2 + (rounds * chain) ** 2)
    log: Array = np.log(total + LAUNCH_US)
    if chip.simt:
        log = log + SPILL * np.maximum(
            0.0, np.log(np.maximum(work["live_bytes"], 1) / (threads * REGISTER_BYTES))
        )
        if chip.shared:
            log = log + TOO_MUCH * (work["staged_bytes"] * stages > chip.shared)
    return log


def _together(work: Work, warps: Array, stages: Array, chip: Figures) -> Array:
    """Programs that share a core, by its warps, registers and shared memory."""
    if not chip.simt:
        return np.ones_like(warps)
    threads = WARP * warps
    held = np.minimum(work["live_bytes"], threads * REGISTER_BYTES) + threads * THREAD_BYTES
    limits = [np.full_like(warps, PROGRAMS_PER_CORE), WARPS_PER_CORE / warps]
    limits.append(chip.registers / held if chip.registers else limits[0])
    staged = work["staged_bytes"] * stages
    limits.append(np.where(staged > 0, chip.shared / np.maximum(staged, 1), PROGRAMS_PER_CORE))
    together: Array = np.maximum(np.floor(np.minimum.reduce(limits) + 1e-9), 1.0)
    return together


def _memory(work: Work, active: Array, chip: Figures) -> Array:
    """Bytes that count: short rows waste sectors, what was read before may still be cached."""
    again = work["again_bytes"]
    held = chip.cores * active * (work["load_bytes"] - again) / chip.l2
    missed = np.minimum(1.0, AGAIN + held**2 / (1 + held**2))
    moved = work["load_bytes"] - again * (1 - missed) + work["store_bytes"]
    wasted = 1 + SECTOR / np.maximum(work["run_bytes"], 1.0)
    counted: Array = moved * wasted
    return counted


def _operations(work: Work, threads: Array, dots: NDArray[np.bool_]) -> Array:
    """Plain operations of one program; idle lanes of a tile smaller than the program count."""
    count = (
        work["vector"]
        + SPECIAL * work["special"]
        + np.where(dots, DOT_LANES, LANES) * work["load_lanes"]
        + REDUCED * work["reduced"]
    )
    spread = np.maximum(1.0, threads / np.maximum(work["tile"], 1.0))
    spent: Array = count * spread
    return spent


def _efficiency(work: Work, warps: Array, dots: NDArray[np.bool_], chip: Figures) -> Array:
    """The part of the dots' rate that a dot of these sides reaches."""
    m, n, k = (np.maximum(work[f"dot_{side}"], 1.0) for side in "mnk")
    part = 1 / (1 + SMALL_DOT * (1 / m + 1 / n + 0.5 / k))
    if chip.simt:
        part = part * np.where((m >= 64) & (warps >= 4), WIDE_DOT, 1.0)
    efficiency: Array = np.where(dots, part, 1.0)
    return efficiency


def _longest(*times: Array) -> Array:
    longest: Array = np.sum([t**POWER for t in times], axis=0) ** (1 / POWER)
    return longest


def _field(candidates: Sequence[Mapping[str, object]], name: str, default: float) -> Array:
    values = [c.get(name, default) for c in candidates]
    return np.array([float(v) if isinstance(v, int | float) else default for v in values])

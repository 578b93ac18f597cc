"""How long a launch takes on the modelled NPU. A model of its own, for tests and examples.

The search's cost model knows nothing of it, and it knows nothing of the search's: no figure on
the quality of a search is taken here. What it counts is `work.Work` of one program:

    in        reads, at the memory's or the L2's share of a core: the first read of a tensor's
              bytes comes from memory, the same bytes again from L2 where they fit in there
    cube      cycles of 16 x 16 x k products, or of feeding L0A and L0B where that takes longer
    vector    256 bytes a cycle and instruction; on two cores in kernels that mix both
    out       writes, and what cube and vector hand to each other through L2

Reads, products and writes of one core overlap by `0.9 (1 - 1/n)` over n iterations of its loops
with multi-buffering, by 0.35 in its place without (also where the compiler fell back to that).
The two sides of a mixed kernel overlap the more the deeper the workspace's buffers are and the
finer the loops are cut, each hand-over costing a synchronisation, each cut a part of one. Programs
go to cores in rounds. The same launch always takes the same time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ascend_autotune.search.standin.figures import Figures
from ascend_autotune.search.standin.program import Program
from ascend_autotune.search.standin.work import Counter, Work

_BUFFERS = 2  # of the workspace where none is asked for
_OVERLAP, _OVERLAP_OFF = 0.9, 0.35
_CUT = 0.25  # of a synchronisation for each further cut of a mixed loop


@dataclass(frozen=True)
class Launch:
    """A grid and the arguments that are left at a launch: their numbers, and tensors' bytes."""

    grid: tuple[int, int, int]
    scalars: tuple[int | float | None, ...] = ()
    sizes: tuple[int | None, ...] = ()


@dataclass(frozen=True)
class _Setting:
    """What the compile options come to."""

    multibuffer: bool
    pipelined: bool
    buffers: int
    cuts: tuple[int, int]  # of the cube's loop, of the vector's
    halved: bool
    balanced: bool
    solved: bool
    unit_flag: bool

    @classmethod
    def of(cls, options: Mapping[str, Any], fallback: tuple[str, ...]) -> _Setting:
        on = options.get("multibuffer") is not False
        on = on and "enable-auto-multi-buffer" not in fallback
        pipelined = on and not options.get("limit_auto_multi_buffer_only_for_local_buffer")
        return cls(
            multibuffer=on,
            pipelined=pipelined,
            buffers=int(options.get("set_workspace_multibuffer") or _BUFFERS) if pipelined else 1,
            cuts=(
                int(options.get("tile_mix_cube_loop") or 1) if pipelined else 1,
                int(options.get("tile_mix_vector_loop") or 1) if pipelined else 1,
            ),
            halved=options.get("enable_auto_bind_sub_block") is not False,
            balanced=bool(options.get("enable_hivm_auto_cv_balance")),
            solved=bool(options.get("sync_solver")),
            unit_flag=bool(options.get("unit_flag")),
        )


def duration(program: Program, launch: Launch, figures: Figures) -> float:
    """Modelled seconds of one launch, what the host spends on it not counted."""
    programs = math.prod(launch.grid)
    if programs <= 0:
        return 0.0
    vector_only = program.mode == "aiv"
    cores = figures.vector_cores if vector_only else figures.cube_cores
    counter = Counter(program.module, figures)
    setting = _Setting.of(program.options, program.fallback)
    middle, spread = _samples(launch.grid)
    seconds = {
        place: _program(
            counter.count(launch.scalars, place, launch.grid),
            setting,
            figures,
            launch,
            min(programs, cores),
            program.mode,
        )
        for place in {middle, *(p for axis in spread for p in axis)}
    }
    # Each axis moves the mean by how far its ends lie from the middle.
    base = seconds[middle]
    mean = base + sum(sum(seconds[p] for p in axis) / len(axis) - base for axis in spread)
    longest = max(seconds.values())
    rounds = math.ceil(programs / cores)
    # The last round waits for its longest program, the others even out.
    total = (rounds - 1) * mean + (longest if rounds == 1 else (mean + longest) / 2)
    return figures.launch_seconds + rounds * figures.block_seconds + total


def _samples(
    grid: tuple[int, int, int],
) -> tuple[tuple[int, int, int], list[list[tuple[int, int, int]]]]:
    """The middle program, and for each axis its first, middle and last."""
    middle = (grid[0] // 2, grid[1] // 2, grid[2] // 2)
    spread = []
    for axis in range(3):
        if grid[axis] > 1:
            ends = (0, middle[axis], grid[axis] - 1)
            spread.append([(*middle[:axis], end, *middle[axis + 1 :]) for end in ends])
    return middle, spread  # type: ignore[return-value]


def _program(
    work: Work, setting: _Setting, figures: Figures, launch: Launch, active: int, mode: str
) -> float:
    """Seconds of one program while `active` cores are at work."""
    memory = min(figures.core_bandwidth, figures.memory_bandwidth / active)
    l2 = min(figures.core_bandwidth, figures.l2_bandwidth / active)
    depth = max(1.0, work.turns / max(1.0, work.entries))
    steady = 1 - 1 / depth  # the part of a loop in which stages can overlap
    # With a second buffer a transfer is under way before its data is needed.
    waits = 1 - steady * (0.9 if setting.multibuffer else 0.0)
    reading = work.transfers * figures.transfer_seconds * waits + sum(
        _reading(size, argument, launch, figures, memory, l2)
        for argument, size in work.read.items()
    )
    writing = work.written / memory * (0.9 if setting.unit_flag else 1.0)
    cube = work.cube / figures.hertz
    vector = (work.vector + work.scalar) / figures.hertz
    overlap = steady * (_OVERLAP if setting.multibuffer else _OVERLAP_OFF)
    if mode == "aiv" or not work.vector:
        return _together(overlap, reading, cube + vector, writing)
    if setting.halved:
        vector /= 2
    if setting.balanced:
        vector *= 0.95
    first = _together(overlap, reading, cube)
    second = _together(overlap, vector, writing + work.handed / l2)
    if not work.handovers:
        return first + second
    cube_cuts, vector_cuts = setting.cuts
    fine = setting.buffers * math.sqrt(cube_cuts * vector_cuts)
    hidden = steady * (1 - 1 / fine if setting.pipelined else 0.2)
    cutting = 1 + _CUT * (cube_cuts + vector_cuts - 2)
    waiting = work.handovers * figures.sync_seconds * cutting * (0.8 if setting.solved else 1.0)
    return max(first, second) + (1 - hidden) * min(first, second) + waiting * (1 - hidden / 2)


def _together(overlap: float, *stages: float) -> float:
    longest = max(stages)
    return longest + (1 - overlap) * (sum(stages) - longest)


def _reading(
    size: float,
    argument: int | None,
    launch: Launch,
    figures: Figures,
    memory: float,
    l2: float,
) -> float:
    known = (
        launch.sizes[argument] if argument is not None and argument < len(launch.sizes) else None
    )
    everything = size * math.prod(launch.grid)
    if known is None or known > figures.l2_bytes or everything <= known:
        return size / memory
    first = known / everything
    return size * (first / memory + (1 - first) / l2)

"""From a tile program to storage entries: who lives when, and what shares a place.

Source: MemLivenessAnalysis, MemPlan::GenerateInplaceList and MergeInplaceSE of the
PlanMemory pass, and the MarkMultiBuffer pass (AscendNPU-IR v1.2.0).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ascend_autotune.analysis.plan.padding import pad_rows
from ascend_autotune.analysis.plan.program import Buffer, Program, Reuse, Step, ceil_to

ALIGNMENT = {"ub": 32, "l1": 32, "l0c": 512}


@dataclass(frozen=True, slots=True)
class Entry:
    """Buffers that share one place: `size` bytes a copy, alive in [first, last].

    `dma`: written or read by a copy to or from global memory (placed first in UB).
    `parts`: the compiler may work on so small a part of it at a time, and hold no more.
    """

    memory: str
    size: int
    copies: int
    first: int
    last: int
    buffers: tuple[Buffer, ...]
    dma: bool
    sure: bool
    parts: int = 1


def size_of(buffer: Buffer) -> int:
    """Bytes of one copy, padded and aligned."""
    return ceil_to(buffer.numel * buffer.bits, ALIGNMENT[buffer.memory] * 8) // 8


class Lives:
    """A program with the lifetimes of its buffers, worked out once."""

    def __init__(self, program: Program) -> None:
        pad_rows(program)
        self.program = program
        self.ends = _loop_ends(program.steps)
        self.inner_uses = _live(program, self.ends)
        # May some output take the place of either of two inputs?
        self.has_choices = any(
            step.reuse is not Reuse.NEVER and len(step.inputs) > 1 for step in program.steps
        )

    def entries(
        self, *, doubled: bool, l0c_doubled: bool = False, forward: bool = False
    ) -> list[Entry]:
        """The storage entries; `doubled` asks for multi-buffering as MarkMultiBuffer does it.

        `forward`: of several inputs that die at an instruction, its output takes the first
        one's place, not the last one's. PlanMemory tries such orders when it runs short.
        """
        copies = _copies(self.program, doubled, l0c_doubled)
        groups = _Groups()
        fixed = _alias_carried(self.program, self.inner_uses, self.ends, groups)
        _merge_in_place(self.program.steps, groups, fixed, copies, forward)
        return _collect(self.program, groups, copies)


def _loop_ends(steps: Iterable[Step]) -> dict[int, int]:
    return {step.loop: time for time, step in enumerate(steps) if step.name == "end"}


def _live(program: Program, ends: dict[int, int]) -> dict[tuple[int, Buffer], int]:
    """Set first and last of every buffer; return the last use of each inside each loop."""
    inner: dict[tuple[int, Buffer], int] = {}
    for time, step in enumerate(program.steps):
        for buffer in (step.output, step.also, *step.temporaries):
            if buffer is not None and buffer.first < 0:
                buffer.first = buffer.last = time
            elif buffer is not None:
                _use(buffer, step, time, ends, inner)
        for buffer in step.inputs:
            _use(buffer, step, time, ends, inner)
            for other in program.joined.get(buffer, ()):
                _use(other, step, time, ends, inner)
    return inner


def _use(
    buffer: Buffer,
    step: Step,
    time: int,
    ends: dict[int, int],
    inner: dict[tuple[int, Buffer], int],
) -> None:
    depth = len(buffer.scope)
    if len(step.scope) > depth:
        loop = step.scope[depth]
        buffer.last = max(buffer.last, ends[loop])
        for inside in step.scope[depth:]:
            inner[inside, buffer] = time
    else:
        buffer.last = max(buffer.last, time)


def _copies(program: Program, doubled: bool, l0c_doubled: bool) -> dict[Buffer, int]:
    """MarkMultiBuffer: what a copy touches, inside scf.for all the way out, gets two."""
    found: dict[Buffer, int] = {}
    if not doubled:
        return found
    for buffer in program.buffers:
        loops = [s for s in buffer.scope if s not in program.branches]
        inside = bool(loops) and all(s in program.doubling for s in loops)
        copied = buffer.loaded or buffer.stored or (buffer.memory == "l0c" and l0c_doubled)
        if buffer.slot or (copied and inside):
            found[buffer] = 2
    return found


class _Groups:
    """Union-find over buffers, with the direct pairs that were joined."""

    def __init__(self) -> None:
        self._parent: dict[Buffer, Buffer] = {}
        self.pairs: dict[Buffer, list[Buffer]] = {}

    def root(self, buffer: Buffer) -> Buffer:
        while buffer in self._parent:
            buffer = self._parent[buffer]
        return buffer

    def join(self, new: Buffer, old: Buffer) -> None:
        """`new` takes the place of `old`."""
        self.pairs.setdefault(new, []).append(old)
        self.pairs.setdefault(old, []).append(new)
        a, b = self.root(new), self.root(old)
        if a is not b:
            self._parent[a] = b

    def reaches(self, buffer: Buffer, flag: str) -> bool:
        seen, stack = {buffer}, [buffer]
        while stack:
            top = stack.pop()
            if getattr(top, flag):
                return True
            for other in self.pairs.get(top, ()):
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return False


def _alias_carried(
    program: Program,
    inner: dict[tuple[int, Buffer], int],
    ends: dict[int, int],
    groups: _Groups,
) -> set[Buffer]:
    """A yielded tensor takes its home's place unless the home is still read after it."""
    fixed: set[Buffer] = set()
    for carried in program.carried:
        home, yielded, loop = carried.home, carried.yielded, carried.loop
        home.last = max(home.last, ends[loop])
        fixed.update((home, yielded))
        if yielded.scope[: len(home.scope) + 1] == home.scope:
            continue  # yielded unchanged from outside the loop
        if inner.get((loop, home), -1) <= yielded.first and yielded.size_key == home.size_key:
            groups.join(yielded, home)
    return fixed


def _merge_in_place(
    steps: Iterable[Step],
    groups: _Groups,
    fixed: set[Buffer],
    copies: dict[Buffer, int],
    forward: bool,
) -> None:
    for time, step in enumerate(steps):
        new = step.output
        if new is None or new.first != time or new in fixed or step.reuse is Reuse.NEVER:
            continue
        for old in step.inputs if forward else reversed(step.inputs):
            if (
                old.last == time
                and old not in fixed
                and not old.temporary
                and old.scope[: len(step.scope)] == step.scope
                and may_reuse(step, new, old)
                and size_of(old) >= size_of(new)
                and not _stalls(new, old, groups, copies)
            ):
                groups.join(new, old)
                break


def may_reuse(step: Step, new: Buffer, old: Buffer) -> bool:
    """IsReuseHIVMOp, for one pair of output and dying input."""
    if step.reuse is Reuse.NEVER:
        return False
    if step.reuse is Reuse.ISA:
        return True
    if step.spread:
        return new.shape == old.shape
    widths = [buffer.bits for buffer in step.inputs]
    if step.reuse is Reuse.CAST:
        if old.bits == new.bits:
            return True
        return old.bits > new.bits and new.flat and old.flat
    return any(bits == new.bits or bits % new.bits == 0 for bits in widths)


def _stalls(new: Buffer, old: Buffer, groups: _Groups, copies: dict[Buffer, int]) -> bool:
    """InplaceStallPipeline: a doubled load and a doubled store must not share a place."""

    def doubled(buffer: Buffer) -> bool:
        near = (buffer, *groups.pairs.get(buffer, ()))
        return any(copies.get(b, 1) > 1 for b in near)

    return (
        doubled(new)
        and doubled(old)
        and groups.reaches(new, "stored")
        and groups.reaches(old, "loaded")
    )


def _collect(program: Program, groups: _Groups, copies: dict[Buffer, int]) -> list[Entry]:
    members: dict[Buffer, list[Buffer]] = {}
    for buffer in program.buffers:
        if buffer.first >= 0 and not buffer.absent:
            members.setdefault(groups.root(buffer), []).append(buffer)
    entries = []
    for root, buffers in members.items():
        entries.append(
            Entry(
                root.memory,
                size_of(root),
                max(copies.get(b, 1) for b in buffers),
                min(b.first for b in buffers),
                max(b.last for b in buffers),
                tuple(buffers),
                any(b.loaded or b.stored for b in buffers),
                all(b.sure for b in buffers),
            )
        )
    return entries

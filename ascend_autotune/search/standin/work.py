"""How much one program of a launch does, counted from its TTIR.

Loops count as often as they run, where the launch's scalars tell; a loop whose bounds stay
unknown counts `UNKNOWN_TRIPS` times. Masks do not shorten what is moved or computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ascend_autotune.analysis.addressing import ACCESSES, READ, Access, accesses_of
from ascend_autotune.analysis.affine import callee_of
from ascend_autotune.analysis.ir import Block, Module, Operation, Value
from ascend_autotune.search.standin.dataflow import Data
from ascend_autotune.search.standin.figures import Figures
from ascend_autotune.search.standin.scalars import Known, Number, evaluate

UNKNOWN_TRIPS = 16
_DEPTH = 8  # of calls that were not inlined
_LINE = 32  # bytes: what an element of a strided access is padded to, and rows are rounded to
_ROW = 64  # bytes that a row of a transfer costs besides its own

# Vector instructions an operation takes, where it is not one.
_WEIGHT: Mapping[str, float] = {
    "arith.divf": 4,
    "arith.divsi": 8,
    "arith.remsi": 8,
    "arith.remf": 8,
    "arith.select": 2,
    "math.exp": 4,
    "math.exp2": 5,
    "math.log": 4,
    "math.log2": 5,
    "math.sqrt": 3,
    "math.rsqrt": 4,
    "math.sin": 16,
    "math.cos": 16,
    "math.tanh": 12,
    "math.erf": 16,
    "tt.reduce": 2,
    "tt.scan": 6,
    "tt.trans": 3,
    "tt.broadcast": 0.5,
    "tt.gather": 16,
    "tt.sort": 64,
    "tt.histogram": 16,
}
_FREE = frozenset(
    {"arith.constant", "tt.splat", "tt.make_range", "tt.expand_dims", "tt.reshape", "tt.addptr"}
)
_DOTS = frozenset({"tt.dot", "tt.dot_scaled"})


@dataclass
class Work:
    """Sums over one program. `read` in bytes by kernel argument (None: not known which).

    `cube` and `vector` are cycles, `scalar` cycles of element-wise addressing. `handed` are
    bytes that cube and vector cores hand to each other, `handovers` how often. `transfers` are
    reads and writes started; `turns` iterations of loops, `entries` how often one was entered.
    """

    read: dict[int | None, float] = field(default_factory=dict)
    written: float = 0.0
    cube: float = 0.0
    vector: float = 0.0
    scalar: float = 0.0
    handed: float = 0.0
    handovers: float = 0.0
    transfers: float = 0.0
    turns: float = 0.0
    entries: float = 0.0

    def add(self, other: Work, times: float) -> None:
        for argument, size in other.read.items():
            self.read[argument] = self.read.get(argument, 0.0) + times * size
        self.written += times * other.written
        self.cube += times * other.cube
        self.vector += times * other.vector
        self.scalar += times * other.scalar
        self.handed += times * other.handed
        self.handovers += times * other.handovers
        self.transfers += times * other.transfers
        self.turns += times * other.turns
        self.entries += times * other.entries


class Counter:
    """Counts the work of programs of one module; what does not depend on the program, once."""

    def __init__(self, module: Module, figures: Figures) -> None:
        self._module = module
        self._figures = figures
        self._accesses = accesses_of(module)
        self._data = Data(module)
        self._own: dict[Operation, Work] = {}

    def count(
        self,
        scalars: Sequence[Number | None],
        program: tuple[int, int, int],
        grid: tuple[int, int, int],
    ) -> Work:
        """The work of one program. `scalars` are the kernel's arguments, None for pointers."""
        kernel = self._module.kernel
        known: Known = {
            value: number
            for value, number in zip(kernel.body().args, scalars, strict=False)
            if number is not None
        }
        return _Walk(self, known, program, grid).blocks(kernel.regions[0])

    def own(self, op: Operation) -> Work:
        """What an operation itself does, each time."""
        found = self._own.get(op)
        if found is None:
            found = self._own[op] = Work()
            access = self._accesses.get(op) if op.name in ACCESSES else None
            if access is not None:
                _move(access, found)
            elif op.name in _DOTS:
                self._dot(op, found)
            elif op.results and op.results[0] in self._data:
                found.vector = self._vector(op)
        return found

    def _vector(self, op: Operation) -> float:
        if op.name in _FREE or (op.regions and op.name not in ("tt.reduce", "tt.scan")):
            return 0.0
        types = [v.type for v in (*op.operands, *op.results) if v.type.is_tensor]
        if not types or (op.name == "tt.trans" and _only_for_dots(op.result)):
            return 0.0
        size = max(t.numel * max(t.bits, 8) / 8 for t in types)
        weight = _WEIGHT.get(op.name, 1)
        if op.name.startswith("arith.") and types[-1].dtype == "i64":
            weight *= 4  # the vector unit has no 64-bit integers
        cycles = max(1, math.ceil(size / self._figures.vector_bytes))
        return weight * cycles + self._figures.instruction_cycles

    def _dot(self, op: Operation, work: Work) -> None:
        left, right, result = op.operands[0].type, op.operands[1].type, op.result.type
        if len(left.shape) < 2 or len(right.shape) < 2:
            return
        (m, k), n = left.shape[-2:], right.shape[-1]
        batch = math.prod(left.shape[:-2])
        figures, bits = self._figures, max(left.bits, 8)
        deep = figures.cube_k.get(bits, 16)
        cycles = _up(m, 16) * _up(n, 16) * _up(k, deep)
        feeding = m * k * bits / 8 / figures.l0a_bytes + k * n * bits / 8 / figures.l0b_bytes
        work.cube += batch * (max(cycles, feeding) + figures.instruction_cycles)
        for operand in op.operands[:2]:
            if _made_by_vector(operand):
                work.handed += 2 * operand.type.numel * operand.type.bits / 8
                work.handovers += 1
        if not _stays(op.result, set()):
            work.handed += 2 * result.numel * 4
            work.handovers += 1
            if len(op.operands) > 2 and _made_by_vector(op.operands[2]):
                work.vector += result.numel * 4 / figures.vector_bytes  # the sum is made there


class _Walk:
    def __init__(
        self,
        counter: Counter,
        known: Known,
        program: tuple[int, int, int],
        grid: tuple[int, int, int],
    ) -> None:
        self._counter = counter
        self._functions = counter._module.functions
        self._known = known
        self._program = program
        self._grid = grid
        self._calls = 0

    def blocks(self, blocks: Sequence[Block]) -> Work:
        work = Work()
        for block in blocks:
            for op in block.ops:
                self._operation(op, work)
        return work

    def _operation(self, op: Operation, work: Work) -> None:
        if op.name == "scf.for":
            trips = self._trips(op)
            work.add(self.blocks(op.regions[0]), trips)
            work.turns += trips
            work.entries += 1
        elif op.name == "scf.while":
            for blocks in op.regions:
                work.add(self.blocks(blocks), UNKNOWN_TRIPS)
            work.turns += UNKNOWN_TRIPS
            work.entries += 1
        elif op.name == "scf.if":
            self._branch(op, work)
        elif op.name == "tt.call":
            self._call(op, work)
        else:
            evaluate(op, self._known, self._program, self._grid)
            work.add(self._counter.own(op), 1)

    def _trips(self, op: Operation) -> float:
        lower, upper, step = (self._known.get(v) for v in op.operands[:3])
        if lower is None or upper is None or not step:
            return UNKNOWN_TRIPS
        trips = max(0, math.ceil((upper - lower) / step))
        # What depends on the induction variable counts as in the middle of the loop.
        self._known[op.body().args[0]] = lower + (trips // 2) * step
        return trips

    def _branch(self, op: Operation, work: Work) -> None:
        condition = self._known.get(op.operands[0])
        for index, blocks in enumerate(op.regions):
            if not blocks:
                continue
            share = 0.5 if condition is None else float(bool(condition) == (index == 0))
            if share:
                work.add(self.blocks(blocks), share)

    def _call(self, op: Operation, work: Work) -> None:
        function = self._functions.get(callee_of(op))
        if function is None or not function.regions[0] or self._calls >= _DEPTH:
            return
        for argument, given in zip(function.body().args, op.operands, strict=False):
            self._known.pop(argument, None)
            if given in self._known:
                self._known[argument] = self._known[given]
        self._calls += 1
        work.add(self.blocks(function.regions[0]), 1)
        self._calls -= 1


def _move(access: Access, work: Work) -> None:
    bits = 64 if access.dtype.startswith("ptr") else _bits(access.dtype)
    count, size = math.prod(access.shape), bits / 8
    row = access.shape[-1] if access.shape else 1
    if access.kind == "affine" and access.contiguous_inner:
        moved = (count / row) * (_up(row * size, _LINE) * _LINE + _ROW)
    else:
        moved = float(count * _LINE)
    if access.kind != "affine":
        work.scalar += 8 * count  # each address is computed and used by itself
    if access.effect == READ:
        work.read[access.base] = moved
    else:
        work.written = moved * (4 if access.atomic else 1)
    work.transfers = 1


def _bits(dtype: str) -> int:
    from ascend_autotune.analysis.ir import BITS

    return max(8, BITS.get(dtype, 32))


def _up(size: float, unit: int) -> int:
    return max(1, math.ceil(size / unit))


def _made_by_vector(value: Value) -> bool:
    op = value.op
    while op is not None and op.name in ("tt.trans", "tt.reshape"):
        op = op.operands[0].op
    return op is not None and op.name not in ("tt.load", "arith.constant", "tt.splat", *_DOTS)


def _only_for_dots(value: Value) -> bool:
    return bool(value.uses) and all(op.name in _DOTS for op, _ in value.uses)


def _stays(value: Value, seen: set[Value]) -> bool:
    """Whether a dot's result goes to memory from the cube's own buffer, with no vector work."""
    if value in seen:
        return True
    seen.add(value)
    for op, index in value.uses:
        parent = op.parent
        if op.name == "tt.store" or (op.name in _DOTS and index == 2):
            continue
        if op.name == "arith.truncf":
            if not _stays(op.result, seen):
                return False
        elif op.name == "scf.yield" and parent is not None and parent.name == "scf.for":
            carried = parent.body().args[index + 1]
            if not (_stays(carried, seen) and _stays(parent.results[index], seen)):
                return False
        else:
            return False
    return True

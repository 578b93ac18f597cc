"""The tile program: what the vector core will execute, in order, and on which buffers.

It stands for the compiler's HIVM program just before its PlanMemory pass. Shapes are
plain integers or `sym.Sym`s, so that one program can stand for a whole region of tiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from ascend_autotune.analysis.ir import BITS, Operation, Value


class Reuse(Enum):
    """When an operation's output may take the place of an input that dies at it.

    Source: MemPlan::IsReuseHIVMOp of AscendNPU-IR's PlanMemory pass.
    """

    NEVER = 0
    ISA = 1  # add, sub, mul, max, min, or, and: always
    ELEMENTWISE = 2  # where an input is as wide as the output, or wider
    CAST = 3  # narrowing only in one (flattened) dimension, widening never
    SELECT64 = 4  # any input but the condition


@dataclass(eq=False, slots=True)
class Buffer:
    """One allocation. `bits` is the width of an element; a dimension may be padded.

    `scope` is the path of loops in which it is allocated. `sure` is False where the
    rule that made it is only likely: it then counts in upper bounds alone.
    """

    shape: tuple[int, ...]
    bits: int
    dtype: str
    memory: str
    op: Operation | None
    scope: tuple[int, ...]
    temporary: bool = False
    sure: bool = True
    row: int | None = None  # elements of a row that is padded to 32 bytes (stride align)
    units: tuple[int, ...] | None = None  # multiples that the dimensions are rounded up to
    # Elements of a scratch buffer that depend on another buffer's final size.
    elements: Callable[[], int] | None = None
    loaded: bool = False
    stored: bool = False
    slot: bool = False  # one scalar inside a loop that the compiler made: two copies
    absent: bool = False  # its contents are written straight into another buffer
    first: int = -1
    last: int = -1

    @property
    def numel(self) -> int:
        """Elements as the allocation holds them: padded rows, rounded dimensions."""
        if self.elements is not None:
            return self.elements()
        shape = self.shape
        if self.units is not None:
            shape = tuple(ceil_to(n, unit) for n, unit in zip(shape, self.units, strict=True))
        count = math.prod(shape)
        if self.row is None or self.units is not None:  # whole blocks already
            return count
        return count // self.row * ceil_to(self.row, max(1, 256 // self.bits))

    @property
    def flat(self) -> bool:
        """Dense: the instruction sees one dimension."""
        return self.row is None or self.row * self.bits % 256 == 0

    @property
    def size_key(self) -> tuple[int, int]:
        return math.prod(self.shape), self.bits


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """A value that lives in a scalar register; `value` where it is a known constant.

    `origin` is the TTIR tensor that it stands for: where an instruction needs that tensor
    as a tile, it is filled where the TTIR defines it, once.
    """

    dtype: str
    value: object = None
    origin: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A view of a whole buffer under some shape."""

    buffer: Buffer
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """A tile of unit dimensions seen broadcast to `shape`, not (yet) materialised."""

    tile: Tile
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str
    origin: Value | None = None


Operand = Scalar | Tile | Spread


@dataclass(eq=False, slots=True)
class Step:
    """One instruction, or a bracket (`loop`, `end`) around others."""

    name: str
    inputs: Sequence[Buffer]
    output: Buffer | None
    reuse: Reuse
    temporaries: Sequence[Buffer]
    scope: tuple[int, ...]
    op: Operation | None
    spread: bool = False  # an input is broadcast on the fly
    shape: tuple[int, ...] = ()  # of the output, as the instruction sees it
    # Rows that the operands' joint layout keeps apart (elements), where they do not collapse.
    row: int | None = None
    spreads_rows: bool = True  # padding passes from operand to operand
    loop: int = 0
    also: Buffer | None = None  # a second output


@dataclass(eq=False, slots=True)
class Carried:
    """A tensor that a loop carries: its home buffer and the buffer that is yielded."""

    loop: int
    home: Buffer
    yielded: Buffer


@dataclass(eq=False, slots=True)
class Program:
    steps: list[Step] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    carried: list[Carried] = field(default_factory=list)
    # Loops (by number) that are scf.for all the way out: only there copies are doubled.
    doubling: set[int] = field(default_factory=set)
    branches: set[int] = field(default_factory=set)  # scopes that are scf.if
    made: int = 0  # loops that stand for stages: their numbers are negative
    # A conditional result is one of two buffers: a use of the first is a use of both.
    joined: dict[Buffer, list[Buffer]] = field(default_factory=dict)
    # Where a value leaves for the cube core's workspace.
    sent: dict[Value, Step] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # constructs the model does not know
    moved: bool = False  # code motion changes this program
    perhaps_halved: bool = False  # two vector cores may share what is laid out whole


def ceil_to(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def width(dtype: str) -> int:
    """Bits of one element in the vector memory; a predicate takes one bit."""
    return 64 if dtype.startswith("ptr<") else BITS.get(dtype, 32)

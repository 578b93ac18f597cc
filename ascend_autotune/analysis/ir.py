"""The program as values: types, locations and operations read from TTIR.

These are plain objects with no link to libtriton, so that an analysis behaves the
same on every Triton flavour. `reader.parse_module` makes them; nothing changes them
afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

BITS: Mapping[str, int] = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "index": 64,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "f8E4M3FN": 8,
    "f8E5M2": 8,
    "f8E4M3FNUZ": 8,
    "f8E5M2FNUZ": 8,
    "f8E4M3B11FNUZ": 8,
}


@dataclass(frozen=True, slots=True)
class Type:
    """An MLIR type: `shape` is () for a scalar; `dtype` the element type's MLIR name.

    Pointers have the dtype `ptr<f16>`; a block pointer or tensor descriptor is a
    scalar whose `pointee` is the tile that it addresses.
    """

    shape: tuple[int, ...]
    dtype: str
    pointee: Type | None = None

    @property
    def is_tensor(self) -> bool:
        return bool(self.shape)

    @property
    def is_pointer(self) -> bool:
        return self.dtype.startswith("ptr<")

    @property
    def is_block_pointer(self) -> bool:
        return self.pointee is not None and self.pointee.is_tensor

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def bits(self) -> int:
        """Width of one element in bits (a pointer counts as 64)."""
        return 64 if self.is_pointer else BITS.get(self.dtype, 32)

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), self.dtype])


@dataclass(frozen=True, slots=True)
class Location:
    """A source line: `file`:`line` is where the kernel's own text stands.

    For code that was inlined from a helper, `inner` is the line inside the helper.
    `name` is the Python variable, where this Triton records it.
    """

    file: str
    line: int
    inner: Location | None = None
    name: str | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else "unknown"


UNKNOWN = Location("", 0)


@dataclass(eq=False, slots=True)
class Value:
    """An SSA value. `op` is None for a block argument, which belongs to `block`."""

    type: Type
    op: Operation | None = None
    index: int = 0
    block: Block | None = None
    uses: list[tuple[Operation, int]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Block:
    args: list[Value]
    ops: list[Operation]
    parent: Operation | None = None
    region: int = 0


@dataclass(eq=False, slots=True)
class Operation:
    """One operation, with its operands, results, attributes and nested blocks.

    `regions[i]` is a list of blocks. `order` numbers the operations of a module in
    program order. `successors` are the blocks that a branch (cf.br, cf.cond_br) enters.
    """

    name: str
    operands: list[Value]
    results: list[Value]
    attrs: Mapping[str, object]
    regions: list[list[Block]]
    location: Location
    block: Block | None = None
    order: int = 0
    successors: tuple[Block, ...] = ()

    @property
    def result(self) -> Value:
        return self.results[0]

    @property
    def parent(self) -> Operation | None:
        return self.block.parent if self.block is not None else None

    def body(self, region: int = 0) -> Block:
        return self.regions[region][0]

    def walk(self) -> Iterator[Operation]:
        """This operation and all nested ones, in program order."""
        yield self
        for region in self.regions:
            for block in region:
                for op in block.ops:
                    yield from op.walk()


@dataclass(frozen=True)
class Module:
    """A parsed module: its public kernel function and every function by name."""

    kernel: Operation
    functions: Mapping[str, Operation]

    def walk(self) -> Iterator[Operation]:
        for function in self.functions.values():
            yield from function.walk()

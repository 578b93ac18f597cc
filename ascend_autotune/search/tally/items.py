"""A traced program as a list of items, each with a few numbers.

`items_of(module, scalars)` lists, in program order, what costs time. Numbers by kind:
    load, store, atomic   d0..d3 (tile; 1 where missing), e0..e3 (the mask's bound along it, 0:
                          none), bytes (of an element), run (elements in a row in memory), trips,
                          loop (which one is the innermost around it, 0: none), staged (1: all it
                          is for is a dot of that loop), base (1 + the argument's index, 0: not
                          known)
    dot                   m, n, k, bits, trips
    reduce                numel, axis (its length), trips
    vector, special       numel, trips; special: exp, log, division and the like
    loop                  trips (of itself), outer (of those around it)
    live                  bytes: the most that tiles of data hold at once outside dots' operands
`trips` is how often it runs in one program: the product of the loops around it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ascend_autotune.analysis.addressing import ACCESSES, READ, WRITE, Access, access_of
from ascend_autotune.analysis.affine import LOADED, Forms
from ascend_autotune.analysis.features import CASTS, DOTS, SHAPING
from ascend_autotune.analysis.graph import LOOPS
from ascend_autotune.analysis.ir import Module, Operation, Value
from ascend_autotune.search.tally.bounds import bounds_of
from ascend_autotune.search.tally.scalars import Scalars

UNKNOWN_TRIPS = 8
"""What a loop whose bounds only the data knows counts as."""
RANK = 4

# Several instructions or a slow unit each: CUDA C++ Programming Guide, arithmetic throughput.
_SPECIAL = frozenset(
    {
        "arith.divf",
        "arith.remf",
        "tt.precise_divf",
        "tt.precise_sqrt",
        "tt.extern_elementwise",
        "math.exp",
        "math.exp2",
        "math.log",
        "math.log2",
        "math.log1p",
        "math.expm1",
        "math.sqrt",
        "math.rsqrt",
        "math.sin",
        "math.cos",
        "math.tan",
        "math.tanh",
        "math.erf",
        "math.powf",
    }
)
_FREE = frozenset({"arith.constant", "arith.bitcast"})
_UNCOUNTED = _FREE | CASTS
_CARRIES = CASTS | SHAPING


@dataclass(frozen=True)
class Item:
    """One thing that a program does: its kind and its numbers."""

    kind: str
    numbers: Mapping[str, float]


def items_of(module: Module, scalars: Scalars) -> list[Item]:
    """What the kernel of `module` does, in program order; see the module's text."""
    forms = Forms(module)
    return list(_items(module.kernel, scalars, forms))


def _items(kernel: Operation, scalars: Scalars, forms: Forms) -> Iterator[Item]:
    loops = [op for op in kernel.walk() if op.name in LOOPS]
    for op in kernel.walk():
        trips = float(_trips(op, scalars))
        if op.name in ACCESSES:
            access = access_of(op, forms)
            if access is not None:
                around = _enclosing(op)
                loop = 1 + loops.index(around[0]) if around else 0
                yield _access(op, access, trips, loop, scalars, forms)
        elif op.name in DOTS:
            yield _dot(op, trips)
        elif op.name in ("tt.reduce", "tt.scan"):
            source = op.operands[0].type
            axis = op.attrs.get("axis", 0)
            length = source.shape[axis] if isinstance(axis, int) else source.numel
            yield Item("reduce", {"numel": source.numel, "axis": length, "trips": trips})
        elif op.name in LOOPS:
            own = scalars.trips(op)
            yield Item("loop", {"trips": UNKNOWN_TRIPS if own is None else own, "outer": trips})
        elif op.results and _is_data(op.result):
            numbers = {"numel": float(op.result.type.numel), "trips": trips}
            if op.name in _SPECIAL:
                yield Item("special", numbers)
            elif op.name.startswith(("arith.", "math.")) and op.name not in _UNCOUNTED:
                yield Item("vector", numbers)
    yield Item("live", {"bytes": max(1.0, _live(kernel))})


def _access(
    op: Operation, access: Access, trips: float, loop: int, scalars: Scalars, forms: Forms
) -> Item:
    kind = {READ: "load", WRITE: "store"}.get(access.effect, "atomic")
    shape = (*access.shape, *(1,) * RANK)[:RANK]
    bounds = bounds_of(op, access.shape, scalars, forms)
    numbers: dict[str, float] = {f"d{i}": n for i, n in enumerate(shape)}
    numbers.update({f"e{i}": bounds.get(i, 0) for i in range(RANK)})
    numbers.update(bytes=_width(access.dtype), run=_run(access, forms, op), trips=trips)
    numbers.update(loop=loop, staged=float(loop > 0 and _for_dots(op)))
    numbers.update(base=0 if access.base is None else 1 + access.base)
    return Item(kind, numbers)


def _run(access: Access, forms: Forms, op: Operation) -> float:
    """Elements that lie in a row in memory; a wrapped index counts as running on."""
    if not access.shape or access.block:
        return float(access.shape[-1]) if access.shape else 1.0
    ones = [n for n, s in zip(access.shape, access.strides, strict=True) if s == 1 and n > 1]
    if ones:
        return float(max(ones))
    steps = forms.of(op.operands[0]).steps
    unknown = [
        n
        for n, s, step in zip(access.shape, access.strides, steps, strict=False)
        if s is None and not step[1] & LOADED and n > 1
    ]
    return float(unknown[-1]) if unknown and unknown[-1] == access.shape[-1] else 1.0


def _dot(op: Operation, trips: float) -> Item:
    lhs, rhs = op.operands[0].type, op.operands[1].type
    batch = math.prod(lhs.shape[:-2])
    m, k, n = lhs.shape[-2], lhs.shape[-1], rhs.shape[-1]
    return Item("dot", {"m": m * batch, "n": n, "k": k, "bits": lhs.bits, "trips": trips})


def _trips(op: Operation, scalars: Scalars) -> int:
    trips = 1
    for loop in _enclosing(op):
        own = scalars.trips(loop)
        trips *= UNKNOWN_TRIPS if own is None else own
    return trips


def _enclosing(op: Operation) -> list[Operation]:
    found = []
    parent = op.parent
    while parent is not None:
        if parent.name in LOOPS:
            found.append(parent)
        parent = parent.parent
    return found


def _is_data(value: Value) -> bool:
    """A tile of numbers that are not addresses: floating point, or bytes."""
    return value.type.is_tensor and value.type.dtype.startswith(("f", "bf", "i8"))


def _bytes(value: Value) -> float:
    tile = value.type.pointee if value.type.is_block_pointer else value.type
    return tile.numel * tile.bits / 8 if tile is not None else 0.0


def _width(dtype: str) -> float:
    digits = "".join(c for c in dtype if c.isdigit())
    return max(1.0, int(digits[:2] if digits[:1] in "1236" else digits[:1]) / 8) if digits else 4.0


def _for_dots(op: Operation) -> bool:
    """Whether what is loaded goes to dots alone, through casts and shape changes at most."""
    waiting, found = [*op.results], False
    while waiting:
        for user, index in waiting.pop().uses:
            if user.name in DOTS and index < 2:
                found = True
            elif user.name in _CARRIES:
                waiting += user.results
            else:
                return False
    return found


def _live(kernel: Operation) -> float:
    """The most bytes that tiles of data hold at one time, operands of dots left out.

    A value that a loop takes from outside lives to the loop's end; carried values live through
    the whole loop.
    """
    ends: dict[Operation, int] = {}
    for op in kernel.walk():
        ends[op] = max((inner.order for inner in op.walk()), default=op.order)
    changes: dict[int, float] = {}

    def lives(value: Value, start: int, end: int) -> None:
        size = _bytes(value)
        changes[start] = changes.get(start, 0.0) + size
        changes[end] = changes.get(end, 0.0) - size  # what it makes may take its place

    for op in kernel.walk():
        if op.name == "scf.for":
            for value in op.body().args[1:]:
                if _is_data(value):
                    lives(value, op.order, ends[op])
            continue
        for value in op.results:
            if not _is_data(value) or not value.uses or op.name in _FREE:
                continue
            if op.name in ACCESSES and _for_dots(op):
                continue
            around = _enclosing(op)
            last = op.order
            for user, _ in value.uses:
                outer = [loop for loop in _enclosing(user) if loop not in around]
                last = max(last, ends[outer[-1]] if outer else user.order)
            lives(value, op.order, last)
    peak = held = 0.0
    for at in sorted(changes):
        held += changes[at]
        peak = max(peak, held)
    return peak

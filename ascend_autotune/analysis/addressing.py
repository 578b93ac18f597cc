"""What each memory access touches: its stride along each dimension and its mask.

`access_of(op)` is for one operation; give the same `Forms` to all calls on a module so
that shared index arithmetic is read once. `accesses_of(module)` does so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_autotune.analysis.affine import (
    BENT,
    FLAT,
    LOADED,
    WRAPPED,
    Form,
    Forms,
    reshape_steps,
)
from ascend_autotune.analysis.ir import Location, Module, Operation, Type, Value

READ, WRITE, UPDATE = "read", "write", "update"

# Operation -> (what it does, is it addressed through a descriptor, index of the value).
_OPERATIONS: Mapping[str, tuple[str, bool, int | None]] = {
    "tt.load": (READ, False, None),
    "tt.store": (WRITE, False, 1),
    "tt.atomic_rmw": (UPDATE, False, 1),
    "tt.atomic_cas": (UPDATE, False, 2),
    "tt.atomic_load": (READ, False, None),
    "tt.atomic_poll": (READ, False, None),
    "tt.atomic_store": (WRITE, False, 1),
    "tt.descriptor_load": (READ, True, None),
    "tt.descriptor_gather": (READ, True, None),
    "tt.descriptor_store": (WRITE, True, 1),
    "tt.descriptor_scatter": (WRITE, True, 3),
    "tt.descriptor_reduce": (UPDATE, True, 1),
    "tt.experimental_descriptor_load": (READ, True, None),
    "tt.experimental_descriptor_store": (WRITE, True, 1),
    "tt.experimental_descriptor_gather": (READ, True, None),
    "tt.experimental_descriptor_scatter": (WRITE, True, 3),
    "tt.indirect_load": (READ, False, None),
    "tt.indirect_store": (WRITE, False, None),
    "tt.gather_out_to_ub": (READ, False, None),
    "tt.scatter_ub_to_out": (WRITE, False, None),
    "tt.index_select_simd": (READ, False, None),
    "tt.index_put": (WRITE, False, None),
    "tt.embedding_gather": (READ, False, None),
}
# Operations whose very meaning is that the rows come from an index tensor.
_INDIRECT = frozenset(
    {
        "tt.descriptor_gather",
        "tt.descriptor_scatter",
        "tt.experimental_descriptor_gather",
        "tt.experimental_descriptor_scatter",
        "tt.indirect_load",
        "tt.indirect_store",
        "tt.gather_out_to_ub",
        "tt.scatter_ub_to_out",
        "tt.index_select_simd",
        "tt.index_put",
        "tt.embedding_gather",
    }
)
ACCESSES = frozenset(_OPERATIONS)


@dataclass(frozen=True, slots=True)
class Access:
    """One memory access, seen as a tile.

    `kind`: `affine` (each dimension advances by one stride, known now or at the
    launch), `indirect` (some element's address was itself read from memory) or
    `unknown` (any other arithmetic, `% n` and `// c` included: then `modulo`).
    `base`: index of the kernel argument that is accessed, None where not known.
    `strides`: elements per index, None where only the launch knows it or none exists;
    0 along a dimension that is repeated or has one element.
    `straight`: per dimension, whether a stride (known or not) exists at all.
    `contiguous_inner`: the innermost dimension that holds more than one element has
    the stride 1, certainly.
    `bounded`: per dimension, whether the mask is a bound on that index.
    `mask`: `none`; `rectangular`: bounds, the innermost dimension's among them; `row`:
    bounds, but the innermost dimension is whole; `data`: depends on loaded elements;
    `other`: no rectangle (`row >= column`, `offset < n` of a flattened tile ...).
    `block`: addressed by a block pointer or tensor descriptor.
    `loaded_offset`: a number read from memory is part of the address, so also where
    all elements share it (the start of a sequence, a slot, a pointer from a table).
    """

    effect: str
    kind: str
    base: int | None
    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int | None, ...]
    straight: tuple[bool, ...]
    contiguous_inner: bool
    mask: str
    bounded: tuple[bool, ...]
    modulo: bool
    loaded_offset: bool
    block: bool
    atomic: bool
    location: Location


def access_of(op: Operation, forms: Forms | None = None) -> Access | None:
    """The access that `op` makes, or None when it touches no memory by address."""
    entry = _OPERATIONS.get(op.name)
    if entry is None or not op.operands:
        return None
    forms = Forms() if forms is None else forms
    effect, descriptor, stored = entry
    pointer = op.operands[0]
    tile = _tile(op, stored)
    shape = tile.shape
    form = forms.of(pointer)
    block = descriptor or pointer.type.is_block_pointer
    steps = _fit(form.steps, shape, block)
    loaded = form.loaded
    if op.name in _INDIRECT and steps:
        # tl.gather-like operations take rows (the first dimension) from an index tensor.
        steps = ((None, LOADED), *steps[1:])
        loaded = True
    elif descriptor:
        loaded = loaded or any(forms.of(v).loaded for v in op.operands if v.type.dtype == "i32")
    bends = 0
    for _, bend in steps:
        bends |= bend
    if block:
        mask, bounded = _block_mask(op, shape, descriptor)
    else:
        mask, bounded = _mask(_mask_operand(op), shape, forms)
    return Access(
        effect=effect,
        kind="indirect" if bends & LOADED else "unknown" if bends else "affine",
        base=form.base,
        shape=shape,
        dtype=tile.dtype,
        strides=tuple(step for step, _ in steps),
        straight=tuple(not bend for _, bend in steps),
        contiguous_inner=_contiguous(shape, steps),
        mask=mask,
        bounded=bounded,
        modulo=bool(bends & WRAPPED),
        loaded_offset=loaded,
        block=block,
        atomic=op.name.startswith("tt.atomic_") or op.name == "tt.descriptor_reduce",
        location=op.location,
    )


def accesses_of(module: Module) -> dict[Operation, Access]:
    """Every access of the module, in program order."""
    forms = Forms(module)
    found: dict[Operation, Access] = {}
    for op in module.walk():
        if op.name in ACCESSES:
            access = access_of(op, forms)
            if access is not None:
                found[op] = access
    return found


def _tile(op: Operation, stored: int | None) -> Type:
    if stored is not None and stored < len(op.operands):
        return op.operands[stored].type
    if op.results:
        return op.results[0].type
    tensors = [v.type for v in op.operands if v.type.is_tensor and not v.type.is_pointer]
    return tensors[0] if tensors else Type((), "none")


def _fit(
    steps: tuple[tuple[int | None, int], ...], shape: tuple[int, ...], block: bool
) -> tuple[tuple[int | None, int], ...]:
    """The pointer's steps for the tile; a descriptor's leading dimensions may drop."""
    if len(steps) > len(shape):
        steps = steps[len(steps) - len(shape) :]
    elif len(steps) < len(shape):
        steps = ((None, 0 if block else BENT),) * (len(shape) - len(steps)) + steps
    return tuple(FLAT if n == 1 else step for n, step in zip(shape, steps, strict=True))


def _contiguous(shape: tuple[int, ...], steps: tuple[tuple[int | None, int], ...]) -> bool:
    for n, step in zip(reversed(shape), reversed(steps), strict=True):
        if n != 1:
            return step == (1, 0)
    return True


# -- masks -------------------------------------------------------------------------


def _mask_operand(op: Operation) -> Value | None:
    segments = op.attrs.get("operandSegmentSizes")
    if op.name == "tt.load":
        if isinstance(segments, tuple):
            return op.operands[1] if len(segments) > 1 and segments[1] == 1 else None
        return op.operands[1] if len(op.operands) > 1 else None
    if op.name in ("tt.store", "tt.atomic_rmw", "tt.atomic_store"):
        return op.operands[2] if len(op.operands) > 2 else None
    if op.name == "tt.atomic_load":
        return op.operands[1] if len(op.operands) > 1 else None
    return None


def _block_mask(
    op: Operation, shape: tuple[int, ...], descriptor: bool
) -> tuple[str, tuple[bool, ...]]:
    """Block pointers are bounded where boundary_check says so, descriptors everywhere."""
    if descriptor:
        bounded = (True,) * len(shape)
    else:
        checked = op.attrs.get("boundaryCheck", ())
        dims = checked if isinstance(checked, tuple) else ()
        bounded = tuple(d in dims for d in range(len(shape)))
    return (_box(bounded) if any(bounded) else "none"), bounded


def _box(bounded: tuple[bool, ...]) -> str:
    return "rectangular" if bounded and bounded[-1] else "row"


def _mask(mask: Value | None, shape: tuple[int, ...], forms: Forms) -> tuple[str, tuple[bool, ...]]:
    if mask is None or forms.of(mask).value == 1:
        return "none", (False,) * len(shape)
    found = bounds_of(mask, forms)
    if isinstance(found, str):
        return found, (False,) * len(shape)
    bounded = tuple(d in found for d in range(len(shape)))
    return _box(bounded), bounded


# Predicates of arith.cmpi that bound an index: all orderings, neither eq nor ne.
_ORDERINGS = frozenset(range(2, 10))
_WIDENS = frozenset({"arith.extui", "arith.trunci", "tt.broadcast"})


def bounds_of(mask: Value, forms: Forms) -> frozenset[int] | str:
    """The dimensions that a mask bounds when it is a rectangle, else `data` or `other`.

    A rectangle is a conjunction of comparisons of one dimension's index with a number
    that all elements share; a condition shared by all elements bounds no dimension.
    """
    form = forms.of(mask)
    if form.uniform:
        return frozenset()
    opaque = "data" if form.bends & LOADED else "other"
    op = mask.op
    if op is None:
        return opaque
    if op.name == "arith.andi":
        a, b = (bounds_of(v, forms) for v in op.operands)
        if isinstance(a, str) or isinstance(b, str):
            return "data" if "data" in (a, b) else "other"
        return a | b
    if op.name == "arith.cmpi":
        if op.attrs.get("predicate") not in _ORDERINGS:
            return opaque
        return _compared(forms.of(op.operands[0]), forms.of(op.operands[1])) or opaque
    if op.name in _WIDENS:
        return bounds_of(op.operands[0], forms)
    if op.name in ("tt.expand_dims", "tt.trans", "tt.reshape"):
        return _moved(op, forms)
    return opaque


def _compared(a: Form, b: Form) -> frozenset[int] | None:
    if a.uniform:
        a, b = b, a
    if not b.uniform or a.bends:
        return None
    varying = [d for d, step in enumerate(a.steps) if step != FLAT]
    return frozenset(varying) if len(varying) == 1 else None


def _moved(op: Operation, forms: Forms) -> frozenset[int] | str:
    inner = bounds_of(op.operands[0], forms)
    if isinstance(inner, str):
        return inner
    source, target = op.operands[0].type.shape, op.result.type.shape
    if op.name == "tt.expand_dims":
        axis = op.attrs.get("axis", 0)
        return frozenset(d + (isinstance(axis, int) and d >= axis) for d in inner)
    if op.name == "tt.trans":
        order = op.attrs.get("order")
        moved = order if isinstance(order, tuple) else tuple(reversed(range(len(source))))
        return frozenset(i for i, d in enumerate(moved) if d in inner)
    # A reshape keeps a rectangle only where it adds or drops dimensions of size 1.
    if tuple(n for n in source if n != 1) != tuple(n for n in target if n != 1):
        return "other"
    marks = tuple((1, 0) if d in inner else FLAT for d in range(len(source)))
    steps = reshape_steps(source, marks, target) or ()
    return frozenset(d for d, step in enumerate(steps) if step != FLAT)

"""Which TTIR values must exist as data in the vector memory.

The rest is index arithmetic and masks that triton-adapter folds into the copies
(triton-to-linalg's PtrState and MaskState).
"""

from __future__ import annotations

from ascend_autotune.analysis.addressing import access_of
from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Operation, Value
from ascend_autotune.analysis.plan.boxes import box_of
from ascend_autotune.analysis.plan.branches import incoming
from ascend_autotune.analysis.plan.combiners import combination
from ascend_autotune.analysis.plan.cube import DOTS, CubePlan, keeps_sum
from ascend_autotune.analysis.plan.scattered import is_scattered, read_by_element

_COMMUTE = frozenset({"arith.addf", "arith.addi", "arith.mulf", "arith.muli"})
_NEUTRAL = {
    "arith.addf": 0, "arith.addi": 0, "arith.subf": 0, "arith.subi": 0,
    "arith.mulf": 1, "arith.muli": 1, "arith.divf": 1,
}  # fmt: skip
_IDEMPOTENT = frozenset(
    {
        "arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.minimumf", "arith.maxsi",
        "arith.minsi", "arith.maxui", "arith.minui", "arith.andi", "arith.ori", "arith.select",
    }
)  # fmt: skip
_STORES = frozenset({"tt.store", "tt.descriptor_store", "tt.experimental_descriptor_store"})


def demanded(kernel: Operation, forms: Forms, cube: CubePlan | None = None) -> set[Value]:
    """Every value that a store, an atomic, a reduction to a scalar or a test consumes.

    In a kernel with dots: on the vector core, where the cube core does its own loads,
    keeps its own sums and drains its own results.
    """
    need: set[Value] = set()
    stack: list[Value] = list(cube.computed) if cube is not None else []
    for op in kernel.walk():
        if cube is None or op not in cube.drained:
            stack.extend(_roots(op, forms))
    while stack:
        value = stack.pop()
        if value in need:
            continue
        need.add(value)
        if cube is not None and _from_cube(value, cube):
            stack.extend(_sums(value))
        else:
            stack.extend(_sources(value, forms))
    return need


def _from_cube(value: Value, cube: CubePlan) -> bool:
    """A value that arrives from the cube core."""
    op = value.op
    if op is None:
        return value in cube.resident
    if op.name == "scf.for":
        return op.body().args[value.index + 1] in cube.resident
    return op.name in DOTS


def _sums(value: Value) -> list[Value]:
    """The tile on the vector core that a dot's result is added to."""
    op = value.op
    if op is not None and op.name in DOTS and keeps_sum(op):
        return [op.operands[2]]
    return []


def is_box(op: Operation) -> bool:
    """Is this a select whose condition is a rectangle, so that it is a copy of a sub-box?"""
    mask = op.operands[0]
    return mask.type.is_tensor and box_of(mask) is not None


def folds(op: Operation) -> bool:
    """A select on a box that vanishes: every use stores that very box, or the value was
    loaded with that box and that fill."""
    mask, chosen, other = op.operands
    source = chosen.op
    if source is not None and source.name == "tt.load" and source.operands[1:] == [mask, other]:
        return True
    return stores_box(op, mask)


def stores_box(op: Operation, mask: Value) -> bool:
    """Does every use of the result store that very box?"""
    return all(
        user.name == "tt.store" and len(user.operands) > 2 and user.operands[2] is mask
        for user, _ in op.result.uses
    )


def passed_on(op: Operation) -> Value | None:
    """The operand that x + 0, x - 0, x * 1 or x / 1 stands for (SimplifyOps), or max(x, x)."""
    number = _NEUTRAL.get(op.name)
    if number is None:
        return the_same(op)
    sides = (1, 0) if op.name in _COMMUTE else (1,)
    for side in sides:
        constant = op.operands[side].op
        if constant is None or constant.name != "arith.constant":
            continue
        if constant.attrs.get("value") == number:
            return op.operands[1 - side]
    return None


def the_same(op: Operation, depth: int = 4) -> Value | None:
    """The operand that max(x, x) or a select of x and x stands for (arith's folders); operands
    that fold themselves are followed `depth` deep."""
    if op.name not in _IDEMPOTENT:
        return None
    first, second = op.operands[-2:]
    found = [_followed(value, depth - 1) for value in (first, second)]
    return first if found[0] is found[1] else None


def _followed(value: Value, depth: int) -> Value:
    source = the_same(value.op, depth) if value.op is not None and depth else None
    return value if source is None else _followed(source, depth - 1)


def untruncated(op: Operation) -> Value:
    """What arith.truncf reads: trunc(ext(x)) of x's own type folds to x (arith's folder)."""
    source = op.operands[0]
    if source.op is not None and source.op.name == "arith.extf":
        origin = source.op.operands[0]
        if origin.type.dtype == op.result.type.dtype:
            return origin
    return source


def _roots(op: Operation, forms: Forms) -> list[Value]:
    if op.name in _STORES:
        if is_scattered(op, forms):
            return read_by_element(*op.operands)
        return [op.operands[1], *_mask_and_index(op, forms)]
    if op.name.startswith("tt.atomic"):
        if is_scattered(op, forms):
            return [*op.results, *read_by_element(*op.operands)]
        values = op.operands[1:] if op.name == "tt.atomic_cas" else op.operands[1:2]
        return [*values, *op.results, *_mask_and_index(op, forms)]
    if op.name in ("tt.reduce", "tt.histogram") and not op.results[0].type.is_tensor:
        return list(op.results)
    if op.name in ("tt.print", "tt.assert"):
        return []
    return []


def _mask_and_index(op: Operation, forms: Forms) -> list[Value]:
    access = access_of(op, forms)
    if access is None or access.block:
        return []
    found = _index(op, forms)
    position = 1 if op.name == "tt.load" else 2
    if len(op.operands) > position and box_of(op.operands[position]) is None:
        found.append(op.operands[position])
    return found


def _index(op: Operation, forms: Forms) -> list[Value]:
    access = access_of(op, forms)
    scattered = access is not None and access.kind != "affine"
    return read_by_element(op.operands[0]) if scattered else []


def _sources(value: Value, forms: Forms) -> list[Value]:
    """What must be data for `value` to be."""
    op = value.op
    if op is None:
        return _argument_sources(value)
    if op.name in ("tt.load", "tt.descriptor_load"):
        found = _mask_and_index(op, forms)
        access = access_of(op, forms)
        if len(op.operands) < 3 or access is None:
            return found
        if access.kind != "affine" or box_of(op.operands[1]) is None:
            found.append(op.operands[2])
        return found
    if op.name.startswith("tt.atomic"):
        return []
    same = the_same(op)
    if same is not None:
        return [same]
    if op.name == "arith.select" and is_box(op):
        return [op.operands[1]] if folds(op) else list(op.operands[1:])
    if op.name == "arith.truncf":
        return [untruncated(op)]
    if op.name == "tt.reduce" and len(op.operands) == 2 and combination(op) is not None:
        return [op.operands[0]]  # the instruction counts positions itself
    if op.name == "scf.for":
        body = op.body()
        return [
            body.args[value.index + 1],
            op.operands[value.index + 3],
            body.ops[-1].operands[value.index],
        ]
    if op.name == "scf.if":
        return [region[0].ops[-1].operands[value.index] for region in op.regions if region]
    if op.name == "scf.while":
        return [op.body(0).ops[-1].operands[value.index + 1]]
    return list(op.operands)


def _argument_sources(value: Value) -> list[Value]:
    block = value.block
    parent = block.parent if block is not None else None
    if parent is None or block is None:
        return []
    if parent.name == "scf.for" and value.index > 0:
        position = value.index - 1
        return [
            parent.operands[position + 3],
            block.ops[-1].operands[position],
            parent.results[position],
        ]
    if parent.name == "scf.while":
        if block is parent.body(0):
            return [parent.operands[value.index], parent.body(1).ops[-1].operands[value.index]]
        return [parent.body(0).ops[-1].operands[value.index + 1], parent.results[value.index]]
    if parent.name == "tt.func":
        return incoming(value)
    return []

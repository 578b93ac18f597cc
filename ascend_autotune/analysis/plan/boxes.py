"""Which masks triton-adapter turns into sub-boxes of a copy.

Source: MaskState::parse of triton-ascend's MaskAnalysis.cpp (3.2.0). A mask that it cannot
read becomes a select on loaded data (discrete-mask-access-conversion), which costs tiles;
so this follows its cases to the letter, also where a cleverer reader could do better.
"""

from __future__ import annotations

from dataclasses import dataclass

from ascend_autotune.analysis.ir import Operation, Value

SLT, SLE, SGE, EQ = 2, 3, 5, 0


@dataclass(frozen=True, slots=True)
class _State:
    kind: str  # "scalar" | "range" | "mask"
    bounded: frozenset[int] = frozenset()
    along: frozenset[int] = frozenset()  # the dimension of a range


_SCALAR = _State("scalar")


def box_of(mask: Value) -> frozenset[int] | None:
    """The dimensions that the mask bounds, or None where it is no box to the adapter."""
    state = _parse(mask, 0)
    return state.bounded if state is not None and state.kind == "mask" else None


def spans_last(mask: Value) -> bool:
    """Does the box certainly leave the last dimension whole?"""
    op = mask.op
    if op is None or not mask.type.shape or mask.type.shape[-1] == 1:
        return bool(mask.type.shape) and mask.type.shape[-1] == 1
    if op.name == "arith.andi":
        return all(spans_last(v) for v in op.operands)
    if op.name in ("tt.broadcast", "tt.expand_dims"):
        inner = op.operands[0]
        return inner.type.shape[-1:] == (1,) or op.attrs.get("axis") == 1 or spans_last(inner)
    if op.name == "arith.cmpi" and op.attrs.get("predicate") == SLT:
        index, bound = op.operands
        while index.op is not None and index.op.name in ("tt.expand_dims", "arith.extsi"):
            index = index.op.operands[0]
        limit = bound.op.attrs.get("value") if bound.op is not None else None
        counts = index.op is not None and index.op.name == "tt.make_range"
        return counts and isinstance(limit, int) and limit >= mask.type.shape[-1]
    return False


def resizes(op: Operation) -> bool:
    """Does a load or store move a box whose size only the launch knows?"""
    pointer = op.operands[0]
    if pointer.type.is_block_pointer:
        made = pointer.op
        known = made is not None and made.name == "tt.make_tensor_ptr"
        inputs = made.operands[1:] if known and made is not None else []
        changes = not known or any(from_launch(value) for value in inputs)
        return bool(op.attrs.get("boundaryCheck")) and changes
    position = 1 if op.name == "tt.load" else 2
    if len(op.operands) <= position:
        return False
    mask = op.operands[position]
    return bool(box_of(mask)) and from_launch(mask)


def starts_late(mask: Value) -> bool:
    """May the box begin behind the tile's first element (a bound from below)?"""
    op = mask.op
    if op is None:
        return False
    if op.name == "arith.cmpi":
        return op.attrs.get("predicate") not in (SLT, SLE)
    return any(starts_late(operand) for operand in op.operands)


def from_launch(value: Value) -> bool:
    """Is the value made of more than constants and ranges?"""
    op = value.op
    if op is None or not op.operands:
        return op is None or op.name not in ("arith.constant", "tt.make_range")
    return any(from_launch(operand) for operand in op.operands)


def _parse(value: Value, depth: int) -> _State | None:
    if depth > 200:
        return None
    if not value.type.shape:
        return _SCALAR if value.type.dtype[0] == "i" else None
    op = value.op
    if op is None:
        init = loop_init(value)
        return _parse(init, depth + 1) if init is not None else None
    rule = _RULES.get(op.name)
    return rule(op, depth + 1) if rule is not None else None


def loop_init(value: Value) -> Value | None:
    """What a loop's carried value starts as, for one of its block arguments."""
    block = value.block
    parent = block.parent if block is not None else None
    if parent is None:
        return None
    if parent.name == "scf.for" and value.index > 0:
        return parent.operands[value.index + 2]
    if parent.name == "scf.while" and block is parent.body(0):
        return parent.operands[value.index]
    return None


def _constant(op: Operation, depth: int) -> _State | None:
    if op.result.type.dtype == "i1":
        return _State("mask")
    return _SCALAR if isinstance(op.attrs.get("value"), int) else None


def _range(op: Operation, depth: int) -> _State | None:
    return _State("range", along=frozenset({0}))


def _pass(op: Operation, depth: int) -> _State | None:
    return _parse(op.operands[0], depth)


def _splat(op: Operation, depth: int) -> _State | None:
    if (
        op.operands[0].type.dtype == "i1"
        and op.result.uses
        and all(_uses_as_mask(user, index) for user, index in op.result.uses)
    ):
        return _State("mask", frozenset(range(len(op.result.type.shape))))
    return _parse(op.operands[0], depth)


def _uses_as_mask(user: Operation, index: int) -> bool:
    if user.name == "arith.andi":
        return True
    position = {"arith.select": 0, "tt.load": 1, "tt.store": 2}.get(user.name)
    return position == index


def _expand(op: Operation, depth: int) -> _State | None:
    state = _parse(op.operands[0], depth)
    axis = op.attrs.get("axis", 0)
    if state is None or not isinstance(axis, int):
        return None
    bounded, along = (
        frozenset(d + (d >= axis) for d in dims) for dims in (state.bounded, state.along)
    )
    return _State(state.kind, bounded, along)


def _add(op: Operation, depth: int) -> _State | None:
    a, b = (_parse(v, depth) for v in op.operands)
    if a is None or b is None or (a.kind == "scalar") == (b.kind == "scalar"):
        return None
    return b if a.kind == "scalar" else a


def _and(op: Operation, depth: int) -> _State | None:
    a, b = (_parse(v, depth) for v in op.operands)
    if a is None or b is None or a.kind != "mask" or b.kind != "mask":
        return None
    return _State("mask", a.bounded | b.bounded)


def _compare(op: Operation, depth: int) -> _State | None:
    if op.attrs.get("predicate") not in (SLT, SLE, SGE, EQ):
        return None
    a, b = (_parse(v, depth) for v in op.operands)
    if a is None or b is None or a.kind == "scalar" or b.kind != "scalar":
        return None
    wide = [d for d, size in enumerate(op.operands[0].type.shape) if size != 1]
    if len(wide) > 1:
        return None
    return _State("mask", a.bounded | (frozenset(wide) or a.along))


_RULES = {
    "arith.constant": _constant,
    "arith.addi": _add,
    "arith.andi": _and,
    "arith.cmpi": _compare,
    "arith.extsi": _pass,
    "tt.make_range": _range,
    "tt.broadcast": _pass,
    "tt.splat": _splat,
    "tt.expand_dims": _expand,
}

"""Common subexpressions that coincide only for some tiles.

Triton's CSE pass merges equal constants and ranges: where BLOCK_M equals BLOCK_N, one
tl.arange serves both. A template is traced where they differ, so the merging is done
here, with the comparisons that decide it noted by the run.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable

from ascend_autotune.analysis.ir import Block, Module, Operation, Value
from ascend_autotune.analysis.parametric.sym import Sym

# Pure operations that read nothing but their operands.
_PURE_PREFIXES = ("arith.", "math.")
_PURE = frozenset(
    {
        "tt.make_range", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.trans",
        "tt.reshape", "tt.get_program_id", "tt.get_num_programs", "tt.bitcast",
    }
)  # fmt: skip

Bucket = tuple[str, tuple[int, ...], Hashable, int]


def spread_constants(module: Module) -> None:
    """Give every use of a constant one of its own, right before the operation that reads it.

    Two numbers that happen to be equal at one point are one constant there, and constants
    stand in no particular order: without this, traces at other points would look like
    other programs. `merge_equal` undoes it.
    """
    for function in module.functions.values():
        for region in function.regions:
            for block in region:
                _spread(block)


def _spread(block: Block) -> None:
    spread: list[Operation] = []
    for op in block.ops:
        if op.name == "arith.constant":
            continue
        for index, value in enumerate(op.operands):
            if value.op is not None and value.op.name == "arith.constant":
                spread.append(_own_constant(value, op, index, block))
        spread.append(op)
        for region in op.regions:
            for inner in region:
                _spread(inner)
    block.ops[:] = spread


def _own_constant(value: Value, user: Operation, index: int, block: Block) -> Operation:
    source = value.op
    assert source is not None
    copy = Operation(source.name, [], [], source.attrs, [], source.location, block, source.order)
    own = Value(value.type, copy)
    own.uses.append((user, index))
    copy.results.append(own)
    user.operands[index] = own
    return copy


def merge_equal(module: Module, idle: Collection[Operation] = ()) -> None:
    """Constants to the top, as the canonicalizer has them; equal operations become one.

    Of the `idle` ones, only those that are equal for every candidate.
    """
    for region in module.kernel.regions:
        if region:
            constants: list[Operation] = []
            for block in region:
                _lift_constants(block, constants)
            for op in constants:
                op.block = region[0]
            region[0].ops[:0] = constants
    for block in module.kernel.regions[0]:
        _merge(block, {}, idle)


def _lift_constants(block: Block, constants: list[Operation]) -> None:
    constants.extend(op for op in block.ops if op.name == "arith.constant")
    block.ops[:] = [op for op in block.ops if op.name != "arith.constant"]
    for op in block.ops:
        for region in op.regions:
            for inner in region:
                _lift_constants(inner, constants)


def _merge(block: Block, known: dict[Bucket, list[Operation]], idle: Collection[Operation]) -> None:
    kept = []
    for op in block.ops:
        twin = _twin(op, known, idle) if is_pure(op) else None
        if twin is None:
            kept.append(op)
            for region in op.regions:
                for inner in region:
                    _merge(inner, {bucket: list(ops) for bucket, ops in known.items()}, idle)
        else:
            _replace(op.result, twin.result)
            for value in op.operands:
                value.uses = [use for use in value.uses if use[0] is not op]
    block.ops[:] = kept


def is_pure(op: Operation) -> bool:
    """Is its result all that it does, and a function of its operands and attributes alone?"""
    return (
        len(op.results) == 1
        and not op.regions
        and (op.name in _PURE or op.name.startswith(_PURE_PREFIXES))
    )


def _twin(
    op: Operation, known: dict[Bucket, list[Operation]], idle: Collection[Operation]
) -> Operation | None:
    """An earlier operation that is equal for the representative; all comparisons are noted.

    Two that are both idle are compared without deciding anything: they are one where that
    holds for every candidate.
    """
    plain = tuple((k, v) for k, v in sorted(op.attrs.items()) if not isinstance(v, int))
    type_ = op.result.type
    bucket = (
        op.name,
        tuple(id(value) for value in op.operands),
        (repr(plain), type_.dtype if type_.pointee is None else "ptr"),
        len(type_.shape),
    )
    others = known.setdefault(bucket, [])
    for other in others:
        same = _always if op in idle or other in idle else _now
        if same(other, op):
            return other
    others.append(op)
    return None


def _now(a: Operation, b: Operation) -> bool:
    one, two = a.result.type.shape, b.result.type.shape
    return all(x == y for x, y in zip(one, two, strict=True)) and all(
        a.attrs.get(name) == value for name, value in b.attrs.items() if isinstance(value, int)
    )


def _always(a: Operation, b: Operation) -> bool:
    """Equal numbers of one law are one object (`sym.Run`); others only happen to be equal."""
    one, two = a.result.type.shape, b.result.type.shape
    return all(_one(x, y) for x, y in zip(one, two, strict=True)) and all(
        _one(a.attrs.get(name), value) for name, value in b.attrs.items() if isinstance(value, int)
    )


def _one(a: object, b: object) -> bool:
    return a is b or (type(a) is type(b) and not isinstance(a, Sym) and a == b)


def _replace(old: Value, new: Value) -> None:
    for user, index in old.uses:
        user.operands[index] = new
        new.uses.append((user, index))
    old.uses = []

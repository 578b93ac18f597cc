"""How an index or pointer moves along each dimension of its tile: one value at a time.

A `Form` gives for each dimension the step from one element to the next (an int, or None
where only the launch knows it) and what else went into it. Each rule here makes the
form of a result from the forms of the operands; `affine.Forms` walks the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ascend_autotune.analysis.ir import Operation, Value

# What bends a value along a dimension, so that one step no longer tells the next.
WRAPPED = 1  # `% n`, `// c`, `& c` or `>> c` of something that varies there
BENT = 2  # any other arithmetic that is not linear there
LOADED = 4  # it was read from memory, element by element

Step = tuple[int | None, int]  # elements from one index to the next (None: runtime), bends
FLAT: Step = (0, 0)


@dataclass(frozen=True, slots=True)
class Form:
    """One value: its `steps`, one per dimension, and what all its elements share.

    `base` is the index of the kernel argument that a pointer starts from (None: not
    a pointer, or not known); `value` the integer that every element is, where constant;
    `loaded` says that a number read from memory went into it.
    """

    steps: tuple[Step, ...] = ()
    base: int | None = None
    value: int | None = None
    loaded: bool = False

    @property
    def uniform(self) -> bool:
        """Every element is the same."""
        return all(step == FLAT for step in self.steps)

    @property
    def bends(self) -> int:
        found = 0
        for _, bend in self.steps:
            found |= bend
        return found


SCALAR = Form()
_LOADED_SCALAR = Form(loaded=True)
_SCALARS: tuple[Form, ...] = (SCALAR, _LOADED_SCALAR)

_PASS = frozenset(
    {
        "arith.extsi",
        "arith.extui",
        "arith.trunci",
        "arith.index_cast",
        "arith.index_castui",
        "tt.int_to_ptr",
        "tt.ptr_to_int",
    }
)
_WRAPS = frozenset(
    {
        "arith.remsi",
        "arith.remui",
        "arith.divsi",
        "arith.divui",
        "arith.ceildivsi",
        "arith.ceildivui",
        "arith.floordivsi",
        "arith.shrsi",
        "arith.shrui",
        "tt.mod",
    }
)
READS = frozenset(
    {
        "tt.load",
        "tt.atomic_load",
        "tt.atomic_poll",
        "tt.atomic_rmw",
        "tt.atomic_cas",
        "tt.descriptor_load",
        "tt.descriptor_gather",
        "tt.experimental_descriptor_load",
        "tt.experimental_descriptor_gather",
        "tt.indirect_load",
        "tt.gather_out_to_ub",
        "tt.index_select_simd",
        "tt.embedding_gather",
    }
)
# Their results differ along a dimension even where their operands do not.
_MIXES = frozenset({"tt.scan", "tt.cat", "tt.join", "tt.histogram", "tt.sort"})


def of_argument(value: Value) -> Form:
    pointer = value.type.is_pointer or value.type.pointee is not None
    if value.type.is_block_pointer and value.type.pointee is not None:
        # A descriptor that the host made: rows of unknown stride, the last one dense.
        rank = len(value.type.pointee.shape)
        return Form(((None, 0),) * (rank - 1) + ((1, 0),), base=value.index)
    return Form(base=value.index if pointer else None)


def forget_value(form: Form) -> Form:
    return form if form.value is None else Form(form.steps, form.base, None, form.loaded)


def join(a: Form, b: Form) -> Form:
    """What holds for a value that is either of two."""
    if a == b:
        return a
    if len(a.steps) != len(b.steps):
        steps: tuple[Step, ...] = tuple((None, BENT) for _ in a.steps)
    else:
        steps = tuple(
            x if x == y else (None, x[1] | y[1]) for x, y in zip(a.steps, b.steps, strict=True)
        )
    return Form(
        steps,
        a.base if a.base == b.base else None,
        a.value if a.value == b.value else None,
        a.loaded or b.loaded,
    )


def _rank(value: Value) -> tuple[int, ...]:
    pointee = value.type.pointee
    return pointee.shape if value.type.is_block_pointer and pointee else value.type.shape


def bent(value: Value) -> Form:
    return Form(tuple(FLAT if n == 1 else (None, BENT) for n in _rank(value)))


def of_read(value: Value, operands: list[Form]) -> Form:
    """A loaded tile: the same along a dimension along which its pointer stands still."""
    shape = value.type.shape
    if not shape:
        return _LOADED_SCALAR
    pointer = operands[0].steps if operands else ()
    if len(pointer) != len(shape):
        pointer = ((None, BENT),) * len(shape)
    steps = tuple(
        FLAT if n == 1 or step == FLAT else (None, LOADED)
        for n, step in zip(shape, pointer, strict=True)
    )
    return Form(steps, loaded=True)


def _scalar(op: Operation, operands: list[Form]) -> Form:
    name = op.name
    if name == "arith.constant":
        value = op.attrs.get("value")
        return Form(value=int(value)) if isinstance(value, int) else SCALAR
    loaded = any(form.loaded for form in operands)
    if name in ("tt.addptr", "tt.bitcast"):
        return Form(base=operands[0].base, loaded=loaded)
    if name == "arith.select":
        return Form(base=join(operands[1], operands[2]).base, loaded=loaded)
    if name in _PASS:
        return operands[0]
    return _SCALARS[loaded]


def _elementwise(value: Value, operands: list[Form]) -> Form:
    """Any other operation: what stands still in all operands stands still in the result."""
    shape = value.type.shape
    loaded = any(form.loaded for form in operands)
    aligned = all(len(form.steps) == len(shape) for form in operands)
    if not aligned or not operands or value.op is None or value.op.name in _MIXES:
        bend = BENT
        for form in operands:
            bend |= form.bends
        return Form(tuple(FLAT if n == 1 else (None, bend) for n in shape), loaded=loaded)
    return Form(_bend(operands, BENT), loaded=loaded)


def _bend(forms: Sequence[Form], how: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    for column in zip(*(form.steps for form in forms), strict=True):
        bend = 0
        for step in column:
            if step != FLAT:
                bend |= step[1] | how
        steps.append((None, bend) if bend else FLAT)
    return tuple(steps)


# -- one rule per operation: None means "treat it as any elementwise operation" ----------


def _constant(op: Operation, operands: list[Form]) -> Form | None:
    value = op.attrs.get("value")
    if isinstance(value, (int, float)):
        number = int(value) if isinstance(value, int) else None
        return Form((FLAT,) * len(op.result.type.shape), value=number)
    return None


def _range(op: Operation, operands: list[Form]) -> Form:
    return Form((FLAT if op.result.type.shape == (1,) else (1, 0),))


def _same(op: Operation, operands: list[Form]) -> Form:
    return operands[0]


def _splat(op: Operation, operands: list[Form]) -> Form:
    form = operands[0]
    return Form((FLAT,) * len(op.result.type.shape), form.base, form.value, form.loaded)


def _broadcast(op: Operation, operands: list[Form]) -> Form:
    return operands[0]  # dimensions of size 1 stand still already


def _expand(op: Operation, operands: list[Form]) -> Form:
    form, axis = operands[0], op.attrs.get("axis", 0)
    at = axis if isinstance(axis, int) else 0
    steps = form.steps
    return Form((*steps[:at], FLAT, *steps[at:]), form.base, form.value, form.loaded)


def _transpose(op: Operation, operands: list[Form]) -> Form:
    form = operands[0]
    order = op.attrs.get("order")
    if not isinstance(order, tuple) or len(order) != len(form.steps):
        order = tuple(reversed(range(len(form.steps))))  # tl.trans of Triton 2: two dims
    return Form(tuple(form.steps[i] for i in order), form.base, form.value, form.loaded)


def _bitcast(op: Operation, operands: list[Form]) -> Form:
    form = operands[0]
    before, after = op.operands[0].type, op.result.type
    bytewise = {before.dtype, after.dtype} == {"ptr<i1>", "ptr<i8>"}
    if before.is_pointer and before.dtype != after.dtype and not bytewise:
        # Steps count elements, and the element's width changed (a bool is a byte).
        steps = tuple(step if step == FLAT else (None, step[1]) for step in form.steps)
        return Form(steps, form.base, None, form.loaded)
    return form


def _add(op: Operation, operands: list[Form]) -> Form:
    a, b = operands
    minus = op.name == "arith.subi"
    steps = tuple(
        x
        if y == FLAT
        else (
            None if x[0] is None or y[0] is None else x[0] - y[0] if minus else x[0] + y[0],
            x[1] | y[1],
        )
        for x, y in zip(a.steps, b.steps, strict=True)
    )
    value = None
    if a.value is not None and b.value is not None:
        value = a.value - b.value if minus else a.value + b.value
    return Form(steps, a.base, value, a.loaded or b.loaded)


def _multiply(op: Operation, operands: list[Form]) -> Form:
    a, b = operands
    loaded = a.loaded or b.loaded
    if a.uniform:
        a, b = b, a
    if not b.uniform:
        return Form(_bend(operands, BENT), loaded=loaded)
    factor = b.value
    if op.name == "arith.shli":
        if operands[1] is not b:
            return Form(_bend(operands, BENT), loaded=loaded)
        factor = None if factor is None else 1 << factor
    steps = tuple(
        step
        if step == FLAT
        else FLAT
        if factor == 0
        else (None if step[0] is None or factor is None else step[0] * factor, step[1])
        for step in a.steps
    )
    value = None if a.value is None or factor is None else a.value * factor
    return Form(steps, None, value, loaded)


def _wrap(op: Operation, operands: list[Form]) -> Form:
    return Form(_bend(operands, WRAPPED), loaded=any(form.loaded for form in operands))


def _and(op: Operation, operands: list[Form]) -> Form | None:
    return None if op.result.type.dtype == "i1" else _wrap(op, operands)


def _select(op: Operation, operands: list[Form]) -> Form | None:
    condition, a, b = operands
    if not condition.uniform or len(a.steps) != len(b.steps):
        return None
    form = forget_value(join(a, b))
    return Form(form.steps, form.base, None, form.loaded or condition.loaded)


def _descriptor(op: Operation, operands: list[Form]) -> Form:
    """`make_tensor_ptr` and `make_tensor_descriptor`: base, shape, strides (, offsets)."""
    shape = _rank(op.result)
    rank = len(shape)
    strides = operands[1 + rank : 1 + 2 * rank]
    steps: list[Step] = [
        FLAT if n == 1 else (form.value, 0) for n, form in zip(shape, strides, strict=True)
    ]
    if op.name == "tt.make_tensor_descriptor" and shape[-1] != 1:
        steps[-1] = (1, 0)  # by the contract of tl.make_tensor_descriptor
    return Form(tuple(steps), operands[0].base, loaded=any(f.loaded for f in operands))


def _advance(op: Operation, operands: list[Form]) -> Form:
    form = operands[0]
    return Form(form.steps, form.base, None, any(f.loaded for f in operands))


def _reduce(op: Operation, operands: list[Form]) -> Form | None:
    axis = op.attrs.get("axis", 0)
    if not isinstance(axis, int) or not op.result.type.shape:
        return None
    steps = list(_bend(operands, BENT))
    del steps[axis]
    return Form(tuple(steps), loaded=any(form.loaded for form in operands))


def _split(op: Operation, operands: list[Form]) -> Form:
    form = operands[0]
    return Form(form.steps[:-1], form.base, form.value, form.loaded)


def _reshape(op: Operation, operands: list[Form]) -> Form | None:
    form = operands[0]
    steps = reshape_steps(op.operands[0].type.shape, form.steps, op.result.type.shape)
    return None if steps is None else Form(steps, form.base, form.value, form.loaded)


def reshape_steps(
    source: tuple[int, ...], steps: tuple[Step, ...], target: tuple[int, ...]
) -> tuple[Step, ...] | None:
    """Steps after a row-major reshape: dimensions that split, join or stay; else bent.

    None when the two shapes hold different numbers of elements.
    """
    if math.prod(source) != math.prod(target) or len(source) != len(steps):
        return None
    old = [(n, s) for n, s in zip(source, steps, strict=True) if n != 1]
    new = [(i, n) for i, n in enumerate(target) if n != 1]
    result: list[Step] = [FLAT] * len(target)
    while old and new:
        group, places = [old.pop()], [new.pop()]
        while (a := math.prod(n for n, _ in group)) != (b := math.prod(n for _, n in places)):
            if a < b:
                group.append(old.pop())
            else:
                places.append(new.pop())
        inner = _one_step(group)
        if len(places) == 1 or inner == FLAT:
            for place, _ in places:
                result[place] = inner
            continue
        scale = 1
        for place, n in places:
            known = None if inner[0] is None else inner[0] * scale
            result[place] = (known, inner[1])
            scale *= n
    return tuple(result)


def _one_step(group: list[tuple[int, Step]]) -> Step:
    """The single step that walks all of `group` (innermost first), or a bent one."""
    inner = group[0][1]
    bend, size = inner[1], group[0][0]
    straight = True
    for n, step in group[1:]:
        bend |= step[1]
        straight = straight and inner[0] is not None and step[0] == inner[0] * size
        size *= n
    return (inner[0], bend) if straight else (None, bend | BENT)


_RULES: Mapping[str, Callable[[Operation, list[Form]], Form | None]] = {
    "arith.constant": _constant,
    "tt.make_range": _range,
    "tt.splat": _splat,
    "tensor.splat": _splat,
    "tt.broadcast": _broadcast,
    "tt.expand_dims": _expand,
    "tt.trans": _transpose,
    "tt.reshape": _reshape,
    "tt.bitcast": _bitcast,
    "arith.bitcast": _same,
    "arith.addi": _add,
    "arith.subi": _add,
    "tt.addptr": _add,
    "arith.muli": _multiply,
    "arith.shli": _multiply,
    "arith.andi": _and,
    "arith.select": _select,
    "tt.reduce": _reduce,
    "tt.split": _split,
    "tt.make_tensor_ptr": _descriptor,
    "tt.make_tensor_descriptor": _descriptor,
    "tt.advance": _advance,
    **dict.fromkeys(_PASS, _same),
    **dict.fromkeys(_WRAPS, _wrap),
}


def of_result(value: Value, op: Operation, operands: list[Form]) -> Form:
    """The form of an operation's result, from those of its operands."""
    if not value.type.shape and not value.type.is_block_pointer:
        return _scalar(op, operands)
    rule = _RULES.get(op.name)
    form = rule(op, operands) if rule is not None else None
    return form if form is not None else _elementwise(value, operands)

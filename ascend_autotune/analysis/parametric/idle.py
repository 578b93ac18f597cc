"""Operations that only say where to read and write, and so take no memory themselves.

Whether two of them are one, for the tiles at which they happen to be equal, changes no
plan: such tiles need no plan of their own.
"""

from __future__ import annotations

from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Module, Operation, Value
from ascend_autotune.analysis.parametric.cse import is_pure
from ascend_autotune.analysis.plan.cube import DOTS, plan_cube
from ascend_autotune.analysis.plan.demand import demanded


def idle(module: Module) -> set[Operation]:
    """The pure operations of the kernel from which no value that must be data is made.

    Data is what `demand` says; what leads to data by pure operations alone counts too,
    since operations are equal only where their operands are.
    """
    forms = Forms(module)
    has_dots = any(op.name in DOTS for op in module.kernel.walk())
    cube = plan_cube(module, forms) if has_dots else None
    data = demanded(module.kernel, forms, cube)
    leading: set[Operation] = set()
    stack = [value.op for value in data if value.op is not None and is_pure(value.op)]
    while stack:
        op = stack.pop()
        if op not in leading:
            leading.add(op)
            stack.extend(made for made in map(_maker, op.operands) if made is not None)
    return {op for op in module.kernel.walk() if is_pure(op) and op not in leading}


def _maker(value: Value) -> Operation | None:
    return value.op if value.op is not None and is_pure(value.op) else None

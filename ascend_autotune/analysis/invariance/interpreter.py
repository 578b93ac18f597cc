"""A rule for each operation: the walk through a program as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ascend_autotune.analysis.invariance import (
    accesses,
    control,
    loops,
    mixing,
    numbers,
    shapes,
)
from ascend_autotune.analysis.invariance.places import Index
from ascend_autotune.analysis.invariance.twins import Twins
from ascend_autotune.analysis.invariance.walk import UNKNOWN, Walk
from ascend_autotune.analysis.ir import Operation

_BY_RULE: Mapping[Callable[[Walk, Operation], None], tuple[str, ...]] = {
    numbers.constant: ("arith.constant",),
    numbers.make_range: ("tt.make_range",),
    numbers.program_id: ("tt.get_program_id", "tt.get_num_programs"),
    numbers.arithmetic: ("arith.addi", "arith.subi", "arith.muli", "arith.shli", "tt.addptr"),
    numbers.compare: ("arith.cmpi",),
    numbers.select: ("arith.select",),
    shapes.shaped: (
        "tt.splat", "tensor.splat", "tt.broadcast", "tt.expand_dims", "tt.trans", "tt.reshape",
        "arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui",
        "tt.bitcast", "arith.bitcast", "tt.int_to_ptr", "tt.ptr_to_int",
    ),
    accesses.pointer: ("tt.make_tensor_ptr", "tt.make_tensor_descriptor"),
    accesses.advance: ("tt.advance",),
    accesses.load: ("tt.load", "tt.descriptor_load", "tt.experimental_descriptor_load"),
    accesses.store: (
        "tt.store", "tt.descriptor_store", "tt.experimental_descriptor_store", "tt.atomic_store",
        *accesses.UPDATES,
    ),
    mixing.mix: ("tt.reduce", "tt.scan", "tt.sort", "tt.gather", "tt.flip", "tt.histogram"),
    mixing.dot: ("tt.dot", "tt.dot_scaled"),
    loops.loop: ("scf.for",),
    control.branch: ("scf.if",),
    control.repeat: ("scf.while",),
    control.nothing: (
        "scf.yield", "scf.condition", "tt.return", "cf.br", "cf.cond_br", "tt.reduce.return",
        "tt.scan.return",
    ),
    control.unknown_region: (UNKNOWN,),
}  # fmt: skip
RULES: Mapping[str, Callable[[Walk, Operation], None]] = MappingProxyType(
    {name: rule for rule, names in _BY_RULE.items() for name in names}
)


def walked(twins: Twins, name: str) -> tuple[Walk, Index]:
    """The kernel walked with parameter `name` as a symbol: what its stores show, and of what."""
    index = Index(name)
    orders = {op: i for i, op in enumerate(twins.module.walk())}
    for _ in range(2):  # which atoms count blocks is known after the first
        walk = Walk(twins, index, orders, RULES)
        walk.run(twins.module)
    return walk, index

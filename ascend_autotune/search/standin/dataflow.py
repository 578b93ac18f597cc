"""Which values of a program are data, and not only addresses and masks.

The compiler makes strides and bounds of addresses and masks that are regular: they cost the
vector unit nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from ascend_autotune.analysis.affine import callee_of
from ascend_autotune.analysis.ir import Block, Module, Operation, Value

# Operands that hold data; the rest are addresses, masks and offsets.
_DATA = {
    "tt.store": (1,),
    "tt.atomic_rmw": (1,),
    "tt.atomic_cas": (1, 2),
    "tt.descriptor_store": (1,),
    "tt.experimental_descriptor_store": (1,),
}
_ENDS = frozenset({"scf.yield", "scf.condition", "tt.return", "tt.reduce.return", "tt.scan.return"})
_QUIET = frozenset({"tt.func", "scf.for", "scf.if", "scf.while", "tt.call"})


class Data:
    """The values of a module that are data, marked from what it stores backwards."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._marked: set[Value] = set()
        self._todo: list[Value] = []
        for op in module.walk():
            if op.name in _DATA:
                self._mark(op.operands[i] for i in _DATA[op.name] if i < len(op.operands))
            elif not op.results and op.name not in _QUIET and op.name not in _ENDS:
                self._mark(op.operands)  # prints, asserts, scatters: all of it
        while self._todo:
            self._follow(self._todo.pop())

    def __contains__(self, value: Value) -> bool:
        return value in self._marked

    def _mark(self, values: Iterable[Value]) -> None:
        for value in values:
            if value not in self._marked:
                self._marked.add(value)
                self._todo.append(value)

    def _follow(self, value: Value) -> None:
        op = value.op
        if op is None:
            self._argument(value)
        elif op.name == "tt.load":
            self._mark(v for v in op.operands[1:] if v.type.dtype != "i1")
        elif op.name == "tt.call":
            self._mark(op.operands)
            function = self._module.functions.get(callee_of(op))
            self._ends(function.regions[0] if function else [], value.index)
        elif op.name == "scf.for":
            self._mark([op.operands[3 + value.index]])
            self._ends(op.regions[0], value.index)
        elif op.name == "scf.while":
            self._ends(op.regions[0], value.index + 1)  # scf.condition: the flag comes first
        elif op.name == "scf.if":
            for blocks in op.regions:
                self._ends(blocks, value.index)
        else:
            self._mark(op.operands)

    def _argument(self, value: Value) -> None:
        parent: Operation | None = value.block.parent if value.block else None
        if parent is None or value.block is None:
            return
        if parent.name == "scf.for" and value.index > 0:
            self._mark([parent.operands[2 + value.index]])
            self._ends(parent.regions[0], value.index - 1)
        elif parent.name == "scf.while" and value.block is parent.body(1):
            self._ends(parent.regions[0], value.index + 1)
        elif parent.name == "scf.while" and value.index < len(parent.operands):
            self._mark([parent.operands[value.index]])
            self._ends(parent.regions[1], value.index)

    def _ends(self, blocks: list[Block], index: int) -> None:
        for block in blocks:
            if block.ops and index < len(block.ops[-1].operands):
                self._mark([block.ops[-1].operands[index]])

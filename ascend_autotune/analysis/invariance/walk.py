"""The state of a walk through a program, and what every rule asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ascend_autotune.analysis.invariance.facts import BlockPointer, Fact, Mark, joined, plain
from ascend_autotune.analysis.invariance.places import Index, Role, bound_of, read
from ascend_autotune.analysis.invariance.polynomial import Atom, Poly, single
from ascend_autotune.analysis.invariance.twins import Twins
from ascend_autotune.analysis.ir import Block, Module, Operation, Value

UNKNOWN = "an operation with regions"
"""The rule for an operation with regions that has no rule of its own."""


class Walk:
    """One pass over the kernel: `env` holds a fact for each value, `marks` what stores show.

    `rules` has for the name of an operation what is to be noted of its results.
    """

    def __init__(
        self,
        twins: Twins,
        index: Index,
        orders: dict[Operation, int],
        rules: Mapping[str, Callable[[Walk, Operation], None]],
    ) -> None:
        self.rules = rules
        self.twins, self.index, self.orders = twins, index, orders
        self.env: dict[Value, Fact] = {}
        self.marks: list[Mark] = []
        self.loops: list[int] = []
        self.stored = 0
        self._position: dict[tuple[Operation, int], int] = {}

    def run(self, module: Module) -> None:
        kernel = module.kernel
        for value in kernel.body().args:
            self.env[value] = self._argument(value)
        for block in kernel.regions[0]:
            for value in block.args:
                self.env.setdefault(value, plain(len(value.type.shape)))
            self.block(block)

    def _argument(self, value: Value) -> Fact:
        fact = plain(len(value.type.shape))
        if value.type.is_block_pointer and value.type.pointee is not None:  # a descriptor
            return fact
        if value.type.dtype.startswith(("i", "ptr")):
            return replace(fact, poly=single(Atom("argument", value.index)))
        return fact

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.operation(op)

    def fact(self, value: Value) -> Fact:
        return self.env.get(value) or plain(len(value.type.shape))

    def data(self, value: Value, op: Operation, role: Role = "value") -> Fact:
        """The value with its index arithmetic read into blocks and marks."""
        fact = self.fact(value)
        if fact.pointer is not None:
            return replace(self._addressed(fact.pointer, value, op, role), pointer=None)
        if fact.poly is None:
            return fact
        return read(fact.poly, fact.rank, op, role, self.index)

    def poly(self, value: Value, op: Operation) -> Poly:
        """Its index arithmetic; a new atom where it has none."""
        fact = self.fact(value)
        if fact.poly is not None:
            return fact.poly
        atom = Atom("op", self.identity(op, 1000 + op.operands.index(value)))
        self.index.facts[atom] = replace(fact, poly=None, pointer=None)
        return single(atom)

    def identity(self, op: Operation, part: int = 0) -> int:
        return self._position.setdefault((op, part), self.orders[op] * 4096 + part)

    def opaque(self, op: Operation, value: Value, facts: Sequence[Fact]) -> Fact:
        """A number that is not taken apart."""
        rank = len(value.type.shape)
        fact = joined(facts, rank)
        atom = Atom("op", self.identity(op, value.index))
        self.index.facts[atom] = fact
        return replace(plain(rank), poly=single(atom), deps=fact.deps)

    def position(self, op: Operation, part: int, dim: int, varies: bool) -> Atom:
        atom = Atom("range", self.identity(op, 100 + part), dim)
        self.index.makers[atom.key] = op
        if varies:
            self.index.blocks.add(atom.key)
        return atom

    def operation(self, op: Operation) -> None:
        name = op.name
        rule = self.rules.get(name)
        if rule is not None:
            rule(self, op)
        elif op.regions and op.results:
            self.rules[UNKNOWN](self, op)
        else:
            self.plain_operation(op)

    def plain_operation(self, op: Operation) -> None:
        for value in op.results:
            if not op.operands:
                self.env[value] = plain(len(value.type.shape))
                continue
            whole = value.type.dtype.startswith("i") or value.type.is_pointer
            polys = [self.fact(v).poly is not None for v in op.operands]
            if whole and value.type.dtype != "i1" and any(polys):
                role: Role = "inner"
                self.env[value] = self.opaque(
                    op, value, [self.data(v, op, role) for v in op.operands]
                )
            else:
                role = "inner" if value.type.dtype == "i1" else "value"
                facts = [self.data(v, op, role) for v in op.operands]
                self.env[value] = joined(facts, len(value.type.shape))

    def mark(self, value: Value, mark: Mark) -> None:
        fact = self.env[value]
        self.env[value] = replace(fact, marks=fact.marks | {mark})

    def _addressed(self, p: BlockPointer, value: Value, op: Operation, role: Role) -> Fact:
        total, rank = p.base, len(p.shape)
        offsets = p.offsets
        if op.name.startswith(("tt.descriptor_", "tt.experimental_descriptor_")):
            given = [v for v in op.operands[1:] if v.type.dtype == "i32" and not v.type.shape]
            offsets = tuple(self.poly(v, op) for v in given) or offsets
        for d in range(rank):
            position = single(Atom("range", p.made + 100 + d, d)) + offsets[d]
            bound_of(position, p.shape[d], self.index)
            total = total + position * p.strides[d]
        return read(total, rank, op, role, self.index)

"""One program for many tiles: traces at different values, folded into laws of the parameters.

Where traces at several points differ in nothing but integers, each integer follows a law
in the parameters; `Template.instantiate` gives the program of a whole set of candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from ascend_autotune.analysis.ir import Block, Module, Operation, Type, Value
from ascend_autotune.analysis.parametric.cse import merge_equal, spread_constants
from ascend_autotune.analysis.parametric.idle import idle
from ascend_autotune.analysis.parametric.laws import Law, Point, fit
from ascend_autotune.analysis.parametric.sym import Mask, Run, Vector

# Integer attributes that the model reads; any other one may vary as it likes.
_READ = frozenset({"value", "start", "end", "axis", "predicate"})


@dataclass(frozen=True)
class Template:
    """The program at the origin, with a law for each integer that varies.

    `shapes`: per value (numbered in program order) the laws of its dimensions; `attributes`:
    per operation, of its integer attributes (None: no law, of a number that places nothing).
    """

    module: Module
    origin: Point
    shapes: Mapping[int, tuple[Law, ...]]
    attributes: Mapping[int, Mapping[str, Law | None]]

    def largest(self, columns: Sequence[Vector]) -> Vector:
        """Elements of the largest tensor of the program, for each candidate."""
        best = np.zeros_like(columns[0])
        seen: set[tuple[Law, ...]] = set()
        for laws in self.shapes.values():
            if laws not in seen:
                seen.add(laws)
                count = np.ones_like(columns[0])
                for law in laws:
                    count = count * law.at(columns, self.origin)
                np.maximum(best, count, out=best)
        return best

    def applies(self, columns: Sequence[Vector]) -> Mask:
        """The candidates whose program this is: a loop of at most one round is folded away."""
        good = np.ones(len(columns[0]), dtype=bool)
        integers = self._constants()
        for op in self.module.walk():
            if op.name == "scf.for" and all(v in integers for v in op.operands[:3]):
                start, end, step = (integers[v].at(columns, self.origin) for v in op.operands[:3])
                good &= end - start > step
        return good

    def _constants(self) -> dict[Value, Law]:
        """The scalar constants whose value is known at every point."""
        found: dict[Value, Law] = {}
        for index, op in enumerate(_flat(self.module)):
            value = op.attrs.get("value")
            if op.name != "arith.constant" or not isinstance(value, int):
                continue
            law = self.attributes.get(index, {}).get("value", Law(value, (0,) * len(self.origin)))
            if law is not None:
                found[op.result] = law
        return found

    def moving(self) -> set[int]:
        """The parameters that change the program at all; the others merge candidates."""
        laws = [law for shape in self.shapes.values() for law in shape]
        known = [law for attrs in self.attributes.values() for law in attrs.values()]
        if any(law is None for law in known):
            return set(range(len(self.origin)))
        laws += [law for law in known if law is not None]
        return {i for law in laws for i, exponent in enumerate(law.exponents) if exponent}

    def instantiate(self, run: Run, columns: Sequence[Vector]) -> Module:
        """The program for the run's candidates: `columns` has one vector per parameter.

        What Triton's CSE would make one is one.
        """
        copy = _Copy(self, run, columns)
        module = copy.module()
        merge_equal(module, copy.idle)
        return module

    @cached_property
    def idle(self) -> set[Operation]:
        """Operations of `module` that take no memory and lead to nothing that does."""
        return idle(self.module)


def fold(modules: Sequence[Module], points: Sequence[Point]) -> Template | None:
    """The template of several traces, or None where they are not the same program.

    The modules are changed: each use of a constant gets its own (`cse.spread_constants`).
    """
    for module in modules:
        spread_constants(module)
    if len({tuple(module.functions) for module in modules}) != 1:
        return None
    walks = [list(_flat(module)) for module in modules]
    if len({len(walk) for walk in walks}) != 1:
        return None
    numbers = [_number(module) for module in modules]
    law = cache(lambda numbers: fit(numbers, points))
    shapes: dict[int, tuple[Law, ...]] = {}
    attributes: dict[int, dict[str, Law | None]] = {}
    for index, ops in enumerate(zip(*walks, strict=True)):
        if not _alike(ops, numbers):
            return None
        found = _attribute_laws(ops, points)
        if found is None or (None in found.values() and _places(ops[0])):
            return None
        if found:
            attributes[index] = found
        for values in zip(*(_made(op) for op in ops), strict=True):
            laws = [
                law(tuple(value.type.shape[d] for value in values))
                for d in range(len(values[0].type.shape))
            ]
            if any(law is None for law in laws):
                return None
            if any(any(law.exponents) for law in laws if law is not None):
                shapes[numbers[0][values[0]]] = tuple(law for law in laws if law is not None)
    return Template(modules[0], points[0], shapes, attributes)


def _places(op: Operation) -> bool:
    """Does a number that this operation brings reach an address or a mask?

    Then what is not known of it is not known of the copies. As a loop's bound or a value that
    is stored it says nothing of memory.
    """
    if op.name != "arith.constant":
        return True
    rest, seen = [op], {op}
    while rest:
        for user, index in rest.pop().result.uses:
            if (user.name == "scf.for" and index < 3) or (user.name == "tt.store" and index == 1):
                continue
            compared = user.name == "arith.cmpi" and bool(user.operands[0].type.shape)
            if compared or len(user.results) != 1 or user.name.split(".")[0] == "scf":
                return True
            if user.name == "tt.addptr" or user.result.type.pointee is not None:
                return True
            if user.result.type.dtype[0] == "i" and user not in seen:
                seen.add(user)
                rest.append(user)
    return False


def _flat(module: Module) -> Iterator[Operation]:
    for function in module.functions.values():
        yield from function.walk()


def _made(op: Operation) -> list[Value]:
    """The values that an operation brings: its results and its blocks' arguments."""
    arguments = [arg for region in op.regions for block in region for arg in block.args]
    return [*op.results, *arguments]


def _number(module: Module) -> dict[Value, int]:
    found: dict[Value, int] = {}
    for op in _flat(module):
        for value in _made(op):
            found[value] = len(found)
    return found


def _alike(ops: Sequence[Operation], numbers: Sequence[Mapping[Value, int]]) -> bool:
    first = ops[0]
    wiring = [numbers[0][value] for value in first.operands]
    for op, known in zip(ops[1:], numbers[1:], strict=True):
        if (
            op.successors
            or op.name != first.name
            or [known[value] for value in op.operands] != wiring
        ):
            return False
        if [len(region) for region in op.regions] != [len(region) for region in first.regions]:
            return False
        made, mine = _made(op), _made(first)
        if len(made) != len(mine):
            return False
        for a, b in zip(made, mine, strict=True):
            if len(a.type.shape) != len(b.type.shape) or _kind(a.type) != _kind(b.type):
                return False
    return True


def _kind(type_: Type) -> object:
    pointee = type_.pointee
    return type_.dtype if pointee is None else ("ptr", len(pointee.shape), pointee.dtype)


def _attribute_laws(
    ops: Sequence[Operation], points: Sequence[Point]
) -> dict[str, Law | None] | None:
    """Laws of the integer attributes that vary; None where anything else differs."""
    found: dict[str, Law | None] = {}
    names = set(ops[0].attrs)
    for op in ops[1:]:
        if set(op.attrs) != names:
            return None
    for name in names & _READ:
        values = [op.attrs[name] for op in ops]
        if all(value == values[0] for value in values[1:]):
            continue
        if not all(isinstance(value, int) for value in values):
            return None
        found[name] = fit([value for value in values if isinstance(value, int)], points)
    return found


class _Copy:
    """A copy of a template's program whose varying integers are the run's."""

    def __init__(self, template: Template, run: Run, columns: Sequence[Vector]) -> None:
        self.template, self.run, self.columns = template, run, columns
        self._laws: dict[Law, int] = {}
        self._seen: dict[int, int] = {}  # by the id of a law, which the template keeps alive
        self._values: dict[Value, Value] = {}
        self._made = 0
        self._index = 0
        self._source_idle = template.idle
        self.idle: set[Operation] = set()

    def module(self) -> Module:
        source = self.template.module
        functions = {
            name: self._operation(function, None) for name, function in source.functions.items()
        }
        names = {id(function): name for name, function in source.functions.items()}
        return Module(functions[names[id(source.kernel)]], functions)

    def _integer(self, law: Law) -> int:
        found = self._seen.get(id(law))
        if found is None:
            found = self._seen[id(law)] = self._of_law(law)
        return found

    def _of_law(self, law: Law) -> int:
        """The run's integer: equal laws give one object."""
        known = self._laws.get(law)
        if known is None:
            if any(law.exponents):
                known = self.run.variable(law.at(self.columns, self.template.origin))
            else:
                known = law.base
            self._laws[law] = known
        return known

    def _value(self, value: Value) -> Value:
        laws = self.template.shapes.get(self._made)
        self._made += 1
        type_ = value.type
        if laws is not None:
            shape = tuple(self._integer(law) for law in laws)
            type_ = Type(shape, type_.dtype, type_.pointee)
        copy = Value(type_, None, value.index)
        self._values[value] = copy
        return copy

    def _operation(self, op: Operation, block: Block | None) -> Operation:
        laws = self.template.attributes.get(self._index, {})
        self._index += 1
        attrs = op.attrs
        if laws:
            changed = {name: law and self._integer(law) for name, law in laws.items()}
            attrs = {**op.attrs, **changed}
        operands = [self._values[value] for value in op.operands]
        copy = Operation(op.name, operands, [], attrs, [], op.location, block, op.order)
        if op in self._source_idle:
            self.idle.add(copy)
        for index, value in enumerate(operands):
            value.uses.append((copy, index))
        for result in op.results:
            made = self._value(result)
            made.op = copy
            copy.results.append(made)
        # Arguments of all blocks come first: a branch may name a later block's.
        for number, region in enumerate(op.regions):
            blocks = []
            for source in region:
                inner = Block([], [], copy, number)
                for arg in source.args:
                    made = self._value(arg)
                    made.block = inner
                    inner.args.append(made)
                blocks.append(inner)
            copy.regions.append(blocks)
        for region, blocks in zip(op.regions, copy.regions, strict=True):
            for source, inner in zip(region, blocks, strict=True):
                for child in source.ops:
                    inner.ops.append(self._operation(child, inner))
        return copy

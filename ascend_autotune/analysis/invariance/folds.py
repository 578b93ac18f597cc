"""What a loop does to the values that it carries: folds them, or something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from ascend_autotune.analysis.ir import Operation, Value

Fold = Literal["add", "mul", "max", "min", "and", "or", "xor", "choice", "same", "replaced"]
Relation = Fold | None | Literal["other"]

_KINDS: dict[str, Fold] = {
    "arith.addf": "add", "arith.addi": "add", "arith.mulf": "mul", "arith.muli": "mul",
    "arith.maxnumf": "max", "arith.maximumf": "max", "arith.maxsi": "max", "arith.maxui": "max",
    "arith.minnumf": "min", "arith.minimumf": "min", "arith.minsi": "min", "arith.minui": "min",
    "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor",
}  # fmt: skip
_THROUGH = frozenset(
    {
        "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.bitcast",
        "arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci",
        "arith.sitofp", "arith.fptosi", "tt.fp_to_fp", "tensor.splat",
    }
)  # fmt: skip
_EXPONENTIALS = frozenset(
    {"math.exp", "math.exp2", "tt.extern_elementwise", "tt.pure_extern_elementwise"}
)


def fold_of(loop: Operation, index: int) -> Relation:
    """How carried value `index` of an scf.for goes from one iteration to the next.

    A fold by an operation whose order does not matter, "choice" of one of the values seen,
    "same" where nothing happens, "replaced" where the old value is not used, else "other".
    A sum whose old part is rescaled by an exponential of the loop's own state is a sum.
    """
    body = loop.body()
    return _Relations(body.args[1 + index], set(body.args[1:])).of(
        body.ops[-1].operands[index]
    ) or ("replaced")


class _Relations:
    def __init__(self, carried: Value, state: set[Value]) -> None:
        self.carried, self.state = carried, state
        self.memo: dict[Value, Relation] = {}

    def of(self, value: Value) -> Relation:
        """None: it does not depend on the carried value."""
        if value is self.carried:
            return "same"
        if value not in self.memo:
            self.memo[value] = "other"  # while it is looked at
            self.memo[value] = self._made(value)
        return self.memo[value]

    def _made(self, value: Value) -> Relation:
        op = value.op
        if op is None:
            return None
        if op.name == "scf.if":
            return self._alternatives([r[0].ops[-1].operands[value.index] for r in op.regions if r])
        if op.name == "scf.for":
            return self._inner(op, value.index)
        relations = [self.of(operand) for operand in op.operands]
        if all(relation is None for relation in relations):
            return None
        if op.name == "arith.select":
            return self._select(op, relations)
        if op.name in _THROUGH:
            return relations[0]
        if op.name in ("tt.dot", "tt.dot_scaled"):
            return _chain(relations[2], "add") if relations.count(None) >= 2 else "other"
        if op.name == "arith.subf":
            return _chain(relations[0], "add") if relations[1] is None else "other"
        kind = _KINDS.get(op.name)
        if kind is None or len(relations) != 2:
            return "other"
        if None not in relations:
            return kind if relations == ["same", "same"] and kind in ("max", "min") else "other"
        inner = relations[0] if relations[1] is None else relations[1]
        if kind == "mul" and inner in ("same", "add"):
            factor = op.operands[1] if relations[1] is None else op.operands[0]
            if self._rescales(factor):
                return inner
        return _chain(inner, kind)

    def _alternatives(self, values: list[Value]) -> Relation:
        relations = [self.of(value) for value in values]
        kinds = {relation for relation in relations if relation not in (None, "same")}
        if not kinds:
            return "choice" if None in relations else "same"
        if len(kinds) == 1 and None not in relations:
            return kinds.pop()
        return "other"

    def _select(self, op: Operation, relations: list[Relation]) -> Relation:
        del relations
        return self._alternatives(op.operands[1:3])

    def _inner(self, loop: Operation, index: int) -> Relation:
        outer = self.of(loop.operands[3 + index])
        if outer is None:
            return None if not self._reaches(loop) else "other"
        inner = fold_of(loop, index)
        if inner in ("same", "other", "replaced", None):
            return outer if inner == "same" else None if inner == "replaced" else "other"
        return _chain(outer, inner)

    def _reaches(self, loop: Operation) -> bool:
        """Does the loop use the carried value at all?"""
        return any(v is self.carried for op in loop.walk() for v in op.operands)

    def _rescales(self, factor: Value) -> bool:
        """Is it an exponential of a difference of what this loop carries?"""
        return _backward(factor, lambda op: op.name in _EXPONENTIALS) and _backward(
            factor, lambda op: any(v in self.state for v in op.operands)
        )


def _chain(inner: Relation, kind: Relation) -> Relation:
    if inner == "same" or inner == kind:
        return kind
    return "other"


def _backward(value: Value, wanted: Callable[[Operation], bool]) -> bool:
    seen: set[int] = set()
    stack = [value]
    while stack:
        op = stack.pop().op
        if op is None or id(op) in seen:
            continue
        seen.add(id(op))
        if wanted(op):
            return True
        if not op.regions:
            stack.extend(op.operands)
    return False

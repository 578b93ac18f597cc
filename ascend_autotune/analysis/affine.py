"""The forms of a program's values, loops and calls included.

`Forms` gives for a value its `Form`. Addresses and masks (`addressing`) are read off it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from ascend_autotune.analysis.forms import (
    BENT,
    FLAT,
    LOADED,
    READS,
    WRAPPED,
    Form,
    Step,
    bent,
    forget_value,
    join,
    of_argument,
    of_read,
    of_result,
    reshape_steps,
)
from ascend_autotune.analysis.ir import Module, Operation, Value

__all__ = [
    "BENT",
    "FLAT",
    "LOADED",
    "WRAPPED",
    "Form",
    "Forms",
    "Step",
    "callee_of",
    "reshape_steps",
]

_LIMIT = 8  # rounds until a loop-carried value that keeps changing is given up


class Forms:
    """The forms of one module's values; each is worked out once, when first asked for.

    With `module` given, arguments and results of helpers that were not inlined are
    followed through their calls; without it they count as bent.
    """

    def __init__(self, module: Module | None = None) -> None:
        self._known: dict[Value, Form] = {}
        self._functions: Mapping[str, Operation] = module.functions if module else {}
        self._calls: dict[str, list[Operation]] = {}
        if module is not None and len(module.functions) > 1:
            for op in module.walk():
                if op.name == "tt.call":
                    self._calls.setdefault(callee_of(op), []).append(op)

    def of(self, value: Value) -> Form:
        """The form of a value; never raises (what is not understood is bent)."""
        known = self._known
        found = known.get(value)
        if found is not None:
            return found
        # A stack of our own: unrolled loops make chains longer than Python's recursion.
        stack = [value]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            if top.op is None:
                known[top] = self._argument(top)
                stack.pop()
                continue
            missing = [v for v in _inputs(top) if v not in known]
            if missing:
                stack.extend(missing)
                continue
            known[top] = self._result(top, top.op)
            stack.pop()
        return known[value]

    # -- block arguments and values of loops ---------------------------------------

    def _argument(self, value: Value) -> Form:
        block = value.block
        parent = block.parent if block is not None else None
        if parent is None or block is None:
            return bent(value)
        if parent.name == "tt.func":
            if block is not parent.regions[0][0]:
                return bent(value)  # a block reached by a branch: not followed
            if parent.attrs.get("sym_visibility", "public") == "public":
                return of_argument(value)
            calls = self._calls.get(str(parent.attrs.get("sym_name")), [])
            forms = [self.of(call.operands[value.index]) for call in calls]
            return reduce(join, forms) if forms else bent(value)
        if parent.name == "scf.for":
            if value.index == 0:
                return Form(loaded=self.of(parent.operands[0]).loaded)
            init = parent.operands[value.index + 2]
            return self._carried(value, init, block.ops[-1].operands[value.index - 1])
        if parent.name == "scf.while":
            if value.block is parent.body(0):
                init = parent.operands[value.index]
                after = parent.body(1).ops[-1]
                return self._carried(value, init, after.operands[value.index])
            return self.of(parent.body(0).ops[-1].operands[value.index + 1])
        return bent(value)

    def _carried(self, value: Value, init: Value, following: Value) -> Form:
        """A loop-carried value: assume that the loop does not bend it, then check."""
        form = forget_value(self.of(init))
        for _ in range(_LIMIT):
            start = len(self._known)
            self._known[value] = form
            joined = join(form, self.of(following))
            if joined == form:
                return form
            # What was worked out under the refuted assumption goes.
            for key in list(self._known)[start:]:
                del self._known[key]
            form = joined
        return bent(value)

    def _result(self, value: Value, op: Operation) -> Form:
        name = op.name
        if name == "scf.for":
            return self.of(op.body().args[value.index + 1])
        if name in ("scf.while", "scf.if"):
            forms = [self._known[v] for v in _inputs(value)]
            if name == "scf.while":
                return forms[0]
            form = join(forms[1], forms[2])
            # Which of the two it is depends on the condition.
            return Form(form.steps, form.base, None, form.loaded or forms[0].loaded)
        if name == "tt.call":
            returned = self._returned(callee_of(op), value.index)
            return self.of(returned) if returned is not None else bent(value)
        operands = [self._known[v] for v in op.operands]
        return of_read(value, operands) if name in READS else of_result(value, op, operands)

    def _returned(self, callee: str, index: int) -> Value | None:
        function = self._functions.get(callee)
        if function is None or len(function.regions[0]) != 1:
            return None
        return function.body().ops[-1].operands[index]


def callee_of(op: Operation) -> str:
    """The name of the function that a `tt.call` calls."""
    return str(op.attrs.get("callee", "")).lstrip("@").strip('"')


def _inputs(value: Value) -> Sequence[Value]:
    """The values that must be known before the result `value` can be."""
    op = value.op
    assert op is not None
    if op.name in ("scf.for", "tt.call"):
        return ()  # read from its block argument or the callee's return
    if op.name == "scf.while":
        return (op.body(0).ops[-1].operands[value.index + 1],)
    if op.name == "scf.if":
        yielded = (region[0].ops[-1].operands[value.index] for region in op.regions)
        return (op.operands[0], *yielded)
    return op.operands

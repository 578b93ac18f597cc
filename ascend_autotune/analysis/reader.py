"""Reads MLIR's generic form, as libtriton prints it, into `ir.Module`.

The bindings of libtriton do not give integer attributes, constants or (on 3.2)
locations on every version; the generic form holds all of them and looks the same on
all. The reader goes line by line, since MLIR prints one operation or one region
boundary a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ascend_autotune.analysis.ir import UNKNOWN, Block, Location, Module, Operation, Type, Value
from ascend_autotune.analysis.notation import (
    cut_location,
    function_results,
    matching,
    parse_attributes,
    parse_type,
    split,
    split_at,
)
from ascend_autotune.errors import AnalysisError

_OP = re.compile(
    r'\s*(?:(?P<results>%[^=]*?) = )?"(?P<name>[\w.$-]+)"\((?P<operands>[^()]*)\)'
    r"(?:\[(?P<successors>[^\]]*)\])?(?P<rest>.*)$"
)
_BLOCK = re.compile(r"\s*(?P<label>\^bb\d+)(?:\((?P<args>.*)\))?:")
_RESULT = re.compile(r"(%[\w.$-]+)(?::(\d+))?")
_LOC_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_FILE_LOC = re.compile(r'^"((?:[^"\\]|\\.)*)":(\d+):(\d+)(?: to .*)?$')
_NAME_LOC = re.compile(r'^"((?:[^"\\]|\\.)*)"(?:\((.*)\))?$')


def parse_module(text: str) -> Module:
    """Parse one module in generic form. Raises `AnalysisError` for any other text."""
    if '"tt.func"' not in text:
        raise AnalysisError("the TTIR text is not in MLIR's generic form")
    try:
        return _Reader(text).module()
    except (IndexError, KeyError, ValueError) as error:
        # A text that ends early or closes what it never opened.
        raise AnalysisError(f"the TTIR text is damaged: {error}") from error


def location_reader(text: str) -> Callable[[str], Location]:
    """A function that reads `...` of any `loc(...)` in `text`, with the aliases of that text."""
    return _Reader(text)._location


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.aliases: dict[str, str] = {}
        for line in self.lines:
            if line.startswith("#loc"):
                match = _LOC_ALIAS.match(line)
                if match:
                    self.aliases[match[1]] = match[2]
        self.locations: dict[str, Location] = {}
        # Labels of the open regions, innermost last, and branches that wait for them.
        self.labels: list[dict[str, Block]] = []
        self.branches: list[list[tuple[Operation, list[str]]]] = []
        self.order = 0

    def module(self) -> Module:
        functions: dict[str, Operation] = {}
        scope: dict[str, Value] = {}
        # Each open operation: the operation, its header's rest, the scope around it.
        stack: list[tuple[Operation, dict[str, Value]]] = []
        block: Block | None = None
        for line in self.lines:
            text = line.lstrip()
            if not text or text.startswith(("#", "//", "module", "{-#")):
                continue
            if text.startswith("^bb"):
                parent = stack[-1][0]
                block = self._block(text, parent, scope)
            elif text.startswith("},"):
                parent, outer = stack[-1]
                self._close_region()
                self._open_region(parent)
                scope = dict(outer)
                block = self._implicit_block(parent)
            elif text.startswith("})"):
                parent, outer = stack.pop()
                self._close_region()
                self._finish(parent, text[2:])
                scope = outer
                block = parent.block
            elif text.startswith("}"):
                continue
            else:
                op, opened = self._operation(text, scope, block)
                if op.name == "tt.func":
                    functions[str(op.attrs.get("sym_name", ""))] = op
                if opened:
                    self._open_region(op)
                    stack.append((op, scope))
                    scope = dict(scope)
                    block = self._implicit_block(op)
        if stack:
            raise AnalysisError(f"the TTIR text ends inside a {stack[-1][0].name}")
        return Module(_entry(functions), functions)

    def _open_region(self, parent: Operation) -> None:
        parent.regions.append([])
        self.labels.append({})
        self.branches.append([])

    def _close_region(self) -> None:
        labels = self.labels.pop()
        for op, names in self.branches.pop():
            op.successors = tuple(labels[name] for name in names)

    def _implicit_block(self, parent: Operation) -> Block:
        block = Block([], [], parent, len(parent.regions) - 1)
        parent.regions[-1].append(block)
        return block

    def _block(self, text: str, parent: Operation, scope: dict[str, Value]) -> Block:
        match = _BLOCK.match(text)
        blocks = parent.regions[-1]
        if len(blocks) == 1 and not blocks[0].ops and not blocks[0].args:
            block = blocks[0]  # the label of the entry block, opened without one
        else:
            block = Block([], [], parent, len(parent.regions) - 1)
            blocks.append(block)
        if match:
            self.labels[-1][match["label"]] = block
        for part in split(match["args"]) if match and match["args"] else ():
            name, _, rest = part.partition(": ")
            type_text, _ = cut_location(rest)
            value = Value(parse_type(type_text), None, len(block.args), block)
            scope[name.strip()] = value
            block.args.append(value)
        return block

    def _operation(
        self, text: str, scope: dict[str, Value], block: Block | None
    ) -> tuple[Operation, bool]:
        match = _OP.match(text)
        if match is None:
            raise AnalysisError(f"cannot read this line of TTIR: {text[:120]}")
        operands = []
        for name in match["operands"].split(", ") if match["operands"] else ():
            value = scope.get(name)
            if value is None:
                raise AnalysisError(f"TTIR uses {name} before it is defined: {text[:120]}")
            operands.append(value)
        op = Operation(match["name"], operands, [], {}, [], UNKNOWN, block, self.order)
        self.order += 1
        for index, value in enumerate(operands):
            value.uses.append((op, index))
        if block is not None:
            block.ops.append(op)
        if match["successors"]:
            self.branches[-1].append((op, match["successors"].split(", ")))
        rest = match["rest"]
        opened = rest.endswith("({")
        if opened:
            rest = rest[:-2]
        attrs: dict[str, object] = {}
        rest = rest.strip()
        if rest.startswith("<{"):
            end = matching(rest, 0)
            attrs.update(parse_attributes(rest[2 : end - 1]))
            rest = rest[end + 1 :].strip()
        op.attrs = attrs
        names = match["results"]
        if names:
            # Types come with the end of the operation; the names are known already.
            for name, count in _RESULT.findall(names):
                if count:
                    for i in range(int(count)):
                        scope[f"{name}#{i}"] = self._new_result(op)
                else:
                    scope[name] = self._new_result(op)
        if not opened:
            self._finish(op, rest)
        return op, opened

    @staticmethod
    def _new_result(op: Operation) -> Value:
        value = Value(_PENDING, op, len(op.results))
        op.results.append(value)
        return value

    def _finish(self, op: Operation, rest: str) -> None:
        """Read what stands behind the operands and regions: attributes, types, location."""
        rest = rest.strip()
        if rest.startswith("{"):
            end = matching(rest, 0)
            op.attrs = {**op.attrs, **parse_attributes(rest[1:end])}
            rest = rest[end + 1 :].strip()
        rest, location = cut_location(rest)
        if location is not None:
            op.location = self._location(location)
        if op.results:
            results = function_results(rest)
            if len(results) != len(op.results):
                raise AnalysisError(f"{op.name}: {len(op.results)} results, types {rest!r}")
            for value, type_text in zip(op.results, results, strict=True):
                value.type = parse_type(type_text)

    def _location(self, text: str) -> Location:
        known = self.locations.get(text)
        if known is None:
            known = self.locations[text] = self._read_location(text)
        return known

    def _read_location(self, text: str) -> Location:
        if text.startswith("#loc"):
            return self._location(self.aliases[text]) if text in self.aliases else UNKNOWN
        if text.startswith("callsite("):
            callee, caller = split_at(text[len("callsite(") : -1])
            outer, inner = self._location(caller), self._location(callee)
            if not outer.line:
                return inner
            return Location(outer.file, outer.line, inner if inner.line else None, inner.name)
        match = _FILE_LOC.match(text)
        if match:
            return Location(match[1], int(match[2]))
        match = _NAME_LOC.match(text)
        if match:
            inner = self._location(match[2]) if match[2] else UNKNOWN
            return Location(inner.file, inner.line, inner.inner, match[1])
        if text.startswith("fused"):
            for part in split(text[text.index("[") + 1 : text.rindex("]")]):
                location = self._location(part)
                if location.line:
                    return location
        return UNKNOWN


_PENDING = Type((), "none")


def _entry(functions: Mapping[str, Operation]) -> Operation:
    for function in functions.values():
        if function.attrs.get("sym_visibility", "public") == "public":
            return function
    raise AnalysisError("the TTIR module has no public function")

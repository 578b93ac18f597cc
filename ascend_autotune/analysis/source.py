"""A look at a kernel's Python source, for what a bare `explain(kernel)` must assume.

Only guesses are made here: everything that is claimed of a kernel comes from its TTIR.
A guess that is wrong makes the trace fail, or stands in the report as an assumption.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache

from ascend_autotune.analysis.syntax import (
    argument_of,
    assignments,
    called,
    definition_of,
    has_call,
    is_module,
    is_scalar,
    names_in,
    summands,
)

_MEMORY = {
    "load",
    "store",
    "make_block_ptr",
    "make_tensor_descriptor",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "atomic_and",
    "atomic_or",
    "atomic_xor",
    "atomic_xchg",
    "atomic_cas",
}
# Calls whose result addresses what their first argument does.
_WRAPPERS = {"make_block_ptr", "make_tensor_descriptor", "advance", "multiple_of"}
# Arguments of memory operations (and calls) whose value must be an integer.
_INTEGER_KEYWORDS = {"mask", "shape", "strides", "offsets", "block_shape", "order"}
_INTEGER_CALLS = {"range", "static_range", "arange", "cdiv"}


@dataclass(frozen=True)
class Roles:
    """What the parameters of a kernel seem to be used for."""

    pointers: frozenset[str] = frozenset()
    index_pointers: frozenset[str] = frozenset()
    integers: frozenset[str] = frozenset()
    dtypes: frozenset[str] = frozenset()
    tiles: frozenset[str] = frozenset()


@dataclass
class _Found:
    """Names by role while the source is looked through, the kernel's own variables included."""

    pointers: set[str] = field(default_factory=set)
    index_pointers: set[str] = field(default_factory=set)
    integers: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    tiles: set[str] = field(default_factory=set)


@lru_cache(maxsize=256)
def roles(function: object, depth: int = 3) -> Roles:
    """The roles of the parameters of a JITFunction; empty where its source is not to be had.

    Helpers that the kernel calls with its own parameters are looked into, `depth` deep.
    """
    found = definition_of(function)
    return Roles() if found is None else _Look(*found, depth).roles()


class _Look:
    def __init__(self, definition: ast.FunctionDef, scope: dict[str, object], depth: int) -> None:
        self.definition = definition
        self.scope = scope
        self.depth = depth
        arguments = definition.args
        self.parameters = [
            a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        ]
        self.assigned: dict[str, list[ast.expr]] = {}
        for node in ast.walk(definition):
            for name, value in assignments(node):
                self.assigned.setdefault(name, []).append(value)

    def roles(self) -> Roles:
        found = _Found()
        addresses: set[str] = set()
        for call in (n for n in ast.walk(self.definition) if isinstance(n, ast.Call)):
            name = called(call)
            if name in _MEMORY:
                pointer = argument_of(call, 0, ("pointer", "base", "ptr"))
                if pointer is not None:
                    found.pointers.update(self._root(pointer, set()))
                    addresses |= self._reached(pointer)
            for keyword in call.keywords:
                if keyword.arg in _INTEGER_KEYWORDS:
                    found.integers |= self._reached(keyword.value)
                if keyword.arg == "dtype":
                    found.dtypes |= names_in(keyword.value)
            if name == "load" and len(call.args) > 1:
                found.integers |= self._reached(call.args[1])
            if name == "store" and len(call.args) > 2:
                found.integers |= self._reached(call.args[2])
            if name in _INTEGER_CALLS:
                for argument in call.args:
                    found.integers |= self._reached(argument)
            if name == "to" and call.args:
                found.dtypes |= names_in(call.args[0])
            if name in ("zeros", "full") and len(call.args) > 1:
                found.dtypes |= names_in(call.args[-1])
            self._helper(call, name, found, addresses)
        for node in ast.walk(self.definition):
            if isinstance(node, ast.Compare):
                found.integers |= self._reached(node)
        found.index_pointers |= {
            root
            for name in addresses
            for value in self.assigned.get(name, ())
            for load in ast.walk(value)
            if isinstance(load, ast.Call) and called(load) == "load" and load.args
            for root in self._root(load.args[0], set())
        }
        found.tiles |= self._tiles()
        known = frozenset(self.parameters)
        return Roles(
            known & found.pointers,
            known & found.index_pointers,
            (known & (found.integers | addresses)) - found.pointers,
            known & found.dtypes,
            known & found.tiles,
        )

    def _helper(self, call: ast.Call, name: str, found: _Found, addresses: set[str]) -> None:
        """Carry the roles of a called helper's parameters over to what is passed for them."""
        helper = self.scope.get(name) if isinstance(call.func, ast.Name) else None
        if helper is None or self.depth == 0 or not hasattr(helper, "arg_names"):
            return
        inner = roles(helper, self.depth - 1)
        names = list(helper.arg_names)
        passed = dict(zip(names, call.args, strict=False))
        passed.update({k.arg: k.value for k in call.keywords if k.arg is not None})
        for parameter, value in passed.items():
            if parameter in inner.pointers:
                found.pointers.update(self._root(value, set()))
                addresses |= self._reached(value)
            if parameter in inner.index_pointers:
                found.index_pointers.update(self._root(value, set()))
            if parameter in inner.integers:
                found.integers |= self._reached(value)
            if parameter in inner.tiles:
                found.tiles |= names_in(value)
            if parameter in inner.dtypes:
                found.dtypes |= names_in(value)

    def _root(self, node: ast.expr, seen: set[str]) -> set[str]:
        """The parameter that a pointer expression starts from: its leftmost summand."""
        for term in summands(node):
            while isinstance(term, ast.Subscript | ast.Attribute):
                term = term.value
            if isinstance(term, ast.Call):
                if isinstance(term.func, ast.Attribute):
                    # x.to(...): the pointer is x; tl.f(x, ...): it is the first argument.
                    inner = term.func.value
                    if called(term) in ("to", "cast") and not is_module(inner):
                        found = self._root(inner, seen)
                        if found:
                            return found
                base = argument_of(term, 0, ("base", "ptr"))
                if base is not None and called(term) in _WRAPPERS:
                    found = self._root(base, seen)
                    if found:
                        return found
                continue
            if isinstance(term, ast.IfExp):
                return self._root(term.body, seen) | self._root(term.orelse, seen)
            if not isinstance(term, ast.Name):
                continue
            if term.id in self.assigned and term.id not in seen:
                # A name may hold one pointer after another: all of them count.
                inner_seen = seen | {term.id}
                found = set().union(*(self._root(v, inner_seen) for v in self.assigned[term.id]))
                if found:
                    return found
            if term.id in self.parameters:
                return {term.id}
        return set()

    def _reached(self, node: ast.expr) -> set[str]:
        """Every name that an expression's value comes from, loads' results not looked behind."""
        found: set[str] = set()
        todo = list(names_in(node))
        while todo:
            name = todo.pop()
            if name in found:
                continue
            found.add(name)
            for value in self.assigned.get(name, ()):
                if not any(called(n) == "load" for n in ast.walk(value) if isinstance(n, ast.Call)):
                    todo.extend(names_in(value))
        return found

    def _block_ids(self) -> set[str]:
        """Names of scalars that come from tl.program_id."""
        found: set[str] = set()
        while True:
            more = {
                name
                for name, values in self.assigned.items()
                for value in values
                if is_scalar(value) and (has_call(value, "program_id") or names_in(value) & found)
            }
            if more <= found:
                return found
            found |= more

    def _tiles(self) -> set[str]:
        """Parameters that size a range and move the tile: a loop's step, or times a block's id."""
        ranges: set[str] = set()
        moved: set[str] = set()
        blocks = self._block_ids()
        for node in ast.walk(self.definition):
            if isinstance(node, ast.Call):
                name = called(node)
                if name == "arange":
                    ranges |= set().union(*map(names_in, node.args))
                elif name in ("range", "static_range") and len(node.args) == 3:
                    moved |= names_in(node.args[2])
                elif name == "cdiv" and len(node.args) == 2:
                    moved |= names_in(node.args[1])
            if isinstance(node, ast.Call) and any(k.arg == "block_shape" for k in node.keywords):
                for keyword in node.keywords:
                    if keyword.arg == "block_shape":
                        ranges |= names_in(keyword.value)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.FloorDiv):
                for side, other in ((node.left, node.right), (node.right, node.left)):
                    if is_scalar(side) and (
                        has_call(side, "program_id") or names_in(side) & blocks
                    ):
                        moved |= names_in(other)
        return ranges & moved

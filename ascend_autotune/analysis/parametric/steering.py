"""Which searched parameters steer a kernel's static control flow.

A parameter that a Python-level `if`, conditional expression, `while` or `tl.static_range`
depends on makes another program at other values, not the same one at another size: each of
its values is traced by itself. The source is read for this, since TTIR no longer shows it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection
from typing import Any

from ascend_autotune.analysis.syntax import called, definition_of

# Calls that stay static when their arguments are.
_STATIC_CALLS = frozenset(
    {"cdiv", "min", "max", "next_power_of_2", "constexpr", "int", "bool", "abs", "len"}
)
_DEPTH = 4


def steering(function: object, searched: Collection[str], depth: int = _DEPTH) -> frozenset[str]:
    """The searched parameters of a JITFunction that decide which statements it has.

    All of them where the source is not to be had.
    """
    found = definition_of(function)
    if found is None:
        return frozenset(searched)
    return _Look(*found, searched, depth).steering()


class _Look:
    def __init__(
        self,
        definition: ast.FunctionDef,
        scope: dict[str, Any],
        searched: Collection[str],
        depth: int,
    ) -> None:
        self.definition, self.scope, self.depth = definition, scope, depth
        arguments = definition.args
        self.static = {
            argument.arg
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            if argument.annotation is not None and "constexpr" in ast.dump(argument.annotation)
        } | set(searched)
        # Name -> the searched parameters that its static value depends on.
        self.origins: dict[str, set[str]] = {name: {name} for name in searched}

    def steering(self) -> frozenset[str]:
        nodes = list(ast.walk(self.definition))
        assignments = [node for node in nodes if isinstance(node, (ast.Assign, ast.AnnAssign))]
        for _ in range(3):  # assignments may stand in any order of use
            for assignment in assignments:
                self._assign(assignment)
        found: set[str] = set()
        for node in nodes:
            if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
                found |= self._depends(node.test)
            elif isinstance(node, ast.For) and _is_static_range(node.iter):
                found |= self._depends(node.iter)
            elif isinstance(node, ast.Call):
                found |= self._call(node)
        return frozenset(found)

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        value = node.value
        if value is None or not self._is_static(value):
            return
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        origins = self._depends(value)
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name):
                    self.static.add(name.id)
                    if origins:
                        self.origins.setdefault(name.id, set()).update(origins)

    def _is_static(self, node: ast.expr) -> bool:
        """Is the value known when the kernel is compiled, as far as the source shows?"""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and called(inner) not in _STATIC_CALLS:
                return False
            if isinstance(inner, ast.Subscript):
                return False
            if isinstance(inner, ast.Name) and not self._known(inner.id):
                return False
        return True

    def _known(self, name: str) -> bool:
        return name in self.static or name in self.scope or name in _STATIC_CALLS

    def _depends(self, node: ast.AST) -> set[str]:
        found: set[str] = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                found |= self.origins.get(inner.id, set())
        return found

    def _call(self, node: ast.Call) -> set[str]:
        """Steering inside a helper that gets a searched parameter as a constexpr."""
        name = called(node)
        if name == "static_assert":
            return set().union(*(self._depends(argument) for argument in node.args))
        callee = self.scope.get(node.func.id) if isinstance(node.func, ast.Name) else None
        python = getattr(callee, "fn", None)
        if python is None or not inspect.isfunction(python):
            return set()
        parameters = list(inspect.signature(python).parameters)
        passed: dict[str, set[str]] = {}
        for parameter, argument in zip(parameters, node.args, strict=False):
            passed[parameter] = self._depends(argument) if self._is_static(argument) else set()
        for keyword in node.keywords:
            if keyword.arg is not None and self._is_static(keyword.value):
                passed[keyword.arg] = self._depends(keyword.value)
        steered = {parameter for parameter, origins in passed.items() if origins}
        if not steered:
            return set()
        if self.depth == 0:
            return set().union(*(passed[parameter] for parameter in steered))
        inside = steering(callee, steered, self.depth - 1)
        return set().union(*(passed[parameter] for parameter in inside))


def _is_static_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and called(node) == "static_range"

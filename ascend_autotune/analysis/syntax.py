"""Small questions about Python's syntax trees."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any


def definition_of(function: object) -> tuple[ast.FunctionDef, dict[str, Any]] | None:
    """The definition of a JITFunction and its globals; None where its source is not to be had."""
    python: Any = getattr(function, "fn", function)
    text = getattr(function, "src", None)  # what Triton compiles, and at hand
    try:
        tree = ast.parse(
            text if isinstance(text, str) else textwrap.dedent(inspect.getsource(python))
        )
    except (OSError, TypeError, SyntaxError):
        return None
    found = next((node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)), None)
    return None if found is None else (found, getattr(python, "__globals__", {}))


def has_call(node: ast.expr, call: str) -> bool:
    return any(isinstance(n, ast.Call) and called(n) == call for n in ast.walk(node))


def is_scalar(node: ast.expr) -> bool:
    """Whether an expression holds neither a range nor an index: a block's id, not its rows."""
    return not has_call(node, "arange") and not any(
        isinstance(n, ast.Subscript) for n in ast.walk(node)
    )


def is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("tl", "triton", "language")


def called(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def argument_of(call: ast.Call, position: int, keywords: tuple[str, ...]) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((k.value for k in call.keywords if k.arg in keywords), None)


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def summands(node: ast.expr) -> Iterator[ast.expr]:
    """The summands of an expression, left to right."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from summands(node.left)
        yield from summands(node.right)
    else:
        yield node


def assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from pairs(target, node.value)
    elif isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None:
        yield from pairs(node.target, node.value)
    elif isinstance(node, ast.For):
        yield from pairs(node.target, node.iter)


def pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple):
        values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
        if len(values) == len(target.elts):
            for part, part_value in zip(target.elts, values, strict=True):
                yield from pairs(part, part_value)

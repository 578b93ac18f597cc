"""The launch grid of a candidate: from a tuple, a callable, or an expression in text."""

from __future__ import annotations

import ast
import operator
import os
from collections.abc import Callable, Mapping, Sequence

from ascend_autotune.analysis.suggest import did_you_mean
from ascend_autotune.errors import RequestError

Grid = Sequence[int] | Callable[[dict[str, object]], object]
Names = Mapping[str, object]


def all_blocks_parallel() -> bool:
    """Whether TRITON_ALL_BLOCKS_PARALLEL is set, read as triton-ascend reads it."""
    return os.environ.get("TRITON_ALL_BLOCKS_PARALLEL", "false").lower() in ("true", "1")


def grid_shape(grid: Grid, meta: Mapping[str, object]) -> tuple[int, ...]:
    """The grid's one to three dimensions, in blocks, for the constexprs in `meta`.

    Raises `RequestError` where the callable fails or the result is no grid.
    """
    shown = ", ".join(f"{name}={value}" for name, value in meta.items())
    if callable(grid):
        try:
            shape = grid(dict(meta))
        except RequestError:
            raise
        except KeyError as error:
            raise RequestError(
                f"grid: the callable asks for {error}, which is neither a searched parameter nor "
                f"in constants (known: {shown}); write its value into the callable"
            ) from error
        except Exception as error:
            raise RequestError(
                f"grid: the callable fails for {shown}: {type(error).__name__}: {error}"
            ) from error
    else:
        shape = grid
    dims = shape if isinstance(shape, Sequence) and not isinstance(shape, str) else (shape,)
    checked: list[int] = []
    for dim in dims:
        try:
            checked.append(operator.index(dim))  # type: ignore[arg-type]
        except TypeError:
            raise RequestError(
                f"grid is {shape!r}: give one to three integers, or a callable that returns them"
            ) from None
    if not 1 <= len(checked) <= 3 or min(checked) < 0:
        raise RequestError(f"grid is {shape!r}: give one to three integers of at least 0")
    return tuple(checked)


def parse_grid(text: str) -> Callable[[Names], tuple[int, ...]]:
    """A grid written as text, such as `cdiv(N, BLOCK), 8`.

    Integers, names, + - * // %, brackets, cdiv, min, max and next_power_of_2 are all that
    is understood; nothing is ever evaluated as Python. Raises `RequestError`.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise RequestError(
            f"--grid {text!r} cannot be read: write it as in --grid 'cdiv(4096, BLOCK), 8'"
        ) from None
    parts = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    for part in parts:
        _check(part, text)
    return lambda names: tuple(_value(part, names, text) for part in parts)


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _next_power_of_2(n: int) -> int:
    return 1 << max(n - 1, 0).bit_length()


_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
# With the number of arguments each takes; None: one or more.
_FUNCTIONS: Mapping[str, tuple[Callable[..., int], int | None]] = {
    "cdiv": (_cdiv, 2),
    "min": (min, None),
    "max": (max, None),
    "next_power_of_2": (_next_power_of_2, 1),
}


def _check(node: ast.expr, text: str) -> None:
    """Refuse what the little language does not have, before any candidate is looked at."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return
    if isinstance(node, ast.Name):
        return
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        _check(node.left, text)
        _check(node.right, text)
        return
    if isinstance(node, ast.Call) and not node.keywords:
        # `triton.cdiv` is what people paste.
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if name in _FUNCTIONS and _FUNCTIONS[name][1] in (None, len(node.args)) and node.args:
            for argument in node.args:
                _check(argument, text)
            return
    raise RequestError(
        f"--grid {text!r}: {ast.unparse(node)!r} is not understood; use integers, names, "
        f"+ - * // %, {', '.join(_FUNCTIONS)}"
    )


def _value(node: ast.expr, names: Names, text: str) -> int:
    if isinstance(node, ast.Constant):
        return int(node.value)  # type: ignore[arg-type]
    if isinstance(node, ast.Name):
        value = names.get(node.id)
        if type(value) is not int:
            raise RequestError(
                f"--grid {text!r}: {node.id} has no integer value; write the number itself, or "
                f"give --const or --space for it{did_you_mean(node.id, names)}"
            )
        return value
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, names, text), _value(node.right, names, text)
        return _applied(_OPERATORS[type(node.op)], (left, right), text)
    assert isinstance(node, ast.Call)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    return _applied(_FUNCTIONS[name][0], [_value(a, names, text) for a in node.args], text)


def _applied(function: Callable[..., int], arguments: Sequence[int], text: str) -> int:
    try:
        return function(*arguments)
    except ZeroDivisionError:
        raise RequestError(f"--grid {text!r}: division by zero") from None

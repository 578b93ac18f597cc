"""A launch's results, by Triton's interpreter over CPU tensors, in a process that compiles.

Triton decides between compiler and interpreter when a kernel is decorated. Here a kernel that was
decorated for the compiler is run by the interpreter: its Python function is rewritten as the
interpreter rewrites it, but with globals of its own, and what the interpreter puts into
`triton.language` is taken out again. While a kernel is computed no other thread may trace one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

_LOCK = threading.RLock()
_NUMPY = (2, 4)
# The rewritten source of functions that have run, as code.
_CODES: WeakKeyDictionary[Callable[..., Any], Any] = WeakKeyDictionary()


def compute(function: Any, arguments: Mapping[str, Any], grid: tuple[int, int, int]) -> None:
    """Run every program of a launch of a JIT function. `arguments` are all, constants included.

    Raises RuntimeError where the interpreter cannot run the kernel, numpy is too new for it, or
    an argument is no tensor of the CPU: the interpreter follows every address that it is given.
    """
    _check_numpy()
    for name, value in arguments.items():
        if hasattr(value, "data_ptr") and not _on_cpu(value):
            raise RuntimeError(
                f"{function.__name__}: {name} is no CPU tensor of torch, and the modelled NPU "
                f"computes results on those alone"
            )
    from triton.runtime import interpreter

    with _LOCK, _patched(interpreter) as rewrite:
        try:
            kernel = rewrite(function.fn)
            constants = {p.name for p in function.params if p.is_constexpr}
            values = {
                name: _converted(interpreter, arguments[name], name in constants)
                for name in function.arg_names
            }
            builder = interpreter.interpreter_builder
            builder.set_grid_dim(*grid)
            for x in range(grid[0]):
                for y in range(grid[1]):
                    for z in range(grid[2]):
                        builder.set_grid_idx(x, y, z)
                        kernel(**values)
        except Exception as error:
            raise RuntimeError(
                f"{function.__name__}: Triton's interpreter could not compute the results "
                f"(modelled NPU): {type(error).__name__}: {error}"
            ) from error


def _check_numpy() -> None:
    import numpy

    version = tuple(int(part) for part in numpy.__version__.split(".")[:2])
    if version >= _NUMPY:
        raise RuntimeError(
            f"numpy {numpy.__version__} is too new for the interpreter of triton-ascend: "
            f"pip install 'numpy<2.4'"
        )


def _on_cpu(tensor: Any) -> bool:
    return getattr(getattr(tensor, "device", None), "type", None) == "cpu"


def _converted(interpreter: Any, value: Any, constant: bool) -> Any:
    if constant or value is None:
        return getattr(value, "value", value) if constant else value
    return interpreter._implicit_cvt(value)


@contextmanager
def _patched(interpreter: Any) -> Iterator[Callable[[Any], Any]]:
    """`triton.language` as the interpreter wants it, and helpers that can be called; gives what
    rewrites a function to run in it."""
    import triton.language as tl
    from triton.runtime.jit import JITFunction

    places = (tl, tl.core, tl.math, tl.core.tensor, tl.core.dtype)
    kept = [(place, dict(vars(place))) for place in places]
    call = JITFunction.__call__
    # Functions that were imported by name: what each was replaced by, under its identity.
    replaced: dict[int, Any] = {}
    made: dict[Any, Any] = {}

    def rewrite(function: Any) -> Any:
        found = made.get(function)
        if found is None:
            found = made[function] = _rewritten(interpreter, function, replaced)
        return found

    try:
        interpreter._patch_lang(_seeing(tl))
        interpreter._patch_lang(_seeing(tl.core))
        for place in (tl, tl.core):
            for name in ("reduce", "associative_scan"):
                setattr(place, name, _combining(getattr(place, name), tl.standard))
        for place, state in kept[:2]:
            now = vars(place)
            replaced |= {id(v): now[n] for n, v in state.items() if now[n] is not v}
        JITFunction.__call__ = lambda self, *args, **kwargs: rewrite(self.fn)(*args, **kwargs)
        yield rewrite
    finally:
        JITFunction.__call__ = call
        for place, state in kept:
            _restore(place, state)


def _seeing(module: Any) -> Any:
    """A function whose globals hold this module, which is where the interpreter looks for it."""
    return FunctionType((lambda: None).__code__, {"language": module})


def _combining(reduction: Any, standard: Any) -> Any:
    """The reduction, with the combinations of triton-ascend's own tl.max and the like replaced by
    their twins in `standard`, which the interpreter hands to numpy (a maximum with a NaN in it is
    NaN there); the rest it walks through element by element."""

    def reduce(given: Any, axis: Any, combine: Any, *args: Any, **kwargs: Any) -> Any:
        function = getattr(combine, "fn", None)
        if function is not None and function.__module__.startswith("triton."):
            name = function.__name__.removesuffix("_default").removesuffix("_propagate_nan")
            combine = getattr(standard, name, combine)
        return reduction(given, axis, combine, *args, **kwargs)

    return reduce


def _restore(place: Any, state: Mapping[str, Any]) -> None:
    for name in [name for name in vars(place) if name not in state]:
        delattr(place, name)
    now = vars(place)
    for name, value in state.items():
        if now[name] is not value:
            setattr(place, name, value)


def _rewritten(
    interpreter: Any, function: Callable[..., Any], replaced: Mapping[int, Any]
) -> Callable[..., Any]:
    """The function with its assignments turned into tensors, its globals as they are now."""
    code = _CODES.get(function)
    if code is None:
        code = _CODES[function] = _rewriter_class(interpreter)(function).rewrite_ast()
    globals_ = {n: replaced.get(id(v), v) for n, v in function.__globals__.items()}
    globals_["interpreter_builder"] = interpreter.interpreter_builder
    globals_["triton"] = interpreter.triton
    if not isinstance(code, CodeType):  # a function without source text stays as it is
        return FunctionType(function.__code__, globals_, None, function.__defaults__)
    made: dict[str, Any] = {}
    exec(code, globals_, made)
    return made[function.__name__]  # type: ignore[no-any-return]


@cache
def _rewriter_class(interpreter: Any) -> Any:
    class Rewriter(interpreter.FunctionRewriter):  # type: ignore[misc]
        """The interpreter's, stopped short of where it fills the globals of the user's module."""

        def _compile_and_exec(self, tree: Any) -> Any:
            return compile(tree, filename=self.filename, mode="exec")

    return Rewriter

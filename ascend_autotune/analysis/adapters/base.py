"""What every flavour's front end shares, and the two shapes that its API comes in.

An adapter names a backend; `FrontEnd` builds the module and runs the passes. The API's shape
is asked of the API itself, for version strings do not tell (facts.md §2).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

_PASSES = (
    ("common", "add_inliner"),
    ("ttir", "add_combine"),
    ("common", "add_canonicalizer"),
    ("ttir", "add_reorder_broadcast"),
    ("common", "add_cse"),
    ("common", "add_licm"),
    ("common", "add_symbol_dce"),
    ("ttir", "add_loop_unroll"),
)
"""triton-ascend 3.2.0's `make_ttir`; run on every flavour, so that all give the same programme."""

# MLIR keeps every type, attribute and location it has seen for as long as a context lives.
_TRACES_PER_CONTEXT = 64


class Backend(Protocol):
    """The part of a Triton backend that a trace needs, as all flavours have it."""

    backend: Any
    options: Any

    def load_dialects(self, context: Any) -> None: ...

    def functions(self) -> Mapping[str, Any]: ...


class FrontEnd:
    """Traces kernels with one backend. Not for two threads at once: MLIR's context is shared."""

    def __init__(self, backend: Backend) -> None:
        from triton._C.libtriton import ir, passes
        from triton.compiler.compiler import ASTSource

        self._ir = ir
        self._passes = [getattr(getattr(passes, group), name) for group, name in _PASSES]
        self._backend = backend
        self._source = ASTSource
        parameters = inspect.signature(ASTSource.__init__).parameters
        self._constants = "constants" if "constants" in parameters else "constexprs"
        self._wants_target = "target" in inspect.signature(ASTSource.make_ir).parameters
        self._attributes = _old_attributes() or _new_attributes
        self._functions = dict(backend.functions())
        self._modules = backend.backend.get_module_map()
        self._context: Any = None
        self._left = 0

    def trace(
        self,
        function: Any,
        signature: Mapping[str, str],
        constants: Mapping[str, object],
        divisible: Iterable[int],
    ) -> tuple[str, str]:
        """The TTIR in custom and in generic form. `divisible` are indices in `arg_names`.

        Raises what the front end raises.
        """
        context = self._take_context()
        try:
            module = self._build(context, function, signature, constants, divisible)
            self._run_passes(context, module)
        except BaseException:
            self._context = None  # a failed module may leave its context in any state
            raise
        text = str(module)
        # An attribute without a dialect makes MLIR print the generic form (facts.md §2). The
        # module no longer verifies then; it is dropped here.
        module.set_attr("generic", self._ir.builder(context).get_int32_attr(1))
        return text, str(module)

    def _take_context(self) -> Any:
        if self._context is None or self._left == 0:
            self._context = self._ir.context()
            self._ir.load_dialects(self._context)
            self._backend.load_dialects(self._context)
            self._left = _TRACES_PER_CONTEXT
        self._left -= 1
        return self._context

    def _build(
        self,
        context: Any,
        function: Any,
        signature: Mapping[str, str],
        constants: Mapping[str, object],
        divisible: Iterable[int],
    ) -> Any:
        source = self._source(
            function,
            dict(signature),
            **{self._constants: dict(constants)},
            attrs=self._attributes(divisible),
        )
        target = (self._backend.backend.target,) if self._wants_target else ()
        return source.make_ir(
            *target, self._backend.options, self._functions, self._modules, context
        )

    def _run_passes(self, context: Any, module: Any) -> None:
        manager = self._ir.pass_manager(context)
        for add in self._passes:
            add(manager)
        try:
            manager.run(module, "make_ttir")
        except TypeError:  # before 3.7 a run has no name
            manager.run(module)


def codegen_functions(backend: Any, options: Any) -> dict[str, Any]:
    """The backend's code generation functions, whether or not it wants the options for them."""
    implementation = backend.get_codegen_implementation
    wanted = inspect.signature(implementation).parameters
    return dict(implementation(options) if wanted else implementation())


def _old_attributes() -> Any:
    """Triton 3.2 keeps the properties of arguments in a class of its own."""
    try:
        from triton.backends.compiler import AttrsDescriptor
    except ImportError:
        return None
    return lambda divisible: AttrsDescriptor.from_hints(dict.fromkeys(divisible, 16))


def _new_attributes(divisible: Iterable[int]) -> dict[tuple[int], list[list[object]]]:
    return {(index,): [["tt.divisibility", 16]] for index in divisible}

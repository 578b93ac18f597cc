"""Traces the kernels of `dataflow_kernels` once each, for all test modules that read them.

It asks libtriton itself, so that these tests hold whatever `analysis.ttir` does.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

from dataflow_kernels import CASES
from triton._C import libtriton
from triton._C.libtriton import ir, passes
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource

from ascend_autotune.analysis.ir import Module, Operation
from ascend_autotune.analysis.reader import parse_module

SOURCE = Path(__file__).with_name("dataflow_kernels.py")


@cache
def _backend() -> tuple[Any, Any]:
    if hasattr(libtriton, "ascend"):
        from triton.backends.ascend.compiler import AscendBackend, NPUOptions

        return AscendBackend(GPUTarget("npu", "Ascend910B3", 0)), NPUOptions()
    from triton.backends.nvidia.compiler import CUDABackend

    backend = CUDABackend(GPUTarget("cuda", 90, 32))
    return backend, backend.parse_options({})


def trace_text(kernel: Any, signature: dict[str, str], constants: dict[str, Any]) -> str:
    """Any kernel's TTIR in generic form, with locations."""
    backend, options = _backend()
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    old = "constants" in inspect.signature(ASTSource).parameters
    types = {name: signature.get(name, "constexpr") for name in kernel.arg_names}
    source = ASTSource(kernel, types, **{"constants" if old else "constexprs": dict(constants)})
    if old:
        functions = backend.get_codegen_implementation()
        module = source.make_ir(options, functions, backend.get_module_map(), context)
    else:
        functions = backend.get_codegen_implementation(options)
        modules = backend.get_module_map()
        module = source.make_ir(backend.target, options, functions, modules, context)
    manager = ir.pass_manager(context)
    for add in (
        passes.common.add_inliner,
        passes.ttir.add_combine,
        passes.common.add_canonicalizer,
        passes.ttir.add_reorder_broadcast,
        passes.common.add_cse,
        passes.common.add_licm,
        passes.common.add_symbol_dce,
        passes.ttir.add_loop_unroll,
    ):
        add(manager)
    try:
        manager.run(module)
    except TypeError:  # Triton 3.9 wants a name
        manager.run(module, "test")
    # An attribute without a dialect makes MLIR print the generic form.
    module.set_attr("generic", ir.builder(context).get_int32_attr(1))
    return str(module)


def trace(kernel: Any, signature: dict[str, str], constants: dict[str, Any]) -> Module:
    """Any kernel's module."""
    return parse_module(trace_text(kernel, signature, constants))


@cache
def generic(name: str) -> str:
    """The TTIR of a case in generic form. Skips the test where this Triton lacks the feature."""
    try:
        return trace_text(*CASES[name])
    except Exception as error:
        if "Block pointers have been removed" in f"{error} {error.__cause__}":
            pytest.skip("this Triton has no block pointers")
        raise


def module(name: str) -> Module:
    """A case as a module of its own, so that no test sees another's."""
    return parse_module(generic(name))


def operations(name: str, kind: str) -> list[Operation]:
    """The operations of one name in a case, in program order."""
    return [op for op in module(name).walk() if op.name == kind]


def source(name: str) -> str:
    """The text of a case's kernel."""
    return inspect.getsource(CASES[name][0].fn)


def line_count() -> int:
    return len(SOURCE.read_text().splitlines())


def line_of(name: str, text: str) -> int:
    """The source line of a case's kernel on which `text` stands first."""
    lines, start = inspect.getsourcelines(CASES[name][0].fn)
    return next(start + i for i, line in enumerate(lines) if text in line)

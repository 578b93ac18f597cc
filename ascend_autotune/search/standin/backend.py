"""The compile backend: triton-ascend's own, with the judge where the code generator stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.judge import OPTIONS, Outcome
from ascend_autotune.search.standin.program import Program
from ascend_autotune.search.standin.refusal import CompileFailure, refuse

if TYPE_CHECKING:
    from ascend_autotune.search.standin.driver import StandinDriver

_NAME = re.compile(r"tt\.func public @(\w+)")


class _Judged:
    """What Triton keeps of the stage between TTIR and binary: nothing, and says so."""

    def __init__(self, module: Any, outcome: Outcome) -> None:
        self.module, self.outcome = module, outcome

    def __str__(self) -> str:
        return "// modelled: the compiler has judged this program, its linalg form was not kept\n"


def make_backend_class(base: type[Any], driver: StandinDriver) -> type[Any]:
    """A subclass of `base`, triton-ascend's backend as its registry has it, for this driver."""

    class StandinBackend(base):  # type: ignore[misc]
        """Front end and options are triton-ascend's; what follows TTIR is judged."""

        def get_attrs_descriptor(self, params: Any, args: Any) -> Any:
            # The one call that shows a backend the constants of what it is about to compile.
            driver.expect({p.name: v for p, v in zip(params, args, strict=True) if p.is_constexpr})
            return super().get_attrs_descriptor(params, args)

        def add_stages(self, stages: dict[str, Any], options: Any) -> None:
            expected = driver.expected()
            driver.judge()  # where it is missing, say so before any work, and outside of a stage
            own: dict[str, Any] = {}
            super().add_stages(own, options)
            stages["ttir"] = own["ttir"]
            stages["ttadapter"] = _counting(
                driver, lambda module, metadata: judge(driver, module, options, expected)
            )
            stages["npubin"] = _counting(
                driver, lambda judged, metadata: finish(judged, options, metadata)
            )

        def pack_metadata(self, metadata: Any) -> Any:
            driver.count("compiles")
            return super().pack_metadata(metadata)

        def hash(self) -> str:
            # Triton's disk cache must give no such program to an NPU, nor the other way round.
            return f"{super().hash()}-{driver.cache_tag}"

    return StandinBackend


def _counting(driver: StandinDriver, stage: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def counted(source: Any, metadata: Any) -> Any:
        try:
            return stage(source, metadata)
        except Exception:
            driver.count("compiles", "refused")
            raise

    return counted


def judge(
    driver: StandinDriver, module: Any, options: Any, constants: Mapping[str, Any]
) -> _Judged:
    """Ask the compiler. Raises `CompileFailure` where its first half refuses the program."""
    text = str(module)
    named = _NAME.search(text)
    kernel = named[1] if named else ""
    driver.faults.compiling(kernel, {**asdict(options), **constants})
    if options.force_simt_only:
        raise CompileFailure("the modelled NPU judges no force_simt_only kernels", "compile")
    outcome = driver.judge().ask(text, judge_options(options))
    # Without a mode the adapter did not get through, and this stage is the one that failed.
    if outcome.status == "refused" and not outcome.mode:
        refuse(outcome)
    return _Judged(module, outcome)


def judge_options(options: Any) -> dict[str, Any]:
    """triton-ascend's NPUOptions as the judge's options: every one, defaults included.

    The judge's own defaults are not always those of this release (enable_select_analysis).
    """
    return {name: getattr(options, name) for name in OPTIONS if hasattr(options, name)}


def finish(judged: _Judged, options: Any, metadata: dict[str, Any]) -> bytes:
    """The program's bytes, and the metadata that triton-ascend's own last stage fills in.

    Raises `CompileFailure` where the compiler does not take the program.
    """
    refuse(judged.outcome)
    text = str(judged.module)
    named = _NAME.search(text)
    kernel = named[1] if named else "kernel"
    mode = judged.outcome.mode or "aiv"
    metadata.update(
        shared=1,
        mix_mode=mode,
        parallel_mode="simd",
        kernel_name=kernel,
        name=f"{kernel} {mode}",
        tensor_kinds=[],
        required_ub_bits=0,
        modelled=True,
    )
    return Program(
        kernel, mode, judged.outcome.fallback, judge_options(options), generic_form(judged.module)
    ).to_bytes()


def generic_form(module: Any) -> str:
    """The module in MLIR's generic form. It verifies no more afterwards: for the last stage."""
    from triton._C.libtriton import ir

    module.set_attr("generic", ir.builder(module.context).get_int32_attr(1))
    return str(module)

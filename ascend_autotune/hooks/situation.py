"""What the analysis says of one call: the request, the family, what fits, which profiles."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.judge.flags import OPTIONS
from ascend_autotune.analysis.kernel import unwrap
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.errors import AscendAutotuneError
from ascend_autotune.hooks.calls import KernelCall
from ascend_autotune.hooks.choosing import middle_tile
from ascend_autotune.hooks.hints import Hints
from ascend_autotune.hooks.target import Target
from ascend_autotune.search.config import Config
from ascend_autotune.search.profiles import Profiles, available, make_profiles

if TYPE_CHECKING:
    from ascend_autotune.analysis.assessing import Assessment
    from ascend_autotune.analysis.request import Request
    from ascend_autotune.analysis.result import PruneResult

logger = logging.getLogger("ascend_autotune")
Tile = Mapping[str, object]
# Taken by `JITFunction.run` or `triton.compile` itself.
_TAKEN = frozenset({"device", "device_type", "ir_override", "instrumentation_mode", "launch_pdl"})
# Every dot takes whole tiles from memory: cube and fixpipe can be kept in step by unit flags.
_REGULAR = ("matmul", "batched_matmul", "attention", "chained_matmul")


@dataclass(frozen=True)
class Situation:
    """One call of one kernel on one device, before anything is compiled.

    On a device that is no Ascend chip nothing is known of what fits: there is no request, and
    every candidate survives. `beside`: constants that are not searched and that the call leaves
    to the handwritten configs.
    """

    kernel: Any
    hints: Hints
    call: KernelCall
    target: Target
    beside: Mapping[str, object] = field(default_factory=dict)

    @property
    def request(self) -> Request | None:
        """The request to judge what fits by; None on a device that is no Ascend chip."""
        return self.program if self.target.chip is not None else None

    @cached_property
    def identity(self) -> str:
        """Equal where the call's types, constants and compile options are. Needs a program."""
        assert self.program is not None
        request = self.program
        constants = sorted(request.constants.items())
        return repr((sorted(request.signature.items()), constants, self.compile_options({})))

    @cached_property
    def program(self) -> Request | None:
        """The request to trace the kernel by; None where its arguments cannot be told."""
        from ascend_autotune.analysis.chips import DEFAULT_CHIP
        from ascend_autotune.analysis.request import resolve

        chip = self.target.chip.name if self.target.chip is not None else DEFAULT_CHIP
        try:
            bound = self.call.bound
            known = {**self.beside, **bound.constants}
            constants = {k: v for k, v in known.items() if k not in self.searched}
            asked = self.compile_options({})
            kernel = knowing(self.kernel, self.call)
            resolved = resolve(kernel, bound.signature, constants, chip, asked, None)
            return replace(resolved, grid=self._grid)
        except AscendAutotuneError as error:
            logger.info("%s: not analysed: %s", self.call.info.name, error)
            return None

    @cached_property
    def _grid(self) -> Any:
        """The grid of a candidate, with the call's own arguments; None where it cannot be told."""
        if self.call.grid_for(middle_tile(self.hints.space(dots=True))) is None:
            return None
        return lambda tile: self.call.grid_for(tile) or (1,)

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """The parameters that the call leaves open."""
        return tuple(n for n in self.hints.params if n not in self.call.arguments)

    def compile_options(self, profile: Mapping[str, object]) -> dict[str, object]:
        """What the compiler is told: the backend's own defaults, the profile, what is fixed."""
        asked = {**backend_defaults(self.target), **profile, **self.call.options}
        return {name: value for name, value in asked.items() if name in OPTIONS}

    # -- what kind of kernel, and what may be tried ------------------------------------------

    @property
    def family(self) -> str:
        """mixcv or vector; "" where no program could be read."""
        return self.classified[0]

    @cached_property
    def classified(self) -> tuple[str, str]:
        """Family and kind, from the program of the first small tile that compiles."""
        from ascend_autotune.analysis.assessing import Assessment, Assessor

        if self.program is None:
            return "", ""
        assessor = Assessor(self.program.instance({}))
        for value in (16, 64, 128, 1):
            tile = {
                name: min(values, key=lambda v: abs(v - value))
                for name, values in self.hints.space(dots=False).items()
                if name in self.searched
            }
            program = assessor.program(tile)
            if not isinstance(program, Assessment):
                from ascend_autotune.analysis.classifier import classify
                from ascend_autotune.analysis.graph import build_graph

                found = classify(build_graph(program[1]))
                return found.family, found.kind
        return "", ""

    @cached_property
    def space(self) -> dict[str, tuple[int, ...]]:
        values = self.hints.space(dots=self.family != "vector")
        return {name: values[name] for name in self.searched}

    @cached_property
    def pruned(self) -> PruneResult | None:
        """The verdicts under what the call fixes; None where nothing is known."""
        from ascend_autotune.analysis.pruning import prune_request

        if self.request is None or not self.space:
            return None
        try:
            return prune_request(self.request, self.request.space(self.space))
        except AscendAutotuneError as error:
            logger.info("%s: not pruned: %s", self.call.info.name, error)
            return None

    @cached_property
    def profiles(self) -> Profiles:
        if self.target.chip is None or self.family not in ("mixcv", "vector"):
            return Profiles(({},))
        names = available(installed_options(self.target), self.target.chip.series)
        return make_profiles(self.family, names, self.call.options)  # type: ignore[arg-type]

    def last_trials(self, best: Config) -> list[Config]:
        """The internal policy: unit flags are tried once, with the best config of a kernel whose
        dots are regular, where nobody has set them."""
        regular = self.classified[1] in _REGULAR
        known = "unit_flag" in installed_options(self.target)
        if not regular or not known or "unit_flag" in self.call.options:
            return []
        return [best.with_profile({**best.profile, "unit_flag": True})]

    def assess(self, tile: Tile, profile: Mapping[str, object]) -> Assessment | None:
        """The verdict of one config; None where nothing is known."""
        if self.request is None:
            return None
        try:
            constants = {n: v for n, v in tile.items() if n in self.call.info.constexprs}
            options = CompileOptions.from_request(
                {k: v for k, v in self.compile_options(profile).items() if k != "num_stages"}
            )
            return self._assessor(constants, options)
        except AscendAutotuneError:
            return None

    def status(self, config: Config) -> str:
        """feasible, infeasible or unknown; "" where nothing is known."""
        found = self.assess(config.candidate, config.profile)
        return "" if found is None else found.status

    @cached_property
    def _assessor(self) -> Callable[..., Assessment]:
        from ascend_autotune.analysis.assessing import Assessor

        assert self.request is not None
        return Assessor(self.request.instance({}))


def knowing(kernel: Any, call: KernelCall) -> Any:
    """The kernel with heuristics that see the call's own arguments, as those of a launch do."""
    if not call.info.heuristics:
        return kernel
    given = {**call.arguments, **call.options}

    def told(heuristic: Callable[..., object]) -> Callable[..., object]:
        return lambda known: heuristic({**given, **known})

    values = {name: told(heuristic) for name, heuristic in call.info.heuristics.items()}
    return SimpleNamespace(fn=unwrap(kernel), arg_names=call.info.arguments, values=values)


def backend_defaults(target: Target) -> dict[str, object]:
    """The compile options that the installed backend passes by itself.

    triton-ascend 3.2.0 has `enable_select_analysis` off on A2 and A3, where newer ones have it
    on: what is judged has to be what is compiled.
    """
    options = _backend_options(target)
    return {
        name: options[name]
        for name in OPTIONS
        if name != "num_stages" and options.get(name) is not None
    }


def installed_options(target: Target) -> frozenset[str]:
    """Options that the installed backend takes and that the compiler's `--help` knows."""
    known = frozenset(_backend_options(target))
    flags = _compiler_flags(target.arch)
    return frozenset(
        name
        for name, option in OPTIONS.items()
        if name in known and (flags is None or option.flag is None or option.flag in flags)
    )


def launch_options(target: Target) -> frozenset[str]:
    """The keywords that the installed backend takes at a launch; empty where it cannot be asked."""
    known = frozenset(_backend_options(target))
    return known | _TAKEN if known else known


def _backend_options(target: Target) -> Mapping[str, object]:
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    try:
        warp = 0 if target.backend == "npu" else 32
        backend = make_backend(GPUTarget(target.backend, target.arch, warp))
        return dict(vars(backend.parse_options({})))
    except Exception:
        return {}


def _compiler_flags(arch: str) -> frozenset[str] | None:
    from ascend_autotune.analysis.judge.toolchain import find_toolchain

    try:
        found = find_toolchain(arch)
    except AscendAutotuneError:
        return None
    return found.compiler.flags | found.adapter.flags

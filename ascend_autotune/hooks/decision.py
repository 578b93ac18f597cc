"""What was decided for a key, and what a call makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ascend_autotune.analysis.judge.flags import OPTIONS
from ascend_autotune.analysis.kernel import apply_heuristics
from ascend_autotune.errors import RequestError
from ascend_autotune.hooks.calls import KernelCall
from ascend_autotune.search.config import Config
from ascend_autotune.search.result import SearchResult


@dataclass(frozen=True)
class Decision:
    """A config as the search has it and as stock Triton shows it.

    `kept`: tuned for its key; a prediction or what was fallen back to is decided anew by the
    next call. `signature`: the types of the call that it was made for.
    """

    chosen: Config
    config: Any
    launch: Mapping[str, Any]
    target: str
    search: SearchResult | None
    signature: Mapping[str, str]
    constants: Mapping[str, Any]
    compile_options: Mapping[str, Any]
    kept: bool = True

    def options_for(self, call: KernelCall) -> dict[str, Any]:
        """The keywords added to a launch: what the call itself gives comes first."""
        return {
            name: value
            for name, value in self.launch.items()
            if name not in call.arguments and name not in call.kwargs
        }

    def record_for(self, call: KernelCall) -> dict[str, Any]:
        """What `explain(kernel)` reads after the call (see `analysis.request.RECORD`)."""
        try:
            signature, constants = call.bound.signature, call.bound.constants
        except ValueError:
            signature, constants = {}, {}
        tile = {n: v for n, v in self.launch.items() if n in call.info.constexprs}
        return {
            "signature": dict(signature),
            "constants": {**computed(call, tile), **tile, **constants},
            "target": self.target,
            "compile_options": {k: v for k, v in self.compile_options.items() if k in OPTIONS},
            "grid": lasting_grid(call),
            "search": self.search,
        }


def computed(call: KernelCall, tile: Mapping[str, Any]) -> dict[str, Any]:
    """What the kernel's heuristics make of a call with this tile."""
    try:
        values = apply_heuristics(call.info, {**call.options, **call.arguments, **tile})
    except RequestError:
        return {}
    return {name: values[name] for name in call.info.heuristics if name not in call.arguments}


def lasting_grid(call: KernelCall) -> Any:
    """The call's grid as a function of the candidate; None where keeping it would keep a
    tensor alive."""
    grid = call.grid
    if not callable(grid):
        return None  # a fixed grid says nothing of another tile's
    held = [cell.cell_contents for cell in getattr(grid, "__closure__", None) or ()]
    held += list(getattr(grid, "__defaults__", None) or ())
    if not hasattr(grid, "__code__") or any(not isinstance(v, int | float | str) for v in held):
        return None
    scalars = {**call.scalars, **call.options}
    return lambda tile: grid({**scalars, **tile})


def triton_config(tile: Mapping[str, Any], profile: Mapping[str, Any]) -> Any:
    """A `triton.Config` that shows both; options that its class does not name go with the tile."""
    import inspect

    from triton.runtime.autotuner import Config as TritonConfig

    named = inspect.signature(TritonConfig.__init__).parameters
    # triton-ascend's takes a fixed list of compiler options beside its named parameters.
    shown = vars(TritonConfig({}))
    fields = {n: v for n, v in profile.items() if n in shown and (n in named or _free(named))}
    rest = {n: v for n, v in profile.items() if n not in fields}
    return TritonConfig({**tile, **rest}, **fields)


def _free(parameters: Mapping[str, Any]) -> bool:
    return any(p.kind is p.VAR_KEYWORD for p in parameters.values())

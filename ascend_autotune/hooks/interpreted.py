"""Under TRITON_INTERPRET=1 there is nothing to compile and nothing to tune: one tile runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ascend_autotune.analysis.judge.flags import OPTIONS
from ascend_autotune.hooks.choosing import middle_tile
from ascend_autotune.hooks.hints import parse_hints


def make_interpreted(fn: Any, inner: Any, given: Mapping[str, Any]) -> Any:
    """An Autotuner that runs the first handwritten config, or one tile."""
    from triton.runtime.autotuner import Autotuner, Config

    parameters = inspect.signature(inner.fn).parameters
    constexprs = [n for n, p in parameters.items() if "constexpr" in str(p.annotation)]
    hints = parse_hints(given["hints"], inner.fn.__name__, list(parameters), constexprs)
    tile = middle_tile(hints.space(dots=True))
    configs = list(given.get("configs") or ()) or [Config(tile)]
    stock = inspect.signature(Autotuner.__init__).parameters
    others = {n: v for n, v in given.items() if n in stock and n not in ("configs", "key")}
    for name in ("reset_to_zero", "restore_value"):
        others.setdefault(name, None)
    if others.get("do_bench") is None:
        others["do_bench"] = lambda call, quantiles: [0.0, 0.0, 0.0]

    class Interpreted(Autotuner):  # type: ignore[misc]
        """Without what is the compiler's alone: the interpreter of 3.2 knows few of its options."""

        def run(self, *args: Any, **kwargs: Any) -> Any:
            named = dict(zip(self.arg_names, args, strict=False))
            config = self.best_config = self.configs[0]
            added = {
                name: value
                for name, value in {**tile, **config.kwargs}.items()
                if name in parameters and name not in named and name not in kwargs
            }
            kwargs = {n: v for n, v in kwargs.items() if n in parameters or n not in OPTIONS}
            if config.pre_hook is not None:
                config.pre_hook({**named, **kwargs, **added})
            return self.fn.run(*args, **kwargs, **added)

    return Interpreted(fn, list(parameters), configs, list(given.get("key") or ()), **others)

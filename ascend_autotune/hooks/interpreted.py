"""Under TRITON_INTERPRET=1 there is nothing to compile and nothing to tune: one tile runs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ascend_autotune.hooks.choosing import middle_tile
from ascend_autotune.hooks.hints import parse_hints


def make_interpreted(fn: Any, inner: Any, given: Mapping[str, Any]) -> Any:
    """Triton's own Autotuner over the handwritten configs, or over one tile."""
    from triton.runtime.autotuner import Autotuner, Config

    parameters = inspect.signature(inner.fn).parameters
    constexprs = [n for n, p in parameters.items() if "constexpr" in str(p.annotation)]
    hints = parse_hints(given["hints"], inner.fn.__name__, list(parameters), constexprs)
    configs = list(given.get("configs") or ()) or [Config(middle_tile(hints.space(dots=True)))]
    stock = inspect.signature(Autotuner.__init__).parameters
    others = {n: v for n, v in given.items() if n in stock and n not in ("configs", "key")}
    for name in ("reset_to_zero", "restore_value"):
        others.setdefault(name, None)
    others.setdefault("do_bench", lambda call, quantiles: [0.0, 0.0, 0.0])
    return Autotuner(fn, list(parameters), configs, list(given.get("key") or ()), **others)

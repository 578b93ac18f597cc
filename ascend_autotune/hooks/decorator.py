"""The `autotune` that stands in for Triton's: the same arguments, and hints that are obeyed."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from ascend_autotune.hooks import hints as _hints
from ascend_autotune.hooks.installing import OFF

# Positional order of triton 3.2 to 3.9; triton-ascend has `hints` third.
_UPSTREAM = (
    "configs",
    "key",
    "prune_configs_by",
    "reset_to_zero",
    "restore_value",
    "pre_hook",
    "post_hook",
    "warmup",
    "rep",
    "use_cuda_graph",
    "do_bench",
)
# What only some builds have; elsewhere they are taken and have no effect on stock tuning.
_EXTRA = ("hints", "cache_results", "auto_profile_dir")
_PRUNERS = frozenset({"perf_model", "top_k", "early_config_prune", "prune_num_stages_by"})


def make_autotune(stock: Callable[..., Any]) -> Callable[..., Any]:
    """`triton.autotune` with the search behind it; `stock` is Triton's own decorator."""
    order = tuple(inspect.signature(stock).parameters)

    @wraps(stock)
    def autotune(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        given = bind(order, args, kwargs)

        def decorate(fn: Any) -> Any:
            if _hints.wants_search(given.get("hints")) and os.environ.get(OFF) != "0":
                from ascend_autotune.hooks.tuner import make_tuner

                return make_tuner(fn, given)
            return plain(stock, order, given)(fn)

        return decorate

    autotune.__ascend_autotune__ = True  # type: ignore[attr-defined]
    return autotune


def bind(order: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, however this or another build of Triton would take them.

    Raises `TypeError` as a call of the stock decorator would.
    """
    positional = list(order)
    third = args[2] if len(args) > 2 else None
    # A call written for the other build: told by what stands third.
    if isinstance(third, Mapping) and third:
        if "hints" not in order and not _PRUNERS & set(third):
            positional = [*_UPSTREAM[:2], "hints", *_UPSTREAM[2:]]
        elif "hints" in order and _PRUNERS & set(third):
            positional = [name for name in order if name != "hints"]
    if len(args) > len(positional):
        raise TypeError(
            f"autotune() takes {len(positional)} positional arguments but {len(args)} were given"
        )
    given = dict(zip(positional, args, strict=False))
    known = {*positional, *order, *_UPSTREAM, *_EXTRA}
    for name, value in kwargs.items():
        if name not in known:
            raise TypeError(f"autotune() got an unexpected keyword argument {name!r}")
        if name in given:
            raise TypeError(f"autotune() got multiple values for argument {name!r}")
        given[name] = value
    searched = _hints.wants_search(given.get("hints"))
    missing = [name for name in ("configs", "key") if name not in given and not searched]
    if missing:
        raise TypeError(
            f"autotune() missing {len(missing)} required positional argument"
            f"{'s' if len(missing) > 1 else ''}: {' and '.join(map(repr, missing))}"
        )
    return given


def plain(
    stock: Callable[..., Any], order: Sequence[str], given: Mapping[str, Any]
) -> Callable[[Any], Any]:
    """Triton's own decorator with these arguments, less those that this build does not have.

    Triton 3.2 and triton-ascend ask the driver for its timer here already: they get one that
    asks when it is first used.
    """
    kept = {name: value for name, value in given.items() if name in order}
    timed = any(kept.get(name) is not None for name in ("warmup", "rep", "do_bench"))
    if not timed and not kept.get("use_cuda_graph"):
        from triton.runtime.autotuner import Autotuner

        if "do_bench" not in vars(Autotuner):  # later releases ask lazily themselves
            kept["do_bench"] = drivers_benchmark
    return stock(**kept)  # type: ignore[no-any-return]


def drivers_benchmark(*args: Any, **kwargs: Any) -> Any:
    """The active driver's own timer, looked up when it is called."""
    from triton.runtime.driver import driver

    return driver.active.get_benchmarker()(*args, **kwargs)

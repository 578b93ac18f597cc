"""The `autotune` that stands in for Triton's: the same arguments, and hints that are obeyed."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import Any

from ascend_autotune.hooks.asking import complain, wants_search
from ascend_autotune.hooks.installing import OFF

# Positional order of triton 3.2; 3.5 to 3.9 have `cache_results` last, triton-ascend `hints` third.
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
            if os.environ.get(OFF) == "0":
                return plain(stock, order, given)(fn)
            if wants_search(given.get("hints")):
                from ascend_autotune.hooks.tuner import make_tuner

                return make_tuner(fn, given)
            if given.get("hints"):
                complain(given["hints"])
            return plain(stock, order, given)(fn)

        return decorate

    autotune.__ascend_autotune__ = True  # type: ignore[attr-defined]
    return autotune


def bind(order: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, however this or another build of Triton would take them.

    Raises `TypeError` as a call of the stock decorator would.
    """
    positional = _written_for(order, args)
    if len(args) > len(positional):
        raise TypeError(
            f"autotune() takes from 2 to {len(positional)} positional arguments but {len(args)} "
            f"were given"
        )
    given = dict(zip(positional, args, strict=False))
    known = {*positional, *order, *_UPSTREAM, *_EXTRA}
    for name, value in kwargs.items():
        if name not in known:
            raise TypeError(f"autotune() got an unexpected keyword argument {name!r}")
        if name in given:
            raise TypeError(f"autotune() got multiple values for argument {name!r}")
        given[name] = value
    searched = wants_search(given.get("hints"))
    missing = [name for name in ("configs", "key") if name not in given and not searched]
    if missing:
        raise TypeError(
            f"autotune() missing {len(missing)} required positional argument"
            f"{'s' if len(missing) > 1 else ''}: {' and '.join(map(repr, missing))}"
        )
    return given


def _written_for(order: Sequence[str], args: Sequence[Any]) -> Sequence[str]:
    """The order that positional arguments are in: `order`, unless they only fit the other
    build's, where `hints` are third or are not."""
    if "hints" in order:
        other = [name for name in order if name in _UPSTREAM] + ["cache_results"]
    else:
        other = [*_UPSTREAM[:2], "hints", *_UPSTREAM[2:], "auto_profile_dir"]
    fits = [
        all(_could_be(name, value) for name, value in zip(names, args, strict=False))
        for names in (order, other)
    ]
    return other if fits == [False, True] else order


def _could_be(name: str, value: Any) -> bool:
    """May this be the argument of that name, by its type?"""
    if value is None:
        return True
    if name in ("hints", "prune_configs_by"):
        prunes = isinstance(value, Mapping) and bool(_PRUNERS & set(value))
        return isinstance(value, Mapping) and (not value or prunes == (name != "hints"))
    if name in ("reset_to_zero", "restore_value"):
        return isinstance(value, Collection) and not isinstance(value, str | Mapping)
    if name in ("pre_hook", "post_hook", "do_bench"):
        return callable(value)
    if name in ("warmup", "rep", "use_cuda_graph", "cache_results"):
        return isinstance(value, int | float)
    if name == "auto_profile_dir":
        return isinstance(value, str | os.PathLike)
    return True


def plain(
    stock: Callable[..., Any], order: Sequence[str], given: Mapping[str, Any]
) -> Callable[[Any], Any]:
    """Triton's own decorator with these arguments, less those that this build does not have.

    Triton 3.2 and triton-ascend ask the driver for its timer here already: they get one that
    asks when it is first used.
    """
    from triton.runtime.autotuner import Autotuner

    kept = {name: value for name, value in given.items() if name in order}
    timed = any(kept.get(name) is not None for name in ("warmup", "rep"))
    if timed or kept.get("use_cuda_graph") or "do_bench" in vars(Autotuner):
        return stock(**kept)  # type: ignore[no-any-return]
    if not _hands_on(stock, "do_bench"):  # Triton 3.2.0 takes it and drops it
        kept = {"reset_to_zero": None, "restore_value": None, **kept, "do_bench": drivers_benchmark}
        return lambda fn: Autotuner(fn, fn.arg_names, **kept)
    if kept.get("do_bench") is None:
        kept["do_bench"] = drivers_benchmark
    return stock(**kept)  # type: ignore[no-any-return]


def _hands_on(stock: Callable[..., Any], name: str) -> bool:
    """Does the decorator give this argument to what it makes?"""
    return any(name in getattr(part, "co_freevars", ()) for part in stock.__code__.co_consts)


def drivers_benchmark(*args: Any, **kwargs: Any) -> Any:
    """The active driver's own timer, looked up when it is called."""
    from triton.runtime.driver import driver

    return driver.active.get_benchmarker()(*args, **kwargs)

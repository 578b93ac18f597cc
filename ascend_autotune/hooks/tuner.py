"""The tuned kernel: Triton's own Autotuner with another way to its config."""

from __future__ import annotations

import inspect
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import KernelInterface

from ascend_autotune.analysis.judge.flags import OPTIONS
from ascend_autotune.analysis.kernel import KernelInfo, describe, unwrap
from ascend_autotune.analysis.request import RECORD
from ascend_autotune.analysis.suggest import did_you_mean
from ascend_autotune.errors import RequestError
from ascend_autotune.hooks.calls import KernelCall, bucket_of
from ascend_autotune.hooks.decorator import drivers_benchmark
from ascend_autotune.hooks.hints import Hints, parse_hints
from ascend_autotune.hooks.quiet import quiet
from ascend_autotune.hooks.reading import Reader, Shape, Token, make_reader
from ascend_autotune.hooks.situation import launch_options
from ascend_autotune.hooks.target import active_target, capturing
from ascend_autotune.search.lessons import Lessons

logger = logging.getLogger("ascend_autotune")
Decorated = Mapping[str, Any]
KEEP = "TRITON_CACHE_AUTOTUNING"
"""Triton's own switch for `cache_results` everywhere (3.5 and later)."""


@dataclass(frozen=True)
class Chosen:
    """What a call of this kind runs with: the config as stock Triton shows it, the keywords
    that are added to the launch, and the record for `explain`."""

    config: Any
    options: Mapping[str, Any]
    pre_hook: Callable[[dict[str, Any]], object] | None
    record: Mapping[str, Any]


@dataclass
class _Known:
    """Of one key: the config, by token the calls that it serves, and a lock to tune once."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    decision: Any = None


class SearchTuner(Autotuner):  # type: ignore[misc]
    """`@triton.autotune` with `search_params`: tunes once per key, then launches as stock."""

    def __init__(self, fn: Any, given: Decorated, info: KernelInfo, hints: Hints) -> None:
        stock = inspect.signature(Autotuner.__init__).parameters
        others = {
            name: value for name, value in given.items() if name in stock and name != "configs"
        }
        others["key"] = list(given.get("key") or ())
        self.bounds_ms = (given.get("warmup"), given.get("rep"))
        self.benched_by_user = given.get("do_bench") is not None or bool(
            given.get("use_cuda_graph")
        )
        self.timed_by_user = self.benched_by_user or self.bounds_ms != (None, None)
        if not self.timed_by_user:
            others["do_bench"] = drivers_benchmark
        for name in ("reset_to_zero", "restore_value"):
            others.setdefault(name, None)
        self.handwritten = list(given.get("configs") or ())
        super().__init__(fn, list(info.arguments), self.handwritten, **others)
        self.launched = below_caches(fn)
        self.keeps_results = bool(given.get("cache_results")) or os.environ.get(KEEP) == "1"
        self.info = info
        self.hints = hints
        self.search_params = {n: list(v) for n, v in hints.space(dots=True).items()}
        self.lessons = Lessons()
        self.unspecialised = tuple(p.name for p in unwrap(fn).params if p.do_not_specialize)
        self.buckets = {name: bucket_of(name, how) for name, how in hints.key_buckets.items()}
        self._shape = Shape(
            info.arguments, frozenset(self.keys), frozenset(info.constexprs), self.buckets
        )
        self._readers: dict[tuple[int, tuple[str, ...]], Reader] = {}
        self._chosen: dict[Token, Chosen] = {}
        self._known: dict[tuple[object, ...], _Known] = {}
        self._lock = threading.Lock()
        self.said: set[str] = set()
        self.trials = 0

    def run(self, *args: Any, **kwargs: Any) -> Any:
        try:
            chosen = self._chosen[self._readers[len(args), tuple(kwargs)](args, kwargs)]
        except (KeyError, TypeError):
            chosen = None  # outside of this handler, so that its errors are not shown as causes
        if chosen is None:
            return self._first_run(args, kwargs)
        return self._launch(chosen, args, kwargs)

    def _first_run(self, args: Any, kwargs: dict[str, Any]) -> Any:
        with quiet():
            chosen = self._choose(args, kwargs)
            if chosen is not None:
                return self._launch(chosen, args, kwargs)
            above = sys._getframe(2).f_globals.get("__name__", "")
            if str(above).startswith("triton."):
                return None  # the user's own call: nothing is made of what it returns
            return self._kernel_for(args, kwargs)

    def _launch(self, chosen: Chosen, args: Any, kwargs: dict[str, Any]) -> Any:
        self.best_config = chosen.config
        self.__ascend_autotune_record__ = chosen.record
        if chosen.pre_hook is not None:
            given = dict(zip(self.arg_names, args, strict=False))
            chosen.pre_hook({**given, **kwargs, **chosen.options})
        grid = kwargs.get("grid")
        if callable(grid):
            kwargs["grid"] = _unless_empty(grid)
        elif isinstance(grid, tuple | list) and 0 in grid:
            return self._compiled(chosen.options, args, kwargs)
        try:
            return self.launched.run(*args, **kwargs, **chosen.options)
        except _EmptyGrid:
            return self._compiled(chosen.options, args, kwargs)

    def _compiled(self, options: Mapping[str, Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
        """What a launch returns, with nothing launched."""
        return self.launched.run(*args, **{**kwargs, **options, "grid": None, "warmup": True})

    def _kernel_for(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The kernel for a first call that launches nothing. A wrapper such as FlagGems'
        libentry keeps it, and the config, for calls that do. None where there is none."""
        from ascend_autotune.hooks.tuning import predict

        call = self._call(args, kwargs)
        try:
            decision = predict(self, call)
            self.best_config = decision.config
            return self._compiled(decision.options_for(call), args, kwargs)
        except Exception as error:
            logger.info("%s: nothing to compile for an empty grid: %s", self.info.name, error)
            return None

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Compile what a call with these arguments would run with; nothing is timed."""
        call = self._call(args, {"grid": None, **kwargs})
        from ascend_autotune.hooks.tuning import predict

        known = self._known.get(self._key(call))
        decision = known.decision if known is not None else None
        options = (decision or predict(self, call)).options_for(call)
        return [self.launched.warmup(*args, **{**kwargs, **options})]

    # -- the way to a config ---------------------------------------------------------------

    def _call(self, args: Any, kwargs: Mapping[str, Any]) -> KernelCall:
        return KernelCall(self.info, args, kwargs, self.unspecialised)

    def _key(self, call: KernelCall) -> tuple[object, ...]:
        key = call.key(self.keys, self.buckets, active_target().arch)
        fixed = tuple(f"{n}={call.arguments[n]}" for n in self.hints.params if n in call.arguments)
        key = (*key, *fixed)
        try:
            hash(key)
        except TypeError:
            key = tuple(map(repr, key))
        return key

    def _choose(self, args: Any, kwargs: dict[str, Any]) -> Chosen | None:
        """The config for a call that was not met before; None where it launches nothing."""
        from ascend_autotune.hooks import tuning

        call = self._call(args, kwargs)
        self._complain(call)
        if tuning.launches_nothing(self, call):
            return None
        key = self._key(call)
        with self._lock:
            known = self._known.setdefault(key, _Known())
        if capturing():  # a measurement's synchronisation would break the graph
            decision = known.decision or tuning.predict(self, call)
            return self._as_chosen(decision, call)
        with known.lock:
            if known.decision is None or not tuning.still_holds(self, call, known.decision):
                before = self.trials
                try:
                    decision = tuning.tune(self, call, key)
                except Exception as error:
                    # What `explain` shows of a call that failed is that call.
                    self.__ascend_autotune_record__ = tuning.failed_record(self, call, error)
                    raise
                if decision.kept:
                    known.decision = decision
                    self.cache[key] = decision.config
                if self.trials > before:  # as stock: what trials have added up is reset
                    given = dict(zip(self.arg_names, args, strict=False))
                    self.pre_hook(
                        {**given, **kwargs, **decision.options_for(call)}, reset_only=True
                    )
            else:
                decision = known.decision
        chosen = self._as_chosen(decision, call)
        if decision.kept or decision.search is None:  # an interrupted search is made up for
            self._remember(args, kwargs, chosen)
        return chosen

    def _complain(self, call: KernelCall) -> None:
        """Raise for a call that no config could mend, as the launch would: `TypeError` for
        arguments that are missing or too many, `KeyError` for an unknown launch option."""
        if len(call.args) > len(self.info.arguments):
            raise TypeError(
                f"{self.info.name}() takes {len(self.info.arguments)} arguments, "
                f"{len(call.args)} were given"
            )
        known = launch_options(active_target())
        for name in call.options:
            if known and name not in known:
                raise KeyError(f"Keyword argument {name} was specified but unrecognised")
        for name in self.info.arguments[: len(call.args)]:
            if name in call.kwargs:
                raise TypeError(f"{self.info.name}() got multiple values for argument {name!r}")
        brought = {*self.hints.params, *self.info.defaults, *self.info.heuristics}
        brought |= {name for config in self.handwritten for name in config.kwargs}
        missing = [n for n in self.info.arguments if n not in call.arguments and n not in brought]
        if missing:
            raise TypeError(
                f"{self.info.name}() missing {len(missing)} required argument"
                f"{'s' if len(missing) > 1 else ''}: {', '.join(map(repr, missing))}"
            )

    def _as_chosen(self, decision: Any, call: KernelCall) -> Chosen:
        options = decision.options_for(call)
        return Chosen(
            decision.config,
            options,
            getattr(decision.config, "pre_hook", None),
            decision.record_for(call),
        )

    def _remember(self, args: Any, kwargs: Mapping[str, Any], chosen: Chosen) -> None:
        names = tuple(kwargs)
        reader = self._readers.get((len(args), names))
        if reader is None:
            reader = make_reader(self._shape, len(args), names)
        try:
            self._chosen[reader(args, kwargs)] = chosen
        except TypeError:
            return  # an argument that cannot be hashed: each call goes the long way
        self._readers[len(args), names] = reader


class _EmptyGrid(Exception):
    """Raised between Triton's look at the grid and its launch."""


def _unless_empty(grid: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def shape(meta: Any) -> Any:
        dims = grid(meta)
        if 0 in dims:
            raise _EmptyGrid
        return dims

    return shape


def below_caches(fn: Any) -> Any:
    """What to launch so that a compile option reaches the compiler.

    A wrapper such as FlagGems' libentry keeps compiled kernels by argument and not by option:
    beneath the tuner, every profile would be the first one's binary.
    """
    while isinstance(fn, KernelInterface) and not type(fn).__module__.startswith("triton."):
        inner = getattr(fn, "fn", None)
        if not isinstance(inner, KernelInterface):
            break
        fn = inner
    return fn


def make_tuner(fn: Any, given: Decorated) -> Any:
    """The tuned kernel for a decorator's arguments. Raises `RequestError` for what is wrong."""
    inner = fn
    while hasattr(inner, "fn") and type(inner).__name__ != "InterpretedFunction":
        if inspect.isfunction(inner.fn):
            break
        inner = inner.fn
    if type(inner).__name__ == "InterpretedFunction":
        from ascend_autotune.hooks.interpreted import make_interpreted

        return make_interpreted(fn, inner, given)
    info = describe(fn)
    hints = parse_hints(given["hints"], info.name, info.arguments, info.constexprs)
    for where in ("key", "reset_to_zero", "restore_value"):
        for name in given.get(where) or ():
            if name not in info.arguments:
                raise RequestError(
                    f"{where}: {info.name} has no argument {name!r}"
                    f"{did_you_mean(str(name), info.arguments)}"
                )
    for config in given.get("configs") or ():
        for name in config.kwargs:
            if name not in info.arguments and name not in OPTIONS:
                raise RequestError(
                    f"configs: {info.name} has no parameter {name!r}"
                    f"{did_you_mean(str(name), info.constexprs)}"
                )
    for name in hints.key_buckets:
        if name not in (given.get("key") or ()):
            raise RequestError(f"search_params: key_buckets names {name!r}, which is not in key")
    return SearchTuner(fn, given, info, hints)


assert RECORD == "__ascend_autotune_record__"  # the attribute that `SearchTuner.run` sets

"""`hints`: what the user asks of the search, checked when the kernel is decorated.

Source of the fields of `search_params`: guide.zh.txt and facts.md §5. The axis hints
(`split_params` and so on) are those of triton-ascend's own autotuner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, cast

from ascend_autotune.analysis.judge.flags import OPTIONS
from ascend_autotune.analysis.suggest import did_you_mean
from ascend_autotune.errors import RequestError
from ascend_autotune.hooks.asking import wants_search as wants_search
from ascend_autotune.hooks.checks import (
    flag,
    function,
    integer,
    integers,
    one_of,
    positive,
    tolerances,
)

Mode = Literal["search", "prune", "static"]
Effort = Literal["quick", "default", "full"]
Isolate = Literal["auto", "always", "never"]
Bucket = str | Sequence[int] | Callable[[Any], object]

DEFAULT_VALUES = (16, 32, 64, 128, 256, 512, 1024, 2048)
"""The guide's default values of a searched parameter."""
VECTOR_VALUES = (1, 2, 4, 8, *DEFAULT_VALUES, 4096, 8192)
"""For a kernel without tl.dot."""

_MODES = ("search", "prune", "static")
_EFFORTS = ("quick", "default", "full")
_ISOLATE = ("auto", "always", "never")
_AXES = ("split_params", "tiling_params", "low_dim_axes", "reduction_axes")
# Fields of the earlier implementation's own search method: taken, of no effect on this one.
_OLD_METHOD = (
    "shape_initial_percentiles",
    "shape_refine_rounds",
    "seed_budget",
    "max_compile_trials_per_shape",
    "neighbors_per_step",
    "candidate_pool_per_shape",
    "max_stage1_children_per_round",
)
_MS = ("stage1_bench_warmup", "stage1_bench_rep", "bench_warmup", "bench_active")
_SEARCH_FIELDS = (
    "params",
    "values",
    "constraints",
    "shape_final_top_k",
    "debug",
    "reference_fn",
    "tolerances",
    "budget_s",
    "effort",
    "strict",
    "key_buckets",
    "mode",
    "seed",
    "isolate",
    "compile_options",
    *_MS,
    *_OLD_METHOD,
)
# May stand beside `search_params` too.
_OUTSIDE = ("debug", "strict", "mode", "effort", "budget_s", "key_buckets", "compile_options")
_TOP_FIELDS = ("search_params", *_AXES, "auto_gen_config", "enable_ascend_autotune", *_OUTSIDE)


@dataclass(frozen=True)
class Hints:
    """What is asked of a search.

    `params`: the searched tl.constexpr parameters. `values`: those given, by parameter; a
    parameter not in it takes the defaults. `timing_ms`: bounds in ms by field name.
    `generate`: search even beside handwritten configs (triton-ascend's auto_gen_config).
    `notices`: what has to be said once.
    """

    params: tuple[str, ...]
    values: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    constraints: Callable[[dict[str, Any]], object] | None = None
    shape_final_top_k: int = 3
    debug: bool = False
    reference_fn: Callable[..., object] | None = None
    tolerances: Mapping[str, tuple[float, float]] | None = None
    budget_s: float | None = None
    effort: Effort = "default"
    strict: bool = False
    key_buckets: Mapping[str, Bucket] = field(default_factory=lambda: MappingProxyType({}))
    mode: Mode = "search"
    seed: int = 0
    isolate: Isolate = "auto"
    timing_ms: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    family: str | None = None
    generate: bool = False
    notices: tuple[str, ...] = ()

    def space(self, *, dots: bool) -> dict[str, tuple[int, ...]]:
        """Values per searched parameter, for a kernel with or without tl.dot."""
        default = DEFAULT_VALUES if dots else VECTOR_VALUES
        return {name: self.values.get(name, default) for name in self.params}


def parse_hints(
    hints: Mapping[str, object], kernel: str, arguments: Sequence[str], constexprs: Sequence[str]
) -> Hints:
    """Check hints against the kernel. Raises `RequestError` naming the closest or the mend."""
    _known("hints", hints, _TOP_FIELDS)
    given = hints.get("search_params")
    if given is None:
        search: dict[str, object] = {}
    elif isinstance(given, Mapping):
        search = dict(given)
    else:
        raise RequestError(
            f"hints: search_params is {given!r}: give a dict such as {{'params': ['BLOCK_M']}}"
        )
    _known("search_params", search, _SEARCH_FIELDS)
    for name in _OUTSIDE:
        if name in hints:
            if name in search and search[name] != hints[name]:
                raise RequestError(f"hints: {name} is given twice, with different values")
            search[name] = hints[name]
    params = _params(hints, search, kernel, arguments, constexprs)
    notices = _notices(search)
    return Hints(
        params=params,
        values=_values(search.get("values"), params),
        constraints=function("constraints", search.get("constraints")),
        shape_final_top_k=integer("shape_final_top_k", search.get("shape_final_top_k", 3), 1),
        debug=flag("debug", search.get("debug", False)),
        reference_fn=function("reference_fn", search.get("reference_fn")),
        tolerances=tolerances(search.get("tolerances")),
        budget_s=positive("budget_s", search.get("budget_s")),
        effort=one_of("effort", search.get("effort", "default"), _EFFORTS),
        strict=flag("strict", search.get("strict", False)),
        key_buckets=_buckets(search.get("key_buckets"), arguments),
        mode=one_of("mode", search.get("mode", "search"), _MODES),
        seed=integer("seed", search.get("seed", 0), 0),
        isolate=one_of("isolate", search.get("isolate", "auto"), _ISOLATE),
        timing_ms={
            name: float(value)
            for name in _MS
            if (value := positive(name, search.get(name))) is not None
        },
        family=_family(search.get("compile_options")),
        generate=flag("auto_gen_config", hints.get("auto_gen_config", False)),
        notices=notices,
    )


def _known(where: str, given: Mapping[str, object], fields: Sequence[str]) -> None:
    for name in given:
        if name == "unit_flag":
            raise RequestError(_UNIT_FLAG)
        if name not in fields:
            if where == "hints" and name in _SEARCH_FIELDS:
                raise RequestError(f"hints: {name} belongs inside search_params")
            if name in OPTIONS:
                raise RequestError(
                    f"{where}: compile options such as {name} are searched by themselves; to fix "
                    f"one, give it when the kernel is called"
                )
            raise RequestError(f"{where}: unknown field {name!r}{did_you_mean(str(name), fields)}")


_UNIT_FLAG = (
    "search_params: unit_flag is not searched: the tuner tries it by its own policy, for it can "
    "change what a kernel computes where its dots are irregular; take it out"
)


def _params(
    hints: Mapping[str, object],
    search: Mapping[str, object],
    kernel: str,
    arguments: Sequence[str],
    constexprs: Sequence[str],
) -> tuple[str, ...]:
    asked: list[object] = []
    if "params" in search:
        given = search["params"]
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise RequestError(f"search_params: params is {given!r}: give a list of names")
        asked += given
    elif isinstance(search.get("values"), Mapping):
        asked += list(cast(Mapping[str, object], search["values"]))
    for name in ("split_params", "tiling_params"):
        axes = hints.get(name)
        if axes is None:
            continue
        if not isinstance(axes, Mapping):
            raise RequestError(f"hints: {name} is {axes!r}: give a dict of axis to parameter")
        asked += axes.values()
    if not asked:
        known = ", ".join(constexprs) or "none: the kernel has no tl.constexpr parameter"
        raise RequestError(f"search_params: params names nothing to search (possible: {known})")
    for name in map(str, asked):
        if name == "unit_flag":
            raise RequestError(_UNIT_FLAG)
        if name in constexprs:
            continue
        if name in arguments:
            raise RequestError(
                f"search_params: {name} is a runtime argument of {kernel}, so it cannot be "
                f"searched: declare it tl.constexpr"
            )
        if name in OPTIONS:
            raise RequestError(
                f"search_params: {name} is a compile option; those are searched by themselves"
            )
        raise RequestError(
            f"search_params: {kernel} has no tl.constexpr parameter {name!r}"
            f"{did_you_mean(name, constexprs)}"
        )
    return tuple(dict.fromkeys(map(str, asked)))


def _values(given: object, params: Sequence[str]) -> Mapping[str, tuple[int, ...]]:
    if given is None:
        return MappingProxyType({})
    if not isinstance(given, Mapping):
        listed = integers("values", given)
        return MappingProxyType({name: listed for name in params})
    for name in given:
        if name not in params:
            raise RequestError(
                f"search_params: values names {name!r}, which is not among params"
                f"{did_you_mean(str(name), params)}"
            )
    return MappingProxyType({n: integers(f"values[{n!r}]", v) for n, v in given.items()})


def _buckets(given: object, arguments: Sequence[str]) -> Mapping[str, Bucket]:
    if given is None:
        return MappingProxyType({})
    if not isinstance(given, Mapping):
        raise RequestError(f"search_params: key_buckets is {given!r}: give a dict by argument")
    for name, bucket in given.items():
        if name not in arguments:
            raise RequestError(
                f"search_params: key_buckets names no argument of the kernel: {name!r}"
                f"{did_you_mean(str(name), arguments)}"
            )
        edges = isinstance(bucket, Sequence) and not isinstance(bucket, str)
        if bucket != "pow2" and not callable(bucket) and not edges:
            raise RequestError(
                f"search_params: key_buckets[{name!r}] is {bucket!r}: give 'pow2', a list of "
                f"edges or a function"
            )
        if edges:
            integers(f"key_buckets[{name!r}]", bucket)
    return dict(given)


def _family(given: object) -> str | None:
    if given is None:
        return None
    if given not in ("mixcv", "vector"):
        raise RequestError(
            f"search_params: compile_options is {given!r}: leave it out, the family is inferred; "
            f"to fix an option, give it when the kernel is called"
        )
    return str(given)


def _notices(search: Mapping[str, object]) -> tuple[str, ...]:
    said = []
    if search.get("compile_options") is not None:
        said.append(
            f"compile_options={search['compile_options']!r} is not needed: the family is inferred"
        )
    old = [name for name in _OLD_METHOD if name in search]
    if old:
        said.append(f"{', '.join(old)}: no effect on this search; bound it with effort or budget_s")
    return tuple(said)

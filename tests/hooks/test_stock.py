"""Without `search_params` the decorator is Triton's own: each case runs through both.

What is compared is all that can be seen: what was launched with which options, which hooks ran
in which order with what, what was raised, what stands in the cache.
"""

from __future__ import annotations

import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import plain_kernels
import pytest
import triton
from fake_triton import ASCEND, Events, FakeDriver, Launch, Tensor, fake_device, no_device
from triton.runtime.errors import OutOfResources

from ascend_autotune.hooks.decorator import bind, make_autotune

Config = triton.Config
Autotune = Callable[..., Any]


class Scene:
    """One device, one kernel's tensors, and everything that happens to them."""

    def __init__(self, autotune: Autotune) -> None:
        self.autotune = autotune
        self.events = Events()
        self.driver = FakeDriver(effect=self.launched, times=self.time_of)
        self.times: dict[int, float] = {}
        self.fails: dict[int, Exception] = {}
        self.x = Tensor(name="X", value=3.0, events=self.events)
        self.y = Tensor(name="Y", value=5.0, events=self.events)

    def launched(self, launch: Launch) -> None:
        block = launch.constants.get("BLOCK")
        self.events.note(
            "launch", launch.grid, block, launch["num_warps"], launch["num_stages"], self.x.value
        )
        self.x.value += 1
        self.y.value += 1
        if block in self.fails:
            raise self.fails[block]

    def time_of(self, launch: Launch) -> float:
        return self.times.get(launch.constants.get("BLOCK", 0), 1.0)

    def do_bench(self, call: Callable[[], object], quantiles: Any) -> Any:
        self.events.note("bench", quantiles)
        return self.driver.do_bench(call, quantiles)

    def hook(self, name: str) -> Callable[..., None]:
        def pre_hook(kwargs: Mapping[str, Any], reset_only: bool = False) -> None:
            shown = {k: v if isinstance(v, int | float) else str(v) for k, v in kwargs.items()}
            shown.pop("grid", None)
            self.events.note(name, reset_only, shown)

        return pre_hook

    def post_hook(self, kwargs: Mapping[str, Any], exception: Exception | None) -> None:
        self.events.note("post", sorted(kwargs), repr(exception))

    def decorate(self, *args: Any, kernel: Any = plain_kernels.scale, **kwargs: Any) -> Any:
        return self.autotune(*args, **kwargs)(plain_kernels.jit(kernel))

    def call(self, tuned: Any, n: int = 100, **kwargs: Any) -> None:
        self.attempt(lambda: tuned[self.grid](self.x, self.y, n, **kwargs))
        self.events.note("best", str(getattr(tuned, "best_config", None)))
        self.events.note("cache", {str(k): str(v) for k, v in tuned.cache.items()})
        self.events.note("values", self.x.value, self.y.value)

    def attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:
            self.events.note("raised", type(error).__name__, str(error))

    @staticmethod
    def grid(meta: Mapping[str, Any]) -> tuple[int, ...]:
        return (triton.cdiv(100, meta["BLOCK"]),)


SCENES: list[Callable[[Scene], None]] = []


def scene(function: Callable[[Scene], None]) -> Callable[[Scene], None]:
    SCENES.append(function)
    return function


def two(**options: Any) -> list[Any]:
    return [Config({"BLOCK": 16}, **options), Config({"BLOCK": 32}, num_warps=8, **options)]


@scene
def the_fastest_wins_and_is_kept(s: Scene) -> None:
    s.times = {16: 2.0, 32: 1.0}
    tuned = s.decorate(two(), ["N"])
    s.call(tuned)
    s.call(tuned)
    s.call(tuned, 200)
    s.x.dtype = "float32"
    s.call(tuned)


@scene
def the_first_wins_where_equal(s: Scene) -> None:
    s.call(s.decorate(two(), key=["N"], do_bench=s.do_bench))


@scene
def arguments_by_name(s: Scene) -> None:
    tuned = s.decorate(configs=two(), key=["N"])
    s.attempt(lambda: tuned[s.grid](X=s.x, Y=s.y, N=100))
    s.attempt(lambda: tuned[s.grid](s.x, N=100, Y=s.y))
    s.events.note(len(tuned.cache))


@scene
def no_key(s: Scene) -> None:
    tuned = s.decorate(two(), [])
    s.call(tuned, 100)
    s.call(tuned, 200)


@scene
def one_config_is_not_timed(s: Scene) -> None:
    s.call(s.decorate(two(pre_hook=s.hook("own"))[:1], ["N"], pre_hook=s.hook("pre")))


@scene
def no_config(s: Scene) -> None:
    tuned = s.decorate([], ["N"])
    s.call(tuned, BLOCK=64)
    s.call(tuned)


@scene
def launch_options_pass_through(s: Scene) -> None:
    tuned = s.decorate([Config({"BLOCK": 16})], ["N"])
    s.call(tuned, num_warps=2)
    s.call(tuned, no_such_option=1)
    s.call(s.decorate(two(), ["N"]), no_such_option=1)


@scene
def a_parameter_given_twice(s: Scene) -> None:
    s.call(s.decorate(two(), ["N"]), BLOCK=64)
    s.call(s.decorate(two()[:1], ["N"]), BLOCK=64)


@scene
def restore_value(s: Scene) -> None:
    s.call(s.decorate(two(), ["N"], restore_value=["X"], do_bench=s.do_bench))


@scene
def restore_value_of_a_launch_that_fails(s: Scene) -> None:
    s.fails[16] = RuntimeError("device lost")
    s.call(s.decorate(two(), ["N"], restore_value=["X"]))


@scene
def reset_to_zero(s: Scene) -> None:
    tuned = s.decorate(two(), ["N"], reset_to_zero=["Y"], do_bench=s.do_bench)
    s.call(tuned)
    s.call(tuned)


@scene
def reset_and_restore(s: Scene) -> None:
    s.call(s.decorate(two(), ["N"], None, reset_to_zero=["Y"], restore_value=["X"]))


@scene
def reset_of_nothing(s: Scene) -> None:
    tuned = s.decorate(two(), ["N"], reset_to_zero=["Y"], restore_value=["X"])
    s.attempt(lambda: tuned[s.grid](s.x, None, 100))


@scene
def names_that_are_no_arguments(s: Scene) -> None:
    for where in ("reset_to_zero", "restore_value"):
        s.attempt(lambda where=where: s.call(s.decorate(two(), ["N"], **{where: ["Q"]})))
    s.attempt(lambda: s.call(s.decorate(two(), ["M"])))


@scene
def own_hooks_replace_those_of_reset_and_restore(s: Scene) -> None:
    s.call(
        s.decorate(
            two(),
            ["N"],
            reset_to_zero=["Y"],
            restore_value=["X"],
            pre_hook=s.hook("pre"),
            post_hook=s.post_hook,
        )
    )


@scene
def own_pre_hook_beside_restore_value(s: Scene) -> None:
    s.call(s.decorate(two(), ["N"], restore_value=["X"], pre_hook=s.hook("pre")))


@scene
def own_post_hook_beside_reset(s: Scene) -> None:
    s.call(s.decorate(two(), ["N"], reset_to_zero=["X"], post_hook=s.post_hook))


@scene
def a_configs_hook_comes_first(s: Scene) -> None:
    tuned = s.decorate(
        two(pre_hook=s.hook("own")), ["N"], pre_hook=s.hook("pre"), post_hook=s.post_hook
    )
    s.call(tuned)
    s.call(tuned)


@scene
def a_pre_hook_without_reset_only(s: Scene) -> None:
    s.call(s.decorate(two(), ["N"], pre_hook=lambda kwargs: s.events.note("pre")))


@scene
def the_post_hook_learns_of_an_error(s: Scene) -> None:
    s.fails[32] = ValueError("no")
    s.call(s.decorate(two(), ["N"], pre_hook=s.hook("pre"), post_hook=s.post_hook))


@scene
def a_post_hook_that_fails_itself(s: Scene) -> None:
    def post_hook(kwargs: Any, exception: Any) -> None:
        s.events.note("post", repr(exception))
        raise LookupError("the hook's own")

    s.fails[16] = ValueError("the launch's")
    s.call(s.decorate(two(), ["N"], post_hook=post_hook))
    s.fails.clear()
    s.call(s.decorate(two(), ["N"], post_hook=post_hook))


@scene
def a_pre_hook_that_fails(s: Scene) -> None:
    def pre_hook(kwargs: Any, reset_only: bool = False) -> None:
        raise LookupError("the hook's own")

    s.call(s.decorate(two(), ["N"], pre_hook=pre_hook, post_hook=s.post_hook))


@scene
def a_config_that_takes_too_much(s: Scene) -> None:
    s.fails[16] = OutOfResources(2, 1, "shared memory")
    s.call(s.decorate(two(), ["N"], post_hook=s.post_hook))


@scene
def every_config_takes_too_much(s: Scene) -> None:
    s.fails = {block: OutOfResources(2, 1, "shared memory") for block in (16, 32)}
    s.call(s.decorate(two(), ["N"]))


@scene
def a_static_assert(s: Scene) -> None:
    s.call(s.decorate([Config({"BLOCK": 4}), *two()], ["N"], kernel=plain_kernels.refused))


@scene
def a_kernel_that_does_not_compile(s: Scene) -> None:
    s.call(s.decorate([Config({"BLOCK": 3}), *two()], ["N"]))


def _pruning(s: Scene, **prune: Any) -> None:
    configs = [Config({"BLOCK": block}) for block in (16, 32, 64, 128)]
    s.call(s.decorate(configs, ["N"], prune_configs_by=prune), num_ctas=1)


@scene
def early_config_prune(s: Scene) -> None:
    def prune(configs: list[Any], named: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        s.events.note("prune", list(map(str, configs)), sorted(named), sorted(kwargs))
        return configs[1:3]

    _pruning(s, early_config_prune=prune)


@scene
def early_config_prune_to_one(s: Scene) -> None:
    _pruning(s, early_config_prune=lambda configs, named, **kwargs: configs[1:2])


@scene
def early_config_prune_to_none(s: Scene) -> None:
    _pruning(s, early_config_prune=lambda configs, named, **kwargs: [])


def _model(s: Scene) -> Callable[..., float]:
    def perf_model(**kwargs: Any) -> float:
        s.events.note("model", sorted(kwargs), kwargs["BLOCK"])
        return -float(kwargs["BLOCK"])

    return perf_model


@scene
def perf_model(s: Scene) -> None:
    for top_k in (2, 0.5, 1.0, 0.1, 8, 1, 1.5):
        _pruning(s, perf_model=_model(s), top_k=top_k)


@scene
def perf_model_after_early_prune(s: Scene) -> None:
    _pruning(
        s,
        early_config_prune=lambda configs, named, **kwargs: configs[:3],
        perf_model=_model(s),
        top_k=1,
    )


@scene
def warmup_compiles_every_config(s: Scene) -> None:
    tuned = s.decorate(two(), ["N"])
    s.attempt(lambda: s.events.note(len(tuned.warmup(s.x, s.y, 100, grid=(1,)))))
    s.events.note(len(tuned.cache), s.driver.benches)


@scene
def heuristics_beneath(s: Scene) -> None:
    values = {"EVEN": lambda args: args["N"] % args["BLOCK"] == 0}
    kernel = triton.heuristics(values)(plain_kernels.jit(plain_kernels.even))
    s.call(s.autotune(two(), ["N"])(kernel), 64)


@scene
def the_old_timing_arguments(s: Scene) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        s.call(s.decorate(two(), ["N"], warmup=3, rep=7))
        s.call(s.decorate(two(), ["N"], use_cuda_graph=True))
    s.events.note([str(w.message) for w in caught if "deprecated" in str(w.message)])


@scene
def the_stock_attributes(s: Scene) -> None:
    tuned = s.decorate(two(), ["N"], pre_hook=s.hook("pre"), reset_to_zero=["X"])
    s.events.note(type(tuned).__module__, type(tuned).__qualname__, tuned.keys, tuned.arg_names)
    s.events.note(tuned.reset_to_zero, tuned.restore_value, tuned.user_defined_pre_hook)
    s.events.note(list(map(str, tuned.configs)), tuned.base_fn.__name__, sorted(vars(tuned)))


@pytest.fixture
def no_real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton's own timers, which need torch: they run the call once."""
    import triton.testing

    def timer(call: Callable[[], object], *args: Any, **kwargs: Any) -> Any:
        call()
        return [float(len(kwargs)), 1.0, 2.0]

    monkeypatch.setattr(triton.testing, "do_bench", timer)
    monkeypatch.setattr(triton.testing, "do_bench_cudagraph", timer)


def played(autotune: Autotune, play: Callable[[Scene], None]) -> list[Any]:
    now = Scene(autotune)
    with fake_device(now.driver):
        play(now)
    return list(now.events)


@pytest.mark.parametrize("play", SCENES, ids=lambda play: play.__name__)
def test_behaves_as_stock(
    play: Callable[[Scene], None], stock: Autotune, no_real_clock: None
) -> None:
    assert triton.autotune is not stock
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        wanted = played(stock, play)
        got = played(triton.autotune, play)
    assert wanted
    assert got == wanted


def test_prints_as_stock(
    stock: Autotune, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    said = []
    for autotune in (stock, triton.autotune):
        played(autotune, the_fastest_wins_and_is_kept)
        said.append(re.sub(r"\d+\.\d+s", "#s", capsys.readouterr().out))
    assert "best config selected" in said[0]
    assert said[0] == said[1]


def test_the_same_object_as_stock_makes(stock: Autotune) -> None:
    with fake_device(FakeDriver()):
        made = [
            a(two(), ["N"])(plain_kernels.jit(plain_kernels.scale))
            for a in (stock, triton.autotune)
        ]
    assert type(made[0]) is type(made[1])


@pytest.mark.skipif(
    "cache_results" not in inspect.signature(triton.runtime.autotuner.Autotuner).parameters,
    reason="this Triton keeps no results on disk",
)
def test_results_on_disk_are_stocks(stock: Autotune, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    benches = []
    for autotune in (stock, triton.autotune):  # the second finds what the first has written
        driver = FakeDriver(times=lambda launch: float(launch["BLOCK"]))
        with fake_device(driver):
            kernel = plain_kernels.jit(plain_kernels.scale)
            tuned = autotune(two(), ["N"], cache_results=True)(kernel)
            tuned[(1,)](Tensor(), Tensor(), 100)
        benches.append(driver.benches)
        assert tuned.best_config.kwargs == {"BLOCK": 16}
    assert benches == [2, 0]


# -- which argument goes where ---------------------------------------------------------------

UPSTREAM = [
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
]
ON_ASCEND = [*UPSTREAM[:2], "hints", *UPSTREAM[2:], "auto_profile_dir"]
ORDERS = {
    "triton 3.2": UPSTREAM,
    "triton 3.5 to 3.9": [*UPSTREAM, "cache_results"],
    "triton-ascend": ON_ASCEND,
}


# Arguments that no type tells apart.
LIKE = [{"reset_to_zero", "restore_value"}, {"pre_hook", "post_hook"}]


def recording(names: list[str]) -> tuple[Autotune, list[dict[str, Any]]]:
    """A decorator with these parameters, as one of Triton's, that keeps what it was given."""
    seen: list[dict[str, Any]] = []
    space: dict[str, Any] = {"seen": seen}
    parameters = ", ".join(names[:2] + [f"{name}=None" for name in names[2:]])
    handed_on = ", ".join(f"{name}={name}" for name in names)
    exec(
        f"def autotune({parameters}):\n    return lambda fn: seen.append(dict({handed_on}))\n",
        space,
    )
    return space["autotune"], seen


def values_of(names: list[str]) -> dict[str, Any]:
    """A value for each that can be told from the others'."""
    values: dict[str, Any] = {
        "configs": [1],
        "key": ["N"],
        "hints": {"enable_ascend_autotune": True},
        "prune_configs_by": {"top_k": 3},
        "reset_to_zero": ["X"],
        "restore_value": ["Y"],
        "pre_hook": min,
        "post_hook": max,
        "warmup": 5,
        "rep": 7,
        "use_cuda_graph": True,
        "do_bench": print,
        "cache_results": True,
        "auto_profile_dir": "here",
    }
    return {name: values[name] for name in names}


def test_the_orders_are_those_of_the_installed_triton(stock: Autotune) -> None:
    assert list(inspect.signature(stock).parameters) in ORDERS.values()
    assert ("hints" in inspect.signature(stock).parameters) == ASCEND


@pytest.mark.parametrize("written_for", ORDERS)
@pytest.mark.parametrize("installed", ORDERS)
def test_every_positional_argument_arrives(written_for: str, installed: str) -> None:
    stock, seen = recording(ORDERS[installed])
    values = values_of(ORDERS[written_for])
    ours = make_autotune(stock)
    for count in range(2, len(values) + 1):
        names = ORDERS[written_for][:count]
        if names == ORDERS["triton 3.5 to 3.9"] and installed == "triton 3.2":
            continue  # one more than Triton's own takes
        seen.clear()
        ours(*[values[name] for name in names])(print)
        got = {name: value for name, value in seen[0].items() if value is not None}
        if "do_bench" not in names:
            got.pop("do_bench", None)
        assert got == {name: values[name] for name in names if name in ORDERS[installed]}


@pytest.mark.parametrize("first", range(2, 8))
@pytest.mark.parametrize("written_for", ORDERS)
@pytest.mark.parametrize("installed", ORDERS)
def test_nothing_may_stand_in_the_places_before(
    written_for: str, installed: str, first: int
) -> None:
    names = ORDERS[written_for][: first + 1]
    here = ORDERS[installed][first]
    if here != names[-1] and {here, names[-1]} in LIKE:
        return  # what Triton's own makes of it
    stock, seen = recording(ORDERS[installed])
    value = values_of(names)[names[-1]]
    make_autotune(stock)([1], ["N"], *[None] * (first - 2), value)(print)
    assert seen[0].get(names[-1], value) == value
    others = [n for n in seen[0] if n not in ("configs", "key", names[-1], "do_bench")]
    assert [seen[0][n] for n in others] == [None] * len(others)


@pytest.mark.parametrize("written_for", ORDERS)
@pytest.mark.parametrize("installed", ORDERS)
def test_every_keyword_argument_arrives(written_for: str, installed: str) -> None:
    stock, seen = recording(ORDERS[installed])
    values = values_of(ORDERS[written_for])
    make_autotune(stock)(**values)(print)
    got = {name: value for name, value in seen[0].items() if value is not None}
    assert got == {n: v for n, v in values.items() if n in ORDERS[installed]}


@pytest.mark.parametrize("installed", ORDERS)
@pytest.mark.parametrize("split", [2, 3, 5])
def test_positional_and_keyword_arguments_mix(installed: str, split: int) -> None:
    names = ORDERS[installed]
    stock, seen = recording(names)
    values = values_of(names)
    first, rest = names[:split], names[split:]
    make_autotune(stock)(*[values[n] for n in first], **{n: values[n] for n in rest})(print)
    assert seen[0] == values


@pytest.mark.parametrize("installed", ORDERS)
def test_a_missing_or_unknown_argument_is_stocks_error(installed: str) -> None:
    stock, _ = recording(ORDERS[installed])
    ours = make_autotune(stock)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {}),
        (([],), {}),
        ((), {"key": []}),
        (([], []), {"kye": []}),
        (([], []), {"key": []}),
        (tuple(range(len(ORDERS[installed]) + 1)), {}),
    ]
    for args, kwargs in calls:
        messages = []
        for autotune in (stock, ours):
            with pytest.raises(TypeError) as caught:
                autotune(*args, **kwargs)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize("installed", ORDERS)
def test_a_search_may_stand_third_or_by_name(installed: str) -> None:
    search = {"search_params": {"params": ["BLOCK"]}}
    order = ORDERS[installed]
    assert bind(order, ([], ["N"], search), {}) == {"configs": [], "key": ["N"], "hints": search}
    assert bind(order, (), {"hints": search}) == {"hints": search}
    given = bind(order, ([], ["N"]), {"hints": search, "cache_results": True})
    assert given["hints"] is search


def test_hints_that_ask_for_no_search_are_stocks_affair(stock: Autotune) -> None:
    with fake_device(FakeDriver()):
        for hints in ({}, None):
            tuned = triton.autotune(two(), ["N"], hints=hints)(
                plain_kernels.jit(plain_kernels.scale)
            )
            assert type(tuned).__name__ == "Autotuner"


# -- no device is touched --------------------------------------------------------------------


def test_decorating_touches_no_driver(stock: Autotune) -> None:
    search = {"search_params": {"params": ["BLOCK"]}}
    with no_device():
        for hints, prune, configs in itertools.product(
            (None, search), (None, {"top_k": 1}), ([], two())
        ):
            triton.autotune(
                configs,
                ["N"],
                hints=hints,
                prune_configs_by=prune,
                reset_to_zero=["Y"],
                restore_value=["X"],
            )(plain_kernels.jit(plain_kernels.scale))


def test_decorating_needs_no_driver(stock: Autotune) -> None:
    """The real place of the driver, on a machine that has none."""
    for hints in (None, {"search_params": {"params": ["BLOCK"]}}):
        triton.autotune([], ["N"], hints=hints)(plain_kernels.jit(plain_kernels.scale))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_call_without_a_device_says_so(stock: Autotune) -> None:
    hints = {"search_params": {"params": ["BLOCK"]}}
    tuned = triton.autotune([], ["N"], hints=hints)(plain_kernels.jit(plain_kernels.scale))
    try:
        triton.runtime.driver.active.get_current_target()
    except Exception as error:  # as Triton itself says it
        with pytest.raises(type(error), match=re.escape(str(error))):
            tuned[(1,)](Tensor(), Tensor(), 100)
    else:
        pytest.skip("this machine has a device")

"""A kernel with `search_params`, on any Triton: a device that records launches, times by table."""

from __future__ import annotations

import subprocess
import sys
import threading
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import plain_kernels
import pytest
import triton
from fake_triton import ASCEND, Events, FakeDriver, Launch, Tensor

import ascend_autotune
from ascend_autotune.errors import NoConfigRuns, RequestError

Config = triton.Config


def tuner(
    kernel: Any = plain_kernels.scale,
    *,
    params: tuple[str, ...] = ("BLOCK",),
    values: Any = (16, 32, 64),
    configs: Any = (),
    key: Any = ("N",),
    outside: Mapping[str, Any] | None = None,
    decorated: Mapping[str, Any] | None = None,
    **search: Any,
) -> Any:
    """A searched kernel; what is not named is a field of `search_params`."""
    hints = {"search_params": {"params": list(params), "values": list(values), **search}}
    if isinstance(values, Mapping):
        hints["search_params"]["values"] = dict(values)
    given = dict(decorated or {})
    if key is not None:
        given["key"] = list(key)
    function = plain_kernels.jit(kernel) if isinstance(kernel, types.FunctionType) else kernel
    return triton.autotune(configs=list(configs), hints={**hints, **(outside or {})}, **given)(
        function
    )


def grid(meta: Mapping[str, Any]) -> tuple[int, ...]:
    return (triton.cdiv(meta["N"], meta["BLOCK"]),)


def call(kernel: Any, n: int = 1000, x: Any = None, y: Any = None, **kwargs: Any) -> Any:
    return kernel[grid](x or Tensor(), y or Tensor(), n, **kwargs)


def by_block(**times: float) -> Callable[[Launch], float]:
    table = {int(name.lstrip("b")): value for name, value in times.items()}
    return lambda launch: table.get(launch["BLOCK"], 9.0)


@pytest.fixture
def fast32(device: FakeDriver) -> FakeDriver:
    """A device on which a tile of 32 is the fastest."""
    device.times = by_block(b32=1.0, b16=2.0, b64=3.0)
    return device


# -- tuning once, and for what ---------------------------------------------------------------


def test_tunes_once_per_key(fast32: FakeDriver) -> None:
    kernel = tuner()
    call(kernel)
    assert kernel.best_config.kwargs["BLOCK"] == 32
    assert {block for (block,) in fast32.tiles("BLOCK")} == {16, 32, 64}
    assert fast32.launches[-1]["BLOCK"] == 32
    benches, launches = fast32.benches, len(fast32.launches)
    for _ in range(3):
        call(kernel)
    assert (fast32.benches, len(fast32.launches)) == (benches, launches + 3)
    fast32.times = by_block(b64=1.0)
    call(kernel, 2000)
    assert fast32.benches > benches
    assert kernel.best_config.kwargs["BLOCK"] == 64
    assert sorted(c.kwargs["BLOCK"] for c in kernel.cache.values()) == [32, 64]
    call(kernel)
    assert kernel.best_config.kwargs["BLOCK"] == 32  # of this call, as in stock Triton


def test_the_cache_is_as_stocks(fast32: FakeDriver) -> None:
    kernel = tuner()
    call(kernel, 1000)
    ((key, config),) = kernel.cache.items()
    assert key[:3] == (1000, "float16", "float16")
    assert isinstance(config, Config)
    assert config is kernel.best_config


def test_a_key_may_be_missing(fast32: FakeDriver) -> None:
    kernel = tuner(key=None)
    call(kernel, 1000)
    benches = fast32.benches
    call(kernel, 2000)
    assert fast32.benches == benches
    assert fast32.launches[-1].grid == (63, 1, 1)


def test_a_key_may_have_many_names(device: FakeDriver) -> None:
    names = list("ABCDEFGH")
    kernel = tuner(plain_kernels.many, key=names)
    values = [3, 5, 7, 9, 11, 13, 15, 17]
    for changed in (None, *range(8)):
        given = [v + 100 * (i == changed) for i, v in enumerate(values)]
        kernel[(1,)](Tensor(), Tensor(), *given)
    assert len(kernel.cache) == 9


def test_types_are_part_of_the_key(fast32: FakeDriver) -> None:
    kernel = tuner(key=[])
    call(kernel)
    benches = fast32.benches
    call(kernel, x=Tensor("float32"))
    assert fast32.benches > benches
    assert len(kernel.cache) == 2


def test_by_name_and_by_place_are_one_call(fast32: FakeDriver) -> None:
    kernel = tuner()
    x, y = Tensor(), Tensor()
    kernel[grid](x, y, 1000)
    benches = fast32.benches
    kernel[grid](X=x, Y=y, N=1000)
    kernel[grid](x, N=1000, Y=y)
    assert fast32.benches == benches
    assert len(kernel.cache) == 1


@pytest.mark.parametrize(
    "bucket, same, other",
    [("pow2", 900, 1100), ([512, 1024, 4096], 700, 1100), (lambda n: n // 1000, 1999, 2000)],
)
def test_buckets(fast32: FakeDriver, bucket: Any, same: int, other: int) -> None:
    kernel = tuner(key_buckets={"N": bucket})
    call(kernel, 1000)
    benches = fast32.benches
    kernel[grid](Tensor(), Tensor(), same if callable(bucket) is False else 1500)
    if callable(bucket):
        assert fast32.benches == benches
    call(kernel, same)
    assert fast32.benches == benches
    assert fast32.launches[-1].grid == (triton.cdiv(same, 32), 1, 1)  # masks and grid stay exact
    call(kernel, other)
    assert fast32.benches > benches
    assert len(kernel.cache) == 2


def test_a_bucket_that_fails_is_named(fast32: FakeDriver) -> None:
    kernel = tuner(key_buckets={"N": lambda n: n.missing})
    for _ in range(2):
        with pytest.raises(RequestError, match=r"key_buckets\['N'\] fails for 1000: Attribute"):
            call(kernel, 1000)


def test_no_device_at_all_says_what_can_be_done(
    device: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> None:
        raise RuntimeError("0 active drivers ([]). There should only be one.")

    monkeypatch.setattr(device, "get_current_target", none)
    with pytest.raises(RuntimeError, match=r"0 active drivers.*ASCEND_AUTOTUNE_DEVICE=standin"):
        call(tuner())


def test_forty_lengths_in_six_buckets(fast32: FakeDriver) -> None:
    kernel = tuner(key_buckets={"N": "pow2"})
    for n in range(100, 4100, 100):
        call(kernel, n)
    assert len(kernel.cache) == 6


def test_beyond_the_last_edge_goes_by_powers_of_two(fast32: FakeDriver) -> None:
    kernel = tuner(key_buckets={"N": [64, 128]})
    for n in (60, 100, 1000, 1020, 5000):
        call(kernel, n)
    assert len(kernel.cache) == 4


def test_another_specialisation_reuses_the_winner(fast32: FakeDriver) -> None:
    kernel = tuner(key=[])
    for n in (1024, 1000, 1):
        call(kernel, n)
    call(kernel, 1024, x=Tensor(pointer=4098))
    assert fast32.launches[-1]["BLOCK"] == 32
    assert len(kernel.cache) == 1
    assert fast32.launches[-2].arguments[2:3] != fast32.launches[-1].arguments[2:3]


# -- what the launch itself says -------------------------------------------------------------


def test_options_of_the_launch_hold_and_are_in_the_key(fast32: FakeDriver) -> None:
    kernel = tuner()
    call(kernel, num_warps=2)
    assert {warps for (warps,) in fast32.tiles("num_warps")} == {2}
    benches = fast32.benches
    call(kernel, num_warps=2)
    assert fast32.benches == benches
    call(kernel, num_warps=8)
    assert fast32.benches > benches
    assert fast32.launches[-1]["num_warps"] == 8
    call(kernel)
    assert len(kernel.cache) == 3


@pytest.mark.parametrize("stages", [1, 3])
def test_num_stages_may_be_fixed(fast32: FakeDriver, stages: int) -> None:
    kernel = tuner()
    call(kernel, num_stages=stages)
    assert {s for (s,) in fast32.tiles("num_stages")} == {stages}
    assert kernel.best_config.kwargs["BLOCK"] == 32


@pytest.mark.parametrize(
    "option",
    [
        {"multibuffer": False},
        {"multibuffer": True},
        {"set_workspace_multibuffer": 2},
        {"tile_mix_vector_loop": 2},
        {"tile_mix_cube_loop": 4, "set_workspace_multibuffer": 4},
        {"enable_hivm_auto_cv_balance": True},
    ],
    ids=str,
)
@pytest.mark.skipif(not ASCEND, reason="options of triton-ascend")
def test_compile_options_may_be_fixed(fast32: FakeDriver, option: dict[str, Any]) -> None:
    kernel = tuner()
    call(kernel, **option)
    for name, value in option.items():
        assert {found for (found,) in fast32.tiles(name)} == {value}
    call(kernel)
    assert len(kernel.cache) == 2


def test_handwritten_options_give_way_to_the_launchs(fast32: FakeDriver) -> None:
    kernel = tuner(configs=[Config({"BLOCK": 16}, num_warps=1), Config({"BLOCK": 32}, num_warps=2)])
    call(kernel, num_warps=8)
    assert {warps for (warps,) in fast32.tiles("num_warps")} == {8}
    assert fast32.launches[-1]["BLOCK"] == 32


def test_a_tile_given_at_the_call_is_not_searched(device: FakeDriver) -> None:
    kernel = tuner(
        plain_kernels.add, params=("BLOCK_M", "BLOCK_N"), values=(16, 32), key=["M", "N"]
    )
    device.times = lambda launch: float(launch["BLOCK_N"])
    kernel[(4, 4)](Tensor(), Tensor(), Tensor(), 64, 64, BLOCK_M=8)
    assert {m for (m,) in device.tiles("BLOCK_M")} == {8}
    assert device.launches[-1]["BLOCK_N"] == 16
    kernel[(4, 4)](Tensor(), Tensor(), Tensor(), 64, 64)
    assert device.launches[-1]["BLOCK_M"] in (16, 32)


def test_every_tile_given_at_the_call(device: FakeDriver) -> None:
    kernel = tuner()
    call(kernel, BLOCK=128)
    assert device.tiles("BLOCK") == [(128,)]
    assert device.benches == 0


def test_an_unknown_option_is_an_error_as_in_stock(device: FakeDriver) -> None:
    with pytest.raises((NoConfigRuns, KeyError), match="no_such_option"):
        call(tuner(), no_such_option=3)


def test_arguments_that_no_config_could_mend(device: FakeDriver) -> None:
    kernel = tuner()
    with pytest.raises(TypeError, match="'N'"):
        kernel[(1,)](Tensor(), Tensor())
    with pytest.raises(TypeError, match="multiple values for argument 'N'"):
        kernel[(1,)](Tensor(), Tensor(), 1, N=2)
    assert not device.launches


# -- grids -----------------------------------------------------------------------------------


def test_the_grid_sees_the_tile(device: FakeDriver) -> None:
    call(tuner(), 1000)
    assert {(launch["BLOCK"], launch.grid) for launch in device.launches} == {
        (16, (63, 1, 1)),
        (32, (32, 1, 1)),
        (64, (16, 1, 1)),
    }


def test_a_fixed_grid(device: FakeDriver) -> None:
    kernel = tuner()
    kernel[(5, 2)](Tensor(), Tensor(), 1000)
    assert {launch.grid for launch in device.launches} == {(5, 2, 1)}


@pytest.mark.parametrize("shape", [(0,), (4, 0), lambda meta: (triton.cdiv(0, meta["BLOCK"]), 3)])
def test_an_empty_grid_launches_and_tunes_nothing(device: FakeDriver, shape: Any) -> None:
    kernel = tuner()
    kernel[shape](Tensor(), Tensor(), 0)
    assert (device.benches, device.launches, kernel.cache) == (0, [], {})
    kernel[(1,)](Tensor(), Tensor(), 0)
    assert device.launches


def test_an_empty_grid_of_a_tuned_key(device: FakeDriver) -> None:
    kernel = tuner(key=[])
    call(kernel, 1024)
    done = len(device.launches)
    call(kernel, 0)
    kernel[(0, 2)](Tensor(), Tensor(), 1024)
    kernel[lambda meta: (triton.cdiv(0, meta["BLOCK"]),)](Tensor(), Tensor(), 1024)
    assert len(device.launches) == done
    call(kernel, 1024)
    assert len(device.launches) == done + 1


def test_an_empty_grid_beneath_a_wrapper(fast32: FakeDriver) -> None:
    kernel = Entry(tuner(key=[]))
    call(kernel, 0)
    assert (fast32.benches, fast32.launches) == (0, [])
    call(kernel, 1000)  # what the wrapper has kept from the empty call
    assert len(fast32.launches) == 1


# -- wrappers --------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*whether the result depends on BLOCK")
def test_heuristics_beneath_see_the_tile(device: FakeDriver) -> None:
    values = {"EVEN": lambda args: args["N"] % args["BLOCK"] == 0}
    kernel = tuner(triton.heuristics(values)(plain_kernels.jit(plain_kernels.even)))
    call(kernel, 96)
    assert set(device.tiles("BLOCK", "EVEN")) == {(16, True), (32, True), (64, False)}
    assert str(ascend_autotune.explain(kernel))


def test_heuristics_above(device: FakeDriver) -> None:
    values = {"EVEN": lambda args: args["N"] % 64 == 0}
    kernel = triton.heuristics(values)(tuner(plain_kernels.even, key=["N", "EVEN"]))
    call(kernel, 96)
    call(kernel, 128)
    assert {even for (even,) in device.tiles("EVEN")} == {True, False}
    assert len(kernel.fn.cache) == 2


class Entry(triton.runtime.jit.KernelInterface):
    """A wrapper as kernel libraries have: it keeps compiled kernels by the types of arguments
    and the constexprs, whatever the options, and launches them itself."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        self.arg_names = fn.arg_names
        self.kernels: dict[Any, Any] = {}
        inner = fn
        while not hasattr(inner, "params"):
            inner = inner.fn
        self.jit = inner

    def run(self, *args: Any, **kwargs: Any) -> Any:
        grid = kwargs["grid"]
        names = [p.name for p in self.jit.params]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        key = tuple(
            given.get(p.name) if p.is_constexpr else str(getattr(given[p.name], "dtype", "int"))
            for p in self.jit.params
        )
        if key not in self.kernels:
            kernel = self.fn.run(*args, **kwargs)
            found: dict[str, Any] = {}
            fn = self.fn
            while fn is not self.jit:
                if isinstance(fn, triton.runtime.Autotuner):
                    found = {**fn.best_config.kwargs, "num_warps": fn.best_config.num_warps}
                fn = fn.fn
            self.kernels[key] = kernel, found
            return kernel
        kernel, found = self.kernels[key]
        given = {**given, **found}
        shape = grid(given) if callable(grid) else grid
        every = not ASCEND and triton.__version__ >= "3.3"  # constexprs are handed over too
        handed = [given[p.name] for p in self.jit.params if every or not p.is_constexpr]
        kernel[(*shape, 1, 1)[:3]](*handed)
        return kernel


def test_a_wrapper_above_launches_the_winner(fast32: FakeDriver) -> None:
    kernel = Entry(tuner())
    call(kernel, 1000)
    benches, launches = fast32.benches, len(fast32.launches)
    call(kernel, 1000)
    assert (fast32.benches, len(fast32.launches)) == (benches, launches + 1)
    assert fast32.launches[-1]["BLOCK"] == 32
    assert fast32.launches[-1].grid == (32, 1, 1)
    assert call(kernel.fn, 0) is call(kernel.fn, 0)


def test_a_wrapper_beneath_tells_tiles_apart(fast32: FakeDriver) -> None:
    kernel = tuner(Entry(plain_kernels.jit(plain_kernels.scale)))
    call(kernel)
    assert {block for (block,) in fast32.tiles("BLOCK")} == {16, 32, 64}
    assert fast32.launches[-1]["BLOCK"] == 32
    call(kernel)
    assert fast32.launches[-1]["BLOCK"] == 32


def test_options_are_measured_through_a_wrapper_that_does_not_know_them(
    device: FakeDriver,
) -> None:
    device.times = lambda launch: 1.0 / launch["num_warps"]
    kernel = tuner(
        Entry(plain_kernels.jit(plain_kernels.scale)),
        configs=[Config({"BLOCK": 16}, num_warps=warps) for warps in (1, 2, 8, 4)],
    )
    call(kernel)
    assert {warps for (warps,) in device.tiles("num_warps")} == {1, 2, 4, 8}
    assert device.launches[-1]["num_warps"] == 8
    assert kernel.best_config.num_warps == 8
    call(kernel)
    assert device.launches[-1]["num_warps"] == 8


# -- hooks -----------------------------------------------------------------------------------


class Watched:
    """Tensors, hooks and launches that all note to one list."""

    def __init__(self, driver: FakeDriver) -> None:
        self.events = Events()
        self.driver = driver
        driver.effect = self.launched
        self.x = Tensor(name="X", value=3.0, events=self.events)
        self.y = Tensor(name="Y", value=5.0, events=self.events)
        self.seen: list[tuple[Any, ...]] = []

    def launched(self, launch: Launch) -> None:
        self.events.note("launch", launch["BLOCK"])
        self.seen.append((self.x.value, self.y.value))
        self.x.value += 1
        self.y.value += 1

    def call(self, kernel: Any) -> None:
        kernel[grid](self.x, self.y, 1000)

    def hook(self, name: str) -> Callable[..., None]:
        def pre_hook(kwargs: Mapping[str, Any], reset_only: bool = False) -> None:
            self.events.note(name, kwargs["BLOCK"], *(["reset"] if reset_only else []))

        return pre_hook

    def post(self, kwargs: Mapping[str, Any], exception: Exception | None) -> None:
        self.events.note("post", kwargs["BLOCK"], type(exception).__name__)


def test_restore_value(device: FakeDriver) -> None:
    watched = Watched(device)
    watched.call(tuner(decorated={"restore_value": ["X"]}))
    assert {x for x, _ in watched.seen} == {3.0}
    assert watched.x.value == 4.0  # one launch's effect


def test_reset_to_zero(device: FakeDriver) -> None:
    watched = Watched(device)
    kernel = tuner(decorated={"reset_to_zero": ["Y"]})
    watched.call(kernel)
    assert {y for _, y in watched.seen} == {0.0}
    assert watched.y.value == 1.0
    watched.call(kernel)  # nothing is tuned, nothing is reset: as in stock Triton
    assert watched.y.value == 2.0


def test_hooks_in_stocks_order(stock: Callable[..., Any], device: FakeDriver) -> None:
    """Handwritten configs, each timed once: the same events as stock tuning gives."""
    lists = []
    for autotune, hints in (
        (stock, None),
        (triton.autotune, {"search_params": {"params": ["BLOCK"]}}),
    ):
        watched = Watched(device)
        given = {} if hints is None else {"hints": hints}
        configs = [Config({"BLOCK": b}, pre_hook=watched.hook("own")) for b in (16, 32)]
        kernel = autotune(
            configs,
            ["N"],
            pre_hook=watched.hook("pre"),
            post_hook=watched.post,
            **given,
        )(plain_kernels.jit(plain_kernels.scale))
        watched.call(kernel)
        watched.call(kernel)
        lists.append(list(watched.events))
    assert lists[1] == lists[0]


def test_the_post_hook_learns_of_an_error(device: FakeDriver) -> None:
    watched = Watched(device)

    def effect(launch: Launch) -> None:
        watched.launched(launch)
        if launch["BLOCK"] == 16:
            raise ValueError("no")

    device.effect = effect
    kernel = tuner(decorated={"post_hook": watched.post})
    watched.call(kernel)
    assert ("post", 16, "ValueError") in watched.events
    assert ("post", 32, "NoneType") in watched.events
    assert kernel.best_config.kwargs["BLOCK"] != 16


def test_a_post_hook_that_fails_does_not_hide_the_launchs_error(device: FakeDriver) -> None:
    def post(kwargs: Any, exception: Any) -> None:
        if exception is not None:
            raise LookupError("of the hook")

    def effect(launch: Launch) -> None:
        raise ValueError("of the launch")

    device.effect = effect
    with pytest.raises(NoConfigRuns, match="of the launch"):
        call(tuner(decorated={"post_hook": post}))


def test_a_winners_hook_runs_at_every_call(device: FakeDriver) -> None:
    watched = Watched(device)
    kernel = tuner(configs=[Config({"BLOCK": 16}, pre_hook=watched.hook("own"))])
    watched.call(kernel)
    watched.call(kernel)
    assert list(watched.events) == [("own", 16), ("launch", 16)] * 2


# -- pruning by the user ---------------------------------------------------------------------


def test_early_config_prune(device: FakeDriver) -> None:
    seen: list[Any] = []

    def prune(configs: list[Any], named: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        seen.append((type(configs[0]), named["N"]))
        return [c for c in configs if c.kwargs["BLOCK"] < 64]

    call(tuner(decorated={"prune_configs_by": {"early_config_prune": prune}}))
    assert {block for (block,) in device.tiles("BLOCK")} == {16, 32}
    assert seen[0] == (Config, 1000)


def test_early_config_prune_may_return_configs_of_its_own(device: FakeDriver) -> None:
    def prune(configs: list[Any], named: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        return [Config({"BLOCK": 16}), Config({"BLOCK": 128})]

    kernel = tuner(decorated={"prune_configs_by": {"early_config_prune": prune}})
    call(kernel)
    assert {block for (block,) in device.tiles("BLOCK")} == {16, 128}
    trials = ascend_autotune.explain(kernel).search.trials
    assert {t.config.candidate["BLOCK"] for t in trials if t.fate == "pruned"} == {32, 64}


def test_perf_model(device: FakeDriver) -> None:
    model = {"perf_model": lambda **kwargs: -kwargs["BLOCK"], "top_k": 2}
    call(tuner(decorated={"prune_configs_by": model}))
    assert {block for (block,) in device.tiles("BLOCK")} == {32, 64}


def test_constraints(device: FakeDriver) -> None:
    kernel = tuner(
        plain_kernels.add,
        params=("BLOCK_M", "BLOCK_N"),
        values=(8, 16, 32),
        constraints=lambda c: c["BLOCK_M"] <= c["BLOCK_N"],
        key=["M", "N"],
    )
    kernel[(4, 4)](Tensor(), Tensor(), Tensor(), 64, 64)
    assert len(set(device.tiles("BLOCK_M", "BLOCK_N"))) == 6
    assert all(m <= n for m, n in device.tiles("BLOCK_M", "BLOCK_N"))
    fates = [t.reason for t in ascend_autotune.explain(kernel).search.trials if t.fate == "pruned"]
    assert fates == ["constraints says no"] * 3


@pytest.mark.parametrize(
    "nothing",
    [
        {"constraints": lambda c: False},
        {"decorated": {"prune_configs_by": {"early_config_prune": lambda c, n, **k: []}}},
    ],
    ids=["constraints", "early_config_prune"],
)
def test_nothing_left_says_what_left_it_out(device: FakeDriver, nothing: dict[str, Any]) -> None:
    with pytest.raises(NoConfigRuns) as caught:
        call(tuner(**nothing))
    for block in (16, 32, 64):
        assert f"BLOCK={block}" in str(caught.value)
    assert any(word in str(caught.value) for word in ("constraints", "prune_configs_by"))


def test_constraints_that_fail_cost_the_tuning(device: FakeDriver) -> None:
    constraints = lambda c: c["WIDTH"] > 1  # noqa: E731
    with pytest.warns(RuntimeWarning, match=r"constraints.*KeyError.*WIDTH"):
        call(tuner(constraints=constraints))
    assert len(device.launches) == 1
    with pytest.raises(RequestError, match=r"constraints.*KeyError.*WIDTH"):
        call(tuner(constraints=constraints, strict=True))


# -- warmup, threads, graphs, interruptions --------------------------------------------------


def test_warmup_compiles_and_measures_nothing(device: FakeDriver) -> None:
    kernel = tuner()
    compiled = kernel.warmup(Tensor(), Tensor(), 1000, grid=(1,))
    assert isinstance(compiled, list) and len(compiled) >= 1
    assert (device.benches, device.launches) == (0, [])


def test_warmup_of_a_tuned_key_compiles_the_winner(fast32: FakeDriver) -> None:
    kernel = tuner()
    call(kernel, 1000)
    launches = len(fast32.launches)
    (compiled,) = kernel.warmup(Tensor(), Tensor(), 1000, grid=(1,))
    assert compiled is call(kernel, 1000)
    assert len(fast32.launches) == launches + 1


def test_two_threads_tune_once(fast32: FakeDriver) -> None:
    kernel, failures = tuner(), []
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait()
        try:
            call(kernel)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    benches = fast32.benches
    call(tuner())
    assert fast32.benches - benches == benches
    assert len(kernel.cache) == 1


@pytest.fixture
def capturing(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Says whether a graph is being captured."""
    now = {"capturing": False}
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        asked = lambda: now["capturing"]  # noqa: E731
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", asked)
    else:
        torch = types.ModuleType("torch")
        torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
            is_current_stream_capturing=lambda: now["capturing"]
        )
        monkeypatch.setitem(sys.modules, "torch", torch)
    return lambda value: now.update(capturing=value)


def test_nothing_is_measured_during_capture(fast32: FakeDriver, capturing: Any) -> None:
    kernel = tuner()
    capturing(True)
    call(kernel)
    call(kernel)
    assert fast32.benches == 0
    assert len(fast32.launches) == 2  # the predicted config, launched once for each call
    capturing(False)
    call(kernel)
    assert fast32.benches > 0
    assert kernel.best_config.kwargs["BLOCK"] == 32


def test_during_capture_the_cached_config_runs(fast32: FakeDriver, capturing: Any) -> None:
    kernel = tuner(key=[])
    call(kernel)
    benches = fast32.benches
    capturing(True)
    call(kernel)
    call(kernel, 1024)  # the same key, another program
    assert fast32.benches == benches
    assert [launch["BLOCK"] for launch in fast32.launches[-2:]] == [32, 32]


def test_captured_calls_are_told_apart_by_key(fast32: FakeDriver, capturing: Any) -> None:
    kernel = tuner()
    call(kernel, 1000)
    capturing(True)
    call(kernel, 2000)
    capturing(False)
    benches = fast32.benches
    call(kernel, 2000)
    assert fast32.benches > benches


class Interrupting:
    """A `do_bench` that is interrupted at the n-th config."""

    def __init__(self, driver: FakeDriver, at: int) -> None:
        self.driver, self.at, self.count = driver, at, 0

    def __call__(self, run: Callable[[], object], quantiles: Any = None, **_: Any) -> Any:
        self.count += 1
        if self.count == self.at:
            raise KeyboardInterrupt
        return self.driver.do_bench(run, quantiles)


def test_ctrl_c_keeps_the_best_so_far(device: FakeDriver) -> None:
    device.times = lambda launch: float(launch["BLOCK"])
    bench = Interrupting(device, 3)
    kernel = tuner(values=(16, 32, 64, 128, 256), decorated={"do_bench": bench})
    call(kernel)
    timed = [launch["BLOCK"] for launch in device.launches[:2]]
    assert len(device.launches) == 3
    assert device.launches[-1]["BLOCK"] == min(timed)
    found = ascend_autotune.explain(kernel).search
    assert (found.complete, found.ended) == (False, "interrupted")
    call(kernel)
    assert bench.count == 3  # what is known is used


def test_ctrl_c_before_anything_is_known(device: FakeDriver) -> None:
    kernel = tuner(decorated={"do_bench": Interrupting(device, 1)})
    call(kernel)
    assert len(device.launches) == 1  # the default
    call(kernel)
    assert len({launch["BLOCK"] for launch in device.launches}) == 3  # now it is tuned


def test_ctrl_c_among_handwritten_configs(device: FakeDriver) -> None:
    configs = [Config({"BLOCK": b}) for b in (16, 32, 64, 128)]
    device.times = lambda launch: float(launch["BLOCK"])
    kernel = tuner(configs=configs, decorated={"do_bench": Interrupting(device, 3)})
    call(kernel)
    assert device.tiles("BLOCK") == [(16,), (32,), (16,)]


# -- failing ---------------------------------------------------------------------------------


def failing(*blocks: int) -> Callable[[Launch], None]:
    def effect(launch: Launch) -> None:
        if not blocks or launch["BLOCK"] in blocks:
            raise RuntimeError(f"no room for {launch['BLOCK']}")

    return effect


def test_a_config_that_fails_costs_that_config(fast32: FakeDriver) -> None:
    fast32.effect = failing(32)
    kernel = tuner()
    call(kernel)
    assert kernel.best_config.kwargs["BLOCK"] == 16
    (trial,) = [t for t in ascend_autotune.explain(kernel).search.trials if t.fate == "failed"]
    assert "no room for 32" in trial.reason


def test_all_failing_is_one_error_with_every_reason(device: FakeDriver) -> None:
    device.effect = failing()
    kernel = tuner()
    with pytest.raises(NoConfigRuns) as caught:
        call(kernel)
    for block in (16, 32, 64):
        assert f"no room for {block}" in str(caught.value)
    assert "scale" in str(caught.value)
    assert kernel.cache == {}
    device.effect = None
    call(kernel)  # and the next call may find better times
    assert kernel.cache


def test_all_handwritten_configs_failing(device: FakeDriver) -> None:
    device.effect = failing()
    with pytest.raises(NoConfigRuns, match=r"no room for 16(.|\n)*no room for 32"):
        call(tuner(configs=[Config({"BLOCK": 16}), Config({"BLOCK": 32})]))


def test_a_program_that_does_not_compile(device: FakeDriver) -> None:
    kernel = tuner(plain_kernels.refused, values=(4, 16, 32))
    call(kernel)
    assert {block for (block,) in device.tiles("BLOCK")} == {4}
    with pytest.raises(NoConfigRuns, match="BLOCK=16"):
        call(tuner(plain_kernels.refused, values=(16, 32)))


def test_values_that_are_no_tiles_of_this_kernel(device: FakeDriver) -> None:
    """96 is a legal candidate; where Triton cannot have it, that is one more failure."""
    kernel = tuner(values=(64, 96))
    call(kernel)
    assert {block for (block,) in device.tiles("BLOCK")} == ({64, 96} if ASCEND else {64})


def test_a_tuner_that_fails_costs_the_tuning(
    device: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ascend_autotune.search import engine

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise ZeroDivisionError("of the search")

    monkeypatch.setattr(engine, "search", broken)
    kernel = tuner()
    with pytest.warns(RuntimeWarning, match="not tuned.*of the search"):
        call(kernel)
    assert len(device.launches) == 1
    with pytest.raises(ZeroDivisionError):
        call(tuner(strict=True))


# -- modes -----------------------------------------------------------------------------------


def test_static_mode_times_nothing(device: FakeDriver) -> None:
    kernel = tuner(mode="static")
    call(kernel)
    assert (device.benches, len(device.launches)) == (0, 1)
    assert kernel.cache
    assert "static" in ascend_autotune.explain(kernel).search.ended


def test_prune_mode_is_stock_timing(fast32: FakeDriver) -> None:
    kernel = tuner(mode="prune")
    call(kernel)
    assert fast32.benches == 3
    assert fast32.tiles("BLOCK") == [(16,), (32,), (64,), (32,)]


def test_a_single_candidate_is_not_timed_and_is_kept(device: FakeDriver) -> None:
    kernel = tuner(values=(64,))
    call(kernel)
    call(kernel)
    assert device.benches == 0
    assert device.tiles("BLOCK") == [(64,), (64,)]
    assert len(kernel.cache) == 1


def test_budget_and_effort(device: FakeDriver) -> None:
    values = tuple(2**i for i in range(3, 14))
    kernel = tuner(
        plain_kernels.add, params=("BLOCK_M", "BLOCK_N"), values=values, effort="quick", key=[],
        constraints=lambda c: c["BLOCK_M"] * c["BLOCK_N"] <= 2048,
    )  # fmt: skip
    kernel[(1, 1)](Tensor(), Tensor(), Tensor(), 64, 64)
    assert len(set(device.tiles("BLOCK_M", "BLOCK_N"))) <= 12
    kernel = tuner(budget_s=1e-9)
    call(kernel)
    found = ascend_autotune.explain(kernel).search
    assert not found.complete
    assert found.stats["measured"] == 1


# -- handwritten configs ---------------------------------------------------------------------


def test_full_handwritten_configs_win_and_keep_their_options(device: FakeDriver) -> None:
    device.times = lambda launch: float(launch["BLOCK"])
    configs = [Config({"BLOCK": 48 + 16}, num_warps=8, num_stages=1), Config({"BLOCK": 128})]
    kernel = tuner(configs=configs, values=(16, 32))
    call(kernel)
    assert {block for (block,) in device.tiles("BLOCK")} == {64, 128}
    assert kernel.best_config is configs[0]
    last = device.launches[-1]
    assert (last["num_warps"], last["num_stages"]) == (8, 1)
    assert device.benches == 2


def test_partial_handwritten_configs_are_starting_points(device: FakeDriver) -> None:
    kernel = tuner(
        plain_kernels.add,
        params=("BLOCK_M", "BLOCK_N"),
        values=(8, 16, 32),
        configs=[Config({"BLOCK_M": 8}), Config({"BLOCK_N": 8})],
        key=["M", "N"],
    )
    kernel[(4, 4)](Tensor(), Tensor(), Tensor(), 64, 64)
    first = device.tiles("BLOCK_M", "BLOCK_N")[:3]
    assert first[1][0] == 8 and first[2][1] == 8
    assert len(set(device.tiles("BLOCK_M", "BLOCK_N"))) == 9


def test_a_starting_point_may_lie_beside_the_values(device: FakeDriver) -> None:
    device.times = lambda launch: float(launch["BLOCK_M"])
    kernel = tuner(
        plain_kernels.add,
        params=("BLOCK_M", "BLOCK_N"),
        values=(16, 32),
        configs=[Config({"BLOCK_M": 8})],
        key=["M", "N"],
    )
    kernel[(4, 4)](Tensor(), Tensor(), Tensor(), 64, 64)
    assert device.launches[-1]["BLOCK_M"] == 8


def test_configs_that_also_fix_what_is_not_searched(device: FakeDriver) -> None:
    configs = [Config({"BLOCK": 16, "EVEN": False}), Config({"BLOCK": 32, "EVEN": False})]
    kernel = tuner(plain_kernels.even, configs=configs)
    call(kernel)
    assert {even for (even,) in device.tiles("EVEN")} == {False}


def test_a_config_may_only_fix_what_is_not_searched(device: FakeDriver) -> None:
    kernel = tuner(plain_kernels.even, configs=[Config({"EVEN": False})])
    call(kernel)
    assert {even for (even,) in device.tiles("EVEN")} == {False}
    assert {block for (block,) in device.tiles("BLOCK")} == {16, 32, 64}
    assert ascend_autotune.explain(kernel).request.constants["EVEN"] is False


def test_equal_handwritten_configs_are_timed_once(device: FakeDriver) -> None:
    kernel = tuner(configs=[Config({"BLOCK": 16}), Config({"BLOCK": 16}), Config({"BLOCK": 32})])
    call(kernel)
    assert device.benches == 2


# -- explain ---------------------------------------------------------------------------------


def test_explain_speaks_of_the_last_call(fast32: FakeDriver) -> None:
    kernel = tuner()
    call(kernel, 1000, x=Tensor("float32"))
    report = ascend_autotune.explain(kernel)
    assert report.request.signature["X"].startswith("*fp32")
    assert report.request.signature["Y"].startswith("*fp16")
    assert report.tile == {"BLOCK": 32}
    assert {t.config.candidate["BLOCK"] for t in report.search.trials} == {16, 32, 64}
    call(kernel, 64)
    assert ascend_autotune.explain(kernel).search.key[0] == 64
    call(kernel, 1000, x=Tensor("float32"))  # tuned long ago, and the last call now
    assert ascend_autotune.explain(kernel).search.key[0] == 1000


# -- what is said ----------------------------------------------------------------------------


def test_silent_by_default(fast32: FakeDriver, capfd: pytest.CaptureFixture[str]) -> None:
    kernel = tuner()
    call(kernel)
    call(kernel)
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_print_autotuning(
    fast32: FakeDriver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    kernel = tuner()
    call(kernel)
    said = capsys.readouterr().out
    assert "Triton autotuning for function scale" in said
    assert "best config selected: BLOCK=32" in said
    assert "1000" in said
    call(kernel)
    assert capsys.readouterr().out == ""
    monkeypatch.delenv("TRITON_PRINT_AUTOTUNING")
    call(kernel, 64)
    assert capsys.readouterr().out == ""


def test_print_timings(
    fast32: FakeDriver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING_TIMINGS", "1")
    fast32.effect = failing(64)
    call(tuner())
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "1 ms" in line and "BLOCK=32" in line]
    assert [line for line in lines if "2 ms" in line and "BLOCK=16" in line]
    assert [line for line in lines if "no room for 64" in line]
    assert not [line for line in lines if "best config" in line]


def test_debug(fast32: FakeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    call(tuner(debug=True))
    said = capsys.readouterr().out
    assert "3 of 3 candidates" in said
    for block in (16, 32, 64):
        assert f"timing BLOCK={block}" in said
    assert "best config selected: BLOCK=32" in said


def test_messages_go_where_print_goes_now(
    fast32: FakeDriver, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import contextlib
    import io

    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    for _ in range(2):
        taken = io.StringIO()
        with contextlib.redirect_stdout(taken):
            call(tuner())
        assert taken.getvalue().count("best config selected") == 1
    assert capsys.readouterr().out == ""


# -- requests that are wrong -----------------------------------------------------------------


@pytest.mark.parametrize("where", ["key", "reset_to_zero", "restore_value"])
def test_names_that_are_no_arguments(device: FakeDriver, where: str) -> None:
    with pytest.raises(RequestError, match=f"{where}.*NN.*did you mean 'N'"):
        tuner(
            key=["NN"] if where == "key" else ["N"],
            decorated={} if where == "key" else {where: ["NN"]},
        )


def test_the_switch_is_looked_at_when_decorating(
    device: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_AUTOTUNE", "0")
    kernel = tuner(configs=[Config({"BLOCK": 16}), Config({"BLOCK": 32})])
    assert type(kernel) is triton.runtime.autotuner.Autotuner
    call(kernel)
    assert device.benches == 2


# -- the interpreter -------------------------------------------------------------------------

INTERPRETED = """
import torch, triton, triton.language as tl
import ascend_autotune.hooks

@triton.autotune(configs=[], key=["N"], hints={{"search_params": {{"params": ["BLOCK"]}}}}{more})
@triton.jit
def double(X, Y, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < N, other=0.0) * 2, mask=at < N)

for n in (5, 100):
    x, y = torch.arange(n, dtype=torch.float32), torch.zeros(n)
    double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    assert torch.equal(y, x * 2), y
print("done")
"""


@pytest.mark.parametrize("more", ["", ', restore_value=["Y"]'])
def test_the_interpreter_runs_it(tmp_path: Path, more: str) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "script.py"
    script.write_text(INTERPRETED.format(more=more))
    import os

    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr

"""What went wrong for users of other tuners, and what happens here instead.

The numbers are those of user-cases.md; all of it on the modelled NPU. Behaviour that does not
need the Ascend compiler is tested on every flavour in test_search_mode.py.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import guide_kernels as k
import pytest
import triton
from guide_kernels import SMALL, attend, report, scale, tiles, tuned

from ascend_autotune import hooks
from ascend_autotune.errors import NoConfigRuns, RequestError

ROOT = Path(__file__).resolve().parents[2]
BLOCKS: dict[str, Any] = {"params": ["BLOCK"], "values": [256, 512]}
EARLIER = "triton.backends.dicp_triton.ascend_autotune_hooks"


# -- 8: no valid config --------------------------------------------------------------------


def test_8_where_nothing_fits_each_candidate_is_listed_with_its_reason(modelled: Any) -> None:
    kernel = tuned(k.scale_kernel, {**BLOCKS, "values": [262144, 524288]}, key=["n"])
    with pytest.raises(NoConfigRuns) as caught:
        scale(kernel, 1 << 20)
    said = str(caught.value)
    for block in (262144, 524288):
        assert f"BLOCK={block}: ub needs " in said
    assert "196,608" in said
    assert modelled.stats == {"launches": 0, "compiles": 0, "refused": 0}


def test_8_where_all_fail_each_is_listed_with_its_own_message(modelled: Any) -> None:
    _with_faults(lambda _kernel, _values: "compile_error")
    kernel = tuned(k.scale_kernel, BLOCKS, key=["n"])
    with pytest.raises(NoConfigRuns) as caught:
        scale(kernel)
    said = str(caught.value)
    assert "scale_kernel" in said
    assert "BLOCK=256" in said
    assert "BLOCK=512" in said


def test_8_one_failing_config_costs_only_itself(modelled: Any) -> None:
    _with_faults(lambda _kernel, values: "compile_error" if values["BLOCK"] == 256 else None)
    kernel = tuned(k.scale_kernel, BLOCKS, key=["n"])
    scale(kernel)
    assert kernel.best_config.kwargs["BLOCK"] == 512
    failed = [trial for trial in report(kernel).trials if trial.fate == "failed"]
    assert {trial.config.candidate["BLOCK"] for trial in failed} == {256}
    assert all(trial.reason for trial in failed)


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ({"params": []}, "names nothing to search"),
        ({"params": ["BLOCK"], "values": []}, "values is empty"),
        ({"params": ["BLOCK"], "values": {"BLOCKS": [64]}}, "did you mean 'BLOCK'"),
        ({"parms": ["BLOCK"]}, "did you mean 'params'"),
    ],
)
def test_8_where_none_is_generated_the_argument_is_named(
    modelled: Any, search: dict[str, Any], said: str
) -> None:
    with pytest.raises(RequestError, match=said):
        tuned(k.scale_kernel, search, key=["n"])


def test_8_constraints_that_leave_nothing_are_named(modelled: Any) -> None:
    kernel = tuned(k.scale_kernel, {**BLOCKS, "constraints": lambda tile: False}, key=["n"])
    with pytest.raises(NoConfigRuns, match="constraints"):
        scale(kernel)


def test_8_values_that_are_no_powers_of_two_are_candidates(modelled: Any) -> None:
    search = {"params": ["ROWS"], "values": [96, 192]}
    kernel = tuned(k.rows_kernel, search, key=["n"])
    x, y = k.HostTensor("fp32"), k.HostTensor("fp32")
    kernel[lambda meta: (triton.cdiv(4096, meta["ROWS"]),)](x, y, 4096)
    assert tiles(kernel, "timed") == {(96,), (192,)}


def _with_faults(plan: Any) -> Any:
    from ascend_autotune.search.standin import activate, deactivate

    deactivate()
    return activate(faults=plan)


# -- 10: importing asked for a device ------------------------------------------------------


DECORATE = """
import triton, triton.language as tl
from triton.backends import backends
for found in backends.values():
    def is_active(name=found.driver.__name__):
        raise SystemExit(name + " was asked for")
    found.driver.is_active = staticmethod(is_active)
import ascend_autotune.hooks
from guide_kernels import SMALL, attend, attention_kernel, tuned

kernel = tuned(attention_kernel, SMALL)
plain = tuned(attention_kernel, None, configs=[triton.Config({"BLOCK_M": 64, "BLOCK_N": 64})])
import sys
assert not [name for name in sys.modules if name in ("torch", "torch_npu")], "torch"
print("decorated")
try:
    attend(kernel)
except SystemExit as stopped:
    print("the first call:", stopped)
"""


def test_10_importing_and_decorating_touch_no_device(tmp_path: Path) -> None:
    """In a process of its own, where asking for a driver ends it. No stand-in: any flavour."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{Path(__file__).parent}"}
    environment.pop("ASCEND_AUTOTUNE_DEVICE", None)
    done = subprocess.run(
        [sys.executable, "-c", DECORATE],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    decorated, called = done.stdout.splitlines()
    assert decorated == "decorated"
    assert called.endswith("was asked for")


def test_10_the_device_is_touched_at_the_first_call(modelled: Any) -> None:
    kernel = tuned(k.scale_kernel, BLOCKS, key=["n"])
    assert modelled.stats == {"launches": 0, "compiles": 0, "refused": 0}
    scale(kernel)
    assert modelled.stats["launches"] > 0


# -- 11: the exact length in the key -------------------------------------------------------

LENGTHS = range(1000, 5000, 100)


def test_11_forty_lengths_in_buckets_are_four_tunings(modelled: Any) -> None:
    search = {**BLOCKS, "key_buckets": {"n": "pow2"}}
    kernel = tuned(k.scale_kernel, search, key=["n"])
    assert len(LENGTHS) == 40
    searches = []
    for n in LENGTHS:
        scale(kernel, n)
        found = report(kernel)
        if not any(found is known for known in searches):
            searches.append(found)
    assert [key[0] for key in kernel.cache] == [1024, 2048, 4096, 8192]
    assert len(searches) == 4


def test_11_without_buckets_each_length_is_its_own_key(modelled: Any) -> None:
    kernel = tuned(k.scale_kernel, BLOCKS, key=["n"])
    for n in (1000, 1100, 1000):
        scale(kernel, n)
    assert [key[0] for key in kernel.cache] == [1000, 1100]


def test_11_bounds_and_masks_stay_exact(modelled: Any) -> None:
    torch = pytest.importorskip("torch")
    from ascend_autotune.search.standin import activate, deactivate

    deactivate()
    activate(compute=True)
    kernel = tuned(k.scale_kernel, {**BLOCKS, "key_buckets": {"n": [1024]}}, key=["n"])
    for n in (1000, 700, 1024, 1):
        x, y = torch.arange(1024.0), torch.full((1024,), -1.0)
        scale(kernel, n, x, y)
        assert torch.equal(y[:n], x[:n] * 2)
        assert (y[n:] == -1).all()
    assert len(kernel.cache) == 1


# -- 12: a tensor without elements ---------------------------------------------------------


@pytest.mark.parametrize("strict", [False, True])
def test_12_an_empty_grid_launches_nothing_and_tunes_nothing(modelled: Any, strict: bool) -> None:
    kernel = tuned(k.scale_kernel, {**BLOCKS, "strict": strict}, key=["n"])
    scale(kernel, 0)
    assert modelled.stats == {"launches": 0, "compiles": 0, "refused": 0}
    assert not kernel.cache
    scale(kernel, 1000)  # a later call is none the worse for it
    assert kernel.best_config.kwargs["BLOCK"] in (256, 512)
    launches = modelled.stats["launches"]
    scale(kernel, 0)
    assert modelled.stats["launches"] == launches


def test_12_a_fixed_grid_may_be_empty_too(modelled: Any) -> None:
    kernel = tuned(k.scale_kernel, BLOCKS, key=["n"])
    x, y = k.HostTensor("fp32"), k.HostTensor("fp32")
    for grid in ((0,), (0, 4), (4, 0, 1)):
        kernel[grid](x, y, 0)
    assert modelled.stats == {"launches": 0, "compiles": 0, "refused": 0}


# -- 14: a first call inside graph capture -------------------------------------------------


@pytest.fixture
def capture(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A stream that is being captured while `.on` is True."""
    state = SimpleNamespace(on=False)
    npu = SimpleNamespace(is_current_stream_capturing=lambda: state.on)
    torch = sys.modules.get("torch")
    if torch is None:
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(npu=npu))  # type: ignore[arg-type]
    else:
        monkeypatch.setattr(torch, "npu", npu, raising=False)
    return state


def test_14_during_capture_the_predicted_config_runs_and_nothing_is_measured(
    modelled: Any, capture: SimpleNamespace
) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    capture.on = True
    attend(kernel)
    assert modelled.stats["launches"] == 1
    assert modelled.stats["compiles"] == 1
    assert not kernel.cache
    assert report(kernel).best is not None
    assert report(kernel).best_ms is None


def test_14_after_the_capture_the_key_is_tuned(modelled: Any, capture: SimpleNamespace) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    capture.on = True
    attend(kernel)
    capture.on = False
    attend(kernel)
    assert len(kernel.cache) == 1
    assert report(kernel).best_ms is not None


def test_14_during_capture_the_tuned_config_runs(modelled: Any, capture: SimpleNamespace) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel)
    best, launches = kernel.best_config, modelled.stats["launches"]
    capture.on = True
    attend(kernel)
    assert kernel.best_config is best
    assert modelled.stats["launches"] == launches + 1


def test_14_during_capture_what_cannot_run_raises_before_the_stream_is_touched(
    modelled: Any, capture: SimpleNamespace
) -> None:
    kernel = tuned(k.scale_kernel, {**BLOCKS, "values": [262144]}, key=["n"])
    capture.on = True
    with pytest.raises(NoConfigRuns):
        scale(kernel, 1 << 20)
    assert modelled.stats == {"launches": 0, "compiles": 0, "refused": 0}


# -- from users of the issue ---------------------------------------------------------------


def handwritten() -> list[Any]:
    """3 tiles x 3 num_warps x 3 num_stages; on triton-ascend 3.2.0 neither changes the program."""
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n}, num_warps=warps, num_stages=stages)
        for m, n in ((64, 64), (128, 64), (128, 128))
        for warps in (2, 4, 8)
        for stages in (2, 3, 4)
    ]


def test_27_configs_become_3_and_the_report_says_so(modelled: Any) -> None:
    configs = handwritten()
    assert len(configs) == 27
    kernel = tuned(k.attention_kernel, SMALL, configs=configs)
    attend(kernel)
    assert modelled.stats["compiles"] == 3
    found = report(kernel)
    merged = [trial for trial in found.trials if trial.fate == "merged"]
    assert len(found.trials) == 27
    assert len(merged) == 24
    assert all(trial.same_as is not None for trial in merged)
    assert all(
        trial.config.candidate["BLOCK_M"] == trial.same_as.candidate["BLOCK_M"] for trial in merged
    )
    assert "24 merged" in str(found)
    assert "3 timed" in str(found)


@pytest.mark.parametrize("given", [True, False])
def test_multibuffer_given_at_launch_does_not_clash_with_handwritten_configs(
    modelled: Any, given: bool
) -> None:
    configs = [
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, multibuffer=True),
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}, multibuffer=False),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64, "multibuffer": True}),
    ]
    kernel = tuned(k.attention_kernel, SMALL, configs=configs)
    attend(kernel, multibuffer=given)
    # What is given holds for all: the first two are one program.
    assert modelled.stats["compiles"] == 2
    assert modelled.stats["refused"] == 0
    assert tiles(kernel, "timed") == {(64, 64), (128, 64)}


@pytest.mark.parametrize("given", [True, False])
def test_multibuffer_given_at_launch_does_not_clash_with_the_search(
    modelled: Any, given: bool
) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel, multibuffer=given)
    attend(kernel, multibuffer=given)
    assert not any("multibuffer" in t.config.profile for t in report(kernel).trials)
    assert len(kernel.cache) == 1


def test_a_config_that_vanished_is_in_the_report_with_its_reason(modelled: Any) -> None:
    configs = [
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64}),
        triton.Config({"BLOCK_M": 1024, "BLOCK_N": 1024}),
    ]
    kernel = tuned(k.attention_kernel, SMALL, configs=configs)
    attend(kernel)
    (gone,) = [trial for trial in report(kernel).trials if trial.fate == "pruned"]
    assert gone.config.candidate["BLOCK_M"] == 1024
    assert "ub needs" in gone.reason
    assert "BLOCK_M=1024" in str(report(kernel))
    assert "ub needs" in str(report(kernel))


# -- the earlier hook, imported as well ----------------------------------------------------


@pytest.fixture
def earlier(uninstalled: None, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that does to Triton what the earlier hook does when it is imported.

    `calls` counts how often its decorator was used.
    """
    module = ModuleType(EARLIER)
    module.calls = 0  # type: ignore[attr-defined]

    def proxy(configs: Any, key: Any, **kwargs: Any) -> Any:
        from triton.runtime.autotuner import autotune as stock

        module.calls += 1  # type: ignore[attr-defined]
        return stock(configs=configs, key=key, **kwargs)

    def put_in_place() -> None:
        monkeypatch.setitem(sys.modules, EARLIER, module)
        monkeypatch.setattr(triton, "autotune", proxy)

    module.put_in_place = put_in_place  # type: ignore[attr-defined]
    return module


def layers(kernel: Any) -> int:
    """How many autotuners are around the kernel."""
    from triton.runtime.autotuner import Autotuner

    found = 0
    while hasattr(kernel, "fn") and not isinstance(kernel, triton.JITFunction):
        found += isinstance(kernel, Autotuner)
        kernel = kernel.fn
    return found


def test_the_earlier_hook_imported_before_makes_no_second_layer(earlier: Any) -> None:
    earlier.put_in_place()
    hooks.install()
    kernel = tuned(k.attention_kernel, SMALL)
    assert layers(kernel) == 1
    assert earlier.calls == 0
    assert type(kernel).__name__ == "SearchTuner"


def test_the_earlier_hook_imported_after_makes_no_second_layer(uninstalled: None) -> None:
    hooks.install()
    ours = triton.autotune
    found = importlib.import_module(EARLIER)
    assert triton.autotune is ours
    assert layers(tuned(k.attention_kernel, SMALL)) == 1
    # What its own callers ask of it: switching on and off, neither of which does anything there.
    found.hook_autotune_for_ascend()
    found.unhook_autotune_for_ascend()
    assert triton.autotune is ours


def test_importing_the_hook_again_makes_no_second_layer(uninstalled: None) -> None:
    hooks.install()
    ours = triton.autotune
    hooks.install()
    importlib.reload(hooks)
    assert triton.autotune is ours
    assert layers(tuned(k.attention_kernel, SMALL)) == 1


def test_uninstalling_gives_back_what_was_there(earlier: Any) -> None:
    earlier.put_in_place()
    before = triton.autotune
    hooks.install()
    assert triton.autotune is not before
    hooks.uninstall()
    assert triton.autotune is before

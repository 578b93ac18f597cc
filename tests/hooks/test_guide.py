"""The user's guide, sentence by sentence: a test for each, on the modelled NPU.

Sections are those of guide.zh.txt. No figure here says anything of an NPU.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import guide_kernels as k
import pytest
import triton
from guide_kernels import SMALL, attend, profiles, report, scale, tiles, tuned

import ascend_autotune
from ascend_autotune.errors import RequestError
from ascend_autotune.hooks.hints import DEFAULT_VALUES, VECTOR_VALUES

WORKSPACE = {"set_workspace_multibuffer", "tile_mix_vector_loop", "tile_mix_cube_loop"}
VECTOR_SAFE = {"multibuffer", "enable_ubuf_saving"}


# -- 1. the smallest configuration ---------------------------------------------------------


def test_the_hook_is_imported_before_the_kernel_is_decorated(modelled: Any) -> None:
    """The guide's decorator, argument by argument, on the attribute that users decorate with."""
    assert sys.modules["ascend_autotune.hooks"].installed()
    kernel = triton.autotune(
        configs=[],
        key=["N_CTX", "HEAD_DIM"],
        hints={"search_params": {"params": ["BLOCK_M", "BLOCK_N"]}},
    )(k.attention_kernel)
    assert kernel.fn is k.attention_kernel
    assert modelled.stats == {"launches": 0, "compiles": 0, "refused": 0}


def test_empty_configs_generate_and_search_tiles_and_compile_options(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel)
    assert len(tiles(kernel, "timed")) > 1
    timed = [t.config.profile for t in report(kernel).trials if t.fate == "timed"]
    assert any(timed)
    assert not all(timed)
    assert {"BLOCK_M", "BLOCK_N"} <= set(kernel.best_config.kwargs)


def test_the_key_is_optional(modelled: Any) -> None:
    kernel = triton.autotune(configs=[], hints={"search_params": SMALL}, key=None)
    assert kernel is not None
    without = triton.autotune(configs=[], hints={"search_params": SMALL})(k.attention_kernel)
    attend(without)
    assert report(without).best is not None


def test_without_a_key_different_shapes_share_one_result(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL, key=[])
    attend(kernel, 2048)
    first = kernel.best_config
    attend(kernel, 1024)
    assert kernel.best_config is first
    assert len(kernel.cache) == 1


def test_an_equal_key_reuses_the_cache_and_another_tunes_again(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel, 2048)
    launches = modelled.stats["launches"]
    attend(kernel, 2048)
    assert modelled.stats["launches"] == launches + 1
    assert len(kernel.cache) == 1
    attend(kernel, 1024)
    assert modelled.stats["launches"] > launches + 2
    assert len(kernel.cache) == 2


def test_every_name_of_the_key_counts(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel, 1024, 64)
    attend(kernel, 1024, 32)
    assert [key[:2] for key in kernel.cache] == [(1024, 64), (1024, 32)]


def test_the_classifier_infers_the_family(modelled: Any) -> None:
    mixed = tuned(k.attention_kernel, SMALL)
    attend(mixed)
    assert report(mixed).family == "mixcv"
    vector = tuned(k.scale_kernel, {"params": ["BLOCK"], "values": [256, 512]}, key=["n"])
    scale(vector)
    assert report(vector).family == "vector"


def test_attention_searches_workspace_tile_mix_and_multibuffer_profiles(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel)
    assert _profile_names(kernel) >= WORKSPACE | {"multibuffer"}


def test_matmul_searches_workspace_tile_mix_and_multibuffer_profiles(modelled: Any) -> None:
    params = ["BLOCK_M", "BLOCK_N", "BLOCK_K"]
    kernel = tuned(k.matmul_kernel, {**SMALL, "params": params, "values": [64]}, key=["N", "K"])
    a, b, c = (k.HostTensor() for _ in range(3))
    kernel[lambda meta: (512 // meta["BLOCK_M"], 512 // meta["BLOCK_N"])](a, b, c, 512, 512)
    assert _profile_names(kernel) >= WORKSPACE | {"multibuffer"}


def test_a_vector_kernel_searches_vector_safe_profiles_only(modelled: Any) -> None:
    kernel = tuned(k.scale_kernel, {"params": ["BLOCK"], "values": [256, 512]}, key=["n"])
    scale(kernel)
    names = _profile_names(kernel)
    assert names <= VECTOR_SAFE
    assert "multibuffer" in names


def _profile_names(kernel: Any) -> set[str]:
    return {name for profile in profiles(kernel) for name in profile}


def test_compile_options_mixcv_is_no_longer_needed_and_still_accepted(
    modelled: Any, recwarn: pytest.WarningsRecorder
) -> None:
    kernel = tuned(k.attention_kernel, {**SMALL, "compile_options": "mixcv"})
    attend(kernel)
    assert any("not needed" in notice for notice in report(kernel).notices)
    assert not [w for w in recwarn if "not followed" in str(w.message)]


def test_where_the_hint_and_the_classifier_disagree_the_classifier_holds(modelled: Any) -> None:
    search = {"params": ["BLOCK"], "values": [256, 512], "compile_options": "mixcv"}
    kernel = tuned(k.scale_kernel, search, key=["n"])
    with pytest.warns(RuntimeWarning, match="vector") as said:
        scale(kernel, 4096)
        scale(kernel, 8192)
    assert len([w for w in said if "not followed" in str(w.message)]) == 1
    assert report(kernel).family == "vector"
    assert _profile_names(kernel) <= VECTOR_SAFE


# -- 2. calling ----------------------------------------------------------------------------


def test_a_call_does_not_pass_the_tile(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    seen: list[dict[str, Any]] = []

    def grid(meta: dict[str, Any]) -> tuple[int, ...]:
        seen.append(dict(meta))
        return (triton.cdiv(meta["N_CTX"], meta["BLOCK_M"]),)

    Q, K, V, Out = (k.HostTensor() for _ in range(4))
    kernel[grid](Q, K, V, Out, 2048, 64)
    best = kernel.best_config.kwargs
    assert (seen[-1]["BLOCK_M"], seen[-1]["BLOCK_N"]) == (best["BLOCK_M"], best["BLOCK_N"])
    assert (seen[-1]["N_CTX"], seen[-1]["HEAD_DIM"]) == (2048, 64)


def test_the_first_call_with_a_new_key_tunes_and_later_ones_launch_the_best_config(
    modelled: Any,
) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel)
    tuned_once = dict(modelled.stats)
    assert tuned_once["compiles"] > 1
    before = modelled.elapsed_ms()
    for _ in range(3):
        attend(kernel)
    assert modelled.stats["compiles"] == tuned_once["compiles"]
    assert modelled.stats["launches"] == tuned_once["launches"] + 3
    # The best config it is: three launches take three times its time.
    assert modelled.elapsed_ms() - before == pytest.approx(3 * report(kernel).best_ms)


def test_the_best_config_is_the_fastest_that_was_timed(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel)
    found = report(kernel)
    assert found.best_ms == min(t.time_ms for t in found.trials if t.time_ms is not None)


def test_two_threads_that_meet_a_key_tune_it_once(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    alone = tuned(k.attention_kernel, SMALL)
    attend(alone)
    launches = modelled.stats["launches"]
    threads = [threading.Thread(target=attend, args=(kernel,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert modelled.stats["launches"] == 2 * launches + 1
    assert len(kernel.cache) == 1


# -- 3. the range of the search ------------------------------------------------------------


def test_the_default_values_are_the_guides(modelled: Any) -> None:
    assert DEFAULT_VALUES == (16, 32, 64, 128, 256, 512, 1024, 2048)
    kernel = tuned(k.attention_kernel, {"params": ["BLOCK_M", "BLOCK_N"], "effort": "quick"})
    attend(kernel)
    assert tiles(kernel) == {(m, n) for m in DEFAULT_VALUES for n in DEFAULT_VALUES}


def test_kernels_without_dots_try_wider_values_too(modelled: Any) -> None:
    kernel = tuned(k.scale_kernel, {"params": ["BLOCK"], "effort": "quick"}, key=["n"])
    scale(kernel)
    assert tiles(kernel) == {(value,) for value in VECTOR_VALUES}
    assert set(DEFAULT_VALUES) < set(VECTOR_VALUES)


def test_values_narrow_the_range(modelled: Any) -> None:
    values = [32, 64, 128, 256]
    search = {"params": ["BLOCK_M", "BLOCK_N"], "values": values, "effort": "quick"}
    kernel = tuned(k.attention_kernel, search)
    attend(kernel)
    assert tiles(kernel) == {(m, n) for m in values for n in values}
    assert kernel.best_config.kwargs["BLOCK_M"] in values


def test_values_may_be_given_by_parameter(modelled: Any) -> None:
    values = {"BLOCK_M": [64, 128], "BLOCK_N": [32]}
    kernel = tuned(k.attention_kernel, {**SMALL, "values": values})
    attend(kernel)
    assert tiles(kernel) == {(64, 32), (128, 32)}


@pytest.mark.parametrize("top", [1, 2])
def test_shape_final_top_k_is_the_number_of_tiles_whose_profiles_are_searched(
    modelled: Any, top: int
) -> None:
    kernel = tuned(k.attention_kernel, {**SMALL, "shape_final_top_k": top})
    attend(kernel)
    assert 0 < len(_tiles_with_profiles(kernel)) <= top


def test_shape_final_top_k_is_3_where_it_is_not_given(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, {**SMALL, "effort": "default"})
    attend(kernel)
    assert 1 < len(_tiles_with_profiles(kernel)) <= 3


def _tiles_with_profiles(kernel: Any) -> set[tuple[object, ...]]:
    return {
        tuple(trial.config.candidate.values())
        for trial in report(kernel).trials
        if trial.stage == "profiles" and trial.fate in ("timed", "failed")
    }


# -- 4. output -----------------------------------------------------------------------------


def test_it_is_silent_by_default(modelled: Any, capfd: pytest.CaptureFixture[str]) -> None:
    attend(tuned(k.attention_kernel, SMALL))
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")


def test_debug_prints_the_search(modelled: Any, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = tuned(k.attention_kernel, {**SMALL, "debug": True})
    attend(kernel)
    said = capsys.readouterr().out
    assert "attention_kernel" in said
    assert "mixcv" in said
    assert "4 of 4 candidates" in said
    for m, n in tiles(kernel, "timed"):
        assert f"BLOCK_M={m}, BLOCK_N={n}" in said
    assert "best config selected" in said
    assert "modelled" in said


def test_debug_of_one_kernel_says_nothing_of_another(
    modelled: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    attend(tuned(k.attention_kernel, {**SMALL, "debug": True}))
    capsys.readouterr()
    scale(tuned(k.scale_kernel, {"params": ["BLOCK"], "values": [256, 512]}, key=["n"]))
    assert capsys.readouterr().out == ""


def test_triton_print_autotuning_prints_the_result(
    modelled: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel)
    said = capsys.readouterr().out
    assert "Triton autotuning for function attention_kernel" in said
    assert f"best config selected: {report(kernel).best}" in said
    assert "modelled" in said
    attend(kernel)  # from the cache: nothing to say
    assert capsys.readouterr().out == ""


def test_triton_print_autotuning_timings_prints_each_config(
    modelled: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING_TIMINGS", "1")
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel)
    lines = capsys.readouterr().out.splitlines()
    timed = [trial for trial in report(kernel).trials if trial.fate == "timed"]
    assert len(timed) > 1
    for trial in timed:
        assert [line for line in lines if str(trial.config) in line and " ms" in line]
    assert any("modelled" in line for line in lines)


# -- 5. handwritten configs ----------------------------------------------------------------

HANDWRITTEN = (
    {"BLOCK_M": 64, "BLOCK_N": 64},
    {"BLOCK_M": 128, "BLOCK_N": 64},
    {"BLOCK_M": 128, "BLOCK_N": 128},
)


def test_handwritten_configs_without_hints_choose_the_fastest_of_them(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, None, configs=[triton.Config(c) for c in HANDWRITTEN])
    attend(kernel)
    assert [config.kwargs for config in kernel.configs_timings] == list(HANDWRITTEN)
    fastest = min(kernel.configs_timings, key=kernel.configs_timings.get)
    assert kernel.best_config is fastest
    assert modelled.stats["compiles"] == 3


def test_handwritten_configs_that_give_every_parameter_win_over_search_params(
    modelled: Any,
) -> None:
    configs = [triton.Config(c) for c in HANDWRITTEN]
    kernel = tuned(k.attention_kernel, {**SMALL, "values": [16, 32]}, configs=configs)
    attend(kernel)
    assert tiles(kernel) == {tuple(config.values()) for config in HANDWRITTEN}
    assert not any(profiles(kernel))
    assert kernel.best_config in configs


def test_handwritten_configs_keep_their_own_options(modelled: Any) -> None:
    configs = [triton.Config(c, multibuffer=False) for c in HANDWRITTEN[:2]]
    kernel = tuned(k.attention_kernel, SMALL, configs=configs)
    attend(kernel)
    assert profiles(kernel) == [{"multibuffer": False}] * 2
    assert kernel.best_config.multibuffer is False


def test_configs_that_give_some_parameters_are_starting_points(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL, configs=[triton.Config({"BLOCK_M": 128})])
    attend(kernel)
    assert tiles(kernel) == {(m, n) for m in (64, 128) for n in (64, 128)}
    early = [t.config.candidate for t in report(kernel).trials if t.stage == "default"]
    assert any(tile["BLOCK_M"] == 128 for tile in early)


# -- 6. what to mind -----------------------------------------------------------------------


def test_the_key_may_hold_any_number_of_shape_and_meta_parameters(modelled: Any) -> None:
    names = ["N_CTX", "HEAD_DIM", "Q", "K", "V", "Out"]
    kernel = tuned(k.attention_kernel, SMALL, key=[*names, "BLOCK_M"])
    attend(kernel)
    attend(kernel)
    assert len(kernel.cache) == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("n", "declare it tl.constexpr"),
        ("BLOK", "did you mean 'BLOCK'"),
        ("multibuffer", "is a compile option"),
    ],
)
def test_params_must_be_constexpr_parameters_of_the_kernel(
    modelled: Any, name: str, said: str
) -> None:
    with pytest.raises(RequestError, match=said):
        tuned(k.scale_kernel, {"params": [name]}, key=["n"])


def test_the_tile_need_not_be_passed_in_either_mode(modelled: Any) -> None:
    generated = tuned(k.attention_kernel, SMALL)
    listed = tuned(k.attention_kernel, SMALL, configs=[triton.Config(c) for c in HANDWRITTEN])
    for kernel in (generated, listed):
        attend(kernel)
        assert {"BLOCK_M", "BLOCK_N"} <= set(kernel.best_config.kwargs)


def test_a_tile_that_is_passed_is_fixed_and_the_rest_is_searched(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    Q, K, V, Out = (k.HostTensor() for _ in range(4))
    kernel[(32,)](Q, K, V, Out, 2048, 64, BLOCK_M=64)
    assert tiles(kernel) == {(64,), (128,)}
    assert kernel.best_config.kwargs["BLOCK_N"] in (64, 128)
    kernel[(16,)](Q, K, V, Out, 2048, 64, BLOCK_M=128)
    assert len(kernel.cache) == 2


@pytest.mark.parametrize(
    "search",
    [{"params": ["BLOCK", "unit_flag"]}, {"params": ["BLOCK"], "unit_flag": [True, False]}],
)
def test_unit_flag_does_not_belong_in_search_params(modelled: Any, search: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match=r"unit_flag is not searched.*by its own policy"):
        tuned(k.scale_kernel, search, key=["n"])


def test_the_tuner_handles_unit_flag_by_its_own_policy(modelled: Any) -> None:
    """One last trial on regular dot kernels, none on vector kernels."""
    mixed = tuned(k.attention_kernel, SMALL)
    attend(mixed)
    flagged = [t for t in report(mixed).trials if t.config.profile.get("unit_flag")]
    assert [t.stage for t in flagged] == ["final"]
    vector = tuned(k.scale_kernel, {"params": ["BLOCK"], "values": [256, 512]}, key=["n"])
    scale(vector)
    assert not [t for t in report(vector).trials if "unit_flag" in t.config.profile]


@pytest.mark.parametrize("name", ["chunk_state_kernel", "atomic_kernel"])
def test_params_must_be_performance_tiles(modelled: Any, name: str) -> None:
    """State splits and atomic granularity: refused before anything is launched."""
    kernel, param = getattr(k, name), {"chunk_state_kernel": "CHUNK"}.get(name, "SEQ_BLOCK")
    search = {"params": [param], "values": [128, 256]}
    x, y = k.HostTensor("fp32"), k.HostTensor("fp32")
    with pytest.raises(RequestError, match=rf"{param} is no performance tile.*reference_fn"):
        tuned(kernel, search, key=["n"])[lambda meta: (triton.cdiv(512, meta[param]),)](x, y, 512)
    assert modelled.stats["launches"] == 0


def test_a_parameter_that_says_what_is_covered_never_wins_wrongly(
    modelled: Any, recwarn: pytest.WarningsRecorder
) -> None:
    """Refused, or compared: ROW_BLOCK=128 leaves most of the output unwritten."""
    torch = pytest.importorskip("torch")
    _computing()
    kernel = tuned(k.first_rows_kernel, {"params": ["ROW_BLOCK"], "values": [128, 1024]}, key=["n"])
    x, y = torch.ones(600), torch.zeros(600)
    try:
        kernel[(1,)](x, y, 600)
    except RequestError as error:
        assert "ROW_BLOCK is no performance tile" in str(error)
        return
    assert kernel.best_config.kwargs["ROW_BLOCK"] == 1024
    assert torch.equal(y, x + 1)


def test_such_parameters_may_stay_fixed(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, {**SMALL, "params": ["BLOCK_M"]})
    Q, K, V, Out = (k.HostTensor() for _ in range(4))
    grid = lambda meta: (triton.cdiv(2048, meta["BLOCK_M"]),)  # noqa: E731
    kernel[grid](Q, K, V, Out, 2048, 64, BLOCK_N=64)
    assert list(report(kernel).best.candidate) == ["BLOCK_M"]


def test_such_parameters_may_be_searched_with_a_reference_fn(modelled: Any) -> None:
    torch = pytest.importorskip("torch")
    _computing()

    def reference(x: Any, y: Any, n: int) -> Any:
        return x.reshape(-1, 128).cumsum(1).reshape(-1)

    search = {"params": ["CHUNK"], "values": [128, 256], "reference_fn": reference}
    kernel = tuned(k.chunk_state_kernel, search, key=["n"])
    x, y = torch.ones(512), torch.zeros(512)
    kernel[lambda meta: (triton.cdiv(512, meta["CHUNK"]),)](x, y, 512)
    assert kernel.best_config.kwargs["CHUNK"] == 128
    assert torch.equal(y, reference(x, y, 512))
    assert report(kernel).gate == "reference_fn"


def _computing() -> Any:
    from ascend_autotune.search.standin import activate, deactivate

    deactivate()
    return activate(compute=True)


FIXED = [
    ("set_workspace_multibuffer", 2),
    ("tile_mix_vector_loop", 2),
    ("tile_mix_cube_loop", 4),
    ("num_stages", 1),
    ("num_stages", 3),
    ("multibuffer", True),
    ("multibuffer", False),
]


@pytest.mark.parametrize(("option", "value"), FIXED)
def test_options_fixed_at_launch_stay_on_the_search_path_and_override_the_profiles(
    modelled: Any, option: str, value: Any
) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel, **{option: value})
    found = report(kernel)
    assert len(tiles(kernel, "timed")) > 1
    assert not any(option in profile for profile in profiles(kernel))
    assert len(set(map(str, (t.config for t in found.trials)))) == len(found.trials)
    assert found.ended
    # What is launched has it: an option that clashed would have been refused.
    assert modelled.stats["refused"] == sum(t.fate == "failed" for t in found.trials)


@pytest.mark.parametrize(("option", "value"), [FIXED[0], FIXED[4], FIXED[6]])
def test_options_fixed_at_launch_are_part_of_the_key(
    modelled: Any, option: str, value: Any
) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel)
    attend(kernel, **{option: value})
    attend(kernel, **{option: value})
    attend(kernel)
    plain, fixed = kernel.cache
    assert f"{option}={value}" in fixed
    assert f"{option}={value}" not in plain


def test_the_cache_is_in_process(
    modelled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a result is written unless `cache_results` asks for it."""
    monkeypatch.setenv("ASCEND_AUTOTUNE_CACHE", str(tmp_path))
    first = tuned(k.scale_kernel, {"params": ["BLOCK"], "values": [256, 512]}, key=["n"])
    scale(first)
    assert not list(tmp_path.glob("tuned/**/*"))
    compiles = modelled.stats["launches"]
    again = tuned(k.scale_kernel, {"params": ["BLOCK"], "values": [256, 512]}, key=["n"])
    scale(again)
    assert modelled.stats["launches"] > compiles + 1


def test_explain_after_a_call_uses_its_arguments(modelled: Any) -> None:
    kernel = tuned(k.attention_kernel, SMALL)
    attend(kernel, 1024, 64)
    found = ascend_autotune.explain(kernel)
    best = kernel.best_config.kwargs
    assert found.tile == {name: best[name] for name in ("BLOCK_M", "BLOCK_N")}
    assert "N_CTX" in str(found)
    assert found.classification.kind == "attention"

from __future__ import annotations

import pytest


@pytest.fixture
def scale(standin):
    from tests.search.standin.kernels import Tensor, scale

    tensor = Tensor("fp32")
    return lambda grid, **more: scale[grid](tensor, 1 << 20, 2.0, **{"BLOCK": 256, **more})


def test_a_launch_advances_the_clock_by_the_same_time_each_time(standin, scale) -> None:
    scale((4096,))
    first = standin.elapsed_ms()
    assert first > 0
    scale((4096,))
    assert standin.elapsed_ms() == 2 * first
    assert standin.stats["launches"] == 2


def test_an_empty_grid_launches_nothing(standin, scale) -> None:
    scale((0,))
    scale(lambda meta: (0, meta["BLOCK"]))
    assert standin.elapsed_ms() == 0
    assert standin.stats["launches"] == 0


def test_a_grid_over_the_limit_is_refused(standin, scale, monkeypatch) -> None:
    with pytest.raises(RuntimeError, match="65536"):  # triton-ascend's own word
        scale((65536,))
    kernel = scale((1,))
    from tests.search.standin.kernels import Tensor

    with pytest.raises(RuntimeError, match="65,536 programs, at most 65,535"):
        kernel[(256, 256, 1)](Tensor("fp32"), 1 << 20, 2.0)
    monkeypatch.setenv("TRITON_ALL_BLOCKS_PARALLEL", "1")
    scale((65536,))
    assert standin.stats["launches"] == 2


def test_a_warmup_compiles_and_launches_nothing(standin) -> None:
    from tests.search.standin.kernels import Tensor, scale

    scale.warmup(Tensor("fp32"), 1000, 2.0, BLOCK=256, grid=(1,))
    assert standin.stats == {"launches": 0, "compiles": 1, "refused": 0}


def test_hooks_are_called_around_the_launch(standin, scale, monkeypatch) -> None:
    from triton.compiler import CompiledKernel

    seen: list[tuple[str, float]] = []
    monkeypatch.setattr(
        CompiledKernel, "launch_enter_hook", lambda *_: seen.append(("in", standin.elapsed_ms()))
    )
    monkeypatch.setattr(
        CompiledKernel, "launch_exit_hook", lambda *_: seen.append(("out", standin.elapsed_ms()))
    )
    scale((8,))
    assert seen == [("in", 0.0), ("out", standin.elapsed_ms())]


def test_the_benchmarker_gives_modelled_ms_for_each_quantile(standin, scale) -> None:
    do_bench = standin.get_benchmarker()
    times = do_bench(lambda: scale((4096,)), quantiles=(0.5, 0.2, 0.8))
    assert times == [standin.elapsed_ms()] * 3
    assert do_bench(lambda: scale((4096,)), warmup=25, rep=100) == times[0]
    assert do_bench(lambda: scale((4096,)), quantiles=[0.5]) == times[0]
    assert do_bench(lambda: scale((0,)), quantiles=(0.5, 0.2)) == [0.0, 0.0]


def test_tritons_own_do_bench_and_autotuner_run_on_modelled_time(standin) -> None:
    import triton

    from tests.search.standin.kernels import Tensor, scale

    tensor = Tensor("fp32")
    launch = lambda: scale[(4096,)](tensor, 1 << 20, 2.0, BLOCK=256)  # noqa: E731
    assert triton.testing.do_bench(launch) == standin.get_benchmarker()(launch)
    configs = [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 4096})]
    tuned = triton.autotune(configs=configs, key=["n"])(scale)
    tuned[lambda meta: (triton.cdiv(1 << 19, meta["BLOCK"]),)](tensor, 1 << 19, 2.0)
    assert tuned.best_config.kwargs == {"BLOCK": 4096}


def test_events_are_on_the_simulated_clock(standin, scale) -> None:
    interface = standin.get_device_interface()
    start, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match="modelled"):
        start.elapsed_time(end)
    start.record()
    scale((4096,))
    end.record()
    interface.synchronize()
    assert start.elapsed_time(end) == standin.elapsed_ms()


def test_what_is_no_pointer_is_refused(standin, scale) -> None:
    kernel = scale((1,))
    with pytest.raises(TypeError, match="x: a pointer argument"):
        kernel[(1, 1, 1)]("not a tensor", 1 << 20, 2.0)


def test_nothing_is_printed(standin, capfd) -> None:
    from tests.search.standin.kernels import Tensor, strided

    strided[(8,)](Tensor("fp32"), Tensor("fp32"), 1000, 3, BLOCK=256)
    assert capfd.readouterr() == ("", "")


def test_what_is_logged_says_modelled(standin, scale, caplog) -> None:
    with caplog.at_level("DEBUG", logger="ascend_autotune"):
        scale((77,))
    said = [r.message for r in caplog.records if "scale" in r.message]
    assert said and all("modelled" in text for text in said)

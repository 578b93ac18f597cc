from __future__ import annotations

import threading

import pytest

from ascend_autotune.search.standin import FAULTS, activate, deactivate, failure_of


@pytest.fixture
def launch(ready):
    from tests.search.standin.kernels import Tensor, scale

    return lambda **more: scale[(4,)](Tensor("fp32"), 1000, 2.0, **{"BLOCK": 256, **more})


def plan(fault: str | None):
    return lambda _kernel, _values: fault


def test_the_plan_sees_kernel_constants_and_options(launch) -> None:
    seen: list[tuple[str, object, object]] = []

    def note(kernel, values):
        seen.append((kernel, values["BLOCK"], values["multibuffer"]))

    activate(faults=note)
    launch(multibuffer=False)
    launch(BLOCK=128)
    asked = [("scale", 256, False)] * 2 + [("scale", 128, True)] * 2  # compile, then launch
    assert seen == asked


def test_a_fault_hits_only_what_the_plan_names(launch) -> None:
    driver = activate(faults=lambda _, v: "compile_error" if v["BLOCK"] == 256 else None)
    with pytest.raises(Exception, match="modelled") as caught:
        launch()
    assert failure_of(caught.value).kind == "compile"
    launch(BLOCK=128)
    assert driver.stats == {"launches": 1, "compiles": 2, "refused": 1}


@pytest.mark.parametrize(
    ("fault", "text"), [("launch_fault", "507015"), ("launch_memory", "out of memory")]
)
def test_a_launch_fails(launch, fault, text) -> None:
    driver = activate(faults=plan(fault))
    with pytest.raises(RuntimeError, match=text):
        launch()
    assert driver.stats["launches"] == 0


@pytest.mark.parametrize(("fault", "asked"), [("compile_hang", 1), ("launch_hang", 2)])
def test_a_hang_ends_when_the_standin_goes(launch, fault: str, asked: int) -> None:
    there = threading.Semaphore(0)

    def note(_kernel: str, _values: object) -> str:
        there.release()
        return fault

    activate(faults=note)
    ended: list[BaseException] = []

    def run() -> None:
        try:
            launch()
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    for _ in range(asked):
        assert there.acquire(timeout=60)
    thread.join(0.1)
    assert thread.is_alive()
    deactivate()
    thread.join(60)
    assert "taken away" in str(ended[0])


def test_nan_is_written_where_the_kernel_writes(ready) -> None:
    torch = pytest.importorskip("torch")
    from tests.search.standin.kernels import softmax

    activate(faults=plan("nan"))
    x, y = torch.ones(8, 128), torch.zeros(8, 128)
    softmax[(8,)](x, y, 128, 128, BLOCK=128)
    assert bool(y.isnan().all())
    assert bool((x == 1).all())


def test_an_unknown_fault_is_said(launch) -> None:
    activate(faults=plan("earthquake"))
    with pytest.raises(Exception, match="no such fault: 'earthquake'"):
        launch()
    assert "nan" in FAULTS

"""Cases 13 and 15 to 17 of the field's reports: what is wrong never wins, and the caller's
tensors are the caller's. Whole searches, on a clock that does what it is told."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from clocks import FakeClock  # noqa: E402

from ascend_autotune.search.buffers import Buffers  # noqa: E402
from ascend_autotune.search.config import Config  # noqa: E402
from ascend_autotune.search.device import DeviceInfo  # noqa: E402
from ascend_autotune.search.engine import search  # noqa: E402
from ascend_autotune.search.gate import Gate  # noqa: E402
from ascend_autotune.search.isolation import Isolation, Job, Limits  # noqa: E402
from ascend_autotune.search.problem import Problem  # noqa: E402
from ascend_autotune.search.result import SearchResult  # noqa: E402
from ascend_autotune.search.timed import TimedDevice  # noqa: E402

Kernel = Callable[[int], object]
BLOCKS = (16, 32, 64, 128, 256)
DEFAULT = 64
ISOLATED = Path(__file__).with_name("isolated.py")


def tuned(
    kernel: Kernel,
    tensors: dict[str, torch.Tensor],
    written: set[str],
    read: set[str],
    times: dict[int, float],
    reference: Callable[[], object] | None = None,
) -> SearchResult:
    """Search BLOCK; the kernel works on `tensors` and takes `times[BLOCK]` ms."""
    clock = FakeClock()

    def launch(config: Config) -> None:
        block = int(str(config.values["BLOCK"]))
        clock.now_ms += times[block]
        kernel(block)

    default = Config({"BLOCK": DEFAULT})
    with Buffers(tensors, written, read) as buffers:
        device = TimedDevice(
            DeviceInfo("fake", "standin"),
            clock,
            launch,
            trial=buffers.trial,
            refresh=buffers.refresh,
        )
        gate = Gate(launch, buffers, default=default, reference=reference)
        problem = Problem("kernel", [{"BLOCK": b} for b in BLOCKS], ({},), default=default)
        return search(problem, device, effort="full", gate=gate)


def best(result: SearchResult) -> object:
    assert result.best is not None
    return result.best.values["BLOCK"]


FASTER = {16: 5.0, 32: 4.0, 64: 3.0, 128: 2.0, 256: 1.0}


def test_case_15_in_place_is_exact_on_the_first_call() -> None:
    x = torch.linspace(-1, 1, 64)
    start = x.clone()

    def kernel(block: int) -> None:
        x.copy_(torch.where(x > 0, x, x * 0.5))

    result = tuned(kernel, {"x": x}, {"x"}, {"x"}, FASTER)
    assert torch.equal(x, start)
    assert best(result) == 256
    kernel(256)
    assert torch.equal(x, torch.where(start > 0, start, start * 0.5))


def test_case_15_each_repetition_starts_from_the_callers_values() -> None:
    """A kernel whose input grows with each run, and that breaks when it grows too far."""
    x = torch.ones(4)

    def kernel(block: int) -> None:
        assert float(x[0]) == 1.0, "it saw what a run before it left"
        x.mul_(2)

    result = tuned(kernel, {"x": x}, {"x"}, {"x"}, FASTER)
    warmed = [trial for trial in result.trials if trial.fate == "failed"]
    assert not warmed, warmed


def test_case_16_halves_do_not_make_a_whole() -> None:
    y = torch.zeros(8)

    def kernel(block: int) -> None:
        if block == 256:
            y[:4] = 1.0
        elif block == 128:
            y[4:] = 1.0
        else:
            y.fill_(1.0)

    for reference in (None, lambda: torch.ones(8)):
        result = tuned(kernel, {"y": y}, {"y"}, set(), FASTER, reference)
        assert best(result) == 64
        reasons = {t.config.values["BLOCK"]: t.reason for t in result.trials}
        for block in (128, 256):
            assert "4 elements are not written" in reasons[block]


def test_case_17_a_binary_that_is_right_now_and_then() -> None:
    y, bias = torch.zeros(4), itertools.count()

    def kernel(block: int) -> None:
        lost = block == 256 and next(bias) % 2
        y.fill_(1.0 if lost else 2.0)

    result = tuned(kernel, {"y": y}, {"y"}, set(), FASTER)
    assert best(result) == 128
    (rejected,) = [t for t in result.trials if t.fate == "rejected"]
    assert rejected.config.values["BLOCK"] == 256 and "differs" in rejected.reason


@pytest.mark.parametrize("with_reference", [True, False])
def test_wrong_is_not_slow(with_reference: bool) -> None:
    """The fastest config of all computes something else."""
    x, y = torch.rand(16), torch.zeros(16)

    def kernel(block: int) -> None:
        y.copy_(x * (1.25 if block > 64 else 1.0))

    reference = (lambda: x.clone()) if with_reference else None
    result = tuned(kernel, {"x": x, "y": y}, {"y"}, {"x"}, FASTER, reference)
    assert best(result) == 64
    assert result.gate == ("reference_fn" if with_reference else "default config")
    assert not y.any()


@pytest.mark.skipif(sys.platform == "win32", reason="workers need POSIX pipes")
def test_case_13_a_compiler_that_aborts_is_a_reason_not_the_end(tmp_path: Path) -> None:
    clock = FakeClock()

    def launch(config: Config) -> None:
        clock.now_ms += 1.0

    job = Job(f"{ISOLATED}:Faulty", {"log": str(tmp_path / "log")})
    with Isolation(job, limits=Limits(60, 60, 60)) as isolation:
        device = TimedDevice(DeviceInfo("f", "standin"), clock, launch, first=isolation.first)
        candidates = [{"do": "fine"}, {"do": "compile_crash"}, {"do": "also fine"}]
        result = search(Problem("kernel", candidates, ({},)), device)
    fates = {t.config.values["do"]: (t.fate, t.reason) for t in result.trials}
    assert fates["fine"][0] == fates["also fine"][0] == "timed"
    assert fates["compile_crash"][0] == "failed" and "SIGSEGV" in fates["compile_crash"][1]
    assert result.best is not None and result.complete


def test_an_interrupt_loses_no_result() -> None:
    x, turns = torch.ones(4), itertools.count()

    def kernel(block: int) -> None:
        if next(turns) > 60:
            raise KeyboardInterrupt
        x.add_(1)

    result = tuned(kernel, {"x": x}, {"x"}, {"x"}, dict.fromkeys(BLOCKS, 1.0))
    assert not result.complete and result.best is not None
    assert torch.equal(x, torch.ones(4))

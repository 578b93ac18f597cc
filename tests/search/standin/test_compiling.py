from __future__ import annotations

import re

import pytest

from ascend_autotune.analysis.judge import Outcome, Overflow
from ascend_autotune.search.standin import activate, failure_of

OVERFLOW = re.compile(r"(\w+) overflow, requires (\d+) bits while (\d+) bits available")


class Judge:
    """Answers what it is told, and notes what it is asked."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.options: list[dict[str, object]] = []

    def ask(self, _ttir: str, options: dict[str, object]) -> Outcome:
        self.options.append(options)
        return self.outcome


@pytest.fixture
def scale(ready):
    from tests.search.standin.kernels import Tensor, scale

    def launch(**options: object) -> object:
        return scale[(4,)](Tensor("fp32"), 1000, 2.0, BLOCK=256, **options)

    return launch


def judged(outcome: Outcome, unique: str = ""):
    """A stand-in whose compiler answers `outcome`; with a fault plan, so that no cache helps."""
    judge = Judge(outcome)
    return judge, activate(faults=lambda _kernel, _values: None, judge=judge)


def test_a_kernel_compiles_once_and_is_kept(standin) -> None:
    from tests.search.standin.kernels import Tensor, softmax

    for _ in range(3):
        kernel = softmax[(8,)](Tensor("fp32"), Tensor("fp32"), 100, 128, BLOCK=128)
    assert standin.stats == {"launches": 3, "compiles": 1, "refused": 0}
    assert kernel.metadata.mix_mode == "aiv"
    assert kernel.metadata.modelled
    assert "tt.func public @softmax" in kernel.asm["ttir"]


def test_an_overflow_is_what_a_user_of_triton_ascend_gets(standin) -> None:
    from triton.compiler.errors import MLIRCompilationError

    from tests.search.standin.kernels import Tensor, softmax

    with pytest.raises(MLIRCompilationError) as caught:
        softmax[(8,)](Tensor("fp32"), Tensor("fp32"), 100, 128, BLOCK=65536)
    found = OVERFLOW.search(str(caught.value))
    assert found is not None
    assert (found[1], found[3]) == ("ub", "1572864")
    assert "ConvertLinalgRToBinary" in str(caught.value)
    failure = failure_of(caught.value)
    assert failure is not None and failure.kind == "overflow"
    assert failure.outcome.overflows[0].required_bytes * 8 == int(found[2])
    assert standin.stats == {"launches": 0, "compiles": 1, "refused": 1}


def test_what_fits_only_after_a_fallback_compiles_as_that(standin) -> None:
    import json

    from tests.search.standin.kernels import Tensor, triangle

    def launch(**options: object) -> tuple[list[str], float]:
        run = lambda: triangle[(8,)](Tensor("fp32"), Tensor("fp32"), 1, BLOCK=20480, **options)  # noqa: E731
        return json.loads(run().kernel)["fallback"], standin.do_bench(run)

    (fallback, time), (nothing, plain) = launch(), launch(multibuffer=False)
    assert "enable-auto-multi-buffer" in fallback
    assert nothing == []
    assert time == plain


def test_the_front_ends_refusal_is_its_own(standin) -> None:
    from triton.compiler.errors import CompilationError

    from tests.search.standin.kernels import Tensor, scale

    with pytest.raises(CompilationError):
        scale[(1,)](Tensor("fp32"), 1000, 2.0, BLOCK=1 << 21)


def test_the_judge_is_asked_under_the_options_of_the_launch(scale) -> None:
    judge, _ = judged(Outcome("fits", mode="aiv"))
    scale()
    scale(multibuffer=False, num_warps=8, num_stages=3)
    scale(set_workspace_multibuffer=4, tile_mix_cube_loop=2)
    first, second, third = judge.options
    assert first["multibuffer"] is True
    # Off on 910B in NPUOptions of 3.2.0, where the judge's own default is on.
    assert first["enable_select_analysis"] is False
    assert second["multibuffer"] is False
    assert (third["set_workspace_multibuffer"], third["tile_mix_cube_loop"]) == (4, 2)
    assert third["tile_mix_vector_loop"] is None


def test_an_option_that_triton_ascend_does_not_know_is_its_own_error(scale, standin) -> None:
    with pytest.raises(KeyError, match="multibufer"):
        scale(multibufer=True)


@pytest.mark.parametrize(
    ("outcome", "stage", "kind", "text"),
    [
        (Outcome("refused", "no such thing"), "ConvertTritonIRToLinalgIR", "compile", "no such"),
        (Outcome("refused", "tiling", mode="mix"), "ConvertLinalgRToBinary", "compile", "tiling"),
        (Outcome("crash", "it died"), "ConvertLinalgRToBinary", "compile", "crash"),
        (Outcome("timeout", "60 s"), "ConvertLinalgRToBinary", "timeout", "timeout"),
        (
            Outcome(
                "overflow",
                "ub overflow, requires 16 bits while 8 bits available!",
                overflows=(Overflow("ub", 2, 1),),
                mode="aiv",
            ),
            "ConvertLinalgRToBinary",
            "overflow",
            "requires 16 bits",
        ),
    ],
)
def test_each_failure_keeps_its_kind(scale, outcome, stage, kind, text) -> None:
    from triton.compiler.errors import MLIRCompilationError

    _, driver = judged(outcome)
    with pytest.raises(MLIRCompilationError, match=text) as caught:
        scale()
    assert stage in str(caught.value)
    failure = failure_of(caught.value)
    assert failure is not None and failure.kind == kind
    assert failure.crashed == (outcome.status == "crash")
    assert driver.stats["refused"] == 1


def test_without_the_compiler_the_install_command_is_named(scale, monkeypatch) -> None:
    from ascend_autotune.analysis.judge import Judge as RealJudge
    from ascend_autotune.errors import JudgeUnavailable

    def missing(*_: object, **__: object) -> None:
        raise JudgeUnavailable("no bishengir-compile here: pip install 'ascend-autotune[ascend]'")

    activate(faults=lambda _kernel, _values: None)
    monkeypatch.setattr(RealJudge, "find", missing)
    with pytest.raises(RuntimeError, match="pip install"):
        scale()


def test_no_failure_behind_another_error() -> None:
    assert failure_of(ValueError("x")) is None

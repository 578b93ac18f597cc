"""The footprint model on random small kernels: never stricter than the compiler, and monotone."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

pytest.importorskip("triton")

from triton._C import libtriton

from ascend_autotune.analysis.assessing import judge_footprint
from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.footprint import measure
from ascend_autotune.analysis.kernel import make_instance
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.reader import parse_module
from ascend_autotune.analysis.ttir import Ttir, trace
from ascend_autotune.errors import AscendAutotuneError, FrontEndError
from benchmarks.random_kernels import RandomKernel, dots, elementwise, reductions

CHIP = chip("Ascend910B3")
FAMILIES = {"elementwise": elementwise(), "reduction": reductions(), "dot": dots()}
# The same kernels at each run; benchmarks/fresh_kernels.py makes others at each of its own.
few = settings(
    max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def program(kernel: RandomKernel, size: int) -> Ttir:
    return trace(make_instance(kernel.function, kernel.signature, kernel.given(size), CHIP))


def verdicts(kernel: RandomKernel, multibuffer: bool) -> list[tuple[int, str, Ttir]]:
    """Size, verdict and program, up to the size that Triton itself refuses."""
    options = CompileOptions.from_request({"multibuffer": multibuffer})
    found = []
    for size in kernel.sizes:
        try:
            ttir = program(kernel, size)
        except FrontEndError as error:
            if "Expected dtype" in str(error) and not detect().ascend:
                reject()  # other Tritons take the exponential of fp32 and fp64 alone
            assert "numel" in str(error), kernel.source
            break
        footprint = measure(parse_module(ttir.generic), CHIP, options)
        found.append((size, judge_footprint(footprint, CHIP)[0], ttir))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_a_larger_tile_never_fits_where_a_smaller_one_cannot(family: str) -> None:
    @few
    @given(FAMILIES[family], st.booleans())
    def holds(kernel: RandomKernel, multibuffer: bool) -> None:
        said = [status for _, status, _ in verdicts(kernel, multibuffer)]
        first = said.index("infeasible") if "infeasible" in said else len(said)
        assert set(said[first:]) <= {"infeasible"}, kernel.source

    holds()


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_compiler_accepts_is_never_infeasible(family: str) -> None:
    judge = _judge()

    @few
    @given(FAMILIES[family], st.booleans())
    def holds(kernel: RandomKernel, multibuffer: bool) -> None:
        refused = (ttir for _, said, ttir in verdicts(kernel, multibuffer) if said == "infeasible")
        smallest = next(refused, None)
        if smallest is not None:
            outcome = judge.ask(smallest.text, {"multibuffer": multibuffer})
            assert not outcome.fits, kernel.source

    holds()


def test_the_random_kernels_are_refused_often_enough_to_tell() -> None:
    refused = []

    @few
    @given(st.one_of(*FAMILIES.values()))
    def count(kernel: RandomKernel) -> None:
        refused.append(any(status == "infeasible" for _, status, _ in verdicts(kernel, True)))

    count()
    assert sum(refused) * 4 >= len(refused)


@cache
def _judge() -> Any:
    if not hasattr(libtriton, "ascend"):
        pytest.skip("the compiler takes triton-ascend's TTIR")
    from ascend_autotune.analysis.judge import Judge

    try:
        return Judge.find(CHIP)
    except AscendAutotuneError as error:
        pytest.skip(str(error))

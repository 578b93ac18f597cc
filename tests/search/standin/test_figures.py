from __future__ import annotations

import pytest

from ascend_autotune.analysis.chips import CHIPS
from ascend_autotune.errors import RequestError
from ascend_autotune.search.standin import standin_info


def test_910b3() -> None:
    info = standin_info("Ascend910B3")
    assert (info.kind, info.modelled, info.cores, info.vector_cores) == ("standin", True, 20, 40)
    assert info.flops["fp16"] == pytest.approx(313e12, rel=0.01)
    assert info.bandwidth["memory"] == 1.6e12
    assert info.capacity["ub"] == 192 * 1024
    assert info.capacity["l2"] == 192 << 20


@pytest.mark.parametrize("name", CHIPS)
def test_every_chip_has_figures(name: str) -> None:
    info = standin_info(name)
    assert info.cores > 0 and info.vector_cores > 0
    assert all(value > 0 for value in (*info.bandwidth.values(), *info.flops.values()))


def test_an_unknown_chip() -> None:
    with pytest.raises(RequestError):
        standin_info("Ascend000")

from __future__ import annotations

import subprocess
import sys

import pytest

from ascend_autotune.errors import FlavourError, RequestError
from ascend_autotune.search import standin
from ascend_autotune.search.standin import installing


@pytest.fixture
def places(ready: None):
    """Everything that a stand-in takes the place of."""
    from triton import testing
    from triton.backends import backends
    from triton.runtime import driver

    return lambda: (dict(vars(driver)), dict(backends), testing.do_bench)


def test_deactivate_restores_exactly_what_was_there(places) -> None:
    before = places()
    driver = standin.activate()
    assert standin.active() is driver
    assert places() != before
    standin.deactivate()
    assert places() == before
    assert standin.active() is None
    standin.deactivate()
    assert places() == before


def test_the_target_is_an_npu(ready) -> None:
    from triton.runtime import driver

    standin.activate()
    target = driver.active.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("npu", "Ascend910B3", 0)


def test_activating_twice_is_activating_once(places) -> None:
    before = places()
    driver = standin.activate()
    assert standin.activate() is driver
    assert standin.activate("Ascend910B3", compute=False) is driver
    standin.deactivate()
    assert places() == before


def test_another_request_replaces_the_standin(places) -> None:
    before = places()
    first = standin.activate()
    second = standin.activate("Ascend910B1")
    assert second is not first
    assert second.get_current_target().arch == "Ascend910B1"
    # A JIT function keeps its kernels by device: none of the first may run on the second.
    assert second.get_current_device() != first.get_current_device()
    assert standin.activate() is second
    standin.deactivate()
    assert places() == before


def test_the_environment_chooses_chip_and_computing(ready, monkeypatch) -> None:
    monkeypatch.setenv("ASCEND_AUTOTUNE_TARGET", "Ascend910B4")
    monkeypatch.setenv("ASCEND_AUTOTUNE_STANDIN_COMPUTE", "1")
    driver = standin.activate()
    assert (driver.chip.name, driver.compute) == ("Ascend910B4", True)
    monkeypatch.setenv("ASCEND_AUTOTUNE_STANDIN_COMPUTE", "off")
    assert not standin.activate("Ascend910B4").compute
    monkeypatch.setenv("ASCEND_AUTOTUNE_STANDIN_COMPUTE", "perhaps")
    with pytest.raises(RequestError, match="give 1 or 0"):
        standin.activate("Ascend910B4")


def test_an_unknown_chip_is_refused_and_nothing_changes(places) -> None:
    before = places()
    with pytest.raises(RequestError, match="Ascend910B3"):
        standin.activate("Ascend910B33")
    assert places() == before


def test_upstream_triton_is_refused(monkeypatch) -> None:
    from ascend_autotune.analysis.flavour import Flavour

    standin.deactivate()
    monkeypatch.setattr(installing, "detect", lambda: Flavour("triton", "3.5.1"))
    with pytest.raises(RequestError, match=r"needs triton-ascend 3\.2\.0, and this is triton 3\.5"):
        standin.activate()
    assert standin.active() is None


def test_no_triton_is_said_plainly(monkeypatch) -> None:
    def nothing() -> None:
        raise FlavourError("no Triton is installed")

    standin.deactivate()
    monkeypatch.setattr(installing, "detect", nothing)
    with pytest.raises(FlavourError, match="no Triton"):
        standin.activate()


def test_importing_brings_neither_triton_nor_torch() -> None:
    code = (
        "import sys, ascend_autotune.search.standin as s;"
        "s.active(); s.standin_info('Ascend910B3');"
        "sys.exit(any(name in sys.modules for name in ('torch', 'triton', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_properties_are_the_chips(standin) -> None:
    properties = standin.utils.get_device_properties(standin.get_current_device())
    assert (properties["num_aicore"], properties["num_vectorcore"]) == (20, 40)

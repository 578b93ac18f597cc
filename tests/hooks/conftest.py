"""The hook in place for a test, and Triton's own decorator beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import triton
from fake_triton import FakeDriver, fake_device

from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.judge.toolchain import find_toolchain
from ascend_autotune.errors import JudgeUnavailable
from ascend_autotune.hooks import install, installed, uninstall


@pytest.fixture(scope="session")
def triton_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("triton-cache")


@pytest.fixture
def quiet_environment(monkeypatch: pytest.MonkeyPatch, triton_cache: Path) -> None:
    """Nothing of the user's own environment, and a disk cache of the tests' own."""
    for name in (
        "ASCEND_AUTOTUNE",
        "ASCEND_AUTOTUNE_DEVICE",
        "TRITON_PRINT_AUTOTUNING",
        "TRITON_PRINT_AUTOTUNING_TIMINGS",
        "TRITON_CACHE_AUTOTUNING",
        "TRITON_INTERPRET",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(triton_cache))


@pytest.fixture
def uninstalled(quiet_environment: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Triton as it is without the hook; afterwards as it was before."""
    before = installed()
    uninstall()
    yield
    uninstall()
    for name in ("ASCEND_AUTOTUNE", "ASCEND_AUTOTUNE_DEVICE"):  # as the test may have set them
        monkeypatch.delenv(name, raising=False)
    if before:
        install()


@pytest.fixture
def stock(uninstalled: None) -> Iterator[Callable[..., Any]]:
    """Triton's own decorator. The hook is in place."""
    found = triton.autotune
    install()
    yield found


@pytest.fixture
def device(stock: Callable[..., Any]) -> Iterator[FakeDriver]:
    """A device that records launches, with the hook in place."""
    with fake_device(FakeDriver()) as driver:
        yield driver


@pytest.fixture
def modelled(uninstalled: None) -> Iterator[Any]:
    """The modelled NPU with the hook in place; skipped where triton-ascend is not installed."""
    if not detect().ascend:
        pytest.skip("the modelled NPU needs triton-ascend")
    try:
        find_toolchain("Ascend910B3")
    except JudgeUnavailable as error:
        pytest.skip(str(error))
    from ascend_autotune.search.standin import activate, deactivate

    install()
    deactivate()
    yield activate("Ascend910B3")
    deactivate()

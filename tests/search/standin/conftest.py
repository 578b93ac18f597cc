"""A modelled NPU for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.judge.toolchain import find_toolchain
from ascend_autotune.errors import FlavourError, JudgeUnavailable


def _missing() -> str:
    try:
        if not detect().ascend:
            return "the modelled NPU needs triton-ascend"
        find_toolchain("Ascend910B3")
    except (FlavourError, JudgeUnavailable) as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def triton_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("triton")


@pytest.fixture
def ready(triton_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """triton-ascend and the compiler, with no stand-in before or after."""
    missing = _missing()
    if missing:
        pytest.skip(missing)
    from ascend_autotune.search.standin import deactivate

    monkeypatch.setenv("TRITON_CACHE_DIR", str(triton_cache))
    for name in ("ASCEND_AUTOTUNE_TARGET", "ASCEND_AUTOTUNE_STANDIN_COMPUTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("TRITON_ALL_BLOCKS_PARALLEL", raising=False)
    deactivate()
    yield
    deactivate()


@pytest.fixture
def standin(ready: None) -> Any:
    from ascend_autotune.search.standin import activate

    return activate()

"""Installing and uninstalling: one layer, everywhere, put back as it was; no device is asked."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plain_kernels
import pytest
import triton
from fake_triton import ASCEND, FakeDriver, Tensor, fake_device, no_device
from triton.runtime import autotuner

import ascend_autotune.hooks
from ascend_autotune.errors import RequestError
from ascend_autotune.hooks import install, installed, uninstall

PLACES = (triton, triton.runtime, autotuner)
EARLIER = "triton.backends.dicp_triton.ascend_autotune_hooks"
HINTS = {"search_params": {"params": ["BLOCK"], "values": [16, 32]}}

pytestmark = pytest.mark.usefixtures("uninstalled")


def held() -> list[Any]:
    return [module.autotune for module in PLACES]


def test_installs_everywhere_once() -> None:
    stock = triton.autotune
    assert not installed()
    assert install()
    ours = triton.autotune
    assert ours is not stock
    assert all(found is ours for found in held())
    assert installed()
    assert install()
    assert all(found is ours for found in held())
    importlib.reload(ascend_autotune.hooks)
    assert triton.autotune is ours


def test_uninstalling_puts_back_the_same_objects() -> None:
    before = held()
    for _ in range(2):
        install()
        uninstall()
        assert not installed()
        assert all(now is then for now, then in zip(held(), before, strict=True))
        assert EARLIER not in sys.modules
        uninstall()
    assert all(now is then for now, then in zip(held(), before, strict=True))


def test_looks_like_stock() -> None:
    stock = triton.autotune
    install()
    assert inspect.signature(triton.autotune) == inspect.signature(stock)
    assert triton.autotune.__name__ == "autotune"
    assert triton.autotune.__doc__ == stock.__doc__
    assert triton.autotune.__wrapped__ is stock


@pytest.fixture
def user_module() -> Iterator[types.ModuleType]:
    """A module that took `autotune` from Triton before the hook came."""
    module = types.ModuleType("somebodys_kernels")
    exec("from triton import autotune", vars(module))
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def test_modules_that_took_it_before(user_module: Any) -> None:
    stock = triton.autotune
    assert user_module.autotune is stock
    install()
    assert user_module.autotune is triton.autotune
    uninstall()
    assert user_module.autotune is stock


def test_what_is_not_tritons_stays() -> None:
    other = types.ModuleType("somebody_else")
    other.autotune = mine = lambda: None  # type: ignore[attr-defined]
    sys.modules[other.__name__] = other
    try:
        install()
        assert other.autotune is mine
        uninstall()
        assert other.autotune is mine
    finally:
        del sys.modules[other.__name__]


def test_modules_that_take_it_afterwards() -> None:
    install()
    space: dict[str, Any] = {}
    exec("from triton import autotune\nfrom triton.runtime import autotune as other", space)
    assert space["autotune"] is space["other"] is triton.autotune


def test_uninstalling_leaves_what_others_have_put_over_it() -> None:
    stock = triton.autotune
    install()
    triton.autotune = above = lambda *a, **k: None
    try:
        uninstall()
        assert triton.autotune is above
        assert autotuner.autotune is stock
    finally:
        triton.autotune = stock


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    stock = triton.autotune
    monkeypatch.setenv("ASCEND_AUTOTUNE", "0")
    assert not install()
    assert not installed()
    assert all(found is stock for found in held())
    assert EARLIER not in sys.modules


@pytest.mark.parametrize("value", ["", "1", "on"])
def test_other_values_of_the_switch_leave_it_on(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("ASCEND_AUTOTUNE", value)
    assert install()


@pytest.mark.parametrize("device", ["npu", "stand-in", "STANDIN "])
def test_an_unknown_device_is_an_error_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    stock = triton.autotune
    monkeypatch.setenv("ASCEND_AUTOTUNE_DEVICE", device)
    with pytest.raises(RequestError, match="standin"):
        install()
    assert all(found is stock for found in held())
    assert not installed()


@pytest.mark.skipif(ASCEND, reason="the stand-in works on triton-ascend")
def test_the_stand_in_needs_triton_ascend(monkeypatch: pytest.MonkeyPatch) -> None:
    stock = triton.autotune
    monkeypatch.setenv("ASCEND_AUTOTUNE_DEVICE", "standin")
    with pytest.raises(RequestError, match="triton-ascend"):
        install()
    assert all(found is stock for found in held())


def test_no_device_is_asked() -> None:
    with no_device():
        install()
        uninstall()
        install()


def test_kernels_outlive_the_hook() -> None:
    install()
    searched = triton.autotune([], ["N"], hints=HINTS)(plain_kernels.jit(plain_kernels.scale))
    uninstall()
    with fake_device(FakeDriver()) as driver:
        searched[(1,)](Tensor(), Tensor(), 100)
    assert {block for (block,) in driver.tiles("BLOCK")} == {16, 32}


# -- the hook that was there before this one ---------------------------------------------------

ITS_SOURCE = '''
import triton

count = 0
stock = triton.autotune

def autotune(*args, **kwargs):
    """The earlier hook's."""
    global count
    count += 1
    kwargs.pop("hints", None)
    return stock(*args, **kwargs)

triton.autotune = autotune
'''


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The earlier hook can be imported under its own name."""
    import triton.backends

    stock = triton.autotune
    package = tmp_path / "dicp_triton"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "ascend_autotune_hooks.py").write_text(ITS_SOURCE)
    monkeypatch.setattr(triton.backends, "__path__", [*triton.backends.__path__, str(tmp_path)])
    yield
    uninstall()
    triton.autotune = stock
    sys.modules.pop(EARLIER, None)
    sys.modules.pop(EARLIER.rpartition(".")[0], None)
    vars(triton.backends).pop("dicp_triton", None)


def layers(kernel: Any) -> list[str]:
    found = []
    while hasattr(kernel, "fn") and not isinstance(kernel, types.FunctionType):
        found.append(type(kernel).__name__)
        kernel = kernel.fn
    return found


def decorated() -> Any:
    return triton.autotune([], ["N"], hints=HINTS)(plain_kernels.jit(plain_kernels.scale))


def test_the_earlier_hook_imported_before(earlier: None) -> None:
    its = importlib.import_module(EARLIER)
    wrapper = its.autotune
    assert triton.autotune is wrapper
    install()
    assert triton.autotune is not wrapper
    assert layers(decorated()) == ["SearchTuner", "JITFunction"]
    with fake_device(FakeDriver()):
        plain = triton.autotune([], [])(plain_kernels.jit(plain_kernels.scale))
    assert layers(plain) == ["Autotuner", "JITFunction"]
    assert its.count == 0
    uninstall()
    assert triton.autotune is its.autotune is wrapper


@pytest.mark.parametrize(
    "statement",
    [f"import {EARLIER}", "from triton.backends.dicp_triton import ascend_autotune_hooks"],
)
def test_the_earlier_hook_imported_after(earlier: None, statement: str) -> None:
    install()
    ours = triton.autotune
    exec(statement, {})
    assert triton.autotune is ours
    assert layers(decorated()) == ["SearchTuner", "JITFunction"]


# -- the import itself -------------------------------------------------------------------------


def script(source: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", source],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_one_import_does_it() -> None:
    done = script(
        "import sys, triton\n"
        "stock = triton.autotune\n"
        "class Untouched:\n"
        "    def __getattribute__(self, name): raise SystemExit('asked for ' + name)\n"
        "triton.runtime.driver.set_active(Untouched())\n"
        "import ascend_autotune.hooks\n"
        "assert triton.autotune is not stock\n"
        "assert 'torch_npu' not in sys.modules\n"
        "heavy = [m for m in ('numpy', 'networkx', 'rich', 'torch') if m in sys.modules]\n"
        "print(heavy)\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    if not ASCEND:  # which imports some of them itself
        assert done.stdout == "[]\n"


def test_an_import_that_is_switched_off() -> None:
    done = script(
        "import triton; stock = triton.autotune\n"
        "import ascend_autotune.hooks\n"
        "print(triton.autotune is stock)\n",
        ASCEND_AUTOTUNE="0",
    )
    assert (done.stdout, done.stderr) == ("True\n", "")

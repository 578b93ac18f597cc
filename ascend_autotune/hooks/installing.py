"""Putting our `autotune` where Triton's own is, and taking it away again."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from ascend_autotune.errors import FlavourError, RequestError

_NAME = "autotune"
# Where Triton 3.2 to 3.9 and triton-ascend expose it. Others that took it by `from triton import
# autotune` before are found by identity.
_PLACES = ("triton", "triton.runtime", "triton.runtime.autotuner")
OFF = "ASCEND_AUTOTUNE"
DEVICE = "ASCEND_AUTOTUNE_DEVICE"

# The earlier implementation's hook. Once ours is in place, importing it must not wrap ours.
_EARLIER = "triton.backends.dicp_triton.ascend_autotune_hooks"

_RECORD = re.compile(r"triton(_ascend)?-.*\.dist-info$")

_replaced: list[tuple[ModuleType, Any]] = []


def installed() -> bool:
    return bool(_replaced)


def install() -> bool:
    """Replace `triton.autotune` everywhere Triton exposes it; whether the hook is in place.

    Raises:
        FlavourError: no usable Triton is installed.
        RequestError: ASCEND_AUTOTUNE_DEVICE names no device.
    """
    if os.environ.get(OFF) == "0":
        return False
    device = os.environ.get(DEVICE, "")
    if device == "standin":
        from ascend_autotune.search.standin import activate

        activate()
    elif device:
        raise RequestError(f"{DEVICE}={device!r}: only 'standin' may be asked for by name")
    if not _replaced:
        stock = _stock()
        from ascend_autotune.hooks.decorator import make_autotune

        ours = make_autotune(stock)
        for module in list(_exposing(stock)):
            _replaced.append((module, getattr(module, _NAME)))
            setattr(module, _NAME, ours)
        sys.modules.setdefault(_EARLIER, _placeholder())
    return True


def uninstall() -> None:
    """Put Triton's own `autotune` back. Kernels that are decorated already stay as they are."""
    while _replaced:
        module, original = _replaced.pop()
        if getattr(getattr(module, _NAME, None), "__ascend_autotune__", False):
            setattr(module, _NAME, original)
    if getattr(sys.modules.get(_EARLIER), "__ascend_autotune__", False):
        del sys.modules[_EARLIER]


def _placeholder() -> ModuleType:
    module = ModuleType(_EARLIER, "ascend_autotune.hooks stands in for this module.")
    module.__ascend_autotune__ = True  # type: ignore[attr-defined]
    # Its driver and its users' test suites call these; there they do nothing either.
    for name in ("hook_autotune_for_ascend", "unhook_autotune_for_ascend"):
        setattr(module, name, lambda: None)
    return module


def _stock() -> Callable[..., Any]:
    """Triton's own decorator, whoever replaced it before us."""
    try:
        from triton.runtime import autotuner
    except ImportError as error:
        raise FlavourError(f"{_flavour()} is installed but cannot be imported: {error}") from error
    if _two_on_record():
        _flavour()  # says which, and the mend
    found = autotuner.__dict__[_NAME]
    # The earlier hook wraps the stock decorator: go beneath it, so that there are no two layers.
    seen = set()
    while found.__module__ != autotuner.__name__ and id(found) not in seen:
        seen.add(id(found))
        found = _beneath(found) or found
    return found  # type: ignore[no-any-return]


def _flavour() -> object:
    """What is installed. Raises `FlavourError` where that is no usable Triton."""
    from ascend_autotune.analysis.flavour import detect  # reading records takes its time

    return detect()


def _two_on_record() -> bool:
    """Are triton and triton-ascend both on record beside what was imported?"""
    import triton

    beside = os.listdir(os.path.dirname(os.path.dirname(triton.__file__)))
    return len({name.split("-")[0] for name in beside if _RECORD.match(name)}) > 1


def _beneath(wrapper: Any) -> Any:
    """The stock decorator inside another hook's, where it can be seen."""
    if hasattr(wrapper, "__wrapped__"):
        return wrapper.__wrapped__
    held = [cell.cell_contents for cell in getattr(wrapper, "__closure__", None) or ()]
    held += list(vars(sys.modules.get(wrapper.__module__, ModuleType("none"))).values())
    return next(
        (
            item
            for item in held
            if callable(item)
            and getattr(item, "__module__", "") == "triton.runtime.autotuner"
            and getattr(item, "__name__", "") == _NAME
        ),
        None,
    )


def _exposing(stock: Callable[..., Any]) -> Iterator[ModuleType]:
    """Triton's places, and every module that took it by name before."""
    current = {id(stock)}
    for name in _PLACES:
        module = sys.modules.get(name)
        if module is not None and hasattr(module, _NAME):
            current.add(id(getattr(module, _NAME)))
    for module in list(sys.modules.values()):
        held = getattr(module, "__dict__", {}).get(_NAME)
        if held is not None and id(held) in current:
            yield module

"""Putting the stand-in in Triton's place of a driver and a backend, and taking it away."""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.chips import DEFAULT_CHIP, Chip, chip
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.errors import RequestError
from ascend_autotune.search.standin.faults import FaultPlan

if TYPE_CHECKING:
    from ascend_autotune.analysis.judge import Judge
    from ascend_autotune.search.standin.driver import StandinDriver

logger = logging.getLogger("ascend_autotune")
TARGET = "ASCEND_AUTOTUNE_TARGET"
COMPUTE = "ASCEND_AUTOTUNE_STANDIN_COMPUTE"
_BACKEND = "ascend"


@dataclass(frozen=True)
class _Before:
    """Triton's driver place with all its state, its backend, its benchmark function."""

    state: dict[str, Any]
    backend: Any
    do_bench: Any


class _Place:
    """What is in Triton's places now, and what was there before. One for the process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.driver: StandinDriver | None = None
        self.before: _Before | None = None


_PLACE = _Place()


def active() -> StandinDriver | None:
    """The stand-in that is Triton's active driver; None where another is, or none."""
    return _PLACE.driver


def activate(
    target: str | None = None,
    *,
    compute: bool | None = None,
    faults: FaultPlan | None = None,
    judge: Judge | None = None,
) -> StandinDriver:
    """Make a modelled NPU Triton's active driver. One that is active already stays where nothing
    else is asked for.

    `target`: a chip's name; None: ASCEND_AUTOTUNE_TARGET, else Ascend910B3. `compute`: launches
    compute their results (CPU tensors of torch, by Triton's interpreter); None:
    ASCEND_AUTOTUNE_STANDIN_COMPUTE=1. `faults` and `judge` are for tests.

    Raises `RequestError` on another Triton than triton-ascend and for an unknown chip,
    `FlavourError` where there is no usable Triton.
    """
    described = _chip(target)
    computes = _asked_for(os.environ.get(COMPUTE, "")) if compute is None else compute
    with _PLACE.lock:
        now = _PLACE.driver
        asked = (target, compute, faults, judge)
        if now and asked == (None, None, None, None):
            return now
        alike = (now.chip, now.compute, bool(now.faults)) if now else None
        if now and alike == (described, computes, False) and asked[2:] == (None, None):
            return now
        deactivate()
        return _install(described, computes, faults, judge)


def deactivate() -> None:
    """Put back exactly what was there; nothing where no stand-in is active. Ends every hang."""
    with _PLACE.lock:
        driver, before = _PLACE.driver, _PLACE.before
        if driver is None or before is None:
            return
        from triton import testing
        from triton.backends import backends
        from triton.runtime import driver as place

        backends[_BACKEND] = before.backend
        vars(place).clear()
        vars(place).update(before.state)
        if testing.do_bench == driver.do_bench:
            testing.do_bench = before.do_bench
        _PLACE.driver = _PLACE.before = None
        driver.faults.release()
        logger.debug("the modelled NPU is gone")


def _install(
    described: Chip, compute: bool, faults: FaultPlan | None, judge: Judge | None
) -> StandinDriver:
    flavour = detect()
    if not flavour.ascend:
        raise RequestError(
            f"the modelled NPU needs triton-ascend 3.2.0, and this is {flavour}: install that in "
            f"an environment of its own (pip install 'ascend-autotune[ascend]')"
        )
    from triton import testing
    from triton.backends import Backend, backends
    from triton.runtime import driver as place

    from ascend_autotune.search.standin.backend import make_backend_class
    from ascend_autotune.search.standin.driver import StandinDriver

    driver = StandinDriver(described, compute=compute, faults=faults, judge=judge)
    backend = backends[_BACKEND]
    # `active` is made on first use, under different names: keep the object's whole state.
    _PLACE.before = _Before(dict(vars(place)), backend, testing.do_bench)
    _PLACE.driver = driver
    backends[_BACKEND] = Backend(make_backend_class(backend.compiler, driver), backend.driver)
    place.set_active(driver)
    # triton-ascend's own asks torch.npu first, which torch alone does not have.
    testing.do_bench = driver.do_bench
    logger.debug("a modelled NPU (%s) is Triton's device: every time is modelled", described.name)
    return driver


def _asked_for(value: str) -> bool:
    """Triton's own words for yes and no in the environment."""
    if value.lower() in ("1", "true", "on", "yes", "y"):
        return True
    if value.lower() in ("", "0", "false", "off", "no", "n"):
        return False
    raise RequestError(f"{COMPUTE}={value!r}: give 1 or 0")


def _chip(target: str | None) -> Chip:
    return chip(target or os.environ.get(TARGET) or DEFAULT_CHIP)

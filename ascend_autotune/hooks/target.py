"""The active driver, as far as the hook has to know it; asked when a kernel is called."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ascend_autotune.analysis.chips import CHIPS, Chip


@dataclass(frozen=True)
class Target:
    """`backend` and `arch` as the driver's GPUTarget has them."""

    backend: str
    arch: str

    @property
    def chip(self) -> Chip | None:
        """The Ascend chip; None where the device is none."""
        return CHIPS.get(self.arch) if self.backend == "npu" else None


def active_target() -> Target:
    """What the active driver names. Raises RuntimeError, as the driver does, where there is no
    device."""
    from triton.runtime.driver import driver

    try:
        target = driver.active.get_current_target()
    except RuntimeError as error:
        if not str(error).startswith("0 active drivers"):
            raise
        raise RuntimeError(
            f"{error} (no NPU or GPU is to be seen here. ASCEND_AUTOTUNE_DEVICE=standin has this "
            f"run on a modelled NPU; ascend_autotune.prune and explain need no device)"
        ) from error
    return Target(str(target.backend), str(target.arch))


def capturing() -> bool:
    """Is the current stream being captured into a graph?"""
    torch = sys.modules.get("torch")
    for name in ("npu", "cuda"):
        device = getattr(torch, name, None)
        asked = getattr(device, "is_current_stream_capturing", None)
        try:
            if asked is not None and asked():
                return True
        except Exception:
            continue  # built without that device
    return False

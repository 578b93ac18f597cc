"""`import ascend_autotune.hooks`: from here on `@triton.autotune` knows the chip.

Importing installs the hook, once, and touches no device and no driver (but for the stand-in,
where ASCEND_AUTOTUNE_DEVICE=standin asks for it). ASCEND_AUTOTUNE=0 leaves Triton as it is.
"""

from __future__ import annotations

from ascend_autotune.hooks.installing import install, installed, uninstall

__all__ = ["install", "installed", "uninstall"]

install()

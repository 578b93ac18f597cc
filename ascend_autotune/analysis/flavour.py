"""Which Triton is installed, found out without importing it.

`triton` and `triton-ascend` install the same folder, so that installing one over the other
succeeds in silence and leaves both on record. Whose files lie there is told by the size of
`libtriton` against the size in each distribution's RECORD; `__version__` does not tell.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Literal

from ascend_autotune.errors import FlavourError

Name = Literal["triton-ascend", "triton"]
INSTALL = "pip install triton-ascend==3.2.0 pybind11, or else pip install triton"
_NAMES: tuple[Name, Name] = ("triton-ascend", "triton")
_LIBRARY = re.compile(r"^triton/_C/libtriton\.[^,/]+,[^,]*,(\d+)\s*$", re.MULTILINE)
_VERSION = re.compile(r"^__version__\s*=\s*['\"]([^'\"]+)", re.MULTILINE)


@dataclass(frozen=True)
class Flavour:
    """One build of Triton: the Ascend one, or an upstream one."""

    name: Name
    version: str

    @property
    def ascend(self) -> bool:
        return self.name == "triton-ascend"

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@cache
def detect() -> Flavour:
    """The Triton that `import triton` would give.

    Raises `FlavourError` where there is none, or where two overwrite each other.
    """
    folder = _folder()
    if folder is None:
        raise FlavourError(f"no Triton is installed: {INSTALL}")
    return identify(folder, _recorded(folder))


def identify(folder: Path, recorded: Mapping[Name, Distribution]) -> Flavour:
    """Whose build lies in `folder` (the one called `triton`), given what is on record beside it.

    Raises `FlavourError` like `detect`.
    """
    if len(recorded) == 2:
        both = " and ".join(f"{name} {found.version}" for name, found in recorded.items())
        raise FlavourError(f"{both} are installed over each other: {_mend()}")
    library = next((folder / "_C").glob("libtriton.*"), None)
    if library is None:
        raise FlavourError(f"the Triton in {folder} is damaged, it has no libtriton: {_mend()}")
    for name, found in recorded.items():
        size = _LIBRARY.search(found.read_text("RECORD") or "")
        # An editable or source build has no such line, and nothing to compare.
        if size is not None and int(size[1]) != library.stat().st_size:
            raise FlavourError(
                f"the Triton in {folder} is not the {name} {found.version} that is on record "
                f"there, another one was installed over it: {_mend()}"
            )
        return Flavour(name, found.version)
    # Built by hand or packaged under another name: the Ascend build brings its own adapter.
    ascend = (folder / "backends" / "ascend" / "compiler.py").is_file()
    version = _VERSION.search((folder / "__init__.py").read_text(encoding="utf-8"))
    return Flavour("triton-ascend" if ascend else "triton", version[1] if version else "unknown")


def _folder() -> Path | None:
    spec = importlib.util.find_spec("triton")
    # Uninstalling one of two leaves a folder without __init__.py, which has no origin.
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def _recorded(folder: Path) -> dict[Name, Distribution]:
    """The distributions on record beside the folder, else anywhere (editable installs)."""
    for path in ([str(folder.parent)], None):
        found: dict[Name, Distribution] = {}
        for name in _NAMES:
            some = distributions(name=name, path=path) if path else distributions(name=name)
            if (first := next(iter(some), None)) is not None:
                found[name] = first
        if found:
            return found
    return {}


def _mend() -> str:
    return f"pip uninstall -y triton triton-ascend, then {INSTALL}"

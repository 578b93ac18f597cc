"""Where the Ascend compiler and its adapter lie, and what they say of themselves.

CANN's compiler on PATH comes first, then that of the ascendnpu-ir wheel; the adapter comes with
triton-ascend. Nothing of either package is imported: both put work, and triton-ascend a driver,
behind their import.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ascend_autotune.analysis.judge.cache import cache_root, read_record, write_record
from ascend_autotune.analysis.judge.flags import Series
from ascend_autotune.errors import JudgeUnavailable

INSTALL = "pip install 'ascend-autotune[ascend]' (CPython 3.11 on x86-64 Linux only)"

_FLAG = re.compile(r"^ +--([a-z0-9][\w-]*)", re.MULTILINE)
_TARGET = re.compile(r"^ +=(Ascend[\w-]+)", re.MULTILINE)
_HELP_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Binary:
    """An executable: `identity` is the SHA-256 of its content, the rest is from `--help`."""

    path: Path
    identity: str
    flags: frozenset[str]
    targets: frozenset[str]


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The two binaries for one chip; `a5` marks the compiler's build for 950 and 310B."""

    adapter: Binary
    compiler: Binary
    a5: bool


def series_of(chip: str) -> Series:
    """The series of a chip by its name, which is how the compiler's targets are spelt."""
    if chip.startswith("Ascend310B"):
        return "310B"
    if chip.startswith(("Ascend950", "Ascend910_95")):
        return "950"
    return "A3" if chip.startswith("Ascend910_93") else "A2"


def find_toolchain(chip: str) -> Toolchain:
    """The compiler and adapter for `chip`. Raises JudgeUnavailable, naming the mend."""
    series = series_of(chip)
    adapter = next(_adapters(), None)
    if adapter is None:
        raise JudgeUnavailable(f"no triton-adapter-opt (triton-ascend) here: {INSTALL}")
    seen: list[Path] = []
    for path in _compilers(series):
        binary = probe(path)
        if chip in binary.targets:
            return Toolchain(probe(adapter), binary, path.name.endswith("-a5"))
        seen.append(path)
    if seen:
        raise JudgeUnavailable(f"{seen[0]} does not compile for {chip}; a newer compiler may")
    raise JudgeUnavailable(f"no bishengir-compile for {chip} here: {INSTALL}")


def _adapters() -> Iterator[Path]:
    for folder in _package("triton"):
        path = folder / "backends" / "ascend" / "triton-adapter-opt"
        if path.is_file():
            yield path
    on_path = shutil.which("triton-adapter-opt")
    if on_path:
        yield Path(on_path)


def _compilers(series: Series) -> Iterator[Path]:
    """Candidates, best first. The build for 950 and 310B is a binary of its own in 1.2.0."""
    names = ["bishengir-compile"]
    if series in ("310B", "950"):
        names.insert(0, "bishengir-compile-a5")
    for name in names:
        on_path = shutil.which(name)
        if on_path:
            yield Path(on_path)
    for folder in _package("ascendnpuir"):
        path = folder / "bin" / names[0]
        if path.is_file():
            yield path


def _package(name: str) -> list[Path]:
    """The folders of a top-level package, found without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []


def probe(path: Path) -> Binary:
    """What the binary is and knows; asked once per binary, then kept on disk. See `find_toolchain`
    for the error."""
    path = path.resolve()
    status = path.stat()
    return _probe(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=32)
def _probe(path: Path, size: int, mtime: int) -> Binary:
    stamp = hashlib.sha256(f"{path}\0{size}\0{mtime}".encode()).hexdigest()
    record = cache_root() / "judge" / "binaries" / f"{stamp}.json"
    known = read_record(record)
    with contextlib.suppress(KeyError, TypeError):
        if known is not None:
            identity, flags, targets = known["identity"], known["flags"], known["targets"]
            return Binary(
                _executable(path, identity), identity, frozenset(flags), frozenset(targets)
            )
    with path.open("rb") as content:
        digest = hashlib.sha256()
        while chunk := content.read(1 << 20):
            digest.update(chunk)
    identity = digest.hexdigest()
    runnable = _executable(path, identity)
    text = _help(runnable)
    binary = Binary(
        runnable, identity, frozenset(_FLAG.findall(text)), frozenset(_TARGET.findall(text))
    )
    write_record(
        record,
        {
            "identity": identity,
            "flags": sorted(binary.flags),
            "targets": sorted(binary.targets),
        },
    )
    return binary


def _help(path: Path) -> str:
    try:
        answer = subprocess.run(
            [path, "--help"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_HELP_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JudgeUnavailable(f"{path} does not run here: {error}") from error
    if answer.returncode != 0:
        reason = (answer.stderr.strip().splitlines() or ["no reason given"])[0]
        raise JudgeUnavailable(f"{path} does not run here: {reason}")
    return answer.stdout


def _executable(path: Path, identity: str) -> Path:
    """The binary with its execute bit, which a wheel may lack: set in place, else in a copy."""
    if os.access(path, os.X_OK):
        return path
    with contextlib.suppress(OSError):
        path.chmod(path.stat().st_mode | 0o111)
        if os.access(path, os.X_OK):
            return path
    folder = cache_root() / "judge" / "bin" / identity[:16]
    copy = folder / "bin" / path.name
    if not os.access(copy, os.X_OK):
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            draft = copy.with_name(f"{copy.name}.{os.getpid()}")
            shutil.copyfile(path, draft)
            draft.chmod(0o755)
            draft.replace(copy)
            # The compiler looks for its libraries beside its own folder.
            with contextlib.suppress(FileExistsError):
                (folder / "lib").symlink_to(path.parent.parent / "lib")
        except OSError as error:
            raise JudgeUnavailable(
                f"{path} may not be executed, nor copied to {copy}: {error}; chmod +x it"
            ) from error
    return copy

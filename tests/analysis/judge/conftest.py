"""A compiler of shell scripts, so that every way of going wrong can be had at will."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_autotune.analysis.judge.cache import OutcomeCache
from ascend_autotune.analysis.judge.judge import Judge
from ascend_autotune.analysis.judge.process import Limits
from ascend_autotune.analysis.judge.toolchain import Toolchain, probe

HELP = """  --target=<value> - Target device name.
    =Ascend910B3   -   Ascend910B3
  --enable-auto-multi-buffer - Enable auto multi buffer.
  --enable-debug-info - Enable debug info.
  --triton-to-linalg - Convert Triton to Linalg dialect
"""
MakeJudge = Callable[..., Judge]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or fills the user's cache."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ASCEND_AUTOTUNE_CACHE", str(folder))
    return folder


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes an executable that answers `--help` and else runs `body`."""

    def write(name: str, body: str) -> Path:
        path = tmp_path / "tools" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f'#!/bin/sh\nif [ "$1" = --help ]; then cat <<EOF\n{HELP}EOF\nexit 0; fi\n{body}\n'
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return write


@pytest.fixture
def make_judge(
    script: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> MakeJudge:
    """A judge whose compiler is the shell script `compiler`; its temporary folder is `scratch`."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))

    def make(
        compiler: str,
        adapter: str = "cat > /dev/null; echo 'func @k() attributes {a = 1, mix_mode = \"aiv\"}'",
        seconds: float = 20.0,
        memory_bytes: int = 8 << 30,
        cache: OutcomeCache | None = None,
    ) -> Judge:
        tools = Toolchain(
            probe(script("triton-adapter-opt", adapter)),
            probe(script("bishengir-compile", compiler)),
            a5=False,
        )
        return Judge("Ascend910B3", tools, cache, Limits(seconds, memory_bytes))

    return make

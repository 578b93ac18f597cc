from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ascend_autotune.analysis.judge import Judge
from ascend_autotune.analysis.judge.toolchain import find_toolchain, probe, series_of
from ascend_autotune.errors import JudgeUnavailable

Script = Callable[[str, str], Path]


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with neither wheel and nothing of interest on PATH; gives its site-packages."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setattr(sys, "path", [str(site)])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sys, "modules", {k: v for k, v in sys.modules.items() if k != "triton"})
    return site


def install(site: Path, script: Script, *names: str) -> None:
    """Put wheels' files in place; importing the packages would fail."""
    places = {
        "triton-adapter-opt": "triton/backends/ascend/triton-adapter-opt",
        "bishengir-compile": "ascendnpuir/bin/bishengir-compile",
        "bishengir-compile-a5": "ascendnpuir/bin/bishengir-compile-a5",
    }
    for name in names:
        target = site / places[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        script(name, "exit 0").rename(target)
        package = site / places[name].split("/")[0] / "__init__.py"
        package.write_text("raise ImportError('must not be imported')")


def test_without_a_compiler_the_install_command_is_named(nothing: Path) -> None:
    with pytest.raises(JudgeUnavailable) as error:
        Judge.find("Ascend910B3")
    assert "pip install 'ascend-autotune[ascend]'" in str(error.value)
    assert "CPython 3.11" in str(error.value)


def test_an_adapter_alone_is_no_judge(nothing: Path, script: Script) -> None:
    install(nothing, script, "triton-adapter-opt")
    with pytest.raises(JudgeUnavailable, match="bishengir-compile"):
        Judge.find("Ascend910B3")


def test_the_wheels_are_found_without_importing_them(nothing: Path, script: Script) -> None:
    install(nothing, script, "triton-adapter-opt", "bishengir-compile")
    tools = find_toolchain("Ascend910B3")
    assert tools.compiler.path == nothing / "ascendnpuir/bin/bishengir-compile"
    assert tools.adapter.path.name == "triton-adapter-opt"
    assert not tools.a5


def test_canns_compiler_comes_first(
    nothing: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(nothing, script, "triton-adapter-opt", "bishengir-compile")
    cann = script("bishengir-compile", "exit 0")
    monkeypatch.setenv("PATH", f"{cann.parent}:/usr/bin:/bin")
    assert find_toolchain("Ascend910B3").compiler.path == cann


def test_a_chip_that_the_compiler_does_not_know(nothing: Path, script: Script) -> None:
    install(nothing, script, "triton-adapter-opt", "bishengir-compile")
    with pytest.raises(JudgeUnavailable, match="does not compile for Ascend910B1"):
        Judge.find("Ascend910B1")


def test_950_and_310b_have_a_binary_of_their_own(nothing: Path, script: Script) -> None:
    install(nothing, script, "triton-adapter-opt", "bishengir-compile", "bishengir-compile-a5")
    binary = nothing / "ascendnpuir/bin/bishengir-compile-a5"
    binary.write_text(binary.read_text().replace("Ascend910B3", "Ascend950PR_9579"))
    tools = find_toolchain("Ascend950PR_9579")
    assert tools.compiler.path == binary
    assert tools.a5
    assert find_toolchain("Ascend910B3").compiler.path.name == "bishengir-compile"


def test_a_missing_execute_bit_is_set(nothing: Path, script: Script) -> None:
    install(nothing, script, "triton-adapter-opt", "bishengir-compile")
    binary = nothing / "ascendnpuir/bin/bishengir-compile"
    binary.chmod(0o644)
    assert os.access(find_toolchain("Ascend910B3").compiler.path, os.X_OK)
    assert os.access(binary, os.X_OK)


def test_where_it_cannot_be_set_a_copy_runs(
    nothing: Path, script: Script, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    install(nothing, script, "triton-adapter-opt", "bishengir-compile")
    binary = nothing / "ascendnpuir/bin/bishengir-compile"
    binary.chmod(0o644)
    allowed = Path.chmod

    def chmod(path: Path, mode: int, **more: bool) -> None:
        if path == binary:
            raise PermissionError(path)
        allowed(path, mode, **more)

    monkeypatch.setattr(Path, "chmod", chmod)
    copy = find_toolchain("Ascend910B3").compiler.path
    assert cache_folder in copy.parents
    assert os.access(copy, os.X_OK)
    assert not os.access(binary, os.X_OK)


def test_help_is_read_once_per_binary(script: Script, tmp_path: Path) -> None:
    path = script("bishengir-compile", "")
    asked = tmp_path / "asked"
    path.write_text(path.read_text().replace("cat <<EOF", f"echo x >> {asked}; cat <<EOF", 1))
    first = probe(path)
    probe.__globals__["_probe"].cache_clear()  # another process
    assert probe(path) == first
    assert asked.read_text() == "x\n"
    assert "enable-auto-multi-buffer" in first.flags
    assert first.targets == {"Ascend910B3"}


def test_a_new_binary_is_asked_anew(script: Script) -> None:
    path = script("bishengir-compile", "")
    before = probe(path)
    path.write_text(path.read_text().replace("--enable-auto-multi-buffer", "--brand-new-flag"))
    after = probe(path)
    assert after.identity != before.identity
    assert "brand-new-flag" in after.flags


def test_a_binary_that_does_not_run_here(tmp_path: Path) -> None:
    path = tmp_path / "bishengir-compile"
    path.write_text("#!/bin/sh\necho 'GLIBC_2.99 not found' >&2; exit 1\n")
    path.chmod(0o755)
    with pytest.raises(JudgeUnavailable, match=r"GLIBC_2\.99 not found"):
        probe(path)


def test_series_by_name() -> None:
    names = ["Ascend910B3", "Ascend910_9382", "Ascend910_9579", "Ascend950PR_9579", "Ascend310B1"]
    assert [series_of(name) for name in names] == ["A2", "A3", "950", "950", "310B"]

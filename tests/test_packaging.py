"""What installing and importing the package promises: light, layered, no Triton forced."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "ascend_autotune"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = {"torch", "torch_npu", "triton", "networkx", "numpy"}
# Brought by the extras: the package has to live without them.
OPTIONAL = {"torch", "torch_npu", "triton", "ascendnpuir"}


def imports_of(file: Path) -> Iterator[str]:
    """Every module that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative imports hide the layer"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def distribution(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert match is not None
    return match[0].lower().replace("_", "-")


@pytest.mark.parametrize(
    "module", ["ascend_autotune", "ascend_autotune.analysis", "ascend_autotune.cli"]
)
def test_importing_loads_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; print(*sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == []


def test_every_module_imports_without_a_triton() -> None:
    modules = sorted(
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for file in PACKAGE.rglob("*.py")
        # The adapters may need the Triton that they adapt, the hook the one that it changes.
        if not {"adapters", "hooks"} & set(file.parts) and file.name != "__main__.py"
    )
    script = (
        "import importlib, sys\n"
        f"for name in {sorted(OPTIONAL)!r}: sys.modules[name] = None\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr


def test_the_hook_says_what_to_install_where_there_is_no_triton() -> None:
    script = "import sys; sys.modules['triton'] = None; import ascend_autotune.hooks"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode != 0
    assert "FlavourError" in done.stderr.splitlines()[-1]


def test_analysis_never_reaches_up() -> None:
    above = ("ascend_autotune.search", "ascend_autotune.hooks", "ascend_autotune.cli")
    found = [
        f"{file.relative_to(ROOT)} imports {name}"
        for file in (PACKAGE / "analysis").rglob("*.py")
        for name in imports_of(file)
        if name.startswith(above)
    ]
    assert found == []


def test_declared_dependencies_are_those_imported() -> None:
    imported = {
        name.partition(".")[0] for file in PACKAGE.rglob("*.py") for name in imports_of(file)
    }
    third_party = imported - set(sys.stdlib_module_names) - OPTIONAL - {"ascend_autotune"}
    assert third_party == {distribution(r) for r in PROJECT["dependencies"]}


def test_no_triton_is_ever_forced_on_a_user() -> None:
    forced = {distribution(r) for r in PROJECT["dependencies"]}
    assert not forced & {"triton", "triton-ascend", "ascendnpu-ir", "torch", "torch-npu"}


def test_ascend_extra_installs_nothing_where_it_has_no_wheels() -> None:
    for requirement in PROJECT["optional-dependencies"]["ascend"]:
        marker = requirement.partition(";")[2]
        for part in ("python_version == '3.11'", "'x86_64'", "'linux'"):
            assert part in marker, requirement


def test_the_console_script_exists() -> None:
    module, _, function = PROJECT["scripts"]["ascend-autotune"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_version_has_one_home() -> None:
    import ascend_autotune
    from ascend_autotune import _version

    assert ascend_autotune.__version__ == _version.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", _version.__version__)


@pytest.mark.parametrize(
    ("arguments", "mend"),
    [
        (["test", "--flavour", "cuda"], "triton==VERSION"),
        (["exec"], "exec needs a command"),
        (["tset"], "demo, test, lint, exec, prepare"),
    ],
)
def test_the_bootstrap_says_what_is_wrong_in_one_line(
    tmp_path: Path, arguments: list[str], mend: str
) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "run.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert mend in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []

"""Whose Triton is installed, without importing it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from ascend_autotune.analysis import flavour
from ascend_autotune.analysis.flavour import Flavour, detect, identify
from ascend_autotune.errors import FlavourError

LIBRARY = "triton/_C/libtriton.so"


def install(site: Path, name: str, version: str, size: int, *, record: bool = True) -> None:
    """What an installer leaves of one distribution: its files, over what was there."""
    folder = site / "triton"
    (folder / "_C").mkdir(parents=True, exist_ok=True)
    (site / LIBRARY).write_bytes(b"x" * size)
    (folder / "__init__.py").write_text("__version__ = '3.2.0'\n")
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = f"triton/__init__.py,sha256=aa,24\n{LIBRARY},sha256=bb,{size}\n" if record else ""
    (info / "RECORD").write_text(lines)


def found(site: Path) -> Flavour:
    recorded = {}
    for path in sorted(site.glob("*.dist-info")):
        distribution = PathDistribution(path)
        recorded[distribution.metadata["Name"]] = distribution
    return identify(site / "triton", recorded)  # type: ignore[arg-type]


def test_the_installed_flavour_is_the_one_that_imports() -> None:
    pytest.importorskip("triton")
    from triton._C import libtriton

    assert detect().ascend == hasattr(libtriton, "ascend")


def test_detecting_does_not_import_triton() -> None:
    pytest.importorskip("triton")
    code = (
        "import sys; from ascend_autotune.analysis.flavour import detect; detect(); "
        "sys.exit('triton' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["triton", "triton-ascend"])
def test_one_distribution_owns_its_files(tmp_path: Path, name: str) -> None:
    install(tmp_path, name, "3.2.0", 10)
    assert found(tmp_path) == Flavour(name, "3.2.0")  # type: ignore[arg-type]
    assert found(tmp_path).ascend == (name == "triton-ascend")


@pytest.mark.parametrize("first", ["triton", "triton-ascend"])
def test_two_over_each_other_are_a_clash_with_the_mend(tmp_path: Path, first: str) -> None:
    second = "triton" if first == "triton-ascend" else "triton-ascend"
    install(tmp_path, first, "3.2.0", 10)
    install(tmp_path, second, "3.5.1", 20)
    with pytest.raises(FlavourError) as error:
        found(tmp_path)
    message = str(error.value)
    assert "over each other" in message
    assert "pip uninstall -y triton triton-ascend" in message
    assert "pip install triton-ascend==3.2.0" in message
    assert "\n" not in message


def test_files_of_another_build_than_recorded_are_refused(tmp_path: Path) -> None:
    install(tmp_path, "triton", "3.5.1", 10)
    (tmp_path / LIBRARY).write_bytes(b"another build")
    with pytest.raises(FlavourError, match=r"is not the triton .* that is on record"):
        found(tmp_path)


def test_a_folder_without_its_library_is_damaged(tmp_path: Path) -> None:
    install(tmp_path, "triton", "3.5.1", 10)
    (tmp_path / LIBRARY).unlink()
    with pytest.raises(FlavourError, match="damaged"):
        found(tmp_path)


def test_a_build_from_source_is_taken_at_its_word(tmp_path: Path) -> None:
    install(tmp_path, "triton", "3.6.0", 10, record=False)
    assert found(tmp_path) == Flavour("triton", "3.6.0")


def test_a_build_on_no_record_is_known_by_its_files(tmp_path: Path) -> None:
    install(tmp_path, "triton", "0", 10)
    assert identify(tmp_path / "triton", {}) == Flavour("triton", "3.2.0")
    adapter = tmp_path / "triton" / "backends" / "ascend"
    adapter.mkdir(parents=True)
    (adapter / "compiler.py").touch()
    assert identify(tmp_path / "triton", {}) == Flavour("triton-ascend", "3.2.0")


@pytest.mark.parametrize("leftover", [False, True], ids=["nothing", "an empty folder"])
def test_no_triton_names_the_install_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, leftover: bool
) -> None:
    if leftover:  # what uninstalling one of two leaves behind
        (tmp_path / "triton" / "_C").mkdir(parents=True)
    code = (
        f"import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; "
        f"sys.path.append({str(tmp_path)!r})\n"
        "from ascend_autotune.analysis.flavour import detect\n"
        "try: detect()\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    root = Path(flavour.__file__).parents[2]
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.startswith("FlavourError no Triton is installed: pip install triton-ascend==3.2.0")

"""FILE.py:KERNEL and pkg.mod:KERNEL, on a machine without a device."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("triton")

from triton.runtime import driver

from ascend_autotune.analysis.kernel import describe, unwrap
from ascend_autotune.analysis.loading import load_kernel
from ascend_autotune.errors import RequestError

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = """
@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets))
"""


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    before, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith(("triton", "ascend_autotune")):
            del sys.modules[name]
    assert sys.path == path


def refusal(name: str) -> str:
    with pytest.raises(RequestError) as error:
        load_kernel(name)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_kernel_is_loaded_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(HEAD + KERNEL)
    kernel = load_kernel(f"{file}:copy")
    assert unwrap(kernel).__name__ == "copy"
    assert describe(kernel).file == str(file)


def test_a_kernel_is_loaded_from_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "ops.py").write_text(HEAD + KERNEL)
    monkeypatch.chdir(tmp_path)
    assert unwrap(load_kernel("some_package.ops:copy")).__name__ == "copy"


def test_a_file_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_main.py").write_text(HEAD + KERNEL)
    (tmp_path / "main_file.py").write_text("from neighbour_of_main import copy\n")
    assert unwrap(load_kernel(f"{tmp_path}/main_file.py:copy")).__name__ == "copy"


def test_a_file_in_a_package_may_import_relatively(tmp_path: Path) -> None:
    package = tmp_path / "outer_package" / "inner"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package.parent / "shared.py").write_text(HEAD + KERNEL)
    (package / "ops.py").write_text("from ..shared import copy\n")
    assert unwrap(load_kernel(f"{package}/ops.py:copy")).__name__ == "copy"


def test_a_file_called_like_a_module_in_use_disturbs_nobody(tmp_path: Path) -> None:
    import json

    file = tmp_path / "json.py"
    file.write_text(HEAD + KERNEL)
    assert unwrap(load_kernel(f"{file}:copy")).__name__ == "copy"
    assert sys.modules["json"] is json


def test_a_module_may_ask_for_the_active_driver_while_it_loads(tmp_path: Path) -> None:
    file = tmp_path / "asking.py"
    file.write_text(
        HEAD
        + "TARGET = triton.runtime.driver.active.get_current_target()\n"
        + "CORES = triton.runtime.driver.active.utils.get_device_properties(0)['num_vectorcore']\n"
        + '@triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], ["n"])\n'
        + '@triton.heuristics({"EVEN": lambda args: args["BLOCK"] > 32})'
        + KERNEL.replace("BLOCK: tl.constexpr", "n, BLOCK: tl.constexpr, EVEN: tl.constexpr")
    )
    before = dict(vars(driver))
    kernel = load_kernel(f"{file}:copy")
    assert vars(driver) == before
    info = describe(kernel)
    assert info.configs == ({"BLOCK": 32}, {"BLOCK": 64})
    assert list(info.heuristics) == ["EVEN"]
    module = sys.modules["asking"]
    assert module.TARGET.backend == "npu"
    assert module.CORES == 40


def test_what_a_module_prints_stays_out_of_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "chatty.py"
    file.write_text("print('hello')\n" + HEAD + KERNEL)
    load_kernel(f"{file}:copy")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("text", "told", "line"),
    [
        ("import not_there_at_all\n", "No module named 'not_there_at_all'", 1),
        ("x = 1\nraise ValueError('two\\nlines')\n", "ValueError: two", 2),
        ("x = 1\n\ndef broken(:\n", "SyntaxError", 3),
        ("import sys\nsys.exit(3)\n", "SystemExit", 2),
    ],
)
def test_a_file_that_fails_to_import_says_why_and_where(
    tmp_path: Path, text: str, told: str, line: int
) -> None:
    file = tmp_path / "failing.py"
    file.write_text(text)
    message = refusal(f"{file}:copy")
    assert told in message
    assert f"{file}:{line}" in message
    assert "failing" not in sys.modules


def test_a_module_that_is_not_there_is_refused() -> None:
    assert "No module named 'no_such_package'" in refusal("no_such_package.ops:copy")


def test_a_file_that_is_not_there_names_the_closest(tmp_path: Path) -> None:
    (tmp_path / "attention.py").touch()
    message = refusal(f"{tmp_path}/atention.py:copy")
    assert "there is no file" in message
    assert f"did you mean {tmp_path}/attention.py?" in message


def test_a_kernel_that_is_not_there_names_the_closest_and_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text(HEAD + KERNEL + KERNEL.replace("copy", "other_kernel"))
    message = refusal(f"{file}:copi")
    assert "no kernel 'copi'; did you mean 'copy'?" in message
    assert "(kernels there: copy, other_kernel)" in message


def test_what_is_no_kernel_is_refused_with_those_that_are(tmp_path: Path) -> None:
    file = tmp_path / "mixed.py"
    file.write_text(HEAD + KERNEL + "def plain(x):\n    return x\n")
    message = refusal(f"{file}:plain")
    assert "plain is no Triton kernel" in message
    assert "(kernels there: copy)" in message


def test_a_file_without_kernels_says_so(tmp_path: Path) -> None:
    file = tmp_path / "empty.py"
    file.touch()
    assert "there are no kernels in it" in refusal(f"{file}:copy")


@pytest.mark.parametrize("name", ["copy", "file.py:", ":copy", ""])
def test_a_name_has_two_parts(name: str) -> None:
    assert "write FILE.py:KERNEL or pkg.mod:KERNEL" in refusal(name)

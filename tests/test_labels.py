from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.labels import labels, load_source


def test_every_row_of_the_groundtruth_is_a_label(shared: Path, tmp_path: Path) -> None:
    counts = {name: len(list(labels(name, tmp_path))) for name in ("micro", "reports", "flaggems")}
    assert counts == {"micro": 424, "reports": 163, "flaggems": 1541}


def test_figures_are_bytes_and_memories_have_this_packages_names(shared: Path) -> None:
    overflows = [label for label in labels("reports") if label.status == "overflow"]
    assert overflows[0].required == {"ub": 262144}
    micro = [label for label in labels("micro") if label.status == "overflow"]
    assert {memory for label in micro for memory in label.required} <= {"ub", "l1", "l0c"}


def test_options_and_fallbacks_are_in_the_judges_terms(shared: Path) -> None:
    rows = {(row.options["multibuffer"], row.fallback) for row in labels("reports")}
    assert (True, ("enable-auto-multi-buffer", "enable-code-motion")) in rows
    assert any(not multibuffer for multibuffer, _ in rows)


def test_an_unknown_set(shared: Path) -> None:
    with pytest.raises(ValueError, match="micro, reports, flaggems"):
        list(labels("flagems"))


def test_a_kernel_loads_without_what_its_file_imports(tmp_path: Path) -> None:
    pytest.importorskip("triton", exc_type=ImportError)
    package = tmp_path / "pack"
    package.mkdir()
    (package / "helpers.py").write_text(
        "import torch_of_another_world\n@jit\ndef twice(x):\n    return x * 2\n"
    )
    (package / "kernel.py").write_text(
        "import torch_of_another_world\n"
        "from .helpers import twice\n"
        "SIZE = 64\n"
        "WIDTH = torch_of_another_world.width()\n"
        "@torch_of_another_world.register\n@triton.jit(do_not_specialize=['n'])\n"
        "def kernel(x, n, B: tl.constexpr):\n    tl.store(x, twice(tl.load(x)))\n"
        "def host():\n    return torch_of_another_world.empty()\n"
    )
    module = load_source(package / "kernel.py")
    assert module.kernel.arg_names == ["x", "n", "B"]
    assert module.SIZE == 64
    assert module.twice.arg_names == ["x"]
    assert not hasattr(module, "host")

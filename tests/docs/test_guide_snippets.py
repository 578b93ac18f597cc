"""Every Python snippet of the guide runs as it stands, in both languages.

The snippets of a page are one program: they are written to a module at the lines that they have
on the page, so that a traceback points there.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = ("guide.md", "guide.zh.md")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(page: str) -> list[tuple[int, str]]:
    """The Python snippets of a page, each with the number of its first line."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start(2)) + 1, found[2])
        for found in FENCE.finditer(text)
        if found[1] == "python"
    ]


def program(page: str) -> str:
    """One module with each snippet at its own lines, and nothing between them."""
    lines: list[str] = []
    for first, text in snippets(page):
        lines += [""] * (first - 1 - len(lines))
        lines += text.splitlines()
    return "\n".join(lines) + "\n"


def without_comments(text: str) -> str:
    return "\n".join(
        code.rstrip() for line in text.splitlines() if (code := line.partition("#")[0]).strip()
    )


@pytest.fixture
def modelled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    from ascend_autotune import hooks
    from ascend_autotune.analysis.flavour import detect
    from ascend_autotune.analysis.judge.toolchain import find_toolchain
    from ascend_autotune.errors import JudgeUnavailable
    from ascend_autotune.search.standin import activate, deactivate

    if not detect().ascend:
        pytest.skip("the modelled NPU needs triton-ascend")
    try:
        find_toolchain("Ascend910B3")
    except JudgeUnavailable as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.getbasetemp() / "guide-triton"
        patch.setenv("TRITON_CACHE_DIR", str(folder))
        for name in ("ASCEND_AUTOTUNE", "ASCEND_AUTOTUNE_DEVICE"):
            patch.delenv(name, raising=False)
        deactivate()
        hooks.install()
        yield activate()
        deactivate()
        hooks.install()  # a page may end without it


def run(page: str, folder: Path) -> ModuleType:
    # Triton reads a kernel's text from its file.
    path = folder / f"{page.replace('.', '_')}.py"
    path.write_text(program(page), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES)
def test_every_snippet_runs(
    page: str, modelled: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = run(page, tmp_path)
    # What the page says of its own snippets.
    assert list(module.attention_kernel.best_config.kwargs)[:2] == ["BLOCK_M", "BLOCK_N"]
    assert len(module.attention_kernel.cache) == 1
    assert len(module.narrow.cache) == 2
    assert len(module.ranges.cache) == 1
    said = capsys.readouterr().out
    assert "9 merged, 3 timed" in said or "3 timed, 9 merged" in said
    assert "[ascend_autotune] attention_kernel on Ascend910B3" in said
    assert "did you mean 'BLOCK_M'" in said
    assert "checked   the result against reference_fn" in said


def test_both_pages_show_the_same_code() -> None:
    first, second = ([without_comments(text) for _, text in snippets(page)] for page in PAGES)
    assert first == second

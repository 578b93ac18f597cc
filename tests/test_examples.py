"""The examples run on any machine, and mean the same on every Triton flavour.

tests/golden/examples.json holds what each example is and takes. After a change that is meant to
move these figures, write it anew on triton-ascend and look at the difference:

    python3.11 tools/run.py test -n 0 tests/test_examples.py --update-golden
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ascend_autotune
from ascend_autotune.analysis.flavour import detect
from ascend_autotune.analysis.judge.toolchain import find_toolchain
from ascend_autotune.errors import JudgeUnavailable

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py"))
GOLDEN = ROOT / "tests" / "golden" / "examples.json"
# Kernels a newcomer would look for, by name: the list of the docs, and of the issue they came from.
PROMISED = {
    "vector_add",
    "fused_softmax",
    "layer_norm",
    "matmul",
    "flash_attention",
    "flash_attention_block_ptr",
    "grouped_matmul",
    "guide_attention",
    "rotary_embedding",
    "cross_entropy",
    "gather",
    "cumsum",
}
REMOVED = "Block pointers have been removed"


def load(name: str) -> ModuleType:
    path = ROOT / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if "import ascend_autotune.hooks" in path.read_text(encoding="utf-8"):
        # Another test may have taken the hook away after its one import.
        importlib.import_module("ascend_autotune.hooks").install()
    spec.loader.exec_module(module)
    return module


def without_block_pointers(name: str) -> bool:
    """Triton 3.9 took block pointers out of the language."""
    import triton

    release = tuple(int(part) for part in triton.__version__.split(".")[:2])
    return name == "flash_attention_block_ptr" and not detect().ascend and release >= (3, 9)


def explain(module: ModuleType) -> ascend_autotune.Report:
    return ascend_autotune.explain(
        module.KERNEL, signature=module.SIGNATURE, constants=module.CONSTANTS, **module.TILE
    )


def facts(name: str) -> dict[str, object]:
    """What must not depend on the flavour: family, kind, verdict, and bytes of each memory."""
    report = explain(load(name))
    return {
        "family": report.classification.family,
        "kind": report.classification.kind,
        "verdict": report.verdict.status,
        "footprint": {memory: list(pair) for memory, pair in report.verdict.footprint.items()},
    }


@pytest.fixture(scope="module")
def golden(request: pytest.FixtureRequest) -> dict[str, object]:
    if request.config.getoption("--update-golden"):
        text = json.dumps({name: facts(name) for name in EXAMPLES}, indent=1) + "\n"
        draft = GOLDEN.with_suffix(".draft")
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, GOLDEN)
    loaded: dict[str, object] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return loaded


def test_every_promised_example_is_there() -> None:
    assert set(EXAMPLES) == PROMISED


@pytest.mark.parametrize("name", EXAMPLES)
def test_same_family_kind_and_footprint_on_every_flavour(
    name: str, golden: dict[str, object]
) -> None:
    if without_block_pointers(name):
        pytest.skip(f"this Triton says: {REMOVED}")
    assert facts(name) == golden[name]


@pytest.mark.parametrize("name", EXAMPLES)
def test_main_runs_without_a_device(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    load(name).main()
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    if without_block_pointers(name):
        assert REMOVED in text
    else:
        assert f"examples/{name}.py:" in text.replace(str(ROOT) + "/", "") or f"{name}.py:" in text


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tile_shown_is_one_that_fits_or_might(name: str, golden: dict[str, object]) -> None:
    entry = golden[name]
    assert isinstance(entry, dict)
    assert entry["verdict"] in ("feasible", "unknown")


@pytest.mark.parametrize("name", EXAMPLES)
def test_space_holds_something_to_drop_and_something_to_keep(name: str) -> None:
    if without_block_pointers(name):
        pytest.skip(f"this Triton says: {REMOVED}")
    module = load(name)
    result = ascend_autotune.prune(
        module.KERNEL,
        space=module.SPACE,
        signature=module.SIGNATURE,
        constants=module.CONSTANTS,
        grid=module.grid,
    )
    assert len(result.infeasible) > 0
    assert len(result.survivors) > 0


def test_an_example_runs_as_a_program_from_anywhere(tmp_path: Path) -> None:
    """As a user runs it: a process of its own, another folder, no torch, an empty HOME."""
    script = (
        "import runpy, sys; sys.modules['torch'] = None;"
        f"runpy.run_path({str(ROOT / 'examples' / 'flash_attention.py')!r}, run_name='__main__')"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert "attention" in done.stdout


def test_the_guides_example_tunes_once_per_key_on_the_modelled_npu(tmp_path: Path) -> None:
    """As a user runs it on a machine with neither an NPU nor torch."""
    if not detect().ascend:
        pytest.skip("the modelled NPU needs triton-ascend")
    try:
        find_toolchain("Ascend910B3")
    except JudgeUnavailable as error:
        pytest.skip(str(error))
    path = ROOT / "examples" / "guide_attention.py"
    script = (
        "import runpy, sys; sys.modules['torch'] = None;"
        f"runpy.run_path({str(path)!r}, run_name='__main__')"
    )
    changed = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "ASCEND_AUTOTUNE_DEVICE": "standin"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, **changed},
    )
    assert done.returncode == 0, done.stderr
    tuned = [line for line in done.stdout.splitlines() if "tuned keys so far" in line]
    assert [line.rpartition(" ")[2] for line in tuned] == ["1", "1", "2"]
    assert "the same key: called in 0.0" in tuned[1]
    assert "best config: BLOCK_M: " in done.stdout
    assert "Search of attention_kernel on Ascend910B3 (modelled)" in done.stdout

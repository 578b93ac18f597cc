from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

import triton.language as tl

from ascend_autotune import __version__
from ascend_autotune.cli import constant, main, plain

KERNELS = Path(__file__).parent / "analysis" / "tile_kernels.py"
SCALE = f"{KERNELS}:scale_kernel"
ARGS = ["--arg", "x_ptr=*fp32:16", "--arg", "out_ptr=*fp32:16", "--arg", "n=i32"]
ARGS += ["--arg", "factor=fp32"]


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_explain_prints_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "explain", SCALE, *ARGS, "--const", "BLOCK=1024")
    assert (code, err) == (0, "")
    assert "What would fit?" in out and max(map(len, out.splitlines())) <= 80


def test_explain_of_a_tile_that_cannot_run_exits_with_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, err = run(capsys, "explain", SCALE, *ARGS, "--const", "BLOCK=1048576")
    assert (code, err) == (1, "") and "overflow" in out


def test_explain_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", SCALE, "--json", "--target", "Ascend910B1")
    value = json.loads(out)
    assert code == 0 and value["schema_version"] == 1 and value["target"] == "Ascend910B1"


def test_prune_exits_by_its_survivors(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "prune", SCALE, *ARGS, "--space", "BLOCK=1024,1048576")
    assert code == 0 and "1 feasible" in out and max(map(len, out.splitlines())) <= 80
    code, out, _ = run(capsys, "prune", SCALE, *ARGS, "--space", "BLOCK=1048576")
    assert code == 1 and "Nothing in this space can run" in out


def test_a_program_that_does_not_compile_is_told_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def broken(x_ptr, BLOCK: tl.constexpr):\n"
        "    tl.store(x_ptr + tl.arange(0, BLOCK), factor)\n"
    )
    argv = [f"{file}:broken", "--arg", "x_ptr=*fp32"]
    for sizes in ("16,32", ",".join(str(1 << n) for n in range(20))):  # a list, and counts
        code, out, _ = run(capsys, "prune", *argv, "--space", f"BLOCK={sizes}")
        assert code == 1 and "factor is not defined (at" in out and "broken.py:7)" in out
    code, out, _ = run(capsys, "explain", *argv, "--const", "BLOCK=64")
    assert code == 1 and "compiles (factor is not defined)" in out and "become smaller" not in out


def test_prune_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--space", "BLOCK=16, 1024", "--space", "num_warps=4,8", "--json"]
    argv += ["--grid", "cdiv(2097152, BLOCK)", "--compile-option", "multibuffer=false"]
    code, out, _ = run(capsys, "prune", SCALE, *ARGS, *argv)
    value = json.loads(out)
    assert code == 0 and value["stats"]["merged"] == 2
    assert [v["status"] for v in value["verdicts"]] == ["infeasible"] * 2 + ["feasible"] * 2
    assert value["verdicts"][0]["reasons"][0]["code"] == "grid"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ([], "command"),
        (["prun", SCALE], "prun"),
        (["prune", SCALE, *ARGS], "prune needs a space"),
        (["prune", SCALE, *ARGS, "--space", "BLOCK"], "write it as NAME=16,32,64"),
        (["prune", SCALE, *ARGS, "--space", "BLOCK="], "BLOCK has no values"),
        (["prune", SCALE, *ARGS, "--space", "BLOK=16"], "did you mean 'BLOCK'"),
        (["prune", SCALE, *ARGS, "--space", "BLOCK=16,x"], "'x'"),
        (["prune", SCALE, *ARGS, "--space", "BLOCK=1.5"], "1.5"),
        (["prune", SCALE, *ARGS, "--space", "n=16"], "runtime argument"),
        (["prune", SCALE, *ARGS[:-2], "--space", "BLOCK=16"], "types, --arg factor=fp32"),
        (["prune", SCALE, "--space", "BLOCK=16"], "--arg 'x_ptr=*f"),
        (["prune", SCALE, *ARGS, "--space", "BLOCK=16", "--target", "Ascend910X"], "Ascend910B3"),
        (["prune", SCALE, *ARGS, "--space", "BLOCK=16", "--grid", "open('x')"], "--grid"),
        (["prune", SCALE, *ARGS, "--space", "BLOCK=16", "--grid", "cdiv(M, BLOCK)"], "M"),
        (["prune", SCALE, *ARGS, "--space", "BLOCK=16", "--compile-option", "x=1"], "x"),
        (["prune", SCALE, *ARGS, "--space", "BLOCK=16", "--space", "BLOCK=32"], "twice"),
        (["explain", SCALE, "--arg", "x_ptr=float16"], "float16"),
        (["explain", SCALE, "--frobnicate"], "--frobnicate"),
        (["explain", f"{KERNELS}:scal_kernel"], "scale_kernel"),
        (["explain", "no_such_file.py:k"], "no_such_file.py"),
        (["explain", "no_colon.py"], "no_colon.py"),
    ],
)
def test_wrong_requests_exit_with_2_and_one_line(
    argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, *argv)
    assert code == 2 and out == ""
    assert err.startswith("ascend-autotune: ") and err.count("\n") == 1
    assert told in err


def test_a_file_that_fails_to_import_is_told_by_its_last_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text("import triton\nraise KeyError('the cause')\n")
    code, out, err = run(capsys, "explain", f"{tmp_path / 'broken.py'}:k")
    assert (code, out) == (2, "") and "KeyError: 'the cause'" in err and err.count("\n") == 1


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and __version__ in capsys.readouterr().out


def test_values_are_read_as_one_would_expect() -> None:
    assert [plain(t) for t in ("16", "0x10", "1.5", "true", "False", "None", "relu")] == [
        16,
        16,
        1.5,
        True,
        False,
        None,
        "relu",
    ]
    assert plain("'16'") == "16" and plain("no-l0c") == "no-l0c"
    assert constant("fp16") == tl.float16 and constant("tl.int32") == tl.int32
    assert constant("bf16") == tl.bfloat16 and constant("'fp16'") == "fp16"
    assert constant("relu") == "relu" and constant("64") == 64


def test_importing_the_package_imports_no_triton() -> None:
    script = (
        "import sys, ascend_autotune, ascend_autotune.analysis, ascend_autotune.cli;"
        "found = {'torch', 'triton', 'networkx', 'numpy'} & set(sys.modules);"
        "ascend_autotune.prune, ascend_autotune.explain, ascend_autotune.Report;"
        "found |= {'torch', 'triton'} & set(sys.modules);"
        "sys.exit(f'imported: {found}' if found else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    script = f"{sys.executable} -W ignore -m ascend_autotune.cli explain {SCALE} --json | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr

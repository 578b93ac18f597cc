"""The judge survives: what a compiler, a disk or a neighbour may do is an outcome."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from judge_texts import FITS, REDUCE, TTIR, fits, says

from ascend_autotune.analysis.judge import Judge
from ascend_autotune.errors import RequestError

MakeJudge = Callable[..., Judge]
OVERFLOW = "error: ub overflow, requires 4194304 bits while 1572864 bits available!"
REPORT = (
    '{"Record":[{"scope":"ub","memory_info_array":[{"buffer":"memref<1024xf32, #ub>",'
    '"extent":32768,"is_tmpbuf":false,"life_time_in_ir":[1,2],"offset":[0],'
    '"source_location":"loc(\\"-\\":11:10)"}]}]}'
)


def test_a_program_that_fits(make_judge: MakeJudge) -> None:
    outcome = make_judge(fits()).ask(TTIR)
    assert (outcome.status, outcome.mode, outcome.fits) == ("fits", "aiv", True)


def test_buffers_lead_to_the_kernels_own_lines(make_judge: MakeJudge) -> None:
    judge = make_judge(f"echo '{REPORT}' > memory_info_aiv.json; {fits()}")
    (buffer,) = judge.ask(TTIR).buffers
    assert str(buffer.location) == "/src/kernels.py:13"
    moved = judge.ask(TTIR.replace("/src/", "/moved/"))
    assert moved.cached
    assert str(moved.buffers[0].location) == "/moved/kernels.py:13"


def test_the_compiler_gets_the_program_without_mix_mode(make_judge: MakeJudge) -> None:
    outcome = make_judge("cat >&2; echo >&2; exit 1").ask(TTIR)
    assert outcome.status == "refused"
    assert outcome.message == "func @k() attributes {a = 1}"


def test_the_adapter_refuses(make_judge: MakeJudge) -> None:
    adapter = says('loc("-":9:10): error: unsupported pointer')
    outcome = make_judge(fits(), adapter).ask(TTIR)
    assert (outcome.status, outcome.message) == ("refused", "unsupported pointer")


def test_a_killed_compiler_is_asked_once_more_and_then_unknown(
    make_judge: MakeJudge, tmp_path: Path
) -> None:
    judge = make_judge(f"cat > /dev/null; echo x >> {tmp_path}/runs; kill -KILL $$")
    outcome = judge.ask(TTIR)
    assert (outcome.status, outcome.fits) == ("crash", None)
    assert outcome.message == "the compiler crashed: killed by signal 9"
    assert (tmp_path / "runs").read_text() == "x\nx\n"


def test_a_crash_that_does_not_come_again_costs_nothing(
    make_judge: MakeJudge, tmp_path: Path
) -> None:
    once = f"[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; kill -SEGV $$; }}"
    assert make_judge(f"{once}; {fits()}").ask(TTIR).status == "fits"


def test_a_compiler_that_never_ends_is_ended_with_its_helpers(
    make_judge: MakeJudge, tmp_path: Path
) -> None:
    endless = f"sleep 300 & echo $! $$ > {tmp_path}/pids; while :; do wait; done"
    outcome = make_judge(endless, seconds=2).ask(TTIR)
    assert (outcome.status, outcome.fits) == ("timeout", None)
    assert "2 s" in outcome.message
    for pid in (tmp_path / "pids").read_text().split():
        assert _ended(int(pid))


def _ended(pid: int) -> bool:
    """Gone, or dead and only waiting to be collected by whoever took it over."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_compiler_that_wants_all_the_memory(make_judge: MakeJudge) -> None:
    greedy = f"cat > /dev/null; exec {sys.executable} -c 'import os\ntry: bytearray(2 << 30)\n"
    greedy += "except MemoryError: os.abort()'"
    assert make_judge(greedy, memory_bytes=1 << 30).ask(TTIR).status == "crash"


@pytest.mark.parametrize(
    "words",
    [
        "error: cannot open output file: No space left on device",
        "LLVM ERROR: IO failure on output stream: No space left on device",
    ],
)
def test_a_disk_that_fills_while_compiling_is_no_verdict(make_judge: MakeJudge, words: str) -> None:
    outcome = make_judge(says(words)).ask(TTIR)
    assert outcome.status == "failed"
    assert "No space left on device" in outcome.message


def test_a_report_cut_short_by_a_full_disk_is_no_verdict(make_judge: MakeJudge) -> None:
    judge = make_judge(f"echo '{REPORT[:40]}' > memory_info_aiv.json; {fits()}")
    assert judge.ask(TTIR).status == "failed"


def test_no_temporary_folder_can_be_made(
    make_judge: MakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    judge = make_judge(fits())
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.mkdtemp", full)
        outcome = judge.ask(TTIR)
    assert outcome.status == "failed"
    assert "no space left" in outcome.message
    assert judge.ask(TTIR).status == "fits"


def test_a_temporary_folder_on_a_full_file_system(
    make_judge: MakeJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)]
    if os.name != "posix" or os.geteuid() != 0 or subprocess.run(mount, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        judge = make_judge(f"yes > filler 2> /dev/null; yes > filler2; {fits()}")
        monkeypatch.setattr("tempfile.tempdir", str(small))
        outcome = judge.ask(TTIR)
        assert outcome.status == "failed"
        assert not list(small.iterdir())
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize(
    "compiler", [fits(), says(OVERFLOW), "kill -SEGV $$", "echo x > left; sleep 300"]
)
def test_nothing_is_left_behind(make_judge: MakeJudge, tmp_path: Path, compiler: str) -> None:
    make_judge(compiler, seconds=0.5).ask(TTIR)
    assert not list((tmp_path / "scratch").iterdir())


def test_a_verdict_is_asked_for_once(make_judge: MakeJudge, tmp_path: Path) -> None:
    judge = make_judge(f"echo x >> {tmp_path}/runs; {says(OVERFLOW)}")
    first, second = judge.ask(TTIR), judge.ask(TTIR)
    assert (first.cached, second.cached) == (False, True)
    assert second.overflows == first.overflows
    assert second.seconds == first.seconds
    assert judge.calls == 1
    assert (tmp_path / "runs").read_text() == "x\n"


@pytest.mark.parametrize(
    "compiler", ["kill -SEGV $$", "sleep 300", says("No space left on device")]
)
def test_what_is_no_verdict_is_not_kept(make_judge: MakeJudge, compiler: str) -> None:
    assert make_judge(compiler, seconds=0.5).ask(TTIR).fits is None
    assert not make_judge(compiler, seconds=0.5).ask(TTIR).cached


def test_other_options_and_another_compiler_are_other_questions(make_judge: MakeJudge) -> None:
    judge = make_judge(fits())
    assert not judge.ask(TTIR).cached
    assert not judge.ask(TTIR, {"multibuffer": False}).cached
    assert judge.ask(TTIR, {"multibuffer": True}).cached  # what triton-ascend passes anyway
    newer = make_judge(says(OVERFLOW))
    assert newer.ask(TTIR).status == "overflow"


def test_an_option_that_this_compiler_lacks_is_named(make_judge: MakeJudge) -> None:
    judge = make_judge(fits())
    judge.ask(TTIR)
    outcome = judge.ask(TTIR, {"tile_mix_cube_loop": 2})
    assert outcome.dropped == ("tile_mix_cube_loop",)


def test_a_wrong_option_is_the_callers_error(make_judge: MakeJudge) -> None:
    with pytest.raises(RequestError, match="did you mean"):
        make_judge(fits()).ask(TTIR, {"multibufer": True})


def test_many_are_answered_in_their_order(make_judge: MakeJudge) -> None:
    adapter = "if grep -q tt.reduce; then echo 'error: no reduce' >&2; exit 1; fi; echo"
    with make_judge(fits(), adapter) as judge:
        outcomes = judge.ask_many([(TTIR, None), (REDUCE, {}), (TTIR, {"multibuffer": False})])
    assert [outcome.status for outcome in outcomes] == ["fits", "refused", "fits"]


def test_the_same_program_asked_by_many_threads_is_compiled_once(make_judge: MakeJudge) -> None:
    judge = make_judge(f"sleep 0.3; {fits()}")
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(judge.ask, [TTIR] * 8))
    assert {outcome.status for outcome in outcomes} == {"fits"}
    assert judge.calls == 1


def test_two_processes_share_a_cache(make_judge: MakeJudge, tmp_path: Path) -> None:
    # Each asks the same eight questions; the compiler says no to every other option value. What
    # one has written the other may read, and neither may see anything else.
    adapter = "cat > /dev/null; echo 'func @k()'"
    refuses = f'echo x >> {tmp_path}/runs; case "$*" in *buffer=false*) {says(OVERFLOW)};; esac'
    judge = make_judge(f"{refuses}; {fits()}", adapter)
    body = """
import sys
from pathlib import Path
from ascend_autotune.analysis.judge.judge import Judge
from ascend_autotune.analysis.judge.toolchain import Toolchain, probe
chip, adapter, compiler, text = sys.argv[1:]
judge = Judge(chip, Toolchain(probe(Path(adapter)), probe(Path(compiler)), False))
for number in range(4):
    program = text.replace("@", f"@k{number}")
    for multibuffer in (True, False):
        print(judge.ask(program, {"multibuffer": multibuffer}).status)
"""
    tools = judge.toolchain
    paths = [str(tools.adapter.path), str(tools.compiler.path)]
    command = [sys.executable, "-c", body, judge.chip, *paths, TTIR]
    asked = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    answers = [process.communicate() for process in asked]
    assert answers == [("fits\noverflow\n" * 4, "")] * 2
    runs = (tmp_path / "runs").read_text().count("x")
    assert 8 <= runs <= 16
    third = subprocess.run(command, capture_output=True, text=True, check=True)
    assert third.stdout == answers[0][0]
    assert (tmp_path / "runs").read_text().count("x") == runs  # all of it was in the cache


def test_an_interrupt_kills_the_compiler_and_frees_those_who_wait(
    make_judge: MakeJudge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    judge = make_judge(f"echo $$ > {tmp_path}/begun; mv {tmp_path}/begun {tmp_path}/pid; sleep 300")
    real = subprocess.Popen.communicate

    def interrupted(process: subprocess.Popen[str], *arguments: object) -> object:
        if "bishengir-compile" in str(process.args):
            while not (tmp_path / "pid").exists():
                time.sleep(0.01)
            raise KeyboardInterrupt
        return real(process, *arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(subprocess.Popen, "communicate", interrupted)
        judge.ask(TTIR)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert make_judge(f"{says(FITS, 0)}").ask(TTIR).status == "fits"

from __future__ import annotations

import pytest

from ascend_autotune.analysis.chips import chip
from ascend_autotune.search.standin.figures import figures_of
from ascend_autotune.search.standin.model import Launch, duration
from ascend_autotune.search.standin.program import Program

TYPES = {
    "matmul": dict(a="*fp16", b="*fp16", c="*fp16", M="i32", N="i32", K="i32")
    | dict.fromkeys(("stride_a", "stride_b", "stride_c"), "i32:16"),
    "softmax": dict(x="*fp32", y="*fp32", n="i32", stride="i32"),
    "triangle": dict(x="*fp32", y="*fp32", n="i32"),
    "strided": dict(x="*fp32", y="*fp32", n="i32", stride="i32"),
    "scale": dict(x="*fp32", n="i32", factor="fp32"),
}
SIDE = 2048


@pytest.fixture(scope="module")
def program():
    """A program of one of the kernels, traced and never judged: any Triton will do."""
    pytest.importorskip("triton")
    from ascend_autotune.analysis.hostdriver import host_only
    from ascend_autotune.analysis.kernel import make_instance
    from ascend_autotune.analysis.ttir import trace

    with host_only():
        from tests.search.standin import kernels

    def make(name: str, mode: str = "aiv", fallback=(), options=None, **constants) -> Program:
        instance = make_instance(
            getattr(kernels, name), TYPES[name], constants, chip("Ascend910B3")
        )
        return Program(name, mode, tuple(fallback), options or {}, trace(instance).generic)

    return make


def seconds(program: Program, grid, scalars=(), sizes=(), target="Ascend910B3") -> float:
    return duration(program, Launch(grid, scalars, sizes), figures_of(chip(target)))


def matmul(program, m=64, n=64, k=64, side=SIDE, **more) -> float:
    made = program("matmul", mode=more.pop("mode", "mix"), BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, **more)
    scalars = (None, None, None, side, side, side, side, side, side)
    size = 2 * side * side
    return seconds(made, (side // m, side // n, 1), scalars, (size, size, size))


def test_the_same_launch_takes_the_same_time(program) -> None:
    assert matmul(program) == matmul(program)


def test_more_work_takes_longer(program) -> None:
    assert matmul(program, side=1024) * 4 < matmul(program, side=2048)
    short, long = ((None, None, n, n) for n in (1, 1))
    made = program("softmax", BLOCK=1024)
    assert seconds(made, (4000, 1, 1), short) < seconds(made, (40000, 1, 1), long)


def test_no_matmul_beats_the_cube(program) -> None:
    best = min(matmul(program, m, n, k) for m in (64, 128) for n in (64, 128) for k in (64, 128))
    flops = 2 * SIDE**3 / best
    assert 20e12 < flops < 313e12


def test_no_copy_beats_the_memory(program) -> None:
    n = 1 << 26
    made = program("scale", BLOCK=8192)
    moved = 2 * 4 * n / seconds(made, (n // 8192, 1, 1), (None, n, 2.0), (4 * n, None, None))
    assert 0.2e12 < moved < 1.6e12


def test_tiny_tiles_are_slow(program) -> None:
    assert matmul(program, 16, 16, 16) > 5 * matmul(program, 64, 64, 64)


def test_multibuffering_helps_and_a_fallback_is_as_off(program) -> None:
    on, off = matmul(program), matmul(program, options={"multibuffer": False})
    fallen = matmul(program, fallback=("enable-auto-multi-buffer", "enable-code-motion"))
    assert on < off
    assert fallen == off


def test_the_mixed_options_matter_to_kernels_that_mix(program) -> None:
    base = matmul(program)
    local = matmul(program, options={"limit_auto_multi_buffer_only_for_local_buffer": True})
    deeper = matmul(program, options={"set_workspace_multibuffer": 4})
    cut = matmul(program, options={"tile_mix_cube_loop": 8, "tile_mix_vector_loop": 8})
    assert len({base, local, deeper, cut}) == 4
    # Off makes its children inactive.
    off = {"multibuffer": False}
    assert matmul(program, options=off) == matmul(
        program, options={**off, "set_workspace_multibuffer": 4, "tile_mix_cube_loop": 2}
    )
    soft = program("softmax", BLOCK=1024)
    more = program("softmax", options={"set_workspace_multibuffer": 4}, BLOCK=1024)
    grid, scalars = (512, 1, 1), (None, None, 1024, 1024)
    assert seconds(soft, grid, scalars) == seconds(more, grid, scalars)


def test_programs_go_to_cores_in_rounds(program) -> None:
    made = program("softmax", BLOCK=1024)
    one, full, over = (
        seconds(made, (rows, 1, 1), (None, None, 1024, 1024)) for rows in (1, 40, 41)
    )
    assert one <= full
    assert over > 1.3 * full - 5e-6


def test_loops_run_as_often_as_the_program_says(program) -> None:
    made = program("triangle", BLOCK=1024)
    few, many = (seconds(made, (rows, 1, 1), (None, None, 1)) for rows in (4, 40))
    assert many > 2 * few - 5e-6
    # The last program is the longest one: alone in its round, the launch waits for it.
    assert seconds(made, (40, 1, 1), (None, None, 1)) > 10e-6


def test_a_loop_bound_that_is_unknown_counts_as_some_trips(program) -> None:
    made = program("matmul", mode="mix", BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)
    unknown = seconds(made, (4, 4, 1))
    known = seconds(made, (4, 4, 1), (None, None, None, 256, 256, 16 * 64, 256, 256, 256))
    assert unknown == known


def test_strides_cost(program) -> None:
    n = 1 << 20
    straight = program("scale", BLOCK=1024)
    apart = program("strided", BLOCK=1024)
    grid = (n // 1024, 1, 1)
    assert seconds(apart, grid, (None, None, n, 3)) > 1.2 * seconds(straight, grid, (None, n, 2.0))


def test_what_is_read_again_comes_from_l2(program) -> None:
    made = program("matmul", mode="mix", BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)
    scalars = (None, None, None, *(6 * (SIDE,)))
    grid = (SIDE // 64, SIDE // 64, 1)
    known = seconds(made, grid, scalars, (2 * SIDE * SIDE,) * 3)
    assert known < seconds(made, grid, scalars)


def test_a_slower_chip_takes_longer(program) -> None:
    made = program("softmax", BLOCK=1024)
    launch = ((8000, 1, 1), (None, None, 1024, 1024))
    assert seconds(made, *launch, target="Ascend910B4") > seconds(made, *launch)


def test_an_empty_grid_takes_no_time(program) -> None:
    assert seconds(program("softmax", BLOCK=1024), (0, 1, 1)) == 0


def test_a_program_survives_its_bytes(program) -> None:
    made = program("softmax", fallback=("enable-code-motion",), BLOCK=1024)
    assert Program.from_bytes(made.to_bytes()) == made


@pytest.mark.parametrize("content", [b"\x7fELF", b"{}", b'{"modelled": 0}'])
def test_another_binary_is_refused(content: bytes) -> None:
    with pytest.raises(RuntimeError, match="not made for the modelled NPU"):
        Program.from_bytes(content)

from __future__ import annotations

import pytest

from ascend_autotune.analysis.judge.flags import OPTIONS, CommandFlags, Series, command_flags
from ascend_autotune.errors import RequestError

ADAPTER = {
    "discrete-mask-access-conversion", "triton-to-annotation", "triton-to-unstructure",
    "triton-to-hivm", "triton-to-hfusion", "triton-to-llvm", "bubble-up-operation",
    "triton-to-linalg", "triton-linearize", "compile-on-910-95", "force-simt-template",
    "global-kernel", "named-ops", "enable-nd2nz-on-vector", "enable-select-analysis",
}  # fmt: skip
COMPILER = {option.flag for option in OPTIONS.values() if option.flag} | {
    "enable-hfusion-compile", "enable-hivm-compile", "enable-triton-kernel-compile",
    "enable-debug-info", "enable-memory-display", "mlir-disable-threading",
}  # fmt: skip


def flags(
    options: dict[str, object], chip: str = "Ascend910B3", series: Series = "A2"
) -> CommandFlags:
    return command_flags(options, chip, series, ADAPTER, COMPILER, a5=series in ("310B", "950"))


def test_nothing_said_is_what_triton_ascend_passes() -> None:
    assert set(flags({}).compiler) == {
        "--target=Ascend910B3",
        "--enable-auto-multi-buffer=true",
        "--enable-auto-bind-sub-block=true",
        "--enable-debug-info=true",
        "--enable-hfusion-compile=true",
        "--enable-hivm-compile=true",
        "--enable-triton-kernel-compile=true",
        "--enable-memory-display=true",  # ours: the report
        "--mlir-disable-threading",  # ours: the same verdict each time
    }


def test_each_option_reaches_its_flag() -> None:
    given = {
        "multibuffer": False,
        "set_workspace_multibuffer": 4,
        "tile_mix_cube_loop": 8,
        "limit_auto_multi_buffer_of_local_buffer": "no-l0c",
        "sync_solver": True,
    }
    passed = flags(given).compiler
    assert "--enable-auto-multi-buffer=false" in passed
    assert "--set-workspace-multibuffer=4" in passed
    assert "--tile-mix-cube-loop=8" in passed
    assert "--limit-auto-multi-buffer-of-local-buffer=no-l0c" in passed
    assert "--enable-hivm-graph-sync-solver=true" in passed


def test_the_order_of_the_request_does_not_matter() -> None:
    one = flags({"multibuffer": False, "sync_solver": True})
    other = flags({"sync_solver": True, "multibuffer": False})
    assert one == other


def test_none_passes_no_flag() -> None:
    assert not any("multi-buffer" in flag for flag in flags({"multibuffer": None}).compiler)


def test_stages_and_warps_change_nothing() -> None:
    assert flags({"num_stages": 1, "num_warps": 8}) == flags({})


def test_an_option_that_this_compiler_lacks_is_dropped_and_named() -> None:
    known = COMPILER - {"enable-ubuf-saving"}
    answer = command_flags(
        {"enable_ubuf_saving": True}, "Ascend910_9382", "A3", ADAPTER, known, False
    )
    assert answer.dropped == ("enable_ubuf_saving",)
    assert not any("ubuf" in flag for flag in answer.compiler)


def test_a_default_that_this_compiler_lacks_is_not_the_users_loss() -> None:
    known = COMPILER - {"enable-auto-bind-sub-block"}
    assert command_flags({}, "Ascend910B3", "A2", ADAPTER, known, False).dropped == ()


def test_only_950_asks_the_adapter_for_950() -> None:
    assert any("compile-on-910-95=True" in f for f in flags({}, "Ascend950PR_9579", "950").adapter)
    assert not any("compile-on-910-95=True" in f for f in flags({}, "Ascend310B1", "310B").adapter)


def test_a_release_without_a_pass_is_called_without_it() -> None:
    known = ADAPTER - {"triton-to-hivm", "force-simt-template"}
    answer = command_flags({}, "Ascend910B3", "A2", known, COMPILER, False)
    joined = " ".join(answer.adapter)
    assert "triton-to-hivm" not in joined
    assert "force-simt" not in joined
    assert "--triton-to-linalg=" in joined


@pytest.mark.parametrize(
    ("options", "mend"),
    [
        ({"multi_buffer": True}, "did you mean multibuffer?"),
        ({"multibuffer": "maybe"}, "use one of False, True"),
        ({"set_workspace_multibuffer": -1}, "use one of 2, 4"),
        ({"limit_auto_multi_buffer_of_local_buffer": "none"}, "use one of no-limit, no-l0c"),
    ],
)
def test_a_wrong_request_is_told_how_to_mend_it(options: dict[str, object], mend: str) -> None:
    with pytest.raises(RequestError) as error:
        flags(options)
    assert mend in str(error.value)

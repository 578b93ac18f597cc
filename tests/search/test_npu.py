"""The NPU device on a stand-in of torch_npu, and its names against the wheel's own files."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest
from fake_torch_npu import FakeNpu

from ascend_autotune.search import npu as npu_module
from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, Device
from ascend_autotune.search.npu import NpuClock, npu_device
from ascend_autotune.search.profiled import kernel_times
from ascend_autotune.search.timing import Plan

NAMES = json.loads(Path(__file__).with_name("torch_npu_names.json").read_text())
A, B = Config({"BLOCK": 64}), Config({"BLOCK": 128})
QUICK = Plan(0.0, 0.5, least=4, most=8)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeNpu:
    made = FakeNpu()
    monkeypatch.setitem(sys.modules, "torch", made.torch())
    monkeypatch.setitem(sys.modules, "torch_npu", made.torch_npu())
    return made


# -- every name exists in the wheel ----------------------------------------------------------------


def chain(node: ast.expr) -> str:
    """`self._torch.npu.Event` -> `npu.Event`, `profiler.profile` -> `profiler.profile`."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    parts.reverse()
    for root in ("npu", "profiler"):
        if root in parts[:3]:
            return ".".join(parts[parts.index(root) :])
    return ""


def used() -> tuple[set[str], list[tuple[str, list[str]]]]:
    """The names of torch_npu in search/npu.py, and the keywords of calls of them."""
    tree = ast.parse(Path(npu_module.__file__).read_text())
    names: set[str] = set()
    calls = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names.add(chain(node))
        if isinstance(node, ast.Call):
            name = chain(node.func)
            calls.append((name, [k.arg for k in node.keywords if k.arg is not None]))
    own = {"profiler.time"}  # the module's own Profiler
    return {n for n in names if "." in n} - own, [
        c for c in calls if "." in c[0] and c[0] not in own
    ]


def test_every_name_of_torch_npu_exists_in_its_wheel() -> None:
    names, _ = used()
    assert {"npu.Event", "npu.device", "npu.synchronize", "profiler.profile"} <= names
    for name in names:
        module, first, *rest = name.split(".")
        assert first in NAMES["modules"][module], f"{NAMES['wheel']} has no {name}"
        if rest:
            assert rest[0] in NAMES["members"][f"{module}.{first}"], name


def test_every_keyword_exists_in_its_wheel() -> None:
    _, calls = used()
    assert len(calls) >= 7
    for name, keywords in calls:
        known = NAMES["calls"][name]
        assert not set(keywords) - set(known), f"{NAMES['wheel']}: {name} has no {keywords}"


def test_methods_of_events_and_profiles_exist() -> None:
    assert {"record", "query", "elapsed_time"} <= set(NAMES["members"]["npu.Event"])
    assert {"step", "__enter__", "__exit__"} <= set(NAMES["members"]["profiler.profile"])


def test_the_stand_in_has_no_name_that_the_wheel_lacks(machine: FakeNpu) -> None:
    assert set(vars(machine.torch().npu)) <= set(NAMES["modules"]["npu"])
    assert set(vars(machine.torch_npu().profiler)) <= set(NAMES["modules"]["profiler"])


# -- behaviour -------------------------------------------------------------------------------------


def test_events_time_a_kernel(machine: FakeNpu) -> None:
    times = {A: 500.0, B: 250.0}
    device = npu_device(
        lambda config: machine.run("kernel", times[config]),
        kernel="kernel",
        chip="Ascend910B3",
        coarse=QUICK,
        precise=QUICK,
    )
    assert isinstance(device, Device)
    assert device.info.cores == 20 and device.info.capacity["ub"] == 192 * 1024
    assert device.time(A).time_ms == pytest.approx(0.5)
    assert device.time(B, precise=True).time_ms == pytest.approx(0.25)
    assert machine.profiles == 0


def test_short_finalists_are_profiled_by_their_own_rows(machine: FakeNpu) -> None:
    """A helper runs first and the cache is cleared: neither is the kernel's time."""

    def launch(config: Config) -> None:
        machine.run("MemSet", 40.0)
        machine.run("kernel_mix_aic", 7.0 if config == A else 9.0)

    precise = Plan(0.0, 0.5, least=4, most=8, wait_s=1)
    device = npu_device(
        launch,
        kernel="kernel",
        chip="Ascend910B3",
        coarse=QUICK,
        precise=precise,
        method="profiler",
    )
    assert device.time(A, precise=True).time_ms == pytest.approx(0.007)
    assert device.time(B, precise=True).time_ms == pytest.approx(0.009)
    assert machine.profiles == 2


def test_auto_profiles_what_is_too_short_for_events(machine: FakeNpu) -> None:
    precise = Plan(0.0, 0.6, least=4, most=8)
    device = npu_device(
        lambda config: machine.run("kernel", 8.0),
        kernel="kernel",
        chip="Ascend910B3",
        coarse=QUICK,
        precise=precise,
    )
    assert device.time(A).time_ms == pytest.approx(0.008)
    assert machine.profiles == 0  # exploring goes by events
    assert device.time(A, precise=True).time_ms == pytest.approx(0.008)
    assert machine.profiles == 1


def test_events_stand_where_the_profile_has_no_row(machine: FakeNpu) -> None:
    device = npu_device(
        lambda config: machine.run("other", 8.0),
        kernel="kernel",
        chip="Ascend910B3",
        coarse=QUICK,
        precise=Plan(0.0, 0.6, least=4, most=8),
    )
    assert device.time(A, precise=True).time_ms == pytest.approx(0.008)


def test_the_device_of_the_tensors_is_made_current(machine: FakeNpu) -> None:
    device = npu_device(
        lambda config: machine.run("kernel", 100.0 if machine.index == 3 else 900.0),
        kernel="kernel",
        chip="Ascend910B3",
        index=3,
        coarse=QUICK,
    )
    assert device.time(A).time_ms == pytest.approx(0.1)
    assert machine.entered == [3] and machine.index == 0


def test_cube_and_vector_parts_are_one_launch(tmp_path: Path) -> None:
    rows = ["Name,Type,Duration(us)"]
    for _ in range(3):
        rows += [
            "kernel_mix_aic,kernel,10.0",
            "kernel_mix_aiv,kernel,12.0",
            "ZerosLike,ZerosLike,90",
        ]
    (tmp_path / "kernel_details.csv").write_text("\n".join(rows))
    assert kernel_times(tmp_path, "kernel", 3) == pytest.approx([0.012] * 3)
    with pytest.raises(ValueError, match="no row of kern; it has ZerosLike"):
        kernel_times(tmp_path, "kern", 3)


def test_a_faulting_npu_is_told_by_acls_number(machine: FakeNpu) -> None:
    def launch(config: Config) -> None:
        raise RuntimeError("ACL stream synchronize failed, error code:507015")

    device = npu_device(launch, kernel="kernel", chip="Ascend910B3")
    with pytest.raises(ConfigFailed) as caught:
        device.time(A)
    assert caught.value.kind == "fault" and not device.usable


def test_without_cann_the_message_is_plain(
    machine: FakeNpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    with pytest.raises(ConfigFailed, match="install CANN"):
        NpuClock()

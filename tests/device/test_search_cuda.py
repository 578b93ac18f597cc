"""Whole searches on a GPU: right winners, the caller's tensors untouched until the launch."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import device_kernels as kernels  # noqa: E402
import launches  # noqa: E402

from ascend_autotune.search.buffers import Buffers  # noqa: E402
from ascend_autotune.search.config import Config  # noqa: E402
from ascend_autotune.search.cuda import cuda_device, cuda_info  # noqa: E402
from ascend_autotune.search.device import ConfigFailed, Device  # noqa: E402
from ascend_autotune.search.engine import search  # noqa: E402
from ascend_autotune.search.gate import Gate  # noqa: E402
from ascend_autotune.search.problem import Problem  # noqa: E402
from ascend_autotune.search.timing import Plan  # noqa: E402

QUICK = Plan(1.0, 4.0, least=4)


def configs(**space: list[int]) -> list[Config]:
    return [
        Config(dict(zip(space, values, strict=True)))
        for values in itertools.product(*space.values())
    ]


def searched(launch, tensors, written, read, found, reference=None, default=None):  # type: ignore[no-untyped-def]
    """Search `found`, then launch the winner once; the result and the tensors before and after."""
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    default = default or found[0]
    with Buffers(tensors, written, read) as buffers:
        device = cuda_device(
            launch, coarse=QUICK, precise=QUICK, trial=buffers.trial, refresh=buffers.refresh
        )
        assert isinstance(device, Device)
        gate = Gate(launch, buffers, default=default, reference=reference)
        problem = Problem("kernel", [c.candidate for c in found], ({},), default=default)
        result = search(problem, device, effort="quick", gate=gate)
    for name, tensor in tensors.items():
        same = torch.equal(tensor.view(torch.uint8), before[name].view(torch.uint8))  # NaN too
        assert same, f"{name} was changed by the search"
    assert result.best is not None
    launch(result.best)
    torch.cuda.synchronize()
    return result, before


def test_what_the_gpu_is() -> None:
    info = cuda_info()
    assert info.kind == "cuda" and info.cores > 0


def test_matmul() -> None:
    launch, tensors = launches.matmul(512, 512, 512)
    found = configs(BM=[32, 64, 128], BN=[64, 128], BK=[32, 64])
    _, before = searched(launch, tensors, {"c_ptr"}, {"a_ptr", "b_ptr"}, found)
    wanted = before["a_ptr"].float() @ before["b_ptr"].float()
    assert torch.allclose(tensors["c_ptr"].float(), wanted, rtol=1e-2, atol=0.1)


def test_attention() -> None:
    launch, tensors = launches.attention(8, 1024, 64)
    read = {"q_ptr", "k_ptr", "v_ptr"}
    searched(launch, tensors, {"o_ptr"}, read, configs(BM=[32, 64, 128], BN=[32, 64]))
    q, k, v = (tensors[n].float() for n in ("q_ptr", "k_ptr", "v_ptr"))
    wanted = torch.softmax(q @ k.transpose(1, 2) * 64**-0.5, -1) @ v
    assert torch.allclose(tensors["o_ptr"].float(), wanted, rtol=1e-2, atol=1e-2)


def test_softmax() -> None:
    launch, tensors = launches.softmax(512, 3000)
    searched(launch, tensors, {"out_ptr"}, {"x_ptr"}, configs(BLOCK=[256, 512, 1024, 4096]))
    wanted = torch.softmax(tensors["x_ptr"].float(), -1)
    assert torch.allclose(tensors["out_ptr"].float(), wanted, rtol=1e-2, atol=1e-4)


def test_in_place_on_the_first_call() -> None:
    """Case 15: the first call's result is that of one application, to the last bit."""
    launch, tensors = launches.leaky_relu(100_000)
    _, before = searched(launch, tensors, {"x_ptr"}, {"x_ptr"}, configs(BLOCK=[256, 512, 1024]))
    x = before["x_ptr"]
    assert torch.equal(tensors["x_ptr"], torch.where(x > 0, x, x * 0.5))


def test_atomics_add_once() -> None:
    launch, tensors = launches.column_sums(4096, 512)
    found = configs(BLOCK_R=[64, 128], BLOCK_C=[32, 64])
    _, before = searched(launch, tensors, {"out_ptr"}, {"x_ptr", "out_ptr"}, found)
    wanted = 1 + before["x_ptr"].double().sum(0)
    assert torch.allclose(tensors["out_ptr"].double(), wanted, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("kernel", ["scaled", "half", "nans"])
@pytest.mark.parametrize("given", [True, False])
def test_a_wrong_config_never_wins(kernel: str, given: bool) -> None:
    """Case 16 too: `half` looks right where another config wrote the other half before."""
    launch, tensors = launches.wrong(getattr(kernels, kernel), 1 << 22)
    found = configs(BLOCK=[128, 2048, 256])
    reference = (lambda: tensors["x_ptr"].clone()) if given else None
    result, _ = searched(launch, tensors, {"out_ptr"}, {"x_ptr"}, found, reference)
    assert result.best != Config({"BLOCK": 2048})
    assert torch.equal(tensors["out_ptr"], tensors["x_ptr"])
    with Buffers(tensors, {"out_ptr"}, {"x_ptr"}) as buffers:
        gate = Gate(launch, buffers, default=found[0], reference=reference)
        gate(Config({"BLOCK": 256}))
        with pytest.raises(ConfigFailed) as caught:
            gate(Config({"BLOCK": 2048}))
    assert caught.value.kind == "wrong"


def test_no_memory_costs_one_config() -> None:
    launch, _ = launches.softmax(64, 256)

    def hungry(config: Config) -> None:
        if config.values["BLOCK"] == 512:
            torch.empty(1 << 46, dtype=torch.uint8, device="cuda")
        launch(config)

    device = cuda_device(hungry, coarse=QUICK)
    with pytest.raises(ConfigFailed) as caught:
        device.time(Config({"BLOCK": 512}))
    assert caught.value.kind == "memory"
    assert device.usable and device.time(Config({"BLOCK": 256})).time_ms > 0


def test_too_much_shared_memory_is_an_overflow() -> None:
    launch, _ = launches.matmul(512, 512, 512)
    device = cuda_device(launch, coarse=QUICK)
    with pytest.raises(ConfigFailed) as caught:
        device.time(Config({"BM": 256, "BN": 256, "BK": 128}, {"num_stages": 5}))
    assert caught.value.kind == "overflow" and caught.value.required_bytes


def test_an_interrupt_leaves_the_tensors_as_they_were() -> None:
    launch, tensors = launches.leaky_relu(10_000)
    before, runs = tensors["x_ptr"].clone(), itertools.count()

    def interrupted(config: Config) -> None:
        if next(runs) > 30:
            raise KeyboardInterrupt
        launch(config)

    found = configs(BLOCK=[256, 512, 1024])
    with Buffers(tensors, {"x_ptr"}, {"x_ptr"}) as buffers:
        device = cuda_device(interrupted, coarse=QUICK, trial=buffers.trial)
        problem = Problem("kernel", [c.candidate for c in found], ({},), default=found[0])
        result = search(problem, device)
    assert not result.complete and torch.equal(tensors["x_ptr"], before)

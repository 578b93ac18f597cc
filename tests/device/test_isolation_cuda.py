"""A faulting and a hanging kernel in a worker: this process and its GPU stay usable."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

import device_kernels as kernels  # noqa: E402

from ascend_autotune.search.config import Config  # noqa: E402
from ascend_autotune.search.cuda import cuda_device  # noqa: E402
from ascend_autotune.search.device import ConfigFailed  # noqa: E402
from ascend_autotune.search.engine import search  # noqa: E402
from ascend_autotune.search.isolation import Isolation, Limits  # noqa: E402
from ascend_autotune.search.problem import Problem  # noqa: E402
from ascend_autotune.search.rebuilt import job_for  # noqa: E402
from ascend_autotune.search.timing import Plan  # noqa: E402

N = 1 << 16
LIMITS = Limits(start_s=120, compile_s=120, launch_s=5)


def grid(config: Config) -> tuple[int]:
    return (-(-N // int(str(config.values["BLOCK"]))),)


def test_faults_and_hangs_cost_one_config_each(tmp_path: Path) -> None:
    x = torch.zeros(N, device="cuda")
    flag = torch.zeros(1, device="cuda", dtype=torch.int32)
    arguments = {"x_ptr": x, "flag_ptr": flag, "n": N}
    seen: dict[object, str] = {}
    with Isolation(job_for(kernels.risky, arguments, tmp_path), grid, LIMITS) as isolation:

        def first(config: Config) -> None:
            try:
                isolation.first(config)
            except ConfigFailed as failure:
                seen[config.values["BLOCK"]] = failure.kind
                raise

        def launch(config: Config) -> None:
            kernels.risky[grid(config)](x, flag, N, **config.values)

        device = cuda_device(launch, first=first, coarse=Plan(1, 4, least=4))
        found = [Config({"BLOCK": block}) for block in (128, 64, 32, 256)]
        problem = Problem("risky", [c.candidate for c in found], ({},), default=found[0])
        result = search(problem, device)
        assert isolation.off == ""
        assert isolation.started == 3
    assert seen == {64: "fault", 32: "hang"}
    fates = {t.config.values["BLOCK"]: t.fate for t in result.trials}
    assert fates == {128: "timed", 256: "timed", 64: "failed", 32: "failed"}
    reasons = {t.config.values["BLOCK"]: t.reason for t in result.trials}
    assert "illegal memory access" in reasons[64]
    assert "did not end within 5 s" in reasons[32]
    torch.cuda.synchronize()
    assert torch.equal(x, torch.arange(N, device="cuda", dtype=torch.float32))


def test_tensors_are_made_again_as_they_are(tmp_path: Path) -> None:
    from ascend_autotune.search.rebuilt import Rebuilt

    whole = torch.arange(64, device="cuda", dtype=torch.int64)
    views = {"x_ptr": whole[8:40].reshape(8, 4).t(), "flag_ptr": whole[::2], "n": 3}
    job = job_for(kernels.risky, views, tmp_path)
    made = Rebuilt(**job.arguments)  # type: ignore[arg-type]
    for name in ("x_ptr", "flag_ptr"):
        assert torch.equal(made.arguments[name], views[name])
        assert made.arguments[name].stride() == views[name].stride()
    made.arguments["flag_ptr"][4] = -1  # one storage under both names, not the caller's
    assert (made.arguments["x_ptr"] == -1).any() and not (whole == -1).any()

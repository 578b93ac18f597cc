"""The hook on a GPU, as a user meets it: one decorator, a right result, a worker before it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import device_kernels as kernels  # noqa: E402

import ascend_autotune  # noqa: E402
from ascend_autotune.hooks import install, installed, uninstall  # noqa: E402

BOUNDS = {"bench_warmup": 1, "bench_active": 4}
N = 1 << 16


@pytest.fixture(autouse=True)
def _hooked() -> Iterator[None]:
    before = installed()
    install()
    yield
    if not before:
        uninstall()


def tuned(kernel: Any, key: list[str], **search: Any) -> Any:
    hints = {"search_params": {**BOUNDS, "effort": "quick", **search}}
    return triton.autotune(configs=[], key=key, hints=hints)(kernel)


def grid(meta: dict[str, int]) -> tuple[int]:
    return (triton.cdiv(N, meta["BLOCK"]),)


def fates(kernel: Any) -> dict[object, Any]:
    found = ascend_autotune.explain(kernel).search
    return {trial.config.values["BLOCK"]: trial for trial in found.trials}


@pytest.mark.parametrize("isolate", ["auto", "never"])
def test_matmul(isolate: str) -> None:
    m, n, k = 512, 768, 256
    a = torch.randn(m, k, device="cuda", dtype=torch.float16)
    b = torch.randn(k, n, device="cuda", dtype=torch.float16)
    c = torch.zeros(m, n, device="cuda", dtype=torch.float16)
    values = {"BM": [64, 128], "BN": [64, 128], "BK": [32, 64]}
    kernel = tuned(
        kernels.matmul, ["M", "N", "K"], params=list(values), values=values, isolate=isolate
    )
    tiles = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)  # noqa: E731
    kernel[tiles](a, b, c, m, n, k)
    assert torch.allclose(c.float(), a.float() @ b.float(), rtol=1e-2, atol=0.1)
    assert kernel.best_config.kwargs["BM"] in values["BM"]
    assert ascend_autotune.explain(kernel).search.best_ms > 0


def test_in_place_is_exact_on_the_first_call() -> None:
    x = torch.randn(N, device="cuda")
    before = x.clone()
    kernel = tuned(kernels.leaky_relu, ["n"], params=["BLOCK"], values={"BLOCK": [256, 512, 1024]})
    kernel[grid](x, N, 0.5)
    assert torch.equal(x, torch.where(before > 0, before, before * 0.5))


def test_what_faults_and_what_hangs_cost_one_config_each(monkeypatch: pytest.MonkeyPatch) -> None:
    from ascend_autotune.search import isolation

    monkeypatch.setattr(isolation.Limits, "__init__", _limits)
    x = torch.zeros(N, device="cuda")
    flag = torch.zeros(1, device="cuda", dtype=torch.int32)
    values = {"BLOCK": [128, 64, 32, 256]}
    kernel = tuned(kernels.risky, ["n"], params=["BLOCK"], values=values, isolate="always",
                   effort="full", reference_fn=_counted)  # fmt: skip
    kernel[grid](x, flag, N)
    found = fates(kernel)
    assert found[64].fate == "failed" and "illegal memory access" in found[64].reason
    assert found[32].fate == "failed" and "did not end" in found[32].reason
    assert kernel.best_config.kwargs["BLOCK"] in (128, 256)
    assert torch.equal(x, torch.arange(N, device="cuda", dtype=torch.float32))


def _counted(x_ptr: Any, *_: Any, **__: Any) -> Any:
    return torch.arange(N, device="cuda", dtype=torch.float32)


def _limits(self: Any) -> None:
    for name, seconds in (("start_s", 120.0), ("compile_s", 120.0), ("launch_s", 5.0)):
        object.__setattr__(self, name, seconds)

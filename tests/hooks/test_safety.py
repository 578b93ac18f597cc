"""A search does no harm: the caller's tensors, wrong configs, parameters that are no tiles.

On the modelled NPU with results computed by Triton's interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402

import ascend_autotune  # noqa: E402
from ascend_autotune.analysis.flavour import detect  # noqa: E402
from ascend_autotune.analysis.judge.toolchain import find_toolchain  # noqa: E402
from ascend_autotune.errors import JudgeUnavailable, RequestError  # noqa: E402

SIZE = 600


@pytest.fixture(scope="module", autouse=True)
def _modelled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    if not detect().ascend:
        pytest.skip("the modelled NPU needs triton-ascend")
    try:
        find_toolchain("Ascend910B3")
    except JudgeUnavailable as error:
        pytest.skip(str(error))
    from ascend_autotune.search.standin import activate, deactivate

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        deactivate()
        activate(compute=True)
        yield
        deactivate()


@pytest.fixture(autouse=True)
def _hooked(uninstalled: None) -> None:
    from ascend_autotune import hooks

    hooks.install()


@triton.jit
def scale_in_place(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(x + i, v * 0.5 + 1, mask=i < n)


@triton.jit
def count_kernel(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.atomic_add(total, tl.sum(v, axis=0))


@triton.jit
def block_sums(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, v + tl.sum(v, axis=0), mask=i < n)


@triton.jit
def first_block(x, y, n, BLOCK: tl.constexpr):
    # Right for every block only where one block is all: the grid has a single program.
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v + 1, mask=i < n)


@triton.jit
def softmax_rows(x, y, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    v = tl.load(x + tl.program_id(0) * cols + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + tl.program_id(0) * cols + c, e / tl.sum(e, axis=0), mask=c < cols)


def tuned(kernel: Any, values: list[int], **search: Any) -> Any:
    return triton.autotune(
        configs=[],
        key=["n"],
        hints={"search_params": {"params": ["BLOCK"], "values": values, **search}},
    )(kernel)


def grid(meta: dict[str, Any]) -> tuple[int]:
    return (triton.cdiv(SIZE, meta["BLOCK"]),)


def fates(kernel: Any) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for trial in ascend_autotune.explain(kernel).search.trials:
        found.setdefault(trial.config.candidate["BLOCK"], set()).add(trial.fate)
    return found


def test_an_in_place_kernel_is_exact_on_the_first_call() -> None:
    """Case 15: tuned many times over, applied once."""
    kernel, x = tuned(scale_in_place, [128, 256, 1024]), torch.arange(float(SIZE))
    before = x.clone()
    kernel[grid](x, SIZE)
    assert torch.equal(x, before * 0.5 + 1)
    kernel[grid](x, SIZE)
    assert torch.equal(x, (before * 0.5 + 1) * 0.5 + 1)


def test_an_atomic_kernel_counts_once() -> None:
    reference = {"total": torch.full((1,), float(SIZE))}
    kernel = tuned(count_kernel, [128, 256], reference_fn=lambda *args: reference)
    total = torch.zeros(1)
    kernel[grid](torch.ones(SIZE), total, SIZE)
    assert float(total) == SIZE


def test_what_one_atomic_update_adds_is_no_tile() -> None:
    total = torch.zeros(1)
    with pytest.raises(RequestError, match="atomic"):
        tuned(count_kernel, [128, 256])[grid](torch.ones(SIZE), total, SIZE)
    assert float(total) == 0


def test_a_parameter_that_reaches_the_result_is_refused_with_the_line() -> None:
    kernel = tuned(block_sums, [128, 256])
    x, y = torch.ones(SIZE), torch.zeros(SIZE)
    with pytest.raises(RequestError, match=r"BLOCK is no performance tile.*test_safety.py:\d+"):
        kernel[grid](x, y, SIZE)
    assert not y.any()


def test_with_a_reference_the_wrong_configs_never_win() -> None:
    def reference(x: Any, y: Any, n: int) -> Any:
        return x + 256

    kernel = tuned(block_sums, [128, 256], reference_fn=reference)
    x, y = torch.ones(512), torch.zeros(512)
    kernel[lambda meta: (triton.cdiv(512, meta["BLOCK"]),)](x, y, 512)
    assert kernel.best_config.kwargs["BLOCK"] == 256
    assert torch.equal(y, x + 256)
    assert "rejected" in fates(kernel)[128] or "timed" in fates(kernel)[128]
    assert ascend_autotune.explain(kernel).search.gate == "reference_fn"


def test_without_one_a_config_that_differs_from_the_default_never_wins() -> None:
    """Too small a block leaves the rest of the output as it was: poison, not a result."""
    kernel = tuned(first_block, [128, 1024])
    x, y = torch.ones(SIZE), torch.zeros(SIZE)
    with pytest.warns(RuntimeWarning) if undecided(kernel, x, y) else _nothing():
        kernel[(1,)](x, y, SIZE)
    assert kernel.best_config.kwargs["BLOCK"] == 1024
    assert torch.equal(y, x + 1)


@pytest.mark.parametrize("mode", ["search", "prune", "static"])
def test_a_block_that_has_to_cover_a_row_is_never_smaller(mode: str) -> None:
    """1024 is the usual block; the rows are longer."""
    kernel = triton.autotune(
        configs=[],
        key=["cols"],
        hints={"search_params": {"params": ["BLOCK"], "values": [512, 1024, 2048], "mode": mode}},
    )(softmax_rows)
    x, y = torch.randn(2, 1100), torch.zeros(2, 1100)
    kernel[(2,)](x, y, 1100)
    assert kernel.best_config.kwargs["BLOCK"] == 2048
    assert torch.allclose(y, torch.softmax(x, 1), atol=1e-5)
    assert fates(kernel)[1024] == {"pruned"}


def test_a_broken_reference_is_an_error_and_nothing_runs() -> None:
    """Falling back would run a parameter that changes the result, unchecked."""
    x, y = torch.ones(SIZE), torch.zeros(SIZE)
    for reference in (lambda x, y, n: x.douple(), lambda x: x, lambda *args: None):
        kernel = tuned(block_sums, [128, 256], reference_fn=reference)
        with pytest.raises(RequestError, match="reference_fn"):
            kernel[grid](x, y, SIZE)
        assert not y.any()


def undecided(kernel: Any, x: Any, y: Any) -> bool:
    from ascend_autotune.analysis.performance_tiles import check_performance_tiles
    from ascend_autotune.analysis.request import resolve

    request = resolve(kernel.fn, {"x": "*fp32:16", "y": "*fp32:16", "n": "i32"}, {}, "Ascend910B3")
    role = check_performance_tiles(request, {"BLOCK": [128, 1024]}, {"n": SIZE})["BLOCK"]
    return role.role == "undecided"


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_the_reference_gets_the_kernels_own_arguments() -> None:
    seen: dict[str, Any] = {}

    def reference(*args: Any, **kwargs: Any) -> Any:
        seen.update(args=args, kwargs=kwargs)
        args[0].fill_(7)  # a copy: the caller's stays
        return {"x": torch.arange(float(SIZE)) * 0.5 + 1}

    kernel, x = tuned(scale_in_place, [128, 256], reference_fn=reference), torch.arange(float(SIZE))
    kernel[grid](x, SIZE)
    assert seen["args"][1] == SIZE
    assert seen["kwargs"] == {}
    assert torch.equal(x, torch.arange(float(SIZE)) * 0.5 + 1)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_tensors_are_as_they_were_after_what_goes_wrong(stop: type[BaseException]) -> None:
    calls = iter(range(100))

    def bench(call: Callable[[], None], quantiles: tuple[float, ...]) -> list[float]:
        call()
        if next(calls) == 1:
            raise stop("here")
        return [1.0] * 3

    kernel = triton.autotune(
        configs=[],
        key=["n"],
        hints={"search_params": {"params": ["BLOCK"], "values": [128, 256]}},
        do_bench=bench,
    )(scale_in_place)
    x = torch.arange(float(SIZE))
    kernel[grid](x, SIZE)
    assert torch.equal(x, torch.arange(float(SIZE)) * 0.5 + 1)
    complete = ascend_autotune.explain(kernel).search.complete
    assert complete == (stop is RuntimeError)

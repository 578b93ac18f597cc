"""Results against torch, in a process that imported Triton for compiling."""

from __future__ import annotations

import numpy
import pytest

from ascend_autotune.search.standin import activate

torch = pytest.importorskip("torch")


@pytest.fixture
def computing(ready):
    torch.manual_seed(0)
    return activate(compute=True)


def test_matmul_with_a_helper_and_a_name_imported_from_the_language(computing) -> None:
    from tests.search.standin.kernels import matmul

    a, b = torch.randn(70, 90).half(), torch.randn(90, 50).half()
    c = torch.full((70, 50), float("nan")).half()
    matmul[(3, 2)](a, b, c, 70, 50, 90, 90, 50, 50, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    torch.testing.assert_close(c.float(), torch.relu(a.float() @ b.float()), atol=0.05, rtol=0.01)
    assert computing.stats["launches"] == 1


def test_softmax(computing) -> None:
    from tests.search.standin.kernels import softmax

    x = torch.randn(6, 100)
    y = torch.empty_like(x)
    softmax[(6,)](x, y, 100, 100, BLOCK=128)
    torch.testing.assert_close(y, x.softmax(-1))


def test_atomic_add(computing) -> None:
    from tests.search.standin.kernels import total

    x, out = torch.randn(1000), torch.zeros(1)
    total[(8,)](x, out, 1000, BLOCK=128)
    torch.testing.assert_close(out[0], x.sum(), atol=1e-3, rtol=1e-4)


def test_in_place(computing) -> None:
    from tests.search.standin.kernels import scale

    x = torch.randn(1000)
    expected = 2.5 * x
    scale[(4,)](x, 1000, 2.5, BLOCK=256)
    torch.testing.assert_close(x, expected)
    scale[(4,)](x[:500], 500, 0.0, BLOCK=256)  # a view
    assert bool((x[:500] == 0).all()) and bool((x[500:] != 0).any())


def test_an_argument_that_is_specialised_to_one(computing) -> None:
    from tests.search.standin.kernels import strided

    x, y = torch.randn(1000), torch.empty(500)
    strided[(2,)](x, y, 500, 1, BLOCK=256)
    torch.testing.assert_close(y, x[:500])
    strided[(2,)](x, y, 500, 2, BLOCK=256)
    torch.testing.assert_close(y, x[::2])


@pytest.mark.parametrize(
    ("name", "causal"), [("flash_attention", False), ("flash_attention_block_ptr", True)]
)
def test_attention(computing, name: str, causal: bool) -> None:
    import importlib.util
    from pathlib import Path

    file = Path(__file__).parents[3] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    q, k, v = (torch.randn(2, 64, 32).half() for _ in range(3))
    out = torch.empty_like(q)
    given = dict(Q=q, K=k, V=v, Out=out, sm_scale=0.2, stride_head=64 * 32, stride_row=32)
    names = module.KERNEL.arg_names
    given = {n: x for n, x in given.items() if n in names}
    module.KERNEL[(2, 2)](**given, N_CTX=64, HEAD_DIM=32, BLOCK_M=32, BLOCK_N=32)
    scores = q.float() @ k.float().transpose(1, 2) * 0.2
    if causal:
        scores += torch.full((64, 64), -float("inf")).triu(1)
    expected = torch.softmax(scores, -1) @ v.float()
    torch.testing.assert_close(out.float(), expected, atol=5e-3, rtol=1e-2)


def test_nothing_is_left_behind_and_compiling_goes_on(computing) -> None:
    import triton
    import triton.language as tl

    from tests.search.standin import kernels

    places = (tl, tl.core, tl.math, tl.tensor, tl.dtype, triton.JITFunction, kernels)
    before = [dict(vars(place)) for place in places]
    x = torch.randn(1000)
    kernels.scale[(4,)](x, 1000, 2.0, BLOCK=256)
    assert [dict(vars(place)) for place in places] == before
    kernels.scale[(8,)](x, 1000, 2.0, BLOCK=128)
    assert computing.stats["compiles"] == 2


def test_a_kernel_that_the_interpreter_cannot_run(computing, monkeypatch) -> None:
    from triton.runtime.interpreter import InterpreterBuilder

    from tests.search.standin.kernels import scale

    def missing(*_: object) -> None:
        raise NotImplementedError("no masked loads")

    monkeypatch.setattr(InterpreterBuilder, "create_masked_load", missing)
    with pytest.raises(RuntimeError, match=r"scale: Triton's interpreter .*modelled.* no masked"):
        scale[(4,)](torch.ones(1000), 1000, 2.0, BLOCK=256)


def test_what_is_no_tensor_of_the_cpu_is_not_touched(computing) -> None:
    from tests.search.standin.kernels import Tensor, scale

    with pytest.raises(RuntimeError, match="scale: x is no CPU tensor"):
        scale[(4,)](Tensor("fp32"), 1000, 2.0, BLOCK=256)


def test_a_numpy_that_is_too_new_is_named(computing, monkeypatch) -> None:
    from tests.search.standin.kernels import scale

    monkeypatch.setattr(numpy, "__version__", "2.4.1")
    with pytest.raises(RuntimeError, match=r"numpy 2\.4\.1 is too new.*numpy<2\.4"):
        scale[(4,)](torch.ones(1000), 1000, 2.0, BLOCK=256)


def test_without_being_asked_nothing_is_computed(ready) -> None:
    from tests.search.standin.kernels import scale

    activate()
    x = torch.ones(1000)
    scale[(4,)](x, 1000, 2.0, BLOCK=256)
    assert bool((x == 1).all())

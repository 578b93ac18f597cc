from __future__ import annotations

from dataclasses import dataclass

import pytest

from ascend_autotune.analysis.calling import Call, bind_call
from ascend_autotune.errors import RequestError


@dataclass
class Tensor:
    dtype: str
    address: int = 256

    def data_ptr(self) -> int:
        return self.address


def bind(*args: object, **kwargs: object) -> Call:
    return bind_call(
        "k",
        ["x", "n", "stride", "eps", "BLOCK"],
        ["BLOCK"],
        ["num_warps", "multibuffer"],
        ["stride"],
        args,
        kwargs,
    )


def test_arguments_become_what_triton_specialises_them_to() -> None:
    call = bind(Tensor("torch.float16"), 1, 16, 1e-5, BLOCK=64, multibuffer=False)
    assert call.signature == {"x": "*fp16:16", "stride": "i32", "eps": "fp32"}
    assert call.constants == {"n": 1, "BLOCK": 64}
    assert call.options == {"multibuffer": False}


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Tensor("torch.bfloat16", 8), "*bf16"),
        (Tensor("torch.bool"), "*i1:16"),
        (Tensor("torch.float8_e4m3fn"), "*fp8e4nv:16"),
        (Tensor("int32"), "*i32:16"),
        (7, "i32"),
        (32, "i32:16"),
        (0, "i32:16"),
        (2**31, "i64:16"),
        (-(2**31) - 1, "i64"),
        (2**63 + 1, "u64"),
        (True, "i1"),
        (0.5, "fp32"),
    ],
)
def test_each_kind_of_value_gets_its_type(value: object, kind: str) -> None:
    assert bind(value).signature == {"x": kind}


def test_none_and_one_become_constants_unless_not_to_be_specialised() -> None:
    assert bind(None, 1, 1).constants == {"x": None, "n": 1}
    assert bind(None, 1, 1).signature == {"stride": "i32"}


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((1, 2, 3, 4, 5, 6), {}, "k takes 5 arguments, 6 were given"),
        ((1,), {"x": 2}, "k was given x twice"),
        ((), {"BLOK": 2}, "did you mean 'BLOCK'"),
        ((), {"num_warp": 2}, "did you mean 'num_warps'"),
        (("text",), {}, "argument x is a str"),
        ((Tensor("torch.complex64"),), {}, "unknown dtype torch.complex64"),
    ],
)
def test_a_call_that_cannot_be_is_refused(
    args: tuple[object, ...], kwargs: dict[str, object], told: str
) -> None:
    with pytest.raises(RequestError) as caught:
        bind(*args, **kwargs)
    assert told in str(caught.value) and "\n" not in str(caught.value)

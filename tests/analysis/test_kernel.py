"""From a kernel and a request to an instance, checked."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("triton")

import front_end_kernels as kernels
import triton.language as tl

from ascend_autotune.analysis.chips import chip
from ascend_autotune.analysis.kernel import KernelInstance, make_instance
from ascend_autotune.errors import RequestError

TYPES = {"x": "*fp16", "out": "*fp16", "n": "i32", "stride": "i32"}


def instance(
    kernel: Any, signature: Any = None, constants: Any = None, target: str = "Ascend910B3"
) -> KernelInstance:
    return make_instance(kernel, signature, constants, chip(target))


def refusal(kernel: Any, signature: Any = None, constants: Any = None) -> str:
    with pytest.raises(RequestError) as error:
        instance(kernel, signature, constants)
    message = str(error.value)
    assert "\n" not in message
    return message


def test_types_divisibility_and_constants_are_kept_apart() -> None:
    made = instance(
        kernels.scale,
        {"x": "*fp16:16", "out": "*fp16", "n": "i32:16"},
        {"stride": 1, "factor": 3, "BLOCK": 32},
    )
    assert made.signature == {"x": "*fp16", "out": "*fp16", "n": "i32"}
    assert made.divisible == {"x", "n"}
    assert made.constants == {"stride": 1, "factor": 3, "BLOCK": 32}
    assert made.chip.name == "Ascend910B3"


@pytest.mark.parametrize(
    ("default", "kind", "divisible"), [(2, "i32", False), (32, "i32", True), (0.5, "fp32", False)]
)
def test_a_runtime_argument_left_to_its_default_gets_that_values_type(
    monkeypatch: pytest.MonkeyPatch, default: object, kind: str, divisible: bool
) -> None:
    parameter = next(p for p in kernels.scale.params if p.name == "factor")
    monkeypatch.setattr(parameter, "_param", parameter._param.replace(default=default))
    made = instance(kernels.scale, TYPES)
    assert made.signature["factor"] == kind
    assert ("factor" in made.divisible) == divisible


@pytest.mark.parametrize("default", [1, None])
def test_a_default_that_a_launch_specialises_becomes_a_constant(
    monkeypatch: pytest.MonkeyPatch, default: object
) -> None:
    parameter = next(p for p in kernels.scale.params if p.name == "factor")
    monkeypatch.setattr(parameter, "_param", parameter._param.replace(default=default))
    made = instance(kernels.scale, TYPES)
    assert made.constants["factor"] == default
    assert "factor" not in made.signature


def test_constants_may_come_later() -> None:
    made = instance(kernels.dot, dict.fromkeys("abc", "*fp16"), {"M": 16})
    with pytest.raises(RequestError, match=r"dot needs a value for N, K; write constants=\{"):
        made.complete()
    later = made.with_constants({"K": 64, "N": 32}).complete()
    assert list(later.constants.items()) == [("M", 16), ("N", 32), ("K", 64)]
    assert made.constants == {"M": 16}


def test_completing_fills_in_defaults_and_heuristics() -> None:
    made = instance(kernels.scale, TYPES).complete()
    assert made.constants == {"BLOCK": 64}
    computed = instance(kernels.even, {"x": "*fp32", "out": "*fp32"}, {"K": 64})
    assert computed.with_constants({"BLOCK": 48}).complete().constants["EVEN"] is False
    assert computed.with_constants({"BLOCK": 32}).complete().constants["EVEN"] is True


def test_later_constants_are_checked_too() -> None:
    made = instance(kernels.scale, TYPES)
    with pytest.raises(RequestError, match="no parameter 'BLOK'; did you mean 'BLOCK'"):
        made.with_constants({"BLOK": 64})
    with pytest.raises(RequestError, match="stride stands in signature and in constants"):
        made.with_constants({"stride": 1})


def test_a_dtype_is_a_constant_like_any_other() -> None:
    made = instance(kernels.fill_like, {"source": "*fp32", "out": "*fp16"}, {"DTYPE": tl.float16})
    assert made.constants["DTYPE"] is tl.float16


def test_an_unknown_parameter_is_refused_with_the_closest() -> None:
    assert "signature: scale has no parameter 'strid'; did you mean 'stride'?" in refusal(
        kernels.scale, {**TYPES, "strid": "i32"}
    )
    assert "constants: scale has no parameter 'block'; did you mean 'BLOCK'?" in refusal(
        kernels.scale, TYPES, {"block": 64}
    )


def test_missing_types_are_listed_with_a_form_to_paste() -> None:
    message = refusal(kernels.scale, {"n": "i32:16", "x": "*fp16"})
    assert "scale needs the types of out, stride" in message
    pasted = json.loads(re.search(r"signature=(\{.*\})", message)[1])  # type: ignore[index]
    assert pasted["out"].startswith("*")
    assert set(pasted) >= {"x", "out", "n", "stride"}
    instance(kernels.scale, pasted)  # the form is accepted as it stands


def test_the_form_to_paste_keeps_what_was_given() -> None:
    message = refusal(kernels.scale, {"n": "i32:16", "x": "*bf16"})
    pasted = json.loads(re.search(r"signature=(\{.*\})", message)[1])  # type: ignore[index]
    assert (pasted["x"], pasted["n"]) == ("*bf16", "i32:16")


def test_a_parameter_given_twice_is_refused() -> None:
    message = refusal(kernels.scale, TYPES, {"stride": 1})
    assert "stride stands in signature and in constants" in message


def test_a_constexpr_has_no_type() -> None:
    message = refusal(kernels.scale, {**TYPES, "BLOCK": "i32"})
    assert "BLOCK is a tl.constexpr of scale: give its value in constants" in message


def test_tritons_own_word_for_a_constexpr_is_understood() -> None:
    assert "BLOCK" not in instance(kernels.scale, {**TYPES, "BLOCK": "constexpr"}).signature


def test_an_unknown_type_names_its_argument() -> None:
    assert "stride has the unknown type 'int32'; did you mean 'i32'?" in refusal(
        kernels.scale, {**TYPES, "stride": "int32"}
    )


@pytest.mark.parametrize("given", [["*fp16"], "*fp16", 3])
def test_a_signature_is_a_dict(given: object) -> None:
    assert "give a dict by parameter name" in refusal(kernels.scale, given)
    assert "give a dict by parameter name" in refusal(kernels.scale, TYPES, given)


def test_tensor_descriptors_pass_where_this_triton_takes_them() -> None:
    types = {"x": "tensordesc<fp16[64, 32]>", "out": "tensordesc<fp16[64, 32]>"}
    if hasattr(tl.core, "tensor_descriptor_type"):
        assert instance(kernels.descriptor_argument, types).signature == types
    else:
        assert "takes no tensor descriptors" in refusal(kernels.descriptor_argument, types)

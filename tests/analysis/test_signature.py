"""Triton's type notation in a signature."""

from __future__ import annotations

import pytest

from ascend_autotune.analysis.signature import parse_type
from ascend_autotune.errors import RequestError


@pytest.mark.parametrize(
    ("text", "bare", "divisible"),
    [
        ("*fp16", "*fp16", False),
        ("*fp16:16", "*fp16", True),
        ("i32", "i32", False),
        ("i32:16", "i32", True),
        (" i64 : 16 ", "i64", True),
        ("fp32", "fp32", False),
        ("i1", "i1", False),
        ("u8", "u8", False),
        ("*bf16", "*bf16", False),
        ("*kfp32", "*kfp32", False),
        ("*fp8e4nv", "*fp8e4nv", False),
        ("*i1", "*i1", False),
        ("tensordesc<fp16[64, 32]>", "tensordesc<fp16[64, 32]>", False),
    ],
)
def test_a_type_is_split_from_its_divisibility(text: str, bare: str, divisible: bool) -> None:
    assert parse_type("x", text) == (bare, divisible)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("*f16", "*fp16"),
        ("float16", "fp16"),
        ("*float32", "*fp32"),
        ("int32", "i32"),
        ("*bfloat16", "*bf16"),
        ("bool", "i1"),
        ("*fp8e4nb", "*fp8e4nv"),
        ("*FP16", "*fp16"),
    ],
)
def test_an_unknown_type_is_refused_with_the_closest(text: str, meant: str) -> None:
    with pytest.raises(RequestError) as refusal:
        parse_type("x", text)
    message = str(refusal.value)
    assert f"x has the unknown type {text!r}; did you mean {meant!r}?" in message
    assert "fp8e5" in message  # the list
    assert "\n" not in message


@pytest.mark.parametrize("text", ["", "*", "**fp16", "kfp32", "tensordesc<fp16>", "Tensor"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="unknown type"):
        parse_type("x", text)


@pytest.mark.parametrize("text", ["i32:8", "i32:1", "*fp16:", "i32:x"])
def test_only_16_may_follow_a_type(text: str) -> None:
    with pytest.raises(RequestError, match="only :16"):
        parse_type("x", text)


@pytest.mark.parametrize("text", ["fp32:16", "tensordesc<fp16[8]>:16"])
def test_only_integers_and_pointers_are_divisible(text: str) -> None:
    with pytest.raises(RequestError, match="only integers and pointers"):
        parse_type("x", text)


@pytest.mark.parametrize("given", [1, None, ("*fp16",)])
def test_a_type_is_text(given: object) -> None:
    with pytest.raises(RequestError, match="give a type such as"):
        parse_type("x", given)

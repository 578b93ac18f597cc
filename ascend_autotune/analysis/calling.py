"""A kernel's call arguments as Triton specialises them: types, divisibility, constants.

Source: `triton/runtime/jit.py` (mangling and specialisation of arguments): an integer
equal to 1 and None become constants; an integer, or a tensor's address, that is a
multiple of 16 is known to be so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ascend_autotune.analysis.suggest import did_you_mean
from ascend_autotune.errors import RequestError

_DTYPES = {
    "bool": "i1",
    "int1": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
}
_ALIGNMENT = 16


@dataclass
class Call:
    """What one call says of each parameter; `options` are the launch keywords among them."""

    signature: dict[str, str] = field(default_factory=dict)
    constants: dict[str, object] = field(default_factory=dict)
    options: dict[str, object] = field(default_factory=dict)


def bind_call(
    kernel: str,
    arguments: Sequence[str],
    constexprs: Sequence[str],
    options: Sequence[str],
    unspecialised: Sequence[str],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> Call:
    """Sort a call's arguments. Raises `RequestError` for too many, unknown or doubled ones.

    `unspecialised` are the parameters that the kernel asks Triton not to specialise.
    """
    if len(args) > len(arguments):
        raise RequestError(
            f"{kernel} takes {len(arguments)} arguments, {len(args)} were given: "
            f"({', '.join(arguments)})"
        )
    call = Call()
    given = dict(zip(arguments, args, strict=False))
    for name, value in kwargs.items():
        if name in given:
            raise RequestError(f"{kernel} was given {name} twice: by position and by name")
        if name in arguments:
            given[name] = value
        elif name in options:
            call.options[name] = value
        else:
            known = [*arguments, *options]
            raise RequestError(f"{kernel} has no argument {name!r}{did_you_mean(name, known)}")
    for name, value in given.items():
        if name in constexprs or value is None:
            call.constants[name] = value
        else:
            _specialise(call, kernel, name, value, specialise=name not in unspecialised)
    return call


def _specialise(call: Call, kernel: str, name: str, value: object, *, specialise: bool) -> None:
    if isinstance(value, bool):
        call.signature[name] = "i1"
    elif isinstance(value, int):
        if specialise and value == 1:
            call.constants[name] = 1
            return
        divisible = specialise and value % _ALIGNMENT == 0
        call.signature[name] = _integer(value) + (":16" if divisible else "")
    elif isinstance(value, float):
        call.signature[name] = "fp32"
    elif hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        dtype = str(value.dtype).rsplit(".", 1)[-1]
        if dtype not in _DTYPES and dtype not in _DTYPES.values():
            raise RequestError(
                f"{kernel}: argument {name} has the unknown dtype {value.dtype}; give its type "
                f"as signature={{'{name}': '*fp16'}}"
            )
        divisible = specialise and value.data_ptr() % _ALIGNMENT == 0
        call.signature[name] = f"*{_DTYPES.get(dtype, dtype)}" + (":16" if divisible else "")
    else:
        raise RequestError(
            f"{kernel}: argument {name} is a {type(value).__name__}, not a tensor or a number; "
            f"give its type as signature={{'{name}': '*fp16'}}"
        )


def _integer(value: int) -> str:
    if -(2**31) <= value < 2**31:
        return "i32"
    return "i64" if -(2**63) <= value < 2**63 else "u64"

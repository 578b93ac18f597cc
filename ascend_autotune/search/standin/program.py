"""What stands where a binary would: the judged program, as bytes in Triton's cache."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ascend_autotune.analysis.ir import Module
from ascend_autotune.analysis.reader import parse_module

_VERSION = 1


@dataclass(frozen=True)
class Program:
    """A program that the compiler accepts.

    `mode` is "aiv", "aic" or "mix"; `fallback` the flags that the compiler switched off to make
    it fit; `generic` its TTIR in MLIR's generic form; `options` the compile options by
    triton-ascend's names.
    """

    kernel: str
    mode: str
    fallback: tuple[str, ...]
    options: dict[str, Any]
    generic: str

    def to_bytes(self) -> bytes:
        return json.dumps({"modelled": _VERSION, **asdict(self)}).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Program:
        """Raises RuntimeError for what is no program of this version."""
        try:
            value = json.loads(content)
            if value.pop("modelled") != _VERSION:
                raise ValueError("another version")
            return cls(**{**value, "fallback": tuple(value["fallback"])})
        except (ValueError, KeyError, TypeError) as error:
            raise RuntimeError(
                f"this binary was not made for the modelled NPU ({error}): compile it again"
            ) from error

    @cached_property
    def module(self) -> Module:
        return parse_module(self.generic)

    def __hash__(self) -> int:
        return hash((self.kernel, self.generic))

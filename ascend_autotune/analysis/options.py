"""The compile profile that a program is judged under, as an immutable mapping.

The table of options and their flags is `judge.flags`; this adds what the footprint model
reads of them, with the defaults that the compiler itself has (Options.td, v1.2.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ascend_autotune.analysis.judge.flags import INERT, OPTIONS, check_option


class CompileOptions(Mapping[str, object]):
    """Option names and values as triton-ascend spells them; hashable.

    An option that is left out is as triton-ascend passes it by default.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = dict(sorted(values.items()))
        self._hash = hash(tuple(self._values.items()))

    @classmethod
    def from_request(cls, asked: Mapping[str, object] | None) -> CompileOptions:
        """Check names and values. Raises RequestError naming the closest or the allowed ones."""
        values = {}
        for name, value in (asked or {}).items():
            if name not in INERT and value is not None:
                values[name] = check_option(name, value)
        return cls(values)

    def __getitem__(self, name: str) -> object:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"CompileOptions({self._values!r})"

    def flag(self, name: str, default: bool = False) -> bool:
        option = OPTIONS[name]
        value = self._values.get(name, option.default)
        return default if value is None else bool(value)

    def number(self, name: str, default: int) -> int:
        value = self._values.get(name)
        return value if isinstance(value, int) else default

    @property
    def multibuffer(self) -> bool:
        return self.flag("multibuffer", True)

    @property
    def pipelines(self) -> bool:
        """May loops that mix cube and vector work be cut into stages (CVPipelining)?"""
        return self.multibuffer and not self.flag("limit_auto_multi_buffer_only_for_local_buffer")

    @property
    def doubles_l0c(self) -> bool:
        return self._values.get("limit_auto_multi_buffer_of_local_buffer") == "no-limit"

"""A config: values for the searched parameters, and the compile options to go with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def _frozen() -> Mapping[str, object]:
    return MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Config:
    """A candidate and a profile, by name; equal and hashed by value, whatever the order.

    An option that `profile` does not name is as triton-ascend passes it by default.
    """

    candidate: Mapping[str, object]
    profile: Mapping[str, object] = field(default_factory=_frozen)

    def __post_init__(self) -> None:
        object.__setattr__(self, "candidate", MappingProxyType(dict(self.candidate)))
        object.__setattr__(self, "profile", MappingProxyType(dict(self.profile)))

    @property
    def values(self) -> dict[str, object]:
        """Both as launch keywords."""
        return {**self.candidate, **self.profile}

    def with_profile(self, profile: Mapping[str, object]) -> Config:
        return Config(self.candidate, profile)

    def _key(self) -> tuple[tuple[tuple[str, object], ...], ...]:
        return tuple(sorted(self.candidate.items())), tuple(sorted(self.profile.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[type[Config], tuple[dict[str, object], dict[str, object]]]:
        return Config, (dict(self.candidate), dict(self.profile))

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.values.items()) or "as it is"

    def __repr__(self) -> str:
        return f"Config({self})"

    def to_json(self) -> dict[str, object]:
        return {"candidate": dict(self.candidate), "profile": dict(self.profile)}

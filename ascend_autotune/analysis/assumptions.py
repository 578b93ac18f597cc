"""What is assumed of a kernel where nobody said: each assumption with the line that states it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ascend_autotune.analysis.source import Roles

DEFAULT_TILE = 64
"""A constexpr of which nothing is known (design.md, `explain(kernel)` alone)."""


@dataclass(frozen=True)
class Assumption:
    """`names` were given `values`; `text` says so to the reader of a report.

    `kind` tells types of runtime arguments, values of constexprs, and what was taken
    from the kernel's last call apart.
    """

    kind: Literal["type", "constant", "last call"]
    values: Mapping[str, object]
    why: str

    @property
    def text(self) -> str:
        if self.kind == "last call":
            return f"{', '.join(self.values)}: {self.why}"
        if self.kind == "constant":
            shown = ", ".join(f"{name}={value}" for name, value in self.values.items())
            return f"{shown} ({self.why})"
        groups: dict[object, list[str]] = {}
        for name, value in self.values.items():
            groups.setdefault(value, []).append(name)
        return "; ".join(
            f"{', '.join(names)}: {kind} ({self.why})" for kind, names in groups.items()
        )


def assume_types(missing: Sequence[str], roles: Roles) -> tuple[dict[str, str], list[Assumption]]:
    """A type for each runtime argument, by how the kernel uses it."""
    groups: dict[str, list[str]] = {}
    for name in missing:
        groups.setdefault(_type_of(name, roles), []).append(name)
    why = {
        "*i32": "loaded from, and what is loaded becomes an address",
        "*fp16": "loaded from or stored to; not known to be divisible by 16",
        "i32": "used in addresses, masks or bounds; not known to be 1 or divisible by 16",
        "fp32": "used as a number",
    }
    types: dict[str, str] = {}
    notes = []
    for kind, names in groups.items():
        values = dict.fromkeys(names, kind)
        types.update(values)
        notes.append(Assumption("type", values, why[kind]))
    return types, notes


# Tried in this order where the front end does not compile what was assumed first.
_OTHER_TYPES: tuple[Mapping[object, object], ...] = (
    {"*fp16": "*fp32"},
    {"*fp16": "*i32"},
    {"fp32": "i32"},
    {"fp32": "i32", "*fp16": "*fp32"},
    {"fp32": "i32", "*fp16": "*i32"},
)
_OTHER_CONSTANTS: tuple[Mapping[object, object], ...] = ({DEFAULT_TILE: 16}, {DEFAULT_TILE: 1})


def other_assumptions(notes: Sequence[Assumption]) -> Iterator[tuple[Assumption, ...]]:
    """The assumptions with other types, then other constants; what was not assumed stays."""
    for kind, tables in (("type", _OTHER_TYPES), ("constant", _OTHER_CONSTANTS)):
        for changes in tables:
            changed = tuple(
                _changed(note, changes) if note.kind == kind else note for note in notes
            )
            if changed != tuple(notes):
                yield changed


def _changed(note: Assumption, changes: Mapping[object, object]) -> Assumption:
    values = {name: changes.get(value, value) for name, value in note.values.items()}
    if values == note.values:
        return note
    return Assumption(note.kind, values, f"{note.why}; what is assumed first does not compile")


def _type_of(name: str, roles: Roles) -> str:
    if name in roles.pointers:
        return "*i32" if name in roles.index_pointers else "*fp16"
    return "i32" if name in roles.integers else "fp32"


def smallest_tile(
    configs: Iterable[Mapping[str, object]], searched: Mapping[str, Sequence[object]]
) -> dict[str, object]:
    """The smallest tile of a search space: of each parameter the least, or the least config."""
    if searched:
        return {name: min(values, key=_size) for name, values in searched.items() if values}
    listed_configs = [dict(config) for config in configs]
    if not listed_configs:
        return {}
    return min(listed_configs, key=lambda config: math.prod(map(_size, config.values())))


def _size(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return 1.0


def assume_constants(
    missing: Sequence[str],
    roles: Roles,
    tile: Mapping[str, object],
    defaults: Mapping[str, object],
) -> tuple[dict[str, object], list[Assumption]]:
    """A value for each constexpr: its default, the smallest tile's, else 64."""
    values: dict[str, object] = {}
    notes = []
    smallest = {name: tile[name] for name in missing if name in tile}
    if smallest:
        values.update(smallest)
        notes.append(Assumption("constant", smallest, "the smallest of its search space"))
    rest = [name for name in missing if name not in smallest]
    for name in [name for name in rest if name in defaults]:
        values[name] = defaults[name]  # as a call would have it: no assumption
        rest.remove(name)
    dtypes = [name for name in rest if name in roles.dtypes]
    if dtypes:
        import triton.language as tl

        kinds = dict.fromkeys(dtypes, tl.float32)
        values.update(kinds)
        notes.append(Assumption("constant", kinds, "used as a dtype"))
        rest = [name for name in rest if name not in dtypes]
    if rest:
        others = dict.fromkeys(rest, DEFAULT_TILE)
        values.update(others)
        notes.append(Assumption("constant", others, "no value is known"))
    return values, notes

"""Compile profiles: sets of compile options worth trying for a family of kernels.

Source of options, values and dependencies: facts.md §4. A mixcv profile is the neutral one or
has one of three modes: multi-buffering off; local buffers only (with a strategy for them);
workspace (with a number of buffers and both loop tilings).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

from ascend_autotune.analysis.judge.flags import OPTIONS, Series

Family = Literal["mixcv", "vector"]
Profile = dict[str, object]

_LOCAL = "limit_auto_multi_buffer_only_for_local_buffer"
_STRATEGY = "limit_auto_multi_buffer_of_local_buffer"
_WORKSPACE = ("set_workspace_multibuffer", "tile_mix_vector_loop", "tile_mix_cube_loop")
_CHILDREN = (_LOCAL, _STRATEGY, *_WORKSPACE)
_TOGGLES: Mapping[str, bool] = {
    # What a toggle is changed to: the opposite of the compiler's own default.
    "enable_hivm_auto_cv_balance": False,
    "enable_auto_bind_sub_block": False,
    "sync_solver": True,
}


@dataclass(frozen=True)
class Profiles:
    """The profiles of a search, the neutral one first, and what had to be said about them."""

    profiles: tuple[Profile, ...]
    notices: tuple[str, ...] = ()


def available(names: Collection[str], series: Series) -> frozenset[str]:
    """The options among `names` (those that the installed backend takes and whose flag the
    compiler knows) that mean something on this series and are the search's to set."""
    return frozenset(
        name
        for name in names
        if name in OPTIONS and OPTIONS[name].searchable and series not in OPTIONS[name].excluded
    )


def inactive(profile: Mapping[str, object]) -> tuple[str, ...]:
    """The options of a profile that have no effect because of another one."""
    if profile.get("multibuffer") is False:
        dead: Collection[str] = _CHILDREN
    elif profile.get(_LOCAL):
        dead = _WORKSPACE
    else:
        dead = ()
    return tuple(name for name in profile if name in dead)


def effective(profile: Mapping[str, object]) -> Profile:
    """The profile less what has no effect, and less what only says the default."""
    dead = inactive(profile)
    return {
        name: value
        for name, value in profile.items()
        if name not in dead and not (name == "multibuffer" and value is True)
    }


def make_profiles(
    family: Family, options: Collection[str], fixed: Mapping[str, object] | None = None
) -> Profiles:
    """The profiles for a family out of the `available` options.

    `fixed` are the options given at launch: they override what is generated, what then has no
    effect is left out, and profiles that become the same are one. The profiles returned hold
    only what the search adds to `fixed`.
    """
    given = dict(fixed or {})
    generated = list(_generate(family, frozenset(options)))
    kept: dict[tuple[tuple[str, object], ...], Profile] = {}
    for profile in generated:
        merged = {**profile, **given}
        dead = inactive(merged)
        added = {k: v for k, v in profile.items() if k not in given and k not in dead}
        identity = tuple(sorted(effective({**added, **given}).items(), key=lambda item: item[0]))
        kept.setdefault(identity, added)
    return Profiles(tuple(kept.values()) or ({},), _notices(given))


def _generate(family: Family, options: Collection[str]) -> Iterator[Profile]:
    neutral: Profile = {}
    yield neutral
    if "multibuffer" in options:
        yield {"multibuffer": False}
    if "enable_ubuf_saving" in options:
        yield {"enable_ubuf_saving": True}
        if "multibuffer" in options:
            yield {"multibuffer": False, "enable_ubuf_saving": True}
    if family == "vector":
        return
    for name, value in _TOGGLES.items():
        if name in options:
            yield {name: value}
    if _LOCAL in options and _STRATEGY in options:
        for strategy in OPTIONS[_STRATEGY].values:
            yield {_LOCAL: True, _STRATEGY: strategy}
    workspace = [name for name in _WORKSPACE if name in options]
    if "set_workspace_multibuffer" in workspace:
        for values in product(*(OPTIONS[name].values for name in workspace)):
            yield dict(zip(workspace, values, strict=True))


def _notices(given: Mapping[str, object]) -> tuple[str, ...]:
    dead = inactive(given)
    if not dead:
        return ()
    cause = "multibuffer=False" if given.get("multibuffer") is False else f"{_LOCAL}=True"
    return (f"given at launch, {', '.join(dead)} has no effect beside {cause}",)

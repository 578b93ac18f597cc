"""What is searched: candidates, profiles, what is known of them before any compile."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ascend_autotune.search.config import Config

if TYPE_CHECKING:
    from ascend_autotune.search.work import Workload


@dataclass(frozen=True)
class Checked:
    """What is known of a config before any compile.

    `refused`: why it cannot run, "" where it may. `becomes`: the config that compiles to the
    same program (after the compiler's fallback, or because options have no effect); itself
    where there is none. `bytes`: its need of each on-chip memory as far as known, for "an
    overflow rules out everything that needs at least as much".
    """

    becomes: Config
    refused: str = ""
    bytes: Mapping[str, int] = field(default_factory=dict)


def accept(config: Config) -> Checked:
    return Checked(config)


@dataclass(frozen=True)
class Problem:
    """One kernel, one call: what may be tried.

    `candidates` are the survivors in grid order, computed when looked at; `profiles` the
    compile profiles, the neutral one first. A config is one of each. `default` is tried first,
    so that there always is a result (None: the model's choice); `starts` come next. `workload`
    feeds the cost model; without one the search goes by what it measures alone. `last_trials`
    makes of the best config what is tried once at the very end (an internal policy such as
    unit_flag). `program`: equal where the kernel's types and constants are, beside the candidate.
    """

    kernel: str
    candidates: Sequence[Mapping[str, object]]
    profiles: tuple[Mapping[str, object], ...]
    key: tuple[object, ...] = ()
    family: str = ""
    default: Config | None = None
    starts: tuple[Config, ...] = ()
    check: Callable[[Config], Checked] = accept
    workload: Workload | None = None
    shape_final_top_k: int = 3
    last_trials: Callable[[Config], Sequence[Config]] | None = None
    program: Hashable = ()

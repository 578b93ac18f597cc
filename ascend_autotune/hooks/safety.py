"""What keeps a search from harm: the caller's tensors are put back, wrong configs are rejected,
and a parameter that is no performance tile is not searched unchecked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ascend_autotune.errors import NoPerformanceTile, ReferenceFailed, RequestError
from ascend_autotune.hooks.candidates import LISTED, Candidates, below
from ascend_autotune.hooks.devices import run_config
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.search.buffers import Buffers
from ascend_autotune.search.config import Config
from ascend_autotune.search.gate import Gate

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ascend_autotune.hooks.tuner import SearchTuner


@dataclass(frozen=True)
class Guard:
    """`gate` raises for a finalist whose result differs; `trial` surrounds each timing; `refresh`
    comes before each repetition in it, where the kernel reads what it writes."""

    gate: Callable[[Config], None] | None = None
    trial: Callable[[], AbstractContextManager[None]] = nullcontext
    refresh: Callable[[], object] | None = None


@contextmanager
def guard_for(tuner: SearchTuner, here: Situation, found: Candidates) -> Iterator[Guard]:
    """The guard of one search; at its end the caller's tensors are as they were."""
    tile = found.configs[0].candidate
    buffers = buffers_of(here, tile)
    if not buffers or not computes():
        if tuner.hints.reference_fn is not None and computes():
            raise RequestError(
                f"{here.call.info.name}: reference_fn is given, but the kernel writes no tensor "
                f"that can be compared"
            )
        yield Guard()
        return
    reference = tuner.hints.reference_fn
    with buffers:
        gate = Gate(
            partial(run_config, tuner, here, found),
            buffers,
            default=found.default or found.configs[0],
            reference=partial(_ask, reference, here) if reference is not None else None,
            tolerances=tuner.hints.tolerances,
        )
        yield Guard(gate, buffers.trial, buffers.refresh if buffers.updated else None)


def buffers_of(here: Situation, tile: Mapping[str, object]) -> Buffers:
    """The tensors that the kernel writes; all of them where that cannot be told."""
    from ascend_autotune.analysis.written import touched_by

    tensors = here.call.tensors
    constants = {n: v for n, v in tile.items() if n in here.call.info.constexprs}
    touched = None if here.program is None else touched_by(here.program, constants)
    if touched is None or not touched.certain:
        return Buffers(tensors, tuple(tensors), tuple(tensors))
    return Buffers(tensors, touched.writes, touched.reads)


def computes() -> bool:
    """Do launches compute anything? The modelled NPU does so only where it is asked to."""
    from ascend_autotune.search.standin import active

    modelled = active()
    return modelled is None or modelled.compute


def _ask(reference: Callable[..., object], here: Situation) -> object:
    """The reference's answer to the kernel's own arguments, its tensors copies of the caller's."""
    call = here.call
    given = {n: v.clone() if hasattr(v, "clone") else v for n, v in call.arguments.items()}
    constants = set(call.info.constexprs) - set(here.hints.params)
    by_position = [
        given[name]
        for name in call.info.arguments[: len(call.args)]
        if name not in call.info.constexprs
    ]
    by_name = {n: v for n, v in given.items() if n in constants}
    by_name |= {
        n: v for n, v in given.items() if n in call.kwargs and n not in call.info.constexprs
    }
    try:
        return reference(*by_position, **by_name)
    except Exception as error:
        raise ReferenceFailed(
            f"reference_fn of {call.info.name} fails: {type(error).__name__}: {error} (it gets "
            f"{len(by_position)} arguments by position, by name: {', '.join(by_name) or 'none'})"
        ) from error


@dataclass(frozen=True)
class Roles:
    """What the program says of the searched parameters. `at_least`: where one block has to
    cover everything, from which value on it does. `unsure`: what could not be told, by name."""

    at_least: Mapping[str, int] = field(default_factory=dict)
    unsure: Mapping[str, str] = field(default_factory=dict)

    def too_small(self, config: Config) -> bool:
        return any(below(config, name, least) for name, least in self.at_least.items())

    def said(self, kernel: str) -> str:
        shown = ", ".join(f"{name} ({why})" for name, why in self.unsure.items())
        return f"{kernel}: whether the result depends on {shown} cannot be told from the program"


def check_tiles(tuner: SearchTuner, here: Situation, found: Candidates) -> Roles:
    """Are the searched parameters performance tiles?

    Raises `NoPerformanceTile` for one that changes the result, where there is no `reference_fn`.
    Source: the last section of guide.zh.txt.
    """
    from ascend_autotune.analysis.performance_tiles import check_performance_tiles

    if here.program is None or tuner.hints.reference_fn is not None or not here.searched:
        return Roles()
    # Only what may run has to be right: a block beyond the whole is often pruned already.
    values = {
        name: sorted({int(str(c.candidate[name])) for c in found.configs[:LISTED]})
        for name in here.searched
    }
    roles = check_performance_tiles(here.program, values, _sizes(tuner, here))
    for name, role in roles.items():
        if role.role == "changes result":
            shown = " ".join(part for part in (role.operation, role.location) if part)
            raise NoPerformanceTile(
                f"{here.call.info.name}: {name} is no performance tile, for the result depends "
                f"on it: {role.why}{f' ({shown})' if shown else ''}; keep it fixed, or give "
                f"search_params a reference_fn"
            )
    return Roles(
        {name: role.at_least for name, role in roles.items() if role.at_least is not None},
        {name: role.why for name, role in roles.items() if role.role == "undecided"},
    )


def _sizes(tuner: SearchTuner, here: Situation) -> dict[str, int]:
    """The call's whole numbers; of a bucketed one the largest that its bucket may bring."""
    sizes = {n: v for n, v in here.call.scalars.items() if type(v) is int}
    for name, bucket in tuner.buckets.items():
        edge = bucket(sizes[name]) if name in sizes else None
        if isinstance(edge, int):
            sizes[name] = max(sizes[name], edge)
    return sizes

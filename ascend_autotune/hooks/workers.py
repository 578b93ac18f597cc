"""Whether a search tries configs in a worker process first, and what such a worker is told."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_autotune.analysis.kernel import unwrap
from ascend_autotune.errors import RequestError
from ascend_autotune.hooks.candidates import Candidates
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.search.config import Config
from ascend_autotune.search.isolation import Isolation, IsolationUnavailable, Tried
from ascend_autotune.search.rebuilt import job_for

if TYPE_CHECKING:
    from ascend_autotune.hooks.tuner import SearchTuner

logger = logging.getLogger("ascend_autotune")
_REAL = ("npu", "cuda")
_FEW = 2
"""So few configs are not worth the seconds that a worker takes to start."""

First = Callable[[Config], object]


@contextmanager
def first_elsewhere(
    tuner: SearchTuner, here: Situation, found: Candidates
) -> Iterator[First | None]:
    """What runs a config's first compile and launch in a worker; None where none is used.

    `isolate` decides (docs/timing.md): under "auto" a worker is used wherever one can be had.
    Raises `RequestError` under "always" where none can.
    """
    asked = tuner.hints.isolate
    if asked == "never" or not _is_real(here) or (asked == "auto" and _few(found)):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="ascend_autotune_worker_") as folder:
        try:
            isolation = _isolation(tuner, here, found, Path(folder), required=asked == "always")
        except IsolationUnavailable as error:
            name = here.call.info.name
            if asked == "always":
                raise RequestError(f"{name}: isolate is 'always', but {error}") from error
            logger.info("%s: configs are tried in this process: %s", name, error)
            yield None
            return
        with isolation:
            yield Tried(isolation.first)


def once(first: First | None, launch: Callable[[Config], object]) -> Callable[[Config], object]:
    """`launch`, with `first` before the first launch of each config."""
    if first is None:
        return launch
    seen: set[Config] = set()

    def run(config: Config) -> object:
        if config not in seen:
            first(config)
            seen.add(config)
        return launch(config)

    return run


def _is_real(here: Situation) -> bool:
    """A modelled device harms nobody."""
    from ascend_autotune.search.standin import active

    return here.target.backend in _REAL and active() is None


def _few(found: Candidates) -> bool:
    return len(found.configs) * max(1, len(found.profiles)) <= _FEW


def _isolation(
    tuner: SearchTuner, here: Situation, found: Candidates, folder: Path, *, required: bool
) -> Isolation:
    if tuner.user_defined_pre_hook or any(
        getattr(config, "pre_hook", None) for config in found.originals.values()
    ):
        raise IsolationUnavailable("a pre_hook prepares its arguments, and stays in this process")
    call = here.call

    def values(config: Config) -> Mapping[str, object]:
        return _values(tuner, here, found, config)

    return Isolation(
        job_for(unwrap(tuner.fn), {**call.arguments, **call.options}, folder),
        lambda config: call.grid_for(values(config)),
        values_of=values,
        required=required,
    )


def _values(
    tuner: SearchTuner, here: Situation, found: Candidates, config: Config
) -> dict[str, object]:
    """What a config adds to the call, with what heuristics make of it."""
    original, call = found.originals.get(config), here.call
    added = config.values if original is None else original.all_kwargs()
    given = {**call.arguments, **call.options}
    values = {name: value for name, value in added.items() if name not in given}
    layer = tuner.launched
    while layer is not None and not hasattr(layer, "params"):
        heuristics = getattr(layer, "values", None)
        for name, rule in (heuristics if isinstance(heuristics, Mapping) else {}).items():
            values[name] = rule({**given, **values})
        layer = getattr(layer, "fn", None)
    return values

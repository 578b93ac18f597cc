"""`cache_results`: winners that outlive the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ascend_autotune._version import __version__
from ascend_autotune.analysis.kernel import unwrap
from ascend_autotune.hooks.candidates import Candidates
from ascend_autotune.hooks.situation import Situation
from ascend_autotune.search.store import Store, Winner

if TYPE_CHECKING:
    from ascend_autotune.hooks.tuner import SearchTuner


class Kept:
    """The winner of one kernel, key and space on disk."""

    def __init__(
        self, tuner: SearchTuner, here: Situation, found: Candidates, key: tuple[object, ...]
    ) -> None:
        from ascend_autotune.hooks.devices import info_for

        device = info_for(here.target)
        self.found = found
        self.store = Store()
        self.identity: tuple[Any, ...] = (
            here.call.info.name,
            unwrap(tuner.fn).cache_key,
            *key,
            sorted(here.call.bound.signature.items()),
            sorted(here.space.items()),
            [str(config) for config in tuner.handwritten],
            tuner.hints.mode,
            device.name,
            "modelled" if device.modelled else "measured",
            _triton(),
            __version__,
        )

    def restored(self) -> Winner | None:
        """The stored winner, where it is still among what may run here."""
        winner = self.store.get(self.identity)
        if winner is None:
            return None
        if self.found.handwritten:
            return winner if winner.config in self.found.originals else None
        checked = self.found.check(winner.config)
        return None if checked.refused else winner

    def keep(self, winner: Winner) -> None:
        self.store.put(self.identity, winner)


def _triton() -> str:
    from ascend_autotune.analysis.flavour import detect

    return str(detect())

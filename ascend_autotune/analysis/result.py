"""`PruneResult`: a verdict for each candidate of a space, made when it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ascend_autotune.analysis.sequences import LazySequence
from ascend_autotune.analysis.space import Space
from ascend_autotune.analysis.verdict import SCHEMA_VERSION, STATUSES, Status, Verdict

if TYPE_CHECKING:
    import numpy as np

    from ascend_autotune.analysis.parametric.sym import Vector

Candidate = dict[str, object]


class PruneResult:
    """What `prune` found. All sequences are read-only and in grid order.

    `stats`: candidates, ttir_traces, judge_calls, merged (candidates that compile to the
    same program as an earlier one), seconds, target (the chip judged for) and
    target_source ("given", "active device" or "assumed").
    """

    def __init__(
        self,
        kernel: str,
        space: Space,
        statuses: Sequence[int] | np.ndarray,
        verdict_at: Callable[[int], Verdict],
        stats: Mapping[str, object],
    ) -> None:
        """`statuses` holds, per candidate, an index into `verdict.STATUSES`."""
        self.kernel = kernel
        self.space = space
        self.stats = dict(stats)
        self._statuses = statuses
        self._verdict_at = verdict_at

    @property
    def verdicts(self) -> LazySequence[Verdict]:
        return LazySequence(len(self.space), self._verdict_at)

    @cached_property
    def feasible(self) -> LazySequence[Candidate]:
        """The candidates that fit, as the upper bound or the judge says."""
        return self._where("feasible")

    @cached_property
    def infeasible(self) -> LazySequence[Candidate]:
        """The candidates that the front end, the compiler or the launch would refuse."""
        return self._where("infeasible")

    @cached_property
    def unknown(self) -> LazySequence[Candidate]:
        """The candidates of which neither is sure."""
        return self._where("unknown")

    @cached_property
    def survivors(self) -> LazySequence[Candidate]:
        """Feasible and unknown candidates: those worth compiling."""
        return self._where("feasible", "unknown")

    def _where(self, *statuses: Status) -> LazySequence[Candidate]:
        import numpy as np

        wanted = [STATUSES.index(status) for status in statuses]
        indices: Vector = np.flatnonzero(np.isin(self._statuses, wanted))
        return LazySequence(len(indices), lambda i: self.space.candidate(int(indices[i])))

    def to_json(self) -> dict[str, object]:
        """A dict that `json.dumps` takes as it is, with `schema_version`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kernel": self.kernel,
            "space": {name: list(values) for name, values in self.space.values.items()},
            "stats": dict(self.stats),
            "verdicts": [verdict.to_json() for verdict in self.verdicts],
        }

    def __str__(self) -> str:
        from ascend_autotune.analysis.tables import render_pruning

        return render_pruning(self)

    def __repr__(self) -> str:
        return (
            f"PruneResult({self.kernel}: {len(self.feasible)} feasible, "
            f"{len(self.infeasible)} infeasible, {len(self.unknown)} unknown)"
        )

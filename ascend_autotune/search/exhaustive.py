"""Every config of a list, timed once: for handwritten configs and for stock timing."""

from __future__ import annotations

from collections.abc import Sequence

from ascend_autotune.search.bench import Bench, OutOfBudget, Watcher
from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed, Device
from ascend_autotune.search.engine import Gate
from ascend_autotune.search.lessons import Lessons
from ascend_autotune.search.outcome import outcome
from ascend_autotune.search.problem import Problem
from ascend_autotune.search.result import SearchResult, Stage


def time_all(
    problem: Problem,
    device: Device,
    configs: Sequence[Config],
    *,
    stage: Stage,
    budget_s: float | None = None,
    gate: Gate | None = None,
    progress: Watcher | None = None,
) -> SearchResult:
    """The fastest of `configs` whose result the gate passes, in their order where equal.

    Ctrl-C and a spent budget end it with the best so far, `complete` False.
    """
    bench = Bench(problem, device, len(configs) or 1, budget_s, Lessons(), progress)
    ended, complete, gated = "every config was timed", True, False
    best: Config | None = None
    try:
        for config in configs:
            target = bench.admit(config)
            if target is not None:
                bench.measure(target, stage)
    except OutOfBudget as spent:
        ended, complete = str(spent), not spent.early
    except KeyboardInterrupt:
        ended, complete = "interrupted", False
    for config in bench.ledger.ranked():
        try:
            if gate is not None:
                gate(config)
                gated = True
        except ConfigFailed as failure:
            bench.ledger.rejected(config, str(failure))
            continue
        except KeyboardInterrupt:
            ended, complete = "interrupted", False
        best = config
        break
    if bench.watcher is not None:
        bench.watcher.done(bench.ledger)
    return outcome(bench, best, ended, complete, gate, gated)

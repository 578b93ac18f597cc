"""Which tensors a kernel reads and writes, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ascend_autotune.analysis.assessing import Assessment, Assessor
from ascend_autotune.analysis.request import Request


@dataclass(frozen=True)
class Touched:
    """`reads` and `writes` are arguments; `certain` is False where an address could not be
    followed to its argument, so that any may be among them."""

    reads: frozenset[str]
    writes: frozenset[str]
    certain: bool


def touched_by(request: Request, tile: Mapping[str, object]) -> Touched | None:
    """What the program of one tile reads and writes; None where it cannot be read."""
    from ascend_autotune.analysis.features import features_of
    from ascend_autotune.analysis.graph import build_graph

    assessor = Assessor(request.instance({}))
    program = assessor.program(tile)
    if isinstance(program, Assessment):
        return None
    features = features_of(build_graph(program[1]))
    instance = assessor.instance
    names = [n for n in request.info.arguments if n in instance.signature]
    known = {i for i in (*features.reads, *features.writes) if i >= len(names)}
    certain = not known and all(access.base is not None for _, access in features.accesses)
    return Touched(
        frozenset(names[i] for i in features.reads if i < len(names)),
        frozenset(names[i] for i in features.writes if i < len(names)),
        certain,
    )

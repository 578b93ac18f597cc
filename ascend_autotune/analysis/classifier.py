"""What kind of kernel this is: `family`, `kind`, and the lines that show it.

`family` is `mixcv` when the kernel has a tl.dot (so that cube and vector cores work
together) and `vector` otherwise. `kind` is the first of `kinds.KINDS` whose predicate
holds.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.claims import Claim, Evidence, claims_of, evidence_of
from ascend_autotune.analysis.features import Features
from ascend_autotune.analysis.kinds import KINDS, MIXCV, VECTOR, View

if TYPE_CHECKING:
    import networkx

__all__ = ["KINDS", "MIXCV", "VECTOR", "Claim", "Classification", "Evidence", "classify"]


@dataclass(frozen=True)
class Classification:
    """`family`, `kind` and the claims behind them; `kind`'s own claim comes second."""

    family: str
    kind: str
    claims: tuple[Claim, ...]
    features: Features

    def to_json(self) -> dict[str, Any]:
        """Plain values for `json.dumps`; nodes are those of the graph."""
        return {
            "family": self.family,
            "kind": self.kind,
            "claims": [asdict(claim) for claim in self.claims],
        }


def classify(graph: networkx.MultiDiGraph[int]) -> Classification:
    """Classify a graph that `build_graph` made."""
    view = View(graph)
    family = MIXCV if view.features.dots else VECTOR
    # The last kind of each family takes every kernel of it.
    kind, shown = next(
        (kind, shown) for kind in KINDS if kind.family == family and (shown := kind.shown_by(view))
    )
    dots = [dot.node for dot in view.features.dots]
    text = "the kernel has tl.dot" if dots else "the kernel has no tl.dot"
    own = Claim("kind", kind.text, evidence_of(graph, shown))
    claims = (
        Claim("family", text, evidence_of(graph, dots)),
        own,
        *claims_of(graph, view.features),
    )
    return Classification(family, kind.name, claims, view.features)

"""Our largest sum of live bytes, memory by memory, beside the compiler's own report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ascend_autotune.analysis.chips import Chip
from ascend_autotune.analysis.ir import Module
from ascend_autotune.analysis.judge import Outcome
from ascend_autotune.analysis.options import CompileOptions
from ascend_autotune.analysis.plan import packing
from ascend_autotune.analysis.plan.attempts import CODE_MOTION, PLANNED, figures_of, layouts_of
from ascend_autotune.analysis.plan.lifetimes import ALIGNMENT


@dataclass(frozen=True, slots=True)
class Live:
    """Bytes alive at once in one memory: the largest sum, and what is certain of it."""

    likely: int
    certain: int


def live_sums(module: Module, target: Chip, options: CompileOptions) -> list[dict[str, Live]]:
    """What each attempt of the compiler holds at its peak, by memory."""
    sizes = packing.Sizes(1)
    found = []
    for layout in layouts_of(module, target, options):
        figures = figures_of(layout, target, sizes)
        lives = {}
        for memory in PLANNED:
            orders = [order.get(memory, ()) for order in layout.orders]
            likely = min(int(packing.live_maximum(entries, sizes)[0]) for entries in orders)
            lives[memory] = Live(likely, int(figures.low[memory][0]))
        found.append(lives)
    return found


def attempt_of(fallback: Sequence[str], overflow: bool, attempts: int) -> int:
    """Which attempt a report is of: the last one where nothing fits."""
    if overflow:
        return attempts - 1
    if not fallback:
        return 0
    return 1 if tuple(fallback) == (CODE_MOTION,) else attempts - 1


def reported(outcome: Outcome) -> dict[str, int]:
    """The largest sum of live bytes of each memory, by the compiler's own report."""
    found: dict[str, int] = {}
    for memory in {buffer.memory for buffer in outcome.buffers} & set(PLANNED):
        unit = ALIGNMENT[memory]
        buffers = [b for b in outcome.buffers if b.memory == memory]
        found[memory] = max(
            sum(
                -(-b.bytes // unit) * unit * b.copies
                for b in buffers
                if b.core == at.core and b.first <= at.first <= b.last
            )
            for at in buffers
        )
    return found


@dataclass
class Counts:
    """(program, memory) pairs, by how the model's sum stands to the compiler's."""

    pairs: Counter[str] = field(default_factory=Counter)

    def add(self, ours: Mapping[str, Live], theirs: Mapping[str, int]) -> None:
        """One program. What only the compiler has counts as below."""
        for memory, live in theirs.items():
            mine = ours.get(memory, Live(0, 0))
            self.pairs["pairs"] += 1
            self.pairs["equal"] += mine.likely == live
            self.pairs["above"] += mine.likely > live
            self.pairs["sound_above"] += mine.certain > live

    def merge(self, other: Counts) -> None:
        """Add another's pairs."""
        self.pairs.update(other.pairs)

    def to_json(self) -> dict[str, object]:
        """Shares of the pairs; None where there are none."""
        pairs = self.pairs["pairs"]
        share = (lambda name: round(self.pairs[name] / pairs, 4)) if pairs else lambda _: None
        return {
            "pairs": pairs,
            "equal": share("equal"),
            "above": share("above"),
            "above_by_a_sound_rule": self.pairs["sound_above"],
        }

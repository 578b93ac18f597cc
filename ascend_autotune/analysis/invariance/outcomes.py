"""What one store or atomic update shows of the parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ascend_autotune.analysis.invariance.facts import Cover, Fact, Mark
from ascend_autotune.analysis.invariance.places import Index
from ascend_autotune.analysis.ir import Operation


def stored(
    op: Operation, address: Fact, value: Fact, loops: Sequence[int], index: Index, update: bool
) -> list[Mark]:
    """Marks of the kinds changes, open and extent, for what `op` puts into memory."""
    found: list[Mark] = []
    prefixes = {mark.loop for mark in value.marks if mark.kind == "prefix"}
    for mark in (*address.marks, *value.marks):
        if mark.kind in ("changes", "open", "extent"):
            found.append(mark)
        elif mark.kind == "stride":
            if update:
                text = f"{mark.text}: it sets how often one address is updated"
                found.append(replace(mark, kind="changes", text=text))
            else:
                found.append(replace(mark, kind="open"))
        elif mark.cover is not None:
            found += _incomplete(mark, mark.cover, loops, prefixes, update, index)
    if value.axes and len(value.axes) == len(address.axes):
        for covers, places in zip(value.axes, address.axes, strict=True):
            found += _lanes(op, covers, places, loops, index, update)
    for covers in address.axes:
        for cover in covers:
            if cover.alone and not cover.loops:
                text = f"one block of {index.name} alone is stored"
                found.append(Mark("extent", op, text, cover))
    for loop, cover in address.runs:
        if cover.alone and loop in loops:
            text = f"a loop over {index.name} elements stores them"
            found.append(Mark("extent", op, text, cover))
    return found


def _incomplete(
    mark: Mark, cover: Cover, loops: Sequence[int], prefixes: set[int], update: bool, index: Index
) -> list[Mark]:
    inside = cover.loops & set(loops)
    if inside & prefixes:
        # A running total takes up where the block before left off.
        if mark.kind == "scan":
            return []
        return [Mark("open", mark.op, f"{mark.text}, and each step's result is stored")]
    if update:
        if cover.folded and not inside:
            return []
        return [Mark("changes", mark.op, f"{mark.text}: it sets what one atomic update adds")]
    if cover.folded and not inside:
        text = f"{mark.text}, and how programs share the blocks is not known"
        return [Mark("open", mark.op, text)]
    return [Mark("changes", mark.op, f"{mark.text}, and what it gives is stored")]


def _lanes(
    op: Operation, covers: frozenset[Cover], places: frozenset[Cover], loops: Sequence[int],
    index: Index, update: bool,
) -> list[Mark]:  # fmt: skip
    found = []
    blocks = {cover.block for cover in places}
    for cover in covers:
        if cover.loops - set(loops):
            text = (
                f"a loop over blocks of {index.name} is folded lane by lane, and lanes are stored"
            )
            found.append(Mark("changes", op, text))
        elif places and cover.block not in blocks and not update:
            text = f"blocks of {index.name} are read elsewhere than they are stored"
            found.append(Mark("open", op, text))
    return found

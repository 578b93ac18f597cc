"""The rules: each a pure predicate that gives its reason, or None where it has nothing to say.

Cheapest first: the grid needs no program, the front end's limits a trace, the memories
an analysis of the program. Sources are named by section of facts.md and planner.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Mapping

from ascend_autotune.analysis.ir import Location
from ascend_autotune.analysis.verdict import UNBOUNDED, Reason, ReasonCode

MAX_NUMEL = 1_048_576
"""Elements of one tensor that Triton's front end allows (facts.md §2)."""
MAX_GRID = 65_535
"""Blocks of one launch, unless TRITON_ALL_BLOCKS_PARALLEL is set (facts.md §3)."""

_NUMEL = re.compile(r"numel \((\d+)\) exceeds triton maximum tensor numel")
_LONG_ARANGE = "end - start must be less than or equal to TRITON_MAX_TENSOR_NUMEL"
_ARANGE = re.compile(r"arange(?:'s end argument)? must (be greater than the start|fit in int32)")
# Upstream alone has these: triton-ascend 3.2.0 replaces tl.arange and the check of shapes
# (triton_patch/language), so that 96 or 192 are legal there.
_POWER_OF_2 = re.compile(r"(?:arange's range|Shape element \d+) must be a power of 2")


def grid(shape: Iterable[int], *, all_blocks_parallel: bool) -> Reason | None:
    """Refused at launch: more than 65,535 blocks (facts.md §3)."""
    dims = tuple(shape)
    blocks = math.prod(dims)
    if all_blocks_parallel or blocks <= MAX_GRID:
        return None
    factors = " x ".join(f"{dim:,}" for dim in dims)
    shown = f"{factors} = {blocks:,}" if len(dims) > 1 else f"{blocks:,}"
    return Reason(
        ReasonCode.GRID,
        None,
        None,
        None,
        f"the grid has {shown} blocks, a launch takes at most {MAX_GRID:,}: larger tiles make "
        "it smaller (or set TRITON_ALL_BLOCKS_PARALLEL=1)",
    )


def numel(elements: int, location: Location | None = None) -> Reason | None:
    """Refused by the front end: one tensor has more than 1,048,576 elements (facts.md §2)."""
    if elements <= MAX_NUMEL:
        return None
    return Reason(
        ReasonCode.NUMEL,
        None,
        None,
        None,
        f"a tensor has {elements:,} elements, Triton's front end allows {MAX_NUMEL:,}: "
        "use smaller tiles",
        location,
    )


def front_end(message: str, location: Location | None = None) -> Reason:
    """The reason in a front end's own message: a limit that all flavours share, or the message.

    NUMEL and ARANGE are given only for what triton-ascend refuses too (facts.md §2).
    """
    match = _NUMEL.search(message)
    reason = numel(int(match[1]), location) if match else None
    if reason is not None:
        return reason
    code, text = ReasonCode.FRONT_END, message
    if _LONG_ARANGE in message:
        code, text = ReasonCode.NUMEL, f"tl.arange makes a tensor of over {MAX_NUMEL:,} elements"
    elif match := _ARANGE.search(message):
        code, text = ReasonCode.ARANGE, f"tl.arange: its end must {match[1]}"
    elif _POWER_OF_2.search(message):
        text = f"{message} (in this Triton; triton-ascend takes other sizes too)"
    return Reason(code, None, None, None, text, location)


def overflow(
    memory: str, need: tuple[int, int], capacity: int, location: Location | None = None
) -> Reason | None:
    """Refused by the compiler: even the lower bound of its last attempt's need is too much.

    `need` is (low, high) in bytes of the last attempt (planner.md §0.1). The compiler prints
    the end of its own layout, which the upper bound predicts.
    """
    low, high = need
    if low <= capacity:
        return None
    printed = high if high < UNBOUNDED else low
    return Reason(
        ReasonCode.OVERFLOW,
        memory,
        printed,
        capacity,
        f"{memory} needs {printed:,} bytes, the chip has {capacity:,}",
        location,
    )


def undecided(
    memory: str, need: tuple[int, int], capacity: int, location: Location | None = None
) -> Reason | None:
    """The capacity lies inside the interval: only the compiler knows (planner.md §11)."""
    low, high = need
    if not low <= capacity < high:
        return None
    known = high < UNBOUNDED
    between = f"between {low:,} and {high:,} bytes" if known else f"at least {low:,} bytes"
    return Reason(
        ReasonCode.UNDECIDED,
        memory,
        high if known else None,
        capacity,
        f"{memory} needs {between}, the chip has {capacity:,}",
        location,
    )


def unmodelled(note: str) -> Reason:
    """The program or profile has something that the footprint model does not follow."""
    return Reason(ReasonCode.UNDECIDED, None, None, None, f"not decided without the judge: {note}")


def reaches_compiler(
    fields: Mapping[str, object], *, num_stages_matters: bool
) -> tuple[tuple[str, Hashable], ...]:
    """The launch fields of a candidate that change its program (facts.md §1, §4).

    num_warps, num_ctas and maxnreg reach no flag of the Ascend compiler; num_stages
    switches multi-buffering off (when 1) in some releases only, not in 3.2.0.
    """
    if num_stages_matters and "num_stages" in fields:
        return (("multibuffer", fields["num_stages"] != 1),)
    return ()

"""`prune`: a verdict for each candidate of a space, with nothing launched."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ascend_autotune.analysis.assessing import Assessor
from ascend_autotune.analysis.grid import Grid
from ascend_autotune.analysis.request import Request, resolve
from ascend_autotune.analysis.result import PruneResult
from ascend_autotune.analysis.space import Space
from ascend_autotune.analysis.sweep import Sweep

if TYPE_CHECKING:
    from ascend_autotune.analysis.judging import Asking


def prune(
    kernel: object,
    space: Mapping[str, Iterable[object]],
    signature: Mapping[str, str] | None = None,
    constants: Mapping[str, object] | None = None,
    target: str | None = None,
    compile_options: Mapping[str, object] | None = None,
    grid: Grid | None = None,
    exact: bool = False,
) -> PruneResult:
    """Say of every candidate of `space` whether it can run on the chip, and if not, why.

    Args:
        kernel: a `@triton.jit` function, or a wrapper around one.
        space: values per searched parameter: tl.constexpr parameters of the kernel, and
            fields of triton.Config (num_warps, num_stages, compile options).
        signature: a type for each runtime argument, in Triton's notation; "i32:16" and
            "*fp16:16" are known to be divisible by 16. None: as in the kernel's last call
            under the hook.
        constants: the constexprs that are not searched, and arguments specialised to a
            value (a stride of 1).
        target: a chip's name. None: the active device, else Ascend910B3; `stats` says which.
        compile_options: the profile to judge under. None: what triton-ascend passes.
        grid: a tuple or a callable of the candidate. None: not known, not judged.
        exact: ask the Ascend compiler about what stays undecided.

    Raises:
        RequestError: the request is wrong; the message names the mend.
        FlavourError: no usable Triton is installed.
        JudgeUnavailable: `exact` without an Ascend compiler.
    """
    started = time.perf_counter()
    request = resolve(kernel, signature, constants, target, compile_options, grid)
    searched = request.space(space)
    return prune_request(request, searched, exact=exact, started=started)


def prune_request(
    request: Request, space: Space, *, exact: bool = False, started: float | None = None
) -> PruneResult:
    """`prune` for a request whose parts are resolved already."""
    began = time.perf_counter() if started is None else started
    asking = _asking(request) if exact else None
    first = space.candidate(0)
    assessor = Assessor(request.instance({name: first[name] for name in space.tiles}))
    sweep = Sweep(space, request, assessor, asking)
    stats: dict[str, object] = {
        "candidates": len(space),
        "ttir_traces": assessor.traces,
        "judge_calls": 0 if asking is None else asking.calls,
        "merged": sweep.merged,
        "seconds": round(time.perf_counter() - began, 6),
        "target": request.chip.name,
        "target_source": request.target_source,
    }
    if asking is not None:
        stats["judge_why"] = sweep.judge_why
    return PruneResult(request.info.name, space, sweep.statuses, sweep.verdict, stats)


def _asking(request: Request) -> Asking:
    """The judge for the request's chip. Raises `JudgeUnavailable` where there is none."""
    from ascend_autotune.analysis.judge import Judge
    from ascend_autotune.analysis.judging import Asking

    return Asking(Judge.find(request.chip))

"""What a compile that the judge did not let through raises.

Triton wraps whatever a stage raises in its own MLIRCompilationError, as it does on an NPU; the
error here stays its `__context__`, which `failure_of` finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_autotune.analysis.judge import Outcome
    from ascend_autotune.search.device import Failure

# The compiler's last line, whatever went wrong (facts.md §1).
_LAST = "[ERROR] Failed to run BiShengIR pipeline"


class CompileFailure(Exception):
    """The compiler's word on a program that it did not take, or how it failed to give one.

    `kind` is "overflow", "compile" (refused for another reason, or the compiler crashed twice)
    or "timeout"; `outcome` holds the figures. `crashed`: it says nothing about the program.
    """

    def __init__(self, message: str, kind: Failure, outcome: Outcome | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.outcome = outcome

    @property
    def crashed(self) -> bool:
        return self.outcome is not None and self.outcome.status in ("crash", "failed")


def refuse(outcome: Outcome) -> None:
    """Raise what stands for `outcome`; nothing where the program compiles."""
    if outcome.fits:
        return
    if outcome.status == "overflow":
        raise CompileFailure(f"error: {outcome.message}\n{_LAST}", "overflow", outcome)
    if outcome.status == "refused":
        raise CompileFailure(f"error: {outcome.message}\n{_LAST}", "compile", outcome)
    kind: Failure = "timeout" if outcome.status == "timeout" else "compile"
    raise CompileFailure(f"no verdict ({outcome.status}): {outcome.message}", kind, outcome)


def failure_of(error: BaseException) -> CompileFailure | None:
    """The `CompileFailure` behind an error that a compile or launch raised, None where none is."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, CompileFailure):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None

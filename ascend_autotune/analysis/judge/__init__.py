"""The judge: the real Ascend compiler, asked about one program at a time."""

from __future__ import annotations

from ascend_autotune.analysis.judge.flags import OPTIONS, CompileOption
from ascend_autotune.analysis.judge.judge import Judge
from ascend_autotune.analysis.judge.outcome import JudgedBuffer, Outcome, Overflow

__all__ = ["OPTIONS", "CompileOption", "Judge", "JudgedBuffer", "Outcome", "Overflow"]

"""What becomes of one program: traced, read, measured, and held against the chip.

A candidate's grid is not its business.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from ascend_autotune.analysis import rules
from ascend_autotune.analysis.ir import Location
from ascend_autotune.analysis.verdict import Reason, ReasonCode, Status
from ascend_autotune.errors import AnalysisError, FrontEndError

if TYPE_CHECKING:
    from ascend_autotune.analysis.chips import Chip
    from ascend_autotune.analysis.footprint import Footprint
    from ascend_autotune.analysis.ir import Module
    from ascend_autotune.analysis.kernel import KernelInstance
    from ascend_autotune.analysis.options import CompileOptions
    from ascend_autotune.analysis.ttir import Ttir

# How `ttir.trace` names the place of an error: `file:line: cause`.
_PLACE = re.compile(r"(.+?):(\d+): (.*)", re.DOTALL)
logger = logging.getLogger("ascend_autotune")
Found = TypeVar("Found")

_REMEMBERED = 128  # programs of the process, with what is known of them


@dataclass(frozen=True)
class Assessment:
    """What is known of one program. `program` is equal for what compiles to the same thing."""

    status: Status
    reasons: tuple[Reason, ...] = ()
    bounds: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    fallback: tuple[str, ...] = ()
    program: Hashable = None
    footprint: Footprint | None = None
    ttir: Ttir | None = None


class Assessor:
    """Assesses the programs of one kernel; each set of constants is traced once.

    `traces` counts the programs that were asked for, those remembered from an earlier
    assessor of the process among them.
    """

    def __init__(self, instance: KernelInstance) -> None:
        self.instance = instance
        self._traced: dict[Hashable, Ttir | Assessment] = {}

    @property
    def traces(self) -> int:
        return len(self._traced)

    def __call__(self, constants: Mapping[str, object], options: CompileOptions) -> Assessment:
        ttir = self.ttir(constants)
        if isinstance(ttir, Assessment):
            return ttir
        return _assess(ttir, self.instance.chip.name, options)

    def program(self, constants: Mapping[str, object]) -> tuple[Ttir, Module] | Assessment:
        """The program for these constants, read anew, or the assessment of one that is none."""
        ttir = self.ttir(constants)
        if isinstance(ttir, Assessment):
            return ttir
        module = _read(ttir)
        return module if isinstance(module, Assessment) else (ttir, module)

    def ttir(self, constants: Mapping[str, object]) -> Ttir | Assessment:
        key = tuple(sorted(constants.items()))
        found = self._traced.get(key)
        if found is None:
            found = self._traced[key] = self._trace(constants)
        return found

    def _trace(self, constants: Mapping[str, object]) -> Ttir | Assessment:
        from ascend_autotune.analysis.ttir import trace

        try:
            instance = self.instance.with_constants(constants).complete()
            question = _Question.of(instance)
            return trace(instance) if question is None else _remembered(question)
        except FrontEndError as error:
            return refused_by_front_end(str(error))
        except AnalysisError as error:
            return unreadable(str(error), None)


@dataclass(frozen=True)
class _Question:
    """What a trace depends on; equal ones give the same TTIR."""

    key: Hashable
    instance: KernelInstance = field(compare=False)

    @classmethod
    def of(cls, instance: KernelInstance) -> _Question | None:
        """None where a constant cannot be compared. 1, 1.0 and True are different constants."""
        function = instance.function
        key = (
            id(function),  # the instance keeps it alive
            getattr(function, "src", None),
            tuple(instance.signature.items()),
            tuple((name, type(v), v) for name, v in sorted(instance.constants.items())),
            instance.divisible,
            instance.chip.name,
        )
        try:
            hash(key)
        except TypeError:
            return None
        return cls(key, instance)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(question: _Question) -> Ttir:
    from ascend_autotune.analysis.ttir import trace

    return trace(question.instance)


@lru_cache(maxsize=_REMEMBERED)
def _assess(ttir: Ttir, chip_name: str, options: CompileOptions) -> Assessment:
    from ascend_autotune.analysis.chips import chip

    module = _read(ttir)
    if isinstance(module, Assessment):
        return module
    return assess_module(module, ttir, chip(chip_name), options)


def _read(ttir: Ttir) -> Module | Assessment:
    from ascend_autotune.analysis.reader import parse_module

    try:
        return parse_module(ttir.generic)
    except AnalysisError as error:
        return unreadable(str(error), ttir)


def forget() -> None:
    """Drop the programs that the process remembers."""
    _remembered.cache_clear()
    _assess.cache_clear()


def assess_module(module: Module, ttir: Ttir, chip: Chip, options: CompileOptions) -> Assessment:
    """Measure a program and hold its need against the chip's memories."""
    from ascend_autotune.analysis.footprint import measure

    footprint = guarded(lambda: measure(module, chip, options), ttir)
    if isinstance(footprint, Assessment):
        return footprint
    return replace(assess_footprint(footprint, chip), program=ttir.text, ttir=ttir)


def guarded(work: Callable[[], Found], ttir: Ttir | None = None) -> Found | Assessment:
    """What the model finds, or that nothing is claimed where it cannot follow or fails.

    A fault of ours must neither end the other candidates' judgement nor claim anything.
    """
    try:
        return work()
    except AnalysisError as error:
        return unreadable(str(error), ttir)
    except Exception as error:
        logger.exception("the analysis failed")
        return unreadable(f"the analysis failed, {type(error).__name__}: {error}", ttir)


def assess_footprint(footprint: Footprint, chip: Chip) -> Assessment:
    status, reasons = judge_footprint(footprint, chip)
    return Assessment(
        status,
        reasons,
        dict(footprint.bounds),
        tuple(sorted(footprint.fallback)) if status != "infeasible" else (),
        footprint=footprint,
    )


def judge_footprint(footprint: Footprint, chip: Chip) -> tuple[Status, tuple[Reason, ...]]:
    """The verdict of the memories: refused where every attempt is, else what stays open."""
    if footprint.fits(chip.capacity):
        return "feasible", ()
    refused = footprint.refused(chip.capacity)
    rule = rules.overflow if refused else rules.undecided
    reasons = []
    for memory, need in footprint.need.items():
        reason = rule(memory, need, chip.capacity[memory], binding_location(footprint, memory))
        if reason is not None:
            reasons.append(reason)
    if not refused:
        reasons.extend(rules.unmodelled(note) for note in footprint.notes)
    return ("infeasible" if refused else "unknown"), tuple(reasons)


def binding_location(footprint: Footprint, memory: str) -> Location | None:
    """Where the largest buffer of a memory's peak is made."""
    peak = footprint.peak.get(memory, ())
    return next((buffer.location for buffer in peak if buffer.location.line), None)


def refused_by_front_end(message: str) -> Assessment:
    """The front end's own refusal: the Ascend build's word is final, another flavour's only
    for the limits that both share (design.md, Verdicts)."""
    from ascend_autotune.analysis.flavour import detect

    match = _PLACE.match(message)
    location = Location(match[1], int(match[2])) if match else None
    reason = rules.front_end(match[3] if match else message, location)
    shared = reason.code in (ReasonCode.NUMEL, ReasonCode.ARANGE)
    final = shared or detect().ascend
    return Assessment("infeasible" if final else "unknown", (reason,))


def unreadable(message: str, ttir: Ttir | None) -> Assessment:
    """Nothing is claimed of a program that cannot be read or measured."""
    reason = Reason(ReasonCode.UNREADABLE, None, None, None, message)
    return Assessment("unknown", (reason,), ttir=ttir)

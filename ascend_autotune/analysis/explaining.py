"""`explain`: what a kernel is to the chip, what a tile takes, and what would fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ascend_autotune.analysis.assessing import Assessment, Assessor
from ascend_autotune.analysis.assumptions import other_assumptions
from ascend_autotune.analysis.grid import Grid, all_blocks_parallel
from ascend_autotune.analysis.neighbours import Neighbour, neighbours
from ascend_autotune.analysis.rules import grid as grid_rule
from ascend_autotune.analysis.verdict import SCHEMA_VERSION, Verdict, bounds_json, location_json

if TYPE_CHECKING:
    import networkx

    from ascend_autotune.analysis.classifier import Classification
    from ascend_autotune.analysis.footprint import Footprint
    from ascend_autotune.analysis.request import Request
    from ascend_autotune.analysis.result import PruneResult


def explain(
    kernel: object,
    *args: object,
    space: Mapping[str, Iterable[object]] | None = None,
    signature: Mapping[str, str] | None = None,
    constants: Mapping[str, object] | None = None,
    target: str | None = None,
    compile_options: Mapping[str, object] | None = None,
    grid: Grid | None = None,
    **kwargs: object,
) -> Report:
    """Explain one tile of a kernel; `str()` of the result is for people.

    `args` and `kwargs` are those of a call: tensors (or anything with `dtype` and
    `data_ptr()`), numbers, constexprs and launch options by name. `signature` and
    `constants` say the same without a call. What is given nowhere is taken from the
    kernel's last call under the hook, else assumed; the report lists every assumption.

    Raises:
        RequestError: the request is wrong; the message names the mend.
        FlavourError: no usable Triton is installed.
    """
    from ascend_autotune.analysis.request import record_of, resolve_call

    searched = None if space is None else {name: list(space[name]) for name in space}
    request = resolve_call(
        kernel, args, kwargs, searched, signature, constants, target, compile_options, grid
    )
    fields: dict[str, object] = {}
    if searched is not None:
        # Checked before anything is traced; the tile's own values are no conflict.
        checked = without(request, searched).space(searched)
        fields = {
            name: checked.values[name][0]
            for name in checked.fields
            if name not in request.compile_options
        }
    request, assessor, assessment = _assess(request, fields)
    tile = {**{name: request.constants[name] for name in _tile(request, searched)}, **fields}
    shape = request.grid_of(tile)
    reason = shape and grid_rule(shape, all_blocks_parallel=all_blocks_parallel())
    if reason:
        assessment = replace(assessment, status="infeasible", reasons=(reason, *assessment.reasons))
    search = record_of(kernel).get("search")
    return Report(request, tile, assessor, assessment, searched, search)


def _assess(request: Request, fields: Mapping[str, object]) -> tuple[Request, Assessor, Assessment]:
    """Assess the tile; where the front end stumbles over what was assumed, assume otherwise."""
    options = request.options(fields)
    assessor = Assessor(request.instance({}))
    first = assessor({}, options)
    assumed = [note for note in request.assumptions if note.kind != "last call"]
    if not assumed or not any(reason.code == "front_end" for reason in first.reasons):
        return request, assessor, first
    for notes in other_assumptions(request.assumptions):
        other = request.assuming(notes)
        trial = Assessor(other.instance({}))
        found = trial({}, options)
        if found.ttir is not None:
            return other, trial, found
    # The kernel is not to blame for what was only assumed of it.
    reason = replace(
        first.reasons[0],
        text=f"{first.reasons[0].text} (under what is assumed below: give signature and constants)",
    )
    return request, assessor, replace(first, status="unknown", reasons=(reason,))


def without(request: Request, names: Iterable[str]) -> Request:
    """The request with the values of these constants left open."""
    dropped = set(names)
    return replace(
        request, constants={k: v for k, v in request.constants.items() if k not in dropped}
    )


def _tile(request: Request, searched: Mapping[str, object] | None) -> list[str]:
    """The constexprs that make the candidate, in the kernel's order.

    Those searched, else those that the kernel's own search space names, else those that
    size and move a tile in its source, else every integer constexpr.
    """
    from ascend_autotune.analysis.kernel import unwrap
    from ascend_autotune.analysis.source import roles

    info = request.info
    integers = [
        name
        for name in info.constexprs
        if type(request.constants.get(name)) is int and request.constants.get(name)
    ]
    own = {name for config in info.configs for name in config} | set(info.search_params)
    for names in (set(searched or ()), own, roles(unwrap(request.kernel)).tiles):
        chosen = [name for name in integers if name in names]
        if chosen:
            return chosen
    return integers


@dataclass(eq=False)
class Report:
    """What `explain` found.

    `tile` is the candidate that was explained. `classification`, `graph` and `footprint`
    are None where the kernel could not be compiled or read for it; `verdict` says why.
    `search` is the report of the hook's search of this kernel, None before one.
    """

    request: Request
    tile: Mapping[str, object]
    _assessor: Assessor
    _assessment: Assessment
    _searched: Mapping[str, Iterable[object]] | None = None
    search: Any = None

    @cached_property
    def verdict(self) -> Verdict:
        found = self._assessment
        return Verdict(self.tile, found.status, found.reasons, found.bounds, found.fallback)

    @property
    def footprint(self) -> Footprint | None:
        return self._assessment.footprint

    @cached_property
    def graph(self) -> networkx.MultiDiGraph[int] | None:
        """The dataflow graph of the program: operations and values."""
        from ascend_autotune.analysis.graph import build_graph

        program = self._assessor.program({})
        return None if isinstance(program, Assessment) else build_graph(program[1])

    @cached_property
    def classification(self) -> Classification | None:
        from ascend_autotune.analysis.classifier import classify

        return None if self.graph is None else classify(self.graph)

    @cached_property
    def pruned(self) -> PruneResult | None:
        """Every candidate of the space that was given; None without one."""
        from ascend_autotune.analysis.pruning import prune_request

        if self._searched is None:
            return None
        request = without(self.request, self._searched)
        return prune_request(request, request.space(self._searched))

    @cached_property
    def nearest(self) -> tuple[Neighbour, ...]:
        """Per tile parameter, the nearest values that fit and that do not, the others kept.

        Empty where a space was given: `pruned` knows all of it then.
        """
        if self._searched is not None:
            return ()
        constexprs = self.request.info.constexprs
        options = self.request.options({k: v for k, v in self.tile.items() if k not in constexprs})
        names = [name for name in self.tile if name in constexprs]

        def status(name: str, value: int) -> Assessment:
            shape = self.request.grid_of({**self.tile, name: value})
            reason = shape and grid_rule(shape, all_blocks_parallel=all_blocks_parallel())
            if reason:
                return Assessment("infeasible", (reason,))
            return self._assessor({name: value}, options)

        return neighbours({n: self.tile[n] for n in names}, self._assessment, status)

    def to_json(self) -> dict[str, object]:
        """A dict that `json.dumps` takes as it is, with `schema_version`."""
        footprint, pruned = self.footprint, self.pruned
        request = self.request
        return {
            "schema_version": SCHEMA_VERSION,
            "kernel": request.info.name,
            "file": request.info.file,
            "line": request.info.line,
            "target": request.chip.name,
            "target_source": request.target_source,
            "tile": {name: _plain(value) for name, value in self.tile.items()},
            "signature": dict(request.signature),
            "constants": {name: _plain(value) for name, value in request.constants.items()},
            "assumptions": [assumption.text for assumption in request.assumptions],
            "classification": self.classification and self.classification.to_json(),
            "capacity": dict(request.chip.capacity),
            "footprint": footprint and bounds_json(footprint.bounds),
            "need": footprint and bounds_json(footprint.need),
            "buffers": footprint
            and {
                memory: [
                    {
                        "op": buffer.op,
                        "type": buffer.type,
                        "bytes": buffer.bytes,
                        "copies": buffer.copies,
                        "temporary": buffer.temporary,
                        "location": location_json(buffer.location),
                    }
                    for buffer in buffers
                ]
                for memory, buffers in footprint.peak.items()
            },
            "verdict": self.verdict.to_json(),
            "nearest": [neighbour.to_json() for neighbour in self.nearest],
            "pruned": pruned and pruned.to_json(),
        }

    def __str__(self) -> str:
        from ascend_autotune.analysis.report import render_report

        return render_report(self)

    def __repr__(self) -> str:
        return f"Report({self.request.info.name}: {self.verdict.status})"


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | str | type(None)) else str(value)

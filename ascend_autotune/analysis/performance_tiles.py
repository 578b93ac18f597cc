"""Is a searched parameter a performance tile, or does the kernel's result depend on it?

A performance tile only sets shapes, steps of loops, offsets of programs and masks: blocks of P
elements cover the same whole, whatever P is. The kernel is traced at several values of each
parameter (the others held still), and the program is walked with the parameter as a symbol.
What is read and stored at `X * P + r` is one element of the whole. A block's own reduction that
is stored, a block's number used by itself, P as a stride or in a value: each changes the result.

Rounding is left out: a sum may be taken in another order. So is what the caller does by P
itself, such as a grid that does not cover everything or a buffer allocated by P.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ascend_autotune.analysis.invariance.facts import Mark
from ascend_autotune.analysis.invariance.interpreter import walked
from ascend_autotune.analysis.invariance.places import Index, known
from ascend_autotune.analysis.invariance.twins import Twins, twins
from ascend_autotune.analysis.ir import Location, Operation
from ascend_autotune.analysis.kernel import KernelInstance
from ascend_autotune.analysis.request import Request
from ascend_autotune.analysis.space import LAUNCH_FIELDS
from ascend_autotune.errors import AscendAutotuneError, RequestError

logger = logging.getLogger("ascend_autotune")

Verdict = Literal["tile", "changes result", "undecided"]
POINTS = 3
"""So many values of a parameter are traced; two where no more can be had."""
# Operations on data.
_DATA = re.compile(
    r'"(math\.\w+|arith\.\w+f|tt\.(?:load|store|dot|dot_scaled|reduce|scan|atomic_\w+|gather))"\('
)
_ATTEMPTS = 12
_GUESSES = (16, 32, 64, 128, 8, 256, 4, 2)


@dataclass(frozen=True)
class TileRole:
    """What one parameter is. `why` is a sentence; `operation` and `location` (file:line) show it.

    `at_least`: a tile only for values that large, since one block has to cover everything.
    """

    name: str
    role: Verdict
    why: str = ""
    operation: str = ""
    location: str = ""
    at_least: int | None = None

    def __str__(self) -> str:
        at = f" ({self.location})" if self.location else ""
        return f"{self.name}: {self.role}" + (f": {self.why}{at}" if self.why else "")


def check_performance_tiles(
    kernel: Request | KernelInstance,
    names: Mapping[str, Iterable[object]] | Iterable[str],
    arguments: Mapping[str, object] | None = None,
) -> dict[str, TileRole]:
    """The role of each searched parameter, in the order given.

    `names` are parameters, with the values searched where they are known. `arguments` gives the
    call's whole numbers by name, for bounds. Raises `RequestError` for a name that the kernel does
    not have; a kernel that cannot be traced makes its parameters "undecided".
    """
    values: dict[str, tuple[object, ...]] = (
        {name: tuple(found) for name, found in names.items()}
        if isinstance(names, Mapping)
        else {name: () for name in names}
    )
    return _Check(kernel, values, arguments or {}).roles()


class _Check:
    def __init__(
        self,
        kernel: Request | KernelInstance,
        values: Mapping[str, Sequence[object]],
        arguments: Mapping[str, object],
    ) -> None:
        self.kernel, self.values, self.arguments = kernel, values, arguments
        if isinstance(kernel, Request):
            self.instance = kernel.instance({})
        else:
            self.instance = kernel
        self.names: list[str] = list(self.instance.function.arg_names)
        self.traced: dict[tuple[tuple[str, object], ...], str | None] = {}
        self.points: dict[str, tuple[int, ...]] = {}
        self.error = ""

    def roles(self) -> dict[str, TileRole]:
        found = {}
        for name in self.values:
            if name in self.names:
                found[name] = self._role(name)
            elif name in LAUNCH_FIELDS:
                found[name] = TileRole(name, "tile", "a field of the launch, not of the kernel")
            else:
                raise RequestError(f"{self.instance.name} has no parameter {name!r}")
        return found

    # -- one parameter -----------------------------------------------------------------------

    def _role(self, name: str) -> TileRole:
        try:
            pair = self._twins(name)
        except RequestError:
            raise
        except AscendAutotuneError as error:
            return TileRole(name, "undecided", str(error))
        if pair is None:
            why = self.error or f"the program at one value of {name} is not the one at another"
            return TileRole(name, "undecided", why)
        other = self._other_work(name)
        if other is not None:
            why = f"the program for {name}={other} does other work than for smaller values"
            return TileRole(name, "undecided", why)
        if not pair.varies:
            return TileRole(name, "tile", "it does not change the program")
        try:
            return self._judge(name, pair)
        except Exception as error:  # the judgement of a parameter must not cost a call
            logger.debug("roles of %s: %s", name, error, exc_info=True)
            return TileRole(name, "undecided", f"the program was not understood: {error}")

    def _judge(self, name: str, pair: Twins) -> TileRole:
        walk, index = walked(pair, name)
        if not walk.stored:
            return TileRole(name, "undecided", "no store was found in the kernel")
        for kind, role in (("changes", "changes result"), ("open", "undecided")):
            marks = [mark for mark in walk.marks if mark.kind == kind]
            if marks:
                mark = min(marks, key=lambda m: walk.orders[m.op])
                return _shown(name, role, mark)  # type: ignore[arg-type]
        return self._extents(name, [m for m in walk.marks if m.kind == "extent"], index)

    def _extents(self, name: str, marks: Sequence[Mark], index: Index) -> TileRole:
        """A block that stands alone has to cover everything: does it, for the values searched?"""
        if not marks:
            return self._grid(name, index)
        needed = 0
        numbers = self._numbers()
        for mark in marks:
            assert mark.cover is not None
            key = mark.cover.ranges
            bounds = {known(poly, numbers) for poly in index.bounds.get(key, ())}
            if None in bounds or not bounds:
                if key in index.blocks and key not in index.compared and not bounds:
                    return _shown(name, "changes result", mark, "and nothing bounds it")
                return _shown(name, "undecided", mark, "right only where that covers everything")
            needed = max(needed, *(bound for bound in bounds if bound is not None))
        found = _shown(name, "tile", marks[0], f"enough from {name}={needed} on")
        return replace(found, at_least=needed)

    def _grid(self, name: str, index: Index) -> TileRole:
        """Programs cover everything only where the grid follows the parameter."""
        request = self.kernel
        axes = sorted(atom.key for atom in index.counters if atom.kind == "pid")
        values = self._integers(name)
        if not axes or not isinstance(request, Request) or len(values) < 2:
            return TileRole(name, "tile")
        base = self._base(name)
        sizes = [request.grid_of({**base, name: value}) for value in (values[0], values[-1])]
        if None in sizes or values[-1] < 2 * values[0]:
            return TileRole(name, "tile")
        for axis in axes:
            dims = [grid[axis] if grid and axis < len(grid) else 1 for grid in sizes]
            if dims[0] == dims[1] > 1 and callable(request.grid) is False:
                why = (
                    f"programs count blocks of {name} along grid axis {axis}, but the grid is fixed"
                )
                return TileRole(name, "undecided", why)
        return TileRole(name, "tile")

    def _numbers(self) -> dict[int, int]:
        """Arguments of the traced function whose number is known, by their index there."""
        runtime = [n for n in self.names if n in self.instance.signature]
        return {
            i: value
            for i, n in enumerate(runtime)
            if isinstance(value := self.arguments.get(n), int) and not isinstance(value, bool)
        }

    # -- traces ------------------------------------------------------------------------------

    def _integers(self, name: str) -> list[int]:
        given = {v for v in self.values[name] if isinstance(v, int) and not isinstance(v, bool)}
        return sorted(given)

    def _base(self, name: str) -> dict[str, object]:
        """A value for every other searched parameter: small, and equal to no other number."""
        taken = {v for v in self.instance.constants.values() if isinstance(v, int)}
        base: dict[str, object] = {}
        for other in self.values:
            if other == name or other not in self.names:
                continue
            integers = self._integers(other)
            small = [v for v in integers if 16 <= v <= 128 and v not in taken]
            chosen: object = None
            if small:
                chosen = small[0]
            elif integers:
                chosen = next((v for v in integers if v not in taken), integers[0])
            elif self.values[other]:
                chosen = self.values[other][0]
            elif other not in self.instance.constants:
                chosen = next(v for v in _GUESSES if v not in taken)
            if chosen is not None:
                base[other] = chosen
                taken |= {chosen} if isinstance(chosen, int) else set()
        return base

    def _twins(self, name: str) -> Twins | None:
        base = self._base(name)
        if any(not isinstance(v, int) or isinstance(v, bool) for v in self.values[name]):
            return None
        taken = {v for v in (*base.values(), *self.instance.constants.values())}
        given = self._integers(name)
        nice = [v for v in given if 8 <= v <= 256]
        order = [v for v in (*nice, *given, *_GUESSES) if v > 1]
        order = [v for v in dict.fromkeys(order) if v not in taken] + [
            v for v in dict.fromkeys(given) if v in taken
        ]
        good: list[int] = []
        for value in order[:_ATTEMPTS]:
            if self._module({**base, name: value}) is None:
                continue
            good.append(value)
            if len(good) >= POINTS:
                points = sorted(good[-POINTS:])
                found = self._pair(name, base, points)
                if found is not None:
                    return found
        return self._pair(name, base, sorted(good[-2:])) if len(good) == 2 else None

    def _other_work(self, name: str) -> int | None:
        """A value searched whose program has other data operations than those traced."""
        given = self._integers(name)
        base = self._base(name)
        if not given or name not in self.points:
            return None
        small = self._module({**base, name: self.points[name][0]})
        large = self._module({**base, name: given[-1]})
        if small is None or large is None:
            return None
        before, after = Counter(_DATA.findall(small)), Counter(_DATA.findall(large))
        # A loop that is folded away takes what it did to its initial values with it.
        folded = large.count('"scf.for"') < small.count('"scf.for"')
        return given[-1] if after - before or (before - after and not folded) else None

    def _pair(self, name: str, base: Mapping[str, object], points: list[int]) -> Twins | None:
        from ascend_autotune.analysis.reader import parse_module

        texts = [self.traced[self._key({**base, name: value})] for value in points]
        found = twins([parse_module(str(text)) for text in texts], points)
        if found is not None:
            self.points[name] = tuple(points)
        return found

    def _key(self, tile: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
        return tuple(sorted(tile.items()))

    def _module(self, tile: Mapping[str, object]) -> str | None:
        """The trace of a tile in generic form, None where the front end refuses it."""
        from ascend_autotune.analysis.ttir import trace

        key = self._key(tile)
        if key not in self.traced:
            self.traced[key] = None
            try:
                ready = replace(self.instance, constants={**self.instance.constants, **tile})
                self.traced[key] = trace(ready).generic
            except RequestError:
                raise
            except AscendAutotuneError as error:
                self.error = str(error)
        return self.traced[key]


def _shown(name: str, role: Verdict, mark: Mark, more: str = "") -> TileRole:
    why = f"{mark.text}, {more}" if more else mark.text
    return TileRole(name, role, why, mark.op.name, _place(mark.op))


def _place(op: Operation) -> str:
    location: Location = op.location
    return str(location) if location.line else ""

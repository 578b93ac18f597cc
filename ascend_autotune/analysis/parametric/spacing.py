"""A whole grid of tiles judged from a few traces, block by block.

A block is a product of values for which the kernel is one program at many sizes. Its
template comes from one trace at an origin, one for each parameter changed, and a check
where all have changed (which stands for the second of two parameters too, where it can);
where that fails, the block is cut, and single tiles are traced.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ascend_autotune.analysis.ir import Module
from ascend_autotune.analysis.parametric.laws import Point, separates
from ascend_autotune.analysis.parametric.sym import Vector
from ascend_autotune.analysis.parametric.template import Template, fold

Axes = tuple[tuple[int, ...], ...]
Trace = Callable[[Point], Module | None]
_FEW = 2  # a block of this many tiles more than its traces would be is worth a template


@dataclass(frozen=True)
class Block:
    """Tiles under one template: `positions` in the grid, and their values by parameter."""

    template: Template
    positions: Vector
    columns: tuple[Vector, ...]


@dataclass(frozen=True)
class Blocks:
    """Every tile of a grid: under a template, or alone (traced by itself)."""

    blocks: tuple[Block, ...]
    alone: tuple[int, ...]


def blocks_of(
    axes: Axes,
    steering: frozenset[int],
    constants: Sequence[int],
    trace: Trace,
    *,
    any_size: bool = True,
) -> Blocks:
    """Cut the grid of `axes` (values per parameter) into blocks.

    `steering`: parameters whose every value is another program. `constants`: integers that
    the kernel is compiled with, which an origin had better not repeat. `trace` gives the
    module at a point, or None where the front end refuses it. `any_size`: the front end
    takes sizes that are no power of two.
    """
    if not axes:  # only compile options are searched: there is one tile
        return Blocks((), (0,))
    cutter = _Cutter(axes, steering, constants, trace)
    cutter.cut(tuple(_classes(values, i in steering, any_size) for i, values in enumerate(axes)))
    return Blocks(tuple(cutter.blocks), tuple(sorted(cutter.alone)))


def _classes(values: tuple[int, ...], each: bool, any_size: bool) -> list[tuple[int, ...]]:
    """Values that may share a program: a size of 1 never does with others."""
    if each:
        return [(value,) for value in values]
    units = tuple(value for value in values if value == 1)
    odd = tuple(v for v in values if v & (v - 1) and not any_size)
    others = tuple(value for value in values if value != 1 and value not in odd)
    return [part for part in (units, others, *((v,) for v in odd)) if part]


class _Cutter:
    def __init__(
        self, axes: Axes, steering: frozenset[int], constants: Sequence[int], trace: Trace
    ) -> None:
        self.axes, self.steering, self.trace = axes, steering, trace
        self.constants = set(constants)
        self.blocks: list[Block] = []
        self.alone: list[int] = []
        self._strides = [math.prod(len(a) for a in axes[i + 1 :]) for i in range(len(axes))]
        self._places = [{value: i for i, value in enumerate(values)} for values in axes]

    def cut(self, classes: Sequence[Sequence[tuple[int, ...]]]) -> None:
        for part in itertools.product(*classes):
            self._block(part)

    def _block(self, part: Axes) -> None:
        count = math.prod(len(values) for values in part)
        free = [i for i, values in enumerate(part) if len(values) > 1]
        if count <= len(free) + _FEW:
            self.alone.extend(int(p) for p in self._positions(_grid(part)))
            return
        template = self._template(part, free)
        if template is None:
            self._divide(part, free)
            return
        columns = _grid(part)
        applies = template.applies(columns)
        positions = self._positions(columns)
        if applies.any():
            self.blocks.append(
                Block(template, positions[applies], tuple(c[applies] for c in columns))
            )
        if not applies.all():
            self._leftover(part, [c[~applies] for c in columns], positions[~applies])

    def _leftover(self, part: Axes, columns: Sequence[Vector], positions: Vector) -> None:
        """Tiles whose loops fold away: a block of their own where they are a product."""
        values = tuple(tuple(int(v) for v in np.unique(column)) for column in columns)
        count = math.prod(len(v) for v in values)
        if count == len(positions) and values != part:
            widest = max(range(len(values)), key=lambda i: len(part[i]) - len(values[i]))
            for value in values[widest]:  # the parameter that folded the loop, one at a time
                self._block((*values[:widest], (value,), *values[widest + 1 :]))
        else:
            self.alone.extend(int(p) for p in positions)

    def _divide(self, part: Axes, free: Sequence[int]) -> None:
        """No template: one parameter's values apart."""
        if len(free) == 1:
            self.alone.extend(int(p) for p in self._positions(_grid(part)))
            return
        axis = min(free, key=lambda i: len(part[i]))
        for value in part[axis]:
            self._block((*part[:axis], (value,), *part[axis + 1 :]))

    def _template(self, part: Axes, free: Sequence[int]) -> Template | None:
        points = self._points(part, free)
        modules: list[Module] = []
        for point in points:
            module = self.trace(point)
            if module is None:
                return None
            modules.append(module)
        return fold(modules, points) if points else None

    def _points(self, part: Axes, free: Sequence[int]) -> list[Point]:
        """Where to trace: all values apart from one another and from the constants.

        Low ones first; where the space has too few, powers of two that it has not.
        """
        wider = tuple((*values, 16, 32, 64, 128, 256, 512) for values in part)
        return self._spread(part, free, part) or self._spread(part, free, wider) or []

    def _spread(
        self, part: Axes, free: Sequence[int], pool: Sequence[tuple[int, ...]]
    ) -> list[Point] | None:
        fixed = {part[i][0] for i in range(len(part)) if i not in free}
        taken = set(self.constants) | fixed
        origin = [values[0] for values in part]
        other = list(origin)
        for choice in (origin, other):
            for i in free:
                options = [v for v in pool[i] if v > 1 and v not in taken]
                options += [v for v in pool[i] if v > 1 and v not in choice and v != origin[i]]
                if not options:
                    return None
                choice[i] = options[0]
                taken.add(options[0])
        start, end = tuple(origin), tuple(other)
        if any(start[i] == end[i] for i in free):
            return None
        both = self._both(start, free, pool) if len(free) == 2 else None
        changed = free if both is None else free[:1]
        return [start, *((*start[:i], end[i], *start[i + 1 :]) for i in changed), both or end]

    def _both(
        self, start: Point, free: Sequence[int], pool: Sequence[tuple[int, ...]]
    ) -> Point | None:
        """The smallest point that changes both parameters and tells their exponents apart."""
        fixed = {value for i, value in enumerate(start) if i not in free}
        options = [
            [v for v in pool[i] if v > 1 and v != start[i] and v not in fixed | self.constants]
            for i in free
        ]
        found = []
        for one, two in itertools.product(*options):
            point = list(start)
            point[free[0]], point[free[1]] = one, two
            if one != two and separates(start, tuple(point), free):
                found.append(tuple(point))
        return min(found, key=math.prod, default=None)

    def _positions(self, columns: Sequence[Vector]) -> Vector:
        total = np.zeros(len(columns[0]), dtype=np.int64)
        for column, places, stride in zip(columns, self._places, self._strides, strict=True):
            keys = np.array(list(places), dtype=np.int64)
            order = np.argsort(keys, kind="stable")
            index = order[np.searchsorted(keys[order], column)]
            total += index * stride
        return total


def _grid(part: Axes) -> list[Vector]:
    """One column per parameter, in grid order."""
    meshes = np.meshgrid(*(np.array(v, dtype=np.int64) for v in part), indexing="ij")
    return [mesh.reshape(-1) for mesh in meshes]


def named(names: Sequence[str], point: Sequence[int]) -> Mapping[str, int]:
    return dict(zip(names, point, strict=True))

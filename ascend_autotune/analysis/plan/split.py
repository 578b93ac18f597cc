"""Which dimension of a mix kernel's vector work is halved over the two vector cores.

Source: the TileAndBindSubBlock pass and its DimensionAnalyzer (AscendNPU-IR v1.2.0): one
dimension that every store has, rows first; without one, each core works on whole tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ascend_autotune.analysis.addressing import access_of
from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Module, Operation, Value
from ascend_autotune.analysis.plan.boxes import box_of, from_launch
from ascend_autotune.analysis.plan.cube import DOTS, CubePlan
from ascend_autotune.analysis.plan.demand import folds, is_box
from ascend_autotune.analysis.plan.scattered import is_scattered

Key = tuple[Value, int]
_STORES = frozenset({"tt.store", "tt.descriptor_store", "tt.atomic_rmw"})


def halved(
    module: Module, need: set[Value], cube: CubePlan, forms: Forms
) -> tuple[dict[Value, tuple[int, ...]] | None, bool]:
    """The shapes on one core, for the values that are split, or None where nothing is; and
    whether that nothing is split is certain."""
    leaving = _leaving_tiles(module, need, cube, forms)
    if leaving is None:
        return None, True
    shapes = _halved(module, need, cube, forms, leaving)
    return shapes, shapes is None and _stays_whole(module, need, leaving)


def _halved(
    module: Module, need: set[Value], cube: CubePlan, forms: Forms, leaving: list[Value]
) -> dict[Value, tuple[int, ...]] | None:
    if any(op.name == "arith.select" and op.result in need and cuts(op) for op in module.walk()):
        return None
    if _rewrites(module, need, cube, forms):
        return None
    # A vector loaded once and spread along rows and along columns is kept whole, and
    # each use takes its slice; only then are the rows a loop of their own.
    for whole_vectors in (False, True):
        dims = _Dimensions(whole_vectors)
        for op in module.kernel.walk():
            dims.relate(op, need)
        chosen = _common(leaving, dims)
        shapes = _cut_class(need, chosen, dims) if chosen is not None else None
        if shapes is not None:
            for values in _summed_up(module, need):
                if not shapes.keys().isdisjoint(values) or dims.roots(values) & dims.roots(leaving):
                    return None
            for op in reversed(list(module.kernel.walk())):
                _cut_pliable(op, shapes, dims)
            return shapes
    return None


def _leaving_tiles(
    module: Module, need: set[Value], cube: CubePlan, forms: Forms
) -> list[Value] | None:
    """What leaves the vector core; None where something certainly keeps the work whole."""
    if cube.turned or cube.scattered or any(len(dot.result.type.shape) > 2 for dot in cube.dots):
        return None
    leaving: list[Value] = list(cube.computed)
    for op in module.kernel.walk():
        if op.name in _STORES and op not in cube.drained:
            stored = op.operands[1] in need
            if (stored or is_scattered(op, forms)) and not _splits(op, forms):
                return None
            if stored:
                leaving.append(op.operands[1])
    return leaving


def _stays_whole(module: Module, need: set[Value], leaving: list[Value]) -> bool:
    """Does a reduction to one number certainly keep the work of each core whole?

    What has nothing to do with each other may be halved along dimensions of its own (the groups
    of DimensionAnalyzer), which is not followed here: a number made of one says nothing of another.
    """
    dims = _Dimensions(False)
    for op in module.kernel.walk():
        dims.relate(op, need)
    wide = dims.roots(leaving)
    return any(wide <= dims.roots(values) for values in _summed_up(module, need))


def _summed_up(module: Module, need: set[Value]) -> Iterator[set[Value]]:
    """Of each reduction to one number, which both cores have to have: the tiles it is made of."""
    for op in module.kernel.walk():
        if op.name != "tt.reduce" or op.results[0] not in need or op.results[0].type.shape:
            continue
        rest, seen = list(op.operands), set(op.operands)
        while rest:
            made = rest.pop().op
            if made is not None and made.name != "tt.load":
                more = [v for v in made.operands if v.type.shape and v not in seen]
                seen.update(more)
                rest += more
        yield seen


def cuts(select: Operation) -> bool:
    """A select on a box whose bounds only the launch knows: a slice of changing size."""
    mask = select.operands[0]
    return is_box(select) and not folds(select) and bool(box_of(mask)) and from_launch(mask)


def _rewrites(module: Module, need: set[Value], cube: CubePlan, forms: Forms) -> bool:
    """Does the vector core read an argument that it writes? Its cores would race."""
    bases: dict[bool, set[int]] = {True: set(), False: set()}
    for op in module.kernel.walk():
        stores = op.name in _STORES and op not in cube.drained
        if stores or (op.name == "tt.load" and op.result in need):
            access = access_of(op, forms)
            if access is not None and access.base is not None:
                bases[stores].add(access.base)
    return bool(bases[True] & bases[False])


def _cut_class(
    need: set[Value], chosen: Key, dims: _Dimensions
) -> dict[Value, tuple[int, ...]] | None:
    """Halve the chosen dimension everywhere; None where a tile has it twice."""
    shapes: dict[Value, tuple[int, ...]] = {}
    for value in need:
        marks = [dims.root((value, d)) == chosen for d in range(len(value.type.shape))]
        if sum(marks) > 1:
            return None
        if any(marks):
            shapes[value] = _cut(value.type.shape, marks)
    return shapes


def _cut(shape: tuple[int, ...], marks: Sequence[bool]) -> tuple[int, ...]:
    return tuple(
        size // 2 if mark and size > 1 else size for size, mark in zip(shape, marks, strict=True)
    )


def _cut_pliable(op: Operation, shapes: dict[Value, tuple[int, ...]], dims: _Dimensions) -> None:
    """Constants and index tiles are made anew for each reader: they are cut like it."""
    for index, value in enumerate(op.operands):
        if not value.type.shape or not dims.pliable(value) or value in shapes:
            continue
        if op.name == "scf.for" and index >= 3:
            peers: list[Value] = [op.body().args[index - 2]]
        else:
            peers = [*op.results, *op.operands]
        for peer in peers:
            marks = _marks(op, peer, value, shapes)
            if any(marks):
                shapes[value] = _cut(value.type.shape, marks)
                break


def _marks(
    op: Operation, peer: Value, value: Value, shapes: dict[Value, tuple[int, ...]]
) -> list[bool]:
    """Which dimensions of `value` are cut if it is cut like its reader's `peer`."""
    if peer not in shapes:
        return [False]
    cut = [a != b for a, b in zip(shapes[peer], peer.type.shape, strict=True)]
    if op.name == "tt.expand_dims" and peer in op.results:
        axis = op.attrs.get("axis", 0)
        assert isinstance(axis, int)
        cut = [*cut[:axis], *cut[axis + 1 :]]
    return cut if len(cut) == len(value.type.shape) else [False]


def _splits(op: Operation, forms: Forms) -> bool:
    """Atomics on computed tiles and indirect stores keep the whole tile."""
    access = access_of(op, forms)
    return op.name != "tt.atomic_rmw" and access is not None and access.kind == "affine"


class _Dimensions:
    """Union-find over dimensions of values: which of them are one loop."""

    def __init__(self, whole_vectors: bool) -> None:
        self.whole_vectors = whole_vectors
        self.reduced: set[Key] = set()  # what is folded along them cannot be shared out
        self._parent: dict[Key, Key] = {}
        self._pliable: dict[Value, bool] = {}

    def root(self, key: Key) -> Key:
        while key in self._parent:
            key = self._parent[key]
        return key

    def roots(self, values: Iterable[Value]) -> set[Key]:
        """Of all dimensions of the values that are longer than 1."""
        return {self.root((v, d)) for v in values for d, n in enumerate(v.type.shape) if n > 1}

    def join(self, a: Key, b: Key) -> None:
        if self.pliable(a[0]) or self.pliable(b[0]):
            return
        x, y = self.root(a), self.root(b)
        if x != y:
            self._parent[x] = y

    def pliable(self, value: Value) -> bool:
        """Made of constants and indices alone: each reader gets a slice of its own."""
        known = self._pliable.get(value)
        if known is None:
            op = value.op
            known = self._pliable[value] = op is not None and (
                op.name in ("arith.constant", "tt.splat", "tt.make_range")
                or (
                    (op.name.startswith("arith.") or op.name in ("tt.expand_dims", "tt.broadcast"))
                    and all(self.pliable(v) for v in op.operands if v.type.shape)
                )
            )
        return known

    def relate(self, op: Operation, need: set[Value]) -> None:
        """Join the dimensions that an operation walks together."""
        name = op.name
        if name == "scf.for":
            body = op.body()
            for i, result in enumerate(op.results):
                for other in (op.operands[i + 3], body.args[i + 1], body.ops[-1].operands[i]):
                    self.same(result, other)
        elif name == "scf.if":
            for region in op.regions:
                if region and region[0].ops:
                    for result, value in zip(op.results, region[0].ops[-1].operands, strict=True):
                        self.same(result, value)
        elif name in DOTS:
            if len(op.operands) > 2:
                self.same(op.result, op.operands[2])
            self.join((op.result, 0), (op.operands[0], 0))
            self.join((op.result, 1), (op.operands[1], 1))
        elif op.results and any(result in need for result in op.results):
            self._elementwise(op)

    def _elementwise(self, op: Operation) -> None:
        name, result, axis = op.name, op.results[0], op.attrs.get("axis", 0)
        if name == "tt.expand_dims" and isinstance(axis, int):
            if self.whole_vectors and _is_loaded_vector(op.operands[0]):
                return
            for d in range(len(op.operands[0].type.shape)):
                self.join((op.operands[0], d), (result, d + (d >= axis)))
        elif name == "tt.reduce" and isinstance(axis, int):
            self.reduced.update((value, axis) for value in op.operands)
            for value in op.results:
                for d in range(len(value.type.shape)):
                    self.join((value, d), (op.operands[0], d + (d >= axis)))
        elif name == "tt.trans":
            order = op.attrs.get("order")
            moved = order if isinstance(order, tuple) else (1, 0)
            for d, source in enumerate(moved):
                self.join((result, d), (op.operands[0], source))
        elif name not in ("tt.load", "tt.descriptor_load", "tt.splat", "tt.reshape"):
            for value in (*op.operands, *op.results):
                self.same(result, value)

    def same(self, a: Value, b: Value) -> None:
        left, right = a.type.shape, b.type.shape
        if len(left) == len(right):
            for d, (x, y) in enumerate(zip(left, right, strict=True)):
                if x == y:
                    self.join((a, d), (b, d))


def _is_loaded_vector(value: Value) -> bool:
    """One-dimensional, and made of loads by elementwise operations alone."""
    op = value.op
    if op is None or len(value.type.shape) != 1:
        return False
    if op.name == "tt.load":
        return True
    return op.name.startswith(("arith.", "math.")) and any(
        _is_loaded_vector(v) for v in op.operands
    )


def _common(leaving: list[Value], dims: _Dimensions) -> Key | None:
    """A dimension that everything that leaves the core has, its rows first."""
    tiles = [value for value in leaving if value.type.shape]
    if not tiles:
        return None
    sets = [dims.roots([value]) for value in tiles]
    common = set.intersection(*sets) - {dims.root(key) for key in dims.reduced}
    widest = max(tiles, key=lambda value: len(value.type.shape))
    for d in range(len(widest.type.shape)):
        if dims.root((widest, d)) in common:
            return dims.root((widest, d))
    return None

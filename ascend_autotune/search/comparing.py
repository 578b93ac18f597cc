"""Comparing a result with what is wanted, within tolerances.

|got - wanted| <= absolute + relative * |wanted|. Without tolerances of the user's, `absolute` is
a part of the largest wanted magnitude, since sums are taken in another order for another tile
(Higham, Accuracy and Stability of Numerical Algorithms, §4.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOLERANCES: Mapping[str, tuple[float, float]] = {
    "float64": (1e-7, 1e-9),
    "float32": (1e-3, 1e-4),
    "float16": (1e-2, 2e-3),
    "bfloat16": (2e-2, 1e-2),
    "float8_e4m3fn": (0.13, 0.06),
    "float8_e4m3fnuz": (0.13, 0.06),
    "float8_e5m2": (0.25, 0.13),
    "float8_e5m2fnuz": (0.25, 0.13),
}
"""By dtype: relative, and absolute as a part of the largest magnitude. Others are exact."""
CHUNK = 1 << 22
"""So many elements are compared at a time: in double precision, 32 MiB of each tensor."""


@dataclass(frozen=True)
class Difference:
    """Where a result differs most: `excess` is the difference over what is allowed."""

    name: str
    index: tuple[int, ...]
    got: float
    wanted: float
    excess: float
    count: int

    def __str__(self) -> str:
        where = f"{self.name}[{', '.join(map(str, self.index))}]"
        return (
            f"{where} is {self.got:.6g} where {self.wanted:.6g} is wanted, the largest of "
            f"{self.count} differences"
        )


def compared(
    name: str,
    got: Any,
    wanted: Any,
    tolerance: tuple[float, float] | None = None,
    noise: float = 0.0,
) -> Difference | None:
    """The element that differs most from what is wanted; None where all are within tolerance.

    `tolerance`: (relative, absolute) of the user's; None: by dtype, see `TOLERANCES`. `noise`:
    as far again is allowed. NaN equals NaN alone, an infinity its like. Shapes must be equal.
    """
    dtype = dtype_of(got)
    relative, absolute = tolerance or TOLERANCES.get(dtype, (0.0, 0.0))
    wanted = wanted.to(got.device)
    if got.dtype == wanted.dtype and bool((got == wanted).all()):
        return None
    if tolerance is None and absolute and wanted.numel():
        absolute *= magnitude(wanted)
    worst: Difference | None = None
    count = 0
    flat_got, flat_wanted = got.reshape(-1), wanted.reshape(-1)
    for start in range(0, flat_got.numel(), CHUNK):
        a, b = wide(flat_got[start : start + CHUNK]), wide(flat_wanted[start : start + CHUNK])
        found = compare(name, a, b, absolute + noise + relative * b.abs())
        if found is not None:
            count += found.count
            if worst is None or found.excess > worst.excess:
                place = _unravelled(start + found.index[0], tuple(got.shape))
                worst = Difference(name, place, found.got, found.wanted, found.excess, 0)
    if worst is None:
        return None
    return Difference(name, worst.index, worst.got, worst.wanted, worst.excess, count)


def compare(name: str, got: Any, wanted: Any, allowed: Any) -> Difference | None:
    """The largest difference over `allowed`, of tensors that fit in memory in full width."""
    same = (got.isnan() & wanted.isnan()) | (got == wanted)
    apart = (got - wanted).abs()
    bad = ~same & ~(apart <= allowed)
    count = int(bad.sum())
    if not count:
        return None
    excess = (apart - allowed).where(bad, apart.new_zeros(())).nan_to_num(float("inf"))
    flat = int(excess.reshape(-1).argmax())
    if not float(excess.reshape(-1)[flat]) > 0:
        flat = int(bad.reshape(-1).int().argmax())
    return Difference(
        name,
        _unravelled(flat, tuple(got.shape)),
        float(got.reshape(-1)[flat]),
        float(wanted.reshape(-1)[flat]),
        float(excess.reshape(-1)[flat]),
        count,
    )


def spread(first: Any, second: Any) -> float:
    """The largest difference between two results, where both are finite."""
    if bool((first == second).all()):
        return 0.0
    largest = 0.0
    a, b = first.reshape(-1), second.reshape(-1)
    for start in range(0, a.numel(), CHUNK):
        apart = (wide(a[start : start + CHUNK]) - wide(b[start : start + CHUNK])).abs()
        apart = apart[apart.isfinite()]
        largest = max(largest, float(apart.max()) if apart.numel() else 0.0)
    return largest


def dtype_of(tensor: Any) -> str:
    return str(tensor.dtype).rsplit(".", 1)[-1]


def wide(tensor: Any) -> Any:
    """In double precision, where every value compared is exact but for huge whole numbers.

    An NPU's cores have no double precision: there it is the host that compares.
    """
    if str(tensor.device).split(":")[0] not in ("cpu", "cuda"):
        tensor = tensor.cpu()
    return tensor.double()


def magnitude(tensor: Any) -> float:
    """The largest finite magnitude."""
    flat, largest = tensor.reshape(-1), 0.0
    for start in range(0, flat.numel(), CHUNK):
        part = wide(flat[start : start + CHUNK]).abs()
        part = part[part.isfinite()]
        largest = max(largest, float(part.max()) if part.numel() else 0.0)
    return largest


def _unravelled(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index: list[int] = []
    for size in reversed(shape):
        flat, place = divmod(flat, size)
        index.append(place)
    return tuple(reversed(index))

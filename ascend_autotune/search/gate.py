"""The correctness gate: a finalist's result against a reference, or against the default config.

Comparison: |got - wanted| <= absolute + relative * |wanted|. Without tolerances of the user's,
`absolute` is a part of the largest wanted magnitude, since sums are taken in another order for
another tile (Higham, Accuracy and Stability of Numerical Algorithms, §4.2).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ascend_autotune.errors import RequestError
from ascend_autotune.search.buffers import Buffers
from ascend_autotune.search.config import Config
from ascend_autotune.search.device import ConfigFailed

logger = logging.getLogger("ascend_autotune")

TOLERANCES: Mapping[str, tuple[float, float]] = {
    "float64": (1e-7, 1e-9),
    "float32": (1e-3, 1e-4),
    "float16": (1e-2, 2e-3),
    "bfloat16": (2e-2, 1e-2),
    "float8_e4m3fn": (0.13, 0.06),
    "float8_e5m2": (0.25, 0.13),
}
"""By dtype: relative, and absolute as a part of the largest magnitude. Others are exact."""
_RUNS = 2
"""A config is compared so many times: the same program may be right once (user-cases.md 17)."""


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


class Gate:
    """Raises `ConfigFailed("wrong", ...)` for a config whose result differs.

    `launch` runs a config once on the caller's tensors. `reference` returns what the written
    tensors must hold: one tensor, a tuple in argument order, or a dict by argument name. With
    no reference the result of `default` is taken for right; where its own runs differ, that
    much is allowed to others too.
    """

    def __init__(
        self,
        launch: Callable[[Config], object],
        buffers: Buffers,
        *,
        default: Config,
        reference: Callable[[], object] | None = None,
        tolerances: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.kind = "reference_fn" if reference is not None else "default config"
        self._launch = launch
        self._buffers = buffers
        self._default = default
        self._reference = reference
        self._tolerances = dict(tolerances or {})
        self._wanted: dict[str, Any] | None = None
        self._spread: dict[str, float] = {}

    def __call__(self, config: Config) -> None:
        wanted = self._expected()
        if self._reference is None and config == self._default:
            return
        for _ in range(_RUNS):
            got = self._result(config)
            for name, tensor in wanted.items():
                found = self._differs(name, got[name], tensor)
                if found is not None:
                    raise ConfigFailed("wrong", f"differs from the {self._named()}: {found}")

    def _named(self) -> str:
        return "reference" if self._reference is not None else f"default config ({self._default})"

    def _result(self, config: Config) -> dict[str, Any]:
        with self._buffers.trial():
            self._launch(config)
            return self._buffers.copies()

    def _expected(self) -> dict[str, Any]:
        if self._wanted is None:
            if self._reference is not None:
                self._buffers.restore()
                self._wanted = by_name(self._reference(), tuple(self._buffers.written))
            else:
                first, second = self._result(self._default), self._result(self._default)
                self._spread = {n: largest(first[n], second[n]) for n in first}
                for name, spread in self._spread.items():
                    if spread > 0:
                        logger.info("%s: two runs of the default differ by %g", name, spread)
                self._wanted = first
        return self._wanted

    def _differs(self, name: str, got: Any, wanted: Any) -> Difference | None:
        if tuple(got.shape) != tuple(wanted.shape):
            raise RequestError(
                f"reference_fn: {name} has the shape {tuple(wanted.shape)}, the kernel writes "
                f"{tuple(got.shape)}"
            )
        dtype = str(got.dtype).rsplit(".", 1)[-1]
        given = self._tolerances.get(dtype)
        relative, absolute = given or TOLERANCES.get(dtype, (0.0, 0.0))
        got, wanted = _wide(got), _wide(wanted).to(got.device)
        if given is None and wanted.numel():
            absolute *= _largest_finite(wanted)
        # What the kernel's own runs differ by says nothing against a config: as far again.
        allowed = absolute + 2 * self._spread.get(name, 0.0) + relative * wanted.abs()
        return compare(name, got, wanted, allowed)


def by_name(given: object, written: Sequence[str]) -> dict[str, Any]:
    """What a reference returned, by the name of the tensor that must hold it.

    Raises `RequestError` where it does not say which.
    """
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in written]
        if unknown:
            raise RequestError(
                f"reference_fn returned {', '.join(map(repr, unknown))}, which the kernel does "
                f"not write (it writes {', '.join(written)})"
            )
        return dict(given)
    values = tuple(given) if isinstance(given, tuple | list) else (given,)
    if len(values) != len(written) or not all(hasattr(value, "shape") for value in values):
        raise RequestError(
            f"reference_fn returned {len(values)} values, the kernel writes {len(written)} "
            f"tensors: {', '.join(written)}; return one for each, or a dict by name"
        )
    return dict(zip(written, values, strict=True))


def compare(name: str, got: Any, wanted: Any, allowed: Any) -> Difference | None:
    """The largest difference over `allowed`; NaN equals NaN alone, an infinity its like."""
    both_nan = got.isnan() & wanted.isnan()
    same = both_nan | (got == wanted)
    apart = (got - wanted).abs()
    bad = ~same & ~(apart <= allowed)
    count = int(bad.sum())
    if not count:
        return None
    excess = (apart - allowed).where(bad, apart.new_zeros(())).nan_to_num(float("inf"))
    flat = int(excess.argmax())
    if not float(excess.flatten()[flat]) > 0:
        flat = int(bad.flatten().int().argmax())
    index: list[int] = []
    rest = flat
    for size in reversed(got.shape):
        rest, place = divmod(rest, size)
        index.append(place)
    return Difference(
        name,
        tuple(reversed(index)),
        float(got.flatten()[flat]),
        float(wanted.flatten()[flat]),
        float(excess.flatten()[flat]),
        count,
    )


def largest(first: Any, second: Any) -> float:
    """The largest difference between two results, where both are finite."""
    first, second = _wide(first), _wide(second)
    apart = (first - second).abs()
    finite = apart[apart.isfinite()]
    return float(finite.max()) if finite.numel() else 0.0


def _wide(tensor: Any) -> Any:
    """In double precision, where every value compared is exact but for huge whole numbers."""
    return tensor.double()


def _largest_finite(tensor: Any) -> float:
    finite = tensor[tensor.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0

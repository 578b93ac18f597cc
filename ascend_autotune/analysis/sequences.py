"""A read-only sequence whose items are made when they are looked at.

A space of a million candidates is one such sequence: it costs its length and a
function, not a million dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

T = TypeVar("T")
_SHOWN = 3


class LazySequence(Sequence[T], Generic[T]):
    """`length` items; `at(i)` makes item `i` (0 <= i < length) each time it is asked for."""

    __slots__ = ("_at", "_length")

    def __init__(self, length: int, at: Callable[[int], T]) -> None:
        self._length = length
        self._at = at

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> LazySequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | LazySequence[T]:
        if isinstance(index, slice):
            chosen = range(self._length)[index]
            return LazySequence(len(chosen), lambda i: self._at(chosen[i]))
        # range checks the bounds, counts negative indices from the end and raises IndexError.
        return self._at(range(self._length)[index])

    def __iter__(self) -> Iterator[T]:
        return map(self._at, range(self._length))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str | bytes) or not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [repr(item) for item in islice(self, _SHOWN)]
        if len(self) > _SHOWN:
            shown.append(f"... {len(self)} in all")
        return f"[{', '.join(shown)}]"

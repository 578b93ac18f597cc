"""The caller's tensors during a search: put back after each trial, poisoned before it.

A kernel that updates in place or by atomics is run many times while it is tuned; the caller
must see the effect of one run. A config that leaves part of its output untouched must not be
saved by what an earlier one left there.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

logger = logging.getLogger("ascend_autotune")

_POISON = 0x5A
"""What whole numbers are filled with: unlikely as a result, and the same in every byte."""


class Buffers:
    """Snapshots of the tensors that a kernel writes.

    `written` are names of tensors that it writes, `read` of those that it reads: what is
    written and never read is poisoned before a trial, what is read too is put back.
    """

    def __init__(
        self, tensors: Mapping[str, Any], written: Collection[str], read: Collection[str]
    ) -> None:
        self.written = {n: t for n, t in tensors.items() if n in written and _can_copy(t)}
        # Two names may be one storage: what is read under either is no pure output.
        kept = [_storage(t) for n, t in tensors.items() if n in read and _can_copy(t)]
        self.outputs = tuple(
            n for n, t in self.written.items() if n not in read and _storage(t) not in kept
        )
        self._before: dict[str, Any] = {}

    def __bool__(self) -> bool:
        return bool(self.written)

    def __enter__(self) -> Buffers:
        self._before = {name: tensor.clone() for name, tensor in self.written.items()}
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()
        self._before = {}

    def restore(self) -> None:
        """Every tensor as it was when the search began."""
        for name, before in self._before.items():
            self.written[name].copy_(before)

    @contextmanager
    def trial(self) -> Iterator[None]:
        """One trial: what it reads is as the caller gave it, what it only writes is poisoned."""
        self.restore()
        for name in self.outputs:
            _poison(self.written[name])
        yield

    def copies(self) -> dict[str, Any]:
        """What the tensors hold now."""
        return {name: tensor.clone() for name, tensor in self.written.items()}


def _can_copy(tensor: Any) -> bool:
    return all(hasattr(tensor, name) for name in ("clone", "copy_", "fill_"))


def _storage(tensor: Any) -> object:
    try:
        return tensor.untyped_storage().data_ptr()
    except (AttributeError, RuntimeError):
        return tensor.data_ptr()


def _poison(tensor: Any) -> None:
    floating = getattr(tensor.dtype, "is_floating_point", False)
    try:
        tensor.fill_(float("nan") if floating else _POISON)
    except (RuntimeError, TypeError):  # a dtype without NaN, or bool
        tensor.zero_()

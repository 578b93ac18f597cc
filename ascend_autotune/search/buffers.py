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

# What outputs are filled with, by width in bits: a NaN that no arithmetic makes (its payload is
# ours) where the element is a floating-point number, else an unlikely whole number. Two of them:
# what holds the first after one run and the second after another was written by neither.
_PATTERNS: Mapping[int, tuple[int, int]] = {
    64: (0x7FF8A5A5A5A5A5A5, 0x7FF85A5A5A5A5A5A),
    32: (0x7FE5A5A5, 0x7FDA5A5A),
    8: (0x5A, 0x25),
}
# Half and bfloat16 have other exponents.
_HALF, _BFLOAT = (0x7EA5, 0x7E5A), (0x7FE5, 0x7FDA)


class Buffers:
    """Snapshots of the tensors that a kernel writes.

    `written` are names of tensors that it writes, `read` of those that it reads: what is
    written and never read is poisoned before a trial, what is read too is put back. Snapshots
    lie beside the tensors, on the host where the device has no room for them.
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
        self.updated = tuple(n for n in self.written if n not in self.outputs)
        self._before: dict[str, Any] = {}

    def __bool__(self) -> bool:
        return bool(self.written)

    def __enter__(self) -> Buffers:
        self._before = {name: _snapshot(tensor) for name, tensor in self.written.items()}
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.restore()
        finally:
            self._before = {}

    def restore(self) -> None:
        """Every tensor as it was when the search began."""
        for name, before in self._before.items():
            self.written[name].copy_(before)

    def refresh(self) -> None:
        """What a launch both reads and writes, as it was: between two repetitions of a timing."""
        for name in self.updated:
            if name in self._before:
                self.written[name].copy_(self._before[name])

    @contextmanager
    def trial(self, poison: int = 0) -> Iterator[None]:
        """One trial: what it reads is as the caller gave it, what it only writes is poisoned.

        `poison` chooses between two patterns, for `untouched`.
        """
        self.restore()
        for name in self.outputs:
            _poison(self.written[name], poison)
        yield

    def copies(self) -> dict[str, Any]:
        """What the tensors hold now."""
        return {name: tensor.clone() for name, tensor in self.written.items()}

    def untouched(self, name: str, first: Any, second: Any) -> Any:
        """Which elements two trials left alone, with poison 0 and 1; None for all written.

        A mask on the tensors' device. Only for `outputs`: what is read is never poisoned.
        """
        patterns = _patterns(first)
        if name not in self.outputs or patterns is None:
            return None
        mask = (_bits(first) == patterns[0]) & (_bits(second) == patterns[1])
        return mask if bool(mask.any()) else None

    def before(self, name: str) -> Any:
        """A tensor as the caller gave it."""
        return self._before[name]


def _can_copy(tensor: Any) -> bool:
    return all(hasattr(tensor, name) for name in ("clone", "copy_", "fill_"))


def _snapshot(tensor: Any) -> Any:
    try:
        return tensor.clone()
    except RuntimeError as error:  # torch's own is one
        if "memory" not in str(error).lower() and type(error).__name__ != "OutOfMemoryError":
            raise
        logger.info("no room on the device for a snapshot of %s: kept on the host", tensor.shape)
        return tensor.cpu()


def _storage(tensor: Any) -> object:
    try:
        return tensor.untyped_storage().data_ptr()
    except (AttributeError, RuntimeError):
        return tensor.data_ptr()


def _patterns(tensor: Any) -> tuple[int, int] | None:
    """None where an element has no bits to spare: a bool, or what torch cannot view as bits."""
    dtype = str(tensor.dtype).rsplit(".", 1)[-1]
    if dtype == "bool" or dtype.startswith("complex"):
        return None
    if dtype == "bfloat16":
        return _BFLOAT
    return _HALF if tensor.element_size() == 2 else _PATTERNS.get(8 * tensor.element_size())


def _bits(tensor: Any) -> Any:
    """The tensor's elements as whole numbers of the same width, the same memory."""
    import torch

    by_width = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.view(by_width[tensor.element_size()])


def _poison(tensor: Any, which: int) -> None:
    patterns = _patterns(tensor)
    try:
        if patterns is not None:
            _bits(tensor).fill_(patterns[which])
            return
    except (ImportError, RuntimeError, TypeError):  # no torch tensor, or no view of its bits
        pass
    try:
        floating = getattr(tensor.dtype, "is_floating_point", False)
        tensor.fill_(float("nan") if floating else 1)
    except (RuntimeError, TypeError):
        tensor.zero_()

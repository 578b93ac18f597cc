"""Block pointers whose `order` says that memory holds the tile turned.

Source: MakeTensorPtrCanonicalizer of triton-to-linalg: the tile is loaded as memory holds
it and transposed afterwards, or transposed and then stored.
"""

from __future__ import annotations

from dataclasses import replace

from ascend_autotune.analysis.addressing import Access
from ascend_autotune.analysis.ir import Value
from ascend_autotune.analysis.plan.boxes import loop_init


def memory_order(pointer: Value) -> tuple[int, ...] | None:
    """The tile's dimensions as memory has them, outermost first; None where they are in order."""
    for _ in range(100):
        op = pointer.op
        if op is None:
            init = loop_init(pointer)
            if init is None:
                return None
            pointer = init
        elif op.name == "tt.advance":
            pointer = op.operands[0]
        elif op.name == "scf.for":
            pointer = op.operands[pointer.index + 3]
        else:
            order = op.attrs.get("order")
            if op.name != "tt.make_tensor_ptr" or not isinstance(order, tuple):
                return None
            turned = tuple(reversed(order))
            return turned if turned != tuple(range(len(turned))) else None
    return None


def as_memory_has_it(access: Access, order: tuple[int, ...]) -> Access:
    """The access with its dimensions in memory order."""
    return replace(
        access,
        shape=tuple(access.shape[d] for d in order),
        strides=tuple(access.strides[d] for d in order),
        bounded=tuple(access.bounded[d] for d in order),
    )

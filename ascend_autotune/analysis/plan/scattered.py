"""Accesses that run element by element (or row by row), and what such a loop reads.

Source: UnstructuredMemAccessConverter (triton-to-unstructure) makes a loop that extracts
value, mask and offset one element at a time; BubbleUpExtract (bubble-up-operation) then
moves the extraction up, so that the arithmetic before it is done on scalars.
"""

from __future__ import annotations

from ascend_autotune.analysis.addressing import Access, access_of
from ascend_autotune.analysis.affine import Forms
from ascend_autotune.analysis.ir import Operation, Value

# What BubbleUpExtract passes through; anything else stays a tile that is read by element.
_BUBBLED = frozenset(
    {
        "arith.extsi", "arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.remsi",
        "arith.maxsi", "arith.minsi", "arith.andi", "arith.ori", "arith.cmpi", "arith.truncf",
        "arith.extf", "arith.fptosi", "arith.sitofp", "tt.clampf", "arith.addf", "arith.subf",
        "arith.mulf", "arith.divf", "arith.minnumf", "arith.maxnumf", "arith.cmpf",
        "tt.broadcast", "tt.expand_dims", "tt.splat", "tt.make_range", "tt.addptr",
        "math.floor", "math.ceil", "arith.constant",
    }
)  # fmt: skip


def is_scattered(op: Operation, forms: Forms) -> bool:
    """Does the access follow no stride along some dimension?"""
    access = access_of(op, forms)
    return access is not None and access.kind != "affine" and bool(access.shape)


def read_by_element(*values: Value) -> list[Value]:
    """The tiles that a scalar loop over these values reads from, each once."""
    found: list[Value] = []
    stack, seen = list(reversed(values)), set()
    while stack:
        value = stack.pop()
        if value in seen or not value.type.is_tensor:
            continue
        seen.add(value)
        op = value.op
        if op is not None and op.name in _BUBBLED:
            stack.extend(reversed(op.operands))
        elif not value.type.is_pointer:
            found.append(value)
    return found


def rows_are_strided(access: Access, bits: int) -> bool:
    """Does the loop copy whole rows whose elements lie apart in global memory?

    Rows that are no whole blocks of 32 bytes are taken element by element.
    """
    row, strided = 1, False
    for size, straight, stride in zip(
        reversed(access.shape), reversed(access.straight), reversed(access.strides), strict=True
    ):
        if not straight:
            break
        if row == 1 and size != 1:
            strided = stride != 1
        row = row * size
    return strided and row * bits % 256 == 0

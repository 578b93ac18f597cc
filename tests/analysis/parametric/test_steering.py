"""Which parameters decide the statements of a kernel: no Triton is needed to see it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ascend_autotune.analysis.parametric.steering import steering

tl: Any = SimpleNamespace()


def plain(x: Any, BLOCK: tl.constexpr, UNROLL: tl.constexpr) -> None:  # type: ignore[valid-type]
    for i in range(0, 4, UNROLL):
        tl.store(x + i * BLOCK, tl.load(x))


def branching(x: Any, BLOCK: tl.constexpr, WIDE: tl.constexpr) -> None:  # type: ignore[valid-type]
    half: tl.constexpr = BLOCK // 2  # type: ignore[valid-type]
    if half > 64:
        tl.store(x, 1)
    y = tl.load(x) if tl.load(x) > WIDE else 0
    tl.store(x, y)


def unrolled(x: Any, BLOCK: tl.constexpr, STEPS: tl.constexpr) -> None:  # type: ignore[valid-type]
    for _ in tl.static_range(STEPS):
        tl.store(x, BLOCK)
    tl.static_assert(BLOCK != 48)


NAMES = ("BLOCK", "UNROLL", "WIDE", "STEPS")


def test_a_loop_of_runtime_rounds_steers_nothing() -> None:
    assert steering(plain, ("BLOCK", "UNROLL")) == frozenset()


def test_a_static_branch_counts_through_assignments() -> None:
    assert "BLOCK" in steering(branching, ("BLOCK", "WIDE"))


def test_static_loops_and_assertions_count() -> None:
    assert steering(unrolled, ("BLOCK", "STEPS")) == {"BLOCK", "STEPS"}


def test_without_source_everything_may_steer() -> None:
    namespace: dict[str, Any] = {}
    exec("def hidden(x, BLOCK): pass", namespace)
    assert steering(namespace["hidden"], ("BLOCK",)) == {"BLOCK"}

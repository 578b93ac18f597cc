"""Laws through the integers of several traces."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_autotune.analysis.parametric.laws import Law, fit

POINTS = [(16, 32), (64, 32), (16, 128), (64, 128)]


@pytest.mark.parametrize(
    ("law", "exponents"),
    [
        (lambda a, b: 7, (0, 0)),
        (lambda a, b: 4 * a, (1, 0)),
        (lambda a, b: a * b, (1, 1)),
        (lambda a, b: 4096 // a, (-1, 0)),
        (lambda a, b: a * a // b * 8, (2, -1)),
    ],
)
def test_products_of_powers_are_found(law, exponents) -> None:  # type: ignore[no-untyped-def]
    found = fit([law(a, b) for a, b in POINTS], POINTS)
    assert found == Law(law(*POINTS[0]), exponents)
    columns = [np.array([128, 32]), np.array([64, 256])]
    expected = [law(128, 64), law(32, 256)]
    assert found is not None and found.at(columns, POINTS[0]).tolist() == expected


@pytest.mark.parametrize(
    "law",
    [
        lambda a, b: a + b,
        lambda a, b: max(a, b),
        lambda a, b: a - 16,
        lambda a, b: 1 << a if a < 20 else 3,
        lambda a, b: 3 * a if (a, b) == POINTS[-1] else a,  # right at every point but the last
        lambda a, b: a if b == 32 else 2 * a * b,  # a fourth power
    ],
)
def test_anything_else_has_no_law(law) -> None:  # type: ignore[no-untyped-def]
    assert fit([law(a, b) for a, b in POINTS], POINTS) is None

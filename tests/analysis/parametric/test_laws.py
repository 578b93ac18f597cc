"""Laws through the integers of several traces."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_autotune.analysis.parametric.laws import Law, fit, separates

POINTS = [(16, 32), (64, 32), (16, 128), (64, 128)]
FEWER = [(16, 32), (128, 32), (256, 16)]  # the last stands for the second parameter too


@pytest.mark.parametrize("points", [POINTS, FEWER])
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
def test_products_of_powers_are_found(points, law, exponents) -> None:  # type: ignore[no-untyped-def]
    found = fit([law(a, b) for a, b in points], points)
    assert found == Law(law(*points[0]), exponents)
    columns = [np.array([128, 32]), np.array([64, 256])]
    expected = [law(128, 64), law(32, 256)]
    assert found is not None and found.at(columns, points[0]).tolist() == expected


@pytest.mark.parametrize("points", [POINTS, FEWER])
@pytest.mark.parametrize(
    ("law", "exponents"),
    [
        (lambda a, b: a - 1, (1, 0)),
        (lambda a, b: b + 8, (0, 1)),
        (lambda a, b: a * b - 1, (1, 1)),
        (lambda a, b: a - 16, (1, 0)),  # 0 at the origin
    ],
)
def test_a_constant_more_or_less(points, law, exponents) -> None:  # type: ignore[no-untyped-def]
    found = fit([law(a, b) for a, b in points], points)
    assert found is not None and found.exponents == exponents
    columns = [np.array([128, 32]), np.array([64, 256])]
    assert found.at(columns, points[0]).tolist() == [law(128, 64), law(32, 256)]


@pytest.mark.parametrize("points", [POINTS, FEWER])
@pytest.mark.parametrize(
    "law",
    [
        lambda a, b: a + b,
        lambda a, b: max(a, b),
        lambda a, b: a - b,
        lambda a, b: 1 << a if a < 20 else 3,
        lambda a, b: 3 * a if (a, b) in (POINTS[-1], FEWER[-1]) else a,  # but at the last
        lambda a, b: a if b == 32 else 2 * a * b,  # a fourth power
    ],
)
def test_anything_else_has_no_law(points, law) -> None:  # type: ignore[no-untyped-def]
    assert fit([law(a, b) for a, b in points], points) is None


def test_two_parameters_that_no_point_changes_alone_have_no_law() -> None:
    points = [(16, 32), (128, 16)]
    assert fit([a for a, _ in points], points) is None
    assert fit([7, 7], points) == Law(7, (0, 0))


def test_a_point_tells_exponents_apart_where_none_makes_up_for_another() -> None:
    assert separates((16, 32), (256, 16), (0, 1))  # 4 and -1 doublings
    assert not separates((16, 32), (64, 128), (0, 1))  # 2 and 2
    assert not separates((16, 32), (128, 64), (0, 1))  # 3 and 1

"""Bodies whose bounds are kept as arrays: the rationals and the refusals of bounds one by one."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.bodies import body as bounds_of_columns
from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.box import Box
from opendp_lite.numbers.exact import exact, sum_up
from opendp_lite.numbers.fraction_array import FractionArray
from opendp_lite.numbers.norms import Norms
from opendp_lite.transformations.bounding import after_clamp

COUNT = 80
GENERATOR = np.random.default_rng(1)


def powers(low: int, high: int) -> np.ndarray:
    return 2.0 ** GENERATOR.integers(low, high, COUNT)


LOWER = GENERATOR.standard_normal(COUNT)
WIDTHS = {
    "whole": (np.floor(9 * LOWER), np.ones(COUNT)),
    "decimal": (np.round(LOWER, 3), np.full(COUNT, 0.75)),
    "floats": (LOWER, GENERATOR.uniform(0.1, 2, COUNT)),
    "mixed exponents": (LOWER * powers(-300, 300), powers(300, 310)),
    "huge": (LOWER * powers(800, 890), powers(895, 900)),
    "subnormal": (LOWER * 5e-324, np.full(COUNT, 2.0**-1040)),
    "huge and subnormal": (LOWER * powers(-1070, 890), powers(895, 900)),
}
every = pytest.mark.parametrize("name", WIDTHS)
as_typed = pytest.mark.parametrize("typed", [True, False], ids=["typed", "dyadic"])


def ends(name: str, typed: bool) -> tuple[list, list]:
    """As a person types them, or as a program knows them."""
    low, width = WIDTHS[name]
    lower, upper = low.tolist(), (low + width).tolist()
    return (lower, upper) if typed else (list(map(Fraction, lower)), list(map(Fraction, upper)))


def norms(sizes: list[Fraction]) -> Norms:
    return Norms.squared(sum_up(sizes), sum_up([each * each for each in sizes]), max(sizes))


@as_typed
@every
def test_a_box_has_the_norms_of_its_fractions(name, typed):
    lower, upper = ends(name, typed)
    box = Box(lower, upper)
    low, high = ([exact(each, "") for each in end] for end in (lower, upper))
    assert isinstance(box.lower, FractionArray)
    assert (tuple(box.lower), tuple(box.upper)) == (tuple(low), tuple(high))
    assert box.radii() == norms([max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)])
    assert box.diameters() == norms([b - a for a, b in zip(low, high, strict=True)])
    assert tuple(box.centre()) == tuple((a + b) / 2 for a, b in zip(low, high, strict=True))
    assert box == Box(tuple(low), np.array(high, dtype=object))


@every
def test_moving_a_box_moves_its_fractions(name):
    lower, upper = ends(name, typed=True)
    box, offsets = Box(lower, upper), [Fraction(k, 3) for k in range(COUNT)]
    factors = [Fraction(k, 7) - Fraction(31, 10) for k in range(COUNT)]
    low, high = ([exact(each, "") for each in end] for end in (lower, upper))
    shifted = box.shift(tuple(offsets))
    assert tuple(shifted.lower) == tuple(a + s for a, s in zip(low, offsets, strict=True))
    assert tuple(shifted.upper) == tuple(b + s for b, s in zip(high, offsets, strict=True))
    scaled = box.scale(tuple(factors))
    moved = [sorted((a * f, b * f)) for a, b, f in zip(low, high, factors, strict=True)]
    assert tuple(scaled.lower) == tuple(a for a, _ in moved)
    assert tuple(scaled.upper) == tuple(b for _, b in moved)
    assert tuple(box.scale((Fraction(-2),)).lower) == tuple(-2 * b for b in high)
    assert tuple(box.select((3, 1)).lower) == (low[3], low[1])
    assert box.non_negative() == (min(low) >= 0)
    assert box.keeps_zeros() == (max(low) <= 0 <= min(high))
    sizes = bounds_of_columns.drop_signs(box.bounds())
    pairs = list(zip(low, high, strict=True))
    assert tuple(sizes[0]) == tuple(max(a, -b, Fraction(0)) for a, b in pairs)
    assert tuple(sizes[1]) == tuple(max(-a, b) for a, b in pairs)


@pytest.mark.parametrize("name", ["whole", "decimal", "floats"])
def test_rows_are_rounded_between_the_same_steps(name):
    lower, upper = ends(name, typed=True)
    box = Box(lower, upper)
    snapper, unit = box.snapper(), Fraction(2) ** box.exponent()
    least, most = (each[-COUNT:] - snapper.origin for each in (snapper.least, snapper.most))
    assert least.tolist() == [ceil(exact(each, "") / unit) for each in lower]
    assert most.tolist() == [floor(exact(each, "") / unit) for each in upper]


def test_one_number_beside_many():
    upper = [k / 4 for k in range(1, COUNT + 1)]
    box = Box(0, upper)
    assert box.radii() == box.diameters() == norms([Fraction(k, 4) for k in range(1, COUNT + 1)])
    assert box.lower == (Fraction(0),)
    assert Box([2] * COUNT, [5] * COUNT) == Box(2, 5, columns=COUNT)


@every
def test_a_ball_has_the_norms_of_its_fractions(name):
    radii = [exact(each, "") for each in WIDTHS[name][1].tolist()]
    around = [exact(each, "") for each in WIDTHS[name][0].tolist()]
    ball = Ball(radii, center=around)
    reach = sum_up([r * r for r in radii])
    assert ball.squares() == reach
    assert tuple(ball.bounds()[0]) == tuple(c - r for c, r in zip(around, radii, strict=True))
    turned = ball.scale((Fraction(-1, 3),))
    assert tuple(turned.bounds()[1]) == tuple(
        (r - c) / 3 for c, r in zip(around, radii, strict=True)
    )
    assert Ball(1, center=[0] * COUNT, columns=COUNT) == Ball(1, columns=COUNT)


def test_a_clamp_that_cuts_nothing_keeps_the_body():
    ball, far = Ball(1, columns=COUNT), [2 + k for k in range(COUNT)]
    assert after_clamp(ball, Box([-each for each in far], far)) == ball


@pytest.mark.parametrize(
    ("lower", "upper", "told"),
    [
        ({3: 9}, {}, r"bounds in column 3: the lower, 9, must be below the upper, 1; swap them"),
        ({3: 1}, {}, r"bounds in column 3: the lower, 1, .* they are equal"),
        ({5: float("nan")}, {}, "lower bound must be finite, got nan"),
        ({}, {5: float("inf")}, "upper bound must be finite, got inf"),
        ({7: True}, {}, "lower bound must be a number, got True"),
        ({7: "1"}, {}, "lower bound must be a number, got '1'"),
        ({7: 10**5000}, {}, "lower bound has too many digits"),
    ],
)
def test_refusals_are_those_of_few_columns(lower, upper, told):
    for count in (10, COUNT):
        low, high = ([start] * count for start in (0, 1))
        for place, odd in lower.items():
            low[place] = odd
        for place, odd in upper.items():
            high[place] = odd
        for make in (Box, dp.clamp):
            with pytest.raises(dp.ParameterError, match=told):
                make(low, high)
            with pytest.raises(dp.ParameterError, match=told):
                make(tuple(low), tuple(high))


def test_a_list_of_another_length_is_refused():
    with pytest.raises(dp.ParameterError, match=r"bounds for \[70, 80\] columns"):
        Box(range(70), range(100, 180))
    with pytest.raises(dp.SpaceError, match="for 80 columns, the rows have 3"):
        dp.records(columns=3) >> dp.clamp([0] * 79 + [1], 2)


def test_equal_tuples_of_other_types_are_read_apart():
    """(1, ...) and (True, ...) are equal, and only one of them is a list of numbers."""
    ones = (1,) * COUNT
    assert tuple(bounds_of_columns.parse_bounds(ones, "x")) == (Fraction(1),) * COUNT
    with pytest.raises(dp.ParameterError, match="x must be a number, got True"):
        bounds_of_columns.parse_bounds((True,) * COUNT, "x")


def test_a_pipeline_is_written_and_read_with_its_bounds():
    step = dp.scale(FractionArray.of([Fraction(k, 8) for k in range(1, COUNT + 1)]))
    assert dp.from_json(step.to_json()) == step
    assert repr(step) == repr(dp.scale([Fraction(k, 8) for k in range(1, COUNT + 1)]))

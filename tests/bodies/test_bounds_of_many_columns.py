"""Bodies whose bounds are kept as arrays: the rationals and the refusals of bounds one by one."""

from __future__ import annotations

from fractions import Fraction
from operator import sub

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.bodies import body as bounds_of_columns
from opendp_lite.bodies import box as boxes
from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.body import Body
from opendp_lite.bodies.box import Box
from opendp_lite.numbers import fraction_array
from opendp_lite.numbers.fraction_array import FractionArray
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
OFFSETS = tuple(Fraction(k, 3) for k in range(COUNT))
FACTORS = tuple(Fraction(k, 7) - Fraction(31, 10) for k in range(COUNT))
BODIES = {
    "a box": Box,
    "a box beside one number": lambda lower, upper: Box(-(10**320), upper),
    "a box moved": lambda lower, upper: Box(lower, upper).shift(OFFSETS),
    "a box scaled": lambda lower, upper: Box(lower, upper).scale(FACTORS),
    "a box turned": lambda lower, upper: Box(lower, upper).scale((Fraction(-2),)),
    "some columns": lambda lower, upper: Box(lower, upper).select(tuple(range(70, 10, -1))),
    "a ball": lambda lower, upper: Ball(WIDTHS["floats"][1].tolist(), center=lower),
    "an ellipsoid": lambda lower, upper: Ball(list(map(sub, upper, lower))),
    "a ball turned": lambda lower, upper: Ball(OFFSETS[1:] + OFFSETS[1:2], center=upper).scale(
        (Fraction(-1, 3),)
    ),
}


@attrs.frozen(eq=False)
class Near:
    """A number, equal to those within 2^-60 of it relatively."""

    number: Fraction

    def __eq__(self, other: Near) -> bool:
        return abs(self.number - other.number) <= self.number / 2**60


def facts(body: Body):
    """All that follows from the bounds of a body."""
    ends = bounds_of_columns.drop_signs(body.bounds())
    told = [body.non_negative(), body.keeps_zeros(), repr(body)]
    for norms in (body.radii(), body.diameters()):
        # Sums of many squares are rounded up, and not alike.
        told += [norms.l1, Near(norms.l2_squared), norms.linf]
    return [*told, *map(tuple, (*body.bounds(), body.centre(), *ends)), grid(body)]


def grid(body: Body):
    """How rows are rounded, or why they cannot be."""
    try:
        parts = attrs.astuple(body.snapper(), recurse=False)
    except dp.ParameterError as refused:
        return str(refused)
    return [each.tolist() for each in parts if isinstance(each, np.ndarray)]


@pytest.mark.parametrize("typed", [float, Fraction], ids=["typed", "dyadic"])
@pytest.mark.parametrize("name", WIDTHS)
@pytest.mark.parametrize("make", BODIES.values(), ids=BODIES)
def test_what_follows_from_many_bounds_follows_from_them_one_by_one(make, name, typed, monkeypatch):
    """Arrays of rationals beside tuples of them, which Python's own fractions work out."""
    low, width = WIDTHS[name]
    lower, upper = ([typed(each) for each in end.tolist()] for end in (low, low + width))
    assert isinstance(Box(lower, upper).lower, FractionArray)
    of_arrays = facts(make(lower, upper))
    for module in (bounds_of_columns, boxes, fraction_array):
        monkeypatch.setattr(module, "LONG", 10**9)
    assert isinstance(Box(lower, upper).lower, tuple)
    assert of_arrays == facts(make(lower, upper))


def test_equal_bounds_are_kept_once():
    assert Box([2] * COUNT, [5] * COUNT) == Box(2, 5, columns=COUNT)
    assert Ball(1, center=[0] * COUNT, columns=COUNT) == Ball(1, columns=COUNT)
    box = Box(tuple(range(COUNT)), np.arange(1, COUNT + 1, dtype=object))
    assert box == Box(list(range(COUNT)), [Fraction(k + 1) for k in range(COUNT)])


def test_a_clamp_that_cuts_nothing_keeps_the_body():
    ball, far = Ball(1, columns=COUNT), [2 + k for k in range(COUNT)]
    assert after_clamp(ball, Box([-each for each in far], far)) == ball


@pytest.mark.parametrize(
    ("lower", "upper", "told"),
    [
        ({3: 9}, {}, "bounds in column 3: the lower must be below the upper; swap them"),
        ({3: 1}, {}, "bounds in column 3: .*; they are equal"),
        ({5: float("nan")}, {}, "lower bound must be finite, got nan"),
        ({}, {5: float("inf")}, "upper bound must be finite, got inf"),
        ({7: True}, {}, "lower bound must be a number, got True"),
        ({7: "1"}, {}, "lower bound must be a number, got text"),
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


def test_a_row_in_its_bounds_is_summed_as_it_is_however_these_were_moved():
    """The uppers have no common denominator below 2^1024, and counted as 0: so did the sum."""
    upper = [Fraction(10**9 + k, 10**8 + 7 * k) for k in range(COUNT)]
    moves = [Fraction(k, 2**500 * 5**200) for k in range(COUNT)]
    factors = [1 + Fraction(k, 7**150) for k in range(COUNT)]
    lower = [each - 3 for each in moves]
    sums = dp.clamp(lower, upper) >> dp.center(moves) >> dp.scale(1) >> dp.scale(factors)
    row = np.array([[float(each) for each in upper]])
    found = (dp.records(columns=COUNT) >> sums >> dp.sum())(row)
    np.testing.assert_allclose(found, row[0], rtol=1e-9)


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

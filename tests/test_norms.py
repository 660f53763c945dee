"""Bounds on norms: what follows from what, and what is within what."""

from fractions import Fraction
from itertools import product
from math import inf

import pytest

import opendp_lite as dp
from opendp_lite.measurements.selection import spread
from opendp_lite.numbers.exact import rational_of_float


def test_a_norm_of_which_nothing_is_known_is_within_no_bound():
    known = dp.Norms(l2=1)
    assert known.l1 is None
    assert not known.within(dp.Norms(l1=10**9))
    assert not dp.Norms(linf=1).within(dp.Norms(l2=10**9))
    assert not dp.Norms(linf=1).within(dp.Norms(l1=10**9, linf=2))
    assert (
        not (dp.vector(3) >> dp.gaussian(scale=1))
        .input_space.metric.distance(1)
        .within(dp.Norms(l1=10**9))
    )


def test_a_bound_that_says_nothing_asks_for_nothing():
    """What is filled in from others is asked for: linf <= l2 <= l1."""
    assert dp.Norms(l1=1).within(dp.Norms(linf=1))
    assert dp.Norms(l1=3, l2=2, linf=1).within(dp.Norms(l2=2))
    assert not dp.Norms(l1=3, l2=2).within(dp.Norms(l1=3, l2=1))


@pytest.mark.parametrize("which", ["l1", "l2", "linf"])
def test_each_norm_is_compared(which):
    bounds = {"l1": 5, "l2": 3, "linf": 2}
    norms = dp.Norms(**bounds)
    assert norms.within(norms)
    tighter = dp.Norms(**{**bounds, which: bounds[which] - Fraction(1, 10**30)})
    assert tighter.within(norms)
    assert not norms.within(tighter)


def test_what_is_filled_in_holds_for_vectors():
    """Over all small vectors of whole numbers."""
    for vector in product(range(-2, 3), repeat=3):
        l1, square, linf = sum(map(abs, vector)), sum(v * v for v in vector), max(map(abs, vector))
        filled = dp.Norms(l1=l1, linf=linf)
        assert filled.l2_squared >= square
        spread = dp.Norms(linf=linf).over(3)
        assert spread.l2_squared >= square
        assert spread.l1 >= l1
        for p, true in ((1, l1), (inf, linf)):
            assert filled.of(p) == true


def test_sums_and_multiples_are_those_of_the_norms():
    first, second = dp.Norms(l1=9, l2=2, linf=1), dp.Norms(l1=9, l2=4, linf=3)
    both = first + second
    assert (both.l1, both.l2_squared, both.linf) == (18, 36, 4)
    assert first * -3 == dp.Norms(l1=27, l2=6, linf=3)
    assert first.beside(second) == dp.Norms.squared(Fraction(18), Fraction(20), Fraction(3))
    assert first.or_else(second) == second
    assert first.or_else(dp.Norms(linf=1)).l1 is None
    assert (dp.Norms(l2=1) + dp.Norms(l1=1)).l1 is None


def test_what_is_shown_is_never_below():
    for numerator in range(1, 300):
        square = Fraction(numerator, 7)
        norms = dp.Norms.squared(None, square, None)
        assert rational_of_float(norms.l2) ** 2 >= square
        assert norms.of(2) ** 2 >= square
        assert norms.linf**2 >= square


def test_what_is_not_known_is_not_shown_and_no_norm_is_below_0():
    assert repr(dp.Norms(l2=1)) == "dp.Norms(l2=1.0, linf=1.0)"
    assert dp.Norms(linf=1).l2 is None
    with pytest.raises(dp.ParameterError, match="a norm is at least 0"):
        dp.Norms(l1=1, linf=-1)


UNITS = {
    dp.metrics.L1Distance(): lambda d: (1, 1, 1),
    dp.metrics.L2Distance(): lambda d: (d, 1, 1),
    dp.metrics.LInfDistance(): lambda d: (d * d, d, 1),
}
"""The squares of the largest l1, l2 and linf norm, all attained: equal entries, or one entry."""
LOSSES = {
    dp.laplace(scale=1): lambda l1, l2, linf: l1,
    dp.gaussian(scale=1): lambda l1, l2, linf: Fraction(l2 * l2, 4),
    dp.measurements.l2_mechanism(scale=1): lambda l1, l2, linf: l2,
    dp.measurements.linf_mechanism(scale=1): lambda l1, l2, linf: linf,
}
"""The square of what each loses for a vector that moves so far."""


@pytest.mark.parametrize("noise", LOSSES, ids=repr)
def test_noise_on_a_vector_of_any_dimension_costs_its_largest_norm(noise):
    for dimension, metric in product([*range(1, 11), 50, 99, 100], UNITS):
        true = LOSSES[noise](*UNITS[metric](dimension))
        claimed = (dp.vector(dimension, metric) >> noise).loss(1) ** 2
        assert true <= claimed <= true * (1 + Fraction(1, 2**60)), (dimension, metric)
        least = min(UNITS[metric](dimension)[0], 2 * UNITS[metric](dimension)[1], 4)
        assert least <= spread(metric.distance(1), dimension) ** 2 <= least + Fraction(1, 2**60)


@pytest.mark.parametrize("name", ["L1Distance", "L2Distance", "LInfDistance"])
def test_a_distance_of_one_norm_shows_its_bound(name):
    metric = getattr(dp.metrics, name)()
    assert metric.show(metric.distance(3)) == 3


def test_people_are_told_apart_by_a_column_of_a_name():
    with pytest.raises(dp.ParameterError, match="the name of a column"):
        dp.metrics.SymmetricIdDistance(3)

"""Choices among scores: their exact laws for vectors, and what a person sees.

Through sums, under both relations, they are for ``tests/test_exact_laws.py``.
"""

from fractions import Fraction
from math import exp, expm1, inf, nan

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.measurements import selection as module
from opendp_lite.samplers.choice import FAR_EXPONENT
from tests.exact_laws import Ways, ways

__all__ = ["ways"]

ROUNDING = 1e-12
"""Of the laws, which are computed in floats here."""
LINF = dp.metrics.LInfDistance()
exponential_mechanism = dp.measurements.exponential_mechanism


MECHANISMS = {"noisy_max": dp.noisy_max, "exponential_mechanism": exponential_mechanism}


def law(ways: Ways, bound, scores) -> np.ndarray:
    """The probability of each place."""
    found = ways.law_of(bound, scores)
    return np.array([found.get(place, 0.0) for place in range(len(scores))])


@pytest.mark.parametrize(("given", "power"), [({"epsilon": 1}, 1), ({"rho": 0.5}, 2)], ids=str)
def test_a_rate_is_a_hair_below_what_the_loss_pays_for(given, power, monkeypatch):
    """Of two scores one may rise by 2 more than the other: epsilon = 2 rate, rho = rate^2 / 2."""
    rates, exponents = [], module.exponents

    def take(value, rate, lowest):
        rates.append(rate)
        return exponents(value, rate, lowest)

    monkeypatch.setattr(module, "exponents", take)
    approvals = dp.records(columns=3) >> dp.clamp(0, 1) >> dp.sum()
    (approvals >> dp.noisy_max(**given))([[1.0, 0.0, 1.0]])
    (rate,) = rates
    claim = Fraction(str(next(iter(given.values()))))
    assert claim * (1 - Fraction(1, 2**45)) < (2 * rate) ** power / power**3 < claim


@pytest.mark.parametrize("make", MECHANISMS.values(), ids=MECHANISMS)
def test_the_pure_loss_is_attained_by_vectors(make, ways):
    """Scores that move by 1 each, in opposite directions."""
    bound = dp.vector(3, LINF) >> make(epsilon=1)
    one, two = law(ways, bound, [0.0, 19.0, -5.0]), law(ways, bound, [1.0, 18.0, -5.0])
    assert 0.99 < np.abs(np.log(one / two)).max() <= 1 + ROUNDING
    lowest = dp.vector(3, LINF) >> make(epsilon=1, lowest=True)
    assert np.allclose(law(ways, lowest, [0.0, -19.0, 5.0]), one)


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return float(np.log((p**order * q ** (1 - order)).sum()) / (order - 1))


@pytest.mark.parametrize("make", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("rho", [Fraction(1, 100), 2])
def test_rho_holds_at_every_order_and_is_attained(make, rho, ways):
    bound, worst = dp.vector(2, LINF) >> make(rho=rho), 0.0
    for start in np.linspace(-3, 3, 13):
        one, two = law(ways, bound, [start, 0.0]), law(ways, bound, [start + 1, -1.0])
        for order in (1.001, 1.5, 2, 4, 32):
            for p, q in ((one, two), (two, one)):
                worst = max(worst, divergence(p, q, order) / order)
    assert worst <= rho + ROUNDING
    assert worst > (0.95 if rho < 1 else 0.5) * rho
    assert bound.loss(2) == 4 * rho


def test_an_eighth_of_the_square_is_no_rho_of_permute_and_flip(ways):
    """OpenDP issue 2911: ``rho=`` has to be another mechanism than ``epsilon=``."""
    bound = dp.vector(2, LINF) >> dp.noisy_max(epsilon=1)
    one, two = (law(ways, bound, scores) for scores in ([0, 0], [1, -1]))
    assert max(divergence(two, one, 2), divergence(one, two, 2)) > 2 * 1.4 / 8
    assert (bound >> dp.to_zcdp()).map(1) == pytest.approx(expm1(1) / (expm1(1) + 2), rel=1e-9)


@pytest.mark.parametrize("gap", [0.0, 0.5, 2.0, 10.0])
def test_noisy_max_errs_no_more_than_the_exponential_mechanism(gap, ways):
    scores, space = [0.0, *[-gap] * 4], dp.vector(5, LINF)
    best, other = (law(ways, space >> make(epsilon=1), scores)[0] for make in MECHANISMS.values())
    assert best >= other - 1e-12
    assert gap == 0 or best > other


def test_the_spread_is_the_least_of_three_bounds():
    assert module.spread(dp.Norms(linf=1), 5) == 2
    assert module.spread(dp.Norms(l1=1, linf=1), 5) == 1
    assert module.spread(dp.Norms(l1=3, linf=1), 5) == 2
    assert float(module.spread(dp.Norms(l2=1), 5)) == pytest.approx(2**0.5)
    assert module.spread(dp.Norms(l2=1), 5) ** 2 >= 2


def test_labels_and_lowest():
    names = ["tea", "coffee", "water"]
    for make in MECHANISMS.values():
        for loss in ({"epsilon": 5000}, {"rho": 10**7}):
            space = dp.vector(3, LINF)
            assert (space >> make(**loss))([1.0, 7.0, 3.0]) == 1
            assert (space >> make(**loss, names=names))([1.0, 7.0, 3.0]) == "coffee"
            assert (space >> make(**loss, names=names, lowest=True))([1.0, 7.0, 3.0]) == "tea"
            assert type((space >> make(**loss))([1.0, 7.0, 3.0])) is int


def test_one_score_is_chosen():
    for make in MECHANISMS.values():
        assert (dp.vector(1, LINF) >> make(epsilon=1))([nan]) == 0
        assert (dp.clamp(0, 1) >> dp.sum() >> make(rho=1, names=["all"]))([]) == "all"


HARD = [
    [nan, -inf, inf],
    [1e308, -1e308, 5e-324],
    [5e-324, 0.0, -5e-324],
    [2.0**53, 2.0**53 - 1, -(2.0**53)],
    [0.1, 0.1, 0.1],
    [-0.0, 0.0, nan],
]


@pytest.mark.parametrize("make", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("loss", [1e-300, 1, 1e300, Fraction(10) ** 600])
@pytest.mark.parametrize("unit", [1, 1e-300, Fraction(10) ** 500])
def test_no_value_and_no_loss_makes_trouble(make, loss, unit):
    for name in ("epsilon", "rho"):
        pipeline = dp.vector(3, LINF, unit=unit) >> make(**{name: loss})
        assert all(pipeline(scores) in (0, 1, 2) for scores in HARD)


def test_nan_counts_as_zero_and_far_scores_as_bounds(ways):
    bound = dp.vector(3, LINF) >> dp.noisy_max(epsilon=1)
    two, same = (law(ways, bound, [first, 1.0, -1.0]) for first in (nan, 0.0))
    assert np.array_equal(two, same)
    assert np.allclose(law(ways, bound, [inf, 1e300, 2.0**53]), 1 / 3)
    tiny = dp.vector(2, LINF, unit=Fraction(5e-324)) >> dp.noisy_max(epsilon=2)
    behind = exp(-1) / 2
    assert np.allclose(law(ways, tiny, [5e-324, 0.0]), [1 - behind, behind])


def test_scores_of_every_width_are_compared_exactly():
    """As int64 at its ends, as Python integers, and as floats: one unit of difference is seen."""
    for steps in (
        np.array([2**63 - 1, -(2**63), 2**63 - 2]),
        np.array([2**70, -(2**70), 2**70 - 1], dtype=object),
        np.array([2.0**53, -(2.0**53), 2.0**53 - 1]),
    ):
        top, bottom = (module.exponents(dp.Grid(steps, 0), Fraction(1, 3), low) for low in (0, 1))
        width = int(steps[0]) - int(steps[1])
        assert [top[1](i) for i in range(3)] == [0, Fraction(width, 3), Fraction(1, 3)]
        assert [bottom[1](i) for i in range(3)] == [Fraction(width, 3), 0, Fraction(width - 1, 3)]
        assert top[0] == pytest.approx([0, FAR_EXPONENT, 1 / 3], abs=2.0**-40)
        assert bottom[0] == pytest.approx([FAR_EXPONENT, 0, FAR_EXPONENT], abs=2.0**-40)

"""Choices among scores: their exact laws against the claims, through sums under both relations."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import expm1, inf, nan

import attrs
import numpy as np
import pytest
from scipy.stats import chi2

import opendp_lite as dp
from opendp_lite.measurements import selection as module
from opendp_lite.pipeline.step_call import forget_steps
from opendp_lite.samplers.choice import FAR_EXPONENT

ROUNDING = 1e-12
"""Of the laws, which are computed in floats here."""
LINF = dp.metrics.LInfDistance()
REPLACE = dp.ChangeOneDistance()
exponential_mechanism = dp.measurements.exponential_mechanism


def flipped(exponents) -> np.ndarray:
    """Permute-and-flip: heads of independent coins, one of them chosen evenly."""
    chances = np.exp(-np.asarray(exponents, dtype=float))
    found = np.zeros(len(chances))
    for place, chance in enumerate(chances):
        others = np.array([1.0])
        for other in np.delete(chances, place):
            others = np.convolve(others, [1 - other, other])
        found[place] = chance * (others / np.arange(1, len(others) + 1)).sum()
    return found


def weighted(exponents) -> np.ndarray:
    weights = np.exp(-np.asarray(exponents, dtype=float))
    return weights / weights.sum()


def law(pipeline, data) -> np.ndarray:
    """The law of the release: of the sampler that the pipeline calls, with what it is handed."""
    handed = {}

    def take(kind):
        def sampler(floats, exactly, entropy):
            exact = [exactly(i) for i in range(len(floats))]
            assert np.abs(floats - [min(float(e), FAR_EXPONENT) for e in exact]).max() < 2.0**-40
            handed[kind] = [float(each) for each in exact]
            return 0

        return sampler

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "permute_and_flip", take(flipped))
        patch.setattr(module, "draw_weighted", take(weighted))
        forget_steps()
        (space, calls) = pipeline
        (space >> calls())(data)
    ((kind, exponents),) = handed.items()
    return kind(exponents)


BALLOT = dp.clip_to_norm(1, p=1) >> dp.sum()
APPROVAL = dp.clamp(0, 1) >> dp.sum()
CENTRED = dp.clamp(0, 1) >> dp.center(0.5) >> dp.sum()
PRIVATE = dp.records(columns=3)
PUBLIC = dp.records(columns=3, size=21, metric=REPLACE)
CORNERS = [list(map(float, corner)) for corner in product((0, 1), repeat=3)]
VOTES = [row for row in CORNERS if sum(row) <= 1]
FRONTS = {
    "ballots, add or remove": (PRIVATE >> BALLOT, VOTES, 1),
    "ballots, replace": (PUBLIC >> BALLOT, VOTES, 2),
    "approvals, add or remove": (PRIVATE >> APPROVAL, CORNERS, 2),
    "approvals, replace": (PUBLIC >> APPROVAL, CORNERS, 2),
    "centred approvals, add or remove": (PRIVATE >> CENTRED, CORNERS, 1),
    "centred approvals, replace": (PUBLIC >> CENTRED, CORNERS, 2),
}
"""Rows before noise, the rows that are furthest apart, and the spread of one unit."""
MECHANISMS = {"noisy_max": dp.noisy_max, "exponential_mechanism": exponential_mechanism}


def neighbours(name):
    """Pairs of datasets one unit apart: a few totals, and every corner row that may come."""
    _, rows, _ = FRONTS[name]
    heap = [[0.0, 1.0, 0.0]] * 20
    for base in ([], heap, [*heap, *[[0.0, 0.0, 1.0]] * 20]):
        if "replace" in name:
            fill = (base or [[1.0, 0.0, 0.0]] * 20)[:20]
            for one, other in combinations(rows, 2):
                yield [*fill, one], [*fill, other]
        else:
            for row in rows:
                yield base, [*base, row]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("front", FRONTS)
def test_the_pure_loss_holds_and_is_attained(front, mechanism):
    """Over the exact laws of all pairs. Centred approvals need no promise that scores only grow."""
    before, _, reach = FRONTS[front]

    def make():
        return MECHANISMS[mechanism](epsilon=1)

    worst = 0.0
    for data, other in neighbours(front):
        one, two = law((before, make), data), law((before, make), other)
        worst = max(worst, float(np.abs(np.log(one / two)).max()))
    assert worst <= 1 + ROUNDING
    tight = reach == 1 or "replace" in front or "centred" in front
    assert worst > (0.9 if tight else 0.45)
    assert (before >> make()).map(1) == 1
    assert (before >> make()).map(3) == 3


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_pure_loss_is_attained_by_vectors(name):
    """Scores that move by 1 each, in opposite directions."""
    space = dp.vector(3, LINF)

    def make():
        return MECHANISMS[name](epsilon=1)

    one, two = law((space, make), [0.0, 19.0, -5.0]), law((space, make), [1.0, 18.0, -5.0])
    assert 0.99 < np.abs(np.log(one / two)).max() <= 1 + ROUNDING
    lowest = law((space, lambda: MECHANISMS[name](epsilon=1, lowest=True)), [0.0, -19.0, 5.0])
    assert np.allclose(lowest, one)


def divergence(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return float(np.log((p**order * q ** (1 - order)).sum()) / (order - 1))


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("rho", [Fraction(1, 100), 2])
def test_rho_holds_at_every_order_and_is_attained(name, rho):
    space, worst = dp.vector(2, LINF), 0.0

    def make():
        return MECHANISMS[name](rho=rho)

    for start in np.linspace(-3, 3, 13):
        one, two = law((space, make), [start, 0.0]), law((space, make), [start + 1, -1.0])
        for order in (1.001, 1.5, 2, 4, 32):
            for p, q in ((one, two), (two, one)):
                worst = max(worst, divergence(p, q, order) / order)
    assert worst <= rho + ROUNDING
    assert worst > (0.95 if rho < 1 else 0.5) * rho
    assert (space >> make()).loss(2) == 4 * rho


def test_an_eighth_of_the_square_is_no_rho_of_permute_and_flip():
    """OpenDP issue 2911: ``rho=`` has to be another mechanism than ``epsilon=``."""
    space = dp.vector(2, LINF)
    one, two = (
        law((space, lambda: dp.noisy_max(epsilon=1)), scores) for scores in ([0, 0], [1, -1])
    )
    assert max(divergence(two, one, 2), divergence(one, two, 2)) > 2 * 1.4 / 8
    assert (space >> dp.noisy_max(epsilon=1) >> dp.to_zcdp()).map(1) == pytest.approx(
        expm1(1) / (expm1(1) + 2), rel=1e-9
    )


@pytest.mark.parametrize("gap", [0.0, 0.5, 2.0, 10.0])
def test_noisy_max_errs_no_more_than_the_exponential_mechanism(gap):
    scores = np.array([0.0, *[-gap] * 9])
    space = dp.vector(10, LINF)
    best, other = (
        law((space, lambda make=make: make(epsilon=1)), scores)[0] for make in MECHANISMS.values()
    )
    assert best >= other - 1e-12
    assert gap == 0 or best > other


def test_the_spread_is_the_least_of_three_bounds():
    assert module.spread(dp.Norms(linf=1), 5) == 2
    assert module.spread(dp.Norms(l1=1, linf=1), 5) == 1
    assert module.spread(dp.Norms(l1=3, linf=1), 5) == 2
    assert float(module.spread(dp.Norms(l2=1), 5)) == pytest.approx(2**0.5)
    assert module.spread(dp.Norms(l2=1), 5) ** 2 >= 2


@pytest.mark.parametrize("make", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("loss", [{"epsilon": 1}, {"rho": 0.1}], ids=str)
def test_releases_follow_their_law(make, loss):
    space, data, draws = dp.vector(4, LINF), [0.0, 1.5, -1.0, 1.5], 1000
    expected = law((space, lambda: make(**loss)), data) * draws
    pipeline = space >> make(**loss)
    found = np.bincount(
        [pipeline.insecure_release(data, seed).value for seed in range(draws)], minlength=4
    )
    assert chi2.sf(((found - expected) ** 2 / expected).sum(), 3) > 1e-8


Scores = dp.Space[dp.Vectors]


@dp.mechanism
def half_the_noise(space: Scores, epsilon: float) -> dp.Measurement[Scores, dp.MaxDivergence]:
    honest = dp.noisy_max(epsilon=epsilon).bind(space)
    return attrs.evolve(honest, function=dp.noisy_max(epsilon=2 * epsilon).bind(space).function)


def test_half_the_noise_loses_more_than_it_claims():
    space, one_unit = dp.vector(2, LINF), ([0.0, 3.0], [1.0, 2.0])
    first, second = (law((space, lambda: half_the_noise(1)), scores) for scores in one_unit)
    assert np.abs(np.log(first / second)).max() > 1.9


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


def test_nan_counts_as_zero_and_far_scores_as_bounds():
    make = dp.noisy_max
    space = dp.vector(3, LINF)
    two = law((space, lambda: make(epsilon=1)), [nan, 1.0, -1.0])
    assert np.array_equal(two, law((space, lambda: make(epsilon=1)), [0.0, 1.0, -1.0]))
    far = law((space, lambda: make(epsilon=1)), [inf, 1e300, 2.0**53])
    assert np.allclose(far, 1 / 3)
    tiny = law((dp.vector(2, LINF, unit=Fraction(5e-324)), lambda: make(epsilon=2)), [5e-324, 0.0])
    assert np.allclose(tiny, flipped([0, 1]))


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

"""Every estimator against many releases of the neighbours that move it most."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp

E = dp.estimators
pytestmark = pytest.mark.usefixtures("seeded")
REPLACE = dp.ChangeOneDistance()
FAR = 10.0
FAST = [
    E.gaussian_mean(FAR, rho=0.5),
    E.laplace_mean(FAR, epsilon=1),
    E.elliptical_mean(-FAR, FAR, rho=0.5),
    E.scaled_mean(FAR / 3, rho=0.5),
]
SLOW = [
    E.scaled_mean(FAR / 3, rho=0.5, searched=True),
    E.plan_plus_mean(FAR, rho=0.5),
    E.normal_variance(FAR, rho=0.5),
    E.normal_variance(FAR, rho=0.5, by="pairs"),
    E.quantile_by_search(0.5, -FAR, FAR, rho=0.5, steps=1),
]
SIZED = [
    E.plan_mean(FAR, rho=0.5),
    E.plan_mean(FAR, rho=0.5, variances="none"),
    E.iome_mean(FAR, rho=0.5, steps=1),
    E.normal_variance(FAR, rho=0.5, by="direct"),
    E.normal_variance(FAR, rho=0.5, by="binary"),
]
RELEASES = 100
"""Among so few a leak of values or of control flow shows. Too little noise shows among more, in
``test_half_the_noise_would_be_found``; the queries that programs ask are audited by themselves."""
AT_A_JUMP = [-FAR, -FAR, FAR], [-FAR, -FAR, FAR, FAR]
"""Of the median."""
ADDED = ([0.0] * 4, [0.0] * 4 + [FAR]), ([], [FAR])
MOVED_AT_A_JUMP = [-FAR] * 3 + [FAR] * 2, [-FAR] * 2 + [FAR] * 3
REPLACED = ([0.0] * 3 + [-FAR], [0.0] * 3 + [FAR]), ([-FAR], [FAR])
HALF = np.repeat([-FAR, FAR], 300)
MOVED = np.where(np.arange(600) == 0, FAR, HALF)
ONES = np.ones((4, 3))
END = np.full((1, 3), FAR)
ENDS = np.array([[0.0, 9.0], [9.0, 0.0], [0.0, 0.0], [9.0, 9.0]])
AT_AN_EXTREME = [np.concatenate([np.zeros((4, 3)), sign * END]) for sign in (-1, 1)]
OTHERS = [
    *((each, *AT_AN_EXTREME) for each in (FAST[0], FAST[2])),
    *(
        (E.binary_mean(rho=0.5, published=each), ONES, ONES * np.array([[1], [1], [1], [0]]))
        for each in (False, True)
    ),
    (E.binary_mean(rho=0.5), ONES, ONES[:3]),
    (dp.mean(rho=0.5, confidence=None), HALF[100:500], np.append(HALF[100:500], FAR)),
    (dp.mean(rho=0.5, confidence=None), HALF[:2], HALF[:3]),
    *(
        (E.unbounded_mean(**loss, confidence=None), HALF[100:500], np.append(HALF[101:500], FAR))
        for loss in ({"rho": 0.5}, {"epsilon": 4})
    ),
    (dp.private_bounds(0.9, rho=0.5), HALF, np.append(HALF, 1e9)),
    (dp.private_bounds(0.9, rho=0.5), HALF[:3], HALF[:2]),
    (dp.private_bounds(0.9, rho=0.5), HALF, MOVED),
    (dp.covariance(0, 9, rho=0.5), [0.0, 0.0, 9.0], [0.0] * 3),
    (dp.linear_regression(0, 1, [(0, 9), (0, 9)], epsilon=1), ENDS, ENDS[:3]),
    (dp.linear_regression(0, 1, [(0, 9), (0, 9)], rho=0.5), ENDS, ENDS * [[1], [1], [1], [0]]),
    (dp.variance(0, 9, rho=0.5, confidence=None), [0.0, 0.0, 0.0, 9.0], [0.0] * 3),
    (dp.variance(0, 9, epsilon=1, confidence=None), [0.0, 0.0, 0.0, 9.0], [0.0] * 4),
]
"""An estimator, and neighbours that move it most. A ``standard_deviation`` is
a function of the same release as a ``variance``; the noises of both are checked by the sums' tests.
"""
CASES = [
    *((each, *pair) for each in FAST for pair in ADDED + REPLACED),
    *((each, *AT_A_JUMP) for each in SLOW[:3]),
    *((each, *MOVED_AT_A_JUMP) for each in SLOW + SIZED),
    *OTHERS,
]


@pytest.mark.parametrize(
    ("mechanism", "data", "other"),
    CASES,
    ids=[f"{place}-{each!r}" for place, (each, *_) in enumerate(CASES)],
)
def test_nothing_is_found(mechanism, data, other):
    """Each would fail with probability 1e-7, were the seed not fixed."""
    columns, size = 1 if np.ndim(data) == 1 else len(data[0]), len(data)
    replaced = size == len(other)
    space = dp.records(columns, size, REPLACE) if replaced else dp.records(columns)
    dp.audit(space >> mechanism, data, other, releases=RELEASES)


HALVED = {
    "gaussian_mean": (lambda k: E.gaussian_mean(FAR, rho=k * k), 1200),
    "elliptical_mean": (lambda k: E.elliptical_mean(-FAR, FAR, rho=k * k), 1200),
    "scaled_mean": (lambda k: E.scaled_mean(FAR / 3, rho=k * k), 1200),
    "laplace_mean": (lambda k: E.laplace_mean(FAR, epsilon=2 * k), 1600),
}
"""With noise of a scale of 1 / k, and how many releases find half of it."""


@pytest.mark.parametrize("name", HALVED)
def test_half_the_noise_would_be_found(name, falsely):
    """On a space of three rows, with the largest move; honestly it is found in 1e-7 of tests."""
    make, releases = HALVED[name]
    data, other = [0.0, 0.0, -2 * FAR], [0.0, 0.0, 2 * FAR]
    space = dp.records(size=3, metric=REPLACE)
    honest = space >> make(1)
    dp.audit(honest, data, other, releases=releases)
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(falsely(honest, space >> make(2)), data, other, releases=releases)


@pytest.mark.parametrize("distance", [2, 3])
def test_groups_of_rows(distance):
    data, other = [-FAR] * 3, [FAR] * distance + [-FAR] * (3 - distance)
    space = dp.records(size=3, metric=REPLACE)
    for mechanism in (E.gaussian_mean(FAR, rho=0.1), E.normal_variance(FAR, rho=0.1)):
        dp.audit(space >> mechanism, data, other, d_in=distance, releases=RELEASES)

"""Means of several columns and of weighted values against their claims, with power that is shown.

What is audited is the noisy release itself, sums of squares included: estimates are made of it
alone, so they tell no more.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.combinators.composing import compose
from opendp_lite.estimators.means.ratios import _Weighted
from opendp_lite.estimators.parts.request import Request

E = dp.estimators
pytestmark = pytest.mark.usefixtures("seeded")
ASKED = {"confidence": 0.9, "sampling": True}
TABLE = dp.records(columns=2)
PAIR = dp.records(columns=2, size=2, metric=dp.ChangeOneDistance())
HALF = 2**-0.5
NONE = np.empty((0, 2))
ADDED, ADDED_DIAGONALLY = (NONE, np.array([[1.0, 0.0]])), (NONE, np.array([[HALF, HALF]]))
TURNED = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [-1.0, 0.0]])
RHO, EPSILON = {"rho": 1}, {"epsilon": 2}
SPILL = {"epsilon": 1, "delta": 0.01}
gaussian, laplace, ball, simplex = (
    partial(make, 1)
    for make in (E.gaussian_mean, E.laplace_mean, E.l2_mechanism_mean, E.simplex_vector_mean)
)
weighted = partial(dp.weighted_mean, 0, 1, most=1)
CASES = {
    "gaussian_mean": (TABLE, gaussian, RHO, ADDED, 1300),
    "laplace_mean": (TABLE, laplace, EPSILON, ADDED_DIAGONALLY, 1800),
    "l2_mechanism_mean": (TABLE, ball, EPSILON, ADDED, 1800),
    "l2_mechanism_mean, replaced": (PAIR, ball, EPSILON, TURNED, 1800),
    "simplex_vector_mean": (TABLE, simplex, EPSILON, ADDED, 1600),
    "simplex_vector_mean, spill": (TABLE, simplex, SPILL, ADDED, 1000),
    "weighted_mean": (TABLE, weighted, EPSILON, (NONE, np.array([[1.0, 1.0]])), 1800),
    "weighted_mean, rho": (TABLE, weighted, RHO, (NONE, np.array([[1.0, 1.0]])), 1300),
}
"""A space, an estimator, its budget, neighbours, and how many releases find half the noise."""
HALF_THE_NOISE = {"rho": {"rho": 4}, "epsilon": {"epsilon": 4}, "epsilon, delta": {"rho": 2}}


@pytest.fixture(autouse=True)
def as_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release is what it would be read from."""

    def raw(self, space, rows, noisy, vector, totals):
        squares = rows >> dp.transformations.square() >> dp.sum() >> self.for_squares.noise()
        return compose(noisy, squares).bind(space)

    monkeypatch.setattr(Request, "of_columns", raw)
    monkeypatch.setattr(Request, "as_estimate", lambda _, found: found)
    monkeypatch.setattr(_Weighted, "read", lambda _, sums: sums)
    monkeypatch.setattr(_Weighted, "sampled", lambda *given: given[-1])


def flat(release: Any) -> np.ndarray:
    if type(release) is tuple:
        return np.concatenate([flat(part) for part in release])
    return np.atleast_1d(np.asarray(release, dtype=float))


class Score:
    """How much more likely a release is under the second dataset, from releases of its own."""

    def __init__(self, pipeline: dp.Measurement, pair: Any, pure: bool) -> None:
        drawn = [np.array([flat(pipeline(data)) for _ in range(150)]) for data in pair]
        self.first, self.second = (np.median(each, axis=0) for each in drawn)
        both = zip(drawn, (self.first, self.second), strict=True)
        self.size = sum(np.abs(each - middle).mean(axis=0) / 2 for each, middle in both)
        self.pure = pure

    def __call__(self, release: Any) -> float:
        found = flat(release)
        if self.pure:
            nearer = np.abs(found - self.first) - np.abs(found - self.second)
            return float((nearer / self.size).sum())
        return float((found * (self.second - self.first) / self.size**2).sum())


@pytest.mark.parametrize("name", CASES)
def test_columns(name, falsely):
    """Nothing is found, with probability 2e-7 of it by chance; half the noise would be."""
    space, make, budget, pair, releases = CASES[name]
    less = HALF_THE_NOISE[", ".join(budget)]
    honest, less = space >> make(**budget, **ASKED), space >> make(**less, **ASKED)
    false = falsely(honest, less)
    pure = list(budget) == ["epsilon"]
    dp.audit(honest, *pair, releases=releases, score=Score(honest, pair, pure))
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(false, *pair, releases=releases, score=Score(false, pair, pure))

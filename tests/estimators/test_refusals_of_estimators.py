"""Parameters of estimators that are refused, and the words that say what to type."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.spaces.space import rows_in
from tests.estimators.cases import REPLACE, TINY

E = dp.estimators
TABLE = dp.records(columns=2)
SPACE = dp.records(columns=2, size=9, metric=REPLACE)
COSINE = dp.bases.Cosine(3, 0, 1)
FEATURES, NOISY = dp.transformations.basis_features(COSINE), dp.sum() >> dp.gaussian(scale=1)
COSINES = FEATURES >> NOISY
PARAMETERS_OF_PAIRS = [
    (lambda: E.plan_plus_mean(1, rho=1, p=0.9), "p must be at least 1"),
    (lambda: E.plan_mean(1, rho=1, p=np.inf), "p must be finite"),
    (lambda: E.plan_mean(1, rho=1, variances="median"), '"pairs", "direct"'),
    (lambda: E.plan_mean(1, rho=1, group=0), "group must be a whole number of at least 1"),
    (lambda: E.iome_mean(1, rho=1, steps=0), "steps must be a whole number of at least 1"),
    (lambda: E.plan_plus_mean(1e101, rho=1), "bound must lie between 1e-100 and 1e100"),
    (lambda: E.gaussian_mean(1e-101, rho=1), "radius must lie between 1e-100 and 1e100"),
    (lambda: E.elliptical_mean(1, 1, rho=1), "must be below its upper"),
    (
        lambda: E.elliptical_mean(Fraction(1, 3), Fraction(1, 3) + TINY, rho=1),
        "a width must lie",
    ),
    (lambda: E.scaled_mean([1, 0], rho=1), "sigma must be above 0"),
    (lambda: E.scaled_mean([1, 1e-200], rho=1), "sigma must lie between"),
    (lambda: E.scaled_mean(1, rho=1, beyond=1), "beyond must be between 0 and 1"),
    (lambda: E.normal_variance(1, rho=1, by="median"), '"pairs", "direct"'),
    (lambda: E.normal_variance(1, rho=1, by="none"), "by is"),
    (lambda: E.quantile_by_search(1.1, 0, 1, rho=1), "between 0 and 1"),
    (lambda: E.quantile_by_search(0.5, 1, 0, rho=1), "must be below its upper"),
    (lambda: E.quantile_by_search(0.5, 0, 1, rho=1, steps=0), "steps must be"),
]
"""On rows of two columns."""
PARAMETERS = [
    (
        lambda: dp.mean(5, 5, rho=1, confidence=None),
        "mean: lower must be below upper, got 5, 5; they are equal",
    ),
    (lambda: E.centered_mean(6, 5, rho=1), "centered_mean: lower .* got 6, 5; swap them"),
    (lambda: dp.mean(0, 1, epsilon=-1, confidence=None), "mean: epsilon must be above 0"),
    (lambda: dp.mean(0, 1, epsilon=1, delta=0, confidence=None), "mean: delta"),
    (
        lambda: dp.mean(0, 1, rho=1, confidence=1, sampling=False),
        "mean: confidence must be between 0 and 1",
    ),
    (lambda: dp.mean(float("nan"), 1, rho=1, confidence=None), "mean: lower"),
    (lambda: E.recentred_mean(0, 1, epsilon=1), "needs Gaussian noise.*joint_mean"),
    (lambda: E.recentred_mean(0, 1, rho=1, first=0), "recentred_mean: first must be between"),
    (lambda: E.recentred_mean(0, 1, rho=1, first=1), "recentred_mean: first must be between"),
    (lambda: E.joint_mean(0, 1, epsilon=1, stretch=-1), "stretch is at least 0, got -1"),
    (lambda: E.joint_mean(0, 1, epsilon=0), "joint_mean: epsilon must be above 0"),
    (
        lambda: E.simplex_mean(0, 1, rho=1, extra_count=1),
        "share of the budget, from 0 to below",
    ),
    (lambda: E.simplex_mean(0, 1, rho=1, extra_count=-0.1), "got -0.1"),
    (lambda: E.centered_mean(0, 1, rho=1, share=0), "centered_mean: share must be between"),
    (lambda: E.plug_in_mean(0, 1, rho=1, share=1), "plug_in_mean: share must be between"),
    (lambda: E.plug_in_mean(0, 1, rho=1, share=0.5, guess=0.5), "give one of them"),
    (lambda: E.centered_mean(0, 1, rho=1, guess=2), "guess must lie in the bounds .* got 2"),
    (lambda: E.resized_mean(0, 1, rho=1, fill=-1), "fill must lie in the bounds .* got -1"),
    (lambda: E.resized_mean(0, 1, rho=1, share=1), "resized_mean: share must be between"),
    (lambda: E.resized_mean(0, 1, epsilon=1e-7), r"noise of about 2e\+07, .* use mean\(\)"),
    (
        lambda: dp.mean(0, 1, rho=1e-31, confidence=None),
        "mean: rho must lie between 1e-30 and 1e30, got 1e-31",
    ),
    (lambda: dp.mean(0, 1, epsilon=1e31, confidence=None), "mean: epsilon must lie between"),
    (lambda: dp.mean(0, 1, epsilon=5e-324, confidence=None), "mean: epsilon must lie between"),
    (lambda: dp.mean(0, 1, rho=Fraction(10**400), confidence=None), "mean: rho must lie between"),
    (lambda: TABLE >> dp.weighted_mean(1, 0, most=1, rho=1, confidence=None), "swap them"),
    (lambda: TABLE >> dp.weighted_mean(0, 1, most=0, rho=1, confidence=None), "most"),
    (lambda: dp.mean(lower=0, rho=1, confidence=None), "two bounds or none, upper is missing"),
    (lambda: dp.mean(upper=0, rho=1, confidence=None), "two bounds or none, lower is missing"),
    (
        lambda: (
            dp.records(size=50, metric=dp.ChangeOneDistance()) >> dp.mean(rho=0.1, confidence=None)
        ),
        "mean: 50 rows are too few .* Give bounds, .* here rho=",
    ),
    (lambda: dp.private_bounds(99, rho=1), "share"),
    (lambda: dp.private_bounds(0, rho=1), "share"),
    (
        lambda: dp.records(size=9, metric=dp.ChangeOneDistance()) >> dp.private_bounds(0.9, rho=1),
        "9 rows are too few",
    ),
    (lambda: dp.centered_sum(), "needs a privacy budget"),
    (lambda: dp.centered_sum(rho=1, epsilon=1), "takes one of"),
    (lambda: dp.centered_sum(epsilon=1, confidence=0.9), "confidence goes with rho"),
    (lambda: dp.centered_sum(rho=1, confidence=95), "95 % is 0.95"),
    (lambda: dp.records(columns=2) >> dp.covariance(0, [1, -1], rho=1), "covariance.*below upper"),
    (
        lambda: E.simplex_vector_mean(0, rho=1).bind(TABLE),
        "simplex_vector_mean: total must be above",
    ),
    (lambda: E.binary_mean(rho=0), "rho must"),
    (lambda: dp.multivariate_mean(5, rho=1, epsilon=1), "one of rho= or epsilon="),
    (lambda: dp.multivariate_mean(5), r"needs a privacy budget: add rho=0\.03"),
    *(
        (lambda step=step, given=given: step(**given, rho=1), f"^{step.__name__}.*{words}")
        for step in (dp.variance, dp.standard_deviation)
        for given, words in (
            ({"lower": 1, "upper": 0}, "lower must be below upper"),
            ({"lower": [1, 2, 3]}, "two numbers"),
        )
    ),
    *(
        (lambda make=make, given=given: TABLE >> make(5, **given), f"^{make.__name__}.*{words}")
        for make in (E.gaussian_mean, E.laplace_mean, E.l2_mechanism_mean)
        for loss in ({"rho": 1} if make is E.gaussian_mean else {"epsilon": 1},)
        for given, words in (({**loss, "confidence": 95}, "confidence"),)
    ),
    (
        lambda: dp.cdf(0, 100, rho=1, cells=0, confidence=None),
        "cdf: cells must be a whole number of at least 1",
    ),
    (
        lambda: dp.cdf(0, 100, rho=1, cells=10**6, confidence=None),
        "cdf: cells must be at most 4096",
    ),
    (lambda: dp.cdf(101, 100, rho=1, confidence=None), "cdf: lower must be below upper.*swap"),
    (lambda: dp.cdf([1.0, 2.0], rho=1, confidence=None), "the data in a second call"),
    (lambda: COSINES >> E.distribution(None, 1), "needs a basis"),
    (lambda: COSINES >> E.distribution(COSINE, 0), "deviation"),
    (lambda: E.distribution(COSINE, 0)([1.0] * 3), "deviation"),
    (lambda: E.distribution(COSINE, 1)([1.0, 2.0]), "3 sums"),
    (lambda: E.basis_distribution(COSINE, epsilon=-1), "epsilon must be above 0"),
    (lambda: COSINES >> E.distribution(COSINE, 1, 0), "size"),
    *((lambda make=make: SPACE >> make(), words) for make, words in PARAMETERS_OF_PAIRS),
]
SPACES = [
    (lambda: dp.records() >> E.known_size_mean(0, 1, rho=1), "known_size_mean.*ChangeOneDistance"),
    *(
        (lambda make=make: dp.records(3) >> make(0, 1, rho=1), r"one column.*select\(\)")
        for make in (dp.mean, E.recentred_mean, E.resized_mean, dp.variance, dp.cdf)
    ),
    (lambda: dp.weighted_mean(0, 1, most=1, rho=1, confidence=None).bound, "two columns"),
    (
        lambda: dp.records(columns=2) >> E.unbounded_mean(rho=1, confidence=None),
        r"Put select\(\) before it",
    ),
    (lambda: dp.centered_sum(rho=1).bind(dp.records(3)), r"put dp.clamp\(0, 100\)"),
    (
        lambda: dp.records(3) >> dp.clamp(-1, 1) >> dp.centered_sum(rho=1, with_count=True),
        "middle of the bounds is 0.*compose",
    ),
    (
        lambda: rows_in(dp.bodies.Simplex(1, columns=9)) >> dp.centered_sum(rho=1, with_count=True),
        "centring gains no more.*compose",
    ),
    (
        lambda: rows_in(dp.bodies.Box(0, 1), 9) >> dp.centered_sum(rho=1, with_count=True),
        "replacing a row.*public number",
    ),
    (
        lambda: dp.records(columns=2) >> dp.covariance([0, 0, 0], 1, rho=1),
        "covariance.*for 3 columns",
    ),
    (lambda: COSINES >> E.distribution(dp.bases.Cosine(3, 0, 2), 1), "put basis_features"),
    (lambda: dp.clamp(0, 1) >> NOISY >> E.distribution(COSINE, 1), "put basis_features"),
    *(
        # Five times the sums were read as five times the rows.
        (
            lambda step=step: FEATURES >> step >> NOISY >> E.distribution(COSINE, 1),
            "nothing between",
        )
        for step in (dp.scale(5), dp.select([2, 1, 0]), dp.clamp(0, 1))
    ),
    (lambda: SPACE >> E.simplex_vector_mean(4, rho=1), "private number of rows"),
    (lambda: TABLE >> E.binary_mean(rho=1, published=True), "needs a public number of rows"),
    (lambda: SPACE >> E.elliptical_mean([0, 0, 0], 1, rho=1), "3 numbers for 2 columns"),
    (lambda: SPACE >> E.scaled_mean([1, 1, 1], rho=1), "3 numbers for 2 columns"),
    (lambda: SPACE >> E.scaled_mean(1, rho=1, middle=[1, 2, 3]), "3 numbers for 2 columns"),
    (lambda: SPACE >> E.quantile_by_search(0.5, [0, 1, 2], 5, rho=1), "3 numbers for 2 columns"),
]


@pytest.mark.parametrize(
    ("kind", "make", "words"),
    [(dp.ParameterError, *each) for each in PARAMETERS]
    + [(dp.SpaceError, *each) for each in SPACES],
)
def test_what_is_typed_wrongly_is_refused_in_words(kind, make, words):
    with pytest.raises(kind, match=words):
        make().map(1)

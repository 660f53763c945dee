"""Parameters of estimators that are refused, and the words that say what to type."""

from fractions import Fraction
from math import inf, nan

import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp
from opendp_lite.spaces.space import rows_in
from tests.estimators.cases import REPLACE, TINY

COSINE = dp.bases.Cosine(3, 0, 1)
FEATURES, NOISY = dp.transformations.basis_features(COSINE), dp.sum() >> dp.gaussian(scale=1)
NAMES = {
    "dp": dp,
    "pd": pd,
    "E": dp.estimators,
    "Fraction": Fraction,
    "inf": inf,
    "nan": nan,
    "TINY": TINY,
    "rows_in": rows_in,
    "TABLE": dp.records(columns=2),
    "SPACE": dp.records(columns=2, size=9, metric=REPLACE),
    "NINE": dp.records(size=9, metric=REPLACE),
    "FIFTY": dp.records(size=50, metric=REPLACE),
    "COSINE": COSINE,
    "FEATURES": FEATURES,
    "NOISY": NOISY,
    "COSINES": FEATURES >> NOISY,
    "NAMED": dp.records(columns=["y", "a", "sex", "age"]),
    "SURVEY": {"sex": ["f", "m"], "age": np.array([3.0, 10.0])},
    "WORK": dp.records(columns=["w", "t"], size=9, metric=REPLACE),
    "LINE": {"y": (-100, 200), "a": (0, 50), "b": (0, 100)},
}
PARAMETERS = {
    "dp.mean(5, 5, rho=1, confidence=None)": (
        "mean: lower must be below upper, got 5, 5; they are equal"
    ),
    "E.centered_mean(6, 5, rho=1)": "centered_mean: lower .* got 6, 5; swap them",
    "E.recentred_mean(0, 1, epsilon=1)": "needs Gaussian noise.*joint_mean",
    "E.plug_in_mean(0, 1, rho=1, share=0.5, guess=0.5)": "give one of them",
    "E.centered_mean(0, 1, rho=1, guess=2)": "guess must lie in the bounds .* got 2",
    "E.resized_mean(0, 1, rho=1, fill=-1)": "fill must lie in the bounds .* got -1",
    "E.resized_mean(0, 1, epsilon=1e-07)": r"noise of about 2e\+07, .* use mean\(\)",
    "TABLE >> dp.weighted_mean(0, 1, most=0, rho=1, confidence=None)": "most",
    "dp.mean(lower=0, rho=1, confidence=None)": "two bounds or none, upper is missing",
    "dp.mean(upper=0, rho=1, confidence=None)": "two bounds or none, lower is missing",
    "FIFTY >> dp.mean(rho=0.1, confidence=None)": (
        "mean: 50 rows are too few .* Give bounds, .* here rho="
    ),
    "dp.private_bounds(99, rho=1)": "share",
    "NINE >> dp.private_bounds(0.9, rho=1)": "9 rows are too few",
    "dp.centered_sum(epsilon=1, confidence=0.9)": "confidence goes with rho",
    "TABLE >> dp.multivariate_mean([(0, 9), (1, 2)], epsilon=1, p=1)": "p goes with rho, not with",
    "dp.multivariate_mean(5)": r"needs a privacy budget: add rho=0\.03",
    "dp.cdf(0, 100, rho=1, cells=10**6, confidence=None)": "cdf: cells must be at most 4096",
    "dp.cdf([1.0, 2.0], rho=1, confidence=None)": "the data in a second call",
    "COSINES >> E.distribution(None, 1)": "needs a basis",
    "COSINES >> E.distribution(COSINE, 0)": "deviation",
    "E.distribution(COSINE, 0)([1.0] * 3)": "deviation",
    "E.distribution(COSINE, 1)([1.0, 2.0])": "3 sums",
    "COSINES >> E.distribution(COSINE, 1, 0)": "size",
    "SPACE >> E.plan_plus_mean(1, rho=1, p=0.9)": "p must be at least 1",
    "SPACE >> E.plan_mean(1, rho=1, p=inf)": "p must be finite",
    "SPACE >> E.plan_mean(1, rho=1, variances='median')": '"pairs", "direct"',
    "SPACE >> E.plan_plus_mean(1e+101, rho=1)": "bound must lie between 1e-100 and 1e100",
    "SPACE >> E.gaussian_mean(1e-101, rho=1)": "radius must lie between 1e-100 and 1e100",
    "SPACE >> E.elliptical_mean(1, 1, rho=1)": "must be below its upper",
    "SPACE >> E.quantile_by_search(1.5, 0, 5, rho=1)": "a quantile is between 0 and 1, got 1.5",
    "SPACE >> E.elliptical_mean(Fraction(1, 3), Fraction(1, 3) + TINY, rho=1)": "a width must lie",
    "SPACE >> E.scaled_mean([1, 0], rho=1)": "sigma must be above 0",
    "SPACE >> E.scaled_mean([1, 1e-200], rho=1)": "sigma must lie between",
    "SPACE >> E.normal_variance(1, rho=1, by='median')": '"pairs", "direct"',
    "SPACE >> E.normal_variance(1, rho=1, by='none')": "by is",
    "dp.table() >> dp.t_test('w', 't', ['a', 'b', 'c'], bounds=(0, 1), epsilon=1)": (
        "dp.anova takes more"
    ),
    "dp.table() >> dp.anova('w', 't', ['a'], bounds=(0, 1), epsilon=1)": "two groups or more",
    "dp.table() >> dp.anova('w', 't', ['a', 'b', 'c'], bounds=(0, 1))": "needs a privacy budget",
    "dp.table() >> dp.anova('w', 't', ['a', 'b', 'c'], bounds=(1, 0), rho=1)": "swap them",
    "dp.table() >> dp.anova('w', 't', ['a', 'b', 'c'], bounds=7, rho=1)": "takes a pair",
    "dp.table() >> dp.chi_square(['w'], [[0, 1]], epsilon=1)": "two columns",
    "dp.table() >> dp.chi_square(['w', 't'], [[0], [0, 1]], epsilon=1)": "two columns",
    "dp.records() >> dp.proportion(epsilon=1)": (
        r"one of between=.*; of a column of True and False, among=\[True\]"
    ),
    "dp.records() >> dp.proportion(among=[1], between=(0, 1), epsilon=1)": "one of between",
    "dp.records() >> dp.proportion(between=5, epsilon=1)": "a pair such as",
    "dp.records() >> dp.proportion(between=('5', None), epsilon=1)": "all dates",
    "dp.records() >> dp.proportion(among=[1], weights='w', epsilon=1)": (
        "weights is the name of a column of the table"
    ),
    "dp.records() >> dp.proportion(among=[1], column=0, most=4, epsilon=1)": (
        "weights is the name of a column of the table"
    ),
    "dp.records() >> dp.proportion(among=[1, 1], epsilon=1)": "twice",
    "dp.records() >> dp.proportion(between=(5, 4), epsilon=1)": "holds nothing; swap",
    "dp.table() >> dp.histogram('a', categories=[1], edges=[0, 1], epsilon=1)": "not both",
    "dp.table() >> dp.histogram('a', epsilon=1)": "delta",
    "dp.table() >> dp.histogram('a', rho=1)": "epsilon= and delta=",
    "dp.table() >> dp.histogram('a', epsilon=1, delta=1e-06, other=True)": "no other=",
    "dp.table() >> dp.histogram('a', categories=['other'], other=True, epsilon=1)": (
        "call it otherwise"
    ),
    "dp.table() >> dp.histogram('a', categories=[1, 1], epsilon=1)": "declared twice",
    "dp.table() >> dp.histogram('a', categories='fm', epsilon=1)": "list of categories",
    "dp.table() >> dp.histogram('a', edges=[1], epsilon=1)": "edges",
    "dp.table() >> dp.histogram('a', edges=[1, 1], epsilon=1)": "rise",
    "dp.table() >> dp.histogram('a', categories=range(10**9), epsilon=1)": (
        "1000000000 entries; at most 2\\^24"
    ),
    "dp.table() >> dp.histogram('a', edges=range(10**9), epsilon=1)": (
        "1000000000 entries; at most 2\\^24"
    ),
    "dp.table() >> dp.histogram('a', edges=range(10**30, 0, -2), epsilon=1)": (
        "entries; at most 2\\^24"
    ),
    "dp.table() >> dp.histogram('a', edges=pd.interval_range(0, 9, 3), epsilon=1)": (
        "edges must be a number"
    ),
    "dp.linear_regression('y', 'a', {'y': (0, 1)}, rho=1)": "'a': \\(0, 100\\)",
    "dp.linear_regression('y', 'a', {'y': 1, 'a': 2}, rho=1)": "are two numbers",
    "dp.linear_regression('y', 'a', [(0, 1)], rho=1)": "2 pairs in all; got 1",
    "dp.linear_regression('y', ['y'], [(0, 1)] * 2, rho=1)": "must be different",
    "dp.linear_regression('y', [], [(0, 1)], rho=1)": "one at least",
    "dp.linear_regression('y', ['a', 'b'], LINE, rho=1, robust=2)": "robust is True or False",
    "dp.linear_regression('y', 'a', [(0, 1), (1, 0)], rho=1)": "lower must be below",
    "dp.table() >> dp.histogram(['a', 'b'], edges=[0, 1], epsilon=1)": (
        "columns with edges come last"
    ),
    "dp.table() >> dp.histogram(['a', 'b'], categories=[[1]], epsilon=1)": "2 columns",
    "dp.histogram(['a', 'b'], categories=[range(5000)] * 2, epsilon=1)": (
        "25000000 cells are more than 2"
    ),
    **{
        f"TABLE >> dp.multivariate_mean({given}, rho=1)": "bound|lower"
        for given in ("[(0, 1, 2), (0, 1)]", "[(0, 1), 3]", "[(1, 0), (0, 1)]", "'3'")
    },
}
DATA = {
    "dp.histogram(categories=['f'], epsilon=1)(SURVEY)": "say which",
    "dp.histogram('age', categories=['f'], epsilon=1)(SURVEY)": "holds numbers",
}
SPACES = {
    "NAMED >> dp.histogram('agee', edges=[0, 1], epsilon=1)": "did you mean 'age'",
    "NAMED >> dp.linear_regression('y', ['a', 'b'], LINE, rho=1)": "'b'",
    "dp.table() >> dp.histogram('a', edges={'age': [0, 1]}, epsilon=1)": "a list for each",
    "TABLE >> dp.multivariate_mean({'a': (0, 1)}, rho=1)": "a pair for each column",
    "TABLE >> dp.multivariate_mean([(0, 1)] * 3, rho=1)": "3 pairs of bounds for 2 columns",
    "WORK >> dp.t_test('w', 't', [0, 1], bounds=(0, 1), epsilon=1)": "leave out size=",
    "dp.records() >> E.known_size_mean(0, 1, rho=1)": "known_size_mean.*ChangeOneDistance",
    "dp.weighted_mean(0, 1, most=1, rho=1, confidence=None).bound": "two columns",
    "TABLE >> E.unbounded_mean(rho=1, confidence=None)": r"Put select\(\) before it",
    "dp.centered_sum(rho=1).bind(dp.records(3))": r"put dp.clamp\(0, 100\)",
    "dp.records(3) >> dp.clamp(-1, 1) >> dp.centered_sum(rho=1, with_count=True)": (
        "middle of the bounds is 0.*compose"
    ),
    "rows_in(dp.bodies.Simplex(1, columns=9)) >> dp.centered_sum(rho=1, with_count=True)": (
        "centring gains no more.*compose"
    ),
    "rows_in(dp.bodies.Box(0, 1), 9) >> dp.centered_sum(rho=1, with_count=True)": (
        "replacing a row.*public number"
    ),
    "TABLE >> dp.covariance([0, 0, 0], 1, rho=1)": "covariance.*for 3 columns",
    "COSINES >> E.distribution(dp.bases.Cosine(3, 0, 2), 1)": "put basis_features",
    "dp.clamp(0, 1) >> NOISY >> E.distribution(COSINE, 1)": "put basis_features",
    "SPACE >> E.simplex_vector_mean(4, rho=1)": "private number of rows",
    "TABLE >> E.binary_mean(rho=1, published=True)": "needs a public number of rows",
    "SPACE >> E.elliptical_mean([0, 0, 0], 1, rho=1)": "3 numbers for 2 columns",
    "SPACE >> E.scaled_mean([1, 1, 1], rho=1)": "3 numbers for 2 columns",
    "SPACE >> E.scaled_mean(1, rho=1, middle=[1, 2, 3])": "3 numbers for 2 columns",
    "SPACE >> E.quantile_by_search(0.5, [0, 1, 2], 5, rho=1)": "3 numbers for 2 columns",
    **{
        f"dp.records(3) >> {make}(0, 1, rho=1)": r"one column.*select\(\)"
        for make in ("dp.mean", "E.recentred_mean", "E.resized_mean", "dp.variance", "dp.cdf")
    },
    # Five times the sums were read as five times the rows.
    **{
        f"FEATURES >> dp.{step} >> NOISY >> E.distribution(COSINE, 1)": "nothing between"
        for step in ("scale(5)", "select([2, 1, 0])", "clamp(0, 1)")
    },
}
"""Code that a person types, and the words of its refusal."""


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [(dp.ParameterError, *each) for each in PARAMETERS.items()]
    + [(dp.SpaceError, *each) for each in SPACES.items()]
    + [(dp.DataError, *each) for each in DATA.items()],
)
def test_what_is_typed_wrongly_is_refused_in_words(kind, code, words):
    with pytest.raises(kind, match=words):
        eval(code, dict(NAMES)).map(1)

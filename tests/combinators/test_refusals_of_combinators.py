"""What is typed wrong about compositions, groups and programs is refused in these words."""

from itertools import permutations
from math import nan

import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp

COUNT = dp.count() >> dp.laplace(epsilon=1)
SUM = dp.select("x") >> dp.clamp(-1, 3) >> dp.sum()
NAMES = {
    **{name: getattr(dp.combinators, name) for name in dp.combinators.__all__},
    "dp": dp,
    "np": np,
    "pd": pd,
    "nan": nan,
    "COUNT": COUNT,
    "SUM": SUM,
    "X": dp.select("x"),
    "MEAN": dp.select("x") >> dp.mean(0, 10, epsilon=1),
    "TWO": dp.records(columns=["sex", "city"]),
    "SPACE": dp.records(columns=["key", "x"]),
    "SIZED": dp.records(size=9, metric=dp.ChangeOneDistance()),
    "SUMMED": dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(rho=0.5),
    "LAPLACE": lambda scale: dp.count() >> dp.laplace(scale=scale),
    "TENTH": dp.count() >> dp.gaussian(rho=0.1),
    "ZCDP": dp.ZeroConcentratedDivergence(),
    "first_above": lambda test: test(dp.count()),
}
REFUSALS = {
    "dp.by('key', ['a'], SUM)": "put noise after",
    "dp.by('key', ['a'], SPACE >> SUM >> dp.laplace(epsilon=1))": "space",
    "dp.by('key', ['a'], 3)": "ends in noise",
    "dp.by('key', MEAN, MEAN)": "the keys stand before the pipeline",
    "dp.by('key', ['a', 'a'], MEAN)": "declared twice",
    "dp.by('key', ['a'], MEAN, other='a')": "one of the keys",
    "dp.by(3, ['a'], MEAN)": "name of a column",
    "dp.by([], [], MEAN)": "name of a column",
    "dp.by(['key', 'x'], 'key', MEAN)": "columns first",
    "dp.by(['key', 'x'], 3, MEAN)": "columns first",
    "dp.by(['key', 'x'], [['a'], 'b'], MEAN)": "all lists, or all tuples",
    "dp.by('key', ['a'], MEAN, other=['x'])": "got a list",
    "dp.by(['key', 'x'], [['a']], MEAN)": "as many lists",
    "dp.by(['key', 'x'], [], MEAN)": "as many lists",
    "dp.by(list(map(str, range(54))), [(0,) * 54, (1,) * 54], COUNT)": "more than 2.53 combi",
    "SPACE >> dp.by('kay', ['a'], MEAN)": "did you mean 'key'",
    "dp.by('key', MEAN, epsilon=9)": "without keys give epsilon= and delta=",
    "dp.by('key', MEAN, epsilon=1, delta=1e-6)": "nothing is left to find the keys",
    "dp.by('key', MEAN, epsilon=9, delta=0)": "delta",
    "dp.by('key', MEAN, epsilon=9, delta=1e-6, other='rest')": "other= goes with keys",
    "dp.by('key', ['a'], MEAN, epsilon=9)": "leave out epsilon= and delta=",
    "dp.by('key', ['a'], epsilon=9, delta=1e-6)": "ends in noise",
    "dp.by('key', dp.count() >> dp.gaussian(rho=1), epsilon=9, delta=1e-6)": (
        "loses rho = 1 zCDP. Write epsilon= in it"
    ),
    "SPACE >> dp.by('kay', MEAN, epsilon=9, delta=1e-6)": "did you mean 'key'",
    "dp.by('kay', MEAN, epsilon=9, delta=1e-6)({'key': ['a'], 'x': [1.0]})": "did you mean 'key'",
    "dp.by('key', MEAN, epsilon=9, delta=1e-6)({'key': ['a'], 'y': [1.0]})": "no column 'x'",
    "dp.by('key', MEAN, epsilon=9, delta=1e-6)({'key': [], 'y': []})": "no column 'x'",
    "dp.records() >> dp.by('key', ['a'], MEAN)": "table",
    "SPACE >> group_by('key', [1], X)": "sum",
    "group_by('key', [1], SUM >> dp.laplace(epsilon=1))": "without noise",
    "dp.adaptive(3, dp.rho(1))": "function of ask",
    "dp.adaptive(TENTH, dp.rho(1))": "function of ask",
    "dp.adaptive(dp.count(), dp.rho(1))": "function of ask",
    "dp.adaptive([1, 2], dp.rho(1))": "function of ask, got a list or tuple",
    "dp.adaptive(first_above, dp.rho)": "budget",
    "dp.adaptive(first_above, 1)": r"dp.rho\(1\)",
    "dp.adaptive(first_above, ZCDP)": "budget",
    "dp.vector(2) >> dp.adaptive(first_above, dp.rho(1))": "rows",
    "dp.above_threshold(3, 1, epsilon=1)": "function of test",
    "dp.above_threshold(dp.laplace(scale=1), 1, epsilon=1)": "function of test",
    "dp.above_threshold(dp.count(), 3, epsilon=1)": "function of test",
    "dp.above_threshold(dp.records() >> dp.count(), 3, epsilon=1)": "function of test",
    "dp.above_threshold(first_above, 1, epsilon=1, monotone='no')": "True or False",
    "dp.above_threshold(first_above, nan, epsilon=1)": "threshold",
    "dp.above_threshold(first_above, 1)": "one of epsilon= or rho=",
    "dp.above_threshold(first_above, 1, epsilon=1, rho=1)": "one of epsilon= or rho=",
    "dp.above_threshold(first_above, 1, epsilon=0)": "above 0",
    "dp.above_threshold(first_above, 1, epsilon=1, most=0)": "at least 1",
    "dp.above_threshold(first_above, 1, epsilon=1, most=1.5)": "whole number",
    "best_of(score=float)": "at least one",
    "best_of([COUNT, COUNT], score=float)": r"best_of\(\*list",
    "best_of(COUNT, score=3)": "function of a release",
    "best_of(COUNT, score=float, runs=1)": "runs",
    "best_of(COUNT, score=float, runs=10**4 + 1)": "runs",
    "best_of(dp.count(), score=float)": r"ends in noise; put noise after dp\.count\(\)",
    "best_of(dp.records() >> COUNT, score=float)": "best_of takes .* bound to no space.*leave out",
    "best_of(dp.count() >> dp.gaussian(rho=1), score=float)": "no exact price",
    "dp.by('key', COUNT, epsilon=2, delta=0.5).bind(dp.table(person='id'))": (
        r"dp.bound_contributions\(3\)"
    ),
    "MEAN(pd.DataFrame())": "the columns are none",
    "dp.sample(0.01, MEAN)({'a': [1.0] * 5, 'x': [1.0] * 9})": "differ in length",
    "dp.sample(0, COUNT)": "above 0 and at most 1; got 0",
    "dp.sample(1.5, COUNT)": "above 0 and at most 1; got 1.5",
    "dp.sample(0.1, dp.count())": "put noise after dp.count",
    "dp.sample(0.1, dp.records() >> COUNT)": "leave out the space in front",
    "dp.sample(0.1, len)": "ends in noise, got",
    "dp.sample(0.1, dp.laplace(epsilon=1)).map(1)": "takes the rows of a dataset",
    "dp.sample(0.1, dp.estimators.known_size_mean(0, 1, epsilon=1)).map(1)": "number of rows",
    "dp.sample(0.1, COUNT).accuracy(0.95)": "dp.sample around it",
    "dp.compose(COUNT, dp.sample(0.1, COUNT)).accuracy(0.95)": "dp.sample around it",
    "on_random_pairs(dp.clamp(0, 1)).map(1)": "ends in noise",
    "on_random_pairs(SUMMED, 10**12).map(1)": "at most",
    "dp.records(size=3, metric=SIZED.metric) >> on_random_pairs(SUMMED, 2)": "no group",
    "dp.laplace(dp.rho(1))": r"laplace takes no rho; .*rho = 1 zCDP\. Give it epsilon=",
    "dp.laplace(dp.epsilon(1, 1e-06))": "laplace takes no delta",
    "dp.mean(0, 9, dp.mu(1))": "mean takes no mu; .* Give it epsilon= or rho=",
    "dp.mean(0, 9, dp.rho(1), rho=1)": "one budget; got rho= beside",
    "dp.mean(0, 9, dp.epsilon(1), delta=1e-06)": "one budget; got delta= beside",
    "dp.gaussian(dp.rho(1), scale=2)": "got rho, scale|got scale, rho",
    "dp.mean(dp.epsilon(1))": "bounds on the values before the budget: write dp.mean",
    "dp.mean(0, 9, epsilon=dp.epsilon(1))": r"goes in by itself: dp.mean\(0, 9, dp.epsilon\(1\)\)",
    "dp.gaussian(dp.epsilon(1))": "delta is missing",
    "dp.by(['sex', 'city'], [('f', 'Rome'), ('m', None)], COUNT, other='rest')": "list of keys",
    "dp.histogram(['sex', 'city'], categories=[('f', 'm'), ('Rome', 'Oslo')], epsilon=1)"
    "({'sex': ['f'], 'city': ['Rome']})": r"dp\.by\(\['sex', 'city'\], \[\('f', 'Rome'\)",
    "dp.histogram(['sex', 'city'], categories=[['f', 'm'], ('Rome', 'Oslo')], epsilon=1)"
    "({'sex': ['f'], 'city': ['Rome']})": r"dp\.by\(\['sex', 'city'\], \[\('f', 'Rome'\)",
    "TWO >> dp.one_hot([('f', 'm'), ('Rome', 'Oslo')])": "no tuples",
    "TWO >> dp.one_hot([['f', 'm'], ('Rome', 'Oslo')])": "no tuples",
    "dp.records() >> dp.compose()": "at least one",
    "dp.compose()": "at least one",
    "dp.compose(COUNT, TENTH)": "to_zcdp",
    "dp.compose(rows=COUNT, other=TENTH)": "to_zcdp",
    "dp.compose(COUNT, dp.histogram('x', epsilon=1, delta=1e-6))": (
        r"states epsilon, and dp\.histogram.* states epsilon and delta\. .* as in dp\.compose\(.*"
        r">> dp\.to_approximate\(1e-7\), dp\.histogram\('x', epsilon=1, delta=1e-06\)\)"
    ),
    "dp.compose(COUNT, age=MEAN)": "all parts by name or none",
    "dp.compose({'rows': COUNT})": r"dp\.compose\(\*\*parts\)",
    "dp.compose(rows=dp.count())": r"compose takes .* put noise after dp\.count\(\)",
    "dp.calibrate(LAPLACE, d_out=0.1, bounds=(1.0, 2.0))": "misses",
    "dp.calibrate(LAPLACE, d_out=100, bounds=(1.0, 2.0))": "meets",
    "dp.calibrate(LAPLACE, d_out=1, bounds=(2.0, 1.0))": "rise",
    "SIZED >> dp.combinators.on_random_pairs(SUMMED, 5)": "9 rows make no group of 10",
    "(X >> dp.mean(0, 9, epsilon=1))([1.0, 2.0])": r"leave out dp.select\('x'\)",
    "dp.mean(0, 9, epsilon=1)([{'x': 1.0}])": "in no order",
    **{
        f"best_of(COUNT, score=lambda release: {score})([1.0])": words
        for score, words in {
            "np.zeros(1)": r"one number, got an array of shape \(1,\); write r\[0\]",
            "np.zeros((1, 1))": r"shape \(1, 1\); write r\[0, 0\]",
            "np.zeros(2)": r"shape \(2,\); take one of them",
            "None": "one number, got NoneType",
            "'5'": "one number, got str",
            "10**400": "one number, got int",
        }.items()
    },
}
"""Code that a person types, and the words of its refusal."""


@pytest.mark.parametrize("code", REFUSALS)
def test_what_is_typed_wrong_is_refused_in_words(code):
    with pytest.raises(dp.OpenDPLiteError, match=REFUSALS[code]):
        eval(code, dict(NAMES)).map(1)


@pytest.mark.parametrize(("first", "second"), [*permutations(range(4), 2)])
def test_the_line_that_converts_parts_runs(first, second):
    parts = [
        dp.count() >> dp.laplace(epsilon=1),
        dp.count() >> dp.gaussian(rho=1),
        dp.count() >> dp.gaussian(mu=1),
        dp.count() >> dp.gaussian(epsilon=1, delta=1e-6),
    ]
    with pytest.raises(dp.ParameterError, match="as in") as refusal:
        dp.compose(parts[first], parts[second])
    line = str(refusal.value).partition("as in ")[2]
    assert eval(line, {"dp": dp})([1.0, 2.0])

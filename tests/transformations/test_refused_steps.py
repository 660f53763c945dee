"""What steps refuse: each mistake with its exception and the words that mend it."""

import re
from decimal import Decimal
from functools import partial
from math import inf, nan

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import opendp_lite as dp
from opendp_lite.testing import record

T = dp.transformations
ONE, TWO, THREE = (dp.records(columns=columns) for columns in (1, 2, 3))
SIZED = dp.records(size=5, metric=dp.ChangeOneDistance())
NAMES = ["id", "city", "x"]
ROWS = dp.records(columns=NAMES)
PEOPLE = dp.records(columns=NAMES, person="id")
COSINE, SUM = dp.bases.Cosine(5, 0, 1), dp.sum()
TEXTS = dp.select("x") >> dp.one_hot(["1", "2"]) >> SUM
NUMBERS = dp.select("x") >> dp.one_hot([1, 2]) >> SUM
WIDE = dp.clamp(-1e308, 1e308) >> dp.simplex_augment()
LAPLACE = dp.laplace(epsilon=1)


@dp.stage
def plain(space):
    return dp.Transformation(space, space, lambda value: value, lambda distance: distance)


WHOLE, AT_LEAST_1 = "whole number", "at least 1"

PARAMETERS = [
    (lambda: dp.clip_to_norm(1, p=3), "p must be 1 or 2"),
    (lambda: dp.transformations.norm(p=3), "p must be 1 or 2"),
    (lambda: dp.transformations.norm(p=inf), "p must be 1 or 2"),
    (lambda: dp.scale(0), "select"),
    (lambda: T.weighted_pairs(0, 1, most=0).map(1), "most must be above 0"),
    (lambda: (WIDE >> SUM).map(1), "scale"),
    (lambda: (dp.clamp(0, 1e300) >> dp.scale(1e300) >> SUM).map(1), "scale"),
    *[
        (lambda step=step, given=given: step(**given).bind(ONE), words)
        for step in (T.prefix_features, T.block_counts)
        for given, words in (
            ({"lower": 0, "upper": 1, "cells": 5000}, "at most 4096"),
            ({"lower": 1, "upper": 1 + 1e-15}, "too close"),
        )
    ],
    (lambda: T.magnitude_counts(3, 3).map(1), "most must be above least"),
    (lambda: T.magnitude_counts(0, 1001).map(1), "at most 1000"),
    (lambda: T.magnitude_counts(-2000, 5).map(1), "at least -1000"),
    (lambda: T.magnitude_counts(0.5, 5).map(1), WHOLE),
    (lambda: T.magnitude_counts(0, 5, bits=-11).map(1), "bits must be a whole number"),
    (lambda: T.magnitude_counts(0, 5, bits=10**9).map(1), "fewer bits"),
    (lambda: T.magnitude_counts(-900, 900, bits=12).map(1), "fewer bits"),
    *[
        (lambda wrong=wrong: T.basis_features(wrong), "needs a basis such as")
        for wrong in (5, None, dp.bases.Cosine, [COSINE])
    ],
    (lambda: dp.keep("a"), "one of between"),
    (lambda: dp.keep("a", between=(0, 1), among=[1]), "one of between"),
    (lambda: dp.keep("a", between=(2, 1)), "swap"),
    (lambda: dp.keep("a", between=5), "a pair such as"),
    (lambda: dp.keep("a", between="ab"), "a pair such as"),
    (lambda: dp.keep("a", among="north"), "list of categories"),
    (lambda: dp.keep("a", among=[1, 1]), "declared twice"),
    (lambda: dp.keep(0, among=[1]), "picked by name"),
    (lambda: dp.one_hot("fm"), "list of categories"),
    (lambda: dp.records(columns=2) >> dp.one_hot([(1, 2), (3, 4)]), "and no tuples"),
    (lambda: dp.one_hot([]), "from 1 to 2"),
    (lambda: dp.one_hot(["f", "m", "f"]), "declared twice; number 3 of the list"),
    (lambda: dp.one_hot([1, 1.0]), "declared twice"),
    (lambda: dp.one_hot([0, nan]), "None, not nan"),
    (lambda: dp.one_hot(["a", pd.NA]), "None, not <NA>"),
    (lambda: dp.one_hot([Decimal(1)]), "type Decimal"),
    (lambda: dp.one_hot([1j]), "type complex"),
    (lambda: dp.bins([0]), "2 to 2"),
    (lambda: dp.bins([0, 2, 1]), "must rise"),
    (lambda: dp.bins([0, 1, 1]), "must rise"),
    (lambda: dp.bins([0, inf]), "edges"),
    (lambda: dp.bins([0, 10**400]), "must be floats"),
    (lambda: dp.select().map(1), "needs a column"),
    (lambda: dp.bound_contributions(2, groups="city"), "such as"),
    (lambda: dp.bound_contributions(2, groups=("city", 0)), AT_LEAST_1),
    (lambda: dp.records(columns=3, person="id"), "name them all"),
    (lambda: dp.records(columns=["id"], person="id", size=9), "leave out size and metric"),
    (lambda: dp.table(person=3), "name of a column"),
]
SPACES = [
    (lambda: ONE >> LAPLACE, "laplace needs a vector or a number with a bounded"),
    (lambda: dp.table(person="id") >> plain(), "does not name a table in which .*; Put dp.bound"),
    (lambda: plain().map(), r"plain\(\) needs an input space"),
    (lambda: ONE >> (LAPLACE >> len), r"laplace\(epsilon=1\) >> len"),
    (lambda: SUM([1.0]), "put dp.clamp"),
    (lambda: dp.records(metric=dp.ChangeOneDistance()), "size"),
    (lambda: dp.records(size=5), "private"),
    (lambda: (dp.clamp(0, 1) >> dp.resize(2, fill=3)).map(1), "must lie in"),
    (lambda: T.indicator_below([1, 2])([1.0]), "records"),
    (lambda: dp.center([1, 2]).map(1), "records"),
    (lambda: dp.clamp([0, 0], [1, 1])([1.0]), "records"),
    (lambda: dp.simplex_augment().map(1), "clamp"),
    (lambda: TWO >> dp.clamp(0, 1) >> dp.simplex_augment(), "one column"),
    (lambda: dp.resize(2).map(1), "say fill="),
    (lambda: TWO >> dp.clamp(0, 1) >> dp.resize(2), "say fill="),
    (lambda: T.weighted_pairs(0, 1, most=1).map(1), "two columns, values and weights; .* have 1"),
    (lambda: THREE >> dp.select(3), "positions start at 0"),
    (lambda: THREE >> dp.select("age"), "no names"),
    (lambda: dp.select(3).map(1), "picked by name"),
    (lambda: dp.records(columns=["age", "visits"]) >> dp.select("visit"), "'visits'"),
    (lambda: SIZED >> dp.drop_nan(), "impute"),
    (lambda: SIZED >> dp.count(), "public"),
    (lambda: THREE >> T.basis_features(COSINE), r"3. Put select\(\) before"),
    (lambda: TWO >> T.prefix_features(0, 1), "prefix_features needs one column.*select"),
    (lambda: TWO >> T.block_counts(0, 1), "block_counts needs one column.*select"),
    (lambda: TWO >> T.magnitude_counts(0, 1), r"Put select\(\) before it"),
    (lambda: dp.records(columns=["age"]) >> dp.keep("ago", among=[1]), "'age'"),
    (lambda: ONE >> dp.keep("a", among=[1]), "table"),
    (lambda: ONE >> dp.one_hot([[1], [2]]), "several columns"),
    (lambda: TWO >> dp.one_hot([1, 2, 3]), "3 lists"),
    (lambda: TWO >> dp.bins([0, 1]), "one column"),
    (lambda: ONE >> dp.one_hot(range(16)) >> dp.clamp(0, 0.75), r"OneHots\(16\) already.*Leave"),
    (
        lambda: dp.records(columns=9) >> dp.clamp(0, [*range(1, 10)]) >> dp.resize(6),
        r"lie in dp.bodies.Box\(\.\.\.\)",
    ),
    (lambda: PEOPLE >> dp.select("x"), "leaves out 'id'"),
    (lambda: dp.records(columns=["id"], person="ids"), "did you mean 'id'"),
    (lambda: PEOPLE >> dp.bound_contributions(2, groups=("town", 1)), "no column 'town'"),
    (lambda: PEOPLE >> dp.bound_contributions(2, person="x"), "leave out person="),
    (lambda: ROWS >> dp.bound_contributions(2, person="idd"), "did you mean 'id'"),
    (lambda: ROWS >> dp.bound_contributions(2), "which column tells people apart"),
    (lambda: dp.bound_contributions(2).map(1), "which column tells people apart"),
    *[
        (lambda step=step: PEOPLE >> step, r"any number of rows\. Put dp\.bound_contributions\(3\)")
        for step in (
            dp.count(),
            dp.select("id", "x") >> dp.count(),
            dp.keep("x", between=(0, 1)) >> SUM,
            dp.clamp(0, 1),
            dp.mean(0, 1, epsilon=1, confidence=None),
            dp.by("city", [1], dp.count() >> dp.laplace(epsilon=1)),
            dp.compose(dp.count() >> dp.laplace(epsilon=1)),
            dp.combinators.group_by("city", [1], dp.count()),
            dp.one_hot([1, 2]),
            dp.resize(3, fill=0),
            dp.combinators.on_random_pairs(
                dp.private_quantile(0.5, bounds=(0, 1), rho=1, confidence=None)
            ),
            dp.multivariate_mean(3, rho=1),
        )
    ],
]
DATA = [
    (lambda: (T.basis_features(COSINE) >> SUM)(csr_matrix([[1.0], [0.0]])), "basis_features"),
    (lambda: (dp.keep("regoin", among=["a"]) >> NUMBERS)({"region": ["a"], "x": [1]}), "'region'"),
    (lambda: TEXTS(pd.DataFrame({"x": [1, 2]})), "write them as numbers"),
    *[
        (lambda kind=kind: NUMBERS({"x": pd.Series(["1", "2"], dtype=kind)}), "write them as text")
        for kind in (None, pd.StringDtype("python"), pd.StringDtype("pyarrow"))
    ],
    (lambda: (dp.one_hot([1, 2]) >> SUM)(np.array(["1", "2"])), r"^the column holds text"),
    (lambda: (dp.one_hot(["f"]) >> SUM)({"a": ["f"], "b": ["f"]}), "2 columns; say which"),
]


@pytest.mark.parametrize(
    ("error", "make", "words"),
    [
        (error, *each)
        for error, table in (
            (dp.ParameterError, PARAMETERS),
            (dp.SpaceError, SPACES),
            (dp.DataError, DATA),
        )
        for each in table
    ],
)
def test_a_mistake_is_refused_in_words(error, make, words):
    with pytest.raises(error, match=words):
        make()


TOTAL = dp.clamp(0, 1) >> dp.sum()
POINTED = [
    (lambda: TOTAL >> np.real, "follows dp.sum()", "real"),
    (lambda: TOTAL >> dp.laplace(epsilon=1) >> 5, "got 5", "5"),
    (lambda: TOTAL >> dp.center(3), "center needs rows", "dp.center(3)"),
    (lambda: (dp.impute(3) >> dp.sum() >> dp.laplace(epsilon=1)).explain(), "bounded", "dp.sum()"),
]


@pytest.mark.parametrize(("make", "words", "step"), POINTED)
def test_a_refusal_points_at_the_step_that_does_not_fit(make, words, step):
    with pytest.raises(dp.SpaceError, match=re.escape(words)) as caught:
        make()
    chain, carets = caught.value.__notes__[0].splitlines()[:2]
    start = carets.index("^")
    assert chain[start : start + carets.count("^")] == step


def test_a_partial_after_noise_is_shown_by_its_function():
    assert str(TOTAL >> dp.laplace(epsilon=1) >> partial(max, 1)).endswith(" >> max")


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (lambda: dp.assert_lawful(TOTAL, [1]), "takes a measure: dp.MaxDivergence()"),
        (lambda: dp.audit(TOTAL, [1], [2]), "noise, got dp.clamp(0, 1) >> dp.sum()"),
        (lambda: record(5, [1], [2]), "record takes a pipeline that ends in noise, got 5"),
        (
            lambda: dp.compose(n="x"),
            "compose takes a pipeline that ends in noise, got a value of type str",
        ),
    ],
)
def test_what_is_no_pipeline_is_named_in_few_words(refused, words):
    with pytest.raises(dp.ParameterError, match=re.escape(words)):
        refused()

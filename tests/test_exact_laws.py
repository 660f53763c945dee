"""What mechanisms lose between all small neighbours, by the exact laws of their releases."""

from fractions import Fraction
from math import expm1, log1p
from typing import Any

import attrs
import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.combinators.composing import rate_for
from tests.exact_laws import Ways, shares_of, ways
from tests.public_names import STEPS, returned
from tests.transformations.test_small_neighbours import make_datasets, measure_distances

__all__ = ["ways"]
E, M = dp.estimators, dp.measurements
ROUNDING = 1e-7
"""Of the laws, which are computed in floats."""


@attrs.frozen
class Case:
    """A mechanism, the rows of its datasets, and what share of its claim some pair must reach."""

    make: Any
    rows: Any = (-1.0, 1.0, 0.0, np.nan)
    met: float = 0.99
    reach: int = 3
    most: int = 3
    relations: tuple[str, ...] = ("added", "replaced")
    named: bool = False

    def spaces(self):
        columns = np.shape(self.rows)[1] if np.ndim(self.rows) > 1 else 1
        columns = list("ab")[:columns] if self.named else columns
        replaced = {"size": self.most, "metric": dp.ChangeOneDistance()}
        given = {"added": {}, "replaced": replaced}
        return [dp.records(columns=columns, **given[each]) for each in self.relations]


def compare(ways: Ways, bound, rows, reach: int, most: int) -> list[list[float]]:
    """The shares of the claims that neighbours at 1, 2 and 3 reach."""
    table = np.array(rows, dtype=float).reshape(len(rows), -1)
    made = [each for each in make_datasets(bound.input_space, table) if len(each[1]) <= most]
    laws = [ways.law_of(bound, data, reach=reach) for _, data in made]
    outcomes = sorted({outcome for law in laws for outcome in law}, key=repr)
    chances = np.array([[law.get(each, 0.0) for each in outcomes] for law in laws])
    apart = measure_distances(bound.input_space, np.array([counts for counts, _ in made]))
    found = []
    for distance in (1, 2, 3):
        first, second = np.nonzero(apart == distance)
        if len(first):
            found.append(shares_of(bound, distance, chances[first], chances[second]))
    return found


LIMITED = dp.clamp(-1, 1)
SUM = LIMITED >> dp.sum()
COUNT = dp.count()
ADDED, SIZED = ("added",), ("replaced",)
AXES = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-0.6, -0.8), (np.nan, 1.0))
CORNERS = ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (-1.0, 1.0))
BALLOTS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
APPROVALS = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 1.0), (1.0, 1.0, 1.0))
"""Of the scores some rise and some fall where a row is added: they are centred."""
APPROVED = dp.clamp(0, 1) >> dp.center(0.5) >> dp.sum()
BALL = dp.clip_to_norm(1) >> dp.sum()
VOTE = dp.clip_to_norm(1, p=1) >> dp.sum()
CELLS = {"bounds": (0, 8), "bits": 3}
PLACED = (0.0, 3.5, 4.5, 8.0)
BESIDE = (1.0, 2.0, 2.5, 6.0, np.nan)
"""Numbers beyond, on and between candidates."""
PLAIN = {"confidence": None}


def quantile(q, **given):
    return dp.private_quantile(q, **(CELLS | PLAIN | given))


def recentre(ask) -> float:
    """A median, and then the noisy sum and number of rows beside it."""
    middle = ask(quantile(0.5, epsilon=0.5))
    total = ask(dp.center(middle) >> dp.clamp(-4, 4) >> dp.sum() >> dp.laplace(epsilon=0.25))
    rows = ask(COUNT >> dp.laplace(epsilon=0.25))
    return float(middle + total[0] / max(rows, 1.0))


def search(ask) -> int:
    """Each count decides what is counted next, and what is left of the budget pays for it."""
    below = dp.transformations.indicator_below
    half = ask(below(4) >> dp.sum() >> dp.gaussian(rho=0.25))
    quarter = 6 if half[0] < 1 else 2
    return quarter + (ask(below(quarter) >> dp.sum() >> dp.gaussian(rho=ask.left))[0] < 1)


def ask_in_turn(*queries):
    """A program that tests one query after the other, while answers are left."""

    def program(test) -> list[bool]:
        return [test(query, threshold=level) for query, level in queries if test.left]

    return program


RISING, FALLING = (SUM, -1), LIMITED >> dp.scale(-1) >> dp.sum()
"""Answers below say that the noise of the threshold is high; then a sum falls against them."""
NOISES = dp.compose(SUM >> dp.laplace(epsilon=0.5), SUM >> dp.laplace(epsilon=0.5))
BETWEEN = {"epsilon": 1, **PLAIN}
BITS, OF_TWO = (0.0, 1.0), {"reach": 2, "most": 2}
NAMED = {"most": 2, "named": True}
RARE = {"epsilon": 2, "delta": 0.02}
CASES = {
    "laplace": Case(SUM >> dp.laplace(epsilon=1)),
    "laplace of counts": Case(COUNT >> dp.laplace(epsilon=1), relations=ADDED),
    "gaussian": Case(SUM >> dp.gaussian(rho=0.5), met=0.97, reach=6),
    "gaussian, mu": Case(SUM >> dp.gaussian(mu=1), met=0.97, reach=6),
    "gaussian, delta": Case(SUM >> dp.gaussian(epsilon=1, delta=0.1), reach=6),
    "l2_mechanism": Case(SUM >> M.l2_mechanism(epsilon=1)),
    "l2_mechanism of two": Case(BALL >> M.l2_mechanism(epsilon=1), AXES, 0.94, most=2),
    "linf_mechanism of two": Case(SUM >> M.linf_mechanism(epsilon=1), CORNERS, most=2),
    "sum_and_count": Case(LIMITED >> M.sum_and_count(epsilon=1), relations=ADDED),
    "sum_and_count, stretched": Case(
        LIMITED >> M.sum_and_count(epsilon=1, stretch=2), relations=ADDED
    ),
    "sum_and_count of two": Case(
        LIMITED >> M.sum_and_count(epsilon=1, cube=True), CORNERS, reach=2, most=2, relations=ADDED
    ),
    "noisy_max": Case(VOTE >> dp.noisy_max(epsilon=1), BALLOTS, 0.94),
    "noisy_max, rho": Case(VOTE >> dp.noisy_max(rho=0.1), BALLOTS, 0.78),
    "noisy_max of approvals": Case(APPROVED >> dp.noisy_max(epsilon=1), APPROVALS),
    "exponential_mechanism": Case(VOTE >> M.exponential_mechanism(epsilon=1), BALLOTS, 0.68),
    "exponential_mechanism of approvals": Case(
        APPROVED >> M.exponential_mechanism(epsilon=1), APPROVALS, 0.84
    ),
    "median": Case(quantile(0.5, epsilon=1), PLACED, 0.62),
    "median, rho": Case(quantile(0.5, rho=0.1), PLACED, 0.8),
    **{
        f"quantile {q} of candidates, {loss}": Case(
            dp.private_quantile(q, candidates=[2, 3, 5], **{loss: 0.2}, **PLAIN), BESIDE, met
        )
        for loss, mets in (("epsilon", (0.64, 0.76, 0.6, 0.64)), ("rho", (0.97, 0.97, 0.84, 0.84)))
        for q, met in zip((0, 1, 0.3, 0.5), mets, strict=True)
    },
    "two quantiles": Case(quantile([0.45, 0.55], epsilon=1, bits=2), PLACED, 0.51, most=2),
    "median, sure": Case(
        quantile(0.5, epsilon=1, bits=2, confidence=0.9, sure=True), PLACED, 0.55, most=2
    ),
    "compose": Case(NOISES),
    "sample": Case(dp.sample(0.25, COUNT >> dp.laplace(epsilon=2)), relations=ADDED),
    "sample of a fixed size": Case(dp.sample(0.25, SUM >> dp.laplace(epsilon=2)), relations=SIZED),
    **{
        f"sample of {rate} with a delta": Case(
            dp.sample(rate, dp.select("a") >> SUM >> dp.gaussian(epsilon=2, delta=0.1)),
            met=0.81,
            reach=6,
            named=True,
        )
        for rate in (0.05, 0.9)
    },
    "recentre": Case(
        dp.adaptive(recentre, dp.epsilon(1)), PLACED, 0.55, reach=1, most=2, relations=ADDED
    ),
    "search": Case(dp.adaptive(search, dp.rho(0.5)), PLACED, 0.64),
    "mean": Case(dp.mean(-1, 1, **BETWEEN), met=0.81, relations=ADDED),
    "mean of so many": Case(dp.mean(-1, 1, **BETWEEN), relations=SIZED),
    "mean, rho": Case(
        dp.mean(-1, 1, rho=0.5, **PLAIN), (-1.0, 1.0), 0.52, reach=2, most=2, relations=ADDED
    ),
    "mean, rho, of so many": Case(dp.mean(-1, 1, rho=0.5, **PLAIN), met=0.94, relations=SIZED),
    "mean, delta": Case(dp.mean(-1, 1, epsilon=1, delta=0.1, **PLAIN), relations=SIZED),
    "mean with an interval": Case(dp.mean(-1, 1, epsilon=1), met=0.84, reach=1, most=2),
    "simplex_mean": Case(E.simplex_mean(-1, 1, **BETWEEN), relations=ADDED),
    "centered_mean": Case(E.centered_mean(-1, 1, **BETWEEN), relations=ADDED),
    "plug_in_mean": Case(E.plug_in_mean(-1, 1, **BETWEEN), relations=ADDED),
    "gaussian_mean": Case(
        E.gaussian_mean(1, rho=0.5, **PLAIN), AXES, 0.59, reach=1, most=2, relations=ADDED
    ),
    "laplace_mean": Case(
        E.laplace_mean(1, **BETWEEN), AXES, 0.97, reach=1, most=2, relations=ADDED
    ),
    "l2_mechanism_mean": Case(
        E.l2_mechanism_mean(1, **BETWEEN), met=0.97, reach=1, most=2, relations=ADDED
    ),
    "weighted_mean": Case(
        dp.weighted_mean(0, 1, most=1, **BETWEEN), AXES, reach=1, most=2, relations=ADDED
    ),
    "known_size_mean": Case(E.known_size_mean(-1, 1, **BETWEEN), relations=SIZED),
    "joint_mean": Case(E.joint_mean(-1, 1, **BETWEEN), met=0.81, relations=ADDED),
    "recentred_mean": Case(
        E.recentred_mean(-1, 1, rho=0.5, **PLAIN), (-1.0, 1.0), 0.52, reach=2, relations=ADDED
    ),
    "resized_mean": Case(
        E.resized_mean(-1, 1, fill=-1, share=0.9, **BETWEEN), (-1.0, 1.0), most=2, relations=ADDED
    ),
    "simplex_vector_mean": Case(
        E.simplex_vector_mean(1, **BETWEEN), AXES[:3], reach=1, most=2, relations=ADDED
    ),
    "multivariate_mean": Case(
        dp.multivariate_mean(1, epsilon=1, confidence=None), met=0.97, reach=1, most=2
    ),
    "multivariate_mean, rho": Case(
        dp.multivariate_mean(1, rho=0.5, confidence=None), (-1.0, 1.0), 0.58, **OF_TWO
    ),
    "elliptical_mean": Case(E.elliptical_mean(-1, 1, rho=0.5), met=0.54),
    "plan_plus_mean": Case(
        E.plan_plus_mean(1, rho=0.5), (-1.0, 1.0), 0.88, **OF_TWO, relations=SIZED
    ),
    "scaled_mean": Case(
        E.scaled_mean(1, rho=0.5), (-10.0, 10.0, 0.0), 0.86, most=1, relations=SIZED
    ),
    "iome_mean": Case(
        E.iome_mean(1, rho=0.5, steps=1), (-1.0, 1.0), 0.57, reach=1, most=2, relations=SIZED
    ),
    "quantile_by_search": Case(
        E.quantile_by_search(0.5, -1, 1, rho=0.5, steps=2), (-1.0, 1.0, 0.1), 0.64, 1, 2
    ),
    "centered_sum": Case(dp.clamp(-1, 1) >> dp.centered_sum(rho=0.5), met=0.97, reach=6),
    "cdf": Case(dp.cdf(0, 1, cells=2, epsilon=1), BITS, **OF_TWO),
    "basis_distribution": Case(
        E.basis_distribution(dp.bases.Haar(2, 0, 1), epsilon=1), BITS, **OF_TWO
    ),
    "histogram": Case(dp.histogram(categories=[0, 1], epsilon=1), (0.0, 1.0, 2.0), **OF_TWO),
    "histogram with others": Case(
        dp.histogram(categories=[0], other=True, epsilon=1), (0.0, 1.0, np.nan), **OF_TWO
    ),
    "histogram of bins": Case(dp.histogram(edges=[0, 1, 2], epsilon=1), (0.0, 1.0, 5.0), **OF_TWO),
    "histogram, rho": Case(
        dp.histogram(categories=[0, 1], rho=0.5), (0.0, 1.0, 2.0), 0.8, **OF_TWO
    ),
    "histogram, delta": Case(
        dp.histogram(categories=[0, 1], epsilon=1, delta=0.1), (0.0, 1.0, 2.0), 0.73, **OF_TWO
    ),
    "histogram of two columns": Case(
        dp.histogram(["a", "b"], categories=[[0, 1], [0, 1]], epsilon=1), AXES[:3], reach=1, **NAMED
    ),
    "histogram of unknown keys": Case(dp.histogram(**RARE), BITS, reach=6),
    "top_k": Case(dp.top_k(1, categories=[0, 1], epsilon=1), (0.0, 1.0, 2.0), **OF_TWO),
    "chi_square": Case(
        dp.chi_square(["a", "b"], [[0, 1], [0, 1]], epsilon=1),
        AXES[:3:2],
        reach=1,
        most=1,
        named=True,
    ),
    "thresholded_counts": Case(M.thresholded_counts(**RARE), BITS, reach=6),
    "thresholded_counts, Gaussian": Case(
        M.thresholded_counts(epsilon=1, delta=0.1), BITS, 0.64, reach=6
    ),
    "by": Case(
        dp.by("a", [0, 1], dp.select("b") >> SUM >> dp.laplace(epsilon=1)),
        ((0.0, 1.0), (1.0, 1.0), (0.0, -1.0)),
        reach=2,
        **NAMED,
    ),
    "above_threshold": Case(
        dp.above_threshold(ask_in_turn(*[RISING] * 3, (FALLING, 2)), 1, epsilon=2),
        (-1.0, 1.0),
        0.95,
        most=1,
    ),
    "above_threshold, two answers": Case(
        dp.above_threshold(ask_in_turn(*[RISING] * 2, *[(FALLING, 3)] * 2), 1, epsilon=2, most=2),
        (-1.0, 1.0),
        most=1,
        relations=ADDED,
    ),
    "above_threshold, monotone": Case(
        dp.above_threshold(
            ask_in_turn(*[(COUNT, 1)] * 3, (dp.clamp(0, 1) >> dp.sum(), 4)),
            1,
            epsilon=2,
            monotone=True,
        ),
        (0.0,),
        most=2,
        relations=ADDED,
    ),
    "proportion": Case(dp.proportion(among=[1], **BETWEEN), (0.0, 1.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_losses_hold_and_are_met(ways, name):
    """As more than half of a claim is met, half of the claim would be seen, and twice as much."""
    case = CASES[name]
    for space in case.spaces():
        found = compare(ways, space >> case.make, case.rows, case.reach, case.most)
        assert all(share <= 1 + ROUNDING for shares in found for share in shares), found
        assert found[0][0] >= case.met > 0.5, found[0]


SEARCHES = "It searches by counts of many cells at once: too many ways."
WAYS = "Its noises and choices have too many ways."
HALF = "Rows that were tried meet half of the claim or less, so that half of it would not be seen."
NOT_ENUMERATED = {
    **dict.fromkeys(("variance", "standard_deviation", "covariance"), SEARCHES),
    **dict.fromkeys(("linear_regression", "private_bounds", "unbounded_mean"), SEARCHES),
    **dict.fromkeys(("normal_variance", "plan_mean", "anova", "t_test"), WAYS),
    **dict.fromkeys(("binary_mean", "on_random_pairs"), HALF),
}
"""What they ask, and what each query pays, is for ``test_exact_losses.py`` and
``test_losses.py``."""


def test_no_mechanism_and_no_estimator_is_forgotten():
    given = " ".join(repr(case.make) for case in CASES.values())
    public = {name for name, each in STEPS.items() if returned(each) is dp.Measurement}
    missing = {name.rpartition(".")[2] for name in public if f"{name}(" not in given}
    assert missing - {"best_of"} == set(NOT_ENUMERATED)


def law_of_best(law, runs):
    """Of the best of some runs, for the mean of q^runs, from the law of one."""
    found, below = {}, 0.0
    for number in sorted({number for _, number in law}):
        chances = {key: chance for key, chance in law.items() if key[1] == number}
        some = sum(chances.values())
        share = (runs(below + some) - runs(below)) / some
        found |= {key: chance * share for key, chance in chances.items()}
        below += some
    return found


def test_the_best_of_many_runs(ways):
    """One run and two are enumerated, and the law of a random number of runs follows from one."""
    parts = (COUNT >> dp.laplace(epsilon=1), COUNT >> dp.laplace(epsilon=0.5))
    bound = dp.records() >> dp.combinators.best_of(*parts, score=float, runs=10_000)
    rate = float(rate_for(Fraction(10_000)))
    laws = []
    for data in ([], [1.0], [1.0, 1.0]):
        one, two = (ways.law_of(bound, data, reach=6, runs=runs) for runs in (1, 2))
        assert two == pytest.approx(law_of_best(one, lambda q: q * q), rel=1e-9)
        laws.append(law_of_best(one, lambda q: -log1p(expm1(-rate) * q) / rate))
    chances = np.array([[law[key] for key in laws[0]] for law in laws])
    for distance, pairs in ((1, [0, 1]), (1, [1, 2]), (2, [0, 2])):
        p, q = chances[pairs], chances[pairs[::-1]]
        shares = shares_of(bound, distance, p, q)
        assert max(shares) <= 1 + ROUNDING
        assert shares[0] > 0.6

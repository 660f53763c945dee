"""Lines that mypy --strict and pyright must accept, at least one for every public name.

``tests/test_typing.py`` also runs this file: what is accepted works.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import partial
from io import BytesIO
from operator import itemgetter
from typing import Any, TypeVar, assert_type

import numpy as np
from numpy.typing import NDArray

import opendp_lite as dp
from opendp_lite.samplers.rounded_laws import DiscreteLaplace
from opendp_lite.spaces.space import example

Tables = dp.Space[dp.Rows]
Totals = dp.Space[dp.Vectors]
Counts = dp.Space[dp.Scalars]
Aggregates = dp.Space[dp.Scalars | dp.Vectors]
Zcdp = dp.ZeroConcentratedDivergence
Floats = NDArray[np.float64]
Named = dp.Space[dp.Tables]
RowStage = dp.Stage[Tables, Tables]
SumStage = dp.Stage[Tables, Totals]
Result = TypeVar("Result")
Releases = dp.Mechanism[Tables, Any, Result]
PureReleases = dp.Mechanism[Tables, dp.MaxDivergence, Result]
ConcentratedReleases = dp.Mechanism[Tables, Zcdp, Result]
ApproximateReleases = dp.Mechanism[Tables, dp.ApproximateDivergence, Result]
Pure = dp.Mechanism[Tables, dp.MaxDivergence]
Concentrated = dp.Mechanism[Tables, Zcdp]
Approximate = dp.Mechanism[Tables, dp.ApproximateDivergence]
Unsaid = dp.Mechanism[Tables, Any]
PureNoise = dp.Mechanism[Aggregates, dp.MaxDivergence]
UnsaidNoise = dp.Mechanism[Aggregates, Any]
BoundPure = dp.Measurement[Tables, dp.MaxDivergence]
BoundConcentrated = dp.Measurement[Tables, Zcdp]
BoundApproximate = dp.Measurement[Tables, dp.ApproximateDivergence]

# Bodies.
assert_type(dp.bodies.Box(0, 1), dp.bodies.Box)
assert_type(dp.bodies.Ball(1, p=1, center=[0, 1], columns=2), dp.bodies.Ball)
assert_type(dp.bodies.NonNegativeBall([1, 0.5], p=1, columns=2), dp.bodies.NonNegativeBall)
assert_type(dp.bodies.Simplex(Fraction(1, 3), columns=2), dp.bodies.Simplex)
assert_type(dp.bodies.OuterProducts(4, side=3), dp.bodies.OuterProducts)
assert_type(dp.transformations.outer_products(), RowStage)
assert_type(dp.bodies.Everything(2), dp.bodies.Everything)
bodies: list[dp.bodies.Body] = [
    dp.bodies.Box(0, 1),
    dp.bodies.NonNegativeBall(1),
    dp.bodies.Simplex(1),
    dp.bodies.Everything(),
]
assert_type([body.radius(2) for body in bodies], list[float])

# Computing with releases.
first, second = (dp.Estimate(value, 1.0, (0.0, 9.0), 0.95) for value in (4.0, 5.0))
assert_type(first.unknown, bool)
assert_type(dp.difference(first, second), dp.Estimate)
assert_type(dp.ratio(first, second, independent=True), dp.Estimate)
assert_type(2 * (first - second) / 3 + 1, dp.Estimate)
assert_type(round(first, 1), dp.Estimate)
assert_type(first.table(round=0.5), dp.releases.ReleaseTable)
added = dp.releases.ByGroup("sex", {"f": 3, "m": 4})
assert_type(added.table(total=True, wide=False).wide, bool)
assert_type(first.treated, str)
assert_type(dp.proportion("city", among=["Rome"], epsilon=1), Releases[dp.Estimate])
assert_type(
    dp.proportion("city", among=["Rome"], weights="w", most=4, epsilon=1), Releases[dp.Estimate]
)
assert_type(
    dp.proportion("age", dp.epsilon(1), between=(18, 65), confidence=None),
    PureReleases[float],
)

# Distributions.
bases: list[dp.bases.Basis] = [
    dp.bases.Cosine(5, 0, 1),
    dp.bases.Fourier(terms=5, lower=0, upper=24),
    dp.bases.Legendre(5, 0, Fraction(1, 3)),
    dp.bases.Chebyshev(5, -1, 1),
    dp.bases.Hermite(5, middle=0, scale=1.5),
    dp.bases.Laguerre(5, scale=2),
    dp.bases.Haar(8, 0, 1),
    dp.bases.Daubechies(8, 0, 1, moments=2),
    dp.bases.Hadamard(cells=8, lower=0, upper=1),
    dp.bases.MutuallyUnbiased(5, 0, 5, bases=6),
    dp.bases.Weighted(dp.bases.Haar(8, 0, 1)),
]
assert_type(dp.transformations.basis_features(bases[0]), RowStage)
assert_type(bases[0].replacing(), dp.Norms)
assert_type([basis.l1 for basis in bases], list[float])
assert_type(dp.estimators.basis_distribution(bases[0], rho=1), Releases[dp.releases.Distribution])
found: dp.releases.Distribution = dp.estimators.distribution(dp.bases.Haar(2, 0, 1), deviation=1)(
    [2.0, 1.0]
)
assert_type(found.density([0.1, 0.2]), dp.releases.Uncertain)
assert_type(found.mean(), dp.releases.Uncertain)
assert_type(
    dp.releases.Distribution(dp.bases.Haar(2, 0, 1), [2.0, 1.0], 1.0), dp.releases.Distribution
)
by_hand = dp.transformations.basis_features(bases[0]) >> dp.sum() >> dp.gaussian(dp.rho(1))
assert_type(
    by_hand >> dp.estimators.distribution(bases[0], 2.5),
    ConcentratedReleases[dp.releases.Distribution],
)
Curve = dp.releases.CumulativeDistribution
assert_type(dp.cdf(0, 100, rho=1, confidence=None), Releases[Curve])
middle_age: dp.Estimate = dp.cdf(0, 100, rho=1)([1.0]).median()
deciles: dp.releases.Estimates = dp.cdf(0, 100, rho=1)([1.0]).quantile([0.1, 0.9])
assert_type(dp.transformations.prefix_features(0, 1, cells=4), SumStage)
assert_type(dp.transformations.block_counts(0, 1), SumStage)

# Quantiles and programs.
assert_type(
    dp.private_quantile([0.5, 1], candidates=[0, 0.5, Fraction(1)], epsilon=1, confidence=None),
    Unsaid,
)
assert_type(
    dp.transformations.absolute()
    >> dp.transformations.norm()
    >> dp.transformations.indicator_below(3),
    RowStage,
)

assert_type(dp.noisy_max(dp.epsilon(1)), dp.Mechanism[Totals, dp.MaxDivergence, int])
assert_type(dp.noisy_max(dp.rho(1), names=["a"]), dp.Mechanism[Totals, Zcdp, str])
assert_type(
    dp.clamp(0, 1) >> dp.sum() >> dp.noisy_max(dp.epsilon(1), names=["a"], lowest=True),
    PureReleases[str],
)
assert_type(dp.measurements.exponential_mechanism(rho=1), dp.Mechanism[Totals, Any])


def halved(ask: dp.combinators.Ask[Zcdp]) -> float:
    middle: float = ask(dp.private_quantile(0.5, bounds=(-9, 9), rho=0.1, confidence=None))
    try:
        ask(dp.center(middle) >> dp.clamp(-1, 1) >> dp.sum() >> dp.gaussian(dp.rho(5)))
    except dp.BudgetExceeded:
        return middle / 2
    return middle


def first_decade(test: dp.combinators.ThresholdTest) -> int:
    for limit in range(10, 100, 10):
        if test(dp.transformations.indicator_below(limit) >> dp.sum(), threshold=limit):
            return limit
    return test.left


assert_type(dp.above_threshold(first_decade, 100, epsilon=1), Releases[int])

assert_type(
    dp.combinators.best_of(dp.count() >> dp.laplace(epsilon=1), score=float, runs=20),
    PureReleases[tuple[int, Any]],
)

program = dp.adaptive(halved, dp.rho(0.5))
assert_type(program, ConcentratedReleases[float])
program([1.0, 2.0])

# Means of many columns.
# A budget by name says what is released; a budget as a value says in which measure, too.
assert_type(dp.mean(0, 1, rho=1, confidence=None), Releases[float])
assert_type(dp.mean(0, 1, epsilon=1, confidence=0.9, sampling=False), Releases[dp.Estimate])
assert_type(dp.gaussian(rho=1), UnsaidNoise)
assert_type(dp.gaussian(scale=1), UnsaidNoise)
assert_type(dp.laplace(dp.epsilon(1)), PureNoise)
assert_type(dp.cdf(0, 1, dp.rho(1), confidence=None), Releases[dp.releases.CumulativeDistribution])
assert_type(dp.private_quantile(0.5, dp.rho(1), bounds=(0, 1), confidence=None), Unsaid)
assert_type(
    dp.estimators.plan_mean(5, rho=1, variances="pairs", group=4), ConcentratedReleases[Floats]
)
assert_type(dp.estimators.plan_plus_mean(5, rho=Fraction(1, 3), p=1), ConcentratedReleases[Any])
assert_type(dp.estimators.iome_mean(5, rho=1), ConcentratedReleases[Floats])
assert_type(dp.estimators.binary_mean(rho=1), ConcentratedReleases[Floats])
assert_type(dp.multivariate_mean(bound=5, rho=1, p=1), Unsaid)
assert_type(dp.multivariate_mean([(0, 5), (1, 2)], rho=1), Unsaid)
assert_type(dp.multivariate_mean({"age": (0, 120)}, rho=1), Unsaid)
assert_type(dp.estimators.l2_mechanism_mean(5, epsilon=1), Pure)
assert_type(dp.estimators.gaussian_mean(5, rho=1), Concentrated)
assert_type(
    dp.mean(0, 1, dp.rho(1), confidence=0.95, sampling=False), ConcentratedReleases[dp.Estimate]
)
assert_type(dp.meter([0.5], delta=1e-6)(dp.mean(0, 1, dp.rho(0.1), confidence=None)).value, float)
with dp.session([0.5], budget=dp.rho(1)) as ask:
    assert_type(ask, dp.releases.Session[Zcdp])
    assert_type(ask(dp.mean(0, 1, dp.rho(0.1), confidence=None)), dp.releases.Release[float])
    assert_type(ask(dp.records() >> dp.mean(0, 1, dp.rho(0.1), confidence=None)).value, float)
    assert_type(ask.split(2), tuple[dp.releases.Session[Zcdp], ...])
    paid_for = ask(dp.mean(0, 1, dp.epsilon(0.1), confidence=None), note="table 3")
    assert_type(paid_for.statement(delta=1e-9), dp.releases.Statement)


def with_a_ledger(path: str) -> dp.releases.Release[float]:
    ledger = dp.Ledger.create(path, budget=dp.rho(1), unit="row")
    assert_type(dp.Ledger.open(path), dp.Ledger)
    return ledger.session([0.5])(dp.mean(0, 1, dp.rho(0.1), confidence=None), note="table 3")


Mu = dp.measures.GaussianDivergence
assert_type(dp.gaussian(dp.mu(1)), dp.Mechanism[dp.Space[dp.Scalars | dp.Vectors], Mu])
assert_type(dp.rho(1), dp.measures.PrivacyBudget[Zcdp])
assert_type(dp.mu(1), dp.measures.PrivacyBudget[Mu])
assert_type(dp.epsilon(1), dp.measures.PrivacyBudget[dp.MaxDivergence])
assert_type(dp.epsilon(1, delta=1e-6), dp.measures.PrivacyBudget[dp.ApproximateDivergence])
dp.measures.PrivacyBudget(dp.MaxDivergence(), Fraction(1)).words()
assert_type(dp.mean(0, 1, dp.epsilon(1), confidence=None), PureReleases[float])
assert_type(dp.mean(budget=dp.epsilon(1, delta=1e-6), confidence=None), ApproximateReleases[float])
assert_type(dp.estimators.unbounded_mean(rho=1, confidence=None), Releases[float | dp.Estimate])
assert_type(dp.private_bounds(0.99, rho=1), Releases[tuple[Any, Any]])
assert_type(dp.transformations.magnitude_counts(-2, 5, bits=1), SumStage)
estimate: dp.Estimate = dp.mean(0, 1, dp.rho(1), confidence=0.95, sampling=False)([0.5])
assert_type(dp.covariance(0, [1, 2], dp.rho(1), confidence=None), ConcentratedReleases[Floats])
assert_type(dp.covariance(0, 1, dp.epsilon(1)), PureReleases[dp.releases.Covariance])
matrix = dp.releases.Covariance(np.eye(2), np.eye(2), (np.eye(2), np.eye(2)), 0.9, None, 3)
assert_type(matrix.correlation(), dp.releases.Correlation)
assert_type(matrix.principal_components(), dp.releases.PrincipalComponents)
fit = dp.linear_regression("y", ["a"], [(0, 1), (0, 1)], rho=1)
fitted: dp.releases.Regression = fit({"y": [0.5], "a": [0.5]})
assert_type(fitted["a"], dp.Estimate)
assert_type(dp.variance(0, 1, dp.rho(1), confidence=None), ConcentratedReleases[float])
assert_type(
    dp.variance(0, 1, dp.epsilon(1, delta=1e-6), confidence=0.95, sampling=False),
    ApproximateReleases[dp.Estimate],
)
assert_type(dp.standard_deviation(0, 1, dp.epsilon(1), confidence=None), PureReleases[float])
assert_type(estimate.interval, tuple[float, float])
dp.estimators.plug_in_mean(0, 1, rho=1, guess=0.5)
dp.estimators.centered_mean(0, 1, epsilon=1, share=0.75)
dp.estimators.resized_mean(0, 1, epsilon=1, delta=1e-6, fill=0)
dp.estimators.simplex_mean(0, 1, rho=1, extra_count=0.1)
dp.estimators.recentred_mean(0, 1, rho=1, first=0.1)
dp.estimators.known_size_mean(0, 1, rho=1, confidence=0.9)
dp.weighted_mean(0, 1, most=1, rho=1, confidence=None)
dp.estimators.simplex_vector_mean(1, rho=1, confidence=0.9, sampling=True)
assert_type(dp.estimators.joint_mean(0, 1, epsilon=1), PureReleases[float | dp.Estimate])
assert_type(dp.clamp(0, 1) >> dp.transformations.square(), RowStage)
assert_type(dp.transformations.weighted_pairs(0, 1, most=1), RowStage)
assert_type(dp.expected_error(dp.mean(0, 1, dp.rho(1), confidence=None), n=10, guess=0), float)
assert_type(
    dp.budget_for(
        lambda rho: dp.mean(0, 1, dp.rho(rho), confidence=None), error=0.1, n=1000, guess=0
    ),
    float,
)
assert_type(dp.estimators.laplace_mean(5, epsilon=1), Pure)
assert_type(dp.centered_sum(dp.rho(1)), ConcentratedReleases[Floats])
assert_type(
    dp.centered_sum(dp.rho(1), confidence=0.9),
    ConcentratedReleases[dp.Estimate | dp.releases.Estimates],
)
assert_type(
    dp.centered_sum(dp.epsilon(1, delta=1e-6), with_count=True),
    ApproximateReleases[tuple[Floats, float]],
)
assert_type(dp.centered_sum(dp.epsilon(1)), PureReleases[Floats])
assert_type(dp.estimators.elliptical_mean([0, 1], 5, rho=1), ConcentratedReleases[Floats])
assert_type(
    dp.estimators.scaled_mean(np.ones(3), rho=1, searched=True), ConcentratedReleases[Floats]
)
assert_type(dp.estimators.normal_variance(5, rho=1, by="direct"), ConcentratedReleases[Floats])
assert_type(dp.estimators.quantile_by_search(0.5, 0, 1, rho=1), Concentrated)
assert_type(
    dp.combinators.on_random_pairs(
        dp.private_quantile(0.5, bounds=(0, 1), epsilon=1, confidence=None)
    ),
    Unsaid,
)
assert_type(dp.transformations.random_rotation() >> dp.transformations.norm(), RowStage)
dp.transformations.Rotation(columns=3, seed=0).back(np.ones(4))

# Tests and rankings.
Tested = dp.releases.SignificanceTest
means = dp.t_test("age", "sex", ["f", "m"], bounds=(0, 100), epsilon=1)
assert_type(means, dp.Mechanism[Named, Any, Tested])
assert_type(
    dp.anova("age", "city", [1, 2, 3], dp.rho(1), bounds=(0, 100)),
    dp.Mechanism[Named, Any, Tested],
)
assert_type(dp.chi_square(["sex", "ill"], [["f", "m"], [0, 1]], epsilon=1), Releases[Tested])
assert_type(dp.top_k(3, "city", epsilon=1, delta=1e-6), Releases[dp.releases.Ranking])
assert_type(dp.count_distinct("city"), dp.Stage[Tables, Counts])

# Histograms.
Counted = dp.releases.Histogram
assert_type(dp.histogram("age", edges=range(0, 101, 10), epsilon=1), Releases[Counted])
assert_type(
    dp.histogram(["sex", "age"], categories=["f", "m"], edges=[0, 40, 80], epsilon=1),
    Releases[Counted],
)
assert_type(dp.one_hot([["f", "m"]], edges=[[0, 40], range(0, 100, 10)]), RowStage)
assert_type(dp.histogram(categories=[1, None], rho=1), Releases[Counted])
assert_type(dp.histogram(categories=[1, 2], epsilon=1)([1, 2])[1], dp.Estimate)
assert_type(dp.measurements.thresholded_counts(epsilon=1, delta=1e-6)(["a"]), dict[Hashable, int])

# Tables and groups.
assert_type(dp.select("age") >> dp.clamp(0, 1) >> dp.sum(), SumStage)
assert_type(dp.one_hot(["f", "m", None], other=True), RowStage)
assert_type(dp.one_hot([["f", "m"], range(1, 17)]) >> dp.sum(), SumStage)
assert_type(dp.bins(range(0, 101, 10)), RowStage)
assert_type(dp.keep("age", between=(18, 65.5)), dp.Stage[Named, Named])
counted_rows = (
    dp.records(columns=["age"]) >> dp.keep("age", among=["a", 1]) >> dp.select("age") >> dp.count()
)
by_sex = dp.by("sex", ["f", "m"], dp.select("age") >> dp.mean(0, 1, dp.epsilon(1), confidence=None))
weekly = (
    dp.period("day", "week", form="%Y-%m-%d")
    >> dp.select("day")
    >> dp.one_hot(dp.periods("week", "2024-01-01", date(2024, 3, 31)))
)
assert_type(dp.periods("week", "2024-01-01", "2024-03-31"), list[date])
assert_type(dp.releases.PeriodKey(2024, 1, 15, "2024-W03").label, str)
assert_type(dp.keep("day", between=(date(2024, 1, 1), None)), dp.Stage[Named, Named])
dated = dp.histogram("day", edges=[date(2024, 1, 1), date(2024, 2, 1)], epsilon=1)
by_unknown = dp.by("sex", dp.count() >> dp.laplace(epsilon=1), epsilon=2, delta=1e-6)
unknown_loss: dp.Mechanism[Any, dp.ApproximateDivergence, Any] = by_unknown
assert_type(by_sex, dp.Mechanism[Named, dp.MaxDivergence, dp.releases.ByGroup[float]])
assert_type(by_sex({"sex": ["f"], "age": [1]})["f"], float)
a_tenth = dp.sample(0.1, dp.select("age") >> dp.mean(0, 1, dp.epsilon(1), confidence=None))
assert_type(a_tenth, PureReleases[float])
assert_type(
    dp.records() >> dp.sample(Fraction(1, 3), dp.mean(0, 1, dp.epsilon(1), confidence=None)),
    dp.Measurement[Tables, dp.MaxDivergence, float],
)
assert_type(dp.bodies.OneHots(3).radius(1), float)
ages_by_sex = dp.combinators.group_by("sex", ["f"], dp.clamp(0, 1) >> dp.sum(), other="rest")
assert_type(ages_by_sex, dp.Stage[Named, Totals])

# Metrics, distances, measures.
row_metrics: list[dp.metrics.RowMetric] = [dp.SymmetricDistance(), dp.ChangeOneDistance()]
norm_metrics: list[dp.metrics.NormDistance] = [
    dp.metrics.NormDistance(),
    dp.metrics.AbsoluteDistance(),
    dp.metrics.L1Distance(),
    dp.metrics.L2Distance(),
    dp.metrics.LInfDistance(),
]
metrics: Sequence[dp.metrics.Metric] = [*row_metrics, *norm_metrics]
assert_type(dp.Norms(l1=2, l2=1.5, linf=Fraction(1, 2)), dp.Norms)
assert_type(dp.Norms(Decimal("0.1")) * 2 + dp.Norms(l1=1), dp.Norms)
measures: list[dp.measures.Measure[Fraction]] = [
    dp.MaxDivergence(),
    dp.ZeroConcentratedDivergence(),
]
pairs: dp.measures.Measure[tuple[Fraction, Fraction]] = dp.ApproximateDivergence()
sums: dp.measures.Measure[tuple[Fraction, ...]] = dp.measures.RenyiDivergence({8: 1})
assert_type(dp.MaxDivergence().loss(0.5), Fraction)

# Domains and spaces.
assert_type([dp.Vectors(2).dimension, dp.Scalars().dimension], list[int])
assert_type(dp.Rows(2, size=3, body=dp.bodies.Box(0, 1, 2), names=("a", "b")), dp.Rows)
assert_type(dp.Vectors(3, exponent=-4), dp.Vectors)
assert_type(dp.Scalars(0), dp.Scalars)
assert_type(dp.Space(dp.Rows(), dp.SymmetricDistance(), unit=Fraction(1)), Tables)
assert_type(dp.records(), Tables)
assert_type(dp.records(3, 100, dp.ChangeOneDistance()), Tables)
assert_type(dp.records(columns=["age", "visits"], metric=dp.SymmetricDistance()), Named)
assert_type(dp.table(), Named)
assert_type(dp.metrics.SymmetricIdDistance("id"), dp.metrics.SymmetricIdDistance)
assert_type(dp.table(person="id"), Named)
assert_type(dp.records(columns=["id", "age"], person="id"), Named)
assert_type(dp.bound_contributions(3, groups=("city", 2), person="id"), dp.Stage[Named, Named])
people = dp.table(person="id") >> dp.bound_contributions(3) >> dp.select("age")
assert_type(
    people >> dp.mean(0, 100, dp.epsilon(1), confidence=None),
    dp.Measurement[Named, dp.MaxDivergence, float],
)
assert_type(dp.vector(3), Totals)
assert_type(dp.vector(3, dp.metrics.L1Distance(), unit=0.5), Totals)
assert_type(dp.vector(3, metric=dp.metrics.NormDistance(), unit=dp.Norms(l1=1, linf=1)), Totals)
assert_type(dp.scalar(unit=2), Counts)
any_space: dp.Space[Any] = dp.records()
aggregate: Aggregates = dp.vector(3)

# Stages.
assert_type(dp.clamp([0, 0.5], (Fraction(1), Decimal(2))), RowStage)
assert_type(dp.clamp(np.zeros(2), np.ones(2)), RowStage)
assert_type(dp.clip_to_norm(2, p=1), RowStage)
assert_type(dp.center(np.array([0.5, 1.5])), RowStage)
assert_type(dp.scale([1, 0.1]), RowStage)
assert_type(dp.impute(0), RowStage)
assert_type(dp.drop_nan(), RowStage)
assert_type(dp.select([0, 2]), RowStage)
assert_type(dp.select(["age", "visits"]), RowStage)
assert_type(dp.resize(10, fill=0.5), RowStage)
assert_type(dp.simplex_augment(), RowStage)
assert_type(dp.sum(), SumStage)
assert_type(dp.count(), dp.Stage[Tables, Counts])

# Mechanisms.
assert_type(dp.laplace(scale=1), PureNoise)
Interval = dp.Estimate | dp.releases.Estimates
assert_type(
    dp.laplace(scale=1, confidence=0.9), dp.Mechanism[Aggregates, dp.MaxDivergence, Interval]
)
assert_type((dp.count() >> dp.laplace(epsilon=1, confidence=0.9))([1.0]), Interval)
assert_type(dp.gaussian(dp.rho(1), confidence=0.9), dp.Mechanism[Aggregates, Zcdp, Interval])
assert_type(dp.gaussian(scale=1, confidence=0.9), dp.Mechanism[Aggregates, Any, Interval])
assert_type(dp.laplace(epsilon=1).accuracy(0.95, jointly=True), Any)
several = dp.releases.Estimates([1.0, 2.0], [0.1, 0.1], [(0, 2), (1, 3)], [(0, 2), (1, 3)], 0.9)
assert_type(several[0], dp.Estimate)
assert_type(several.joint_intervals, Floats)
assert_type(dp.measurements.l2_mechanism(epsilon=1, confidence=0.9), PureNoise)
assert_type(
    dp.measurements.l2_mechanism(epsilon=0.5) >> dp.to_zcdp(), dp.Mechanism[Aggregates, Zcdp]
)
assert_type(dp.measurements.linf_mechanism(epsilon=1), PureNoise)
assert_type(dp.measurements.sum_and_count(epsilon=0.5), Pure)
assert_type(dp.gaussian(dp.rho(0.5)), dp.Mechanism[Aggregates, Zcdp])
assert_type(
    dp.gaussian(dp.epsilon(1, delta=1e-6)), dp.Mechanism[Aggregates, dp.ApproximateDivergence]
)

# Joined recipes.
assert_type(dp.clamp(0, 1) >> dp.center(0.5), RowStage)
assert_type(dp.clamp(0, 1) >> dp.count(), dp.Stage[Tables, Counts])
summed: Concentrated = dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(dp.rho(1))
counted: Pure = dp.count() >> dp.laplace(epsilon=1)
approximate: Approximate = dp.clip_to_norm(1) >> dp.sum() >> dp.gaussian(dp.epsilon(1, delta=1e-6))
assert_type(dp.clamp(0, 1) >> (dp.sum() >> dp.gaussian(dp.rho(1))), Concentrated)
assert_type(dp.clamp(0, 1) >> counted, Pure)
of_one_vector: dp.Mechanism[Totals, Zcdp] = dp.gaussian(dp.rho(1))
of_one_number: dp.Mechanism[Counts, Zcdp] = dp.gaussian(dp.rho(1))

# What recipes answer.
assert_type(summed.map(1), Any)
assert_type(summed.check(1, 1), bool)
assert_type(summed.epsilon(1e-6), float)
assert_type(summed.delta(epsilon=1), float)
assert_type(summed.tradeoff(0.05), float)
assert_type(summed.odds(delta=1e-3, d_in=2), float)
assert_type(summed.explain(), dp.releases.Explanation)
assert_type(summed.draw(), dp.releases.Drawing)
assert_type(summed.to_json(), str)
assert_type(summed.statement(2, delta=1e-9).as_dict(), dict[str, Any])
assert_type(counted([0.5, 1.0]), Any)
assert_type(counted.insecure_release([0.5], seed=1), dp.releases.InsecureRelease)
assert_type(dp.releases.InsecureRelease(0.5, seed=1).seed, int)
assert_type(dp.count()([1.0]), Any)

# Bound to a space.
assert_type(dp.records(2) >> dp.clamp(0, 1), dp.Transformation[Tables, Tables])
assert_type(dp.records() >> dp.clamp(0, 1) >> dp.sum(), dp.Transformation[Tables, Totals])
assert_type(dp.records() >> (dp.clamp(0, 1) >> dp.sum()), dp.Transformation[Tables, Totals])
assert_type(dp.records() >> dp.count(), dp.Transformation[Tables, Counts])
assert_type(dp.records() >> summed, BoundConcentrated)
assert_type(dp.records() >> dp.count() >> dp.gaussian(scale=2), dp.Measurement[Tables, Any])
released: BoundPure = (
    dp.records(size=3, metric=dp.ChangeOneDistance())
    >> dp.clamp(0, 1)
    >> dp.sum()
    >> dp.laplace(scale=2)
)
assert_type(dp.clamp(0, 1).bind(dp.records()), dp.Transformation[Tables, Tables])
assert_type(dp.clamp(0, 1).bind(dp.records()) >> summed, BoundConcentrated)
assert_type(summed.bind(dp.records()), BoundConcentrated)
bare: dp.Measurement[Totals, dp.MaxDivergence] = dp.vector(
    2, dp.metrics.L1Distance()
) >> dp.laplace(scale=1)
bare_number: dp.Measurement[Counts, Zcdp] = dp.scalar() >> dp.gaussian(dp.rho(1))
assert_type(released.map(1), Any)
assert_type(released.check(1, 1), bool)
assert_type(released.epsilon(delta=0), float)
assert_type(released.input_space, Tables)
assert_type(released.output_measure, dp.MaxDivergence)

# Conversions.
assert_type(counted >> dp.to_zcdp(), Concentrated)
assert_type(counted >> dp.to_approximate(1e-6), Approximate)
assert_type(summed >> dp.to_approximate(1e-6), Approximate)
assert_type(dp.records() >> counted >> dp.to_zcdp(), BoundConcentrated)
assert_type(released >> dp.to_approximate(1e-6), BoundApproximate)
assert_type(counted.to_zcdp(), Concentrated)
assert_type(counted.to_approximate(1e-6), Approximate)
assert_type(summed.to_approximate(1e-6), Approximate)
assert_type(released.to_zcdp(), BoundConcentrated)
assert_type(released.to_approximate(1e-6), BoundApproximate)
assert_type(released.to_zcdp().to_approximate(1e-6), BoundApproximate)


# Post-processing keeps the measure.
def half(release: float) -> float:
    return release / 2


@dp.postprocessor
def times(release: Any, factor: float) -> Any:
    return release * factor


assert_type(counted >> float, PureReleases[float])
assert_type(counted >> int >> abs >> round, PureReleases[int])
assert_type(counted >> half, PureReleases[float])
assert_type(counted >> (lambda release: release + 1), Pure)
assert_type(counted >> times(2), Pure)
assert_type(summed >> np.sqrt, Concentrated)
assert_type(summed >> np.sum >> float, ConcentratedReleases[float])
assert_type(summed >> itemgetter(0), Concentrated)
assert_type(summed >> partial(np.round, decimals=2), Concentrated)
assert_type(
    dp.clamp(0, 9)
    >> dp.simplex_augment()
    >> dp.sum()
    >> dp.gaussian(dp.rho(1))
    >> dp.simplex_ratio(0, 9),
    ConcentratedReleases[float],
)
assert_type(counted >> float >> dp.to_zcdp() >> float, ConcentratedReleases[float])
assert_type(released >> float, dp.Measurement[Tables, dp.MaxDivergence, float])
assert_type(released >> (lambda release: release), BoundPure)
assert_type(released >> np.sqrt >> times(2), BoundPure)
assert_type(
    (dp.records() >> dp.clamp(0, 9) >> dp.simplex_augment() >> dp.sum() >> dp.laplace(scale=9))
    >> dp.simplex_ratio(0, 9),
    dp.Measurement[Tables, dp.MaxDivergence, float],
)
assert_type(dp.simplex_ratio(0, upper=9)([1.0, 2.0]), float)
assert_type(
    released >> dp.estimators.size_ratio(3, 0, 1), dp.Measurement[Tables, dp.MaxDivergence, float]
)
assert_type(
    dp.compose(summed, dp.count() >> dp.gaussian(dp.rho(1))) >> dp.count_ratio(0, 1, middle=0.5),
    ConcentratedReleases[float],
)

# Combinators.
assert_type(dp.compose(counted, counted), Pure)
assert_type(
    dp.compose(summed, counted >> dp.to_zcdp(), dp.count() >> dp.gaussian(dp.rho(1)) >> float),
    Concentrated,
)
assert_type(dp.compose(rows=counted, again=counted), PureReleases[dp.releases.ByName])
assert_type(dp.compose([counted, counted]), Pure)
assert_type(dp.releases.ByName({"rows": 3}), dp.releases.ByName)
assert_type(dp.compose(approximate, summed.to_approximate(1e-6)), Approximate)
assert_type(dp.compose(dp.compose(counted), counted), Pure)
assert_type(dp.clamp(0, 1) >> dp.compose(dp.sum() >> dp.laplace(epsilon=1), counted), Pure)
assert_type(
    dp.clamp(0, 1) >> dp.sum() >> dp.compose(dp.gaussian(dp.rho(1)), dp.gaussian(dp.rho(2))),
    Concentrated,
)
assert_type(dp.records() >> dp.compose(counted), BoundPure)
assert_type(dp.compose(counted, counted) >> itemgetter(0), Pure)
assert_type(dp.calibrate(lambda scale: dp.count() >> dp.laplace(scale=scale), d_out=0.5), Pure)
assert_type(
    dp.calibrate(lambda scale: dp.records() >> dp.count() >> dp.gaussian(scale=scale), 0.5, 2),
    dp.Measurement[Tables, Any],
)


# Steps that users write.
@dp.stage
def halve(space: Tables, factor: float = 0.5) -> dp.Transformation[Tables, Tables]:
    by = Fraction(factor)
    return dp.row_map(space, lambda block: block * factor, space.domain.body.scale((by,)))


@dp.stage
def first_rows(space: Tables) -> dp.Transformation[Tables, Counts]:
    space_after = dp.Space(dp.Scalars(0), dp.metrics.AbsoluteDistance(), unit=dp.Norms(l1=1))
    return dp.Transformation(
        space, space_after, lambda rows: np.ones(1, np.int64), lambda distance: dp.Norms(l1=1)
    )


@dp.mechanism
def noiseless(space: Aggregates, epsilon: float) -> dp.Measurement[Aggregates, dp.MaxDivergence]:
    loss = Fraction(epsilon)
    return dp.Measurement(space, dp.MaxDivergence(), lambda value, entropy: 0, lambda _: loss)


assert_type(halve(), RowStage)
assert_type(halve(factor=0.25), RowStage)
assert_type(dp.clamp(0, 1) >> halve() >> dp.sum(), SumStage)
assert_type(first_rows() >> dp.laplace(scale=1), Pure)
assert_type(noiseless(1), PureNoise)
assert_type(dp.compose(counted, dp.count() >> noiseless(1)), Pure)


# Data, files, falsifiers, errors.
def blocks() -> Iterator[Floats]:
    yield np.ones(3)


assert_type(dp.Blocks(blocks), dp.Blocks)
assert_type(dp.Blocks(lambda: [[1.0], np.ones(2)], columns=1), dp.Blocks)
assert_type(summed(dp.Blocks(blocks)), Any)
ages = dp.csv_column(BytesIO(b"age;visits\n41;2\n-;3\n"), "age", delimiter=";", na={"-"})
as_blocks: dp.Blocks = ages
assert_type(dp.csv_table(BytesIO(b"sex\nf\n"), {"sex": str}), dp.Blocks)
assert_type(dp.csv_column(BytesIO(b"age\n41\n")).name, str)


def of_parquet() -> dp.Blocks:
    return dp.parquet("data/*.parquet", columns=["age"], filters=[("year", "==", 2024)])


assert_type(
    dp.csv_column(BytesIO(b"Ann,41\n"), 2, header=False, text="missing").columns, int | None
)
again: Concentrated = dp.from_json(summed.to_json())
with_own_step: RowStage = dp.from_json(halve().to_json(), extra=[halve])
dp.assert_lawful(dp.MaxDivergence(), [0, 0.5, 1])
dp.assert_stable(dp.clamp(0, 1) >> dp.sum(), trials=2)
dp.assert_stable(halve(), dp.records(2), trials=2)


def counts(ask: dp.combinators.Ask[Zcdp]) -> object:
    return ask(dp.count() >> dp.gaussian(dp.rho(0.1)))


dp.assert_replayable(counts, [1.0], [], budget=dp.rho(1))
dp.assert_replayable(dp.adaptive(counts, dp.rho(1)), [1.0], [], replays=1)
audited = dp.audit(counted, [1.0], [1.0, 2.0], releases=200, failure=1e-30)
assert_type(audited.lower_bound, float)
assert_type(dp.audit(released, [0.0] * 3, [0.0] * 3, 0, 200, 1e-30).claim, float)


def refusals() -> Mapping[str, Exception]:
    values: list[ValueError] = [dp.ParameterError("a"), dp.DataError("b")]
    types: list[TypeError] = [dp.SpaceError("d")]
    ours: list[dp.OpenDPLiteError] = [dp.SpaceError("c"), dp.DataError("e")]
    return {str(each): each for each in (*values, *types, *ours)}


assert_type(refusals(), Mapping[str, Exception])
assert_type(dp.count(missing=True), dp.Stage[Tables, Counts])

# Steps of one's own after an aggregate, noise of one's own, examples, and typed releases.
assert_type(dp.Grid(np.array([3, 4]), -1).floats, Floats)


@dp.stage(
    does="Turns the totals round.",
    proof=dp.Proof("The norms stay.", adding="k", replacing="k", sources=["Nobody 2000"]),
    examples=lambda: [example(dp.vector(2))],
)
def turned(space: Totals) -> dp.Transformation[Totals, Totals]:
    return dp.Transformation(space, space, lambda value: value[::-1], lambda distance: distance)


assert_type(turned(), dp.Stage[Totals, Totals])
assert_type(dp.clamp(0, 1) >> dp.sum() >> turned(), SumStage)


@dp.mechanism
def geometric(space: Aggregates, scale: int) -> dp.Measurement[Aggregates, dp.MaxDivergence]:
    noise = DiscreteLaplace(Fraction(scale), 0)
    return dp.measurements.added_noise(
        space, noise, dp.MaxDivergence(), lambda norms: (norms.l1 or 0) / scale
    )


@dp.mechanism
def quiet(space: Tables) -> dp.Measurement[Tables, dp.MaxDivergence, float]:
    facts = dp.Facts(explanation="it says nothing of the data")
    return dp.Measurement(
        space, dp.MaxDivergence(), lambda rows, entropy: 0.5, lambda distance: Fraction(0), facts
    )


assert_type(dp.count() >> geometric(2), Pure)
assert_type(quiet()([1.0]), float)
assert_type(quiet() >> (lambda release: str(release)), PureReleases[str])
assert_type((dp.clamp(0, 1) >> quiet()).bind(dp.records())([1.0]), float)
assert_type(dp.mean(0, 1, dp.epsilon(1), confidence=None)([0.5]), float)
assert_type(dp.mean(0, 1, dp.epsilon(1), confidence=0.95, sampling=False)([0.5]), dp.Estimate)

made_up = [23.0, 31.0, 38.0, 45.0, 52.0, 67.0] * 50
pure_count = dp.count() >> dp.laplace(epsilon=1)
shown = dp.plotting.privacy_curves({"Laplace": pure_count, "again": pure_count}, most=2)
dp.plotting.tradeoff_curve({"count": pure_count}, audits={"count": audited})
dp.plotting.noise_probabilities(pure_count, confidence=0.9, unit="rows")
dp.plotting.histogram_bars(dp.histogram(edges=[0, 50, 100], epsilon=1)(made_up), joint=True)
dp.plotting.cdf_curve(dp.cdf(0, 100, epsilon=1, cells=8, confidence=None)(made_up))
dp.plotting.density_curve(dp.cdf(0, 100, epsilon=1, cells=8, confidence=None)(made_up), cells=4)
dp.plotting.estimate_intervals(
    dp.mean(0, 100, dp.epsilon(1), confidence=0.95, sampling=False)(made_up)
)
dp.plotting.error_by_rows(
    {"mean": dp.mean(0, 1, dp.epsilon(1), confidence=None)}, [100, 1000], guess=0.5, ax=shown
)
dp.plotting.error_by_mean(
    {"mean": dp.mean(0, 1, dp.epsilon(1), confidence=None)}, [0.1, 0.5], n=100
)
dp.plotting.error_by_loss(
    {"m": lambda e: dp.mean(0, 1, dp.epsilon(e), confidence=None)}, [0.1, 1], n=99, guess=0.5
)
dp.plotting.error_parts(
    made_up, lambda a, b: dp.mean(a, b, dp.epsilon(1), confidence=None), lower=0, uppers=[50, 99]
)
dp.plotting.neighbour_releases(pure_count, at=-1, unit="rows")
dp.plotting.budget_bar([dp.session([0.5], budget=dp.epsilon(1))(pure_count)])
dp.plotting.heat_map(
    dp.histogram(["a", "b"], categories=[[1], [2]], epsilon=1)({"a": [1], "b": [2]})
)
dp.plotting.simplex_picture(0, 100, public_values=[20, 30])
dp.plotting.noise_shapes((4, 1), rho=1)
dp.plotting.plan_steps([[1.0, 2.0], [2.0, 5.0], [4.0, 0.0]], rho=1)
assert_type(dp.plotting.alt_text(shown), str)
assert_type(dp.data.doctor_visits(), dict[str, NDArray[Any]])


def read_a_database() -> None:
    assert_type(dp.data.postgresql("postgresql://localhost/survey", "SELECT 1 AS x"), dp.Blocks)

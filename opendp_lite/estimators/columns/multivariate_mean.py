"""The mean of each of several columns, by noise that fits them: PLAN, and what improves on it."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt
from statistics import NormalDist
from typing import Any, Final, Literal, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.bodies.body import broadcast
from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.combinators.sampling import on_random_pairs
from opendp_lite.estimators.columns.noisy_mean import (
    RowCount,
    coordinate_bound,
    dyadic,
    each_column,
    error_power,
    within,
)
from opendp_lite.estimators.columns.pure_columns import pure_mean
from opendp_lite.estimators.parts.budget import (
    Budget,
    ConcentratedBudget,
    Measured,
    RowSpace,
    costs_budget,
)
from opendp_lite.estimators.parts.noisy_totals import (
    Floats,
    JointNormal,
    NoisyTotals,
    RatioOfNoisySums,
    moderate,
    require_public_size,
)
from opendp_lite.estimators.parts.request import ByColumn, Request
from opendp_lite.measurements.noise import exactly_one, gaussian
from opendp_lite.measurements.quantile.private_quantile import private_quantile
from opendp_lite.measures.budgets import PrivacyBudget
from opendp_lite.measures.divergences import ZeroConcentratedDivergence
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number, quote, whole
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import Stage, mechanism
from opendp_lite.releases.estimate import Estimate
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import records
from opendp_lite.transformations.bounding import center, clamp, clip_to_norm, scale
from opendp_lite.transformations.entries import absolute, norm, square
from opendp_lite.transformations.sums import count, sum

Deviations = Literal["pairs", "direct", "binary", "magnitude", "none"]
_WAYS: Final = ("pairs", "direct", "binary", "magnitude", "none")
_NARROWEST: Final = 2.0**-40
_BITS: Final = 10
_ONE_SIGMA: Final = Fraction(841, 1000)
MEDIAN_OF_NORMAL: Final = NormalDist().inv_cdf(0.75)
"""The median of |Z| for a standard normal Z."""
Zcdp = ZeroConcentratedDivergence


@mechanism(
    does="The variance of each column, for columns of about normal shape: a scale for noise.",
    proof=costs_budget(
        "An `adaptive` program over `private_quantile`, of magnitudes or of `on_random_pairs`.",
        sources=["Aumueller, Lebeda, Nelson, Pagh 2024, appendix D and section 7.1"],
    ),
    examples=lambda: [example(records(), 10, rho=1, by="pairs", group=2)],
)
def normal_variance(
    space: RowSpace,
    bound: Number,
    *,
    rho: Number,
    by: Deviations = "magnitude",
    group: int = 1,
) -> Measurement[RowSpace, ZeroConcentratedDivergence, Floats]:
    """The variance of each column, for columns of about normal shape: a scale for noise.

    It is read off a quantile. For an exponential column it gives half of the variance, and for one
    of 90 % zeros 0. ``variance`` is right for every shape.

    Args:
        bound: M. The entries lie in [-M, M].
        rho: The budget. "magnitude" and "direct" spend a quarter of it on the medians.
        by: "magnitude", a median of ``|x - median|`` on a logarithmic grid; "pairs", the median of
            half the squared differences of random pairs; "direct", the 0.841 quantile less the
            median; "binary", q (1 - q) for entries 0 and 1, where rows are replaced.
        group: With "pairs": how many of them are averaged.

    Returns:
        A number of at most M^2 for each column. It is right for normal columns; by "binary" for
        columns of zeros and ones, where it is at least 1 / (4 n); by "pairs" with a group of 8 or
        more also for many others. By "pairs" it is 1 where the public number of rows makes no
        group.

    Raises:
        ParameterError: If ``by`` is none of these.
        SpaceError: If ``by`` is "binary" and the number of rows is private.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal(50, 3, 100_000)
        >>> round(dp.estimators.normal_variance(1e6, rho=0.03)(rows)[0])
        9
    """
    most, budget = coordinate_bound(bound), moderate(rho, "rho")
    check_way(by, group)
    if by == "none":
        raise ParameterError('normal_variance: by is "magnitude", "pairs", "direct" or "binary"')
    if by == "binary":
        require_public_size(space, 'normal_variance(by="binary")', 'use by="pairs"')

    early = budget / 4 if by in ("direct", "magnitude") else Fraction(0)

    def program(ask: Ask[Zcdp]) -> Floats:
        middle = np.zeros(space.domain.columns)
        if early:
            middle = each_column(
                ask(private_quantile(0.5, bounds=(-most, most), rho=early, confidence=None))
            )
        found: Floats = deviations(ask, by, middle, most, budget - early, group) ** 2
        return found.clip(max=most**2)

    spent = "all of rho is for one release"
    if early:
        spent = "a quarter of rho is for the medians, the rest for the spread around them"
    return make_adaptive(space, program, Zcdp(), budget, spent)


def check_way(by: object, group: object) -> None:
    """Refuses ways and groups that ``deviations`` does not know."""
    if by not in _WAYS:
        ways = ", ".join(f'"{each}"' for each in _WAYS)
        raise ParameterError(f"variances are estimated by one of {ways}; got {quote(by)}")
    whole(group, "group", least=1)


def deviations(
    ask: Ask[Zcdp], by: Deviations, middle: Floats, bound: float, rho: Fraction, group: int
) -> Floats:
    """The standard deviation of each column, for a program that has their medians."""
    columns, size = ask.space.domain.columns, ask.space.domain.size
    if by == "none" or (by == "pairs" and size is not None and size < 2 * group):
        return np.ones(columns)
    if by == "pairs":
        half_square = private_quantile(0.5, bounds=(0, 2 * bound * bound), rho=rho, confidence=None)
        medians = each_column(ask(on_random_pairs(half_square, group)))
        return np.sqrt(medians / median_of_mean_square(group))
    if by == "direct":
        upper = each_column(
            ask(private_quantile(_ONE_SIGMA, bounds=(-bound, bound), rho=rho, confidence=None))
        )
        return np.maximum(upper - middle, bound * _NARROWEST)
    if by == "magnitude":
        ends = (bound * _NARROWEST, 2 * bound)
        away = private_quantile(0.5, bounds=ends, scale="log", rho=rho, bits=_BITS, confidence=None)
        return each_column(ask(center(dyadic(middle)) >> absolute() >> away)) / MEDIAN_OF_NORMAL
    rows = require_public_size(ask.space, 'variances by="binary"')
    shares = each_column(ask(clamp(0, 1) >> sum() >> gaussian(rho=rho))) / rows
    inside: Floats = shares.clip(0, 1)
    return np.sqrt(np.maximum(inside * (1 - inside), 1 / (4 * rows)))


def median_of_mean_square(freedom: int) -> float:
    """The median of a chi-squared variable over its mean, within 1e-3.

    For one degree of freedom the square of a normal quantile; else the expansion of Choi 1994,
    theorem 1, for the median of a gamma variable of shape a.
    """
    if freedom == 1:
        return MEDIAN_OF_NORMAL**2
    a = freedom / 2
    return 1 - 1 / (3 * a) + 8 / (405 * a**2) + 184 / (25515 * a**3)


_QUARTER = Fraction(1, 4)
_MISS = 0.1


@mechanism(
    does="The mean of each column by PLAN, as published, at its true loss.",
    changes=(
        "Rows beyond a released radius are shortened to it. A missing value counts as the "
        "released centre."
    ),
    proof=costs_budget(
        "An `adaptive` program, with one copy of the data and ranks that move by 1 (errata "
        "1.2.1 and 1.3.1).",
        adding="-",
        sources=[
            ("Aumueller, Lebeda, Nelson, Pagh 2024, algorithm 1, section 7.1 and appendix D"),
        ],
    ),
    examples=lambda: [
        example(
            records(columns=2, size=20, metric=ChangeOneDistance()),
            100,
            rho=0.1,
            p=1.5,
            variances="direct",
        ),
    ],
)
def plan_mean(
    space: RowSpace,
    bound: Number,
    *,
    rho: Number,
    p: Number = 2,
    variances: Deviations = "pairs",
    group: int = 1,
) -> Measurement[RowSpace, ZeroConcentratedDivergence, Floats]:
    """The mean of each column by PLAN, as published, at its true loss.

    Args:
        bound: M. The entries lie in [-M, M]. Larger entries only cost accuracy.
        rho: The budget: a sixteenth for the centre, three for the variances, three for the radius,
            nine for the sum.
        p: At least 1. The l_p error is to be small.
        variances: "pairs", by random pairs; "direct", from the 0.841 quantile; "binary", for
            entries 0 and 1; "none", for PLAN without scaling (section 6).
        group: With "pairs": how many of them are averaged.

    Returns:
        A number in [-M, M] for each column. A missing value counts as the released centre.

    Raises:
        SpaceError: If the number of rows is private.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (20_000, 2))
        >>> space = dp.records(columns=2, size=20_000, metric=dp.ChangeOneDistance())
        >>> (space >> dp.estimators.plan_mean(100, rho=0.03))(rows).round(0)
        array([ 1., 20.])
    """
    most, power, whole = coordinate_bound(bound), error_power(p), moderate(rho, "rho")
    n = require_public_size(space, "plan_mean")
    check_way(variances, group)
    early = _QUARTER * whole
    rho_center, rho_spread = _QUARTER * early, (1 - _QUARTER) * early
    rho_radius, rho_sum = _QUARTER * (whole - early), (1 - _QUARTER) * (whole - early)
    root = sqrt(space.domain.columns)

    def plan(ask: Ask[ZeroConcentratedDivergence]) -> Floats:
        middle = each_column(
            ask(private_quantile(0.5, bounds=(-most, most), rho=rho_center, confidence=None))
        )
        sigma = deviations(ask, variances, middle, most, rho_spread, group)
        sigma = sigma + sigma.mean()
        shape = sigma ** (2 / (power + 2))
        # Line 5 of algorithm 1; lines 3 and 4 come before it, 6 to 8 after it.
        y = center(dyadic(middle)) >> scale(dyadic(1 / shape))
        longest = _longest(sigma / shape, n) if variances != "none" else 2 * most * root
        total = shortened_sum(ask, y, longest, rho_radius, rho_sum)
        return within(middle + shape * total / n, most)

    spent = (
        "of rho 1/16 is for the centre, 3/16 for the spread of the columns, 3/16 for the radius, "
        "9/16 for the sum"
    )
    return make_adaptive(space, plan, ZeroConcentratedDivergence(), whole, spent)


def shortened_sum(
    ask: Ask[Zcdp],
    rows: Stage[RowSpace, RowSpace],
    longest: float,
    radius: Fraction,
    last: Fraction,
) -> Floats:
    """The noisy sum of rows that are shortened to a radius which few of them exceed.

    Args:
        ask: The program's, where the number of rows is public.
        rows: Of a length up to ``longest``.
        longest: The radius is at most this.
        radius: The rho for the radius.
        last: The rho for the sum, whose noise has the variance 2 radius^2 / rho.
    """
    n = require_public_size(ask.space, "PLAN")
    quantile = max(1 - (sqrt(n) + 10 / sqrt(radius)) / n, 0.5)
    length = private_quantile(quantile, bounds=(0, longest), rho=radius, confidence=None)
    shortened = rows >> clip_to_norm(ask(rows >> norm() >> length))
    return each_column(ask(shortened >> sum() >> gaussian(rho=last)))


def _longest(spreads: Floats, n: int) -> float:
    """A length that rows exceed with probability 0.1 (section 7.1)."""
    return sqrt(log(n + 1) * log(1 / _MISS) * float(spreads @ spreads))


# Entries within this share of the bound are on an even grid, others on a logarithmic one.
_NEAR: Final = 2.0**-30
_SURE, _LIKELY = 4, 2
_FINE_BITS, _COARSE_BITS = 12, 6
"""Cells to a doubling: fine enough for a first median, few enough to find rows that are equal."""
_DOUBLINGS: Final = 62
_TAIL_SHARE: Final = 0.01
_WIDEST_TAIL, _NARROWEST_TAIL = 0.25, 0.01
_CLOSE: Final = 1.5
_MOST_FOR_ONE: Final = 0.3
_REACH: Final = 6
_FINE: Final = 2**24
_RESOLUTION: Final = 0.2


@mechanism(
    does="The mean of each column, with noise that fits the columns' spread: PLAN, improved.",
    changes=(
        "Rows that reach far are shortened, so the mean of a column with a long tail comes out a "
        "little low. A row with a missing value is left out; where the number of rows is public, "
        "a missing value counts as the released median of its column."
    ),
    proof=costs_budget(
        "An `adaptive` program: quantiles, then Gaussian noise on rows clipped to a released "
        "radius.",
        sources=["Aumueller, Lebeda, Nelson, Pagh 2024, algorithm 1"],
    ),
    examples=lambda: [example(records(columns=["age", "visits"]), 100, rho=0.1, p=1)],
)
def plan_plus_mean(
    space: RowSpace,
    bound: Number,
    *,
    rho: Number,
    p: Number = 2,
    confidence: Number | None = None,
    sampling: bool = True,
) -> Measurement[RowSpace, ZeroConcentratedDivergence]:
    """The mean of each column, with noise that fits the columns' spread: PLAN, improved.

    Args:
        bound: M. The entries lie in [-M, M]. A bound far too large costs little.
        rho: The budget. About nine tenths go to the sum. The rest finds a median and a spread of
            each column, a radius for the rows, and where it is private their number.
        p: At least 1. The l_p error is to be small.
        confidence: As for ``multivariate_mean``.
        sampling: As for ``multivariate_mean``.

    Returns:
        A number in [-M, M] for each column. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as the released
        median of its column. Rows that reach far are shortened, so the mean of a column with a
        long tail comes out a little low. With public bounds close to the data ``elliptical_mean``
        errs less.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (20_000, 2))
        >>> (dp.records(columns=2) >> dp.estimators.plan_plus_mean(100, rho=0.03))(rows).round(0)
        array([ 1., 20.])
    """
    most, power, whole = coordinate_bound(bound), error_power(p), moderate(rho, "rho")
    budget = ConcentratedBudget(whole)
    request = Request.within(budget, "plan_plus_mean", confidence, sampling).on(space)

    def program(ask: Ask[Zcdp]) -> Floats | ByColumn:
        people, columns = RowCount.of(ask, whole), space.domain.columns
        return _PlanPlus(ask, most, power, whole, columns, people, request).mean()

    spent = "about a tenth of rho finds where the columns lie and how wide they are"
    return make_adaptive(space, program, Zcdp(), whole, f"{spent}, the rest is for their sum")


@attrs.frozen
class _PlanPlus:
    """One run: public numbers, and releases so far."""

    ask: Ask[Zcdp]
    bound: float
    power: float
    rho: Fraction
    columns: int
    people: RowCount
    request: Request

    def mean(self) -> Floats | ByColumn:
        """The estimate."""
        nats = log(_DOUBLINGS) + _FINE_BITS * log(2)
        if self._need(nats / 2 + _LIKELY) > _MOST_FOR_ONE:
            return self._release(np.zeros(self.columns), None)
        rho = self._share(nats, least=0.02)
        middle = self._medians(rho)
        nats = log(-log(_NARROWEST / 2) / _RESOLUTION)
        if self._need(nats + _LIKELY) > _MOST_FOR_ONE:
            return self._release(middle, None)
        cost = self._share(nats + _SURE, least=0.02)
        spread = deviations(self.ask, "magnitude", middle, self.bound, cost, group=1)
        spread = np.maximum(spread, self._tails(middle, nats))
        return self._release(self._recentre(middle, spread, rho), spread)

    def _need(self, nats: float) -> float:
        """The share of the budget at which the median of a column is found among e^nats."""
        moved = self.people.rank * nats / self.people.rows
        return 2 * self.columns * moved**2 / float(self.rho)

    def _share(self, nats: float, least: float) -> Fraction:
        """The budget at which the medians of all columns are surely found."""
        wanted = self._need(nats + log(self.columns) + _SURE)
        return self._part(min(max(wanted, least), _MOST_FOR_ONE))

    def _part(self, share: float) -> Fraction:
        return self.rho * Fraction(int(share * _FINE), _FINE)

    def _medians(self, rho: Fraction) -> Floats:
        ends = (-self.bound, self.bound)
        unit = self.bound * _NEAR
        median = private_quantile(
            0.5, bounds=ends, scale="asinh", unit=unit, rho=rho, bits=_FINE_BITS, confidence=None
        )
        return each_column(self.ask(median))

    def _tails(self, middle: Floats, nats: float) -> Floats:
        """The spread by a quantile far out, where the budget finds one; else 0.

        A median of ``|x - middle|`` misses two cases: a column in which most rows are equal, and a
        long tail.
        """
        rho = self._part(_TAIL_SHARE)
        slope = sqrt(2 * float(rho) / self.columns)
        beyond = (nats + log(self.columns) + 2 * _SURE) / (slope * self.people.rows)
        if beyond > _WIDEST_TAIL:
            return np.zeros(self.columns)
        beyond = max(beyond, _NARROWEST_TAIL)
        ends = (self.bound * _NARROWEST, 2 * self.bound)
        far = private_quantile(
            1 - beyond, bounds=ends, scale="log", rho=rho, bits=_COARSE_BITS, confidence=None
        )
        found = each_column(self.ask(center(dyadic(middle)) >> absolute() >> far))
        return found / NormalDist().inv_cdf(1 - beyond / 2)

    def _recentre(self, middle: Floats, spread: Floats, before: Fraction) -> Floats:
        """The medians once more, more exactly where the spread is large; both combined."""
        rho = self._part(0.02)
        weights = np.ceil(spread / spread.max() * _FINE)
        share = weights / weights.sum()
        median = private_quantile(
            0.5, bounds=(-_REACH, _REACH), rho=rho, shares=weights, confidence=None
        )
        rows = center(dyadic(middle)) >> scale(dyadic(1 / spread))
        moved = each_column(self.ask(rows >> median)) * spread
        slope = np.sqrt(2 * float(rho) * share) / self.people.rank
        trust = share / (share + float(before / rho) / self.columns)
        return middle + np.where(slope * self.people.rows > 20, trust * moved, 0.0)

    def _release(self, middle: Floats, spread: Floats | None) -> Floats | ByColumn:
        """The last release: the sum of centred, scaled and clipped rows."""
        if spread is None:
            widths = np.ones(self.columns)
            shortest = self.bound * _NARROWEST
            rho = self._part(0.05)
        else:
            power = spread ** (4 / (self.power + 2))
            widths = np.sqrt(power + 0.05 * power.mean())
            shortest = float(np.linalg.norm(spread / widths)) * exp(-_CLOSE)
            rho = self._part(0.01)
        longest = 2 * self.bound * float(np.linalg.norm(1 / widths))
        ends = (min(shortest, longest / 2), longest)
        rows = center(dyadic(middle)) >> scale(dyadic(1 / widths))
        radius = self.people.radius(rows, ends, rho)
        shortened = rows >> clip_to_norm(radius)
        last, part = self.ask.left, self.request.for_squares
        last -= part.amount if self.request.sampling else 0
        total, people = self.people.total(shortened >> sum(), last)
        if self.request.confidence is None:
            return within(middle + widths * people.mean(total), self.bound)
        off_total, off_rows = (
            ConcentratedBudget(rho).deviation(part.reach(query, self.ask.space)) if rho else 0.0
            for query, rho in (
                (shortened >> sum(), last - (people.weight - self.people.weight)),
                (count(), people.weight),
            )
        )
        counted = people.rows if people.counted is None else people.counted
        found = [
            NoisyTotals(
                RatioOfNoisySums(
                    -self.bound,
                    self.bound,
                    about,
                    JointNormal(width * off_total, off_rows),
                    ridge=1,
                ),
                width * one,
                counted,
            )
            for about, width, one in zip(
                *map(np.ndarray.tolist, (middle, widths, total)), strict=True
            )
        ]
        if self.request.sampling:
            squares = shortened >> square() >> sum()
            off = part.deviation(part.reach(squares, self.ask.space)) / people.rows
            means = each_column(self.ask(squares >> part.noise())) / people.rows
            variances = (means - people.mean(total) ** 2) * widths**2
            pairs = zip(found, variances.tolist(), (off * widths**2).tolist(), strict=True)
            found = [each.with_variance(variance, noise) for each, variance, noise in pairs]
        shown = map(self.request.as_estimate, found)
        return tuple(attrs.evolve(cast(Estimate, each), clipped=True) for each in shown)


@mechanism(
    does="The mean of each column, by the best estimator for the setting.",
    changes=(
        "Rows that reach far are shortened. A row with a missing value is left out; where the "
        "number of rows is public, a missing value counts as 0, or with rho as the released "
        "median of its column."
    ),
    proof=costs_budget(
        "That of `plan_plus_mean` for rho. For epsilon an `adaptive` program of "
        "`private_quantile`, counts, and `l2_mechanism`, `linf_mechanism` or `sum_and_count`, on "
        "rows that were clamped first.",
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), 100, rho=0.1, p=1),
        example(records(columns=["age", "visits"]), 100, epsilon=1),
        example(records(columns=["age", "visits"]), 100, rho=0.1, confidence=0.9),
    ],
)
def multivariate_mean(
    space: RowSpace,
    bound: Number,
    budget: PrivacyBudget[Any] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    p: Number = 2,
    confidence: Number | None = None,
    sampling: bool = True,
) -> Measured[Any]:
    """The mean of each column, by the best estimator for the setting.

    ``explain()`` names the estimator. For zeros and ones, and for sparse matrices, use
    ``binary_mean``.

    Args:
        bound: M, one number for all columns: the entries lie in [-M, M]. Larger entries cost
            accuracy and no privacy.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: In place of ``rho``, the budget of pure privacy, 1 say.
        p: With ``rho``: the norm, at least 1, in which the error is made small.
        confidence: 0.95, say, asks for an interval for each column too.
        sampling: With a confidence: whether intervals are for the population, of which the rows are
            a random sample: this takes a tenth of a rho, and 15 % of an epsilon. With False they
            are for these rows, and count the noise alone.

    Returns:
        With a confidence a tuple of ``Estimate``, one for each column, for the shortened rows.
        Else a number in [-M, M] for each column. With few rows for so many columns, or a tiny
        budget, the error may reach the bound. Rows that reach far are shortened. Where the number
        of rows is private, rows with a missing value are left out. Where it is public, a missing
        value counts as 0, or with rho as the released median of its column.

    Raises:
        ParameterError: If the budget is missing, or both are given.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], [0.1, 5], (20_000, 2))
        >>> mean = dp.records(columns=2) >> dp.multivariate_mean(bound=100, rho=0.03)
        >>> mean(rows).round(0)
        array([ 1., 20.])
        >>> "the estimator is plan_plus_mean" in mean.explain()
        True
    """
    if rho is epsilon is None:
        raise ParameterError(
            "multivariate_mean needs a privacy budget: add rho=0.03, or epsilon=1, which protects "
            "about as well"
        )
    if exactly_one("multivariate_mean", rho=rho, epsilon=epsilon) == "rho":
        chosen = plan_plus_mean(
            bound, rho=cast(Number, rho), p=p, confidence=confidence, sampling=sampling
        ).bind(space)
        why = (
            "the estimator is plan_plus_mean: the budget is rho\n"
            "  about a tenth of it finds where the columns lie and how wide they are\n"
            "  the noise fits that, so the error follows the data and not the bound"
        )
        return chosen.with_explanation(why, trace=())
    whole = Budget(moderate(epsilon, "epsilon"))
    request = Request.within(whole, "multivariate_mean", confidence, sampling)
    ends = broadcast((moderate(bound, "bound"),), space.domain.columns)
    return pure_mean(space, tuple(-end for end in ends), tuple(ends), request)


_LENGTH_SHARE: Final = Fraction(1, 100)
_FIRST_SHARE: Final = Fraction(15, 100)
_CLEAR: Final = 2.5
_REGULAR: Final = 0.05
_SHORTEST: Final = 0.5


@mechanism(
    does="The share of ones in each column, with a small l1 error where most entries are 0.",
    changes="Entries are clipped to 0 and 1.",
    proof=costs_budget(
        "An `adaptive` program. Rows have no negative entry, so a replaced row moves the sum "
        "by sqrt(2) times its length (erratum 1.3.7).",
        sources=["Aumueller, Lebeda, Nelson, Pagh 2024, section 7.1 and listing 1"],
    ),
    examples=lambda: [
        example(records(columns=2, size=20, metric=ChangeOneDistance()), rho=0.1, published=True)
    ],
)
def binary_mean(
    space: RowSpace, *, rho: Number, published: bool = False
) -> Measurement[RowSpace, ZeroConcentratedDivergence, Floats]:
    """The share of ones in each column, with a small l1 error where most entries are 0.

    Args:
        rho: The budget. 83 hundredths of it go to the last sum.
        published: Whether to use PLAN as published, where rows are replaced. If not, the improved
            algorithm, also where they are added or removed.

    Returns:
        A number from 0 to 1 for each column. Rows may be dense, or a scipy sparse matrix, which is
        never made dense. Entries are clipped to 0 and 1.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).random((100_000, 3)) < [0.5, 0.1, 0.01]
        >>> (dp.records(columns=3) >> dp.estimators.binary_mean(rho=0.03))(rows).round(1) + 0
        array([0.5, 0.1, 0. ])
    """
    whole = moderate(rho, "rho")
    if published:
        require_public_size(space, "binary_mean(published=True)", "leave published out")

    def program(ask: Ask[Zcdp]) -> Floats:
        found = _publish(ask, whole) if published else _improve(ask, whole)
        return np.nan_to_num(found).clip(0, 1)

    if published:
        spent = "of rho 4/16 is for the variances, 3/16 for the radius, 9/16 for the sum"
    else:
        spent = "of rho 1/100 is for each of two radii, 15/100 for a first sum, the rest for a last"
    return make_adaptive(space, program, Zcdp(), whole, spent)


def _publish(ask: Ask[Zcdp], rho: Fraction) -> Floats:
    columns, n = ask.space.domain.columns, require_public_size(ask.space, "binary_mean")
    rho_spread, rho_radius, rho_sum = rho / 4, rho * 3 / 16, rho * 9 / 16
    shares = each_column(ask(clamp(0, 1) >> sum() >> gaussian(rho=rho_spread))) / n
    variance = np.maximum(shares * (1 - shares), columns**-0.4)
    factors = variance ** (-1 / 3)
    longest = float(np.linalg.norm(factors))
    total = shortened_sum(ask, scale(dyadic(factors)), longest, rho_radius, rho_sum)
    found: Floats = total / n / factors
    return found


def _improve(ask: Ask[Zcdp], rho: Fraction) -> Floats:
    columns = ask.space.domain.columns
    people = RowCount.of(ask, rho)
    ends = (_SHORTEST, 2 * sqrt(columns))
    radius = people.radius(clamp(0, 1), ends, _LENGTH_SHARE * rho)
    summed = clamp(0, 1) >> clip_to_norm(radius) >> sum()
    first, people = people.total(summed, _FIRST_SHARE * rho)
    shares = _smooth(first / people.rows, radius / people.rows / sqrt(float(_FIRST_SHARE * rho)))
    roots = np.cbrt(shares)
    factors = 1 / (roots + _REGULAR * roots.mean())
    rows = clamp(0, 1) >> scale(dyadic(factors))
    longest = float(np.linalg.norm(factors))
    ends = (_SHORTEST * float(factors.min()), 2 * longest)
    length = people.radius(rows, ends, _LENGTH_SHARE * rho)
    left = ask.left
    last, people = people.total(rows >> clip_to_norm(length) >> sum(), left)
    trust = float(left) * (factors / length) ** 2
    before = float(_FIRST_SHARE * rho) / radius**2
    both = (trust * (last / factors) + before * first) / (trust + before)
    return people.mean(both)


def _smooth(shares: Floats, deviation: float) -> Floats:
    """Shares that stand out of the noise, and one common share for all others."""
    clear = shares > _CLEAR * deviation
    rest = shares[~clear]
    common = max(float(rest.mean()) if len(rest) else 0.0, deviation / len(shares))
    return np.where(clear, shares, common)

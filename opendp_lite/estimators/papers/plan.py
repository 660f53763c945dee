"""PLAN as published, the spreads that it takes, and the means of zeros and ones."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt
from typing import Final, Literal

import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.combinators.sampling import on_random_pairs
from opendp_lite.estimators.columns import noisy_mean
from opendp_lite.estimators.columns.noisy_mean import MEDIAN_OF_NORMAL, dyadic, each_column
from opendp_lite.estimators.columns.plan_plus import Zcdp
from opendp_lite.estimators.parts import Floats, RowSpace
from opendp_lite.estimators.parts.budget import costs_budget
from opendp_lite.estimators.parts.noisy_totals import moderate, require_public_size
from opendp_lite.measurements import gaussian, private_quantile
from opendp_lite.measures.divergences import ZeroConcentratedDivergence
from opendp_lite.numbers.exact import Number, quote, whole
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import Stage, mechanism
from opendp_lite.spaces.space import example, records, sized_rows
from opendp_lite.transformations import absolute, center, clamp, clip_to_norm, norm, scale, sum

Deviations = Literal["pairs", "direct", "binary", "magnitude", "none"]
_WAYS: Final = ("pairs", "direct", "binary", "magnitude", "none")
_NARROWEST: Final = 2.0**-40
_BITS: Final = 10
_ONE_SIGMA: Final = Fraction(841, 1000)


@mechanism(
    does="The variance of each column, for columns of about normal shape: a scale for noise.",
    proof=costs_budget(
        "An `adaptive` program over `private_quantile`, of magnitudes or of `on_random_pairs`.",
        sources=["Aumueller, Lebeda, Nelson, Pagh 2024, appendix D and section 7.1"],
    ),
    examples=lambda: [example(records(), 10, rho=1, by="pairs", group=2)],
)
def normal_variance(
    space: RowSpace, bound: Number, *, rho: Number, by: Deviations = "magnitude", group: int = 1
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
    most, budget = noisy_mean.coordinate_bound(bound), moderate(rho, "rho")
    check_way(by, group)
    if by == "none":
        raise ParameterError('normal_variance: by is "magnitude", "pairs", "direct" or "binary"')
    if by == "binary":
        require_public_size(space, 'normal_variance(by="binary")', 'use by="pairs"')

    early = budget / 4 if by in ("direct", "magnitude") else Fraction(0)

    def program(ask: Ask[Zcdp]) -> Floats:
        middle = np.zeros(space.domain.columns)
        if early:
            middle = _find_quantiles(ask, 0.5, most, early)
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


def _find_quantiles(ask: Ask[Zcdp], share: Number, bound: float, rho: Fraction) -> Floats:
    """A quantile of each column, for entries of at most this size."""
    ends = -bound, bound
    return each_column(ask(private_quantile(share, bounds=ends, rho=rho, confidence=None)))


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
        upper = _find_quantiles(ask, _ONE_SIGMA, bound, rho)
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
        sources=["Aumueller, Lebeda, Nelson, Pagh 2024, algorithm 1, section 7.1 and appendix D"],
    ),
    examples=lambda: [example(sized_rows(2), 100, rho=0.1, p=1.5, variances="direct")],
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
    most, power = noisy_mean.coordinate_bound(bound), noisy_mean.error_power(p)
    whole = moderate(rho, "rho")
    n = require_public_size(space, "plan_mean")
    check_way(variances, group)
    early = _QUARTER * whole
    rho_center, rho_spread = _QUARTER * early, (1 - _QUARTER) * early
    rho_radius, rho_sum = _QUARTER * (whole - early), (1 - _QUARTER) * (whole - early)
    root = sqrt(space.domain.columns)

    def plan(ask: Ask[ZeroConcentratedDivergence]) -> Floats:
        middle = _find_quantiles(ask, 0.5, most, rho_center)
        sigma = deviations(ask, variances, middle, most, rho_spread, group)
        sigma = sigma + sigma.mean()
        shape = sigma ** (2 / (power + 2))
        # Line 5 of algorithm 1; lines 3 and 4 come before it, 6 to 8 after it.
        y = center(dyadic(middle)) >> scale(dyadic(1 / shape))
        longest = _longest(sigma / shape, n) if variances != "none" else 2 * most * root
        total = shortened_sum(ask, y, longest, rho_radius, rho_sum)
        return noisy_mean.within(middle + shape * total / n, most)

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
    examples=lambda: [example(sized_rows(2), rho=0.1, published=True)],
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
    people = noisy_mean.RowCount.of(ask, rho)
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

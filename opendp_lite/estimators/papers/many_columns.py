"""Means of several columns that papers compare with: in a ball, in a box, by a search."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any

import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.bodies.body import Bounds, to_floats
from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.combinators.composing import compose
from opendp_lite.estimators.columns import noisy_mean
from opendp_lite.estimators.columns.noisy_mean import OUTSIDE_BALL, dyadic, for_columns, ratio
from opendp_lite.estimators.parts import Floats, Measured, Noisy, RowSpace, noisy_totals
from opendp_lite.estimators.parts.budget import Budget, ConcentratedBudget, costs_budget
from opendp_lite.estimators.parts.noisy_totals import NoisyTotals, moderate
from opendp_lite.estimators.parts.request import Request
from opendp_lite.measurements.noise import Aggregate, gaussian
from opendp_lite.measurements.quantile.private_quantile import private_quantile
from opendp_lite.measures.divergences import MaxDivergence, ZeroConcentratedDivergence
from opendp_lite.numbers.exact import Number, exact, nearest, open_probability, positive, whole
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import Mechanism, Stage, mechanism
from opendp_lite.samplers.lattice import FARTHEST_BOUND
from opendp_lite.spaces.space import example, records, sized_rows
from opendp_lite.transformations import count, indicator_below, sum
from opendp_lite.transformations.bounding import center, clamp, clip_to_norm, scale
from opendp_lite.transformations.entries import Rotation, norm, random_rotation, simplex_augment


@mechanism(
    does="The mean of each column for rows in an l2 ball, with Gaussian noise.",
    changes=OUTSIDE_BALL,
    proof=costs_budget(
        "`clip_to_norm`, `sum`, Gaussian noise; with n private a noisy count, composed.",
        sources=["Kulesza, Suresh, Wang 2024"],
    ),
    examples=lambda: [example(records(columns=["age", "visits"]), 5, rho=0.1)],
)
def gaussian_mean(
    space: RowSpace,
    radius: Number,
    *,
    rho: Number,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[RowSpace, ZeroConcentratedDivergence]:
    """The mean of each column for rows in an l2 ball, with Gaussian noise.

    Args:
        radius: The radius r of the ball. Longer rows are shortened to it.
        rho: The budget. A share 1 / (2 sqrt(d) + 2) of it is for the number of rows, where that is
            private and there are d columns.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        d numbers, together of length at most r. With a confidence a tuple of d ``Estimate``, each
        with an interval for its column alone. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as 0.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.full((4000, 2), [3.0, 4.0])
        >>> (dp.records(columns=2) >> dp.estimators.gaussian_mean(5, rho=0.03))(rows).round(0)
        array([3., 4.])
    """
    budget = ConcentratedBudget(moderate(rho, "rho"))
    request = Request.within(budget, "gaussian_mean", confidence, sampling)
    return _ball_mean(
        space, radius, request, float(1 - noisy_mean.count_share(space.domain.columns))
    )


@mechanism(
    does="The mean of each column for rows in an l2 ball, with Laplace noise.",
    changes=OUTSIDE_BALL,
    proof=costs_budget(
        "The l1 distance in the l2 ball is at most sqrt(d) times the l2 distance (erratum 1.5.1)."
    ),
    examples=lambda: [example(records(columns=["age", "visits"]), 5, epsilon=0.1)],
)
def laplace_mean(
    space: RowSpace,
    radius: Number,
    *,
    epsilon: Number,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[RowSpace, MaxDivergence]:
    """The mean of each column for rows in an l2 ball, with Laplace noise.

    Args:
        radius: The radius r of the ball. Longer rows are shortened to it.
        epsilon: The budget. A share 1 / (1 + d^(2/3)) of it is for the number of rows, where that
            is private and there are d columns.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        d numbers, together of length at most r. With a confidence a tuple of d ``Estimate``, each
        with an interval for its column alone. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as 0.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.full((4000, 2), [3.0, 4.0])
        >>> (dp.records(columns=2) >> dp.estimators.laplace_mean(5, epsilon=1))(rows).round(0)
        array([3., 4.])
    """
    weight = space.domain.columns ** (2 / 3)
    budget = Budget(moderate(epsilon, "epsilon"))
    request = Request.within(budget, "laplace_mean", confidence, sampling)
    return _ball_mean(space, radius, request, weight / (weight + 1))


def _ball_mean(space: RowSpace, radius: Number, request: Request, share: float) -> Measured[Any]:
    """The estimator, with a share of the budget for the sum where the number of rows is private."""
    length, budget = moderate(radius, "radius"), request.budget
    total = clip_to_norm(length) >> sum()
    noisy, of_sum, off = _with_rows(space, total, budget, share)
    errors = budget.errors([of_sum.scale(budget.reach(total, space)), 0.0], [0.0, off])
    return noisy_mean.of_ball(space, request, length, noisy, errors)


def _with_rows(
    space: RowSpace, total: Stage[RowSpace, Aggregate], budget: Budget, share: float
) -> tuple[Noisy[noisy_mean.SumAndRows], Budget, float]:
    """A noisy sum for a share of the budget, and for the rest the rows where that is private.

    Returns:
        What is released, the budget of the sum, and the scale of the noise on the rows.
    """
    if space.domain.size is not None:
        return total >> budget.noise(), budget, 0.0
    part = Fraction(share).limit_denominator(10**6)
    of_sum, of_rows = budget.part(part), budget.part(1 - part)
    noisy = compose(total >> of_sum.noise(), count() >> of_rows.noise())
    return noisy, of_sum, of_rows.scale(float(space.unit))


def _noisy_mean(
    space: RowSpace,
    rows: Stage[RowSpace, RowSpace],
    rho: Fraction,
    back: Callable[[Floats], Floats],
) -> Mechanism[RowSpace, ZeroConcentratedDivergence]:
    """The mean of bounded rows; ``back`` leads from it to what is released."""
    share, size = float(1 - noisy_mean.count_share(space.domain.columns)), space.domain.size
    noisy, _, off = _with_rows(space, rows >> sum(), ConcentratedBudget(rho), share)

    def mean(release: noisy_mean.SumAndRows) -> Floats:
        total, counted = noisy_mean.read_both(release, size)
        return back(total / counted if size is not None else ratio(total, counted, off**2))

    return noisy >> mean


@mechanism(
    does="The mean of columns with bounds of their own, with noise that fits the widths.",
    changes=(
        "Values beyond the bounds are clipped to them. A row with a missing value is left out; "
        "where the number of rows is public, a missing value counts as the middle of its column's "
        "bounds."
    ),
    proof=costs_budget(
        "Columns are scaled so that the box becomes one with equal noise. The scaled row "
        "moves by the diameter of that box (erratum 1.4.1).",
        sources=["Poulsen, *DP vector aggregation for multivariate Gaussian data*"],
    ),
    examples=lambda: [example(records(columns=["age", "visits"]), 0, [1, 2.5], rho=1)],
)
def elliptical_mean(
    space: RowSpace, lower: Bounds, upper: Bounds, *, rho: Number
) -> Measurement[RowSpace, ZeroConcentratedDivergence, Floats]:
    """The mean of columns with bounds of their own, with noise that fits the widths.

    Args:
        lower: The lower bound: a number, or one for each column.
        upper: The upper bound, likewise.
        rho: The budget. A share 1 / (2 sqrt(d) + 2) of it is for the number of rows, where that is
            private and there are d columns.

    Returns:
        A mean between the bounds for each column. Where the number of rows is private, rows with
        a missing value are left out. Where it is public, a missing value counts as the middle of
        its column's bounds.

    Raises:
        ParameterError: If a lower bound is not below its upper.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.full((4000, 2), [3.0, 400.0])
        >>> mean = dp.estimators.elliptical_mean(0, [10, 1000], rho=0.03)
        >>> (dp.records(columns=2) >> mean)(rows).round(-1)
        array([  0., 400.])
    """
    low, high = (for_columns(each, "bounds", space, "elliptical_mean") for each in (lower, upper))
    if any(least >= most for least, most in zip(low, high, strict=True)):
        raise ParameterError("elliptical_mean: each lower bound must be below its upper bound")
    middle = tuple((least + most) / 2 for least, most in zip(low, high, strict=True))
    widths = [moderate(most - least, "a width") for least, most in zip(low, high, strict=True)]
    factors = dyadic(1 / np.sqrt(to_floats(tuple(widths)) / 2))

    def back(mean: Floats) -> Floats:
        return (to_floats(middle) + mean / to_floats(factors)).clip(to_floats(low), to_floats(high))

    rows = clamp(lower, upper) >> center(middle) >> scale(factors)
    return _noisy_mean(space, rows, moderate(rho, "rho"), back).bind(space)


_SEARCH = 100
_NATS = 2
Zcdp = ZeroConcentratedDivergence


@mechanism(
    does="The mean of columns whose spread is public, with noise that fits it.",
    changes="Rows far from the middle, seen in sigmas, are shortened.",
    proof=costs_budget(
        "Public scaling, `clip_to_norm`, Gaussian noise (errata 1.4.1 and 1.4.3).",
        sources=[
            ("Poulsen, *DP vector aggregation for multivariate Gaussian data*, theorem 4"),
            "Laurent and Massart 2000, lemma 1",
        ],
    ),
    examples=lambda: [
        example(records(columns=2), [1, 0.1], rho=1, middle=[3, 4], beyond=0.1, searched=True)
    ],
)
def scaled_mean(
    space: RowSpace,
    sigma: Bounds,
    *,
    rho: Number,
    middle: Bounds = 0,
    beyond: Number = 0.03,
    searched: bool = False,
) -> Measurement[RowSpace, ZeroConcentratedDivergence, Floats]:
    """The mean of columns whose spread is public, with noise that fits it.

    Args:
        sigma: The standard deviations, known or estimated in private: a number, or one for each
            column.
        rho: The budget. About 1 / (2 sqrt(d) + 2) of it is for the number of rows, where that is
            private and there are d columns.
        middle: About where the columns lie: a number, or one for each.
        beyond: The share of the rows that may be shortened.
        searched: Whether the length to which rows are shortened is sought in private, with a
            hundredth of rho. If not, it is a bound for normal rows.

    Returns:
        d numbers. Rows far from the middle, seen in sigmas, are shortened.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal(0, [1, 100], (20_000, 2))
        >>> mean = dp.estimators.scaled_mean([1, 100], rho=0.03)
        >>> (dp.records(columns=2) >> mean)(rows).round(-1) + 0
        array([0., 0.])
    """
    given = for_columns(sigma, "sigma", space, "scaled_mean")
    spreads = to_floats(tuple(moderate(each, "sigma") for each in given))
    total = float(spreads.sum())
    factors = dyadic(1 / np.sqrt(spreads * total))
    centers = for_columns(middle, "middle", space, "scaled_mean")
    share = open_probability(beyond, "beyond")
    tail = log(share.denominator) - log(share.numerator)
    square = 1 + 2 * sqrt(tail) * float(np.linalg.norm(spreads)) / total
    bound = sqrt(square + 2 * tail * float(spreads.max()) / total)
    whole = moderate(rho, "rho")
    rows = center(centers) >> scale(factors)

    def back(mean: Floats) -> Floats:
        return to_floats(centers) + mean / to_floats(factors)

    def mean_within(radius: float, loss: Fraction) -> Mechanism[RowSpace, Zcdp]:
        return _noisy_mean(space, rows >> clip_to_norm(radius), loss, back)

    def program(ask: Ask[Zcdp]) -> Floats:
        ends = (bound / exp(_NATS), bound * exp(_NATS))
        length = private_quantile(
            1 - share, bounds=ends, scale="log", rho=whole / _SEARCH, confidence=None
        )
        return ask(mean_within(ask(rows >> norm() >> length), ask.left))

    if searched:
        spent = f"rho / {_SEARCH} is for the radius, the rest for the sum"
        return make_adaptive(space, program, Zcdp(), whole, spent)
    return mean_within(bound, whole).bind(space)


@mechanism(
    does="The mean of each of several columns that are never negative and of a bounded total.",
    changes=(
        "Entries are clipped to [0, R], then a row of a larger total is shortened to R, the "
        "largest total. Rows with a missing value are left out."
    ),
    proof=costs_budget(
        "`simplex_augment` for d columns (errata 1.1.3 and 1.1.4), `sum`, noise.",
        replacing="-",
        sources=["Fitzsimons, Honaker, Shoemate, Singhal, *Free Lunch*, appendix B"],
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), 10, epsilon=0.1),
        example(records(columns=["age", "visits"]), 10, epsilon=0.1, confidence=0.9, sampling=True),
    ],
)
def simplex_vector_mean(
    space: RowSpace,
    total: Number,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measured[Any]:
    """The mean of each of several columns that are never negative and of a bounded total.

    Args:
        total: The largest total R of a row. Entries are clipped to [0, R], then a row of a larger
            total is shortened to R. Rows with a missing value are left out.
        rho: The budget of zero-concentrated privacy.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        delta: With ``epsilon``.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        d numbers, none below 0, of a total of at most R. With a confidence a tuple of d
        ``Estimate``, each with an interval for its column alone.

    Raises:
        SpaceError: If the number of rows is public.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.tile([1.0, 2.0, 0.0], (20_000, 1))
        >>> means = dp.records(columns=3) >> dp.estimators.simplex_vector_mean(4, epsilon=1)
        >>> means(rows).round(1) + 0
        array([1., 2., 0.])
    """
    bound = positive(total, "simplex_vector_mean: total")
    noisy_totals.require_private_size(space, "simplex_vector_mean")
    request = Request.of("simplex_vector_mean", confidence, sampling, rho, epsilon, delta)
    budget, most, columns = request.budget, nearest(bound), space.domain.columns
    inside = clamp(0, bound) >> clip_to_norm(bound, p=1)
    summed = inside >> simplex_augment() >> sum()
    scale = budget.scale(budget.reach(summed, space))
    about = most / (columns + 1)
    errors = budget.shared_errors(scale, columns + 1, most)
    ratio = noisy_totals.RatioOfNoisySums(0.0, most, about, errors)

    def vector(sums: Floats) -> Floats:
        found = np.asarray(sums, dtype=np.float64)
        rows = max(float(found.sum()) / most, 1.0)
        entries: Floats = np.clip(found[:-1] / rows, 0.0, most)
        return entries * min(most / max(float(entries.sum()), most), 1.0)

    def totals(sums: Floats) -> list[NoisyTotals]:
        rows = float(np.sum(sums)) / most
        return [NoisyTotals(ratio, float(entry) - about * rows, rows) for entry in sums[:-1]]

    made = request.of_columns(space, inside, summed >> budget.noise(), vector, totals)
    explanation = "all sums, and what each row lacks to the total, share one noise"
    return request.whole.with_claimed_loss(made).with_explanation(explanation)


@mechanism(
    does="A quantile of each column by noisy binary search, for any number of rows.",
    proof=costs_budget(
        "Each step is a noisy count of rows below a number, moved by max(q, 1 - q) or by 1; "
        "equal parts of rho compose.",
        sources=["Huang, Liang, Yi 2021, section 3"],
    ),
    examples=lambda: [example(records(), 0.25, 0, 10, rho=1, steps=5)],
)
def quantile_by_search(
    space: RowSpace, quantile: Number, lower: Bounds, upper: Bounds, *, rho: Number, steps: int = 20
) -> Measurement[RowSpace, ZeroConcentratedDivergence]:
    """A quantile of each column by noisy binary search, for any number of rows.

    Args:
        quantile: From 0 to 1; 0.5 is the median.
        lower: The lower bound of the search: a number, or one for each column.
        upper: The upper bound, likewise.
        rho: The budget, in equal parts for all steps.
        steps: In each of them the range is halved.

    Returns:
        A number for one column, else one for each. Each step is a pass over the data, which is
        never held in memory.

    Raises:
        ParameterError: If the quantile, the bounds or the steps are impossible.

    Example:
        >>> import opendp_lite as dp
        >>> rows = list(range(1000)) * 100
        >>> round(dp.estimators.quantile_by_search(0.5, 0, 1000, rho=0.03)(rows), -2)
        500.0
    """
    share, cost = exact(quantile, "quantile"), positive(rho, "rho")
    rounds = whole(steps, "steps", least=1)
    if not 0 <= share <= 1:
        raise ParameterError(f"quantile_by_search: a quantile is between 0 and 1, got {quantile}")
    least, most = (
        for_columns(each, "bounds", space, "quantile_by_search") for each in (lower, upper)
    )
    if not all(
        -FARTHEST_BOUND <= low < high <= FARTHEST_BOUND
        for low, high in zip(least, most, strict=True)
    ):
        raise ParameterError(
            "quantile_by_search: each lower bound must be below its upper bound, all within 2^900"
        )

    def search(ask: Ask[ZeroConcentratedDivergence]) -> float | Floats:
        low, high = to_floats(least), to_floats(most)
        for _ in range(rounds):
            middle: Floats = low / 2 + high / 2
            above = indicator_below(dyadic(middle)) >> center(share)
            excess = ask(above >> sum() >> gaussian(rho=cost / rounds))
            low, high = np.where(excess < 0, middle, low), np.where(excess < 0, high, middle)
        found = low / 2 + high / 2
        return float(found[0]) if space.domain.columns == 1 else found

    spent = f"rho is divided evenly among {rounds} steps"
    return make_adaptive(space, search, ZeroConcentratedDivergence(), cost, spent)


# Of the largest radius: no search ends at a radius of 0.
_SHORTEST = 2.0**-60

# Standard deviations of a rank in the search for the radius.
_SURE = 3


@mechanism(
    does="The mean of each column by instance-optimal mean estimation.",
    changes="Rows are shortened to a released radius around released medians.",
    proof=costs_budget(
        "An `adaptive` program: a public rotation, searches for medians and a radius, "
        "Gaussian noise.",
        adding="-",
        sources=[
            "Huang, Liang, Yi 2021, section 4",
            "Aumueller, Lebeda, Nelson, Pagh 2024, section 7.2",
        ],
    ),
    examples=lambda: [example(sized_rows(), 0.1, rho=1, steps=4, seed=7)],
)
def iome_mean(
    space: RowSpace, bound: Number, *, rho: Number, steps: int = 20, seed: int = 0
) -> Measurement[RowSpace, ZeroConcentratedDivergence, Floats]:
    """The mean of each column by instance-optimal mean estimation.

    Args:
        bound: M. The entries lie in [-M, M].
        rho: The budget. A quarter is for the medians of the rotated columns, a hundredth of the
            rest for the radius.
        steps: Of each binary search.
        seed: Of the public rotation.

    Returns:
        A number in [-M, M] for each column.

    Raises:
        SpaceError: If the number of rows is private.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).normal([1, 20], 2, (20_000, 2))
        >>> space = dp.records(columns=2, size=20_000, metric=dp.ChangeOneDistance())
        >>> (space >> dp.estimators.iome_mean(100, rho=0.03))(rows).round(0)
        array([ 1., 20.])
    """
    most, budget = noisy_mean.coordinate_bound(bound), moderate(rho, "rho")
    rounds, start = whole(steps, "steps", least=1), whole(seed, "seed")
    size = noisy_totals.require_public_size(space, "iome_mean")
    turn = Rotation(space.domain.columns, start)
    longest = most * sqrt(turn.width)
    rho_center = budget / 4
    rho_radius = (budget - rho_center) / 100
    rho_sum = budget - rho_center - rho_radius
    misses = _SURE * sqrt(rounds / (2 * float(rho_radius)))
    beyond = min(max(2 * sqrt(2 * turn.width / float(rho_sum)), misses) / size, 0.5)

    spent = "a quarter of rho is for the medians, a hundredth of the rest for the radius"

    def program(ask: Ask[ZeroConcentratedDivergence]) -> Floats:
        rotated = random_rotation(start)
        median = quantile_by_search(0.5, -longest, longest, rho=rho_center, steps=rounds)
        middle = noisy_mean.each_column(ask(rotated >> median))
        shifted = rotated >> center(dyadic(middle))
        ends = (0, 2 * longest)
        length = quantile_by_search(1 - beyond, *ends, rho=rho_radius, steps=rounds)
        radius = max(ask(shifted >> norm() >> length), longest * _SHORTEST)
        total = ask(shifted >> clip_to_norm(radius) >> sum() >> gaussian(rho=rho_sum))
        return noisy_mean.within(turn.back(middle + noisy_mean.each_column(total) / size), most)

    return make_adaptive(space, program, ZeroConcentratedDivergence(), budget, spent)

"""The mean of many columns: of zeros and ones, and with the best noise for a pure budget."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, Final, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.adaptive_programs import Ask, make_adaptive
from opendp_lite.estimators.columns.noisy_mean import (
    OUTSIDE_BALL,
    RowCount,
    coordinate_bound,
    dyadic,
    each_column,
    of_ball,
)
from opendp_lite.estimators.columns.plan import plan_plus_mean, shortened_sum
from opendp_lite.estimators.parts.budget import Budget, Measured, RowSpace, costs_budget
from opendp_lite.estimators.parts.noisy_totals import (
    Drawn,
    Floats,
    JointNoise,
    moderate,
    require_public_size,
)
from opendp_lite.estimators.parts.request import Request
from opendp_lite.measurements.noise import exactly_one, gaussian
from opendp_lite.measurements.vector_noise import l2_mechanism, sum_and_count
from opendp_lite.measures.budgets import PrivacyBudget
from opendp_lite.measures.divergences import MaxDivergence, ZeroConcentratedDivergence
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import records
from opendp_lite.transformations.bounding import clamp, clip_to_norm, scale
from opendp_lite.transformations.sums import sum

Zcdp = ZeroConcentratedDivergence
_CORES: Final = 240
_CROSSINGS: Final = 32
_TABLE: Final = 4001
_AROUND: Final = 10.0
_BEYOND: Final = 45.0


@attrs.frozen(eq=False, slots=False)
class JointBall(JointNoise):
    """The noise (s, k) of an entry and of the rows: s = reach c B, k = (c + stretch) V per_row.

    B is an entry of a point in the unit ball of that many ``columns``, V lies in (-1, 1), both
    uniform; the density of c is in proportion to c^columns e^-c (c + stretch). ``reach`` is the
    radius over epsilon, ``per_row`` is 1 / epsilon. Where the rows are public, ``alone``: c is of
    Gamma(columns + 1), and k is 0.
    """

    reach: float
    columns: int
    per_row: float
    stretch: float

    @classmethod
    def alone(cls, reach: float, columns: int) -> JointBall:
        """Noise on the total without a count (``l2_mechanism``)."""
        return cls(reach, columns, 0.0, float("inf"))

    @cached_property
    def _cores(self) -> tuple[Floats, Floats]:
        """Places of c in even steps, and their weights."""
        d = self.columns
        low = max(0.0, d + 1 - _AROUND * sqrt(d + 1))
        step = (d + 2 + _AROUND * sqrt(d + 2) + _BEYOND - low) / _CORES
        places: Floats = low + step * np.arange(0.5, _CORES)
        longer = 1.0 if not self.per_row else places + self.stretch
        logs = d * np.log(places) - places
        weights: Floats = np.exp(logs - logs.max()) * longer
        return places, weights / weights.sum()

    @cached_property
    def _shadow(self) -> tuple[Floats, Floats]:
        """The law of an entry of a point in the ball: places, and the probability below them."""
        places = np.linspace(-1.0, 1.0, _TABLE)
        density = np.maximum(1 - places**2, 0.0) ** ((self.columns - 1) / 2)
        steps = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
        return places, steps / steps[-1]

    def _half_widths(self, cores: Floats) -> Floats:
        """How far the count is off at most, for each c."""
        return self.per_row * (cores + self.stretch) if self.per_row else np.zeros_like(cores)

    @property
    def total_deviation(self) -> float:
        cores, weights = self._cores
        return self.reach * sqrt(float(weights @ cores**2) / (self.columns + 2))

    @property
    def rows_deviation(self) -> float:
        cores, weights = self._cores
        return sqrt(float(weights @ self._half_widths(cores) ** 2) / 3)

    def below(self, theta: Floats, gap: Floats) -> Floats:
        """The integral over c and V of the law of B."""
        cores, weights = self._cores
        crossings, of_crossings = np.polynomial.legendre.leggauss(_CROSSINGS if self.per_row else 1)
        wide = np.asarray(theta)[..., None, None] * self._half_widths(cores)[:, None] * crossings
        inside = (np.asarray(gap)[..., None, None] + wide) / (self.reach * cores[:, None])
        below = np.interp(inside, *self._shadow)
        found: Floats = np.einsum("...ij,i,j->...", below, weights, of_crossings / 2)
        return found

    def draw(self, runs: int, generator: np.random.Generator) -> Drawn:
        cores, weights = self._cores
        core = generator.choice(cores, runs, p=weights)
        places, below = self._shadow
        entry = np.interp(generator.random(runs), below, places)
        return self.reach * core * entry, self._half_widths(core) * generator.uniform(-1, 1, runs)


_STRETCH: Final = Fraction(1)


@mechanism(
    does=(
        "The mean of each column for rows in an l2 ball, with the best noise for pure privacy "
        "there."
    ),
    changes=OUTSIDE_BALL,
    proof=costs_budget(
        "`l2_mechanism`, or `sum_and_count` with n private.",
        sources=["Hardt and Talwar 2010"],
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), 2, epsilon=1),
        example(records(columns=["age", "visits"]), 2, epsilon=1, confidence=0.9, sampling=True),
    ],
)
def l2_mechanism_mean(
    space: RowSpace,
    radius: Number,
    *,
    epsilon: Number,
    confidence: Number | None = None,
    sampling: bool = False,
) -> Measurement[RowSpace, MaxDivergence]:
    """The mean of each column for rows in an l2 ball, with the best noise for pure privacy there.

    Args:
        radius: The radius r of the ball. Longer rows are shortened to it.
        epsilon: The budget.
        confidence: As for ``mean``.
        sampling: As for ``mean``.

    Returns:
        d numbers, together of length at most r. With a confidence a tuple of d ``Estimate``, each
        with an interval for its column alone. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as 0.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.full((4000, 2), [3.0, 4.0])
        >>> (dp.records(columns=2) >> dp.estimators.l2_mechanism_mean(5, epsilon=1))(rows).round(0)
        array([3., 4.])
    """
    length = moderate(radius, "radius")
    budget = Budget(moderate(epsilon, "epsilon"))
    request = Request.within(budget, "l2_mechanism_mean", confidence, sampling)
    rows, amount = clip_to_norm(length), request.budget.amount
    columns = space.domain.columns
    if space.domain.size is None:
        each = float(amount / space.unit)
        errors = JointBall(float(length) / each, columns, 1 / each, float(_STRETCH))
        joint = rows >> sum_and_count(epsilon=amount, stretch=_STRETCH)
        return of_ball(space, request, length, joint, errors)
    total = rows >> sum()
    moved = total.bind(space).output_space.unit.of(2)
    errors = JointBall.alone(float(moved / amount), columns)
    return of_ball(space, request, length, total >> l2_mechanism(epsilon=amount), errors)


@mechanism(
    does="The mean of each column, by the best estimator for the setting.",
    changes=(
        "Rows that reach far are shortened. A row with a missing value is left out; where the "
        "number of rows is public, a missing value counts as 0, or with rho as the released "
        "median of its column."
    ),
    proof=costs_budget(
        "That of `plan_plus_mean` for rho, of `l2_mechanism_mean` with the radius M sqrt(d) for "
        "epsilon.",
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), 100, rho=0.1, p=1),
        example(records(columns=["age", "visits"]), 100, epsilon=1),
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

    Returns:
        A number for each column: with rho in [-M, M], with epsilon all together of length at most
        M sqrt(d). With few rows for so many columns, or a tiny budget, the error may reach the
        bound. Rows that reach far are shortened. Where the number of rows is private, rows with a
        missing value are left out. Where it is public, a missing value counts as 0, or with rho as
        the released median of its column.

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
    most = coordinate_bound(bound)
    if rho is epsilon is None:
        raise ParameterError(
            "multivariate_mean needs a privacy budget: add rho=0.03, or epsilon=1, which protects "
            "about as well"
        )
    if exactly_one("multivariate_mean", rho=rho, epsilon=epsilon) == "rho":
        chosen = plan_plus_mean(bound, rho=cast(Number, rho), p=p).bind(space)
        why = (
            "the estimator is plan_plus_mean: the budget is rho\n"
            "  about a tenth of it finds where the columns lie and how wide they are\n"
            "  the noise fits that, so the error follows the data and not the bound"
        )
        return chosen.with_explanation(why, trace=())
    radius = most * sqrt(space.domain.columns)
    pure = l2_mechanism_mean(radius, epsilon=cast(Number, epsilon)).bind(space)
    why = (
        "the estimator is l2_mechanism_mean: the budget is a pure epsilon\n"
        "  it has the least error of the means here for that\n"
        "  the error follows the bound; with rho= a bound far above the data costs much less"
    )
    return pure.with_explanation(why)


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

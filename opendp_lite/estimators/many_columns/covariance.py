"""The covariance matrix of several columns."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, Final, overload

import attrs
import numpy as np

from opendp_lite.bodies.bounds import Bounds, broadcast, parse_bounds
from opendp_lite.combinators.adaptive import Ask, programmed
from opendp_lite.combinators.compose import compose
from opendp_lite.core import Measurement
from opendp_lite.domains import Rows
from opendp_lite.errors import SpaceError
from opendp_lite.estimators.inference.bounded_column import BoundedColumn
from opendp_lite.estimators.inference.budget import Budget, budget_of
from opendp_lite.estimators.inference.noisy_products import NoisyProducts
from opendp_lite.estimators.inference.parameters import Floats
from opendp_lite.estimators.inference.value_search import (
    Around,
    Search,
    Unseen,
    median,
    rings_for,
)
from opendp_lite.estimators.many_columns.covariance_estimate import Covariance
from opendp_lite.exact import Number, confidence_of
from opendp_lite.examples import example
from opendp_lite.measurements.l2_mechanism import l2_mechanism
from opendp_lite.measures.approximate import ApproximateDivergence
from opendp_lite.measures.max_divergence import MaxDivergence
from opendp_lite.measures.zero_concentrated import ZeroConcentratedDivergence
from opendp_lite.metrics import ChangeOneDistance
from opendp_lite.recipes import Mechanism, mechanism
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.transformations.center import center
from opendp_lite.transformations.clamp import clamp
from opendp_lite.transformations.clip_to_norm import clip_to_norm
from opendp_lite.transformations.count import count
from opendp_lite.transformations.impute import impute
from opendp_lite.transformations.norm import norm
from opendp_lite.transformations.outer_products import outer_products
from opendp_lite.transformations.scale import scale
from opendp_lite.transformations.select import select
from opendp_lite.transformations.sum import sum

_MIDDLES, _RINGS, _RADIUS = Fraction(1, 10), Fraction(1, 10), Fraction(1, 10)
_TOTALS, _ROWS = Fraction(1, 20), Fraction(1, 20)
_NARROWEST: Final = 1 / 64
"""Of the reach of a column: no column is stretched by more, whatever its rings tell."""
_ONE_DEVIATION: Final = 0.16
"""How often Gaussian noise is more than one deviation above its mean."""


@overload
def covariance(
    lower: Bounds, upper: Bounds, *, rho: Number, confidence: None = None
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, Floats]: ...
@overload
def covariance(
    lower: Bounds, upper: Bounds, *, rho: Number, confidence: Number
) -> Mechanism[Space[Rows], ZeroConcentratedDivergence, Covariance]: ...
@overload
def covariance(
    lower: Bounds, upper: Bounds, *, epsilon: Number, confidence: None = None
) -> Mechanism[Space[Rows], MaxDivergence, Floats]: ...
@overload
def covariance(
    lower: Bounds, upper: Bounds, *, epsilon: Number, confidence: Number
) -> Mechanism[Space[Rows], MaxDivergence, Covariance]: ...
@overload
def covariance(
    lower: Bounds, upper: Bounds, *, epsilon: Number, delta: Number, confidence: None = None
) -> Mechanism[Space[Rows], ApproximateDivergence, Floats]: ...
@overload
def covariance(
    lower: Bounds, upper: Bounds, *, epsilon: Number, delta: Number, confidence: Number
) -> Mechanism[Space[Rows], ApproximateDivergence, Covariance]: ...
@example(records(columns=["age", "visits"]), 0, [100, 10], rho=0.1)
@example(records(columns=2), 0, 1, epsilon=1, delta=1e-6, confidence=0.9)
@example(records(columns=2, size=20, metric=ChangeOneDistance()), -1, 1, epsilon=1, confidence=0.95)
@mechanism
def covariance(
    space: Space[Rows],
    lower: Bounds,
    upper: Bounds,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = None,
) -> Measurement[Space[Rows], Any, Floats | Covariance]:
    """The covariance matrix of the columns.

    Bounds that are far too wide cost little: the error follows the values.

    Args:
        lower: The lower bound of the values: a number, or one for each column. Values below it are
            clipped to it.
        upper: The upper bound, likewise.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        confidence: 0.95, say, asks for standard errors and intervals too.

    Returns:
        A symmetric array without negative eigenvalues, divided by n as ``numpy.cov`` with
        ``ddof=0``. A variance is at most a quarter of the squared width of its bounds. With a
        confidence, a ``Covariance``. It is the covariance of the clipped rows:
        beside the bounds, rows are shortened to a length that a part of the budget finds, in
        columns scaled by about their deviations. No interval shows what that moves. Where no spread
        of a column is found, its intervals allow for what may lie unseen within its bounds. Rows
        with a missing value are left out; where the number of rows is public it counts as the
        middle of its column's bounds.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.
        SpaceError: If there are bounds for another number of columns.

    Privacy:
        The budget that was given, under ``ZeroConcentratedDivergence`` (rho), ``MaxDivergence``
        (epsilon) or ``ApproximateDivergence`` (epsilon and delta).

    Proof:
        A program (``adaptive``): for each column a median and the number of rows in rings around
        it, as in ``variance``; the same for the length of the scaled rows; then the sums of the
        shortened rows and of their outer products, with their sensitivity in the Frobenius norm
        (``outer_products``). Removing negative eigenvalues, and all that no rows within the bounds
        can have, is post-processing.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).multivariate_normal([50, 9], [[9, 2], [2, 1]], 50_000)
        >>> found = (dp.records(columns=2) >> dp.covariance(0, [1000, 100], rho=0.5))(rows)
        >>> found.round()
        array([[9., 2.],
               [2., 1.]])
    """
    plan = _CovariancePlan.of(space, (lower, upper), confidence, (rho, epsilon, delta))
    budget = plan.budget
    made = programmed(space, plan.run, budget.measure, budget.amount, "")
    searched = float(_MIDDLES + _RINGS + _RADIUS)
    why = (
        f"{searched:.0%} of the budget finds where the columns lie, how wide they are and how long "
        "the rows are\n"
        "  the rest is for the sum of the outer products of the rows, clipped to that length\n"
        "  no interval shows what this clipping moves"
    )
    return budget.with_claimed_loss(made).explained(why)


@attrs.frozen
class _CovariancePlan:
    """What was asked of a covariance."""

    columns: tuple[BoundedColumn, ...]
    budget: Budget
    confidence: float | None
    names: tuple[str, ...] | None

    @classmethod
    def of(
        cls,
        space: Space[Rows],
        bounds: tuple[Bounds, Bounds],
        confidence: Number | None,
        budget: tuple[Number | None, Number | None, Number | None],
    ) -> _CovariancePlan:
        """Refuses bounds, budgets and confidences that make no sense."""
        count = space.domain.columns
        ends = [
            parse_bounds(end, f"covariance: {name}")
            for end, name in zip(bounds, ("lower", "upper"), strict=True)
        ]
        for end in ends:
            if len(end) not in (1, count):
                raise SpaceError(
                    f"covariance was given bounds for {len(end)} columns, the rows have {count}; "
                    f"start with dp.records(columns={len(end)})"
                )
        pairs = zip(broadcast(ends[0], count), broadcast(ends[1], count), strict=True)
        columns = tuple(BoundedColumn.between(low, high, "covariance") for low, high in pairs)
        name = "covariance: confidence"
        share = None if confidence is None else float(confidence_of(confidence, name))
        plan = cls(
            columns, budget_of("covariance", *budget).with_choices(), share, space.domain.names
        )
        for place, column in enumerate(columns):
            (plan._rows(space) >> select(place) >> median(column, plan.budget)).bind(space)
        return plan

    def _rows(self, space: Space[Rows]) -> Around:
        """The rows in bounds; where their number is public, with the middles for missing values."""
        inside = clamp([each.lower for each in self.columns], [each.upper for each in self.columns])
        if not row_metric(space).fixed_size:
            return inside
        return impute([each.middle for each in self.columns]) >> inside

    def run(self, ask: Ask[Any]) -> Floats | Covariance:
        """One run."""
        rows, widths, unseen = self._scaled(ask)
        longest = Fraction(rows.bind(ask.space).output_space.domain.body.radius(2))
        lengths = rows >> norm() >> scale(1 / longest)
        search = Search(ask, self.budget, self.budget.part(_RADIUS))
        radius = longest * Fraction(search.around(lengths, (0.0, 1.0), rings_for(1.0)).upper)
        found = self._sums(ask, rows >> clip_to_norm(radius), radius)
        units = np.outer(widths, widths)
        halves = np.array([float(each.half) for each in self.columns])
        matrix, most = _possible(found.matrix * units, halves), np.outer(halves, halves)
        if self.confidence is None:
            return matrix
        low, high = (each * units for each in found.interval(self.confidence))
        _, seen = found.interval((1 + self.confidence) / 2)
        variances, share = np.diagonal(seen * units), (1 - self.confidence) / 4
        hidden = self._hidden(ask, unseen, variances, found.rows, share)
        least = -hidden
        np.fill_diagonal(least, 0.0)
        error = found.standard_errors() * units
        one = self._hidden(ask, unseen, np.diagonal(matrix), found.rows, _ONE_DEVIATION)
        return Covariance(
            matrix,
            np.minimum(np.maximum(error, one), most),
            (
                np.minimum(np.minimum(low, least).clip(-most, most), matrix),
                np.maximum(np.maximum(high, hidden).clip(-most, most), matrix),
            ),
            self.confidence,
            self.names,
            max(found.rows, 0.0),
        )

    def _scaled(self, ask: Ask[Any]) -> tuple[Around, Floats, list[Unseen | None]]:
        """The rows centred and scaled by about their deviations, those, and what may be unseen."""
        count = len(self.columns)
        rows = self._rows(ask.space)
        search = Search(ask, self.budget.part(_MIDDLES / count), self.budget.part(_RINGS / count))
        means, limits = [], []
        for place, column in enumerate(self.columns):
            rings = rings_for(float(2 * column.half))
            middle, limit = search.column(rows >> select(place), column, rings)
            means.append(Fraction(middle) + Fraction(limit.mean))
            limits.append(limit)
        widths = np.array(
            [max(sqrt(max(each.variance, 0)), each.reach * _NARROWEST) for each in limits]
        )
        factors = [Fraction(each) for each in (1 / widths).tolist()]
        return rows >> center(means) >> scale(factors), widths, [each.unseen for each in limits]

    def _hidden(
        self,
        ask: Ask[Any],
        unseen: list[Unseen | None],
        seen: Floats,
        rows: float,
        share: float,
    ) -> Floats:
        """The largest entries of columns of which no spread was found; 0 for all others.

        Args:
            ask: The program's.
            unseen: What is known of each column.
            seen: The largest variances of columns whose spread was found.
            rows: The noisy number of rows.
            share: The probability that a variance exceeds this; twice that for the rows.

        Proof:
            A covariance is at most the root of the product of both variances.
        """
        family, lost = self.budget.family, 0.0
        if ask.space.domain.size is None:
            moved = family.sensitivity(count().bind(ask.space).output_space.unit)
            lost = family.exceeded(self.budget.part(_ROWS).scale(moved), 2 * share)
        fewest = max(rows - lost, 1.0)
        variances = np.array(
            [
                most if each is None else min(each.most(share) / fewest, float(column.half) ** 2)
                for each, most, column in zip(unseen, seen, self.columns, strict=True)
            ]
        )
        none = np.array([each is not None for each in unseen])
        found: Floats = np.sqrt(np.outer(variances, variances)) * (none[:, None] | none)
        return found

    def _sums(self, ask: Ask[Any], rows: Around, radius: Fraction) -> NoisyProducts:
        """The last release."""
        space, size, family = ask.space, ask.space.domain.size, self.budget.family
        of_rows = _ROWS if size is None else Fraction(0)
        left = 1 - _MIDDLES - _RINGS - _RADIUS - _TOTALS - of_rows
        products, totals = rows >> outer_products() >> sum(), rows >> sum()

        def noisy(summed: Any, share: Fraction) -> tuple[Any, float]:
            """With noise that is the same in all directions, and its deviation."""
            part, vector = self.budget.part(share), summed.bind(space).output_space
            if self.budget.measure != MaxDivergence():
                off = part.deviation(family.sensitivity(vector.unit))
                return summed >> part.noise(), off
            width = float(vector.unit.of(2)) / float(part.amount)
            off = width * sqrt(vector.domain.dimension + 1)
            return summed >> l2_mechanism(epsilon=part.amount), off

        queries = [noisy(products, left), noisy(totals, _TOTALS)]
        if size is None:
            part = self.budget.part(of_rows)
            moved = family.sensitivity(count().bind(space).output_space.unit)
            queries.append((count() >> part.noise(), part.deviation(moved)))
        found = ask(compose(*(query for query, _ in queries)))
        deviations = [off for _, off in queries]
        return NoisyProducts(
            np.asarray(found[0], dtype=np.float64),
            np.asarray(found[1], dtype=np.float64),
            float(found[2]) if size is None else float(size),
            deviations[0],
            deviations[1],
            deviations[2] if size is None else 0.0,
            float(radius),
        )


def _possible(matrix: Floats, halves: Floats) -> Floats:
    """A covariance matrix whose deviations are at most half of the widths of the bounds.

    Columns with a larger one are scaled down, which leaves no eigenvalue negative.
    """
    deviations = np.sqrt(np.diagonal(matrix).clip(min=0))
    factors = halves / np.maximum(deviations, halves)
    found: Floats = matrix * np.outer(factors, factors)
    most = np.outer(halves, halves)
    return found.clip(-most, most)

"""The covariance matrix, with how far off its entries may be."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from statistics import NormalDist
from typing import Any, Final, overload

import attrs
import numpy as np

from opendp_lite.base.errors import SpaceError
from opendp_lite.bodies.body import Bounds, broadcast, parse_bounds
from opendp_lite.bodies.simplex import as_matrix
from opendp_lite.combinators.adaptive_programs import make_adaptive
from opendp_lite.combinators.composing import compose
from opendp_lite.display.formatting import align, hold_in, html_table, significant
from opendp_lite.estimators.columns.components import Correlation, PrincipalComponents
from opendp_lite.estimators.parts import AnyAsk, Floats, Measured, Noisy, RowSpace
from opendp_lite.estimators.parts.budget import Budget, budget_of, costs_budget
from opendp_lite.estimators.parts.noisy_totals import FEW, stand_out
from opendp_lite.estimators.parts.request import BoundedColumn, Request
from opendp_lite.estimators.parts.value_search import Around, Search, Unseen, rings_for
from opendp_lite.measurements.vector_noise import l2_mechanism
from opendp_lite.measures.budgets import PrivacyBudget, Spent
from opendp_lite.numbers.exact import Number
from opendp_lite.pipeline.steps import Mechanism, Stage, mechanism
from opendp_lite.releases.result import Result
from opendp_lite.releases.table import Record
from opendp_lite.spaces.domains import Vectors
from opendp_lite.spaces.space import Space, example, records, row_metric, sized_rows
from opendp_lite.transformations import count, impute, norm, outer_products, select, square, sum
from opendp_lite.transformations.bounding import center, clamp, clip_to_norm, scale


@attrs.frozen(eq=False)
class NoisyProducts:
    """One release of the sums of rows and of their outer products, and of their number.

    Args:
        products: The upper triangle of the sum of ``x x^T``, off the diagonal times sqrt(2).
        totals: The sum of x.
        rows: The noisy or the public number.
        of_products: The deviation of the noise of each of the products, of equal size in all
            directions.
        of_totals: Of each of the totals.
        of_rows: Of the rows; 0 where they are public.
        radius: The largest length of x.
        spread: The variance of each entry of ``x x^T``, where the rows are taken for a sample.
    """

    products: Floats
    totals: Floats
    rows: float
    of_products: float
    of_totals: float
    of_rows: float
    radius: float
    spread: Floats | float = 0.0

    @property
    def matrix(self) -> Floats:
        """The estimate: symmetric, with eigenvalues from 0 to the square of the radius.

        What the noise adds to the squares of the means is subtracted.
        """
        means, counted = self.means, self._people
        noise = np.eye(len(means)) * (self.of_totals / counted) ** 2
        found = self._sums / counted - np.outer(means, means) + noise
        values, vectors = np.linalg.eigh(found)
        inside: Floats = (vectors * values.clip(0, self.radius**2)) @ vectors.T
        return (inside + inside.T) / 2

    def standard_errors(self) -> Floats:
        """Of each entry, to the first order; at most the square of the radius."""
        means = self.means
        off = self.matrix - np.outer(means, means)
        noise = np.hypot(self._of_entries, off * self.of_rows) / self._people
        return np.minimum(np.hypot(noise, np.sqrt(self._of_sample) / self._people), self.radius**2)

    def with_spread(self, squares: Floats, off: float) -> NoisyProducts:
        """For a sample: with the sums of squares of the products of x less its mean.

        Args:
            squares: Noisily, the upper triangle; off the diagonal twice.
            off: The deviation of the noise of each.

        Proof:
            For normal columns the product of two has the variance c_ii c_jj + c_ij^2. Only what
            stands out of the noise departs from that.
        """
        matrix, above = self.matrix, np.triu_indices(len(self.totals))
        twice = np.where(above[0] == above[1], 1.0, 2.0)
        variances = np.diagonal(matrix)
        normal = (np.outer(variances, variances) + matrix**2)[above] * twice
        found = squares / self._people - matrix[above] ** 2 * twice - normal
        seen = stand_out(found, len(found) * (off / self._people) ** 2)
        spread = np.zeros_like(matrix)
        spread[above] = np.maximum(normal + seen, 0.0) / twice
        few = 1 + FEW / self._people
        return attrs.evolve(self, spread=np.maximum(spread, spread.T) * few)

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """The least and the largest entries that fit the release.

        Proof:
            With the true means m and the true covariance c, the pivot
            products - rows c - m[i] totals[j] - m[j] totals[i] + rows m[i] m[j] is a known
            combination of the noises, whatever the number of rows (Fieller 1954). At the estimated
            means it is less by rows times the product of their errors. The expectation of that is
            added, and its deviation is added to that of the noise.
        """
        level = NormalDist().inv_cdf((1 + confidence) / 2)
        most = np.full_like(self._sums, self.radius**2)
        least = -most
        np.fill_diagonal(least, 0.0)
        if self.rows > level * self.of_rows:
            low, high = self._fitting(level)
            least, most = low.clip(least, most), high.clip(least, most)
        shown = self.matrix
        return np.minimum(least, shown), np.maximum(most, shown)

    def _fitting(self, level: float) -> tuple[Floats, Floats]:
        """The ends, where so many deviations of noise leave rows.

        With x for c - m[i] m[j] they solve (seen - rows x)^2 = off^2 + (of_rows x)^2, where both
        deviations are those of the level.
        """
        products = np.outer(self.means, self.means)
        twice = np.eye(len(products))
        doubt = self.of_totals**2 / self._people
        seen = self._sums - 2 * self.rows * products + twice * doubt
        off = level**2 * (self._of_entries**2 + (1 + twice) * doubt**2 + self._of_sample)
        lost = (level * self.of_rows) ** 2
        left = self.rows**2 - lost
        room = np.sqrt(lost * seen**2 + left * off)
        return (
            (seen * self.rows - room) / left + products,
            (seen * self.rows + room) / left + products,
        )

    @property
    def _people(self) -> float:
        return max(self.rows, 1.0)

    @property
    def _of_sample(self) -> Floats | float:
        """The variance of the sums that comes of the rows being a sample."""
        return self.spread * self._people

    @property
    def means(self) -> Floats:
        """The estimated means."""
        return (self.totals / self._people).clip(-self.radius, self.radius)

    @property
    def _sums(self) -> Floats:
        """The sum of the outer products as a matrix."""
        return as_matrix(self.products)

    @property
    def _of_entries(self) -> Floats:
        """The deviation of each entry of the sums less what the totals tell of it."""
        squares = self.means**2
        twice = np.eye(len(squares))
        means = (squares[:, None] + squares) * (1 + twice)
        return np.sqrt(self.of_products**2 * (1 + twice) / 2 + means * self.of_totals**2)


@attrs.frozen(eq=False, repr=False)
class Covariance(Result):
    """A released covariance matrix with the errors of its entries. All of it is private.

    Args:
        value: The estimate: symmetric, without negative eigenvalues.
        standard_error: Of each entry, to the first order.
        interval: The least and the largest matrix entries: each pair holds that entry of the
            covariance of the clipped rows in a share ``confidence`` of all releases.
        confidence: Such as 0.95.
        names: Of the columns; None where they have none.
        rows: About how many rows there are.
        sampling: Whether error and interval also cover that the rows are a random sample, so that
            the interval is for the population. If not, they are those of the noise alone.
        noise_error: As ``standard_error``, from the noise alone; None where that is the same.
        several: Whether a person may have several rows, which these take for independent.

    Example:
        >>> import numpy as np
        >>> eye = np.eye(2)
        >>> error, ends = 0.1 * eye + 0.1, (3 * eye, 5 * eye)
        >>> found = Covariance(4 * eye, error, ends, 0.95, ("a", "b"), 90.0)
        >>> found
        <Covariance: intervals in .interval, in 95 % of releases of these rows
              a     b
        a  4.00  0.00
        b  0.00  4.00>
        >>> found.correlation()
        a  b  value    low  high  standard_error  rows
        a  b   0.00  -0.21  0.21            0.11    90
        low to high: 95 % of samples like this. For columns of about normal shape.
    """

    value: Floats
    standard_error: Floats
    interval: tuple[Floats, Floats]
    confidence: float
    names: tuple[str, ...] | None
    rows: float
    sampling: bool = False
    noise_error: Floats | None = None
    several: bool = False

    def correlation(self) -> Correlation:
        """The correlations, with intervals for the population that the rows were sampled from."""
        known = self._noise, self.rows, self.confidence, self._titles
        return Correlation.of(self.value, *known, several=self.several)

    def principal_components(self, *, scaled: bool = False) -> PrincipalComponents:
        """The directions in which rows vary most, and how far the noise may have turned them.

        Args:
            scaled: Whether columns are brought to a variance of 1 first.
        """
        matrix, noise = self.value, self._noise
        if scaled:
            units = np.sqrt(np.diagonal(matrix).clip(min=1e-300))
            matrix, noise = (each / np.outer(units, units) for each in (matrix, noise))
        return PrincipalComponents.of(matrix, noise, self.confidence, self._titles, scaled=scaled)

    @property
    def _noise(self) -> Floats:
        return self.standard_error if self.noise_error is None else self.noise_error

    @property
    def _titles(self) -> tuple[str, ...]:
        return self.names or tuple(f"column {place}" for place in range(len(self.value)))

    @property
    def covers(self) -> str:
        return hold_in(self.confidence, sampling=self.sampling, several=self.several)

    def records(self) -> list[Record]:
        """A row for each pair of columns, a column with itself for its variance."""
        names, (least, most) = self._titles, self.interval
        return [
            {
                "a": names[i],
                "b": names[j],
                "value": float(self.value[i, j]),
                "low": float(least[i, j]),
                "high": float(most[i, j]),
                "standard_error": float(self.standard_error[i, j]),
                "rows": self.rows,
            }
            for i, j in zip(*np.triu_indices(len(names)), strict=True)
        ]

    def __repr__(self) -> str:
        pairs = zip(self._titles, self.value, self.standard_error, strict=True)
        lines = [
            [name, *(significant(off, one)[0] for one, off in zip(values, errors, strict=True))]
            for name, values, errors in pairs
        ]
        shown = align([["", *self._titles], *lines], set(range(1, len(lines) + 1)))
        return "\n".join([f"<Covariance: intervals in .interval, in {self.covers}", *shown]) + ">"

    def _repr_html_(self) -> str:
        shown = {}
        for row in self.records():
            ends = significant(row["standard_error"], row["value"], row["low"], row["high"])
            shown[f"{row['a']}, {row['b']}"] = "{} ({} to {})".format(*ends)
        return html_table(shown)


_MIDDLES, _RINGS, _RADIUS = Fraction(1, 10), Fraction(1, 10), Fraction(1, 10)
_TOTALS, _ROWS, _SQUARES = Fraction(1, 20), Fraction(1, 20), Fraction(1, 20)
# Of the reach of a column: no column is stretched by more, whatever its rings tell.
_NARROWEST: Final = 1 / 64
# So many times half the width of bounds no radius needs to reach.
_BEYOND_BOUNDS: Final = 2
# How often Gaussian noise is more than one deviation above its mean.
_ONE_DEVIATION: Final = 0.16


@overload
def covariance(
    lower: Bounds,
    upper: Bounds,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number = 0.95,
    sampling: bool = True,
) -> Mechanism[RowSpace, Spent, Covariance]: ...
@overload
def covariance(
    lower: Bounds,
    upper: Bounds,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: None,
    sampling: bool = True,
) -> Mechanism[RowSpace, Spent, Floats]: ...
@mechanism(
    does="The covariance matrix of the columns.",
    changes=(
        "Values beyond the bounds are clipped to them, and rows are shortened to a length that a "
        "part of the budget finds. Rows with a missing value are left out; where the number of "
        "rows is public it counts as the middle of its column's bounds."
    ),
    proof=costs_budget(
        "An `adaptive` program of medians, numbers of rows in rings (a row is in one ring of "
        "each column), and sums of rows and of their `outer_products` after `clip_to_norm`. "
        "Removing negative eigenvalues is post-processing."
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), 0, [100, 10], rho=0.1, confidence=None),
        example(records(columns=2), 0, 1, epsilon=1, delta=1e-6, confidence=0.9),
        example(sized_rows(2), -1, 1, epsilon=1),
    ],
)
def covariance(
    space: RowSpace,
    lower: Bounds,
    upper: Bounds,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = 0.95,
    sampling: bool = True,
) -> Measured[Floats | Covariance]:
    """The covariance matrix of the columns.

    Bounds that are far too wide cost little: the error follows the values.

    Args:
        lower: The lower bound of the values: a number, or one for each column. Values below it are
            clipped to it.
        upper: The upper bound, likewise.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        rho: The budget of zero-concentrated privacy, 0.03 say.
        epsilon: The budget of pure privacy, 1 say; with ``delta`` of approximate privacy.
        delta: With ``epsilon``: the probability that its bound may fail, 1e-6 say.
        confidence: Of the standard errors and intervals; with None an array alone.
        sampling: With a confidence: whether intervals are for the population, of which the rows are
            a random sample: this takes a twentieth of the budget. With False they are for these
            rows, and count the noise alone.

    Returns:
        A ``Covariance``, or with ``confidence=None`` its array: symmetric and without negative
        eigenvalues, divided by n as ``numpy.cov`` with ``ddof=0``. A variance is at most a quarter
        of the squared width of its bounds. It is the covariance of the clipped rows:
        beside the bounds, rows are shortened to a length that a part of the budget finds, in
        columns scaled by about their deviations. No interval shows what that moves. Where no spread
        of a column is found, its intervals allow for what may lie unseen within its bounds. Rows
        with a missing value are left out; where the number of rows is public it counts as the
        middle of its column's bounds.

    Raises:
        ParameterError: If a bound or the budget is missing or impossible.
        SpaceError: If there are bounds for another number of columns.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> rows = np.random.default_rng(0).multivariate_normal([50, 9], [[9, 2], [2, 1]], 50_000)
        >>> found = (dp.records(columns=2) >> dp.covariance(0, [1000, 100], rho=0.5))(rows)
        >>> found.value.round()
        array([[9., 2.],
               [2., 1.]])
    """
    columns = space.domain.columns
    ends = [parse_bounds(lower, "covariance: lower"), parse_bounds(upper, "covariance: upper")]
    for end in ends:
        if len(end) not in (1, columns):
            raise SpaceError(
                f"covariance was given bounds for {len(end)} columns, the rows have {columns}; "
                f"start with dp.records(columns={len(end)})"
            )
    pairs = zip(*(broadcast(end, columns) for end in ends), strict=True)
    bounded = tuple(BoundedColumn.between(low, high, "covariance") for low, high in pairs)
    whole = budget_of("covariance", rho, epsilon, delta).with_choices()
    asked = Request.within(whole, "covariance", confidence, sampling)
    plan = _CovariancePlan(bounded, asked, space.domain.names)
    for place, column in enumerate(bounded):
        median = whole.median(bounds=column.typed)
        (plan.rows(space) >> select(place) >> median).bind(space)
    searched = float(_MIDDLES + _RINGS + _RADIUS)
    why = (
        f"{searched:.0%} of the budget finds where the columns lie, how wide they are and how long "
        "the rows are\n"
        "  if that length shows a width to be wrong, a second one takes another "
        f"{float(_RADIUS):.0%}\n"
        "  the rest is for the sum of the outer products of the rows, clipped to that length\n"
        "  no interval shows what this clipping moves"
    )
    made = make_adaptive(space, plan.run, whole.measure, whole.amount, why)
    return whole.with_claimed_loss(made)


@attrs.frozen
class _CovariancePlan:
    """What was asked of a covariance."""

    columns: tuple[BoundedColumn, ...]
    request: Request
    names: tuple[str, ...] | None

    @property
    def budget(self) -> Budget:
        """All of it."""
        return self.request.whole

    def rows(self, space: RowSpace) -> Around:
        """The rows in bounds; where their number is public, with the middles for missing values."""
        inside = clamp([each.lower for each in self.columns], [each.upper for each in self.columns])
        if not row_metric(space).fixed_size:
            return inside
        return impute([each.middle for each in self.columns]) >> inside

    def run(self, ask: AnyAsk) -> Floats | Covariance:
        """One run."""
        rows, widths, unseen = self._scale(ask)
        halves = np.array([float(each.half) for each in self.columns])
        radius, searches = self._radius(ask, rows), 1
        reaches = float(radius) * widths / halves
        uneven = reaches.min() < 1 or reaches.max() > 3 * sqrt(len(halves))
        if uneven and reaches.max() > _BEYOND_BOUNDS:
            # The width of a narrow column was found and others were not, or noise was taken for the
            # rows of one. The radius then reaches beyond the bounds of a column, and its noise
            # too. Lengths now say how wide each column may be at most.
            wider = np.minimum(reaches, 1) * halves
            factors = [Fraction(each) for each in (widths / wider).tolist()]
            rows, widths = rows >> scale(factors), wider
            radius, searches = self._radius(ask, rows), 2
        found = self._sums(ask, rows >> clip_to_norm(radius), radius, searches)
        units = np.outer(widths, widths)
        matrix, most = _possible(found.matrix * units, halves), np.outer(halves, halves)
        if self.request.confidence is None:
            return matrix
        noise = found.standard_errors() * units
        if self.request.sampling:
            found = self._with_spread(ask, rows >> clip_to_norm(radius), found)
        low, high = (each * units for each in found.interval(self.request.confidence))
        _, seen = found.interval((1 + self.request.confidence) / 2)
        variances, share = np.diagonal(seen * units), (1 - self.request.confidence) / 4
        hidden = self._hidden(ask, unseen, variances, found.rows, share)
        # Where nothing is hidden, 0 is no end: it lay in every interval once.
        low = np.where(hidden > 0, np.minimum(low, -hidden), low)
        high = np.where(hidden > 0, np.maximum(high, hidden), high)
        np.fill_diagonal(low, np.diagonal(low).clip(min=0))
        one = self._hidden(ask, unseen, np.diagonal(matrix), found.rows, _ONE_DEVIATION)
        error, of_noise = (
            np.minimum(np.maximum(each, one), most)
            for each in (found.standard_errors() * units, noise)
        )
        return Covariance(
            matrix,
            error,
            (np.minimum(low.clip(-most, most), matrix), np.maximum(high.clip(-most, most), matrix)),
            self.request.confidence,
            self.names,
            max(found.rows, 0.0),
            self.request.sampling,
            of_noise if self.request.sampling else None,
            self.request.sampling and ask.space.unit > 1,
        )

    def _radius(self, ask: AnyAsk, rows: Around) -> Fraction:
        """A length that few rows exceed."""
        longest = Fraction(rows.bind(ask.space).output_space.domain.body.radius(2))
        lengths = rows >> norm() >> scale(1 / longest)
        search = Search(ask, self.budget, self.budget.part(_RADIUS))
        return longest * Fraction(search.around(lengths, (0.0, 1.0), rings_for(1.0)).upper)

    def _scale(self, ask: AnyAsk) -> tuple[Around, Floats, list[Unseen | None]]:
        """The rows centred and scaled by about their deviations, those, and what may be unseen."""
        count = len(self.columns)
        rows = self.rows(ask.space)
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
        self, ask: AnyAsk, unseen: list[Unseen | None], seen: Floats, rows: float, share: float
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
        part, lost = self.budget.part(_ROWS), 0.0
        if ask.space.domain.size is None:
            lost = part.exceeded(part.scale(part.reach(count(), ask.space)), 2 * share)
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

    def _sums(self, ask: AnyAsk, rows: Around, radius: Fraction, searches: int) -> NoisyProducts:
        """The last release, after so many searches of a radius."""
        space, size = ask.space, ask.space.domain.size
        of_rows = _ROWS if size is None else Fraction(0)
        left = 1 - _MIDDLES - _RINGS - searches * _RADIUS - _TOTALS - of_rows
        left -= _SQUARES if self.request.sampling else 0
        products, totals = rows >> outer_products() >> sum(), rows >> sum()

        queries = [
            even_noise(summed, self.budget.part(share), space)
            for summed, share in ((products, left), (totals, _TOTALS))
        ]
        if size is None:
            part = self.budget.part(of_rows)
            off = part.deviation(part.reach(count(), space))
            queries.append((count() >> part.noise(), off))
        found = ask(compose(*(query for query, _ in queries)))
        of_products, of_totals, of_count = (*(off for _, off in queries), 0.0)[:3]
        return NoisyProducts(
            np.asarray(found[0], dtype=np.float64),
            np.asarray(found[1], dtype=np.float64),
            float(found[2]) if size is None else float(size),
            of_products,
            of_totals,
            of_count,
            float(radius),
        )

    def _with_spread(self, ask: AnyAsk, rows: Around, found: NoisyProducts) -> NoisyProducts:
        """Adds how far the products of the columns spread."""
        means = [Fraction(each) for each in found.means.tolist()]
        squares = rows >> center(means) >> outer_products() >> square() >> sum()
        part = self.budget.part(_SQUARES)
        off = part.deviation(part.reach(squares, ask.space))
        return found.with_spread(np.asarray(ask(squares >> part.noise()), dtype=np.float64), off)


def even_noise(
    summed: Stage[RowSpace, Space[Vectors]], budget: Budget, space: Any
) -> tuple[Noisy[Floats], float]:
    """A sum with noise that is alike in all directions, and the deviation of each entry."""
    if budget.power == 2:
        return summed >> budget.noise(), budget.deviation(budget.reach(summed, space))
    vector = summed.bind(space).output_space
    width = float(vector.unit.of(2)) / float(budget.amount)
    off = width * sqrt(vector.domain.dimension + 1)
    return summed >> l2_mechanism(epsilon=budget.amount), off


def _possible(matrix: Floats, halves: Floats) -> Floats:
    """A covariance matrix whose deviations are at most half of the widths of the bounds.

    Columns with a larger one are scaled down, which leaves no eigenvalue negative.
    """
    deviations = np.sqrt(np.diagonal(matrix).clip(min=0))
    factors = halves / np.maximum(deviations, halves)
    found: Floats = matrix * np.outer(factors, factors)
    most = np.outer(halves, halves)
    return found.clip(-most, most)

"""Means of rows in a ball, and what all estimators of several columns share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from statistics import NormalDist
from typing import Any, Final, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies.body import Bounds, Values, broadcast, parse_bounds, to_floats
from opendp_lite.combinators import Ask, compose
from opendp_lite.estimators.parts import AnyAsk, Floats, Measured, Noisy, RowSpace, noisy_totals
from opendp_lite.estimators.parts.budget import Budget, ConcentratedBudget, costs_budget
from opendp_lite.estimators.parts.noisy_totals import JointNoise, moderate
from opendp_lite.estimators.parts.request import BoundedColumn, ByColumn, Request, bounds_of_each
from opendp_lite.measurements import gaussian, l2_mechanism, private_quantile, sum_and_count
from opendp_lite.measurements.noise import Aggregate
from opendp_lite.measures.divergences import MaxDivergence, ZeroConcentratedDivergence
from opendp_lite.numbers.exact import Number, exact, nearest
from opendp_lite.numbers.fraction_array import LONG, FractionArray
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import Stage, mechanism
from opendp_lite.spaces.space import example, records
from opendp_lite.transformations import clip_to_norm, count, norm, sum
from opendp_lite.transformations.bounding import center, clamp, scale
from opendp_lite.transformations.row_maps import fitting

Rowwise = Stage[RowSpace, RowSpace]
SumAndRows = Floats | tuple[Floats, float]
"""The number of rows is there where it is private."""

OUTSIDE_BALL: Final = (
    "Longer rows are shortened to the radius. A row with a missing value is left out; where the "
    "number of rows is public, a missing value counts as 0."
)
"""What an estimator for rows in an l2 ball changes."""


def coordinate_bound(given: Number) -> float:
    """The bound on the size of every entry."""
    return float(noisy_totals.moderate(given, "bound"))


def for_columns(given: Bounds, name: str, space: RowSpace, step: str) -> Values:
    """A number for each column, from one for all or one for each."""
    found = fitting(parse_bounds(given, name), space, step)
    return broadcast(found, space.domain.columns)


def error_power(given: Number) -> float:
    """The p of an l_p error."""
    found = exact(given, "p")
    if found < 1:
        raise ParameterError(f"p must be at least 1, got {given}")
    return nearest(found)


def each_column(release: ArrayLike) -> Floats:
    """A release with an entry for each column, also where there is one column."""
    return np.atleast_1d(np.asarray(release, dtype=np.float64))


def ask_quantiles(ask: AnyAsk, rows: Rowwise, share: Number, **asked: Any) -> Floats:
    """A private quantile of each column, with these arguments."""
    return each_column(ask(rows >> private_quantile(share, confidence=None, **asked)))


def ratio(total: Floats, rows: float, variance: float) -> Floats:
    """The total over a noisy number of rows of this variance.

    Proof:
        total rows / (rows^2 + variance) has the least error near few rows, where the plain ratio
        has no variance at all. It goes to 0 there.
    """
    counted = max(rows, 0.0)
    return total * (counted / (counted * counted + variance))


def within(estimate: ArrayLike, bound: float) -> Floats:
    """An estimate brought into the cube in which the mean lies; NaN becomes 0."""
    return np.nan_to_num(np.asarray(estimate, dtype=np.float64)).clip(-bound, bound)


def dyadic(numbers: Floats) -> Values:
    """The floats as the fractions that they are, over powers of two, which add up fast."""
    if len(numbers) < LONG:
        return tuple(map(Fraction, numbers.tolist()))
    return FractionArray.of_floats(numbers)


def count_share(columns: int) -> Fraction:
    """Of rho, for a private number of rows: of the least regret over all means in their bounds."""
    return 1 / Fraction(2 * sqrt(columns) + 2)


def read_both(release: SumAndRows, size: int | None) -> tuple[Floats, float]:
    """The noisy sum, and the noisy number of rows or the public one."""
    total, rows = cast(tuple[Floats, float], release if size is None else (release, size))
    return each_column(total), float(rows)


def of_ball(
    space: RowSpace,
    request: Request,
    radius: Fraction,
    noisy: Noisy[SumAndRows],
    errors: JointNoise,
) -> Measured[Floats | ByColumn]:
    """The mean of rows in an l2 ball from a noisy sum, and a noisy number where that is private.

    Args:
        space: The space.
        request: What was asked for.
        radius: Of the ball.
        noisy: What is released of all rows.
        errors: How each entry of it errs.
    """
    size, length = space.domain.size, float(radius)
    shown = noisy_totals.RatioOfNoisySums(-length, length, 0.0, errors, ridge=1.0)

    def vector(release: SumAndRows) -> Floats:
        total, rows = read_both(release, size)
        mean = ratio(total, rows, float(errors.rows_deviation) ** 2)
        # It lies in the ball.
        return mean * (length / max(float(np.linalg.norm(mean)), length))

    def totals(release: SumAndRows) -> list[noisy_totals.NoisyTotals]:
        total, rows = read_both(release, size)
        return [noisy_totals.NoisyTotals(shown, float(entry), rows) for entry in total]

    return request.of_columns(space, clip_to_norm(radius), noisy, vector, totals)


_CORES: Final = 240
# A rise over less would be lost in roundings.
_NARROWEST: Final = 1e-6
_TABLE: Final = 4001
_AROUND: Final = 10.0
_BEYOND: Final = 45.0


@attrs.frozen(eq=False, slots=False)
class JointBall(JointNoise):
    """The noise (s, k) of an entry and of the rows: s = reach c B, k = (c + stretch) V per_row.

    B is an entry of a point in the unit ball of that many ``columns``, with ``cube`` in the cube;
    V lies in (-1, 1), both uniform; the density of c is in proportion to c^columns e^-c
    (c + stretch). ``reach`` is the radius over epsilon, ``per_row`` is 1 / epsilon. Where the rows
    are public, ``alone``: c is of Gamma(columns + 1), and k is 0.
    """

    reach: float
    columns: int
    per_row: float
    stretch: float
    cube: bool = False

    @classmethod
    def alone(cls, reach: float, columns: int, cube: bool = False) -> JointBall:
        """Noise on the total without a count (``l2_mechanism``, ``linf_mechanism``)."""
        return cls(reach, columns, 0.0, float("inf"), cube)

    @property
    def _sides(self) -> int:
        """Of the ball that B is an entry of a point of: one entry is uniform, as in a cube."""
        return 1 if self.cube else self.columns

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
    def _shadow(self) -> tuple[Floats, Floats, Floats]:
        """The law of an entry of a point in the ball: places, the law there, and its integral."""
        places = np.linspace(-1.0, 1.0, _TABLE)
        density = np.maximum(1 - places**2, 0.0) ** ((self._sides - 1) / 2)
        steps = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
        law = steps / steps[-1]
        areas = np.concatenate([[0.0], np.cumsum(law[1:] + law[:-1])])
        return places, law, areas / (_TABLE - 1)

    def _area(self, places: Floats) -> Floats:
        """The integral of the law of B up to each place; the law is straight between its places."""
        _, law, areas = self._shadow
        step = 2 / (_TABLE - 1)
        within = (np.minimum(np.maximum(places, -1), 1) + 1) / step
        low = np.minimum(within.astype(np.intp), _TABLE - 2)
        beyond = within - low
        rise = law[low] + (law[low + 1] - law[low]) * beyond / 2
        found: Floats = areas[low] + step * beyond * rise + np.maximum(places - 1, 0)
        return found

    def _half_widths(self, cores: Floats) -> Floats:
        """How far the count is off at most, for each c."""
        return self.per_row * (cores + self.stretch) if self.per_row else np.zeros_like(cores)

    @property
    def total_deviation(self) -> float:
        cores, weights = self._cores
        return self.reach * sqrt(float(weights @ cores**2) / (self._sides + 2))

    @property
    def rows_deviation(self) -> float:
        cores, weights = self._cores
        return sqrt(float(weights @ self._half_widths(cores) ** 2) / 3)

    def below(self, theta: Floats, gap: Floats) -> Floats:
        """The integral over c of the law of B, and over V of that: the rise of its integral."""
        cores, weights = self._cores
        wide = np.abs(np.asarray(theta)[..., None] * self._half_widths(cores)) / self.reach
        half = np.maximum(wide / cores, _NARROWEST)
        middle = np.asarray(gap)[..., None] / (self.reach * cores)
        below = (self._area(middle + half) - self._area(middle - half)) / (2 * half)
        found: Floats = below @ weights
        return found

    def draw(self, runs: int, generator: np.random.Generator) -> noisy_totals.Drawn:
        cores, weights = self._cores
        core = generator.choice(cores, runs, p=weights)
        places, below, _ = self._shadow
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
        "`l2_mechanism`, or `sum_and_count` with n private.", sources=["Hardt and Talwar 2010"]
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
    length = noisy_totals.moderate(radius, "radius")
    budget = Budget(noisy_totals.moderate(epsilon, "epsilon"))
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


MEDIAN_OF_NORMAL: Final = NormalDist().inv_cdf(0.75)
"""The median of |Z| for a standard normal Z."""
_FIRST: Final = Fraction(1, 200)
COUNT_SHARE: Final = Fraction(1, 101)
"""Of a last release, for the count: the best for a constant column of a tenth of the radius."""
_MOST_SHORTENED: Final = 0.25
# How much more likely than one beyond all rows a length is that the share of rows exceeds. Lengths
# beyond all rows are most of the lattice: e^7 cells of it.
_NATS: Final = 17
# Cells to a doubling of the radius.
_BITS: Final = 6
_TRADE: Final = 16
_DEARER: Final = 10.0
_RESOLUTION: Final = 0.2


@attrs.frozen
class RowCount:
    """The number of rows that a program under zCDP may use.

    Args:
        ask: The program's.
        rows: The number, at least 1.
        counted: The noisy number; None where the number is public.
        weight: The rho that was spent on it. A count that costs rho has a variance of 1 / (2 rho).
        budget: All of the program's rho.
    """

    ask: Ask[ZeroConcentratedDivergence]
    rows: float
    counted: float | None
    weight: Fraction
    budget: Fraction

    @classmethod
    def of(cls, ask: Ask[ZeroConcentratedDivergence], rho: Fraction) -> RowCount:
        """The public number, or a first count that costs 1/200 of rho."""
        size = ask.space.domain.size
        if size is not None:
            return cls(ask, float(size), None, Fraction(0), rho)
        weight = _FIRST * rho
        counted = float(ask(count() >> gaussian(rho=weight)))
        return cls(ask, max(counted, 1.0), counted, weight, rho)

    @property
    def rank(self) -> float:
        """How far one row moves the rank of a median."""
        return 1.0 if self.counted is None else 0.5

    def radius(self, rows: Rowwise, ends: tuple[float, float], rho: Fraction) -> float:
        """A length between the ends that few rows exceed.

        The less noise the budget leaves in a mean, the fewer rows are shortened. It spends rho, or
        up to ten times as much where so few rows are found only by that. Where none are found it is
        the larger end, and nothing is spent.
        """
        most = 0.07 if self.counted is None else 0.03
        noise = sqrt(self.ask.space.domain.columns / float(self.budget)) / self.rows
        wanted = min(most, _TRADE * noise)
        needed = (_NATS / (wanted * self.rows)) ** 2 / 2 / float(rho)
        cost = rho * Fraction(min(max(needed, 1.0), _DEARER)).limit_denominator(1000)
        reach = sqrt(2 * float(cost)) * self.rows
        if reach * _MOST_SHORTENED < log(log(ends[1] / ends[0]) / _RESOLUTION) + 2:
            return ends[1]
        share = min(max(wanted, _NATS / reach), _MOST_SHORTENED)
        asked = {"bounds": ends, "scale": "log", "rho": cost, "bits": _BITS}
        return float(ask_quantiles(self.ask, rows >> norm(), 1 - share, **asked)[0])

    def look(self, query: Stage[RowSpace, Aggregate], share: Fraction) -> tuple[Floats, float]:
        """A noisy sum for this share of all rho, and the standard deviation of its noise."""
        part = ConcentratedBudget(share * self.budget)
        off = part.deviation(part.reach(query, self.ask.space))
        return each_column(self.ask(query >> part.noise())), off

    def total(
        self, rows: Stage[RowSpace, Aggregate], rho: Fraction, share: Fraction = COUNT_SHARE
    ) -> tuple[Floats, RowCount]:
        """A release of a sum, and the number of rows as it is known after it.

        Where the number is private, that share of rho is for another count.
        """
        if self.counted is None:
            return each_column(self.ask(rows >> gaussian(rho=rho))), self
        weight = share * rho
        both = compose(rows >> gaussian(rho=rho - weight), count() >> gaussian(rho=weight))
        found, again = self.ask(both)
        together = self.weight + weight
        part = float(weight / together)
        counted = part * float(again) + (1 - part) * self.counted
        known = RowCount(self.ask, max(counted, 1.0), counted, together, self.budget)
        return each_column(found), known

    def mean(self, total: Floats) -> Floats:
        """The total over the number of rows."""
        if self.counted is None:
            return total / self.rows
        return ratio(total, self.counted, 1 / (2 * float(self.weight)))


_PAIR: Final = 2
_Pair = tuple[Number, Number]
ColumnsBound = Number | Sequence[_Pair] | Sequence[Number] | Mapping[str, _Pair]


@attrs.frozen
class ColumnBounds:
    """The bounds of each column.

    Args:
        lower: The lower bound of each, in its unit.
        upper: The upper bound of each.
        own: Whether a person gave both, and not one largest size for all.
        given: Those that were given; None where values stay as they are.
        unit: What values are counted in here, from the place in the given bounds nearest to 0.
    """

    lower: Values
    upper: Values
    own: bool
    given: ColumnBounds | None = None
    unit: tuple[float, ...] = ()

    @classmethod
    def of(cls, given: object, space: RowSpace, step: str) -> ColumnBounds:
        """From a largest size, a pair for all columns, or a pair for each."""
        columns = space.domain.columns
        if not isinstance(given, Mapping | Sequence) or isinstance(given, str):
            most = moderate(given, "bound")
            return cls((-most,) * columns, (most,) * columns, own=False)
        pairs = given
        if isinstance(given, Mapping):
            names = space.domain.names
            if names is None:
                raise SpaceError(
                    f"{step}: the rows have no names; give a pair for each column in their order, "
                    "or start with dp.records(columns=['age', ...])"
                )
            pairs = bounds_of_each(given, names, step, "bound")
        elif len(given) == _PAIR and not any(isinstance(end, Sequence) for end in given):
            pairs = [given] * columns
        if not all(isinstance(each, Sequence) and len(each) == _PAIR for each in pairs):
            raise ParameterError(
                f"{step}: bound is one number, a pair (lower, upper), or such a pair for each "
                "column: bound=[(0, 100), (140, 210)], say"
            )
        if len(pairs) != columns:
            raise SpaceError(f"{step} was given {len(pairs)} pairs of bounds for {columns} columns")
        each = [BoundedColumn.between(low, high, step) for low, high in pairs]
        return cls(tuple(one.lower for one in each), tuple(one.upper for one in each), own=True)

    def counted(self, unit: Floats) -> ColumnBounds:
        """Values are counted in units, from the place in their bounds that is nearest to 0.

        Between 1e6 and 1e6 + 1 a search would else look at all sizes up to 1e6, with noise to
        match. The middle of the bounds would serve a column of visits worse: most lie near 0, and
        a search looks finely there.
        """
        lower, upper = (
            tuple(
                (end - Fraction(zero)) / Fraction(one)
                for end, zero, one in zip(ends, self.nearest.tolist(), unit.tolist(), strict=True)
            )
            for ends in (self.lower, self.upper)
        )
        return ColumnBounds(lower, upper, self.own, self, tuple(unit.tolist()))

    @property
    def nearest(self) -> Floats:
        """The place in the bounds that is nearest to 0."""
        low, high = self.floats
        return np.zeros(len(low)).clip(low, high)

    @property
    def even(self) -> bool:
        """Whether all columns have bounds of one width."""
        return len({high - low for low, high in zip(self.lower, self.upper, strict=True)}) == 1

    @property
    def rows(self) -> Rowwise:
        """The rows in bounds, in these units."""
        inside = clamp(self.lower, self.upper)
        if self.given is None:
            return inside
        counted = scale(dyadic(1 / np.array(self.unit))) >> inside
        nearest = self.given.nearest
        return center(dyadic(nearest)) >> counted if nearest.any() else counted

    def restore(self, found: Floats | ByColumn) -> Floats | ByColumn:
        """Means as the columns have them, in their bounds: products are rounded."""
        if self.given is None:
            return found
        nearest = self.given.nearest
        if isinstance(found, np.ndarray):
            return self.given.clip(found * np.array(self.unit) + nearest)
        own = [
            each * unit + zero
            for each, unit, zero in zip(found, self.unit, nearest.tolist(), strict=True)
        ]
        inside = self.given.clip(np.array([each.value for each in own])).tolist()
        return tuple(
            attrs.evolve(each, value=value) for each, value in zip(own, inside, strict=True)
        )

    @property
    def floats(self) -> tuple[Floats, Floats]:
        """The bounds as floats."""
        return to_floats(self.lower), to_floats(self.upper)

    @property
    def largest(self) -> float:
        """The largest size of an entry."""
        return float(np.abs(self.floats).max())

    @property
    def exact_middle(self) -> Values:
        """Halfway between."""
        return tuple((low + high) / 2 for low, high in zip(self.lower, self.upper, strict=True))

    @property
    def middle(self) -> Floats:
        """The same as floats."""
        return to_floats(self.exact_middle)

    @property
    def halves(self) -> Floats:
        """Half the widths, from exact ends: ends that round to one float are still apart."""
        ends = zip(self.lower, self.upper, strict=True)
        return to_floats([(high - low) / 2 for low, high in ends])

    def clip(self, estimate: Floats) -> Floats:
        """An estimate brought into the bounds; NaN becomes the middle."""
        found = np.where(np.isnan(estimate), self.middle, estimate)
        return found.clip(*self.floats)

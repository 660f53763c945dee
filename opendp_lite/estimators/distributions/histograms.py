"""Counts by category or by bin."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any, Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.spelling import is_row
from opendp_lite.bodies.body import Bounds, parse_bounds
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.grouped import Numbers
from opendp_lite.engines.plan import Map
from opendp_lite.estimators.distributions.histogram_release import Histogram, Tallies
from opendp_lite.estimators.parts.budget import (
    ApproximateBudget,
    Measured,
    RowSpace,
    budget_of,
    costs_budget,
)
from opendp_lite.estimators.parts.noisy_totals import Floats
from opendp_lite.measurements.noise import laplace
from opendp_lite.measurements.thresholds import threshold_of, thresholded_counts
from opendp_lite.measures.budgets import PrivacyBudget, numbers_of
from opendp_lite.measures.curve import Pair, curved_pair
from opendp_lite.measures.divergences import ApproximateDivergence
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number, confidence_of, nearest, round_up
from opendp_lite.pipeline.core import Measurement, Transformation
from opendp_lite.pipeline.steps import Stage, mechanism
from opendp_lite.samplers.law import Errors, Law, half_widths
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import Space, records
from opendp_lite.spaces.tables import Tables, TablesOrRows
from opendp_lite.transformations.encoding import Edges, bins, one_for_each, one_hot
from opendp_lite.transformations.rows import select_columns
from opendp_lite.transformations.sums import sum

Which = int | str | Sequence[str]
TableSpace = Space[TablesOrRows]
Picked = Transformation[TableSpace, Space[Any]]
Counting = Measurement[TableSpace, Any, Histogram]
Axes = tuple[tuple[Hashable, ...], ...]
_OTHER: Final = "other"
_MOST_CELLS: Final = 2**24
# The name of the column of data that is one column.
_BARE: Final = "value"


@mechanism(
    does="Counts the rows of each category or of each bin.",
    changes=(
        "A value that is not declared is left out, as a missing value is; with other=True it "
        "counts in a further place. Without declared categories, rare ones are left out."
    ),
    proof=costs_budget(
        "`one_hot` or `bins`, `sum`, noise: l1 = l2 = 1 for a row added or removed, 2 and "
        "sqrt(2) for one replaced. Unknown categories: `thresholded_counts`.",
    ),
    examples=lambda: [
        example(records(columns=["sex", "age"]), "age", edges=[0, 18, 65, 120], epsilon=1),
        example(
            records(columns=["sex", "region"], size=20, metric=ChangeOneDistance()),
            ["sex", "region"],
            categories=[[0, 1], [1, 2.5, None]],
            rho=0.1,
        ),
        example(
            records(columns=["sex", "age"]),
            ["sex", "age"],
            categories=[0, 1],
            edges=[0, 18, 65],
            rho=1,
        ),
        example(records(), edges=range(0, 101, 10), other=True, epsilon=1, delta=1e-6),
        example(records(columns=["city"]), "city", epsilon=1, delta=1e-6, confidence=0.9),
    ],
)
def histogram(
    space: Space[TablesOrRows],
    column: Which | None = None,
    budget: PrivacyBudget[Any] | None = None,
    *,
    categories: Sequence[Any] | NDArray[Any] | None = None,
    edges: Edges | None = None,
    other: bool = False,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    confidence: Number = 0.95,
) -> Counting:
    """Counts the rows of each category or of each bin.

    Declare ``categories`` or ``edges``. Without either, epsilon and delta buy the counts of the
    categories that the data hold, if they are not too rare: see ``thresholded_counts``.

    Args:
        column: The column to count, or a list of several for a contingency table. Leave it out if
            the data are one column.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        categories: The values to count, chosen without looking at the data; None stands for missing
            cells. For several columns a list for each.
        edges: Rising numbers between which a column of numbers is counted. An interval holds its
            lower edge, and the last one both. For several columns a list for each. With categories
            too, the edges are those of the last columns.
        other: Whether all other values are counted too, under the key "other".
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        rho: The budget of zero-concentrated privacy, with Gaussian noise.
        delta: With ``epsilon``.
        confidence: Of the intervals.

    Returns:
        A ``Histogram``: ``counts``, ``intervals`` and ``joint_intervals``, and by key a
        ``dp.Estimate``. Declared counts are unbiased, so they may be negative. Laplace noise leaves
        them whole numbers.

    Raises:
        ParameterError: If the budget is missing, or if categories and edges do not fit together.
        SpaceError: If the column is not there.

    Example:
        >>> import opendp_lite as dp
        >>> survey = {"sex": ["f", "m", "f"] * 200, "age": [31, 45, 60] * 200}
        >>> count = dp.histogram("sex", categories=["f", "m"], epsilon=1)
        >>> count.map(1)
        1.0
        >>> found = count(survey)
        >>> 380 < found["f"].value < 420, len(found.intervals)
        (True, 2)
        >>> ages = dp.histogram("age", edges=[0, 50, 100], epsilon=1)(survey)
        >>> list(ages), 380 < ages[0, 50].value < 420
        ([(0, 50), (50, 100)], True)
    """
    level = confidence_of(confidence, "histogram: confidence")
    whole = budget_of("histogram", rho, epsilon, delta)
    start = _pick(space, column, edges)
    domain = start.output_space.domain
    titles = domain.names or (_BARE,) * domain.columns
    if categories is None and edges is None:
        if other or rho is not None:
            raise ParameterError(
                "histogram: categories that are not declared take epsilon= and delta=, and no "
                "other=; declare them with categories= or edges="
            )
        threshold = threshold_of(start.output_space, "histogram", epsilon, delta)
        unknown = thresholded_counts(epsilon=cast(Number, epsilon), delta=cast(Number, delta))
        shown = _Shown(titles, (), None, threshold.law, level, threshold.least)
        return start >> unknown >> shown.shown_counts_with_intervals
    keys, axes, placed = _declare(domain.columns, categories, edges, other)
    counted = start >> placed >> sum()
    ways = [whole.with_claimed_loss(counted >> whole.noise())]
    if isinstance(whole, ApproximateBudget):
        ways.append(_as_approximate(counted >> laplace(epsilon=whole.epsilon)))
    best = min(ways, key=lambda way: way.facts.laws[0].standard_deviation)
    shown = _Shown(titles, keys, axes, best.facts.laws[0], level)
    made = best >> shown.counts_with_intervals
    known = attrs.evolve(made.facts, errors=best.facts.errors)
    return attrs.evolve(made, facts=known)


def _pick(space: TableSpace, column: Which | None, edges: object) -> Picked:
    """The columns that are counted: those that are there where none is named."""
    if column is not None:
        asked = [column] if isinstance(column, int | str) else column
        return select_columns(space, asked, "histogram")
    domain = space.domain
    if edges is None or not isinstance(domain, Tables) or domain.names is not None:
        return Transformation(space, space, identity, identity)
    metric = space.metric.of_new_values()
    rows = attrs.evolve(space, domain=Rows(1, domain.size), metric=metric)
    return Transformation(space, rows, Map(Numbers()), identity)


def _declare(
    columns: int, categories: Iterable[object] | None, edges: Edges | None, other: bool
) -> tuple[tuple[Hashable, ...], Axes | None, Stage[TableSpace, RowSpace]]:
    """The keys that were declared, by column where there are several, and the step to places."""
    if isinstance(edges, Mapping):
        raise SpaceError("histogram: edges are a list, or for several columns a list for each")
    if columns == 1:
        if categories is not None and edges is not None:
            raise ParameterError(
                "histogram takes categories= or edges= for one column, not both; for two columns "
                "write dp.histogram(['sex', 'age'], categories=..., edges=...)"
            )
        if edges is not None:
            return _of_bins(edges, other), None, bins(cast(Bounds, edges), other=other)
        declared = cast(Sequence[Any], categories)
        return _of_categories(declared, other), None, one_hot(declared, other=other)
    lists = [] if categories is None else one_for_each(categories)
    if categories is not None and any(map(is_row, categories)):
        raise ParameterError(
            "histogram counts every combination: give a list of categories for each column, such "
            "as [['f', 'm'], ['Rome', 'Oslo']]. For tuples, each a combination, write "
            "dp.by(['sex', 'city'], [('f', 'Rome'), ('m', 'Oslo')], dp.count() >> "
            "dp.laplace(epsilon=1))"
        )
    ends = [] if edges is None else one_for_each(edges)
    if len(lists) + len(ends) != columns:
        raise ParameterError(
            f"histogram: {columns} columns need {columns} lists of categories or of edges, got "
            f"{len(lists)} and {len(ends)}. Write categories=[['f', 'm'], range(1, 17)], or "
            "categories=['f', 'm'], edges=[0, 40, 80]: columns with edges come last"
        )
    axes = (
        *(_of_categories(each, other) for each in lists),
        *(_of_bins(each, other) for each in ends),
    )
    cells = prod(map(len, axes))
    if cells > _MOST_CELLS:
        raise ParameterError(f"histogram: {cells} cells are more than 2^24; give fewer categories")
    step = one_hot(lists, edges=ends or None, other=other)
    return tuple(product(*axes)), axes, step


def _as_approximate(pure: Measured[Floats]) -> Measured[Floats]:
    """The same release: a pure loss is an approximate one that spends no delta."""

    def privacy_map(distance: Fraction) -> Pair:
        loss = pure.privacy_map(distance)
        (epsilon,), curve = numbers_of(loss), pure.output_measure.profile(loss)
        return curved_pair((epsilon, Fraction(0)), curve)

    return attrs.evolve(pure, output_measure=ApproximateDivergence(), privacy_map=privacy_map)


def _of_categories(given: object, other: bool) -> tuple[Hashable, ...]:
    found = Categories.of(given, "histogram", other=other).values
    if other and _OTHER in found:
        raise ParameterError(
            "histogram: other=True adds the category 'other', which is declared; call it otherwise"
        )
    return (*found, _OTHER) if other else found


def _of_bins(edges: object, other: bool) -> tuple[Hashable, ...]:
    ends = [
        int(each) if each.denominator == 1 else nearest(each)
        for each in parse_bounds(edges, "edges")
    ]
    pairs = tuple(pairwise(ends))
    return (*pairs, _OTHER) if other else pairs


@attrs.frozen(eq=False, repr=False)
class _Shown:
    """What a histogram says beside its counts."""

    titles: tuple[str, ...]
    keys: tuple[Hashable, ...]
    axes: Axes | None
    law: Law
    level: Fraction
    least: int | None = None

    def counts_with_intervals(self, release: Floats) -> Histogram:
        """A histogram of all declared keys."""
        whole = self.law.exponent == 0
        counts = release.astype(np.int64) if whole else release
        return self._make(self.keys, counts, self._reach(len(self.keys)))

    def shown_counts_with_intervals(self, release: dict[Hashable, int]) -> Histogram:
        """A histogram of the keys that were released."""
        counts = np.fromiter(release.values(), np.int64, len(release))
        return self._make(tuple(release), counts, None)

    def _reach(self, entries: int) -> float:
        """How far the noise of all of so many entries reaches, at the level of confidence."""
        (width,) = half_widths([Errors(self.law, entries)], self.level, jointly=True)
        return round_up(width)

    def _make(self, keys: tuple[Hashable, ...], counts: Tallies, joint: float | None) -> Histogram:
        return Histogram(
            columns=self.titles,
            categories=keys,
            counts=counts,
            standard_error=self.law.standard_deviation,
            margin=self._reach(1),
            joint_margin=joint,
            confidence=float(self.level),
            axes=self.axes,
            threshold=self.least,
        )

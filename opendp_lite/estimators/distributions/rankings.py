"""The most frequent values of a column, with what the noise leaves sure of their places."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import NoKeyError
from opendp_lite.display.formatting import hold_in
from opendp_lite.estimators.distributions import histograms
from opendp_lite.estimators.parts.budget import costs_budget
from opendp_lite.measurements.thresholds import threshold_of
from opendp_lite.measures.budgets import PrivacyBudget
from opendp_lite.numbers.exact import Number, exact, round_up, whole
from opendp_lite.pipeline.core import Measurement
from opendp_lite.pipeline.steps import mechanism
from opendp_lite.releases.result import Result
from opendp_lite.releases.table import Record
from opendp_lite.samplers.law import Errors, Law, half_widths
from opendp_lite.spaces.space import Space, example, records, sized_rows
from opendp_lite.spaces.tables import TablesOrRows


@attrs.frozen(eq=False, repr=False)
class Ranking(Result):
    """The values with the highest noisy counts, in order. All of it is private.

    Args:
        columns: The names of the columns.
        keys: The values, the most frequent first; of several columns a tuple with that in each.
        counts: Their noisy counts.
        intervals: A row (low, high) for each count: each by itself holds the true one.
        places: A row (best, worst) for each value: all of them together hold the true places, in a
            share ``confidence`` of the releases.
        confidence: Such as 0.95.
        of: How many values were compared.
        shown: Whether only values whose noisy count passed a threshold were compared.

    Example:
        >>> import opendp_lite as dp
        >>> cities = ["Rome"] * 500 + ["Oslo"] * 300 + ["Bern"] * 299
        >>> top = dp.top_k(2, categories=["Oslo", "Bern", "Rome"], epsilon=1)(cities)
        >>> top.keys[0], top.places[0].tolist(), list(top)[0] == top.keys[0]
        ('Rome', [1, 1], True)
    """

    columns: tuple[str, ...]
    keys: tuple[Hashable, ...]
    counts: NDArray[np.int64 | np.float64]
    intervals: NDArray[np.int64 | np.float64]
    places: NDArray[np.int64]
    confidence: float
    of: int
    shown: bool

    @classmethod
    def of_histogram(cls, most: int, law: Law | None, found: histograms.Histogram) -> Ranking:
        """The highest counts of a histogram; ``law`` is its noise where keys were not declared."""
        order = np.argsort(-found.counts, kind="stable")
        margin = found.joint_margin
        if margin is None:
            noises = [Errors(cast(Law, law), max(len(found), 1))]
            (width,) = half_widths(noises, exact(found.confidence, "confidence"), jointly=True)
            margin = round_up(width)
        # Counts whose joint intervals do not meet are in their true order. Of keys that a threshold
        # let through this holds too: to seem 2 margins above another that is shown, a rarer one
        # must be 2 margins above the threshold.
        first, rising = order[:most], found.counts[order[::-1]]
        shown = found.counts[first]
        above = len(found) - np.searchsorted(rising, shown + 2 * margin, side="right")
        below = np.searchsorted(rising, shown - 2 * margin, side="left")
        places = np.stack([above + 1, len(found) - below], axis=1)
        return cls(
            found.columns,
            tuple(found.categories[place] for place in first.tolist()),
            shown,
            found.intervals[first],
            places,
            found.confidence,
            len(found),
            found.joint_margin is None,
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.keys)

    def __getitem__(self, key: Hashable) -> Record:
        """The row of one value: its place, its count and what the noise leaves open."""
        if key not in self.keys:
            raise NoKeyError.of("value", self.keys, key)
        return self.records()[self.keys.index(key)]

    @property
    def covers(self) -> str:
        return hold_in(self.confidence, sampling=False)

    def records(self) -> list[Record]:
        """A row for each place, with what the noise leaves open."""
        rows = zip(self.keys, self.counts, self.intervals, self.places.tolist(), strict=True)
        return [
            {
                "place": place,
                **histograms.key_cells(self.columns, key),
                "count": count.item(),
                "low": low.item(),
                "high": high.item(),
                "best": best,
                "worst": worst,
            }
            for place, (key, count, (low, high), (best, worst)) in enumerate(rows, 1)
        ]

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for ``json.dumps``."""
        arrays = {name: getattr(self, name).tolist() for name in ("counts", "intervals", "places")}
        keys = [histograms.plain_key(each) for each in self.keys]
        return {"keys": keys, **arrays, "confidence": self.confidence, "of": self.of}

    @property
    def _footnote(self) -> str:
        of = "the values frequent enough to show" if self.shown else f"{self.of} values"
        return f"{super()._footnote}\nbest to worst: true places among {of}, all at once."

    def __repr__(self) -> str:
        return str(self.table())


@mechanism(
    does="Releases the values with the highest noisy counts.",
    changes=(
        "A value that is not declared is left out, as a missing value is. Without declared "
        "categories, rare ones are left out."
    ),
    proof=costs_budget(
        "`histogram`, of which the highest counts are shown: post-processing. A row is in one "
        "category, so all counts cost what one does, and no choice among them is sharper."
    ),
    examples=lambda: [
        example(records(columns=["city"]), 2, "city", epsilon=1, delta=1e-6),
        example(sized_rows(), 1, categories=[0, 1, 2], rho=0.1),
    ],
)
def top_k(
    space: Space[TablesOrRows],
    k: int,
    column: int | str | Sequence[str] | None = None,
    budget: PrivacyBudget[Any] | None = None,
    *,
    categories: Sequence[object] | NDArray[Any] | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    confidence: Number = 0.95,
) -> Measurement[Space[TablesOrRows], Any, Ranking]:
    """The k most frequent values of a column, with their noisy counts.

    It shows the highest counts of ``dp.histogram``, which costs as much. With declared categories
    it says which places are sure.

    Args:
        k: How many.
        column: The column, or a list of several for combinations. Leave it out if the data are one
            column.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        categories: The values to compare, chosen without looking at the data. Without them epsilon
            and delta buy those that the data hold, if they are not too rare.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        rho: The budget of zero-concentrated privacy.
        delta: With ``epsilon``.
        confidence: Of the intervals and of all places together.

    Returns:
        A ``Ranking``: ``keys``, ``counts``, ``intervals`` and ``places``, each from the best to the
        worst place that the noise leaves open. Fewer than k if fewer are found.

    Raises:
        ParameterError: If k is no whole number of at least 1, or the budget is missing.
        SpaceError: If the column is not there.

    Example:
        >>> import opendp_lite as dp
        >>> trips = {"city": ["Rome"] * 900 + ["Oslo"] * 700 + ["Bern"] * 50}
        >>> top = dp.top_k(2, "city", epsilon=1, delta=1e-6)(trips)
        >>> top.keys, top.places.tolist()
        (('Rome', 'Oslo'), [[1, 1], [2, 2]])
    """
    most = whole(k, "top_k: k, which comes first as in dp.top_k(5, 'city', ...),", least=1)
    counted = histograms.histogram(
        column, categories=categories, epsilon=epsilon, rho=rho, delta=delta, confidence=confidence
    ).bind(space)
    law = None
    if categories is None:
        keys = histograms.pick_columns(space, column, "top_k", numbers=False).output_space
        law = threshold_of(keys, "top_k", epsilon, delta).law
    return counted >> partial(Ranking.of_histogram, most, law)

"""The share of the rows that have certain values in a column."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from datetime import date
from functools import partial
from re import compile as compile_pattern
from typing import Any, Final, cast, overload

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import NoKeyError, ParameterError
from opendp_lite.base.frozen import copy_with
from opendp_lite.display.formatting import hold_in
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.data.open_data import NUMBERS
from opendp_lite.engines.data.table import Column
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.plan import Map
from opendp_lite.engines.rows import LazyRows, OfWhole, Part
from opendp_lite.estimators.distributions import histograms
from opendp_lite.estimators.distributions.histograms import TableSpace, count_places, pick_columns
from opendp_lite.estimators.means.ratios import say_weights, weighted_mean
from opendp_lite.estimators.parts import Floats, Measured, RowSpace
from opendp_lite.estimators.parts.budget import budget_of, costs_budget
from opendp_lite.measurements.thresholds import threshold_of
from opendp_lite.measures.budgets import AnyBudget, PrivacyBudget, Spent
from opendp_lite.numbers.exact import Number, confidence_of, exact, quote, round_up, whole
from opendp_lite.pipeline.core import Measurement, Transformation
from opendp_lite.pipeline.steps import Mechanism, mechanism, stage
from opendp_lite.releases.estimate import Estimate
from opendp_lite.releases.intervals import IntervalEnds, share_error, share_interval
from opendp_lite.releases.result import Result
from opendp_lite.releases.table import Record
from opendp_lite.samplers.law import Errors, Law, half_widths
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records, row_metric, sized_rows
from opendp_lite.spaces.tables import TablesOrRows
from opendp_lite.transformations.columns import select_columns
from opendp_lite.transformations.encoding import bins
from opendp_lite.transformations.rows import Chosen

_WIDE: Final = 0.5
_NUMBER: Final = compile_pattern(r"[-+]?\d+\.?\d*")
_QUOTED: Final = "if the column holds numbers, write among=[4] without quotes"
# Of zeros and ones.
_HALVES: Final = (0, 0.5, 1)


@overload
def proportion(
    column: int | str | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    among: Sequence[object] | None = None,
    between: tuple[Number | date | str | None, Number | date | str | None] | None = None,
    weights: int | str | None = None,
    most: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    confidence: Number = 0.95,
    sampling: bool = True,
) -> Mechanism[TableSpace, Spent, Estimate]: ...
@overload
def proportion(
    column: int | str | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    among: Sequence[object] | None = None,
    between: tuple[Number | date | str | None, Number | date | str | None] | None = None,
    weights: int | str | None = None,
    most: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    confidence: None,
) -> Mechanism[TableSpace, Spent, float]: ...
@mechanism(
    does="The share of the rows that have certain values in a column.",
    changes="A row with a missing value is left out, unless None is among the values.",
    proof=costs_budget(
        "Each row counts in one of two places: those values, or others. So the rows are corners of "
        "a simplex, as those of `histogram`. With weights: `weighted_mean` of ones and zeros."
    ),
    examples=lambda: [
        example(records(columns=["sex", "age"]), "sex", among=[1], epsilon=1),
        example(records(columns=["sex", "age"]), "age", among=[0, 2.5, None], rho=0.1),
        example(
            sized_rows(), between=(1, 3), epsilon=1, delta=1e-6, confidence=0.9, sampling=False
        ),
        example(records(), among=[1], epsilon=0.5, confidence=None),
        example(records(columns=["sex", "w"]), "sex", among=[1], weights="w", most=2, epsilon=1),
    ],
)
def proportion(
    space: TableSpace,
    column: int | str | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    among: Sequence[object] | None = None,
    between: tuple[Number | date | str | None, Number | date | str | None] | None = None,
    weights: int | str | None = None,
    most: Number | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    confidence: Number | None = 0.95,
    sampling: bool = True,
) -> Measured[float | Estimate]:
    """The share of the rows that have certain values in a column.

    Args:
        column: The name of the column. Leave it out if the data are one column.
        budget: ``dp.epsilon(1)``, say: the same as ``epsilon=1``.
        among: The values, as in ["north", "south"]; None stands for missing cells.
        between: In place of values: the least and the largest number, as in (18, 65), or two dates.
            Both count. None leaves a side open, as in (18, None).
        weights: The column of design weights, if there is one. The share is then the sum of the
            weights of the rows that have the values over that of all rows: see ``weighted_mean``.
        most: The largest weight, which goes with ``weights``. Larger ones are clipped.
        epsilon: The budget of pure privacy; with ``delta`` of approximate privacy.
        rho: The budget of zero-concentrated privacy, with Gaussian noise.
        delta: With ``epsilon``.
        confidence: The share of samples, or of releases, whose interval holds the share. None asks
            for a number alone.
        sampling: Whether the interval is for the population that the rows are a random sample of.
            This costs nothing. With False it is for the share in these rows.

    Returns:
        An ``Estimate`` between 0 and 1, or without a confidence a number. Its interval is Wilson's,
        with the noise in it: it holds rare shares too.

    Raises:
        ParameterError: If not just one of ``among`` and ``between`` is given, or only one of
            ``weights`` and ``most``, or the budget is missing.
        SpaceError: If the column is not there.

    Example:
        >>> import opendp_lite as dp
        >>> survey = {"city": ["Rome", "Oslo", "Rome", "Bonn"] * 1000}
        >>> found = dp.proportion("city", among=["Rome"], epsilon=1)(survey)
        >>> round(float(found), 1)
        0.5
        >>> low, high = found.interval  # for the population
        >>> 0.02 < high - low < 0.04
        True
    """
    chosen = Chosen.of(
        "proportion", column, between, among, "; of a column of True and False, among=[True]"
    )
    # Who asks for missing cells counts them.
    lost = "" if among is not None and None in among else "rows without a value are left out"
    if weights is not None or most is not None:
        if column is None or not isinstance(weights, int | str) or most is None:
            raise ParameterError(
                "proportion: weights is the name of a column of the table, and most the largest "
                "weight that counts; both go with a column of values, as in dp.proportion('ill', "
                f"among=['yes'], weights='w', most=4, epsilon=1); got {quote(weights)} and "
                f"{quote(most)}"
            )
        rows = select_columns(space, [column, weights], "proportion") >> _ones(chosen)
        asked: Any = {"rho": rho, "epsilon": epsilon, "delta": delta, "confidence": confidence}
        share: Any = weighted_mean(0, 1, most=most, **asked, sampling=sampling)
        weighted = rows >> share
        told = "; ".join(filter(None, [lost, say_weights(exact(most, "proportion: most"))]))

        def as_share(found: float | Estimate) -> float | Estimate:
            """Without bounds: no value of a share lies beyond them."""
            if not isinstance(found, Estimate):
                return found
            wide = _is_wide(found.interval)
            return copy_with(found, bounds=None, too_few=wide, treated=told)

        return cast(Measured[float | Estimate], weighted >> as_share)
    picked = pick_columns(space, column, "proportion", numbers=chosen.reading is NUMBERS)
    whole = budget_of("proportion", rho, epsilon, delta)
    best = count_places(picked >> _ones(chosen) >> bins(_HALVES), whole)
    level = None
    if confidence is not None:
        level = float(confidence_of(confidence, "proportion: confidence"))
    texts = [each for each in among or () if isinstance(each, str)]
    quoted = bool(texts) and all(map(_NUMBER.fullmatch, texts))
    variance = best.facts.laws[0].standard_deviation ** 2
    noise = (variance, variance)

    def read(counts: Floats) -> float | Estimate:
        """The share of the first of two noisy counts, with an interval where one is asked for."""
        others, ones = (max(float(each), 0.0) for each in counts)
        rows = ones + others
        value = ones / rows if rows else 0.5
        if level is None:
            return value
        of_noise, of_sample = (
            share_interval(ones, others, noise, level, sampling=each) for each in (False, True)
        )
        ends = of_sample if sampling else of_noise
        found = Estimate(
            value,
            share_error(ones, others, noise, sampling=sampling),
            ends,
            level,
            rows,
            sampling,
            too_few=_is_wide(ends),
            noise_interval=of_noise if sampling else None,
            several=space.unit > 1 and sampling,
            treated=lost,
            count=ones,
        )
        # Told by the released number: a refusal would tell that a column of floats of pandas holds
        # no text. Whole numbers are refused, which tells that no cell is missing either.
        hints = [space.kept, _QUOTED if quoted and of_noise[0] == 0 else ""]
        return copy_with(found, hint="; ".join(filter(None, hints)))

    return best >> read


def _is_wide(ends: IntervalEnds) -> bool:
    """Whether an interval leaves open half of what a share can be."""
    return ends[1] - ends[0] >= _WIDE


@attrs.frozen(eq=False)
class _Ones(OfWhole):
    """1 for a value that is asked for and 0 for others, beside the other columns.

    Attributes:
        names: Of the columns.
        chosen: Which values of the first are asked for.
    """

    names: tuple[str | None, ...]
    chosen: Chosen

    def __call__(self, rows: LazyTable | LazyRows, /) -> LazyRows:
        if isinstance(rows, LazyRows):
            return rows.map_rows(Part(self._mark_numbers, "proportion"))
        first, *others = self.names
        columns = [Column(first, self.chosen.reading), *(Column(each, NUMBERS) for each in others)]
        return rows.columns(columns).map_rows(Part(self._mark, "proportion"))

    def _mark_numbers(self, block: Floats) -> Floats:
        read = self.chosen.reading.of_numbers(block[:, 0])
        return self._mark(np.column_stack([read, block[:, 1:]]))

    def _mark(self, block: Floats) -> Floats:
        read = block[:, 0]
        ones = np.where(np.isnan(read), np.nan, self.chosen(read))
        return np.column_stack([ones, block[:, 1:]])


@stage
def _ones(space: TableSpace, chosen: Chosen) -> Transformation[TableSpace, RowSpace]:
    """Row by row: 1 for a value that is asked for and 0 for others, beside the other columns."""
    names = space.domain.names or (None,) * space.domain.columns
    rows, metric = Rows(len(names), space.domain.size), row_metric(space).of_new_values()
    after = attrs.evolve(space, domain=rows, metric=metric)
    return Transformation(space, after, Map(_Ones(names, chosen)), identity)


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
        threshold: That threshold.
        hint: What else there is to know, in words.

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
    threshold: int | None = None
    hint: str = ""

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
            found.threshold,
            found.hint,
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
        of, left_out = f"{self.of} values", f" {self.hint}" if self.hint else ""
        if self.shown:
            of = "the values frequent enough to show"
        if self.threshold is not None:
            left_out += f" {histograms.say_threshold(self.threshold)}"
        return f"{super()._footnote}{left_out}\nbest to worst: true places among {of}, all at once."

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
    budget: AnyBudget | None = None,
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

"""The share of the rows that have certain values in a column."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from re import compile as compile_pattern
from typing import Any, Final, cast, overload

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.frozen import copy_with
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.data.open_data import NUMBERS
from opendp_lite.engines.data.table import Column
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.plan import Map
from opendp_lite.engines.rows import LazyRows, OfWhole, Part
from opendp_lite.estimators.distributions.histograms import TableSpace, count_places, pick_columns
from opendp_lite.estimators.means.ratios import weighted_mean
from opendp_lite.estimators.parts.budget import budget_of, costs_budget
from opendp_lite.estimators.parts.types import Floats, Measured, RowSpace
from opendp_lite.measures.budgets import PrivacyBudget, Spent
from opendp_lite.numbers.exact import Number, confidence_of, quote
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import Mechanism, mechanism, stage
from opendp_lite.releases.estimate import Estimate
from opendp_lite.releases.intervals import IntervalEnds, share_error, share_interval
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import example, records, row_metric, sized_rows
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
        "proportion", between, among, "; of a column of True and False, among=[True]"
    )
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
        return cast(Measured[float | Estimate], rows >> share >> _as_share)
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
        )
        # Told by the released number: a refusal would tell that a column of floats of pandas holds
        # no text. Whole numbers are refused, which tells that no cell is missing either.
        return copy_with(found, hint=_QUOTED) if quoted and of_noise[0] == 0 else found

    return best >> read


def _as_share(found: float | Estimate) -> float | Estimate:
    """Without bounds: no value of a share lies beyond them."""
    if not isinstance(found, Estimate):
        return found
    return copy_with(found, bounds=None, too_few=_is_wide(found.interval))


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

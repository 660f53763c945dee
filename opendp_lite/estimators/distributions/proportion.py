"""The share of the rows that have certain values in a column."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from sys import float_info
from typing import Any, Final, cast, overload

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.bodies.simplex import OneHots
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.dates import are_dates, require_dates
from opendp_lite.estimators.distributions.histograms import (
    TableSpace,
    count_places,
    pick_columns,
)
from opendp_lite.estimators.parts.budget import Measured, RowSpace, budget_of, costs_budget
from opendp_lite.estimators.parts.noisy_totals import Floats
from opendp_lite.measures.budgets import PrivacyBudget, Spent
from opendp_lite.metrics.distances import ChangeOneDistance
from opendp_lite.numbers.exact import Number, confidence_of, quote
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import Mechanism, Stage, mechanism, stage
from opendp_lite.releases.estimate import Estimate
from opendp_lite.releases.intervals import share_error, share_interval
from opendp_lite.samplers.law import Law
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import records
from opendp_lite.transformations.encoding import bins, one_hot
from opendp_lite.transformations.row_maps import row_map_trusted

_ENDS: Final = 2
_FARTHEST: Final = float_info.max


@overload
def proportion(
    column: int | str | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    among: Sequence[object] | None = None,
    between: tuple[Number | date | str | None, Number | date | str | None] | None = None,
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
        "a simplex, as those of `histogram`."
    ),
    examples=lambda: [
        example(records(columns=["sex", "age"]), "sex", among=[1], epsilon=1),
        example(records(columns=["sex", "age"]), "age", among=[0, 2.5, None], rho=0.1),
        example(
            records(size=20, metric=ChangeOneDistance()),
            between=(1, 3),
            epsilon=1,
            delta=1e-6,
            confidence=0.9,
            sampling=False,
        ),
        example(records(), among=[1], epsilon=0.5, confidence=None),
    ],
)
def proportion(
    space: TableSpace,
    column: int | str | None = None,
    budget: PrivacyBudget[Spent] | None = None,
    *,
    among: Sequence[object] | None = None,
    between: tuple[Number | date | str | None, Number | date | str | None] | None = None,
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
        ParameterError: If not just one of ``among`` and ``between`` is given, or the budget is
            missing.
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
    if (among is None) == (between is None):
        raise ParameterError(
            "proportion takes one of among=['north'] or between=(18, 65); of a column of True and "
            "False, among=[True]"
        )
    dates = are_dates(between)
    numbers = between is not None and not dates
    start = pick_columns(space, column, "proportion", numbers=numbers)
    placed: Stage[Any, RowSpace]
    if among is not None:
        declared = Categories.of(among, "proportion")
        placed, places = one_hot(among, other=True), len(declared.values)
    else:
        open_ends = isinstance(between, Sequence) and sum(end is None for end in between)
        if not isinstance(between, Sequence) or len(between) != _ENDS or open_ends == _ENDS:
            raise ParameterError(
                "proportion: between is a pair such as (18, 65) or (18, None), got "
                f"{quote(between)}"
            )
        ends = _close(between, dates=dates) if open_ends else cast(Any, between)
        placed = one_hot([], edges=ends, other=True) if dates else bins(ends, other=True)
        places = 1

    rows = start >> (placed if places == 1 else placed >> _merge_places(places))
    whole = budget_of("proportion", rho, epsilon, delta)
    best = count_places(rows, whole)
    level = (
        None if confidence is None else float(confidence_of(confidence, "proportion: confidence"))
    )
    return best >> _Share(best.facts.laws[0], level, sampling, space.unit > 1).read


def _close(between: Sequence[Any], *, dates: bool) -> Any:
    """Both ends: in place of an open one the farthest that is a number, or a date."""
    far: tuple[Any, Any] = -_FARTHEST, _FARTHEST
    if dates:
        found = require_dates([end for end in between if end is not None], "proportion: between")
        kind = datetime if isinstance(found[0], datetime) else date
        far = kind.min, kind.max
    return [farthest if end is None else end for end, farthest in zip(between, far, strict=True)]


@stage
def _merge_places(space: RowSpace, places: int) -> Transformation[RowSpace, RowSpace]:
    """One place for all of the first, and one for the others."""

    return row_map_trusted(space, _Merged(places), OneHots(2))


@attrs.frozen
class _Merged:
    """A block function, which can be sent to other processes."""

    places: int

    def __call__(self, rows: Floats) -> Floats:
        first, others = rows[:, : self.places], rows[:, self.places :]
        return np.column_stack([first.sum(axis=1), others.sum(axis=1)])


@attrs.frozen
class _Share:
    """How two noisy counts are read as a share."""

    law: Law
    confidence: float | None
    sampling: bool
    several: bool

    def read(self, counts: Floats) -> float | Estimate:
        """The share of the first, with an interval where one is asked for."""
        ones, others = (max(float(each), 0.0) for each in counts)
        rows = ones + others
        value = ones / rows if rows else 0.5
        if self.confidence is None:
            return value
        variance = self.law.standard_deviation**2
        noise = (variance, variance)
        of_noise, of_sample = (
            share_interval(ones, others, noise, self.confidence, sampling=each)
            for each in (False, True)
        )
        return Estimate(
            value,
            share_error(ones, others, noise, sampling=self.sampling),
            of_sample if self.sampling else of_noise,
            self.confidence,
            rows,
            self.sampling,
            noise_interval=of_noise if self.sampling else None,
            several=self.several and self.sampling,
        )

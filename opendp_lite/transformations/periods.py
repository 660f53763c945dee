"""Dates by week, month, quarter or year."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import cast

import attrs

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.dates import ByPeriod, list_periods, require_form, require_period
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.plan import Map
from opendp_lite.engines.rows import OfWhole
from opendp_lite.metrics.distances import ChangeOneDistance, RowMetric
from opendp_lite.numbers.exact import quote
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import Space, records
from opendp_lite.spaces.tables import PersonTables, Tables, TablesOrPeople, tables_in
from opendp_lite.transformations.row_maps import row_by_row


@attrs.frozen
class _Derive(OfWhole):
    """A table of which later steps read what is made of a column."""

    name: str
    change: ByPeriod
    row_by_row = True

    def __call__(self, table: LazyTable, /) -> LazyTable:
        table.dataset.require((self.name,), "period")
        return table.derive(self.name, self.change)


@stage(
    does="Takes each date of a column for the first day of its period.",
    changes="A date of a year before 1 or after 9999 is missing, and so is text that says no date.",
    proof=row_by_row("Rows with different dates may become alike: `SpreadDistance` is forgotten."),
    examples=lambda: [
        example(records(columns=["day", "x"]), "day", "week"),
        example(records(columns=["day", "x"], size=20, metric=ChangeOneDistance()), "day", "year"),
    ],
)
def period(
    space: Space[TablesOrPeople], column: str, period: str, *, form: str | None = None
) -> Transformation[Space[TablesOrPeople], Space[TablesOrPeople]]:
    """Takes each date of a column for the first day of its period.

    Steps after it read the column so: ``dp.by``, ``dp.histogram``, ``dp.keep`` and all others.
    ``dp.periods`` lists the keys.

    Args:
        column: The name of a column of dates or of times. Of numbers, which are days since
            1970-01-01. Or of text, with ``form``.
        period: "day", "week", "month", "quarter" or "year". A week begins on Monday.
        form: How text is written, such as "%d.%m.%Y": see ``datetime.strptime``. Text that is
            written otherwise is missing.

    Returns:
        The table with that column of dates. As a number, a date is its days since 1970-01-01.

    Raises:
        ParameterError: If there is no such period, or ``form`` does not say a day.
        SpaceError: If the table has no such column, or it tells people apart.

    Example:
        >>> import opendp_lite as dp
        >>> from datetime import date
        >>> visits = {"day": [date(2024, 1, 3), date(2024, 1, 7), date(2024, 1, 8)] * 100}
        >>> weeks = dp.periods("week", "2024-01-01", "2024-01-14")
        >>> weekly = dp.period("day", "week") >> dp.histogram("day", categories=weeks, epsilon=1)
        >>> [*weekly(visits)] == [date(2024, 1, 1), date(2024, 1, 8)]
        True
    """
    domain = space.domain
    tables = tables_in(domain)
    (name,) = tables.find_names([column], "period")
    if isinstance(domain, PersonTables) and domain.person == name:
        raise SpaceError(
            f"period: {name!r} tells people apart, and people with dates in one period would "
            "become one; take another column"
        )
    change = ByPeriod(require_period(period, "period"), require_form(form))
    metric = space.metric
    if isinstance(metric, RowMetric) and metric.most_alike(Fraction(1), [name]) < 1:
        metric = metric.of_new_values()
    tables = attrs.evolve(tables, periods=(*tables.periods, name))
    of_people = cast(PersonTables, domain)
    marked = tables if isinstance(domain, Tables) else attrs.evolve(of_people, rows=tables)
    after = attrs.evolve(space, domain=marked, metric=metric)
    return Transformation(space, after, Map(_Derive(name, change), "period"), identity)


def periods(period: str, first: date | str, last: date | str) -> list[date]:
    """The keys of all periods from one date to another, for ``dp.by`` and ``dp.histogram``.

    Args:
        period: As for ``dp.period``.
        first: A date in the first period, or text such as "2024-01-31".
        last: A date in the last one.

    Returns:
        The first day of each period.

    Raises:
        ParameterError: If there is no such period, or the last date comes before the first.

    Example:
        >>> import opendp_lite as dp
        >>> [str(day) for day in dp.periods("quarter", "2024-02-10", "2024-12-31")]
        ['2024-01-01', '2024-04-01', '2024-07-01', '2024-10-01']
    """
    start, stop = (_date_of(end, name) for end, name in ((first, "first"), (last, "last")))
    if stop < start:
        raise ParameterError(f"periods: last={stop} comes before first={start}; swap the two")
    return list_periods(require_period(period, "periods"), start, stop)


def _date_of(given: object, name: str) -> date:
    if isinstance(given, datetime):
        return given.date()
    try:
        return given if isinstance(given, date) else date.fromisoformat(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ParameterError(
            f"periods: {name} is a date, or text such as '2024-01-31'; got {quote(given)}"
        ) from None

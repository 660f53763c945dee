"""How the values of a column are counted: by category, between edges, or by period."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property, partial
from math import inf, nextafter, prod
from numbers import Number
from typing import Any, Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.dates import dates_in
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.base.spelling import is_row
from opendp_lite.bodies.body import Bounds, parse_bounds, to_floats
from opendp_lite.bodies.box import Box
from opendp_lite.bodies.simplex import OneHots, Placed
from opendp_lite.engines.columns import Codes
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.expressions import Engine, Expression, KeyedCells, NoExpressionError
from opendp_lite.engines.data.fold import Floats, Numeric, identity
from opendp_lite.engines.data.open_data import NUMBERS
from opendp_lite.engines.data.table import Column, ColumnReading
from opendp_lite.engines.dates import (
    ByPeriod,
    DateReading,
    Dates,
    are_dates,
    list_periods,
    numbers_of,
    require_dates,
    require_form,
    require_period,
)
from opendp_lite.engines.distinct import Distinct, canonical
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.missing import holds_missing
from opendp_lite.engines.plan import Map
from opendp_lite.engines.rows import LazyRows, OfWhole, Part
from opendp_lite.metrics.distances import Metric, RowMetric
from opendp_lite.numbers.edges import RisingEdges
from opendp_lite.numbers.exact import quote, quote_entry
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, example, records, row_metric, sized_rows
from opendp_lite.spaces.tables import PersonTables, Tables, TablesOrPeople, TablesOrRows, tables_in
from opendp_lite.spelling.suggestions import explain_names
from opendp_lite.transformations import row_maps
from opendp_lite.transformations.row_maps import fitting, row_by_row


@attrs.frozen(repr=False)
class _Coded:
    """A block function from numbers to their places, or from what was read of a table."""

    axes: tuple[Axis, ...]
    read: bool = False

    def __call__(self, block: Floats) -> Floats:
        found = np.empty((len(block), len(self.axes)))
        for column, axis in enumerate(self.axes):
            known = self.read and axis.reading is not NUMBERS
            found[:, column] = block[:, column] if known else axis.of_numbers(block[:, column])
        return found

    def express(self, values: Sequence[Expression], engine: Engine) -> Sequence[KeyedCells]:
        """The same of an engine's columns, where each has places."""
        return [axis.express(value, engine) for axis, value in zip(self.axes, values, strict=True)]


@stage(
    does="Makes of each number a row with a one in the place of its interval, and zeros elsewhere.",
    changes=(
        "A number beyond the edges is left out, as a missing value is; with other=True it counts "
        "in a further place."
    ),
    proof=row_by_row("The rows are corners of a simplex: r = 1, and D = 2 in l1, sqrt(2) in l2."),
    examples=lambda: [
        example(records(), [0, 1, 2.5, 10]),
        example(records(), range(0, 101, 10), other=True),
    ],
)
def bins(
    space: Space[Rows], edges: Bounds | range, *, other: bool = False
) -> Transformation[Space[Rows], Space[Rows]]:
    """Makes of each number a row with a one in the place of its interval, and zeros elsewhere.

    A ``sum()`` after it counts the rows of each interval, in one pass and without writing the rows
    out. ``dp.histogram`` does all this and adds noise.

    Args:
        edges: Rising numbers, chosen without looking at the data. An interval holds its lower edge.
            The last one holds its upper edge too, as in ``numpy.histogram``.
        other: Whether numbers beyond the edges are counted in a further place, the last one.

    Returns:
        Rows of zeros and at most one 1. A number beyond the edges is left out, as a missing value
        is. Where the number of rows is public, it becomes a row of zeros.

    Raises:
        ParameterError: If the edges do not rise, or there are fewer than two.
        SpaceError: If the rows have more than one column.

    Example:
        >>> import opendp_lite as dp
        >>> counts = dp.bins([0, 18, 65, 120]) >> dp.sum()
        >>> counts([3.0, 18.0, 40.0, 120.0, 200.0])
        NotPrivate([1., 2., 1.])
        >>> counts.map(1)
        dp.Norms(l1=1.0, l2=1.0, linf=1.0)
    """
    axis = _between_edges(edges, "bins", other=other)
    row_maps.require_one_column(space, "bins")
    placed = Map(Placed(axis.places), before=Map(_Coded((axis,))))
    after = Rows(axis.places, space.domain.size, OneHots(axis.places))
    placed_space = attrs.evolve(space, domain=after, metric=space.metric.of_new_values())
    return Transformation(space, placed_space, placed, identity)


_ONE_HOT_MOST = 2**24
Edges = Bounds | range | Sequence[date] | Sequence[Bounds | range | Sequence[date]]


@attrs.frozen(repr=False)
class _Together:
    """A block function from the places in several lists to the place in their product."""

    widths: tuple[int, ...]

    def __call__(self, block: Floats) -> Floats:
        found = block[:, 0].copy()
        for column, width in enumerate(self.widths[1:], 1):
            found *= width
            found += block[:, column]
        return found[:, None]

    def express(self, values: Sequence[KeyedCells], engine: Engine) -> Sequence[KeyedCells]:
        """The same of an engine's columns, of which one has cells, the last."""
        *before, last = values
        if any(each.cells for each in before):
            raise NoExpressionError("several columns have edges")
        return [KeyedCells(tuple(key for each in values for key in each.keys), last.cells)]


@attrs.frozen
class _Places(OfWhole):
    """The places of the values of some columns, of a table or of rows of numbers."""

    names: tuple[str | None, ...]
    axes: tuple[Axis, ...]

    def __call__(self, rows: LazyTable | LazyRows, /) -> LazyRows:
        if isinstance(rows, LazyRows):
            return rows.map_rows(Part(_Coded(self.axes), "one_hot"))
        asked = zip(self.names, self.axes, strict=True)
        found = rows.columns([Column(name, axis.reading) for name, axis in asked])
        if all(axis.reading is not NUMBERS for axis in self.axes):
            return found
        return found.map_rows(Part(_Coded(self.axes, read=True), "one_hot"))


@stage(
    does="Makes of each value a row with a one in the place of its category, and zeros elsewhere.",
    changes=(
        "A value that is not declared is left out, as a missing value is; with other=True it "
        "counts in a further place."
    ),
    proof=row_by_row(
        "The rows are corners of a simplex: r = 1, and D = 2 in l1, sqrt(2) in "
        "l2. After `bound_contributions` with g groups of the column a place holds rows of "
        "one group: a value counts only where its key is that of the category. So m g rows, "
        "of which m in one place, move a sum by m sqrt(g) in l2 (`SpreadPlacesDistance`)."
    ),
    examples=lambda: [
        example(records(), [1, 2.5, None]),
        example(records(columns=["sex", "education"]), [[0, 1], range(1, 4)]),
        example(records(columns=["region"]), [0.5, 7], other=True),
        example(records(columns=["sex", "age"]), [0, 1], edges=[-1, 2.5, 10]),
    ],
)
def one_hot(
    space: Space[TablesOrRows],
    categories: Sequence[object],
    *,
    edges: Edges | None = None,
    other: bool = False,
) -> Transformation[Space[TablesOrRows], Space[Rows]]:
    """Makes of each value a row with a one in the place of its category, and zeros elsewhere.

    A ``sum()`` after it counts the rows of each category, in one pass and without writing the rows
    out. ``dp.histogram`` does all this and adds noise.

    Args:
        categories: The values to count, chosen without looking at the data: text, numbers, or both.
            None stands for missing cells. For several columns a list for each: there is then one
            place for each combination, the last column's category changing fastest.
        edges: Rising numbers for the last column, in place of categories, as ``bins`` takes them;
            or dates, or times. For several last columns a list for each.
        other: Whether all other values are counted in a further place, the last one.

    Returns:
        Rows of zeros and at most one 1. A value that is not declared is left out, as a missing
        value is. Where the number of rows is public, it becomes a row of zeros.

    Raises:
        ParameterError: If a category is declared twice, the edges do not rise, or there are none or
            more than 2^24.
        SpaceError: If the lists are not as many as the columns.
        DataError: If all categories are text and a column holds numbers, or the reverse.

    Example:
        >>> import opendp_lite as dp
        >>> counts = dp.select("sex") >> dp.one_hot(["f", "m"]) >> dp.sum()
        >>> counts({"sex": ["f", "m", "f", "?"]})
        NotPrivate([2., 1.])
        >>> counts.map(1)
        dp.Norms(l1=1.0, l2=1.0, linf=1.0)
    """
    every, metric = _apart(space, _axes(space, categories, edges, other))
    widths = tuple(each.places for each in every)
    count = prod(widths)
    if count > _ONE_HOT_MOST:
        raise ParameterError(f"one_hot: {' x '.join(map(str, widths))} places are more than 2^24")
    coded = Map(_Places(space.domain.names or (None,), every))
    one = Map(_Together(widths), before=coded) if len(widths) > 1 else coded
    after = Rows(count, space.domain.size, OneHots(count))
    placed_space = attrs.evolve(space, domain=after, metric=metric)
    return Transformation(space, placed_space, Map(Placed(count), before=one), identity)


def _apart(space: Space[TablesOrRows], axes: tuple[Axis, ...]) -> tuple[tuple[Axis, ...], Metric]:
    """The axes, with one key in each place where rows are spread over keys; and the metric then."""
    metric, names = row_metric(space), space.domain.names
    if names is None:
        return axes, metric.of_new_values()
    found, told = [], []
    for name, axis in zip(names, axes, strict=True):
        keyed = axis.by_key if metric.most_alike(Fraction(1), [name]) < 1 else None
        found.append(keyed or axis)
        told += [] if keyed is None else [name]
    return tuple(found), metric.of_places(told)


def _axes(
    space: Space[TablesOrRows], categories: Sequence[object], edges: Edges | None, other: bool
) -> tuple[Axis, ...]:
    """How each column is counted."""
    lists = _lists(space, categories) if edges is None else one_for_each(categories)
    ends = [] if edges is None else one_for_each(edges)
    if len(lists) + len(ends) != space.domain.columns:
        raise SpaceError(
            f"one_hot was given {len(lists)} lists of categories and {len(ends)} of edges for "
            f"{space.domain.columns} columns; put dp.select() before it, or give one list for each "
            "column"
        )
    return (
        *(_by_category(Categories.of(each, "one_hot", other=other)) for each in lists),
        *(
            (_between_dates if are_dates(each) else _between_edges)(each, "one_hot", other=other)
            for each in ends
        ),
    )


def _lists(space: Space[TablesOrRows], categories: Sequence[object]) -> Sequence[object]:
    """A list of categories for each column."""
    columns = space.domain.columns
    if columns == 1:
        if not isinstance(categories, str) and any(isinstance(each, tuple) for each in categories):
            raise SpaceError(
                "one_hot was given lists of categories for several columns; put dp.select() of as "
                "many columns before it"
            )
        return [categories]
    if isinstance(categories, str) or not isinstance(categories, Sequence):
        raise ParameterError("one_hot takes a list of categories, or for several columns of lists")
    if any(map(is_row, categories)):
        raise ParameterError(
            "one_hot counts every combination: give a list of categories for each column, such as "
            "[['f', 'm'], ['Rome', 'Oslo']], and no tuples"
        )
    if len(categories) != columns:
        raise SpaceError(
            f"one_hot was given {len(categories)} lists of categories for {columns} columns; put "
            "dp.select() before it, or give one list for each column"
        )
    return categories


@attrs.frozen(eq=False, repr=False)
class Below:
    """A block function that makes 1 of what is below a limit, and 0 of the rest."""

    limits: Floats

    def __call__(self, block: Floats) -> Floats:
        found = np.less(block, self.limits).astype(np.float64)
        if holds_missing(block):
            found[np.isnan(block)] = np.nan
        return found


@stage(
    does="Indicates which values are below a threshold: 1 where they are, 0 where they are not.",
    changes="Missing values stay missing.",
    proof=row_by_row(),
    examples=lambda: [example(records(), 0.5), example(sized_rows(2), [0, -1])],
)
def indicator_below(
    space: Space[Rows], threshold: Bounds
) -> Transformation[Space[Rows], Space[Rows]]:
    """Indicates which values are below a threshold: 1 where they are, 0 where they are not.

    The sum is the number of values below the threshold.

    Args:
        threshold: A number for all columns, or one for each.

    Returns:
        Rows in ``Box(0, 1)``. Missing values stay missing.

    Raises:
        SpaceError: If ``threshold`` has another number of entries than the rows have columns.

    Example:
        >>> import opendp_lite as dp
        >>> (dp.transformations.indicator_below(18) >> dp.sum())([12.0, 20.0, 17.5])
        NotPrivate([2.])
    """
    limits = to_floats(fitting(parse_bounds(threshold, "threshold"), space, "indicator_below"))
    return row_maps.row_map_trusted(
        space, Below(limits), Box(0, 1, space.domain.columns), space.domain.names
    )


_FEWEST, _MOST = 2, 2**24
_LISTS: Final = (list, tuple, range, np.ndarray)


@attrs.frozen(eq=False)
class Axis:
    """The places in which the values of one column are counted.

    Attributes:
        places: How many there are.
        reading: How the column of a table is read: as numbers, or as places already.
        of_numbers: The place of each number; NaN for what is in none.
        by_key: The same with values of one key alone in each place; None where a place has several.
        edges: Rising numbers between which the places are; None where they are others.
    """

    places: int
    reading: ColumnReading
    of_numbers: Callable[[Numeric], Floats]
    by_key: Axis | None = None
    edges: Floats | None = None

    def express(self, value: Expression, engine: Engine) -> KeyedCells:
        """The places of an engine's column."""
        if isinstance(value, KeyedCells):
            return value
        if self.edges is None:
            raise NoExpressionError("its places are neither of keys nor between edges")
        if len(self.edges) > engine.most_edges:
            raise NoExpressionError(f"it has more than {engine.most_edges} edges")
        first, *middle, last = self.edges.tolist()
        *cells, end = [value >= edge for edge in (first, *middle)]
        inside = [cell & (value < edge) for cell, edge in zip(cells, middle, strict=True)]
        inside.append(end & (value <= last))
        beyond = (value < first) | (value > last)
        found = [*inside, beyond][: self.places]
        return KeyedCells((), tuple(engine.choose(each, value) for each in found))


def _by_category(categories: Categories) -> Axis:
    """A place for each category."""
    codes, keyed = Codes(categories), KeyedCodes(categories)
    of_keys = None if categories.other else Axis(categories.places, keyed, keyed.places)
    return Axis(categories.places, codes, codes.places, of_keys)


def _between_edges(given: object, step: str, *, other: bool) -> Axis:
    """A place for each interval between rising numbers; the last one holds both of its edges."""
    if isinstance(given, Number):
        raise ParameterError(
            f"{step}: edges is a list, such as range(0, 101, 10) for ten bins from 0 to 100; "
            f"got {quote(given)}"
        )
    if are_dates(given):
        raise ParameterError(
            f"{step} takes numbers; dp.histogram('day', edges=[...]) counts between dates"
        )
    points = to_floats(parse_bounds(given, "edges"))
    if not np.isfinite(points).all():
        raise ParameterError(f"{step}: the edges must be floats, so below 1.8e308 in size")
    example = ", such as range(0, 101, 10) for ten bins from 0 to 100"
    _require_rising(points, points.tolist(), step, example, ", as floats,")
    of_numbers = _Intervals.between(points, other=other)
    return Axis(len(points) - 1 + other, NUMBERS, of_numbers, edges=points)


def _between_dates(given: Sequence[object], step: str, *, other: bool) -> Axis:
    """A place for each interval between rising dates or times, likewise."""
    typed = require_dates(given, f"{step}: edges")
    edges, numbers = numbers_of(typed)
    _require_rising(edges, typed, step)
    places = partial(_place_dates, _Intervals.between(edges, other=other), numbers)
    reading = DateReading(places, "edges=")
    return Axis(len(edges) - 1 + other, reading, reading.of_numbers)


def _require_rising(
    edges: Numeric, typed: Sequence[object], step: str, example: str = "", kind: str = ""
) -> None:
    if not _FEWEST <= len(edges) <= _MOST:
        raise ParameterError(f"{step} takes from 2 to 2^24 rising edges{example}; got {len(edges)}")
    falls = np.flatnonzero(edges[1:] <= edges[:-1])
    if len(falls):
        first, second = (quote_entry(typed, place) for place in (falls[0], falls[0] + 1))
        raise ParameterError(
            f"{step}: the edges must rise{kind or ','} and {first} comes before {second}; sort "
            "them and drop repeats"
        )


def _place_dates(
    places: _Intervals, numbers: Callable[[Dates], NDArray[np.int64]], dates: Dates
) -> Floats:
    found = places(numbers(dates))
    found[np.isnat(dates)] = np.nan
    return found


@attrs.frozen(eq=False)
class _Intervals:
    """The interval of each number between rising edges; behind all or NaN for one beyond them.

    Args:
        ends: Where intervals begin or end. The last holds its edge, so it ends one step further.
        places: Of a number that has passed so many ends.
    """

    ends: RisingEdges
    places: Floats

    @classmethod
    def between(cls, edges: Numeric, *, other: bool) -> _Intervals:
        """With a further place for numbers beyond the edges, or none."""
        count, last = len(edges) - 1, edges[-1]
        end = nextafter(last, inf) if edges.dtype == np.float64 else last + 1
        beyond = count if other else np.nan
        ends = RisingEdges(np.append(edges[:-1], end))
        return cls(ends, np.array([beyond, *range(count), beyond], dtype=np.float64))

    def __call__(self, numbers: Numeric) -> Floats:
        found: Floats = self.places[self.ends.count_passed(numbers)]
        if not np.isnan(self.places[0]):
            found[np.isnan(numbers)] = np.nan
        return found


def one_for_each(given: Any) -> Sequence[Any]:
    """Lists for several columns as they are, and one list as that of the only column."""
    listed = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    nested = listed and all(isinstance(each, _LISTS) for each in given)
    return list(given) if nested else [given]


@attrs.frozen(slots=False)
class KeyedCodes(Codes):
    """As ``Codes``, and NaN for a value that is another key than its category.

    ``Distinct`` tells keys apart, as it does for ``thresholded_counts`` and for the groups of
    ``bound_contributions``. A missing value has the key None, and so has what is no key.

    Proof:
        A value stays in the place of a category only if its key is that of the category. So two
        rows in one place have one key, whatever the categories and the values are, and whichever
        values are equal to them.
    """

    def places(self, values: Numeric) -> Floats:
        """As ``Codes`` has it, where the key of a value is that of its category."""
        found, met = super().places(values), Distinct()
        which = met.places(values)
        numbers = np.array([self._numbers.get(key, -1) for key in (*met.keys, None)])
        own = numbers[np.where(np.isnan(which), len(met.keys), which).astype(np.intp)]
        inside = np.flatnonzero(~np.isnan(found))
        wanted = self._of_places[found[inside].astype(np.intp)]
        kept = np.full(len(found), np.nan)
        stays = inside[own[inside] == wanted]
        kept[stays] = found[stays]
        return kept

    def of_dates(self, dates: NDArray[np.datetime64]) -> Floats:
        return self.places(dates_in(dates))

    @cached_property
    def _numbers(self) -> dict[object, int]:
        """A number for each key of a category."""
        keys = dict.fromkeys(map(canonical, self.categories.values))
        return {key: number for number, key in enumerate(keys)}

    @cached_property
    def _of_places(self) -> NDArray[np.int64]:
        """The number of the key of each place."""
        keys = map(canonical, self.categories.values)
        return np.array([self._numbers[key] for key in keys], dtype=np.int64)


@attrs.frozen
class _Derive(OfWhole):
    """A table of which later steps read what is made of a column."""

    name: str
    change: ByPeriod
    row_by_row = True

    def __call__(self, table: LazyTable, /) -> LazyTable:
        table.dataset.require((self.name,), "period")
        return attrs.evolve(table, derived=(*table.derived, (self.name, self.change)))


@stage(
    does="Takes each date of a column for the first day of its period.",
    changes="A date of a year before 1 or after 9999 is missing, and so is text that says no date.",
    proof=row_by_row("Rows with different dates may become alike: `SpreadDistance` is forgotten."),
    examples=lambda: [
        example(records(columns=["day", "x"]), "day", "week"),
        example(sized_rows(["day", "x"]), "day", "year"),
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
    # First days of months, taken by weeks, stand for no whole week.
    label = "" if name in dict(tables.periods) else change.period
    tables = attrs.evolve(tables, periods=(*tables.periods, (name, label)))
    of_people = cast(PersonTables, domain)
    marked = tables if isinstance(domain, Tables) else attrs.evolve(of_people, rows=tables)
    after = attrs.evolve(space, domain=marked, metric=metric)
    return Transformation(space, after, Map(_Derive(name, change), "period"), identity)


@explain_names
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

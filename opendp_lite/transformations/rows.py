"""Some of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies.body import Bounds, parse_bounds, to_floats
from opendp_lite.bodies.box import Everything
from opendp_lite.engines.columns import Codes, Picked
from opendp_lite.engines.data.categories import Categories
from opendp_lite.engines.data.fold import Floats, identity
from opendp_lite.engines.data.open_data import NUMBERS
from opendp_lite.engines.data.table import Column as TableColumn
from opendp_lite.engines.data.table import unknown_column
from opendp_lite.engines.grouped import Kept, Select
from opendp_lite.engines.missing import LEAVE_OUT, FillEntries
from opendp_lite.engines.plan import Keep, Map
from opendp_lite.metrics.distances import ChangeOneDistance, SymmetricDistance
from opendp_lite.numbers.exact import Number, exact, nearest, quote
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Domain, Rows
from opendp_lite.spaces.examples import example
from opendp_lite.spaces.space import Space, records, row_metric
from opendp_lite.spaces.tables import AnyTables, PersonTables, Tables, TablesOrPeople, tables_in
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.row_maps import fitting, row_by_row, row_map_trusted

Column = int | str
AnySpace: TypeAlias = Space[Any]
"""A space of rows or of a table, whichever."""


@stage(
    does="Keeps one or several columns.",
    proof=row_by_row(),
    examples=lambda: [
        example(records(columns=["age", "visits"]), "visits"),
        example(records(columns=["age", "visits"]), ["visits", "age"]),
        example(records(columns=3), 2, 0),
    ],
)
def select(
    space: Space[AnyTables], *columns: Column | Sequence[Column]
) -> Transformation[Space[AnyTables], Space[AnyTables]]:
    """Keeps one or several columns. Only these are read of a table.

    Sums and counts afterwards leave out only rows that lack a value in these columns.

    Args:
        *columns: Names, or positions from 0, one by one or in a list. An array has positions, and
            names where ``records(columns=["age", ...])`` gives it some.

    Returns:
        Rows of these columns, in this order.

    Raises:
        ParameterError: If no column is given, or one is neither a position nor a name.
        SpaceError: If there is no such column. The message names the nearest one. Also if a person
            may have any number of rows, and the column that tells people apart is left out.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> (dp.records(columns=["age", "visits"]) >> dp.select("visits"))(np.array([[30.0, 2.0]]))
        NotPrivate([2.])
    """
    listed = len(columns) == 1 and isinstance(columns[0], tuple | list)
    asked = cast(Sequence[object], columns[0] if listed else columns)
    if not asked:
        raise ParameterError("select needs a column: select('age'), or select(0)")
    return select_columns(space, asked, "select")


def select_columns(
    space: AnySpace, asked: Sequence[object], step: str
) -> Transformation[AnySpace, AnySpace]:
    """As ``select``, for the columns that a step asks for."""
    if isinstance(space.domain, Tables | PersonTables):
        return _of_table(space, tables_in(space.domain), asked, step)
    kept = tuple(_position(column, space.domain, step) for column in asked)

    names = space.domain.names
    chosen = None if names is None else tuple(names[j] for j in kept)
    return row_map_trusted(space, Picked(kept), space.domain.body.select(kept), chosen)


def _of_table(
    space: AnySpace, domain: Tables, asked: Sequence[object], step: str
) -> Transformation[AnySpace, AnySpace]:
    names = tuple(_name(column, domain, step) for column in asked)
    chosen = attrs.evolve(domain, columns=len(names), names=names, body=Everything(len(names)))

    found = Map(Select(names, step))
    after = attrs.evolve(space, domain=_again(space.domain, chosen))
    return Transformation(space, after, found, identity)


def _again(before: Domain, chosen: Tables) -> Domain:
    """The tables with the chosen columns, of people where they were so before."""
    if not isinstance(before, PersonTables):
        return chosen
    if before.person not in (chosen.names or ()):
        raise SpaceError(
            f"select leaves out {before.person!r}, which tells people apart; put "
            f"dp.bound_contributions(3) before it, or select {before.person!r} as well"
        )
    return attrs.evolve(before, rows=chosen)


def _name(column: object, domain: Tables, step: str) -> str:
    if domain.names is None and isinstance(column, int):
        raise SpaceError(
            f"{step}({column!r}): a table's columns are picked by name, such as {step}('age'); for "
            "positions start with dp.records(columns=3), say"
        )
    if domain.names is not None and isinstance(column, int):
        return domain.names[_position(column, domain, step)]
    return domain.find_names([column], step)[0]


def _position(column: object, domain: Rows, step: str) -> int:
    if isinstance(column, str):
        if domain.names is None:
            raise SpaceError(
                f"{step}({column!r}): the columns have no names; give them with "
                "dp.records(columns=[...]) or pick by position"
            )
        if column in domain.names:
            return domain.names.index(column)
        raise SpaceError(f"{step}: {unknown_column(column, domain.names)}")
    if isinstance(column, bool) or not isinstance(column, int):
        raise ParameterError(
            f"{step}: a column is a position or a name, got {type(column).__name__}"
        )
    if not 0 <= column < domain.columns:
        raise SpaceError(f"{step}: column {column} of {domain.columns}; positions start at 0")
    return column


_ENDS = 2


@attrs.frozen
class _Between:
    """Whether numbers lie between two ends."""

    lower: float
    upper: float

    def __call__(self, numbers: Floats) -> NDArray[np.bool_]:
        return np.logical_and(numbers >= self.lower, numbers <= self.upper)


@attrs.frozen
class _Declared:
    """Whether values are declared."""

    def __call__(self, codes: Floats) -> NDArray[np.bool_]:
        return np.logical_not(np.isnan(codes))


@stage(
    does="Keeps the rows of a table that have certain values in a column.",
    changes=(
        "Keeps the rows that have certain values in a column. A row with a missing cell in the "
        "column is left out, unless None is among the values."
    ),
    proof=Proof(
        "Row by row: a row becomes itself or nothing. Of a replaced row, the old one may "
        "leave and the new one come.",
        adding="k",
        replacing="2 k rows added or removed",
    ),
    examples=lambda: [
        example(records(columns=["age", "visits"]), "age", between=(18, 65)),
        example(records(columns=["region", "visits"]), "region", among=[1, 2.5]),
    ],
)
def keep(
    space: Space[TablesOrPeople],
    column: str,
    *,
    between: tuple[Number | None, Number | None] | None = None,
    among: Sequence[object] | None = None,
) -> Transformation[Space[TablesOrPeople], Space[TablesOrPeople]]:
    """Keeps the rows of a table that have certain values in a column.

    Args:
        column: The name of the column.
        between: The least and the largest number to keep, as in (18, 65). Both are kept. None
            leaves a side open, as in (18, None).
        among: The values to keep, as in ["north", "south"]; None stands for missing cells.

    Returns:
        The table with these rows. How many there are is private. A row with a missing cell in the
        column is left out, unless None is among the values.

    Raises:
        ParameterError: If not just one of ``between`` and ``among`` is given, or the first of the
            two numbers is larger than the second, or a value is declared twice.
        SpaceError: If the table has no such column.

    Example:
        >>> import opendp_lite as dp
        >>> adults = dp.keep("age", between=(18, 65)) >> dp.select("visits") >> dp.clamp(0, 9)
        >>> (adults >> dp.sum())({"age": [12, 30, 65], "visits": [1, 2, 3]})
        NotPrivate([5.])
    """
    domain = tables_in(space.domain)
    (name,) = domain.find_names([column], "keep")
    if (between is None) == (among is None):
        raise ParameterError("keep takes one of between=(18, 65) or among=['north', 'south']")
    if among is not None:
        kept = Kept(TableColumn(name, Codes(Categories.of(among, "keep"))), _Declared())
    else:
        kept = Kept(TableColumn(name, NUMBERS), _between(between))

    only = Keep(kept)
    if domain.size is None:
        return Transformation(space, space, only, identity)
    after = attrs.evolve(domain, size=None)
    unit = 2 * cast(Fraction, space.unit)
    return Transformation(space, Space(after, SymmetricDistance(), unit=unit), only, _twice)


def _between(ends: object) -> _Between:
    pair = isinstance(ends, Sequence) and not isinstance(ends, str) and len(ends) == _ENDS
    if not isinstance(ends, Sequence) or not pair:
        raise ParameterError(f"keep: between is a pair such as (18, 65), got {quote(ends)}")
    lower, upper = _end(ends[0], -inf), _end(ends[1], inf)
    if lower > upper:
        raise ParameterError(f"keep: between=({ends[0]}, {ends[1]}) holds nothing; swap the two")
    return _Between(lower, upper)


def _end(given: object, otherwise: float) -> float:
    return otherwise if given is None else nearest(exact(given, "keep: between"))


def _twice(distance: Fraction) -> Fraction:
    return 2 * distance


@stage(
    does="Leaves out every row that has a missing value (NaN).",
    changes="Leaves out every row that has a missing value (NaN).",
    proof=Proof("Row by row: a row becomes itself or nothing.", adding="k", replacing="-"),
    examples=lambda: [example(records()), example(records(columns=2))],
)
def drop_nan(space: Space[Rows]) -> Transformation[Space[Rows], Space[Rows]]:
    """Leaves out every row that has a missing value (NaN).

    Sums, counts and quantiles do this by themselves, for the columns that reach them. Use this step
    where a value that is missing in any column should remove the row from all of them.

    Returns:
        Rows without missing values. Their number is private.

    Raises:
        SpaceError: If the number of rows is public. Use ``impute(value)`` then.

    Example:
        >>> import opendp_lite as dp
        >>> dp.drop_nan()([1.0, float("nan"), 3.0])
        NotPrivate([1., 3.])
    """
    if row_metric(space).fixed_size:
        raise SpaceError(
            "drop_nan changes the number of rows, which ChangeOneDistance holds fixed; "
            "use impute(value) instead"
        )
    return row_map_trusted(space, LEAVE_OUT, space.domain.body, space.domain.names)


@stage(
    does="Puts a public value in the place of every missing one (NaN).",
    changes="Puts a public value in the place of every missing one (NaN).",
    proof=row_by_row(),
    examples=lambda: [
        example(records(), -0.5),
        example(records(columns=2, size=20, metric=ChangeOneDistance()), [0, 1]),
    ],
)
def impute(space: Space[Rows], value: Bounds) -> Transformation[Space[Rows], Space[Rows]]:
    """Puts a public value in the place of every missing one (NaN).

    Without this step, sums, counts and quantiles leave out rows with missing values. Where the
    number of rows is public, the centre of the rows' body stands for what is missing.

    Args:
        value: What to put there. A number for all columns, or one for each.

    Returns:
        As many rows as before, without missing values.

    Raises:
        SpaceError: If ``value`` has another number of entries than the rows have columns.

    Example:
        >>> import opendp_lite as dp
        >>> dp.impute(2)([1.0, float("nan")])
        NotPrivate([1., 2.])
    """
    domain = space.domain
    filling = to_floats(fitting(parse_bounds(value, "value"), space, "impute"))

    return row_map_trusted(space, FillEntries(filling), domain.body, domain.names)

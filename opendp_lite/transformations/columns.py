"""Some of the columns, and how many different values they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import attrs

from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.bodies.box import Everything
from opendp_lite.engines.columns import Picked
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.distinct import CountKeys, Tally
from opendp_lite.engines.grouped import Select
from opendp_lite.engines.plan import Fold, Map
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import Transformation
from opendp_lite.pipeline.steps import stage
from opendp_lite.spaces.domains import Domain, Rows, Scalars
from opendp_lite.spaces.space import Space, example, records, row_metric, sized_rows
from opendp_lite.spaces.tables import AnyTables, PersonTables, Tables, TablesOrRows, tables_in
from opendp_lite.spelling.description import Proof
from opendp_lite.transformations.row_maps import row_by_row, row_map_trusted
from opendp_lite.transformations.sums import AsGrid, CountFold, space_of_count

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
    space.domain.refuse_unknown(asked, step)
    kept = tuple(_position(column, space.domain, step) for column in asked)

    names = space.domain.names
    chosen = None if names is None else tuple(names[j] for j in kept)
    return row_map_trusted(space, Picked(kept), space.domain.body.select(kept), chosen)


def _of_table(
    space: AnySpace, domain: Tables, asked: Sequence[object], step: str
) -> Transformation[AnySpace, AnySpace]:
    domain.refuse_unknown(asked, step)
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
            f"{step}: a table's columns are picked by name, such as {step}('age'); for positions "
            "start with dp.records(columns=3), say"
        )
    if domain.names is not None and isinstance(column, int):
        return domain.names[_position(column, domain, step)]
    return domain.find_names([column], step)[0]


def _position(column: object, domain: Rows, step: str) -> int:
    if isinstance(column, str):
        if domain.names is None:
            raise SpaceError(
                f"{step}: the columns have no names; give them with dp.records(columns=[...]) or "
                "pick by position"
            )
        return domain.names.index(column)
    if isinstance(column, bool) or not isinstance(column, int):
        raise ParameterError(
            f"{step}: a column is a position or a name, got {type(column).__name__}"
        )
    if not 0 <= column < domain.columns:
        last = domain.columns - 1
        raise SpaceError(f"{step}: no such column; positions start at 0, and the last is {last}")
    return column


def _number_of_keys(tally: Tally) -> Grid:
    return AsGrid(CountFold(), 0)(len(tally.items()))


@stage(
    does="Counts how many different values a column has.",
    changes=(
        "A row that lacks the value does not count, nor does one whose value is neither text nor "
        "a number."
    ),
    proof=Proof(
        "A row has one value, so a row added or removed makes it one more or fewer, or none. A "
        "replaced row takes away at most one value and adds at most one: the number moves by one.",
        adding="k",
        replacing="k",
    ),
    examples=lambda: [
        example(records()),
        example(records(columns=["sex", "age"]), ["sex", "age"]),
        example(sized_rows(["a"]), "a"),
    ],
)
def count_distinct(
    space: Space[TablesOrRows], column: int | str | Sequence[int | str] | None = None
) -> Transformation[Space[TablesOrRows], Space[Scalars]]:
    """Counts how many different values a column has.

    You need not know the values. Noise after it makes it private, as after ``count()``. To count
    people, name the column that tells them apart, after ``bound_contributions(1)``.

    Args:
        column: The column, or a list of several for different combinations. Leave it out if the
            data are one column.

    Returns:
        One whole number. Values are one where ``thresholded_counts`` has one key for them: 1 and
        1.0 are, and "1" is another.

    Raises:
        SpaceError: If the column is not there.

    Example:
        >>> import opendp_lite as dp
        >>> trips = {"city": ["Rome", "Oslo", None, "Rome"] * 90, "day": list(range(180)) * 2}
        >>> dp.count_distinct("city")(trips), dp.count_distinct(["city", "day"])(trips)
        (NotPrivate(2), NotPrivate(135))
        >>> days = dp.count_distinct("day") >> dp.laplace(epsilon=1, confidence=0.95)
        >>> days.map(1), 160 < days(trips).value < 200
        (1.0, True)
    """
    row_metric(space)
    asked = [column] if isinstance(column, int | str) else column
    start = None if asked is None else select_columns(space, asked, "count_distinct")
    domain = space.domain if start is None else start.output_space.domain
    fold = Fold(CountKeys(domain.columns, domain.names), _number_of_keys)
    return Transformation(
        space,
        space_of_count(space),
        fold if start is None else fold.on(start.function),
        lambda distance: Norms(l1=distance),
    )

"""Some of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import attrs

from opendp_lite.bodies.everything import Everything
from opendp_lite.core import Transformation
from opendp_lite.domains import Domain, Rows
from opendp_lite.engines.columns import Picked
from opendp_lite.engines.lazy_table import Lazily, LazyTable
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.examples import example
from opendp_lite.recipes import stage
from opendp_lite.spaces import Space, records
from opendp_lite.tables import AnyTables, PersonTables, Tables, tables_in
from opendp_lite.transformations.row_map import row_map_trusted, unchanged
from opendp_lite.unknown_column import unknown_column

Column = int | str


@example(records(columns=["age", "visits"]), "visits")
@example(records(columns=["age", "visits"]), ["visits", "age"])
@example(records(columns=3), 2, 0)
@stage
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

    Stability:
        ``d_out = d_in`` rows under either row metric, or people.

    Proof:
        Row by row (``row_map``).

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> (dp.records(columns=["age", "visits"]) >> dp.select("visits"))(np.array([[30.0, 2.0]]))
        NotPrivate([2.])
    """
    listed = len(columns) == 1 and isinstance(columns[0], tuple | list)
    asked = cast(Sequence[object], columns[0] if listed else columns)
    if not asked:
        raise ParameterError("select needs a column: select('age'), or select(0)")
    return selected(space, asked, "select")


def selected(
    space: Space[Any], asked: Sequence[object], step: str
) -> Transformation[Space[Any], Space[Any]]:
    """As ``select``, for the columns that a step asks for."""
    if isinstance(space.domain, Tables | PersonTables):
        return _of_table(space, tables_in(space.domain), asked, step)
    kept = tuple(_position(column, space.domain, step) for column in asked)

    names = space.domain.names
    chosen = None if names is None else tuple(names[j] for j in kept)
    return row_map_trusted(space, Picked(kept), space.domain.body.select(kept), chosen)


def _of_table(
    space: Space[Any], domain: Tables, asked: Sequence[object], step: str
) -> Transformation[Space[Any], Space[Any]]:
    names = tuple(_name(column, domain, step) for column in asked)
    chosen = attrs.evolve(domain, columns=len(names), names=names, body=Everything(len(names)))

    found = Lazily(partial(LazyTable.select, names=names, step=step))
    after = attrs.evolve(space, domain=_again(space.domain, chosen))
    return Transformation(space, after, found, unchanged)


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
    return domain.named([column], step)[0]


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

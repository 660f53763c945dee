"""At most so many rows of each person."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

import attrs

from opendp_lite.core import Transformation
from opendp_lite.engines.contributions import contributions
from opendp_lite.engines.lazy_table import LazyTable
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.exact import described, whole
from opendp_lite.examples import example
from opendp_lite.metrics import SpreadDistance, SymmetricDistance
from opendp_lite.recipes import stage
from opendp_lite.samplers.fresh_keys import fresh_keys
from opendp_lite.spaces import Space, records, row_metric
from opendp_lite.tables import PersonTables, Tables, TablesOrPeople, tables_in

_PAIR = 2


@example(records(columns=["id", "visits"], person="id"), 2)
@example(records(columns=["id", "city", "visits"], person="id"), 2, groups=("city", 3))
@example(records(columns=["id", "visits"]), 3, person="id")
@stage
def bound_contributions(
    space: Space[TablesOrPeople],
    rows: int,
    *,
    groups: tuple[str, int] | None = None,
    person: str | None = None,
) -> Transformation[Space[TablesOrPeople], Space[Tables]]:
    """Keeps at most so many rows of each person, chosen at random.

    Each release chooses anew. All that one release reads after this step is of one choice.

    Args:
        rows: How many rows of a person are kept. With ``groups``, how many in each group.
        groups: A column, and how many of its values are kept of each person, as in ("city", 2).
            Missing cells are one value.
        person: The column that tells people apart. Leave it out after ``records(person="id")``.

    Returns:
        The table with the chosen rows. A person with few rows keeps them all. Any choice of so many
        rows of a person is equally likely. Rows without an id are left out. The chosen rows are
        held in memory if the data comes in blocks, and their places if it is in memory. Those of a
        table on dask or Spark are chosen there and come here.

    Raises:
        ParameterError: If a number is not whole or below 1, or ``groups`` is no such pair.
        SpaceError: If the table has no such column, or nothing tells people apart.

    Stability:
        With k rows: adding or removing ``d_in`` people adds or removes at most k d_in rows, or
        k g d_in rows with g groups. After ``records`` without ``person``, adding or removing one
        row changes at most 2 rows, or k + 1 with groups. Replacing one row changes twice as many.

    Proof:
        Each row has a random key, and the rows of a person with the least keys stay. Two
        neighbours are compared with the same keys for the rows that they share. Other people's
        choices are then the same. One row more of a person lets one row in and at most one out.
        With groups it lets one group in, and at most one out with its k rows. This holds for all
        keys. What follows is a mixture over the keys, which loses no more than its worst part
        (joint quasi-convexity of the divergences).

    Example:
        >>> import opendp_lite as dp
        >>> space = dp.records(columns=["id", "visits"], person="id")
        >>> mean = space >> dp.bound_contributions(3) >> dp.select("visits") >> dp.mean(
        ...     0, 40, epsilon=1
        ... )
        >>> mean.map(1)
        1.0
        >>> mean.neighbours()
        'adding or removing one person'
    """
    most = whole(rows, "rows", least=1)
    group = _group(space, groups)
    column = _person(space, person)
    kept_groups = 1 if group is None else group[1]
    if isinstance(space.domain, PersonTables):
        factor = most * kept_groups
    else:
        changed = 2 if group is None else most + 1
        factor = changed * (2 if row_metric(space).fixed_size else 1)

    def moved(distance: Fraction) -> Fraction:
        return distance * factor

    read = (column,) if group is None else (column, group[0])

    def kept(table: LazyTable) -> LazyTable:
        table.dataset.require(read, "bound_contributions")
        return contributions(table, column, most, group, table.keys or fresh_keys)

    domain = attrs.evolve(tables_in(space.domain), size=None, limit=_words(most, group))
    metric = _spread(space, group)
    after = Space(domain, metric, unit=moved(cast(Fraction, space.unit)))
    return Transformation(space, after, kept, moved)


def _spread(space: Space[Any], group: tuple[str, int] | None) -> SymmetricDistance:
    """The metric between tables with the chosen rows: those of a person may be in several groups.

    One row more of a person may exchange one group for another, so then nothing is known.
    """
    people = isinstance(space.domain, PersonTables)
    return SpreadDistance(*group) if people and group else SymmetricDistance()


def _person(space: Space[Any], given: str | None) -> str:
    domain = space.domain
    if isinstance(domain, PersonTables):
        if given not in (None, domain.person):
            raise SpaceError(
                f"bound_contributions: {domain.person!r} tells people apart here; leave out person="
            )
        return domain.person
    if given is None:
        raise SpaceError(
            "bound_contributions: say which column tells people apart. Start with "
            "dp.records(columns=[...], person='id') or dp.table(person='id'), where a neighbour "
            "has one person more or less"
        )
    if not isinstance(given, str):
        raise ParameterError(f"bound_contributions: person is a name; got {described(given)}")
    (name,) = domain.named([given], "bound_contributions")
    return str(name)


def _group(space: Space[Any], given: object) -> tuple[str, int] | None:
    if given is None:
        return None
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != _PAIR:
        raise ParameterError(
            "bound_contributions: groups is a column and a number, such as ('city', 2); got "
            f"{described(given)}"
        )
    column, most = given
    (name,) = tables_in(space.domain).named([column], "bound_contributions: groups")
    return name, whole(most, "the number of groups", least=1)


def _words(most: int, group: tuple[str, int] | None) -> str:
    if group is None:
        return f"at most {most} of a person"
    return f"at most {most} of a person in each of {group[1]} groups by {group[0]}"

"""At most so many rows of each person, chosen at random in one pass over a table."""

from __future__ import annotations

from typing import ClassVar, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.chosen_rows import Choice, chosen_rows
from opendp_lite.engines.distinct import Distinct, Numbered
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.identities import Identities
from opendp_lite.engines.lazy_table import LazyTable
from opendp_lite.engines.least_rows import Keys, LeastRows, Places, in_order, starts_of
from opendp_lite.engines.table import Column

_NO_GROUP: Final = -1.0
"""Of rows that have no key in the column of the groups: together they are one group."""


def contributions(
    table: LazyTable, person: str, most: int, groups: tuple[str, int] | None, keys: Keys
) -> LazyTable:
    """A table with at most so many rows of each person, chosen now, whatever reads them later.

    Args:
        table: Any rows. Those without an id are left out.
        person: The column that holds the ids.
        most: How many rows of a person are kept; with groups, in each of them.
        groups: A column, and how many of its values are kept of each person. Values are one where
            they are one key of ``thresholded_counts``.
        keys: Independent random words for the rows at some places in the data.
    """
    columns = [Column(person, Identities())]
    if groups is not None:
        columns.append(Column(groups[0], Numbered(Distinct())))
    rows = LeastRows.of(most, keys, len(columns))
    kept_groups = None if groups is None else groups[1]
    return chosen_rows(table, _LeastChoice(table.filters, tuple(columns), rows, kept_groups))


@attrs.define(eq=False, repr=False)
class _LeastChoice(Choice):
    """The rows with the least keys of each person; of so many groups, where there are groups."""

    what: ClassVar[str] = "the rows of a person"
    step: ClassVar[str] = "bound_contributions"
    instead: ClassVar[str] = (
        "make one row of each person there, with groupby and sum, and release from those"
    )

    rows: LeastRows
    most: int | None
    waiting: int = attrs.field(default=0, init=False)
    _groups: list[Places] = attrs.field(factory=list, init=False)
    _places: list[Places] = attrs.field(factory=list, init=False)

    def is_told(self, told: Floats) -> NDArray[np.bool_]:
        """Whether the person is known: rows without a group are one group."""
        return ~np.isnan(told[:, 0])

    def may_stay(self, told: Floats, places: Places) -> NDArray[np.bool_]:
        self._groups.append(np.where(np.isnan(told), _NO_GROUP, told).astype(np.int64))
        self._places.append(places)
        self.waiting += len(places)
        return np.ones(len(places), dtype=np.bool_)

    def full(self, room: int) -> bool:
        """As said above: the work for all rows stays in proportion."""
        return self.waiting > max(room, len(self.rows.places))

    def settle(self) -> Places:
        if self._places:
            self.rows.add(np.concatenate(self._groups), np.concatenate(self._places))
            self._groups.clear()
            self._places.clear()
            self.waiting = 0
        return np.sort(self.rows.places)

    def ended(self) -> Places:
        found = self.settle()
        if self.most is None:
            return found
        return np.sort(
            in_least_groups(self.rows.groups, self.rows.places, self.most, self.rows.keys)
        )


def in_least_groups(told: Places, places: Places, most: int, keys: Keys) -> Places:
    """The places of rows in so many groups of each person, chosen by a random key of each group.

    Args:
        told: The person and the group of each row.
        places: Where each row is in the data.
        most: How many groups of a person are kept.
        keys: Random words.
    """
    order = in_order(told, np.zeros((len(told), 1), dtype=np.uint64))
    starts = starts_of(told[order])
    least = LeastRows.of(most, keys, 1)
    first = np.flatnonzero(starts)
    least.add(told[order][first, :1], places[order][first])
    group = np.cumsum(starts) - 1
    places = places[order]
    chosen: Places = places[np.isin(places[first], least.places)[group]]
    return chosen

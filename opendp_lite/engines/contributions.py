"""At most so many rows of each person, chosen at random in one pass over a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.chosen_parts import ChosenPart, Rule, chosen
from opendp_lite.engines.chosen_rows import Choice, Piece
from opendp_lite.engines.distinct import Distinct, Numbered
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.identities import Identities
from opendp_lite.engines.lazy_table import Kept, LazyTable
from opendp_lite.engines.least_part import Labels, LeastPart, in_least_groups
from opendp_lite.engines.least_rows import Keys, LeastByPlace, LeastRows, Places
from opendp_lite.engines.secret_words import SecretWords
from opendp_lite.engines.table import Column

_STEP: Final = "bound_contributions"
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
    return chosen(table, _Least(table.filters, person, groups, most), keys)


@attrs.frozen(eq=False, repr=False)
class _Least(Rule):
    """The rows with the least keys of each person; of so many groups, where there are groups."""

    step: ClassVar[str] = _STEP

    filters: tuple[Kept, ...]
    person: str
    groups: tuple[str, int] | None
    most: int
    people: Identities = attrs.field(factory=Identities, init=False)
    values: Distinct = attrs.field(factory=Distinct, init=False)

    @property
    def told(self) -> tuple[Column, ...]:
        column = Column(self.person, self.people)
        if self.groups is None:
            return (column,)
        return column, Column(self.groups[0], Numbered(self.values))

    def here(self, keys: Keys) -> _LeastChoice:
        return self._among(LeastRows.of(self.most, keys, len(self.told)))

    def there(self, keys: Keys, secret: SecretWords) -> _LeastChoice:
        return self._among(LeastByPlace.of(self.most, keys, len(self.told)))

    def _among(self, rows: LeastRows) -> _LeastChoice:
        kept_groups = None if self.groups is None else self.groups[1]
        return _LeastChoice(self.filters, self.told, rows, kept_groups)

    def sent(self, choice: Choice, pieces: Sequence[Piece], seen: int) -> ChosenPart:
        chosen_so_far = cast(_LeastChoice, choice)
        rows = chosen_so_far.rows
        order = np.argsort(rows.places)
        numbers, codes = np.unique(rows.groups[order, 0], return_inverse=True)
        labels = [Labels(self.people.listed(numbers.tolist()), codes.reshape(-1))]
        if self.groups is not None:
            labels.append(Labels(self.values.keys, rows.groups[order, 1]).used())
        return LeastPart(
            tuple(pieces),
            seen,
            self.people.text,
            self.most,
            chosen_so_far.most,
            tuple(labels),
            rows.words[order, 0],
        )


@attrs.define(eq=False, repr=False)
class _LeastChoice(Choice):
    """The rows with the least keys of each person; of so many groups, where there are groups."""

    what: ClassVar[str] = "the rows of a person"
    step: ClassVar[str] = _STEP
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

"""At most so many rows of each person, chosen at random in one pass over a table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.identities import Identities
from opendp_lite.engines.data.least_rows import (
    Keys,
    LeastByPlace,
    LeastRows,
    Places,
    SecretWords,
    Words,
    by_place,
    first_ones,
    in_order,
)
from opendp_lite.engines.data.table import Column
from opendp_lite.engines.distinct import Distinct, Numbered
from opendp_lite.engines.grouped import Kept, LazyTable
from opendp_lite.engines.sampling.chosen_rows import Choice, ChosenPart, Piece, Rule, choose_rows

# Of rows that have no key in the column of the groups: together they are one group.
_NO_GROUP: Final = -1.0


@attrs.frozen(eq=False, repr=False)
class Labels:
    """What each row belongs to: different values, and the place of each row's; below 0 is none."""

    values: Sequence[Hashable]
    codes: Places

    def join(self, other: Labels) -> Labels:
        """Those of further rows behind these."""
        places = {value: place for place, value in enumerate(self.values)}
        for value in other.values:
            places.setdefault(value, len(places))
        table = np.array([*(places[value] for value in other.values), -1], dtype=np.int64)
        return Labels(list(places), np.concatenate([self.codes, table[other.codes]]))

    def only(self, kept: NDArray[np.bool_]) -> Labels:
        """Those of some of the rows."""
        return Labels(self.values, self.codes[kept]).drop_unused()

    def drop_unused(self) -> Labels:
        """The same without values that no row has."""
        occur = np.flatnonzero(np.bincount(self.codes[self.codes >= 0]))
        table = np.full(len(self.values) + 1, -1, dtype=np.int64)
        table[occur] = np.arange(len(occur))
        return Labels([self.values[place] for place in occur.tolist()], table[self.codes])


@attrs.frozen(eq=False, repr=False)
class LeastPart(ChosenPart):
    """The rows of a part with the least keys of each person.

    Attributes:
        most: How many rows of a person are kept; with groups, in each of them.
        most_groups: How many groups of a person are kept; None without groups.
        labels: The person of each row, and the group, where there are groups.
        words: The keys, by the places of the rows.
    """

    most: int
    most_groups: int | None
    labels: tuple[Labels, ...]
    words: Words

    def merge(self, other: ChosenPart) -> ChosenPart:
        second, both = cast(LeastPart, other), cast(LeastPart, super().merge(other))
        labels = [one.join(more) for one, more in zip(self.labels, second.labels, strict=True)]
        words, places = np.concatenate([self.words, second.words]), _places(both.pieces)
        told = np.column_stack([each.codes for each in labels])
        order = by_place(told, words, places)
        kept = np.zeros(len(order), dtype=np.bool_)
        kept[order[first_ones(told[order], self.most)]] = True
        return attrs.evolve(
            both,
            pieces=tuple(map(Piece.where, both.pieces, _by_piece(both.pieces, kept))),
            labels=tuple(each.only(kept) for each in labels),
            words=words[kept],
        )

    def finish(self, keys: Keys) -> Sequence[Piece]:
        if self.most_groups is None:
            return self.pieces
        told = np.column_stack([each.codes for each in self.labels])
        stay = in_least_groups(told, _places(self.pieces), self.most_groups, keys)
        return [piece.among(stay) for piece in self.pieces]


def _places(pieces: Sequence[Piece]) -> Places:
    return np.concatenate([np.empty(0, dtype=np.int64), *(piece.places for piece in pieces)])


def _by_piece(pieces: Sequence[Piece], kept: NDArray[np.bool_]) -> Sequence[NDArray[np.bool_]]:
    return np.split(kept, np.cumsum([len(piece.places) for piece in pieces])[:-1])


def in_least_groups(told: Places, places: Places, most: int, keys: Keys) -> Places:
    """The places of rows in so many groups of each person, chosen by a random key of each group.

    Args:
        told: The person and the group of each row.
        places: Where each row is in the data.
        most: How many groups of a person are kept.
        keys: Random words.
    """
    order = in_order(told, np.zeros((len(told), 1), dtype=np.uint64))
    starts = first_ones(told[order], 1)
    least = LeastRows.of(most, keys, 1)
    first = np.flatnonzero(starts)
    least.add(told[order][first, :1], places[order][first])
    group = np.cumsum(starts) - 1
    places = places[order]
    chosen: Places = places[np.isin(places[first], least.places)[group]]
    return chosen


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
    return choose_rows(table, _Least(table.filters, person, groups, most), keys)


@attrs.frozen(eq=False, repr=False)
class _Least(Rule):
    """The rows with the least keys of each person; of so many groups, where there are groups."""

    step: ClassVar[str] = "bound_contributions"
    what: ClassVar[str] = "the rows of a person"
    instead: ClassVar[str] = (
        "make one row of each person there, with groupby and sum, and release from those"
    )

    filters: tuple[Kept, ...]
    person: str
    groups: tuple[str, int] | None
    most: int
    people: Identities = attrs.field(factory=Identities, init=False)
    values: Distinct = attrs.field(factory=Distinct, init=False)

    @property
    def criteria(self) -> tuple[Column, ...]:
        column = Column(self.person, self.people)
        if self.groups is None:
            return (column,)
        return column, Column(self.groups[0], Numbered(self.values))

    def here(self, keys: Keys) -> _LeastChoice:
        return self._among(LeastRows.of(self.most, keys, len(self.criteria)))

    def there(self, keys: Keys, secret: SecretWords) -> _LeastChoice:
        return self._among(LeastByPlace.of(self.most, keys, len(self.criteria)))

    def _among(self, rows: LeastRows) -> _LeastChoice:
        return _LeastChoice(self, rows, None if self.groups is None else self.groups[1])

    def part(self, choice: Choice, pieces: Sequence[Piece], seen: int) -> ChosenPart:
        chosen_so_far = cast(_LeastChoice, choice)
        rows = chosen_so_far.rows
        order = np.argsort(rows.places)
        numbers, codes = np.unique(rows.groups[order, 0], return_inverse=True)
        labels = [Labels(self.people.export(numbers.tolist()), codes.reshape(-1))]
        if self.groups is not None:
            labels.append(Labels(self.values.keys, rows.groups[order, 1]).drop_unused())
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

    def finish(self) -> Places:
        found = self.settle()
        if self.most is None:
            return found
        return np.sort(
            in_least_groups(self.rows.groups, self.rows.places, self.most, self.rows.keys)
        )

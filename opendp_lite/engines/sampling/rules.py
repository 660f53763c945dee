"""Rules by which rows are chosen: by coins, so many of each person, and so many of all.

Each chooses in one pass, once for all that reads the rows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial, singledispatch
from typing import Any, ClassVar, Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data import fold, identities, sparse
from opendp_lite.engines.data.blocks import Blocks, OfBlocks
from opendp_lite.engines.data.least_rows import (
    LeastByPlace,
    LeastRows,
    SecretWords,
    by_place,
    first_ones,
    in_order,
)
from opendp_lite.engines.data.source import (
    Keys,
    Places,
    Source,
    Words,
    first_place,
    quiet_for,
    reduce,
)
from opendp_lite.engines.data.table import Column
from opendp_lite.engines.dates import ByPeriod, Derived
from opendp_lite.engines.distinct import Distinct, Numbered
from opendp_lite.engines.grouped import Kept, LazyTable
from opendp_lite.engines.rows import LazyRows, Part, from_blocks
from opendp_lite.engines.sampling.chosen_rows import Choice, ChosenPart, Piece, Rule, choose_rows

_STEP: Final = "sample"
Toss = Callable[[Collection[float]], NDArray[np.bool_]]
"""An independent coin for each of some rows or people; heads is in the sample."""


KeyedCoins = Callable[[int, Keys], NDArray[np.bool_]]
"""So many independent coins, tossed with random words."""


@singledispatch
def row_sample(rows: Any, coins: KeyedCoins, keys: Keys, person: str | None) -> Any:
    """The rows in a sample, chosen now in one pass, so that all that reads them reads the same.

    Each row is in it or not by a coin of its own. It is the row as it stands here: steps before
    may have left rows out, or made several of one.

    Args:
        rows: Any rows. Those of a table have passed its filters.
        coins: How the choice is made.
        keys: Independent random words of the release.
        person: The column of ids, where people are chosen with all of their rows. Rows without an
            id are left out.

    Returns:
        Rows of the same kind. Those of a table in memory are held by their places, and others as
        copies; those of a sample on other machines come here.
    """
    if rows.library:
        job = partial(_sample_of_part, rows.functions, coins, SecretWords.of(keys))
        with quiet_for(rows.source):
            held = reduce(rows.source, job, operator.add)
    else:
        held = _in_sample(rows, coins, keys)
    columns = held[0].shape[1] if held else None
    blocks = OfBlocks(Blocks(lambda: held), columns, lambda block: iter((block,)))
    return LazyRows(blocks, keys=rows.keys)


@row_sample.register
def _of_table(rows: LazyTable, coins: KeyedCoins, keys: Keys, person: str | None) -> LazyTable:
    return choose_rows(rows, _ByCoins(rows.filters, rows.derived, coins, person), keys)


def _in_sample(rows: LazyRows, coins: KeyedCoins, keys: Keys) -> list[sparse.RowBlock]:
    return from_blocks(rows, lambda block: block[coins(len(block), keys)])


def _sample_of_part(
    functions: tuple[Part, ...], coins: KeyedCoins, secret: SecretWords, source: Source
) -> list[sparse.RowBlock]:
    """The rows in the sample of a part of rows on other machines."""
    return _in_sample(LazyRows(source, functions), coins, secret.of_rows(source.part, _STEP))


@attrs.frozen(eq=False, repr=False)
class _ByCoins(Rule):
    """Each row by a coin of its own, or all rows of a person by one coin."""

    step: ClassVar[str] = _STEP
    what: ClassVar[str] = "the rows of a sample"
    instead: ClassVar[str] = "release from all rows, without dp.combinators.sample"

    filters: tuple[Kept, ...]
    derived: tuple[tuple[str, ByPeriod], ...]
    coins: KeyedCoins
    person: str | None
    people: identities.Identities = attrs.field(factory=identities.Identities, init=False)

    @property
    def criteria(self) -> tuple[Column, ...]:
        if self.person is None:
            return ()
        return (Derived.column(Column(self.person, self.people), self.derived),)

    def here(self, keys: Keys) -> Choice:
        return _CoinChoice(self, lambda those: self.coins(len(those), keys))

    def there(self, keys: Keys, secret: SecretWords) -> Choice:
        """Tosses the same coin for a person in each part."""
        if self.person is None:
            return self.here(keys)
        self.people.are_sent = True

        def toss(ids: Collection[float]) -> NDArray[np.bool_]:
            return self.coins(len(ids), secret.of_names(self.people.names(list(map(int, ids)))))

        return _CoinChoice(self, toss)

    def part(self, choice: Choice, pieces: Sequence[Piece], seen: int) -> ChosenPart:
        return ChosenPart(tuple(pieces), seen, self.people.text)


@attrs.define(eq=False, repr=False)
class _CoinChoice(Choice):
    """Rows by coins: a coin for each row, or for each person, tossed when the first row comes."""

    toss: Toss
    _people: dict[float, bool] = attrs.field(factory=dict, init=False)
    _places: list[Places] = attrs.field(factory=list, init=False)

    def may_stay(self, told: fold.Floats, places: Places) -> NDArray[np.bool_]:
        found = self._of_people(told[:, 0]) if self.rule.criteria else self.toss(places)
        self._places.append(places[found])
        return found

    def _of_people(self, ids: fold.Floats) -> NDArray[np.bool_]:
        people, places = np.unique(ids, return_inverse=True)
        listed = people.tolist()
        fresh = [person for person in listed if person not in self._people]
        self._people.update(zip(fresh, self.toss(fresh).tolist(), strict=True))
        heads = np.fromiter(map(self._people.__getitem__, listed), np.bool_, len(listed))
        return heads[places]

    def settle(self) -> Places:
        return np.concatenate([np.empty(0, dtype=np.int64), *self._places])


# Entries that wait before rows are left out.
_WAITING: Final = 2**18


def rows_of_size(rows: LazyRows, most: int, columns: int, keys: Keys, step: str) -> fold.Floats:
    """The rows with the least keys, so many of them, or all where there are fewer.

    Args:
        rows: Rows on other machines.
        most: How many are kept.
        columns: How many columns they have.
        keys: Independent random words of the release.
        step: Its name, for a refusal.
    """
    job = partial(_least_of_part, rows.functions, most, columns, SecretWords.of(keys), step)
    with quiet_for(rows.source):
        _, _, found = reduce(rows.source, job, partial(_keep_least, most))
    return cast(fold.Floats, found)


_KeyedRows = tuple[Words, Places, fold.Floats]
"""Rows behind their keys and their places in the data."""


def _keep_least(most: int, *several: _KeyedRows) -> _KeyedRows:
    """So many rows, those with the least keys of several, in the order in which they came.

    Keys that are equal, once in 2^64 pairs, are ordered by the places of their rows.
    """
    words, places, rows = map(np.concatenate, zip(*several, strict=True))
    stay = np.sort(np.lexsort((places, words))[:most])
    return words[stay], places[stay], rows[stay]


def _least_of_part(
    parts: tuple[Part, ...], most: int, columns: int, secret: SecretWords, step: str, source: Source
) -> _KeyedRows:
    """The rows with the least keys of a part of the rows."""
    keys, nothing = secret.of_rows(source.part, step), np.empty(0, dtype=np.int64)
    held: list[_KeyedRows] = [(nothing.astype(np.uint64), nothing, np.empty((0, columns)))]
    place = first_place(source.part)

    def take(block: sparse.RowBlock) -> None:
        """Takes a block; rows are left out once as many wait as are kept."""
        nonlocal place
        rows = np.array(block)
        places = np.arange(place, place + len(rows))
        place += len(rows)
        held.append((keys(places), places, rows))
        if sum(each[2].size for each in held[1:]) > max(_WAITING, held[0][2].size):
            held[:] = [_keep_least(most, *held)]

    from_blocks(LazyRows(source, parts), take)
    return _keep_least(most, *held)


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
        known = self.codes[self.codes >= 0].astype(np.intp, copy=False)
        occur = np.flatnonzero(np.bincount(known))
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
        by_piece = np.split(kept, np.cumsum([len(piece.places) for piece in both.pieces])[:-1])
        return attrs.evolve(
            both,
            pieces=tuple(map(Piece.where, both.pieces, by_piece)),
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
    found: Places = places[np.isin(places[first], least.places)[group]]
    return found


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
    return choose_rows(table, _Least(table.filters, table.derived, person, groups, most), keys)


@attrs.frozen(eq=False, repr=False)
class _Least(Rule):
    """The rows with the least keys of each person; of so many groups, where there are groups."""

    step: ClassVar[str] = "bound_contributions"
    what: ClassVar[str] = "the rows of a person"
    instead: ClassVar[str] = (
        "make one row of each person there, with groupby and sum, and release from those"
    )

    filters: tuple[Kept, ...]
    derived: tuple[tuple[str, ByPeriod], ...]
    person: str
    groups: tuple[str, int] | None
    most: int
    people: identities.Identities = attrs.field(factory=identities.Identities, init=False)
    values: Distinct = attrs.field(factory=Distinct, init=False)

    @property
    def criteria(self) -> tuple[Column, ...]:
        column = Derived.column(Column(self.person, self.people), self.derived)
        if self.groups is None:
            return (column,)
        group = Column(self.groups[0], Numbered(self.values))
        return column, Derived.column(group, self.derived)

    def here(self, keys: Keys) -> _LeastChoice:
        return self._among(LeastRows.of(self.most, keys, len(self.criteria)))

    def there(self, keys: Keys, secret: SecretWords) -> _LeastChoice:
        self.people.are_sent = True
        return self._among(LeastByPlace.of(self.most, keys, len(self.criteria)))

    def _among(self, rows: LeastRows) -> _LeastChoice:
        return _LeastChoice(self, rows, None if self.groups is None else self.groups[1])

    def part(self, choice: Choice, pieces: Sequence[Piece], seen: int) -> ChosenPart:
        chosen_so_far = cast(_LeastChoice, choice)
        rows = chosen_so_far.rows
        order = np.argsort(rows.places)
        numbers, codes = np.unique(rows.groups[order, 0], return_inverse=True)
        labels = [Labels(self.people.export(numbers.tolist()), codes)]
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

    def is_told(self, told: fold.Floats) -> NDArray[np.bool_]:
        """Whether the person is known: rows without a group are one group."""
        return ~np.isnan(told[:, 0])

    def may_stay(self, told: fold.Floats, places: Places) -> NDArray[np.bool_]:
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

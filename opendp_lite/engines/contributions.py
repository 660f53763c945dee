"""At most so many rows of each person, chosen at random in one pass over a table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

from opendp_lite.engines.arrays import ArrayRows
from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.columns import Dataset, Names
from opendp_lite.engines.distinct import Distinct, Numbered
from opendp_lite.engines.door import read, register_libraries
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.held import held
from opendp_lite.engines.identities import Identities
from opendp_lite.engines.lazy_table import Kept, LazyTable
from opendp_lite.engines.least_rows import Keys, LeastRows, Places, in_order, starts_of
from opendp_lite.engines.quiet import QUIET, attempted
from opendp_lite.engines.source import Source
from opendp_lite.engines.sparse import SparseMatrix
from opendp_lite.engines.table import Column, NamedColumns
from opendp_lite.engines.take import take
from opendp_lite.errors import DataError

_WAITING: Final = 2**22
_WAITING_PIECES: Final = 2**18
"""Rows that wait before some are left out: of a table in memory, and of one in blocks."""
_NO_GROUP: Final = -1.0
"""Of rows that have no key in the column of the groups: together they are one group."""
_PICKING: Final = "the rows of a column could not be picked"


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
    choice = _Choice(table.filters, tuple(columns), rows)
    dataset = table.dataset
    whole = dataset.whole()
    with QUIET, np.errstate(all="ignore"):
        if isinstance(whole, NamedColumns | ArrayRows):
            data: Any = _in_memory(choice, _as_table(whole, dataset.declared), dataset.size)
        elif isinstance(whole, SparseMatrix):
            raise DataError(
                "the rows of a person are not picked from a sparse matrix; give a table"
            )
        else:
            blocks = whole if isinstance(whole, Blocks) else Blocks(whole.blocks, columns=None)
            data = _in_pieces(choice, blocks, table)
        chosen = choice.ended(None if groups is None else groups[1])
        kept = data.only(chosen)
    return attrs.evolve(table, dataset=Dataset(kept, dataset.declared, None), filters=())


def _as_table(whole: Any, declared: Names | None) -> NamedColumns:
    """An array as columns, each with the type that it has: as floats two long ids may be one."""
    if isinstance(whole, NamedColumns):
        return whole
    if isinstance(whole, ArrayRows):
        rows = whole.rows
        return NamedColumns(declared or (), lambda place: rows[:, place], len(rows))
    blocks = [np.array(block) for block in read(whole) if len(block)]
    rows = np.concatenate([np.empty((0, len(declared or ()))), *blocks])
    return NamedColumns(declared or (), lambda place: rows[:, place], len(rows))


@attrs.define(eq=False, repr=False)
class _Choice:
    """The choice among the rows that were read so far.

    The first columns of a block say which rows pass the filters, and the others tell the groups of
    rows apart.
    """

    filters: tuple[Kept, ...]
    told: tuple[Column, ...]
    rows: LeastRows
    seen: int = 0
    waiting: int = 0
    _groups: list[Places] = attrs.field(factory=list)
    _places: list[Places] = attrs.field(factory=list)

    @property
    def columns(self) -> tuple[Column, ...]:
        """What is to be read."""
        return (*(kept.column for kept in self.filters), *self.told)

    def met(self, block: Floats) -> Places:
        """Takes a block; gives the places in the data of the rows that may be chosen."""
        count = len(self.filters)
        stays = ~np.isnan(block[:, count])
        for column, kept in enumerate(self.filters):
            stays &= kept.test(block[:, column])
        inside = np.flatnonzero(stays)
        places = inside + self.seen
        told = block[inside, count:]
        self._groups.append(np.where(np.isnan(told), _NO_GROUP, told).astype(np.int64))
        self._places.append(places)
        self.seen += len(block)
        self.waiting += len(places)
        return places

    def full(self, room: int) -> bool:
        """Whether it is time to leave out some rows: the work for all rows stays in proportion."""
        return self.waiting > max(room, len(self.rows.places))

    def settle(self) -> Places:
        """Leaves out the rows that are too many; gives the places of the others, rising."""
        if self._places:
            self.rows.add(np.concatenate(self._groups), np.concatenate(self._places))
            self._groups.clear()
            self._places.clear()
            self.waiting = 0
        return np.sort(self.rows.places)

    def ended(self, most: int | None) -> Places:
        """The places of the chosen rows, in at most so many groups of each person."""
        self.settle()
        if most is None:
            return np.sort(self.rows.places)
        return np.sort(in_least_groups(self.rows.groups, self.rows.places, most, self.rows.keys))


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


@attrs.frozen(eq=False, repr=False)
class _Memory:
    """A table in memory."""

    table: NamedColumns

    def only(self, places: Places) -> NamedColumns:
        """Some of its rows, picked from a column when it is asked for."""
        table = self.table
        return NamedColumns(
            table.names, lambda place: _picked(table.column(place), places), len(places)
        )


def _in_memory(choice: _Choice, table: NamedColumns, size: int | None) -> _Memory:
    words = "the columns of the table could not be read"
    rows: Source = attempted(partial(table.rows, choice.columns), words)
    for block in read(held(rows, len(choice.columns), size)):
        choice.met(block)
        if choice.full(_WAITING):
            choice.settle()
    return _Memory(table)


@attrs.define(eq=False, repr=False)
class _Piece:
    """Copies of some rows, and their places in the data."""

    names: tuple[str, ...]
    held: list[Any]
    places: Places

    def keep(self, chosen: Places) -> None:
        """Lets go of the rows that are not chosen."""
        stays = np.isin(self.places, chosen)
        if not stays.all():
            inside = np.flatnonzero(stays)
            self.held = [_picked(column, inside) for column in self.held]
            self.places = self.places[inside]


def _picked(column: Any, places: Places) -> Any:
    register_libraries(type(column))
    return attempted(partial(take, column, places), _PICKING)


@attrs.frozen(eq=False, repr=False)
class _Pieces(Source):
    """Blocks of a table, of which the rows that may be chosen are copied as they are read.

    A block is the person's own, who may fill it anew for the next one. Read again, the blocks might
    come in another order.
    """

    choice: _Choice
    given: Blocks
    declared: Names | None
    wanted: Names | None
    pieces: list[_Piece] = attrs.field(factory=list)

    @property
    def columns(self) -> int:
        return 1

    @property
    def size(self) -> int | None:
        return self.given.size

    def blocks(self) -> Iterator[Any]:
        return self.given.opened_by(lambda piece: _WatchedPiece(piece, self))

    def only(self, places: Places) -> Blocks:
        """The chosen rows, as blocks."""
        for piece in self.pieces:
            piece.keep(places)
        tables = [
            NamedColumns(piece.names, piece.held.__getitem__, len(piece.places))
            for piece in self.pieces
            if len(piece.places)
        ]
        return Blocks(lambda: tables, columns=None)


@attrs.frozen(eq=False, repr=False)
class _WatchedPiece(Source):
    """One block, whose rows are copied once they were read."""

    piece: object
    every: _Pieces

    @property
    def columns(self) -> int:
        return 1

    def blocks(self) -> Iterator[Any]:
        every, choice = self.every, self.every.choice
        whole = Dataset(self.piece, every.declared, None).whole()
        table = _as_table(whole, every.declared)
        start, found = choice.seen, []
        for block in read(table.rows(choice.columns)):
            found.append(choice.met(block))
            yield block[:, :1]
        places = np.concatenate([np.empty(0, dtype=np.int64), *found])
        if not len(places):
            return
        names = tuple(map(str, table.names))
        wanted = [
            place
            for place, name in enumerate(names)
            if every.wanted is None or name in every.wanted
        ]
        held = [_picked(table.column(place), places - start) for place in wanted]
        every.pieces.append(_Piece(tuple(names[place] for place in wanted), held, places))
        if choice.full(_WAITING_PIECES):
            chosen = choice.settle()
            for piece in every.pieces:
                piece.keep(chosen)
            every.pieces[:] = [piece for piece in every.pieces if len(piece.places)]


def _in_pieces(choice: _Choice, blocks: Blocks, table: LazyTable) -> _Pieces:
    declared = table.dataset.declared or blocks.names
    found = _Pieces(choice, blocks, declared, table.names)
    for _ in read(held(found, 1, table.dataset.size)):
        pass
    return found

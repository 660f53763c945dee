"""A table with only the rows that are chosen as they are read, whatever reads them later."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError
from opendp_lite.engines.columns import PRESENCE, Dataset, Names
from opendp_lite.engines.data import arrays, fold, identities, least_rows, open_data, source, sparse
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.table import Column, NamedColumns, take
from opendp_lite.engines.grouped import Kept, LazyTable

_WAITING: Final = 2**22
# Rows that wait before some are left out: of a table in memory, and of one in blocks.
_WAITING_PIECES: Final = 2**18
_PICKING: Final = "the rows of a column could not be picked"


@attrs.define(eq=False, repr=False)
class Choice(ABC):
    """A choice among the rows that were read so far.

    The first columns of a block say which rows pass the filters. The others tell the rows apart.

    Attributes:
        rule: How rows are chosen.
        seen: How many rows were read.
    """

    rule: Rule
    seen: int = attrs.field(default=0, init=False)

    def met(self, block: fold.Floats) -> source.Places:
        """Takes a block; gives the places in the data of the rows that may be chosen."""
        filters = self.rule.filters
        told = block[:, len(filters) : len(self.rule.columns)]
        stays = self.is_told(told)
        for column, kept in enumerate(filters):
            stays[~kept.test(block[:, column])] = False
        inside = np.flatnonzero(stays)
        inside = inside[self.may_stay(told[inside], inside + self.seen)]
        places = inside + self.seen
        self.seen += len(block)
        return places

    def is_told(self, told: fold.Floats) -> NDArray[np.bool_]:
        """In which rows all is there that the choice looks at."""
        found: NDArray[np.bool_] = np.logical_and.reduce(~np.isnan(told), axis=1)
        return found

    @abstractmethod
    def may_stay(self, told: fold.Floats, places: source.Places) -> NDArray[np.bool_]:
        """Which of some rows may be chosen.

        Args:
            told: What the choice looks at in each.
            places: Where each is in the data.
        """

    def full(self, room: int) -> bool:
        """Whether it is time to leave out some rows that may have been chosen."""
        return False

    @abstractmethod
    def settle(self) -> source.Places:
        """Leaves out the rows that are too many; gives the places of the others, rising."""

    def finish(self) -> source.Places:
        """The places of the chosen rows, rising, once all were read."""
        return self.settle()


def _choose_here(table: LazyTable, rule: Rule, keys: source.Keys) -> LazyTable:
    """A table with the chosen rows alone, chosen now in one pass.

    Of a table in memory the places of the rows are held, and of blocks copies of them.
    """
    dataset, choice = table.dataset, rule.here(keys)
    whole = dataset.whole
    source.require_here(table.library, rule.step, rule.instead)
    with source.QUIET, np.errstate(all="ignore"):
        if isinstance(whole, NamedColumns | arrays.ArrayRows):
            here = _as_table(whole, dataset.titles)
            places = _in_memory(choice, here, dataset.size)
            kept: Blocks | NamedColumns = type(here)(
                here.names, lambda place: _pick(here, place, places), len(places)
            )
        elif isinstance(whole, sparse.SparseMatrix):
            raise DataError(f"{rule.what} are not picked from a sparse matrix; give a table")
        else:
            if isinstance(whole, source.Source):
                whole = Blocks(whole.blocks, None, names=whole.names)
            pieces = Unchosen.of(whole, table, rule.columns).by(choice, dataset.size)
            chosen = choice.finish()
            kept = _tables_of([piece.among(chosen) for piece in pieces])
    return _with_rows(table, kept)


def _with_rows(table: LazyTable, kept: Blocks | NamedColumns) -> LazyTable:
    """A table that reads these rows, all of which passed its filters."""
    return attrs.evolve(table, dataset=Dataset(kept, table.dataset.declared, None), filters=())


def _as_table(whole: source.Source | NamedColumns, declared: Names | None) -> NamedColumns:
    """An array as columns, each with the type that it has: as floats two long ids may be one."""
    if isinstance(whole, NamedColumns):
        return whole
    if isinstance(whole, arrays.ArrayRows):
        rows = whole.rows
        return NamedColumns(declared or (), lambda place: rows[:, place], len(rows))
    blocks = [np.array(block) for block in open_data.read(whole) if len(block)]
    rows = np.concatenate([np.empty((0, len(declared or ()))), *blocks])
    return NamedColumns(declared or (), lambda place: rows[:, place], len(rows))


def _in_memory(choice: Choice, table: NamedColumns, size: int | None) -> source.Places:
    """The places of the chosen rows of a table in memory."""
    words = "the columns of the table could not be read"
    columns = choice.rule.columns
    rows: source.Source = source.attempt(partial(table.rows, columns), words)
    for block in open_data.read(open_data.check_size(rows, len(columns), size)):
        choice.met(block)
        if choice.full(_WAITING):
            choice.settle()
    return choice.finish()


@attrs.frozen(eq=False, repr=False)
class Piece:
    """Copies of some rows, and their places in the data, for a table of some kind."""

    table: type[NamedColumns]
    names: tuple[str, ...]
    held: tuple[object, ...]
    places: source.Places

    def among(self, chosen: source.Places) -> Piece:
        """The rows that are chosen."""
        return self.where(np.isin(self.places, chosen))

    def where(self, stays: NDArray[np.bool_]) -> Piece:
        """Some of the rows."""
        if stays.all():
            return self
        inside = np.flatnonzero(stays)
        held = tuple(_take(column, inside) for column in self.held)
        return Piece(self.table, self.names, held, self.places[inside])


def _tables_of(pieces: Sequence[Piece]) -> Blocks:
    """The rows of some pieces, as blocks."""
    tables = [each.table(each.names, each.held.__getitem__, len(each.places)) for each in pieces]
    return Blocks(lambda: tables, columns=None)


def _pick(table: NamedColumns, place: int, places: source.Places) -> Any:
    """Some rows of a column, which is refused where it is not as long as the table."""
    column = table.column(place)
    if source.attempt(partial(len, column), _PICKING) != table.size:
        raise DataError("the columns of the table differ in length")
    return _take(column, places)


def _take(column: Any, places: source.Places) -> Any:
    open_data.register_libraries(type(column))
    return source.attempt(partial(take, column, places), _PICKING)


@attrs.frozen(eq=False, repr=False)
class Unchosen:
    """Blocks of a table of which some rows are to be chosen.

    Attributes:
        given: The blocks.
        declared: The names of all columns, where the space or the blocks declare them.
        wanted: The names of the columns that are read later; None for all.
        part: As that of a ``Source``.
    """

    given: Blocks
    declared: Names | None
    wanted: Names | None
    part: int | None = None

    @classmethod
    def of(cls, blocks: Blocks, table: LazyTable, columns: Sequence[Column]) -> Unchosen:
        """The blocks of a table, for a choice that reads these columns."""
        declared = table.dataset.titles
        blocks.require(columns, declared)
        later = [Column(name, PRESENCE) for name in table.names or (None,)]
        return cls(blocks.only([*columns, *later]), declared, table.names)

    def by(self, choice: Choice, size: int | None) -> list[Piece]:
        """Those that may be chosen, once all rows were read."""
        pieces: list[Piece] = []
        start = choice.seen

        def rows_of(block: object) -> source.RowBlocks:
            return open_data.guard(partial(self._choose_from, block, choice, pieces))

        for _ in open_data.guard(partial(self.given.rows_by, rows_of)):
            pass
        open_data.require_size(choice.seen - start, size)
        return pieces

    def _choose_from(self, block: object, choice: Choice, pieces: list[Piece]) -> source.RowBlocks:
        """Goes through a block, of which it copies the rows that may be chosen.

        A block is the person's own, who may fill it anew for the next one. Read again, the blocks
        might come in another order. A block of which no row is chosen stays, without rows: a
        refusal of one of its columns must not tell that one was.
        """
        dataset = Dataset(block, self.declared, None)
        whole = dataset.whole
        if isinstance(whole, Blocks):
            within = attrs.evolve(self, declared=dataset.titles)
            yield from whole.rows_by(lambda each: within._choose_from(each, choice, pieces))
            return
        table = _as_table(whole, self.declared)
        start, found = choice.seen, []
        for rows in open_data.read(table.rows(choice.rule.columns)):
            found.append(choice.met(rows))
            yield rows[:, :1]
        places = np.concatenate([np.empty(0, dtype=np.int64), *found])
        names = tuple(map(str, table.names))
        wanted = [
            place for place, name in enumerate(names) if self.wanted is None or name in self.wanted
        ]
        held = tuple(_pick(table, place, places - start) for place in wanted)
        pieces.append(Piece(type(table), tuple(names[place] for place in wanted), held, places))
        if choice.full(_WAITING_PIECES):
            chosen = choice.settle()
            pieces[:] = [piece.among(chosen) for piece in pieces]


@attrs.frozen(eq=False, repr=False)
class ChosenPart:
    """The rows of a part that may be chosen, as they travel.

    Attributes:
        pieces: The rows.
        seen: How many were read.
        text: Whether the ids are text, of each part that says so.
    """

    pieces: tuple[Piece, ...]
    seen: int
    text: frozenset[bool]

    def merge(self, other: ChosenPart) -> ChosenPart:
        """Those of both."""
        return attrs.evolve(
            self,
            pieces=self.pieces + other.pieces,
            seen=self.seen + other.seen,
            text=self.text | other.text,
        )

    def finish(self, keys: source.Keys) -> Sequence[Piece]:
        """The rows that are chosen, once all parts are merged."""
        return self.pieces


class Rule(ABC):
    """How rows are chosen. It can be sent to other machines.

    Attributes:
        step: Its name, for refusals.
        what: What is chosen, for a refusal.
        instead: What to type where rows may not fit into memory.
        filters: Those of the table. What does not pass them is never chosen.
    """

    step: ClassVar[str]
    what: ClassVar[str]
    instead: ClassVar[str]
    filters: tuple[Kept, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """What is to be read."""
        return (*(kept.column for kept in self.filters), *self.criteria)

    @property
    @abstractmethod
    def criteria(self) -> tuple[Column, ...]:
        """What else the rule looks at; ids come first."""

    @abstractmethod
    def here(self, keys: source.Keys) -> Choice:
        """The choice among rows that are read in this process."""

    @abstractmethod
    def there(self, keys: source.Keys, secret: least_rows.SecretWords) -> Choice:
        """The choice among the rows of a part, which has words of its own."""

    @abstractmethod
    def part(self, choice: Choice, pieces: Sequence[Piece], seen: int) -> ChosenPart:
        """What travels of a part."""


def choose_rows(table: LazyTable, rule: Rule, keys: source.Keys) -> LazyTable:
    """A table with the rows that a rule chooses, chosen now in one pass.

    The chosen rows of a table on other machines come here.

    Args:
        table: Any rows.
        rule: How they are chosen.
        keys: Independent random words of the release.
    """
    dataset = table.dataset
    whole = dataset.whole
    if not isinstance(whole, Blocks) or not whole.library:
        return _choose_here(table, rule, keys)
    with source.QUIET:
        rows = Unchosen.of(whole, table, rule.columns)
        job = partial(_choose_of_part, rule, least_rows.SecretWords.of(keys))
        found: ChosenPart = rows.given.summary(rows, job, _merge)
        open_data.require_size(found.seen, dataset.size)
        if len(found.text) > 1:
            raise DataError(f"column {rule.criteria[0].name!r}: {identities.MIXED}")
        pieces = found.finish(keys)
    return _with_rows(table, _tables_of(pieces))


def _merge(first: ChosenPart, second: ChosenPart) -> ChosenPart:
    return first.merge(second)


def _choose_of_part(rule: Rule, secret: least_rows.SecretWords, rows: Unchosen) -> ChosenPart:
    """The rows of a part that may be chosen."""
    choice = rule.there(secret.of_rows(rows.part, rule.step), secret)
    choice.seen = start = source.first_place(rows.part)
    with np.errstate(all="ignore"):
        pieces = rows.by(choice, None)
        stay = choice.settle()
    return rule.part(choice, [piece.among(stay) for piece in pieces], choice.seen - start)

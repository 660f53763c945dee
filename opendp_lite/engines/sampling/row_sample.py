"""A random sample of rows or of people, chosen once for all that reads it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial, singledispatch
from typing import Any, ClassVar, Final, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.identities import Identities
from opendp_lite.engines.data.least_rows import Keys, Places, SecretWords, Words
from opendp_lite.engines.data.source import Source, first_place, quiet_for, reduce
from opendp_lite.engines.data.sparse import RowBlock, SparseRows, apply_block
from opendp_lite.engines.data.table import Column
from opendp_lite.engines.grouped import Kept, LazyTable
from opendp_lite.engines.rows import LazyRows, Part, from_blocks
from opendp_lite.engines.sampling.chosen_rows import Choice, ChosenPart, Piece, Rule, choose_rows

_STEP: Final = "sample"
Toss = Callable[[Collection[float]], NDArray[np.bool_]]
"""An independent coin for each of some rows or people; heads is in the sample."""


class KeyedCoins(Protocol):
    """So many independent coins, tossed with random words."""

    def __call__(self, count: int, keys: Keys) -> NDArray[np.bool_]: ...


@singledispatch
def row_sample(rows: Any, coins: KeyedCoins, keys: Keys, person: str | None = None) -> Any:
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
    if rows.source.library:
        job = _SampleOfPart(rows.functions, coins, SecretWords.of(keys))
        with quiet_for(rows.source):
            held = reduce(rows.source, job, operator.add)
    else:
        held = _in_sample(rows, coins, keys)
    return LazyRows(_Sampled(tuple(held)), keys=rows.keys)


@row_sample.register
def _of_table(
    rows: LazyTable, coins: KeyedCoins, keys: Keys, person: str | None = None
) -> LazyTable:
    return choose_rows(rows, _ByCoins(rows.filters, coins, person), keys)


def _in_sample(rows: LazyRows, coins: KeyedCoins, keys: Keys) -> list[Floats | SparseRows]:
    return from_blocks(
        rows, lambda block: apply_block(block, _KeepChosen(coins(len(block), keys)), _STEP)
    )


@attrs.frozen(eq=False, repr=False)
class _SampleOfPart:
    """The job for a part of the rows on other machines: its rows in the sample."""

    functions: tuple[Part, ...]
    coins: KeyedCoins
    secret: SecretWords

    def __call__(self, source: Source) -> list[Floats | SparseRows]:
        keys = self.secret.of_rows(source, _STEP)
        return _in_sample(LazyRows(source, self.functions), self.coins, keys)


@attrs.frozen(eq=False, repr=False)
class _ByCoins(Rule):
    """Each row by a coin of its own, or all rows of a person by one coin."""

    step: ClassVar[str] = _STEP
    what: ClassVar[str] = "the rows of a sample"
    instead: ClassVar[str] = "release from all rows, without dp.combinators.sample"

    filters: tuple[Kept, ...]
    coins: KeyedCoins
    person: str | None
    people: Identities = attrs.field(factory=Identities, init=False)

    @property
    def criteria(self) -> tuple[Column, ...]:
        return () if self.person is None else (Column(self.person, self.people),)

    def here(self, keys: Keys) -> Choice:
        return _CoinChoice(self, lambda those: self.coins(len(those), keys))

    def there(self, keys: Keys, secret: SecretWords) -> Choice:
        """Tosses the same coin for a person in each part."""
        if self.person is None:
            return self.here(keys)

        def toss(ids: Collection[float]) -> NDArray[np.bool_]:
            return self.coins(len(ids), secret.of_names(self.people.names(list(map(int, ids)))))

        return _CoinChoice(self, toss)

    def part(self, choice: Choice, pieces: Sequence[Piece], seen: int) -> ChosenPart:
        return ChosenPart(tuple(pieces), seen, self.people.text)


@attrs.frozen(eq=False, repr=False)
class _KeepChosen:
    """A block function that keeps some rows of one block, as copies."""

    chosen: NDArray[np.bool_]

    def __call__(self, block: Floats) -> Floats:
        return block[self.chosen]

    def on_sparse_rows(self, rows: SparseRows) -> SparseRows:
        return rows.only(self.chosen)


@attrs.frozen(eq=False, repr=False)
class _Sampled(Source):
    """Blocks that are held in memory."""

    held: tuple[Floats | SparseRows, ...]

    @property
    def columns(self) -> int | None:
        return self.held[0].shape[1] if self.held else None

    @property
    def plain(self) -> bool:
        return True

    def blocks(self) -> Iterator[Floats | SparseRows]:
        return iter(self.held)


@attrs.define(eq=False, repr=False)
class _CoinChoice(Choice):
    """Rows by coins: a coin for each row, or for each person, tossed when the first row comes."""

    toss: Toss
    _people: dict[float, bool] = attrs.field(factory=dict, init=False)
    _places: list[Places] = attrs.field(factory=list, init=False)

    def may_stay(self, told: Floats, places: Places) -> NDArray[np.bool_]:
        found = self._of_people(told[:, 0]) if self.rule.criteria else self.toss(places)
        self._places.append(places[found])
        return found

    def _of_people(self, ids: Floats) -> NDArray[np.bool_]:
        people, places = np.unique(ids, return_inverse=True)
        listed = people.tolist()
        fresh = [person for person in listed if person not in self._people]
        self._people.update(zip(fresh, self.toss(fresh).tolist(), strict=True))
        heads = np.fromiter(map(self._people.__getitem__, listed), np.bool_, len(listed))
        found: NDArray[np.bool_] = heads[places.reshape(-1)]
        return found

    def settle(self) -> Places:
        return np.concatenate([np.empty(0, dtype=np.int64), *self._places])


# Entries that wait before rows are left out.
_WAITING: Final = 2**18


def rows_of_size(rows: LazyRows, most: int, columns: int, keys: Keys, step: str) -> Floats:
    """The rows with the least keys, so many of them, or all where there are fewer.

    Args:
        rows: Rows on other machines.
        most: How many are kept.
        columns: How many columns they have.
        keys: Independent random words of the release.
        step: Its name, for a refusal.
    """
    job = _LeastOfPart(rows.functions, most, columns, SecretWords.of(keys), step)
    with quiet_for(rows.source):
        found: _KeyedRows = reduce(rows.source, job, partial(_keep_least, most))
    return found.rows


@attrs.frozen(eq=False, repr=False)
class _KeyedRows:
    """Rows with their keys, and their places in the data."""

    words: Words
    places: Places
    rows: Floats


def _keep_least(most: int, *several: _KeyedRows) -> _KeyedRows:
    """So many rows, those with the least keys of several, in the order in which they came.

    Keys that are equal, once in 2^64 pairs, are ordered by the places of their rows.
    """
    words = np.concatenate([each.words for each in several])
    places = np.concatenate([each.places for each in several])
    rows = np.concatenate([each.rows for each in several])
    stay = np.sort(np.lexsort((places, words))[:most])
    return _KeyedRows(words[stay], places[stay], rows[stay])


@attrs.frozen(eq=False, repr=False)
class _LeastOfPart:
    """The job for a part of the rows."""

    functions: tuple[Part, ...]
    most: int
    columns: int
    secret: SecretWords
    step: str

    def __call__(self, source: Source) -> _KeyedRows:
        nothing = np.empty(0, dtype=np.int64)
        none = _KeyedRows(nothing.astype(np.uint64), nothing, np.empty((0, self.columns)))
        keys = self.secret.of_rows(source, self.step)
        least = _LeastSoFar(self.most, keys, first_place(source), none)
        from_blocks(LazyRows(source, self.functions), least.add)
        return least.settle()


@attrs.define(eq=False, repr=False)
class _LeastSoFar:
    """The rows with the least keys of those that came."""

    most: int
    keys: Keys
    place: int
    least: _KeyedRows
    waiting: list[_KeyedRows] = attrs.field(factory=list, init=False)
    entries: int = attrs.field(default=0, init=False)

    def add(self, block: RowBlock) -> None:
        """Takes a block; rows are left out once as many wait as are kept."""
        rows = np.array(block)
        places = np.arange(self.place, self.place + len(rows))
        self.place += len(rows)
        fresh = _KeyedRows(self.keys(places), places, rows)
        if len(self.least.words) == self.most:
            # A key above the greatest that is kept can no longer be among the least.
            low = fresh.words <= self.least.words.max()
            fresh = _KeyedRows(fresh.words[low], places[low], rows[low])
        self.waiting.append(fresh)
        self.entries += fresh.rows.size
        if self.entries > max(_WAITING, self.least.rows.size):
            self.settle()

    def settle(self) -> _KeyedRows:
        """Leaves out the rows that are too many."""
        self.least = _keep_least(self.most, self.least, *self.waiting)
        self.waiting.clear()
        self.entries = 0
        return self.least

"""A random sample of rows or of people, chosen once for all that reads it."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial, singledispatch
from typing import Any, ClassVar, Final, Protocol, cast

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

_WHOLE: Final = "release from all rows, without dp.combinators.sample"
_STEP: Final = "sample"
Toss = Callable[[int], NDArray[np.bool_]]
"""So many independent coins; heads is in the sample."""


class KeyedCoins(Protocol):
    """The same, tossed with random words."""

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
        held = _in_sample(rows, partial(coins, keys=keys))
    return LazyRows(_Sampled(tuple(held)), keys=rows.keys)


@row_sample.register
def _of_table(
    rows: LazyTable, coins: KeyedCoins, keys: Keys, person: str | None = None
) -> LazyTable:
    if person is None:
        return choose_rows(rows, _EachRow(rows.filters, coins), keys)
    return choose_rows(rows, _EachPerson(rows.filters, coins, Column(person, Identities())), keys)


def _in_sample(rows: LazyRows, toss: Toss) -> list[Any]:
    return from_blocks(rows, lambda block: apply_block(block, _KeepChosen(toss(len(block))), _STEP))


@attrs.frozen(eq=False, repr=False)
class _SampleOfPart:
    """The job for a part of the rows on other machines: its rows in the sample."""

    functions: tuple[Part, ...]
    coins: KeyedCoins
    secret: SecretWords

    def __call__(self, source: Source) -> list[Any]:
        keys = self.secret.of_rows(source, _STEP)
        return _in_sample(LazyRows(source, self.functions), partial(self.coins, keys=keys))


@attrs.frozen(eq=False, repr=False)
class _EachRow(Rule):
    """Each row by a coin of its own."""

    step: ClassVar[str] = _STEP

    filters: tuple[Kept, ...]
    coins: KeyedCoins

    @property
    def told(self) -> tuple[Column, ...]:
        return ()

    def here(self, keys: Keys) -> Choice:
        return _RowChoice(self.filters, self.told, partial(self.coins, keys=keys))

    def there(self, keys: Keys, secret: SecretWords) -> Choice:
        return self.here(keys)

    def sent(self, choice: Choice, pieces: Sequence[Piece], seen: int) -> ChosenPart:
        return ChosenPart(tuple(pieces), seen, frozenset())


@attrs.frozen(eq=False, repr=False)
class _EachPerson(Rule):
    """All rows of a person by one coin."""

    step: ClassVar[str] = _STEP

    filters: tuple[Kept, ...]
    coins: KeyedCoins
    person: Column

    @property
    def told(self) -> tuple[Column, ...]:
        return (self.person,)

    @property
    def people(self) -> Identities:
        """The ids that were met."""
        return cast(Identities, self.person.reading)

    def here(self, keys: Keys) -> Choice:
        return _PersonChoice(self.filters, self.told, partial(self._tossed, keys))

    def there(self, keys: Keys, secret: SecretWords) -> Choice:
        """Tosses the same coin for a person in each part."""
        return _PersonChoice(self.filters, self.told, partial(self._tossed_by_id, secret))

    def sent(self, choice: Choice, pieces: Sequence[Piece], seen: int) -> ChosenPart:
        return ChosenPart(tuple(pieces), seen, self.people.text)

    def _tossed(self, keys: Keys, people: Sequence[float]) -> NDArray[np.bool_]:
        return self.coins(len(people), keys)

    def _tossed_by_id(self, secret: SecretWords, people: Sequence[float]) -> NDArray[np.bool_]:
        return self.coins(len(people), secret.of_names(self.people.names(list(map(int, people)))))


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

    held: tuple[Any, ...]

    @property
    def columns(self) -> int | None:
        return self.held[0].shape[1] if self.held else None

    @property
    def plain(self) -> bool:
        return True

    def blocks(self) -> Iterator[Any]:
        return iter(self.held)


@attrs.define(eq=False, repr=False)
class _CoinChoice(Choice):
    """Rows by coins."""

    what: ClassVar[str] = "the rows of a sample"
    step: ClassVar[str] = _STEP
    instead: ClassVar[str] = _WHOLE

    _places: list[Places] = attrs.field(factory=list, init=False)

    @abstractmethod
    def heads(self, told: Floats) -> NDArray[np.bool_]:
        """Which rows are in the sample."""

    def may_stay(self, told: Floats, places: Places) -> NDArray[np.bool_]:
        found = self.heads(told)
        self._places.append(places[found])
        return found

    def settle(self) -> Places:
        return np.concatenate([np.empty(0, dtype=np.int64), *self._places])


@attrs.define(eq=False, repr=False)
class _RowChoice(_CoinChoice):
    """Each row by its own coin."""

    toss: Toss

    def heads(self, told: Floats) -> NDArray[np.bool_]:
        return self.toss(len(told))


@attrs.define(eq=False, repr=False)
class _PersonChoice(_CoinChoice):
    """All rows of a person by one coin, tossed when the first of them comes."""

    toss: Callable[[Sequence[float]], NDArray[np.bool_]]
    _tossed: dict[float, bool] = attrs.field(factory=dict, init=False)

    def heads(self, told: Floats) -> NDArray[np.bool_]:
        people, places = np.unique(told[:, 0], return_inverse=True)
        listed = people.tolist()
        fresh = [person for person in listed if person not in self._tossed]
        self._tossed.update(zip(fresh, self.toss(fresh).tolist(), strict=True))
        chosen = np.fromiter(map(self._tossed.__getitem__, listed), np.bool_, len(listed))
        found: NDArray[np.bool_] = chosen[places.reshape(-1)]
        return found


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
        found: _KeyedRows = reduce(rows.source, job, _merge)
    return found.rows


@attrs.frozen(eq=False, repr=False)
class _KeyedRows:
    """Rows with their keys, of which so many are kept.

    Keys that are equal, once in 2^64 pairs, are ordered by the places of their rows.
    """

    most: int
    words: Words
    places: Places
    rows: Floats

    def least(self) -> _KeyedRows:
        """Those with the least keys."""
        if len(self.words) <= self.most:
            return self
        greatest = np.partition(self.words, self.most - 1)[self.most - 1]
        stays = self.words < greatest
        level = np.flatnonzero(self.words == greatest)
        first = np.argsort(self.places[level])[: self.most - np.count_nonzero(stays)]
        stays[level[first]] = True
        return _KeyedRows(self.most, self.words[stays], self.places[stays], self.rows[stays])


def _merge(first: _KeyedRows, second: _KeyedRows) -> _KeyedRows:
    return _join([first, second]).least()


def _join(all_rows: list[_KeyedRows]) -> _KeyedRows:
    return _KeyedRows(
        all_rows[0].most,
        np.concatenate([each.words for each in all_rows]),
        np.concatenate([each.places for each in all_rows]),
        np.concatenate([each.rows for each in all_rows]),
    )


@attrs.frozen(eq=False, repr=False)
class _LeastOfPart:
    """The job for a part of the rows."""

    functions: tuple[Part, ...]
    most: int
    columns: int
    secret: SecretWords
    step: str

    def __call__(self, source: Source) -> _KeyedRows:
        keys = self.secret.of_rows(source, self.step)
        kept = _LeastSoFar(self._none(), keys, first_place(source))
        from_blocks(LazyRows(source, self.functions), kept.add)
        return kept.settled()

    def _none(self) -> _KeyedRows:
        nothing = np.empty(0, dtype=np.int64)
        rows = np.empty((0, self.columns))
        return _KeyedRows(self.most, nothing.astype(np.uint64), nothing, rows)


@attrs.define(eq=False, repr=False)
class _LeastSoFar:
    """The rows with the least keys of those that came."""

    kept: _KeyedRows
    keys: Keys
    place: int
    waiting: list[_KeyedRows] = attrs.field(factory=list, init=False)
    entries: int = attrs.field(default=0, init=False)

    def add(self, block: RowBlock) -> None:
        """Takes a block; rows are left out once as many wait as are kept."""
        rows = np.array(block)
        places = np.arange(self.place, self.place + len(rows))
        self.place += len(rows)
        words = self.keys(places)
        stays = self._may_stay(words)
        self.waiting.append(_KeyedRows(self.kept.most, words[stays], places[stays], rows[stays]))
        self.entries += self.waiting[-1].rows.size
        if self.entries > max(_WAITING, self.kept.rows.size):
            self.settled()

    def settled(self) -> _KeyedRows:
        """Leaves out the rows that are too many."""
        self.kept = _join([self.kept, *self.waiting]).least()
        self.waiting.clear()
        self.entries = 0
        return self.kept

    def _may_stay(self, words: Words) -> NDArray[np.bool_]:
        """Which keys are no greater than the greatest that is kept."""
        if len(self.kept.words) < self.kept.most:
            return np.ones(len(words), dtype=np.bool_)
        found: NDArray[np.bool_] = words <= self.kept.words.max()
        return found

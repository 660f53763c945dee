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

from opendp_lite.engines.applied import applied
from opendp_lite.engines.chosen_parts import ChosenPart, Rule, chosen
from opendp_lite.engines.chosen_rows import Choice, Piece
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.identities import Identities
from opendp_lite.engines.lazy_table import Kept, LazyTable
from opendp_lite.engines.least_rows import Keys, Places
from opendp_lite.engines.quiet import quiet_for
from opendp_lite.engines.reduced import reduced
from opendp_lite.engines.rows import LazyRows, Part, from_blocks
from opendp_lite.engines.secret_words import SecretWords
from opendp_lite.engines.source import Source
from opendp_lite.engines.sparse import SparseRows
from opendp_lite.engines.table import Column

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
            held = reduced(rows.source, job, operator.add)
    else:
        held = _in_sample(rows, partial(coins, keys=keys))
    return LazyRows(_Sampled(tuple(held)), keys=rows.keys)


@row_sample.register
def _of_table(
    rows: LazyTable, coins: KeyedCoins, keys: Keys, person: str | None = None
) -> LazyTable:
    if person is None:
        return chosen(rows, _EachRow(rows.filters, coins), keys)
    return chosen(rows, _EachPerson(rows.filters, coins, Column(person, Identities())), keys)


def _in_sample(rows: LazyRows, toss: Toss) -> list[Any]:
    return from_blocks(rows, lambda block: applied(block, _KeepChosen(toss(len(block)))))


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

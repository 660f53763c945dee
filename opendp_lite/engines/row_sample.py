"""A random sample of rows or of people, chosen once for all that reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, singledispatch
from typing import Any, ClassVar, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.applied import applied
from opendp_lite.engines.chosen_rows import Choice, chosen_rows
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.identities import Identities
from opendp_lite.engines.lazy_table import LazyTable
from opendp_lite.engines.least_rows import Places
from opendp_lite.engines.rows import LazyRows, from_blocks
from opendp_lite.engines.source import Source, require_here
from opendp_lite.engines.sparse import SparseRows
from opendp_lite.engines.table import Column

_WHOLE: Final = "release from all rows, without dp.combinators.sample"
Coins = Callable[[int], NDArray[np.bool_]]
"""So many independent coins; heads is in the sample."""


@singledispatch
def row_sample(rows: Any, coins: Coins, person: str | None = None) -> Any:
    """The rows in a sample, chosen now in one pass, so that all that reads them reads the same.

    Each row is in it or not by a coin of its own. It is the row as it stands here: steps before
    may have left rows out, or made several of one.

    Args:
        rows: Any rows. Those of a table have passed its filters.
        coins: Where the choice comes from.
        person: The column of ids, where people are chosen with all of their rows. Rows without an
            id are left out.

    Returns:
        Rows of the same kind. Those of a table in memory are held by their places, and others as
        copies.
    """
    require_here(rows.source, _RowChoice.step, _RowChoice.instead)
    return LazyRows(_Sampled(tuple(from_blocks(rows, partial(_in_sample, coins=coins)))))


@row_sample.register
def _of_table(rows: LazyTable, coins: Coins, person: str | None = None) -> LazyTable:
    if person is None:
        return chosen_rows(rows, _RowChoice(rows.filters, (), coins))
    return chosen_rows(rows, _PersonChoice(rows.filters, (Column(person, Identities()),), coins))


def _in_sample(block: Any, coins: Coins) -> Any:
    return applied(block, _KeepChosen(coins(len(block))))


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
class _RowChoice(Choice):
    """Each row by its own coin."""

    what: ClassVar[str] = "the rows of a sample"
    step: ClassVar[str] = "sample"
    instead: ClassVar[str] = _WHOLE

    coins: Coins
    _places: list[Places] = attrs.field(factory=list, init=False)

    def may_stay(self, told: Floats, places: Places) -> NDArray[np.bool_]:
        found = self.heads(told)
        self._places.append(places[found])
        return found

    def heads(self, told: Floats) -> NDArray[np.bool_]:
        """Which rows are in the sample."""
        return self.coins(len(told))

    def settle(self) -> Places:
        return np.concatenate([np.empty(0, dtype=np.int64), *self._places])


@attrs.define(eq=False, repr=False)
class _PersonChoice(_RowChoice):
    """All rows of a person by one coin, tossed when the first of them comes."""

    _tossed: dict[float, bool] = attrs.field(factory=dict, init=False)

    def heads(self, told: Floats) -> NDArray[np.bool_]:
        people, places = np.unique(told[:, 0], return_inverse=True)
        listed = people.tolist()
        fresh = [person for person in listed if person not in self._tossed]
        self._tossed.update(zip(fresh, self.coins(len(fresh)).tolist(), strict=True))
        chosen = np.fromiter(map(self._tossed.__getitem__, listed), np.bool_, len(listed))
        found: NDArray[np.bool_] = chosen[places.reshape(-1)]
        return found

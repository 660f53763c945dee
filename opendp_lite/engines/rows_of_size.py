"""So many rows of a collection on other machines, chosen there by random keys."""

from __future__ import annotations

from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats
from opendp_lite.engines.least_rows import Keys, Places, Words
from opendp_lite.engines.quiet import quiet_for
from opendp_lite.engines.reduced import reduced
from opendp_lite.engines.rows import LazyRows, Part, from_blocks
from opendp_lite.engines.secret_words import SecretWords
from opendp_lite.engines.source import Source, first_place

_WAITING: Final = 2**18
"""Entries that wait before rows are left out."""


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
        found: _KeyedRows = reduced(rows.source, job, _merged)
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


def _merged(first: _KeyedRows, second: _KeyedRows) -> _KeyedRows:
    return _joined([first, second]).least()


def _joined(all_rows: list[_KeyedRows]) -> _KeyedRows:
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

    def add(self, block: Floats) -> None:
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
        self.kept = _joined([self.kept, *self.waiting]).least()
        self.waiting.clear()
        self.entries = 0
        return self.kept

    def _may_stay(self, words: Words) -> NDArray[np.bool_]:
        """Which keys are no greater than the greatest that is kept."""
        if len(self.kept.words) < self.kept.most:
            return np.ones(len(words), dtype=np.bool_)
        found: NDArray[np.bool_] = words <= self.kept.words.max()
        return found

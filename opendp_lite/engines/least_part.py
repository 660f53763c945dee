"""The rows with the least keys of each person, merged from parts that were read elsewhere."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.chosen_parts import ChosenPart
from opendp_lite.engines.chosen_rows import Piece
from opendp_lite.engines.least_rows import (
    Keys,
    LeastRows,
    Places,
    Words,
    by_place,
    first_ones,
    in_order,
    starts_of,
)


@attrs.frozen(eq=False, repr=False)
class Labels:
    """What each row belongs to: different values, and the place of each row's; below 0 is none."""

    values: Sequence[Hashable]
    codes: Places

    def joined(self, other: Labels) -> Labels:
        """Those of further rows behind these."""
        places = {value: place for place, value in enumerate(self.values)}
        for value in other.values:
            places.setdefault(value, len(places))
        table = np.array([*(places[value] for value in other.values), -1], dtype=np.int64)
        return Labels(list(places), np.concatenate([self.codes, table[other.codes]]))

    def only(self, kept: NDArray[np.bool_]) -> Labels:
        """Those of some of the rows."""
        return Labels(self.values, self.codes[kept]).used()

    def used(self) -> Labels:
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

    def merged(self, other: ChosenPart) -> ChosenPart:
        second, both = cast(LeastPart, other), cast(LeastPart, super().merged(other))
        labels = [one.joined(more) for one, more in zip(self.labels, second.labels, strict=True)]
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

    def ended(self, keys: Keys) -> Sequence[Piece]:
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
    starts = starts_of(told[order])
    least = LeastRows.of(most, keys, 1)
    first = np.flatnonzero(starts)
    least.add(told[order][first, :1], places[order][first])
    group = np.cumsum(starts) - 1
    places = places[order]
    chosen: Places = places[np.isin(places[first], least.places)[group]]
    return chosen

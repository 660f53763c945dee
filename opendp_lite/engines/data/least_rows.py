"""Some of the rows of each group, chosen by random keys as the rows come."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import shake_256
from itertools import count
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError
from opendp_lite.engines.data.source import Keys, Places, Words

_WORD: Final = 64
# Bits of a word that may tell groups apart. The others begin the key.
_MOST_SPAN: Final = 24


@attrs.define(eq=False)
class LeastRows:
    """The rows with the least keys of each group, so many of each.

    A key is an endless row of random bits, of which as many words are drawn as tell the rows of a
    group apart. So each choice is exactly as likely. A row that was left out can never come back,
    whatever comes later: what is held is all that matters.

    Attributes:
        most: How many rows of each group are kept.
        keys: Where random words come from.
        groups: What tells the groups apart: a whole number or several for each row.
        places: Where each row is in the data.
        words: Those of the key of each row, as many as were drawn.
    """

    most: int
    keys: Keys
    groups: Places
    places: Places = attrs.field(factory=lambda: np.empty(0, dtype=np.int64), init=False)
    words: Words = attrs.field(factory=lambda: np.empty((0, 1), dtype=np.uint64), init=False)

    @classmethod
    def of(cls, most: int, keys: Keys, columns: int) -> LeastRows:
        """No rows yet, of groups told apart by so many numbers."""
        return cls(most, keys, np.empty((0, columns), dtype=np.int64))

    def add(self, groups: Places, places: Places) -> None:
        """Takes further rows, and leaves out those that are too many of their group."""
        fresh = [self.keys(places) for _ in range(self.words.shape[1])]
        self.groups = np.concatenate([self.groups, groups])
        self.places = np.concatenate([self.places, places])
        self.words = np.concatenate([self.words, np.stack(fresh, axis=1)])
        order = self.order()
        order = order[first_ones(self.groups[order], self.most)]
        self.groups, self.places = self.groups[order], self.places[order]
        self.words = self.words[order]

    def order(self) -> NDArray[np.intp]:
        """By group, and by key within a group; more words are drawn while two rows are level."""
        order = in_order(self.groups, self.words)
        while _level(self.groups[order], self.words[order]):
            more = self.keys(self.places)
            self.words = np.column_stack([self.words, more])
            order = in_order(self.groups, self.words)
        return order


class LeastByPlace(LeastRows):
    """The same with keys of one word, for rows that are chosen in parts.

    Keys that are equal, once in 2^64 pairs, are ordered by the places of their rows. So a part of
    the rows is put into the same order as all of them.
    """

    def order(self) -> NDArray[np.intp]:
        return by_place(self.groups, self.words[:, 0], self.places)


def by_place(groups: Places, words: Words, places: Places) -> NDArray[np.intp]:
    """The order of rows by group, word and place."""
    return np.lexsort((places, words, *groups.T[::-1]))


def in_order(groups: Places, words: Words) -> NDArray[np.intp]:
    """The order of rows by group and words."""
    packed = _pack(groups, words)
    if packed is not None:
        order = np.argsort(packed)
        found = packed[order]
        if (found[1:] != found[:-1]).all():
            return order
    return np.lexsort((*words.T[::-1], *groups.T[::-1]))


def _pack(groups: Places, words: Words) -> Words | None:
    """A word for each row that has the order of the whole; None where groups lie far apart."""
    if not len(groups):
        return None
    low = groups.min(axis=0)
    spans = [int(high) - int(least) for high, least in zip(groups.max(axis=0), low, strict=True)]
    bits = sum(span.bit_length() for span in spans)
    if bits > _MOST_SPAN:
        return None
    found = np.zeros(len(groups), dtype=np.uint64)
    for column, span in enumerate(spans):
        found <<= np.uint64(span.bit_length())
        found |= (groups[:, column] - low[column]).astype(np.uint64)
    found <<= np.uint64(_WORD - bits - 1)
    found |= words[:, 0] >> np.uint64(bits + 1)
    return found


def first_ones(groups: Places, most: int) -> NDArray[np.bool_]:
    """Which rows are among the first so many of their group, where groups are in order."""
    found = np.ones(len(groups), dtype=np.bool_)
    if most < len(groups):
        found[most:] = (groups[most:] != groups[:-most]).any(axis=1)
    return found


def _level(groups: Places, words: Words) -> bool:
    """Whether two rows next to each other are of one group and have the same words."""
    same = (groups[1:] == groups[:-1]).all(axis=1)
    return bool((same & (words[1:] == words[:-1]).all(axis=1)).any())


_SEED_WORDS: Final = 4
_WORD_BYTES: Final = 8
# Words asked of the hash at a time.
_PIECE: Final = 2**12
_OF_PART, _OF_NAME = b"\0", b"\1"


@attrs.frozen(eq=False, repr=False)
class SecretWords:
    """Words that nobody without the secret can tell from random ones.

    They are SHAKE256 of the secret and of what they are for. So a part that is computed twice,
    because a worker died, is given the same words again. The secret is 256 bits, made for one use.
    """

    secret: bytes

    @classmethod
    def of(cls, keys: Keys) -> SecretWords:
        """Those of a new secret, drawn from random words."""
        return cls(np.ascontiguousarray(keys(np.arange(_SEED_WORDS))).tobytes())

    def of_rows(self, part: int | None, step: str) -> Keys:
        """Words for the rows of a part, in the order in which they come."""
        if part is None:
            raise DataError(
                f"{step} draws a random key for each row, and the engine that gives these rows "
                "does not say which part of them it gives; let their Source have a part"
            )
        return _stream(self.secret + _OF_PART + part.to_bytes(_WORD_BYTES, "little"))

    def of_names(self, names: Sequence[bytes]) -> Keys:
        """Words for each name, the same wherever it occurs; each call gives further ones."""
        ends = count(_WORD_BYTES, _WORD_BYTES)

        def words(places: Places) -> Words:
            end = next(ends)
            hashes = (shake_256(self.secret + _OF_NAME + names[place]) for place in places.tolist())
            return _words(b"".join(each.digest(end)[-_WORD_BYTES:] for each in hashes))

        return words


def _stream(prefix: bytes) -> Keys:
    """Words one after another, the same however many are asked for at a time."""
    numbers = count(1)
    left: Words = np.empty(0, dtype=np.uint64)

    def words(places: Places) -> Words:
        nonlocal left
        found = [left]
        for _ in range(0, len(places) - len(left), _PIECE):
            data = prefix + next(numbers).to_bytes(_WORD_BYTES, "little")
            found.append(_words(shake_256(data).digest(_WORD_BYTES * _PIECE)))
        whole = np.concatenate(found)
        left = whole[len(places) :]
        return whole[: len(places)]

    return words


def _words(digest: bytes) -> Words:
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64, copy=False)

"""Random words for rows on other machines, which follow from one secret of a release."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import shake_256
from typing import Final

import attrs
import numpy as np

from opendp_lite.engines.least_rows import Keys, Places, Words
from opendp_lite.engines.source import Source
from opendp_lite.errors import DataError

_SEED_WORDS: Final = 4
_WORD_BYTES: Final = 8
_PIECE: Final = 2**12
"""Words asked of the hash at a time."""
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

    def of_rows(self, source: Source, step: str) -> Keys:
        """Words for the rows of a part, in the order in which they come."""
        if source.part is None:
            raise DataError(
                f"{step} draws a random key for each row, and the engine that gives these rows "
                "does not say which part of them it gives; let their Source have a part"
            )
        return _Stream(self.secret + _OF_PART + source.part.to_bytes(_WORD_BYTES, "little"))

    def of_names(self, names: Sequence[bytes]) -> Keys:
        """Words for each name; the same wherever it occurs."""
        return _OfNames([self.secret + _OF_NAME + name for name in names])


class _Stream:
    """Words one after another, the same however many are asked for at a time."""

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        self._pieces = 0
        self._left: Words = np.empty(0, dtype=np.uint64)

    def __call__(self, places: Places) -> Words:
        lacking = len(places) - len(self._left)
        found = [self._left, *(self._piece() for _ in range(0, lacking, _PIECE))]
        words = np.concatenate(found)
        self._left = words[len(places) :]
        return words[: len(places)]

    def _piece(self) -> Words:
        self._pieces += 1
        data = self._prefix + self._pieces.to_bytes(_WORD_BYTES, "little")
        return _words(shake_256(data).digest(_WORD_BYTES * _PIECE))


class _OfNames:
    """A word for each of some names; each call gives further ones."""

    def __init__(self, names: Sequence[bytes]) -> None:
        self._names = names
        self._calls = 0

    def __call__(self, places: Places) -> Words:
        end = _WORD_BYTES * (self._calls + 1)
        names = map(self._names.__getitem__, places.tolist())
        digests = [shake_256(name).digest(end)[-_WORD_BYTES:] for name in names]
        self._calls += 1
        return _words(b"".join(digests))


def _words(digest: bytes) -> Words:
    return np.frombuffer(digest, dtype="<u8").astype(np.uint64, copy=False)

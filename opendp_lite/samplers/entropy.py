"""The one place where random bits come from."""

from __future__ import annotations

import os
import ssl
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_MIXED_BYTES = 32
_PIECE = 2**24
"""Words asked for at a time: OpenSSL takes no request of 2^31 bytes or more."""


class Entropy(ABC):
    """A source of uniform random 64-bit words."""

    @abstractmethod
    def words(self, count: int) -> Words:
        """So many words; the array may be read-only."""

    @abstractmethod
    def word(self) -> int:
        """One word."""


class SecureEntropy(Entropy):
    """OpenSSL's generator, with kernel entropy mixed in when it is made: once a release.

    No word is kept for later, so a forked process repeats nothing.
    """

    generator: ClassVar[str] = "OpenSSL's generator, with fresh bits of the kernel mixed in"

    def __init__(self) -> None:
        ssl.RAND_add(os.urandom(_MIXED_BYTES), float(_MIXED_BYTES))

    def words(self, count: int) -> Words:
        if count <= _PIECE:
            return np.frombuffer(ssl.RAND_bytes(8 * count), dtype=np.uint64)
        found = np.empty(count, dtype=np.uint64)
        for start in range(0, count, _PIECE):
            found[start : start + _PIECE] = self.words(min(_PIECE, count - start))
        return found

    def word(self) -> int:
        return int.from_bytes(ssl.RAND_bytes(8), "little")


class InsecureSeededEntropy(Entropy):
    """Words that anybody who knows the seed can repeat: for tests and teaching only."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def words(self, count: int) -> Words:
        return self._generator.integers(0, 2**64, count, dtype=np.uint64)

    def word(self) -> int:
        return int(self.words(1)[0])

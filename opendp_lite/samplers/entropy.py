"""The one place where random bits come from."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from importlib import import_module
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import SpaceError
from opendp_lite.base.frozen import IN_BROWSER, this_process

Words = NDArray[np.uint64]
# 256 bits, the strength of OpenSSL's generator: a restored copy of a machine draws other words.
_MIXED_BYTES = 32
# 64 words: for so few, a call of the kernel costs less than OpenSSL with its mixing.
_FEW_BYTES = 512
# Words asked for at a time: OpenSSL takes no request of 2^31 bytes or more.
_PIECE = 2**24
_OTHER: Final = (
    "a release goes on only in the process that began it. A fork of it would draw noise of its "
    "own, so that one price paid for two releases. Fork before the release, or after it"
)


class Entropy(ABC):
    """A source of uniform random 64-bit words."""

    @abstractmethod
    def words(self, count: int) -> Words:
        """So many words; the array may be read-only."""

    @abstractmethod
    def word(self) -> int:
        """One word."""


class SecureEntropy(Entropy):
    """The generators of the kernel and of OpenSSL, for one release.

    The kernel gives words where up to 64 are asked for at a time, which is faster for so few.
    OpenSSL gives them where more are. Before OpenSSL gives the first words of
    a release, fresh bits of the kernel are mixed in. In a browser all come from the browser's
    generator (``crypto.getRandomValues``), which is what ``os.urandom`` asks there.

    No word is kept for later, so a forked process repeats nothing. It gives words only in the
    process that made it: a function between two noises could fork, and the fork would release the
    second one again. The process is compared after the draw, so that no fork slips in between.
    """

    generator: ClassVar[str] = (
        "the browser's generator"
        if IN_BROWSER
        else "the kernel's generator, and from OpenSSL's with fresh bits of the kernel mixed in"
    )

    def __init__(self) -> None:
        self._process = this_process()
        self._is_mixed = False

    def words(self, count: int) -> Words:
        if count <= _PIECE:
            # Pyodide's ``ssl`` must be loaded first, and draws from the browser as this does.
            few = IN_BROWSER or 8 * count <= _FEW_BYTES
            drawn = os.urandom(8 * count) if few else self._many_bytes(8 * count)
            # After the draw, so that no fork slips in between: see the class.
            if this_process() != self._process:
                raise SpaceError(_OTHER)
            return np.frombuffer(drawn, dtype=np.uint64)
        found = np.empty(count, dtype=np.uint64)
        for start in range(0, count, _PIECE):
            found[start : start + _PIECE] = self.words(min(_PIECE, count - start))
        return found

    def word(self) -> int:
        drawn = os.urandom(8)
        if this_process() != self._process:
            raise SpaceError(_OTHER)
        return int.from_bytes(drawn, "little")

    def _many_bytes(self, count: int) -> bytes:
        # Imported only here: with its sockets it costs eight milliseconds, and few words need none.
        openssl = import_module("ssl")
        if not self._is_mixed:
            openssl.RAND_add(os.urandom(_MIXED_BYTES), float(_MIXED_BYTES))
            self._is_mixed = True
        return bytes(openssl.RAND_bytes(count))


class InsecureSeededEntropy(Entropy):
    """Words that anybody who knows the seed can repeat: for tests and teaching only."""

    def __init__(self, seed: int) -> None:
        self._bits = np.random.PCG64(seed)

    def words(self, count: int) -> Words:
        return self._bits.random_raw(count)

    def word(self) -> int:
        return int(self._bits.random_raw())

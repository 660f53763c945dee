"""Continuous noise with a random sign, rounded to a grid."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

import attrs

from opendp_lite.samplers._arrays import Numbers
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import LazyQuantile
from opendp_lite.samplers.law import Offsets
from opendp_lite.samplers.quantile_law import QuantileLaw
from opendp_lite.samplers.quantile_table import MASK, QuantileTable
from opendp_lite.samplers.signed import fill_signed, signed_floor


@attrs.frozen
class SignedLaw(QuantileLaw):
    """floor(v + s V + 1/2) for a symmetric V and a scale of s grid units.

    Error budget: the float of |V| is within 2^-40 of it, and at most 14. The scale as a float, the
    multiplication, the offset as a float, the addition and the edge round by at most 2^-53 of 14 s
    or of 14 s + 2 each. The margin, (s + 1) 2^-38, is three times as much or more.
    """

    size: ClassVar[type[LazyQuantile]]
    """|V|, known as precisely as a decision needs."""

    @staticmethod
    @abstractmethod
    def table() -> QuantileTable:
        """Of the quantile function of |V|."""

    def fill(self, out: Numbers, offsets: Offsets, entropy: Entropy) -> None:
        def exactly(position: int, word: int) -> int:
            return self._exactly(word, offsets.exactly(position), entropy)

        fill_signed(self.table(), self._factor, self._edge, offsets.floats, exactly, entropy, out)

    def one(self, inside: float, exactly: Callable[[], Fraction], entropy: Entropy) -> int:
        word = entropy.word()
        size = self.table().size(word)
        if size is not None:
            y = (-size if word > MASK else size) * self._factor + inside
            whole = round(y)
            if abs(y - whole) < self._edge:
                return whole
        return self._exactly(word, exactly(), entropy)

    def _exactly(self, word: int, offset: Fraction, entropy: Entropy) -> int:
        return signed_floor(self.size(word & MASK), self.scale, word, offset, entropy)

"""The length of a vector of standard normals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import fsum, inf, isqrt, sqrt

from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import STEP, Lazy
from opendp_lite.samplers.gamma import Gamma
from opendp_lite.samplers.normal import Normal, one_normal
from opendp_lite.samplers.quantile_table import ERROR


class Chi(Lazy):
    """The length of standard normals, some of them known: ``value``, within ``error`` of it.

    Its square Q is twice a sum of exponentials, one for every two normals that nobody asks for,
    plus the squares of the known ones. An error of |Z|, 2^-40, moves Z^2 by at most
    2^-39 (|Z| + 1).

    With Q known within e, the root moves by at most e / sqrt(Q) and by at most sqrt(e). Not
    counted are the four roundings, 2^-53 each, from the squares to the root.
    """

    def __init__(self, pairs: Gamma, known: Sequence[Normal]) -> None:
        self._pairs = pairs
        self._normals = known
        self._bounds: tuple[Fraction, Fraction] | None = None
        self.value, self.error = self._floats()

    @classmethod
    def of(cls, degrees: int, entropy: Entropy) -> Chi:
        """The length of so many standard normals, two or more."""
        pairs = Gamma(degrees // 2, entropy)
        return cls(pairs, [one_normal(entropy) for _ in range(degrees % 2)])

    def _floats(self) -> tuple[float, float]:
        sizes = [normal.size for normal in self._normals if normal.size is not None]
        if len(sizes) < len(self._normals) or self._pairs.error == inf:
            return 0.0, inf
        square = 2 * self._pairs.value + fsum([size * size for size in sizes])
        error = 2 * self._pairs.error + 2 * ERROR * (sum(sizes) + len(sizes))
        root = sqrt(square)
        return root, error / max(root, sqrt(error))

    def extend(self, entropy: Entropy) -> None:
        self._pairs.extend(entropy)
        for normal in self._normals:
            normal.exactly.extend(entropy)
        self._bounds = None

    def bracket(self) -> tuple[Fraction, Fraction] | None:
        if self._bounds is None:
            self._bounds = self._bracket()
        return self._bounds

    def _bracket(self) -> tuple[Fraction, Fraction] | None:
        square = self._pairs.bracket()
        if square is None:
            return None
        low, high = 2 * square[0], 2 * square[1]
        for normal in self._normals:
            size = normal.exactly.bracket()
            if size is None:
                return None
            low, high = low + size[0] * size[0], high + size[1] * size[1]
        fine = 1 << (self._pairs.bits + STEP)
        roots = (isqrt(int(square * fine * fine)) for square in (low, high))
        return Fraction(next(roots), fine), Fraction(next(roots) + 1, fine)

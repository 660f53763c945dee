"""The K-norm mechanism of the l2 ball, rounded to a grid."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.samplers.chi import Chi
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import Lazy
from opendp_lite.samplers.l2_gamma_error import L2GammaError
from opendp_lite.samplers.law import Noise, Offsets, grid_for, usable_scale
from opendp_lite.samplers.normal import LazyNormal
from opendp_lite.samplers.quantile_table import MARGIN, MASK, normal_table
from opendp_lite.samplers.signed import fill_signed, signed_floor

_REACH = 100


@attrs.frozen
class L2Gamma(Noise):
    """floor(v + z + 1/2), entry by entry, for z in R^d of density proportional to exp(-|z| / s).

    z = s X g for d standard normals g and the length X of d + 1 others: given X^2 = q, z has the
    density q^(-d/2) exp(-r^2 / 2 s^2 q) at the length r, and the integral of it over the density
    of q, q^((d-1)/2) exp(-q/2), is that of q^(-1/2) exp(-q/2 - r^2 / 2 s^2 q), proportional to
    exp(-r / s) (Andrews and Mallows 1974, where d is 1). No length is divided by.

    Error budget, for an entry whose normal is at most 5 as floats are: s X times the normal's
    2^-40; 5 s times the error of X; eight roundings, 2^-53 of s X 5 each, below s X 2^-47; and
    2^-52 for the offset. The margin, (s X + 1) 2^-38 + 100 s times the error of X, is three times
    as much or more. X is common to all entries, and what was drawn of it stays.

    Noise fits int64, as that of other laws does, for s of at most 2^50 / sqrt(d + 1).

    Proof:
        Rounding is post-processing of the K-norm mechanism on the reals (Hardt and Talwar 2010), so
        its pure loss, the l2 distance over s, holds exactly in any dimension.
    """

    scale: Fraction = attrs.field(validator=usable_scale)
    exponent: int
    margin: float = attrs.field(default=MARGIN, kw_only=True)

    @classmethod
    def near(cls, scale: Fraction, dimension: int) -> L2Gamma:
        """On the grid of which an entry's standard deviation is about 2^16 to 2^18 units."""
        root = isqrt(dimension + 1)
        units, exponent = grid_for(scale * root)
        return cls(units / root, exponent)

    def error_of_each(self, count: int) -> L2GammaError:
        unit = Fraction(2) ** self.exponent
        return L2GammaError(self.scale * unit, count, unit / 2)

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        usable_scale(self, None, self.scale * isqrt(count + 1))
        length = Chi.of(count + 1, entropy)
        scale = float(self.scale)
        factor = scale * length.value
        edge = 0.5 - self.margin * (factor + 1) - _REACH * scale * length.error

        def exactly(position: int, word: int) -> int:
            product = _Product(length, LazyNormal(word & MASK))
            return signed_floor(product, self.scale, word, offsets.exactly(position), entropy)

        found = np.empty(count, dtype=np.int64)
        fill_signed(normal_table(), factor, edge, offsets.floats, exactly, entropy, found)
        return found


@attrs.frozen
class _Product(Lazy):
    """The product of two variates that are at least 0."""

    first: Lazy
    second: Lazy

    def extend(self, entropy: Entropy) -> None:
        self.first.extend(entropy)
        self.second.extend(entropy)

    def bracket(self) -> tuple[Fraction, Fraction] | None:
        first, second = self.first.bracket(), self.second.bracket()
        if first is None or second is None:
            return None
        return first[0] * second[0], first[1] * second[1]

"""Sums of exponentials."""

from __future__ import annotations

from fractions import Fraction
from math import fsum, inf, prod

import numpy as np
from numpy.typing import NDArray

from opendp_lite.samplers import logarithm
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import STEP, Lazy, digits_for, minus_log
from opendp_lite.samplers.quantile_table import BITS

_FOLD = 16
"""Uniforms that are multiplied before a logarithm is taken: above 2^-1008, no float underflows."""
_ONE_SIGN = np.uint64(1)
_UNIT = 2.0**-BITS


class Gamma(Lazy):
    """The sum of so many standard exponentials: ``value``, within ``error`` of it.

    It is -ln of a product of uniforms, each t 2^-63 up to unread bits, which move it by at most
    the sum of all 1/t. For a product of 16 floats the conversions and multiplications move it by
    31 * 2^-53, and its logarithm by 2^-50, together below 2^-47; the logarithm by 2^-51 of itself,
    and the final sum by 2^-53.
    """

    def __init__(self, shape: int, entropy: Entropy) -> None:
        self._words = entropy.words(shape)
        self._known: list[int] = []
        self.bits = BITS
        self._bounds: tuple[Fraction, Fraction] | None = None
        self.value, self.error = self._floats()

    def _floats(self) -> tuple[float, float]:
        few = len(self._words) <= _FOLD
        total, unread = self._one_fold() if few else self._folds()
        if unread == inf:
            return 0.0, inf
        folds = -(-len(self._words) // _FOLD)
        return total, 1.01 * (unread + 2.0**-46 * total) + 2.0**-47 * folds

    def _one_fold(self) -> tuple[float, float]:
        """The sum, and by how much unread bits move it, without arrays."""
        tops = self._read()
        if 0 in tops:
            return 0.0, inf
        product = prod([top * _UNIT for top in tops])
        return logarithm.minus_log(product), fsum([1 / top for top in tops])

    def _folds(self) -> tuple[float, float]:
        folds = -(-len(self._words) // _FOLD)
        uniforms = np.ones(folds * _FOLD)
        top: NDArray[np.int64] = (self._words >> _ONE_SIGN).view(np.int64)
        np.multiply(top, _UNIT, out=uniforms[: len(top)])
        with np.errstate(divide="ignore"):
            products = np.multiply.reduce(uniforms.reshape(_FOLD, folds))
            unread = float(np.reciprocal(uniforms).sum()) * _UNIT
        return fsum(logarithm.minus_logs(products).tolist()), unread

    def extend(self, entropy: Entropy) -> None:
        more = entropy.words(len(self._words)).tolist()
        pairs = zip(self._read(), more, strict=True)
        self._known = [(known << STEP) | word for known, word in pairs]
        self.bits += STEP
        self._bounds = None

    def _read(self) -> list[int]:
        """What is known of the uniforms, in units of 2^-bits."""
        if not self._known:
            self._known = [word >> 1 for word in self._words.tolist()]
        return self._known

    def bracket(self) -> tuple[Fraction, Fraction] | None:
        if self._bounds is None:
            self._bounds = self._bracket()
        return self._bounds

    def _bracket(self) -> tuple[Fraction, Fraction] | None:
        """The product of the uniforms from below and above, cut to enough bits."""
        known, enough = self._read(), self.bits + STEP
        low, high, bits = 1, 1, self.bits * len(known)
        for start in range(0, len(known), _FOLD):
            fold = known[start : start + _FOLD]
            low *= prod(fold)
            high *= prod([each + 1 for each in fold])
            spare = max(0, high.bit_length() - enough)
            low, high, bits = low >> spare, -(-high >> spare), bits - spare
        if low == 0:
            return None
        digits = digits_for(self.bits)
        return max(_wide_log(high, bits, digits)[0], Fraction(0)), _wide_log(low, bits, digits)[1]


def _wide_log(numerator: int, bits: int, digits: int) -> tuple[Fraction, Fraction]:
    """As ``minus_log``, for so many bits that 2^bits is better left unwritten."""
    own = min(numerator.bit_length(), bits)
    first, halving = minus_log(numerator, own, digits), minus_log(1, 1, digits)
    return first[0] + (bits - own) * halving[0], first[1] + (bits - own) * halving[1]

"""Standard normals Z: |Z| is the quantile function Q of the normal's two tails at a uniform U."""

from __future__ import annotations

from fractions import Fraction
from math import exp, pi, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

from opendp_lite.exact import normal_tail
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import LazyQuantile, digits_for
from opendp_lite.samplers.quantile_table import ERROR, MASK, normal_table

_FLOAT_BITS: Final = 47
"""Bits after the point to which a float tells Q, and which a step of Newton's rule adds."""
_SPARE_BITS: Final = 40
_WIDER: Final = 16


class LazyNormal(LazyQuantile):
    """The size |Z| of one standard normal.

    ``normal_tail`` bounds P(Z > x) for a rational x, so it certifies on which side of Q(u) an x is.
    Floats and Newton's rule only propose what is certified.
    """

    @staticmethod
    def _least(numerator: int, bits: int) -> Fraction:
        whole, share = numerator >> bits, Fraction(numerator, 1 << bits)
        if whole:
            return Fraction(0)
        middle, apart = _near(share, bits)
        while (found := max(middle - apart, Fraction(0))) and (
            2 * normal_tail(found, digits_for(bits))[0] < share
        ):
            apart *= _WIDER
        return found

    @staticmethod
    def _most(numerator: int, bits: int) -> Fraction:
        share = Fraction(numerator, 1 << bits)
        middle, apart = _near(share, bits)
        while 2 * normal_tail(middle + apart, digits_for(bits))[1] > share:
            apart *= _WIDER
        return middle + apart


def _near(share: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """A number very probably near to Q(share), and how near."""
    start = max(-NormalDist().inv_cdf(float(share) / 2), 0.0)
    slope = Fraction(2 * exp(-start * start / 2) / sqrt(2 * pi))
    fine, found = 1 << (bits + _SPARE_BITS), Fraction(start)
    for _ in range((bits - 17) // _FLOAT_BITS):
        low, high = normal_tail(found, digits_for(bits))
        found = Fraction(round((found + (low + high - share) / slope) * fine), fine)
    return found, Fraction(1, 1 << max(_FLOAT_BITS, bits - 16))


class Normal(NamedTuple):
    """|Z| as a float within ``ERROR``, None where none is; whether Z > 0; |Z| exactly."""

    size: float | None
    positive: bool
    exactly: LazyNormal


def one_normal(entropy: Entropy) -> Normal:
    """One standard normal, without arrays.

    A word without a float is extended once: else all that shares this normal would be decided
    exactly, which takes a time that shows.
    """
    word = entropy.word()
    size, exactly = normal_table().size(word), LazyNormal(word & MASK)
    if size is None:
        exactly.extend(entropy)
        size = _float_of(exactly.bracket())
    return Normal(size, word <= MASK, exactly)


def _float_of(bounds: tuple[Fraction, Fraction] | None) -> float | None:
    """A float within half of ``ERROR`` of all between the bounds; None where there is none."""
    if bounds is None or 2 * (bounds[1] - bounds[0]) > ERROR:
        return None
    return float(bounds[0])

"""Noise of which a word makes one draw, by a table of a quantile function."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, erfc, exp, expm1, floor, log, pi, sqrt
from typing import ClassVar, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.numbers.exact import exp_down, log_up, nearest, normal_quantile_up
from opendp_lite.samplers import exact_reals, quantile_table
from opendp_lite.samplers.choice import exponential_bounds
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exact_reals import Lazy
from opendp_lite.samplers.lattice import Floats, LatticeValues
from opendp_lite.samplers.law import FEW_VALUES, Law, Offsets, fill, split_cell, usable_scale
from opendp_lite.samplers.quantile_table import MASK, exponential_table


@attrs.frozen
class QuantileLaw(Law):
    """A law with its scale as a float, and how near to a whole number a float decides."""

    scale: Fraction = attrs.field(validator=usable_scale)
    exponent: int
    margin: float = attrs.field(default=quantile_table.MARGIN, kw_only=True)

    @cached_property
    def _factor(self) -> float:
        return nearest(self.scale)

    @cached_property
    def _edge(self) -> float:
        # A boundary lies 1/2 from a whole number. The 1 beside the factor is for what rounds
        # absolutely (``SignedLaw``). From a scale of 2^37 on the edge is below 0: all is exact.
        return 0.5 - self.margin * (self._factor + 1)

    # What is added to each size before its sign is set. None where the sign comes first, and then
    # the place of the value in its cell is added.
    _shift: ClassVar[float | None] = None

    @staticmethod
    @abstractmethod
    def table() -> quantile_table.QuantileTable:
        """Of the quantile function of the sizes."""

    @abstractmethod
    def _exactly(self, word: int, offset: Fraction, entropy: Entropy) -> int:
        """The entry of a word that no float decides."""

    def draw(self, count: int, offsets: Offsets, entropy: Entropy) -> NDArray[np.int64]:
        if count <= FEW_VALUES:
            return self.few(count, offsets, entropy)
        found = np.empty(count, dtype=np.int64)
        self.fill(found, offsets, entropy)
        return found

    def fill(self, out: LatticeValues, offsets: Offsets, entropy: Entropy) -> None:
        def exactly(position: int, word: int) -> int:
            return self._exactly(word, offsets.exactly(position), entropy)

        inside = offsets.floats if self._shift is None else None
        law = self.table(), self._factor, self._edge
        fill(*law, inside, exactly, entropy, out, start=self._shift)

    def one(self, inside: float, exactly: Callable[[], Fraction], entropy: Entropy) -> int:
        word, shift = entropy.word(), self._shift
        size = self.table().size(word)
        if size is not None:
            # The operations of ``fill`` in its order, so a word makes the same noise.
            signed = -size if shift is None and word > MASK else size
            y = signed * self._factor + (inside if shift is None else shift)
            whole = round(y)
            if abs(y - whole) < self._edge:
                return -whole if shift is not None and word > MASK else whole
        return self._exactly(word, exactly(), entropy)


_HALF: Final = Fraction(1, 2)
# Beyond this scale, noise may lie beyond 2^53 steps, where floats are not all whole numbers.
_SCALE_OF_FLOATS: Final = 2**40


def signed_floor(size: Lazy, scale: Fraction, word: int, offset: Fraction, entropy: Entropy) -> int:
    """floor(+-scale V + offset + 1/2) for a size V, with the sign of a word."""
    return exact_reals.exact_floor(size, -scale if word > MASK else scale, offset + _HALF, entropy)


@attrs.frozen
class SignedLaw(QuantileLaw):
    """floor(v + s V + 1/2) for a symmetric V and a scale of s grid units.

    Error budget: the float of |V| is within 2^-40 of it, and at most 14. The scale as a float, the
    multiplication, the offset as a float, the addition and the edge round by at most 2^-53 of 14 s
    or of 14 s + 2 each. The margin, (s + 1) 2^-38, is three times as much or more.
    """

    size: ClassVar[type[exact_reals.LazyQuantile]]
    """|V|, known as precisely as a decision needs."""

    variance: ClassVar[int]
    """Of V."""

    @staticmethod
    @abstractmethod
    def quantile_up(miss: Fraction) -> Fraction:
        """A number that |V| exceeds with a probability of at most ``miss``."""

    def half_width(self, miss: Fraction) -> Fraction:
        """That of V, and half a step for the rounding."""
        return Fraction(2) ** self.exponent * (self.scale * self.quantile_up(miss) + _HALF)

    @property
    def standard_deviation(self) -> float:
        # Rounding adds 1/12 of a squared step, all but exactly where the scale is many steps.
        variance = self.variance * float(self.scale) ** 2 + 1 / 12
        return float(Fraction(2) ** self.exponent) * sqrt(variance)

    def release_floats(self, values: Floats, entropy: Entropy) -> Floats:
        """The only array of the values' length is the result.

        Up to ``_SCALE_OF_FLOATS`` the noise is far below 2^53 steps: a float sum is the exact one,
        rounded.
        """
        if len(values) <= FEW_VALUES or self.scale > _SCALE_OF_FLOATS:
            return super().release_floats(values, entropy)

        def exactly(position: int, word: int) -> float:
            whole, _, offset = split_cell(float(values[position]), self.exponent)
            return (whole + self._exactly(word, offset(), entropy)) * 2.0**self.exponent

        noisy, law = np.empty(len(values)), (self.table(), self._factor, self._edge)
        fill(*law, values, exactly, entropy, noisy, exponent=self.exponent)
        return noisy

    def _exactly(self, word: int, offset: Fraction, entropy: Entropy) -> int:
        return signed_floor(self.size(word & MASK), self.scale, word, offset, entropy)


# In narrower cells the difference of tails cancels, and the series is good to 2^-40.
_NARROW = 2.0**-10


@attrs.frozen
class RoundedGaussian(SignedLaw):
    """floor(v + s Z + 1/2) for a standard normal Z and a scale of s grid units.

    Proof:
        Rounding is post-processing of the Gaussian mechanism on the reals, so its zCDP and its
        exact (epsilon, delta) curve hold in any dimension.
    """

    kind = "Gaussian noise"
    size = exact_reals.LazyNormal
    table = staticmethod(quantile_table.normal_table)
    variance = 1
    quantile_up = staticmethod(normal_quantile_up)

    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        """A difference of two tails; for narrow cells the density times the width.

        The series has the next term too. What it leaves out is below 2^-40 of it up to |z| = 6, and
        below 2^-29 up to 38, where floats end.
        """
        width = 1 / float(self.scale)
        z = (steps - float(value)) / float(self.scale)
        if width > _NARROW:
            middle, half = np.abs(z), width / 2
            tails = [np.array([erfc(e / sqrt(2)) for e in middle + s * half]) for s in (-1, 1)]
            with np.errstate(divide="ignore"):
                mass: Floats = np.log((tails[0] - tails[1]) / 2)
            return mass
        bend = np.log1p((z * z - 1) * width * width / 24)
        return -z * z / 2 - log(sqrt(2 * pi)) + log(width) + bend


@attrs.frozen
class RoundedLaplace(SignedLaw):
    """floor(v + s L + 1/2) for a standard Laplace L and a scale of s grid units.

    Proof:
        Rounding is post-processing of the Laplace mechanism on the reals, so its pure loss holds
        exactly, for values on any grid or none.
    """

    kind = "Laplace noise"
    size = exact_reals.LazyExponential
    table = staticmethod(exponential_table)
    variance = 2

    @staticmethod
    def quantile_up(miss: Fraction) -> Fraction:
        return log_up(1 / miss)

    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        width = 1 / float(self.scale)
        centre = np.abs((steps - float(value)) / float(self.scale))
        low, high = centre - width / 2, centre + width / 2
        beside = -np.abs(low) - np.log(2) + np.log(-np.expm1(-width))
        across = np.log(-np.expm1(-np.abs(low)) / 2 - np.expm1(-high) / 2)
        # A cell across the middle has a part on either side of it.
        return np.where(low >= 0, beside, across)


# At a larger rate, expm1 overflows near 710; the deviation is below e^-299 there.
_NO_NOISE = 600


@attrs.frozen
class DiscreteLaplace(QuantileLaw):
    """v + N with P(N = k) proportional to exp(-|k| / t).

    The noise is k 2^exponent, so ``scale`` counts steps of 2^exponent.

    |N| = floor(t E + t c) for an exponential E and c = ln 2 / (1 + q), with q = exp(-1 / t): it is
    at least k >= 1 where E >= k / t - c, with probability 2 q^k / (1 + q). The sign is fair.

    Error budget: E is within 2^-40 of its float, which is at most 14, and t c within 2^-53. The
    scale as a float, the multiplication, the addition and the edge round by at most 2^-53 of 14 t
    or of 14 t + 1 each. The margin, (t + 1) 2^-38, is three times as much or more.

    Proof:
        On whole numbers it is the optimal noise for pure differential privacy (Ghosh,
        Roughgarden, Sundararajan 2009), with less variance than the rounded Laplace.
    """

    kind = "discrete Laplace noise"
    on_grid_only = True
    table = staticmethod(exponential_table)

    @cached_property
    def _shift(self) -> float:  # type: ignore[override]
        """t c - 1/2: to round with it is to take the floor of t (E + c), which is |N|."""
        low, high = _start(self.scale, quantile_table.BITS + exact_reals.STEP)
        return float(self.scale * (low + high) / 2 - _HALF)

    def _exactly(self, word: int, offset: Fraction, entropy: Entropy) -> int:
        later = _later(exact_reals.LazyExponential(word & MASK), self.scale)
        whole = exact_reals.exact_floor(later, self.scale, Fraction(0), entropy)
        return -whole if word > MASK else whole

    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        # Of an infinite rate no multiple by 0 would be a number.
        rate = min(nearest(1 / self.scale), sys.float_info.max)
        apart = np.abs(steps - float(value))
        found: Floats = np.log(np.tanh(rate / 2)) - apart * rate
        return found

    def half_width(self, miss: Fraction) -> Fraction:
        """The least k with P(|noise| > k) = 2 q^(k + 1) / (1 + q) <= miss for q = exp(-1 / t)."""
        # q from below and the logarithm from above: k is never too small.
        beyond = self.scale * log_up(2 / (miss * (1 + exp_down(-1 / self.scale))))
        return Fraction(2) ** self.exponent * max(ceil(beyond) - 1, 0)

    @property
    def standard_deviation(self) -> float:
        rate = nearest(1 / self.scale)
        spread = 0.0 if rate > _NO_NOISE else sqrt(2) * exp(rate / 2) / expm1(rate)
        return float(Fraction(2) ** self.exponent) * spread


def _later(exponential: exact_reals.LazyExponential, scale: Fraction) -> Lazy:
    """E + c for an exponential E."""

    def add(bounds: exact_reals.Bracket) -> exact_reals.Bracket:
        low, high = _start(scale, exponential.bits + exact_reals.STEP)
        return bounds[0] + low, bounds[1] + high

    return exact_reals.Combined((exponential,), add)


# Each pipeline that is built has a law of its own, and most have the scale of an earlier one.
@lru_cache(maxsize=2**10)
def _start(scale: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds on c = -ln of (1 + q) / 2, about 2^-bits apart.

    Where 1 / t is above bits, q is below 2^-bits.
    """
    if scale * bits < 1:
        low, high = Fraction(1), 1 + Fraction(1, 1 << bits)
    else:
        low, high = (1 + q for q in exponential_bounds(1 / scale, bits))
    # -ln falls: its lower bound comes from the larger number.
    least, most = floor(low * 2**bits), ceil(high * 2**bits)
    digits = exact_reals.digits_for(bits)
    return exact_reals.minus_log(most, bits + 1, digits)[0], exact_reals.minus_log(
        least, bits + 1, digits
    )[1]

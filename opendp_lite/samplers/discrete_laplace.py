"""The discrete Laplace distribution on the grid of the values themselves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, exp, expm1, floor, sqrt

import attrs
import numpy as np

from opendp_lite.exact import exp_down, log_up
from opendp_lite.samplers._arrays import Floats, Numbers
from opendp_lite.samplers.choice import exponential_bounds
from opendp_lite.samplers.entropy import Entropy, Words
from opendp_lite.samplers.exponential import (
    STEP,
    Lazy,
    LazyExponential,
    digits_for,
    exact_floor,
    minus_log,
)
from opendp_lite.samplers.lanes import fill, with_signs
from opendp_lite.samplers.law import Offsets
from opendp_lite.samplers.quantile_law import QuantileLaw
from opendp_lite.samplers.quantile_table import BITS, MASK, exponential_table

_HALF = Fraction(1, 2)
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
    _shift: float = attrs.field(
        default=attrs.Factory(lambda law: _float_shift(law.scale), takes_self=True),
        init=False,
        eq=False,
        repr=False,
    )

    def fill(self, out: Numbers, offsets: Offsets, entropy: Entropy) -> None:
        def shape(words: Words, y: Floats, work: Floats, start: int) -> None:
            np.multiply(y, self._factor, out=y)
            np.add(y, self._shift, out=y)

        def exactly(position: int, word: int) -> int:
            return self._exactly(word, entropy)

        fill(exponential_table(), shape, self._edge, exactly, entropy, out, with_signs)

    def one(self, inside: float, exactly: Callable[[], Fraction], entropy: Entropy) -> int:
        word = entropy.word()
        size = exponential_table().size(word)
        if size is not None:
            y = size * self._factor + self._shift
            whole = round(y)
            if abs(y - whole) < self._edge:
                return -whole if word > MASK else whole
        return self._exactly(word, entropy)

    def _exactly(self, word: int, entropy: Entropy) -> int:
        later = _Later(LazyExponential(word & MASK), self.scale)
        whole = exact_floor(later, self.scale, Fraction(0), entropy)
        return -whole if word > MASK else whole

    def log_probability(self, steps: Floats, value: Fraction) -> Floats:
        rate = float(1 / self.scale)
        apart = np.abs(steps - float(value))
        found: Floats = np.log(np.tanh(rate / 2)) - apart * rate
        return found

    def half_width(self, miss: Fraction) -> Fraction:
        """The least k with P(|noise| > k) = 2 q^(k + 1) / (1 + q) <= miss for q = exp(-1 / t)."""
        beyond = self.scale * log_up(2 / (miss * (1 + exp_down(-1 / self.scale))))
        return Fraction(2) ** self.exponent * max(ceil(beyond) - 1, 0)

    @property
    def standard_deviation(self) -> float:
        rate = float(1 / self.scale)
        spread = 0.0 if rate > _NO_NOISE else sqrt(2) * exp(rate / 2) / expm1(rate)
        return float(Fraction(2) ** self.exponent) * spread


@attrs.define
class _Later(Lazy):
    """E + c for an exponential E."""

    exponential: LazyExponential
    scale: Fraction

    def extend(self, entropy: Entropy) -> None:
        self.exponential.extend(entropy)

    def bracket(self) -> tuple[Fraction, Fraction] | None:
        bounds = self.exponential.bracket()
        if bounds is None:
            return None
        low, high = _start(self.scale, self.exponential.bits + STEP)
        return bounds[0] + low, bounds[1] + high


def _float_shift(scale: Fraction) -> float:
    """t c - 1/2, as rounding to nearest takes it."""
    low, high = _start(scale, BITS + STEP)
    return float(scale * (low + high) / 2 - _HALF)


def _start(scale: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds on c = -ln of (1 + q) / 2, about 2^-bits apart.

    Where 1 / t is above bits, q is below 2^-bits.
    """
    if scale * bits < 1:
        low, high = Fraction(1), 1 + Fraction(1, 1 << bits)
    else:
        low, high = (1 + q for q in exponential_bounds(1 / scale, bits))
    least, most = floor(low * 2**bits), ceil(high * 2**bits)
    digits = digits_for(bits)
    return minus_log(most, bits + 1, digits)[0], minus_log(least, bits + 1, digits)[1]

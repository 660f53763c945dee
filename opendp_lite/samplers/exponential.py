"""Exponential variates E = -ln U that are known as precisely as a decision needs.

U is a uniform real of which 63 bits are drawn at first. Floats decide almost every question about
E; the few that lie within a proven margin of a boundary are decided again in exact arithmetic,
from the same bits and as many further ones as it takes, so the law of the decisions is exact.

The error of ``logarithms``, for words of at least ``LEAST`` (2^-19 of a uniform's range lies
below): unread bits 2^-44, rounding of the word to a float 2^-53, the logarithm 64 ulp of at most
13.2, that is 14 * 2^-47. Together below 2^-43.
"""

from __future__ import annotations

import decimal
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.samplers._arrays import Flags, Floats
from opendp_lite.samplers.entropy import Entropy, Words

BITS: Final = 63
LEAST: Final = 2**44
MARGIN: Final = 2.0**-40
"""Margin of floor(s E + c), for s + 1 units of it: at least seven times the error."""
SQUARE_MARGIN: Final = 2.0**-34
"""Margin of the sign of 2 E - (E' - 1)^2, whose error is below 2^-38."""
LANES: Final = 8000
"""Lanes in a block: working arrays below 128 KiB, which allocators hand out again unfaulted."""
_ONE_SIGN = np.uint64(1)
_TOP_BIT = np.uint64(63)
_LOW_LOG: Final = -13.1
"""Above the logarithm of ``LEAST`` 2^-63, -13.17, by far more than the error."""
_ROUNDING: Final = 3 * 2.0**51
_ROUNDING_BITS: Final = np.float64(_ROUNDING).view(np.int64)
STEP: Final = 64
"""Bits by which a uniform is extended."""


def logarithms(words: Words, out: Floats) -> Flags:
    """Fills ``out`` with -E for the top 63 bits of each word; flags words too small for floats."""
    top = (words >> _ONE_SIGN).view(np.int64)
    np.multiply(top, 2.0**-BITS, out=out)
    np.log(out, out=out)
    small: Flags = out < _LOW_LOG
    return small


def flip_signs(words: Words, out: Floats) -> None:
    """Negates the floats whose word's lowest bit is set."""
    bits = out.view(np.uint64)
    np.bitwise_xor(bits, words << _TOP_BIT, out=bits)


def to_nearest(y: Floats, out: NDArray[np.int64], edge: float) -> Flags:
    """Fills ``out`` with y rounded to nearest; flags what is nearer to it than ``edge`` <= 1/2.

    Adding 1.5 * 2^52 rounds, and leaves the whole number in the low bits, where |y| < 2^51; an
    edge above 0 must imply that. ``y`` is used as scratch.
    """
    whole = y + _ROUNDING
    np.subtract(whole.view(np.int64), _ROUNDING_BITS, out=out)
    np.subtract(whole, _ROUNDING, out=whole)
    np.subtract(y, whole, out=y)
    np.abs(y, out=y)
    near: Flags = y < edge
    return near


def rounded(
    count: int,
    entropy: Entropy,
    shape: Callable[[Words, Floats, int], None],
    edge: float,
    exactly: Callable[[int, int], int],
) -> NDArray[np.int64]:
    """So many draws of a float made of one exponential, rounded to nearest.

    ``shape(words, y, start)`` makes of -E in ``y`` what is to be rounded, for the positions from
    ``start`` on; ``exactly(position, word)`` decides the draws within ``edge`` of a tie again.
    """
    found = np.empty(count, dtype=np.int64)
    with np.errstate(all="ignore"):
        for start in range(0, count, LANES):
            stop = min(start + LANES, count)
            words, y = entropy.words(stop - start), np.empty(stop - start)
            doubtful = logarithms(words, y)
            shape(words, y, start)
            doubtful |= ~to_nearest(y, found[start:stop], edge)
            for lane in np.flatnonzero(doubtful):
                found[start + lane] = exactly(start + int(lane), int(words[lane]))
    return found


class Lazy(ABC):
    """A random variate that is known as precisely as the bits drawn so far allow."""

    @abstractmethod
    def extend(self, entropy: Entropy) -> None:
        """Draws 64 more bits of every uniform that it is made of."""

    @abstractmethod
    def bracket(self) -> tuple[Fraction, Fraction] | None:
        """Rational bounds on it whatever the unread bits are; None while there is no upper one."""


class LazyExponential(Lazy):
    """One exponential variate, from the first 63 bits of a uniform on."""

    def __init__(self, word: int, bits: int = BITS) -> None:
        self._known = word
        self._bits = bits

    def extend(self, entropy: Entropy) -> None:
        self._known = (self._known << STEP) | entropy.word()
        self._bits += STEP

    def bracket(self) -> tuple[Fraction, Fraction] | None:
        if self._known == 0:
            return None
        digits = digits_for(self._bits)
        low, _ = minus_log(self._known + 1, self._bits, digits)
        _, high = minus_log(self._known, self._bits, digits)
        return max(low, Fraction(0)), high


def digits_for(bits: int) -> int:
    """Decimal digits that tell uniforms of so many bits apart, and 20 more."""
    return 20 + math.ceil(bits * 0.3011)


def minus_log(numerator: int, bits: int, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds on -ln(numerator / 2^bits), about 10^-digits apart.

    ``Context.ln`` is correctly rounded, the argument's rounding moves the logarithm by at most
    10^(1 - digits): within (|ln| + 2) 10^(1 - digits) together. Fractions do the rest, since
    Decimal's operators round to the thread's context.
    """
    context = decimal.Context(prec=digits, rounding=decimal.ROUND_HALF_EVEN)
    log = Fraction(context.ln(context.divide(Decimal(numerator), Decimal(2**bits))))
    slack = (abs(log) + 2) / 10 ** (digits - 1)
    return -log - slack, -log + slack


def exact_floor(variate: Lazy, factor: Fraction, addend: Fraction, entropy: Entropy) -> int:
    """floor(factor * E + addend) for a variate E, drawing bits until it is decided."""
    while True:
        bounds = variate.bracket()
        if bounds is not None:
            first, second = (math.floor(factor * bound + addend) for bound in bounds)
            if first == second:
                return first
        variate.extend(entropy)


def exactly_below(square: LazyExponential, double: LazyExponential, entropy: Entropy) -> bool:
    """Whether (E - 1)^2 < 2 E' for ``square`` and ``double``, drawing bits until it is decided."""
    while True:
        first, second = square.bracket(), double.bracket()
        if first is not None and second is not None:
            ends = [(bound - 1) ** 2 for bound in first]
            least = Fraction(0) if first[0] <= 1 <= first[1] else min(ends)
            if max(ends) < 2 * second[0]:
                return True
            if least > 2 * second[1]:
                return False
        square.extend(entropy)
        double.extend(entropy)

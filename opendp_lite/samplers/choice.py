"""An exact choice among weighted items: the exponential mechanism's sampler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Final

import numpy as np

from opendp_lite.exact import decimal_context
from opendp_lite.samplers._arrays import Counts, Floats
from opendp_lite.samplers.entropy import Entropy

FAR_EXPONENT: Final = 128.0
"""An exponent beyond this may be given as this: its weight is then only bounded from above."""
_ENVELOPE_BITS = 40
_ROOM_BITS = 62
ENVELOPE_MARGIN: Final = 1 + 2.0**-30
"""Above 1 by far more than exponents within 2^-32 of the true ones, and floats, can be wrong."""
_STEP = 64


def choose(
    counts: Counts, exponents: Floats, exactly: Callable[[int], Fraction], entropy: Entropy
) -> int:
    """The index i with probability proportional to counts[i] exp(-exactly(i)), without error.

    Args:
        counts: How many items stand at each place, at least 0 and not all 0: ones, if every
            candidate stands once.
        exponents: The exponents as floats, each within 2^-32 of the exact one or below it. One
            beyond ``FAR_EXPONENT`` may be given as that.
        exactly: The exact exponent of the item at an index.
        entropy: Where the random words come from.

    Returns:
        An index of ``counts``.

    Proof:
        Whole-number weights above the true ones (``docs/sampler.md``) are drawn from with an
        exact uniform integer. The item is kept with the exact ratio of its true weight to that
        weight; else all is drawn again.
    """
    there = counts > 0
    nearest = float(np.min(exponents, where=there, initial=np.inf))
    sizes = nearest - exponents
    np.maximum(sizes, -FAR_EXPONENT, out=sizes)
    np.exp(sizes, out=sizes)
    np.multiply(sizes, counts, out=sizes)
    largest = float(sizes.max())
    bits = envelope_bits(len(counts))
    np.multiply(sizes, 2.0**bits * ENVELOPE_MARGIN / largest, out=sizes)
    envelope = sizes.astype(np.int64) + there
    ends = np.cumsum(envelope)
    unit = Fraction(largest) / 2**bits
    shift = Fraction(nearest)
    while True:
        place = below(int(ends[-1]), entropy)
        index = int(np.searchsorted(ends, place, side="right"))
        ratio = int(counts[index]) / (int(envelope[index]) * unit)
        if happens(ratio, exactly(index) - shift, entropy):
            return index


def envelope_bits(items: int) -> int:
    """The bits of the largest whole-number weight of so many items: their sum is below 2^63."""
    return min(_ENVELOPE_BITS, _ROOM_BITS - items.bit_length())


def choose_by_exponents(exponents: Sequence[Fraction], entropy: Entropy) -> int:
    """The index i with probability proportional to exp(-exponents[i]), without error.

    Args:
        exponents: Of the weights, exact and of any size.
        entropy: Where the random words come from.

    Returns:
        An index of ``exponents``.

    Proof:
        The weights relative to the largest have the same proportions, and ``choose`` draws by them.
        Floats of exponents up to ``FAR_EXPONENT`` are within 2^-46 of the exact ones.

    Example:
        >>> from fractions import Fraction
        >>> from opendp_lite.samplers.choice import choose_by_exponents
        >>> from opendp_lite.samplers.entropy import SecureEntropy
        >>> choose_by_exponents([Fraction(0), Fraction(1000)], SecureEntropy())
        0
    """
    least = min(exponents)
    behind = [each - least for each in exponents]
    floats = np.array([float(min(each, Fraction(FAR_EXPONENT))) for each in behind])
    return choose(np.ones(len(behind), dtype=np.int64), floats, behind.__getitem__, entropy)


def below(total: int, entropy: Entropy) -> int:
    """A whole number from 0 to total - 1, each as likely."""
    bits = total.bit_length()
    while True:
        found = 0
        for _ in range(-(-bits // _STEP)):
            found = (found << _STEP) | entropy.word()
        found &= (1 << bits) - 1
        if found < total:
            return found


def happens(ratio: Fraction, exponent: Fraction, entropy: Entropy) -> bool:
    """True with probability ratio exp(-exponent), at most 1, for a ratio of at most e^128.

    A uniform number is compared with rational bounds on the probability; more of its bits are
    drawn until that is decided.
    """
    return goes_below(entropy.word(), ratio, exponent, entropy)


def goes_below(word: int, ratio: Fraction, exponent: Fraction, entropy: Entropy) -> bool:
    """As ``happens``, for a uniform number whose first word was drawn before."""
    known, bits = word, _STEP
    while True:
        if exponent > bits + FAR_EXPONENT:
            if known:
                return False
        else:
            low, high = exponential_bounds(exponent, bits)
            if (known + 1) <= ratio * low * 2**bits:
                return True
            if known >= ratio * high * 2**bits:
                return False
        known, bits = (known << _STEP) | entropy.word(), bits + _STEP


def exponential_bounds(exponent: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds on exp(-exponent), to so many bits.

    ``Context.exp`` is correctly rounded; rounding its argument x moves the result by a factor of
    at most 1 + 2 |x| 10^(1 - digits).
    """
    digits = 20 + ceil(bits * 0.3011) + len(str(ceil(abs(exponent))))
    context = decimal_context(digits)
    argument = context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))
    middle = Fraction(context.exp(argument))
    slack = middle * (2 + 2 * abs(exponent)) / 10 ** (digits - 1)
    return middle - slack, middle + slack

"""An exact choice among weighted items: the exponential mechanism's sampler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data.source import Keys
from opendp_lite.numbers.exact import decimal_context
from opendp_lite.samplers.entropy import Entropy, Words
from opendp_lite.samplers.exact_reals import STEP, LazyExponential, LazyUniform
from opendp_lite.samplers.lattice import Counts, Flags, Floats
from opendp_lite.samplers.quantile_table import MASK, exponential_table

FAR_EXPONENT: Final = 128.0
"""An exponent beyond this may be given as this: its weight is then only bounded from above."""
# The 1 that is added to a weight is then 2^-40 of the largest: hardly an item is drawn again.
_ENVELOPE_BITS = 40
# So many weights, their margin and the ones added to them have a sum below 2^63.
_ROOM_BITS = 62
ENVELOPE_MARGIN: Final = 1 + 2.0**-30
"""Above 1 by far more than exponents within 2^-32 of the true ones, and floats, can be wrong."""
_STEP = 64


def choose(
    counts: Counts, exponents: Floats, exactly: Callable[[int], Fraction], entropy: Entropy
) -> int:
    """The index i with probability proportional to counts[i] exp(-exactly(i)), without error.

    It is ``choose_each`` in one lane, of items that all have the exponent of their place.
    """

    def exact(lane: int, index: int) -> Fraction:
        return exactly(index)

    return int(choose_each(counts[None], exponents[None], exact, entropy)[0])


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
        # What is too large is drawn again: a remainder would favour small numbers.
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
        # The probability is at most e^128 e^-exponent, below 2^-bits, which any known bit is worth.
        if exponent > bits + FAR_EXPONENT:
            if known:
                return False
        else:
            low, high = exponential_bounds(exponent, bits)
            # U lies in [known, known + 1) 2^-bits, so equality decides on both sides.
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
    # log10 of 2 is below 0.3011. 20 digits more than the bits have leave few comparisons open.
    digits = 20 + ceil(bits * 0.3011) + len(str(ceil(abs(exponent))))
    context = decimal_context(digits)
    argument = context.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator))
    middle = Fraction(context.exp(argument))
    slack = middle * (2 + 2 * abs(exponent)) / 10 ** (digits - 1)
    return middle - slack, middle + slack


COIN_MARGIN: Final = 2.0**-30
"""Of a probability, relatively: four times what floats can be wrong."""
# Of a probability, absolutely: more than the unread bits and the rounding of a word.
_ATOM: Final = 2.0**-50
_WORD: Final = 2.0**-64


Draw = Callable[[Counts, Counts, Entropy], tuple[Counts, Floats]]
"""An item at a place of each of some lanes, each as likely, and its exponent."""


def choose_each(
    counts: Counts,
    exponents: Floats,
    exactly: Callable[[int, int], Fraction],
    entropy: Entropy,
    *,
    draw: Draw | None = None,
    margin: float = COIN_MARGIN,
) -> Counts:
    """In each of many lanes an item with probability proportional to exp(-its exponent).

    Args:
        counts: A row for each lane: how many items stand at each place, at least 0 and not all 0.
        exponents: The least exponent of each place as floats of at least 0: a row for each lane, or
            one for all. Each is within 2^-32 of the exact one, or is ``FAR_EXPONENT`` and not above
            it by more. An item that is there lies within ``FAR_EXPONENT``: else all would be
            refused for ever.
        exactly: The exact exponent of an item of a lane.
        entropy: Where the random words come from.
        draw: ``draw(lanes, places, entropy)`` draws an item at a place of each of some lanes, each
            as likely, and gives its exponent: never lower than that of the place, and a float as
            those are. Without it, a place stands for its items, which all have its exponent.
        margin: How near to its probability a uniform number is decided in exact arithmetic.

    Returns:
        An item for each lane.

    Proof:
        In each lane whole-number weights w above the true ones are made (see
        ``docs/exactness.md``), and
        a place is drawn by them with an exact uniform integer below their sum. One of its counts[i]
        items is then drawn, each as likely, with the exponent e. It is kept with the exact
        probability p = counts[i] exp(-e) / (w unit), which is at most 1 as e is not below the
        exponent of the place. Else its lane is drawn again. So an item is drawn and kept with a
        probability in proportion to w / counts[i] times p, which is exp(-e) / unit.

        A uniform number U of which 64 bits are known is compared with p. The float of p errs by
        a factor of at most exp(2^-32) for the exponent, 1 + 2^-40 for ``numpy.exp``, and
        1 + 5 2^-53 for the rounding of counts and weights to floats, two products and a quotient:
        together below 1 + 2^-31. The float of the 64 bits errs by 2^-53, and the unread bits add
        less than 2^-64. Where U and p are further apart than ``margin`` p + 2^-50 all of this
        cannot turn the comparison. At ``FAR_EXPONENT`` the float of p is only a bound from above,
        so it decides what is not kept and nothing else. All other lanes, about two in 10^9, are
        decided by ``goes_below`` from the same 64 bits and as many more as it takes. So the law
        is exact, whatever the margin beyond 2^-31.
    """
    lanes, places = counts.shape
    sizes = counts * np.exp(-exponents)
    largest = sizes.max(axis=1)
    # The bits of the largest whole-number weight: the sum of all is below 2^63.
    bits = min(_ENVELOPE_BITS, _ROOM_BITS - places.bit_length())
    sizes *= (2.0**bits * ENVELOPE_MARGIN / largest)[:, None]
    envelope = sizes.astype(np.int64) + (counts > 0)
    ends = np.cumsum(envelope, axis=1)
    units = largest / 2.0**bits
    found = np.empty(lanes, dtype=np.int64)
    left = np.arange(lanes)
    while len(left):
        heights = below_each(ends[left, -1], entropy)
        index = np.array(
            [
                ends[lane].searchsorted(at, side="right")
                for lane, at in zip(left, heights, strict=True)
            ]
        )
        words = entropy.words(len(left))
        if draw is None:
            items, each = index, exponents[left % len(exponents), index]
        else:
            items, each = draw(left, index, entropy)
        own, drawn = counts[left, index], envelope[left, index]
        likely = own * np.exp(-each) / (drawn * units[left])
        kept, sure = _decide(words, likely, each, margin)
        for at in np.flatnonzero(~sure).tolist():
            lane, item = int(left[at]), int(items[at])
            ratio = int(own[at]) / (int(drawn[at]) * Fraction(float(units[lane])))
            kept[at] = goes_below(int(words[at]), ratio, exactly(lane, item), entropy)
        found[left[kept]] = items[kept]
        left = left[~kept]
    return found


def _decide(
    words: Words, likely: Floats, exponents: Floats, margin: float
) -> tuple[Flags, NDArray[np.bool_]]:
    """Which uniform numbers are below their probabilities, and of which that is certain."""
    uniform, slack = words * _WORD, margin * likely + _ATOM
    # At FAR_EXPONENT the probability is a bound from above, which keeps nothing.
    kept = (uniform < likely - slack) & (exponents < FAR_EXPONENT)
    return kept, kept | (uniform > likely + slack)


def below_each(totals: Counts, entropy: Entropy) -> Counts:
    """For each total a whole number from 0 to total - 1, each as likely; totals below 2^63.

    As ``below``: the low bits of a word, and of another one while they are not below the total.
    """
    if len(totals) == 1:
        return np.array([below(int(totals[0]), entropy)], dtype=np.int64)
    masks = np.array([(1 << total.bit_length()) - 1 for total in totals.tolist()], dtype=np.uint64)
    found = np.empty_like(totals)
    left = np.arange(len(totals))
    while len(left):
        drawn = (entropy.words(len(left)) & masks[left]).view(np.int64)
        fits = drawn < totals[left]
        found[left[fits]] = drawn[fits]
        left = left[~fits]
    return found


# Beyond what exponents within 2^-32 of the true ones, unread bits and floats can be wrong by.
_MARGIN: Final = 2.0**-30


def permute_and_flip(
    exponents: Floats, exactly: Callable[[int], Fraction], entropy: Entropy
) -> int:
    """The place of the largest -exactly(i) + E_i for independent exponential E_i, without error.

    Args:
        exponents: The exponents as floats: at least one is 0, and each is within 2^-32 of the
            exact one. One beyond ``FAR_EXPONENT`` is given as that.
        exactly: The exact exponent of the item at an index.
        entropy: Where the random words come from.

    Returns:
        An index of ``exponents``.

    Proof:
        Permute-and-flip takes the items in random order and releases the first whose coin of
        probability exp(-exponent) shows heads (McKenna and Sheldon 2020). It has the law of the
        noisy maximum (Ding, Kifer, Steinke, Wang, Xiao, Zhang 2021). Coins and order are
        independent, so the first heads in random order is a uniform choice among all heads. An
        item of exponent 0 always shows heads. Each coin compares a uniform number with its
        probability, as floats where they are further apart than the margin and exactly where not.
    """
    words = entropy.words(len(exponents))
    lead = np.exp(-exponents)
    lead -= words.astype(np.float64) * _WORD
    # An exponent of 0 has lead 0 or above, and within the margin it is decided exactly.
    heads = lead > 0
    for place in np.flatnonzero(np.abs(lead) < _MARGIN).tolist():
        heads[place] = goes_below(int(words[place]), Fraction(1), exactly(place), entropy)
    shown = np.flatnonzero(heads)
    return int(shown[below(len(shown), entropy)])


def coins(probability: Fraction, count: int, keys: Keys) -> NDArray[np.bool_]:
    """Independent coins, each heads with exactly this probability.

    A coin is heads if a uniform number U is below the probability. Their binary digits are
    compared, 64 at a time, and more are drawn while they are equal: once in 2^64 coins.

    Args:
        probability: From 0 to 1.
        count: How many coins.
        keys: Random words for some of the coins: the next digits of U of each.
    """
    # 1 has no digits behind the point, which every U is below.
    if probability == 1:
        return np.ones(count, dtype=np.bool_)
    found = np.zeros(count, dtype=np.bool_)
    level, left = np.arange(count), probability
    # Where no digits are left, U is at least the probability: tails, as ``found`` has it.
    while left and len(level):
        digits = int(left * 2**_STEP)
        left = left * 2**_STEP - digits
        words = keys(level)
        found[level] = words < np.uint64(digits)
        # Equal digits decide nothing: these coins read 64 more of both.
        level = level[words == np.uint64(digits)]
    return found


def logarithmic(rate: Fraction, entropy: Entropy) -> int:
    """A number k >= 1 with probability (1 - exp(-rate))^k / (k rate), for a rate of at most 2^6.

    Proof:
        With U uniform and Y = exp(-rate U), the density of Y is 1 / (y rate) from exp(-rate) to 1.
        Coins of probability Y are flipped until the first heads. It comes at the k-th with
        probability y (1 - y)^(k - 1), whose mean over Y is that of the claim. A coin shows heads if
        an exponential variate E is above rate U. Both are known as precisely as that needs.
    """
    # Every coin may read it further.
    uniform = LazyUniform(entropy.word(), STEP)
    count = 1
    while not _heads(uniform, rate, entropy):
        count += 1
    return count


def _heads(uniform: LazyUniform, rate: Fraction, entropy: Entropy) -> bool:
    """Whether a new exponential variate is above rate times the uniform number."""
    word = entropy.word() & MASK
    size = exponential_table().size(word)
    if size is not None:
        lead = size - float(rate) * (uniform.known / 2**uniform.bits)
        # Far above the errors of a size, of floats and of unread bits, for a rate of at most 2^6.
        if abs(lead) > _MARGIN:
            return bool(lead > 0)
    variate = LazyExponential(word)
    while True:
        bounds, ends = variate.bracket(), uniform.bracket()
        if bounds is not None and ends is not None:
            if bounds[0] > rate * ends[1]:
                return True
            if bounds[1] < rate * ends[0]:
                return False
        variate.extend(entropy)
        uniform.extend(entropy)

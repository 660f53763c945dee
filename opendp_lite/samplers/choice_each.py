"""Exact choices among weighted items, one in each of many lanes: the choices of many columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Scratch
from opendp_lite.samplers._arrays import Counts, Flags, Floats
from opendp_lite.samplers.choice import (
    ENVELOPE_MARGIN,
    FAR_EXPONENT,
    envelope_bits,
    goes_below,
)
from opendp_lite.samplers.entropy import Entropy, Words

COIN_MARGIN: Final = 2.0**-30
"""Of a probability, relatively: four times what floats can be wrong."""
_ATOM: Final = 2.0**-50
"""Of a probability, absolutely: more than the unread bits and the rounding of a word."""
_WORD: Final = 2.0**-64


class WeightedItems(ABC):
    """Items in many lanes. Each lane has as many places, and several items may stand at a place."""

    counts: Counts
    """A row for each lane: how many items stand at each place, at least 0."""
    exponents: Floats
    """The least exponent of each place as floats of at least 0.

    A row for each lane, or one for all. Each is within 2^-32 of the exact one, or is
    ``FAR_EXPONENT`` and not above it by more. In each lane a place with the exponent 0 has items,
    exactly.
    """

    @abstractmethod
    def drawn(self, lanes: Counts, places: Counts, entropy: Entropy) -> tuple[Counts, Floats]:
        """An item at a place of each of some lanes, each as likely, and its exponent.

        No item has a lower exponent than its place. The floats are as those of the places.
        """

    @abstractmethod
    def exactly(self, lane: int, item: int) -> Fraction:
        """The exact exponent of an item that was drawn."""


def choose_each(
    given: WeightedItems, entropy: Entropy, scratch: Scratch, margin: float = COIN_MARGIN
) -> Counts:
    """In each lane an item with probability proportional to exp(-its exponent).

    Args:
        given: The items.
        entropy: Where the random words come from.
        scratch: Buffers to work in.
        margin: How near to its probability a uniform number is decided in exact arithmetic.

    Returns:
        An item for each lane.

    Proof:
        Each lane is drawn as ``choose`` draws: a place by whole-number weights w above the true
        ones, with an exact uniform integer below their sum. One of its counts[i] items is then
        drawn, each as likely, with the exponent e. It is kept with the exact probability
        p = counts[i] exp(-e) / (w unit), which is at most 1 as e is not below the exponent of the
        place. Else its lane is drawn again. So an item is drawn and kept with a probability in
        proportion to w / counts[i] times p, which is exp(-e) / unit.

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
    counts, exponents = given.counts, given.exponents
    lanes, places = counts.shape
    chances = scratch.take("chances", exponents.shape)
    sizes = scratch.take("sizes", counts.shape)
    envelope, ends = (
        scratch.take(name, counts.shape).view(np.int64) for name in ("envelope", "ends")
    )
    np.exp(np.negative(exponents, out=chances), out=chances)
    np.multiply(counts, chances, out=sizes)
    largest = sizes.max(axis=1)
    bits = envelope_bits(places)
    np.multiply(sizes, (2.0**bits * ENVELOPE_MARGIN / largest)[:, None], out=sizes)
    np.copyto(envelope, sizes, casting="unsafe")
    np.add(envelope, counts > 0, out=envelope)
    np.cumsum(envelope, axis=1, out=ends)
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
        items, exponents = given.drawn(left, index, entropy)
        words = entropy.words(len(left))
        own, drawn = counts[left, index], envelope[left, index]
        likely = own * np.exp(-exponents) / (drawn * units[left])
        kept, sure = _decided(words, likely, exponents, margin)
        for at in np.flatnonzero(~sure).tolist():
            lane, item = int(left[at]), int(items[at])
            ratio = int(own[at]) / (int(drawn[at]) * Fraction(float(units[lane])))
            kept[at] = goes_below(int(words[at]), ratio, given.exactly(lane, item), entropy)
        found[left[kept]] = items[kept]
        left = left[~kept]
    return found


def _decided(
    words: Words, likely: Floats, exponents: Floats, margin: float
) -> tuple[Flags, NDArray[np.bool_]]:
    """Which uniform numbers are below their probabilities, and of which that is certain."""
    uniform, slack = words * _WORD, margin * likely + _ATOM
    kept = (uniform < likely - slack) & (exponents < FAR_EXPONENT)
    return kept, kept | (uniform > likely + slack)


def below_each(totals: Counts, entropy: Entropy) -> Counts:
    """For each total a whole number from 0 to total - 1, each as likely; totals below 2^63.

    As ``below``: the low bits of a word, and of another one while they are not below the total.
    """
    masks = _masks(totals)
    found = np.empty_like(totals)
    left = np.arange(len(totals))
    while len(left):
        drawn = (entropy.words(len(left)) & masks[left]).view(np.int64)
        fits = drawn < totals[left]
        found[left[fits]] = drawn[fits]
        left = left[~fits]
    return found


def _masks(totals: Counts) -> Words:
    """As many bits set as each total has."""
    masks = totals.view(np.uint64).copy()
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> np.uint64(shift)
    return masks

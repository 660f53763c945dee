"""Whole numbers with the logarithmic distribution, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.exponential import STEP, LazyExponential
from opendp_lite.samplers.quantile_table import MASK, exponential_table

_MARGIN: Final = 2.0**-30
"""Far above the errors of a size, of floats and of unread bits, for a rate of at most 2^6."""


def logarithmic(rate: Fraction, entropy: Entropy) -> int:
    """A number k >= 1 with probability (1 - exp(-rate))^k / (k rate), for a rate of at most 2^6.

    Proof:
        With U uniform and Y = exp(-rate U), the density of Y is 1 / (y rate) from exp(-rate) to 1.
        Coins of probability Y are flipped until the first heads. It comes at the k-th with
        probability y (1 - y)^(k - 1), whose mean over Y is that of the claim. A coin shows heads if
        an exponential variate E is above rate U. Both are known as precisely as that needs.
    """
    uniform = _Uniform(entropy.word())
    count = 1
    while not _heads(uniform, rate, entropy):
        count += 1
    return count


class _Uniform:
    """A uniform number in [known, known + 1) 2^-bits, which every coin may read further."""

    def __init__(self, word: int) -> None:
        self.known, self.bits = word, STEP

    def extend(self, entropy: Entropy) -> None:
        """Reads 64 more bits."""
        self.known, self.bits = (self.known << STEP) | entropy.word(), self.bits + STEP


def _heads(uniform: _Uniform, rate: Fraction, entropy: Entropy) -> bool:
    """Whether a new exponential variate is above rate times the uniform number."""
    word = entropy.word() & MASK
    size = exponential_table().size(word)
    if size is not None:
        lead = size - float(rate) * (uniform.known / 2**uniform.bits)
        if abs(lead) > _MARGIN:
            return bool(lead > 0)
    variate = LazyExponential(word)
    while True:
        bounds = variate.bracket()
        low, high = (rate * (uniform.known + end) / 2**uniform.bits for end in (0, 1))
        if bounds is not None and bounds[0] > high:
            return True
        if bounds is not None and bounds[1] < low:
            return False
        variate.extend(entropy)
        uniform.extend(entropy)

"""Variates that are known as precisely as a decision needs, and the exponential E = -ln U.

U is a uniform real of which 63 bits are drawn at first. Floats decide almost every question about
a variate. The few that lie within a proven margin of a boundary are decided again in exact
arithmetic, from the same bits and as many further ones as it takes, so the law of the decisions is
exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import Final

from opendp_lite.exact import decimal_context
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.quantile_table import BITS

STEP: Final = 64
"""Bits by which a uniform is extended."""


class Lazy(ABC):
    """A random variate that is known as precisely as the bits drawn so far allow."""

    @abstractmethod
    def extend(self, entropy: Entropy) -> None:
        """Draws 64 more bits of every uniform that it is made of."""

    @abstractmethod
    def bracket(self) -> tuple[Fraction, Fraction] | None:
        """Rational bounds on it whatever the unread bits are; None while there is no upper one."""


class LazyQuantile(Lazy):
    """Q(U) for a falling quantile function Q, from the first 63 bits of a uniform U on."""

    def __init__(self, known: int, bits: int = BITS) -> None:
        self._known = known
        self.bits = bits

    def extend(self, entropy: Entropy) -> None:
        self._known = (self._known << STEP) | entropy.word()
        self.bits += STEP

    def bracket(self) -> tuple[Fraction, Fraction] | None:
        if self._known == 0:
            return None
        return self._least(self._known + 1, self.bits), self._most(self._known, self.bits)

    @staticmethod
    @abstractmethod
    def _least(numerator: int, bits: int) -> Fraction:
        """A number at most Q(numerator / 2^bits), and at least 0, to about so many bits."""

    @staticmethod
    @abstractmethod
    def _most(numerator: int, bits: int) -> Fraction:
        """A number at least Q(numerator / 2^bits), to about so many bits."""


class LazyExponential(LazyQuantile):
    """One exponential variate."""

    @staticmethod
    def _least(numerator: int, bits: int) -> Fraction:
        return max(minus_log(numerator, bits, digits_for(bits))[0], Fraction(0))

    @staticmethod
    def _most(numerator: int, bits: int) -> Fraction:
        return minus_log(numerator, bits, digits_for(bits))[1]


def digits_for(bits: int) -> int:
    """Decimal digits that tell uniforms of so many bits apart, and 20 more."""
    return 20 + math.ceil(bits * 0.3011)


def minus_log(numerator: int, bits: int, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds on -ln(numerator / 2^bits), about 10^-digits apart.

    ``Context.ln`` is correctly rounded, the argument's rounding moves the logarithm by at most
    10^(1 - digits): within (|ln| + 2) 10^(1 - digits) together. Fractions do the rest, since
    Decimal's operators round to the thread's context.
    """
    context = decimal_context(digits)
    log = Fraction(context.ln(context.divide(Decimal(numerator), Decimal(2**bits))))
    slack = (abs(log) + 2) / 10 ** (digits - 1)
    return -log - slack, -log + slack


def exact_floor(variate: Lazy, factor: Fraction, addend: Fraction, entropy: Entropy) -> int:
    """floor(factor * V + addend) for a variate V, drawing bits until it is decided."""
    while True:
        bounds = variate.bracket()
        if bounds is not None:
            first, second = (math.floor(factor * bound + addend) for bound in bounds)
            if first == second:
                return first
        variate.extend(entropy)

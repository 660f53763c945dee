"""Variates that are known as precisely as a decision needs, and the exponential E = -ln U.

U is a uniform real of which 63 bits are drawn at first. Floats decide almost every question about
a variate. The few that lie within a proven margin of a boundary are decided again in exact
arithmetic, from the same bits and as many further ones as it takes, so the law of the decisions is
exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import exp, fsum, inf, isqrt, pi, prod, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.numbers.exact import decimal_context, normal_tail
from opendp_lite.samplers import quantile_table as logarithm
from opendp_lite.samplers.entropy import Entropy
from opendp_lite.samplers.quantile_table import BITS, ERROR, MASK, normal_table

STEP: Final = 64
"""Bits by which a uniform is extended."""
Bracket = tuple[Fraction, Fraction]


class Lazy(ABC):
    """A random variate that is known as precisely as the bits drawn so far allow."""

    @abstractmethod
    def extend(self, entropy: Entropy) -> None:
        """Draws 64 more bits of every uniform that it is made of."""

    @abstractmethod
    def bracket(self) -> Bracket | None:
        """Rational bounds on it whatever the unread bits are; None while there is no upper one."""


@attrs.frozen(eq=False)
class Combined(Lazy):
    """What follows from some variates: ``combine`` makes bounds on it of theirs, or None."""

    parts: tuple[Lazy, ...]
    combine: Callable[..., Bracket | None]

    def extend(self, entropy: Entropy) -> None:
        for part in self.parts:
            part.extend(entropy)

    def bracket(self) -> Bracket | None:
        bounds = [part.bracket() for part in self.parts]
        return None if None in bounds else self.combine(*bounds)


class LazyUniform(Lazy):
    """A uniform number, of which ``known`` are the first ``bits`` bits."""

    def __init__(self, known: int, bits: int = BITS) -> None:
        self.known = known
        self.bits = bits

    def extend(self, entropy: Entropy) -> None:
        self.known = (self.known << STEP) | entropy.word()
        self.bits += STEP

    def bracket(self) -> Bracket | None:
        return Fraction(self.known, 1 << self.bits), Fraction(self.known + 1, 1 << self.bits)


class LazyQuantile(LazyUniform):
    """Q(U) for a falling quantile function Q, from the first 63 bits of a uniform U on."""

    def bracket(self) -> Bracket | None:
        if self.known == 0:
            return None
        return self._least(self.known + 1), self._most(self.known)

    @abstractmethod
    def _least(self, numerator: int) -> Fraction:
        """A number at most Q(numerator / 2^bits), and at least 0, to about so many bits."""

    @abstractmethod
    def _most(self, numerator: int) -> Fraction:
        """A number at least Q(numerator / 2^bits), to about so many bits."""


class LazyExponential(LazyQuantile):
    """One exponential variate."""

    def _least(self, numerator: int) -> Fraction:
        return max(minus_log(numerator, self.bits, digits_for(self.bits))[0], Fraction(0))

    def _most(self, numerator: int) -> Fraction:
        return minus_log(numerator, self.bits, digits_for(self.bits))[1]


def digits_for(bits: int) -> int:
    """Decimal digits that tell uniforms of so many bits apart, and 20 more."""
    # log10 of 2 is below 0.3011, so no bit is lost.
    return 20 + math.ceil(bits * 0.3011)


def minus_log(numerator: int, bits: int, digits: int) -> Bracket:
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
            # Both ends have one floor, so no unread bit can change it.
            if first == second:
                return first
        variate.extend(entropy)


# Uniforms that are multiplied before a logarithm is taken: above 2^-1008, no float underflows.
_FOLD = 16
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
        self.value, self.error = self._floats()

    def _floats(self) -> tuple[float, float]:
        few = len(self._words) <= _FOLD
        total, unread = self._one_fold() if few else self._folds()
        # A uniform below 2^-63 bounds nothing from above: whoever uses it decides exactly.
        if unread == inf:
            return 0.0, inf
        folds = -(-len(self._words) // _FOLD)
        # 2^-46 of the total is over 16 times what its logarithms round by: see the class.
        # ``CoreNoise`` needs so much, as its ten roundings are to stay below this error.
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

    def _read(self) -> list[int]:
        """What is known of the uniforms, in units of 2^-bits."""
        if not self._known:
            self._known = [word >> 1 for word in self._words.tolist()]
        return self._known

    def bracket(self) -> Bracket | None:
        """The product of the uniforms from below and above, cut to enough bits."""
        known, enough = self._read(), self.bits + STEP
        low, high, bits = 1, 1, self.bits * len(known)
        for start in range(0, len(known), _FOLD):
            fold = known[start : start + _FOLD]
            low *= prod(fold)
            high *= prod([each + 1 for each in fold])
            spare = max(0, high.bit_length() - enough)
            # Cut down and cut up, so that both stay bounds.
            low, high, bits = low >> spare, -(-high >> spare), bits - spare
        if low == 0:
            return None
        digits = digits_for(self.bits)
        return max(_wide_log(high, bits, digits)[0], Fraction(0)), _wide_log(low, bits, digits)[1]


def _wide_log(numerator: int, bits: int, digits: int) -> Bracket:
    """As ``minus_log``, for so many bits that 2^bits is better left unwritten."""
    own = min(numerator.bit_length(), bits)
    first, halving = minus_log(numerator, own, digits), minus_log(1, 1, digits)
    return first[0] + (bits - own) * halving[0], first[1] + (bits - own) * halving[1]


# Bits after the point to which a float tells Q, and which a step of Newton's rule adds.
_FLOAT_BITS: Final = 47
_SPARE_BITS: Final = 40
_WIDER: Final = 16


class LazyNormal(LazyQuantile):
    """The size |Z| of one standard normal.

    ``normal_tail`` bounds P(Z > x) for a rational x, so it certifies on which side of Q(u) an x is.
    Floats and Newton's rule only propose what is certified.
    """

    def _least(self, numerator: int) -> Fraction:
        whole, share = numerator >> self.bits, Fraction(numerator, 1 << self.bits)
        # The share is 1, and Q(1) is 0.
        if whole:
            return Fraction(0)
        middle, apart = _near(share, self.bits)
        # Floats propose, the tail decides: while it does not certify the bound, it moves out.
        while (found := max(middle - apart, Fraction(0))) and (
            2 * normal_tail(found, digits_for(self.bits))[0] < share
        ):
            apart *= _WIDER
        return found

    def _most(self, numerator: int) -> Fraction:
        share = Fraction(numerator, 1 << self.bits)
        middle, apart = _near(share, self.bits)
        while 2 * normal_tail(middle + apart, digits_for(self.bits))[1] > share:
            apart *= _WIDER
        return middle + apart


def _near(share: Fraction, bits: int) -> Bracket:
    """A number very probably near to Q(share), and how near."""
    start = max(-NormalDist().inv_cdf(float(share) / 2), 0.0)
    slope = Fraction(2 * exp(-start * start / 2) / sqrt(2 * pi))
    fine, found = 1 << (bits + _SPARE_BITS), Fraction(start)
    # The slope at the start serves every step: each adds about as many bits as the start has right.
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


def _float_of(bounds: Bracket | None) -> float | None:
    """A float within half of ``ERROR`` of all between the bounds; None where there is none."""
    if bounds is None or 2 * (bounds[1] - bounds[0]) > ERROR:
        return None
    return float(bounds[0])


class Chi(Lazy):
    """The length of standard normals, some of them known: ``value``, within ``error`` of it.

    Its square Q is twice a sum of exponentials, one for every two normals that nobody asks for,
    plus the squares of the known ones. An error of |Z|, 2^-40, moves Z^2 by at most
    2^-39 (|Z| + 1).

    With Q known within e, the root moves by at most e / sqrt(Q) and by at most sqrt(e). Not
    counted are the four roundings, 2^-53 each, from the squares to the root.
    """

    def __init__(self, pairs: Gamma, known: Sequence[Normal]) -> None:
        self._pairs = pairs
        self._normals = known
        self.value, self.error = self._floats()

    @classmethod
    def of(cls, degrees: int, entropy: Entropy) -> Chi:
        """The length of so many standard normals, two or more."""
        pairs = Gamma(degrees // 2, entropy)
        return cls(pairs, [one_normal(entropy) for _ in range(degrees % 2)])

    def _floats(self) -> tuple[float, float]:
        sizes = [normal.size for normal in self._normals if normal.size is not None]
        if len(sizes) < len(self._normals) or self._pairs.error == inf:
            return 0.0, inf
        square = 2 * self._pairs.value + fsum([size * size for size in sizes])
        error = 2 * self._pairs.error + 2 * ERROR * (sum(sizes) + len(sizes))
        root = sqrt(square)
        # The lesser of e / sqrt(Q) and sqrt(e), as the first bounds nothing near 0.
        return root, error / max(root, sqrt(error))

    def extend(self, entropy: Entropy) -> None:
        self._pairs.extend(entropy)
        for normal in self._normals:
            normal.exactly.extend(entropy)

    def bracket(self) -> Bracket | None:
        square = self._pairs.bracket()
        if square is None:
            return None
        low, high = 2 * square[0], 2 * square[1]
        for normal in self._normals:
            size = normal.exactly.bracket()
            if size is None:
                return None
            low, high = low + size[0] * size[0], high + size[1] * size[1]
        # isqrt cuts, and int cuts before it: one step more is above the root all the same.
        fine = 1 << (self._pairs.bits + STEP)
        roots = (isqrt(int(square * fine * fine)) for square in (low, high))
        return Fraction(next(roots), fine), Fraction(next(roots) + 1, fine)

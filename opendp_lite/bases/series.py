"""Legendre polynomials."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, lgamma, log, pi

import attrs
import numpy as np
from numpy.polynomial.hermite import hermvander
from numpy.polynomial.laguerre import lagvander
from numpy.polynomial.legendre import legvander

from opendp_lite.base.spelling import spellable
from opendp_lite.bases.basis import (
    Interval,
    Smooth,
    lower_bound,
    middle_shares,
    number_of_terms,
    public_scale,
    to_float,
)
from opendp_lite.engines.data.fold import Floats
from opendp_lite.numbers.exact import Number, exact


@spellable
@attrs.frozen(repr=False)
class Legendre(Interval):
    """Legendre polynomials, for moments without bias and smooth densities.

    The functions are the orthonormal polynomials of degrees 0 to terms - 1.

    Args:
        terms: How many functions, from 2 to 64.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        All functions are largest at the upper end, where they are sqrt(2 i + 1). With k terms l2 is
        k, and l1 is the sum of these roots. This is much where the density is far from the ends.

    Example:
        >>> basis = Legendre(12, 0, 100)
        >>> round(basis.l1, 1), round(basis.l2, 1)
        (39.2, 12.0)
    """

    def functions(self) -> Floats:
        sizes = np.sqrt(2 * np.arange(self.terms) + 1)
        return np.multiply(legvander(2 * middle_shares(self.cells) - 1, self.terms - 1), sizes)


_BEYOND = 5


def _middle(value: Number) -> Fraction:
    return to_float(exact(value, "middle"))


@spellable
@attrs.frozen(repr=False)
class Hermite(Smooth):
    """Hermite functions, for bell-shaped densities and similar ones.

    The functions are Hermite polynomials times exp(-z^2 / 2) with z = (x - middle) / scale. They
    need no bounds, and vanish at sqrt(2 terms) + 5 scales from the middle. Numbers further away are
    not seen.

    Args:
        terms: How many functions, from 2 to 64.
        middle: The middle of the bell.
        scale: About sqrt(2) times the standard deviation of the bell.

    Proof:
        Hermite functions are orthonormal on the real line. Scaled to the interval outside of which
        they vanish, they are orthonormal under the uniform distribution there.

    Example:
        >>> basis = Hermite(8, middle=50, scale=10)
        >>> [float(end) for end in basis.ends], round(basis.l1 / basis.l2, 2)
        ([-40.0, 140.0], 2.64)
    """

    terms: int = attrs.field(converter=number_of_terms)
    middle: Fraction = attrs.field(converter=_middle, kw_only=True)
    scale: Fraction = attrs.field(converter=public_scale, kw_only=True)

    @property
    def _reach(self) -> int:
        return isqrt(2 * self.terms) + _BEYOND

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.middle - self._reach * self.scale, self.middle + self._reach * self.scale

    def functions(self) -> Floats:
        z = self._reach * (2 * middle_shares(self.cells) - 1)[:, None]
        orders = np.arange(self.terms)
        squares = [i * log(2) + lgamma(i + 1) + log(pi) / 2 for i in orders.tolist()]
        sizes = np.exp(-(z**2 + np.array(squares)) / 2) * np.sqrt(2 * self._reach)
        values: Floats = hermvander(z[:, 0], self.terms - 1) * sizes
        return values


_LAGUERRE_BEYOND = 30


@spellable
@attrs.frozen(repr=False)
class Laguerre(Smooth):
    """Laguerre functions, for densities that decay from a bound.

    The functions are Laguerre polynomials times exp(-z / 2) with z = (x - lower) / scale. They
    vanish at 4 terms + 30 scales. Numbers further away are not seen, and numbers below the bound
    count as it.

    Args:
        terms: How many functions, from 2 to 64.
        scale: About half of the mean distance from the bound.
        lower: The bound.

    Proof:
        Laguerre functions are orthonormal on the half line. All are 1 at the bound and nowhere
        larger, so l1 / l2 is sqrt(terms).

    Example:
        >>> basis = Laguerre(9, scale=10)
        >>> [float(end) for end in basis.ends], round(basis.l1 / basis.l2, 2)
        ([0.0, 660.0], 3.0)
    """

    terms: int = attrs.field(converter=number_of_terms)
    scale: Fraction = attrs.field(converter=public_scale, kw_only=True)
    lower: Fraction = attrs.field(default=Fraction(0), converter=lower_bound, kw_only=True)

    @property
    def _reach(self) -> int:
        return 4 * self.terms + _LAGUERRE_BEYOND

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.lower + self._reach * self.scale

    def functions(self) -> Floats:
        z = self._reach * middle_shares(self.cells)
        values = lagvander(z, self.terms - 1) * np.exp(-z / 2)[:, None]
        units: Floats = values * np.sqrt(self._reach)
        return units


def cosines(cells: int, terms: int) -> Floats:
    """1 and sqrt(2) cos(pi i u) in the middles of so many cells, shape (cells, terms)."""
    waves: Floats = np.sqrt(2) * np.cos(np.pi * middle_shares(cells)[:, None] * np.arange(terms))
    waves[:, 0] = 1
    return waves


@spellable
@attrs.frozen(repr=False)
class Cosine(Interval):
    """Cosines, for smooth densities. Use this basis unless you know a better one.

    The functions are 1 and sqrt(2) cos(pi i u) for i = 1, 2, and so on. Nothing jumps at the
    bounds.

    Args:
        terms: How many functions, from 2 to 64.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        All functions are largest at the lower end. With k terms l2 is sqrt(2 k - 1) and l1 is 1 +
        sqrt(2) (k - 1).

    Example:
        >>> basis = Cosine(12, 0, 100)
        >>> round(basis.l1, 1), round(basis.l2, 1)
        (16.6, 4.8)
    """

    def functions(self) -> Floats:
        return cosines(self.cells, self.terms)


@spellable
@attrs.frozen(repr=False)
class Chebyshev(Interval):
    """Chebyshev polynomials, for moments and for detail at the ends.

    The functions are 1 and sqrt(2) T_i, orthonormal under the arcsine distribution. A density is
    their sum times 1 / sqrt(u (1 - u)), so its values and errors are large close to the ends.

    Args:
        terms: How many functions, from 2 to 64.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        T_i(cos t) = cos(i t), and t is uniform under the arcsine distribution, so cells are of one
        width in t. All functions are largest at the ends. With k terms l2 is sqrt(2 k - 1) and l1
        is 1 + sqrt(2) (k - 1), less than Legendre's for the same polynomials.

    Example:
        >>> basis = Chebyshev(12, 0, 100)
        >>> round(basis.l1, 1), round(basis.l2, 1)
        (16.6, 4.8)
    """

    def functions(self) -> Floats:
        return cosines(self.cells, self.terms)[::-1]

    def edges(self) -> Floats:
        return self._at(np.sin(np.pi / 2 * np.linspace(0, 1, self.cells + 1)) ** 2)


@spellable
@attrs.frozen(repr=False)
class Fourier(Interval):
    """Sines and cosines, for numbers that come around, such as hours of a day or directions.

    The functions are 1, sqrt(2) cos and sqrt(2) sin of 2 pi j u, for j = 1, 2, and so on.

    Args:
        terms: How many functions, from 2 to 64. An odd number keeps pairs of cosine and sine.
        lower: The lower end of the interval, the same place as the upper end.
        upper: The upper end.

    Proof:
        cos^2 + sin^2 = 1, so l2 is sqrt(terms) at every number where terms is odd.

    Example:
        >>> basis = Fourier(9, 0, 24)
        >>> round(basis.l1, 2), round(basis.l2, 3)
        (8.6, 3.0)
    """

    def functions(self) -> Floats:
        orders = np.arange(self.terms)
        turns = middle_shares(self.cells)[:, None] * ((orders + 1) // 2) - (orders % 2 == 0) / 4
        waves: Floats = np.sqrt(2) * np.cos(2 * np.pi * turns)
        waves[:, 0] = 1
        return waves

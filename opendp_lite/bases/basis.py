"""Orthonormal functions on an interval, and how far their values at one number can be apart."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import isfinite, isqrt, lgamma, log, pi, sqrt
from typing import Any, Final

import attrs
import numpy as np
from numpy.polynomial.hermite import hermvander
from numpy.polynomial.laguerre import lagvander
from numpy.polynomial.legendre import legvander

from opendp_lite.base.errors import ParameterError, find_library
from opendp_lite.base.frozen import fields_of
from opendp_lite.base.public_names import path_of
from opendp_lite.base.spelling import Storable, spellable
from opendp_lite.bodies.points import Points
from opendp_lite.engines.data.fold import Floats
from opendp_lite.numbers import exact
from opendp_lite.numbers.exact import Number
from opendp_lite.numbers.norms import Norms

CELLS: Final = 2**14
"""How many cells a smooth basis has."""
MOST_TERMS: Final = 64
MOST_CELLS: Final = 512
_FEWEST_TERMS: Final = 2
_LARGEST_ENTRY: Final = 1e100
_NARROWEST: Final = 1e-100


def to_float(value: Fraction) -> Fraction:
    """The rational that the nearest float stands for. Edges and a repr can hold no more digits."""
    close = exact.nearest(value)
    return exact.rational_of_float(close) if isfinite(close) else value


def lower_bound(value: Number) -> Fraction:
    """A public number."""
    return to_float(exact.exact(value, "lower"))


def upper_bound(value: Number) -> Fraction:
    """A public number."""
    return to_float(exact.exact(value, "upper"))


def public_scale(value: Number) -> Fraction:
    """A public number above 0."""
    return to_float(exact.positive(value, "scale"))


def middle_shares(cells: int) -> Floats:
    """Where the middles of so many cells of [0, 1] lie."""
    return (np.arange(cells) + 0.5) / cells


def number_of_terms(value: int) -> int:
    """How many functions, from 2 to 64."""
    return at_most(exact.whole(value, "terms", least=_FEWEST_TERMS), "terms", MOST_TERMS)


def at_most(value: int, name: str, most: int) -> int:
    """A public number, refused where it is larger."""
    if value > most:
        raise ParameterError(f"{name} must be at most {most}, got {exact.quote(value)}")
    return value


def power_of_two(value: int, name: str) -> int:
    """A power of two from 2 to 512."""
    found = exact.whole(value, name, least=_FEWEST_TERMS)
    if found & (found - 1) or found > MOST_CELLS:
        raise ParameterError(
            f"{name} must be a power of two from 2 to {MOST_CELLS}, got {exact.quote(found)}"
        )
    return found


def edges_between(name: str, ends: tuple[Fraction, Fraction], shares: Floats) -> Floats:
    """The edges that lie at these shares of an interval, refused where floats cannot rise so."""
    lower, upper = map(exact.nearest, ends)
    if max(abs(lower), abs(upper)) <= _LARGEST_ENTRY and upper - lower >= _NARROWEST:
        edges = lower + (upper - lower) * shares
        if (np.diff(edges) > 0).all():
            return edges
    first, last = map(exact.format_number, ends)
    if ends[0] >= ends[1]:
        advice = "they are equal" if first == last else "swap them"
        raise ParameterError(f"{name}: lower must be below upper, got {first}, {last}; {advice}")
    raise ParameterError(
        f"{name}: floats from {first} to {last} make no {len(shares) - 1} cells; "
        "bounds may not be too close together for their size, nor closer "
        f"than {_NARROWEST:g}, nor beyond {_LARGEST_ENTRY:g}"
    )


class Basis(Storable, ABC):
    """Orthonormal functions on an interval that is cut into public cells.

    The functions are orthonormal under the uniform distribution on [0, 1], to which the interval is
    scaled. A number stands for the middle of its cell. A number beyond the bounds counts in the
    outermost cell, and a missing one nowhere.

    ``l1``, ``l2`` and ``linf`` are the largest norms of the functions' values at one number,
    rounded up: the sensitivity of their sums under add/remove. ``replacing()`` has those of a
    difference. ``functions()`` has the values in the middle of each cell, and ``edges()`` the edges
    of the cells.

    Example:
        >>> import opendp_lite as dp
        >>> basis = dp.bases.Haar(4, 0, 8)
        >>> isinstance(basis, dp.bases.Basis), basis.terms, basis.edges()
        (True, 4, array([0., 2., 4., 6., 8.]))
    """

    def __attrs_post_init__(self) -> None:
        # Refuses an interval on which floats cannot rise from cell to cell.
        self.edges()

    @property
    @abstractmethod
    def terms(self) -> int:
        """How many functions."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells."""

    @property
    @abstractmethod
    def ends(self) -> tuple[Fraction, Fraction]:
        """The bounds of the interval."""

    @abstractmethod
    def functions(self) -> Floats:
        """The functions in the middle of each cell of [0, 1], shape (cells, terms)."""

    def weights(self) -> Floats:
        """What each function is multiplied by in the sums, 1 by default; see ``Weighted``."""
        return np.ones(self.terms)

    def edges(self) -> Floats:
        """The rising edges of the cells, one more than cells."""
        return self._at(np.linspace(0, 1, self.cells + 1))

    def _at(self, shares: Floats) -> Floats:
        """The edges that lie at these shares of the interval."""
        return edges_between(type(self).__name__, self.ends, shares)

    def middles(self) -> Floats:
        """The number that each cell stands for."""
        edges = self.edges()
        return (edges[1:] + edges[:-1]) / 2

    def points(self) -> Points:
        """The rows that the functions make, with their exact norms."""
        return _points(self)

    @property
    def l1(self) -> float:
        """The largest sum over the functions of their absolute values, rounded up."""
        return self.points().radius(1)

    @property
    def l2(self) -> float:
        """The largest root of the sum of their squares, rounded up."""
        return self.points().radius(2)

    @property
    def linf(self) -> float:
        """The largest absolute value of any function, rounded up."""
        return self.points().radius(float("inf"))

    def replacing(self) -> Norms:
        """Bounds on the norms of a difference of the functions' values at two numbers."""
        return self.points().diameters()

    def spell(self) -> tuple[str, Mapping[str, object]]:
        """The public name and its arguments."""
        return type(self).__name__, fields_of(self)

    def __repr__(self) -> str:
        texts = [
            f"{name}={exact.format_number(value) if isinstance(value, Fraction) else value}"
            for name, value in fields_of(self).items()
        ]
        return f"{path_of(type(self))}({', '.join(texts)})"


@lru_cache(maxsize=8)
def _points(basis: Basis) -> Points:
    edges, table = basis.edges(), np.asarray(basis.functions(), dtype=np.float64)
    weights = np.asarray(basis.weights(), dtype=np.float64)
    shapes = (basis.cells + 1,), (basis.cells, basis.terms)
    if (edges.shape, table.shape) != shapes:
        raise ParameterError(
            f"{type(basis).__name__}: edges() and functions() must have the shapes {shapes[0]} and "
            f"{shapes[1]}, got {edges.shape} and {table.shape}"
        )
    if not (np.diff(edges) > 0).all() or not _NARROWEST <= np.abs(table).max() <= _LARGEST_ENTRY:
        raise ParameterError(
            f"{type(basis).__name__}: edges() must rise, and the largest of functions() must lie "
            f"from {_NARROWEST:g} to {_LARGEST_ENTRY:g}"
        )
    return Points.nearest_to(basis, edges[1:-1], table * weights)


class Bounded(Basis):
    """Functions on [lower, upper]."""

    lower: Fraction
    upper: Fraction

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.upper


class Smooth(Basis):
    """Functions on as many cells as a smooth basis has."""

    @property
    def cells(self) -> int:
        return CELLS


@attrs.frozen(repr=False)
class Interval(Smooth, Bounded):
    """So many functions on [lower, upper]."""

    terms: int = attrs.field(converter=number_of_terms)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)


def _cells(value: int) -> int:
    return power_of_two(value, "cells")


@attrs.frozen(repr=False)
class Stepped(Bounded):
    """As many functions as cells of [lower, upper]."""

    cells: int = attrs.field(converter=_cells)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)

    @property
    def terms(self) -> int:
        return self.cells


def _basis(value: Basis) -> Basis:
    if not isinstance(value, Basis):
        raise ParameterError(
            f"Weighted needs a basis such as dp.bases.Cosine(24, 0, 100), got {exact.quote(value)}"
        )
    return value


@spellable
@attrs.frozen(repr=False)
class Weighted(Basis):
    """Another basis, each function but the first divided by the root of its place.

    Function j counts 1 / sqrt(j) times as much, so the sums move less and need less noise. Its sum
    is multiplied by sqrt(j) when it is read. So coarse functions have less noise and fine ones
    more. Shares of rows, quantiles and moments get better by it, but for shares close to a bound.
    Fine detail of a density gets worse.

    Args:
        basis: With its functions from coarse to fine, ``Cosine(24, 0, 100)`` say.

    Proof:
        The norms are those of the weighted functions, exactly, as for every basis. A share below a
        number has coefficients of about 1 / j. Its noise is least where the weights are the roots
        of these.

    Example:
        >>> import opendp_lite as dp
        >>> plain = dp.bases.Cosine(24, 0, 100)
        >>> round(Weighted(plain).l2, 2), round(plain.l2, 2)
        (2.91, 6.86)
    """

    basis: Basis = attrs.field(converter=_basis)

    @property
    def terms(self) -> int:
        return self.basis.terms

    @property
    def cells(self) -> int:
        return self.basis.cells

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.basis.ends

    def edges(self) -> Floats:
        return self.basis.edges()

    def functions(self) -> Floats:
        return self.basis.functions()

    def weights(self) -> Floats:
        places: Floats = np.maximum(np.arange(self.terms), 1.0)
        return self.basis.weights() / np.sqrt(places)


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
    return to_float(exact.exact(value, "middle"))


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
        cos(v)^2 + sin(v)^2 = 1, so l2 is sqrt(terms) at every number where terms is odd.

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


@spellable
@attrs.frozen(repr=False)
class Haar(Stepped):
    """Haar wavelets: a histogram, from coarse to fine.

    The functions are 1 and the steps up and down by halves, quarters and so on of the interval.

    Args:
        cells: How many cells of one width, a power of two up to 512.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        At each number one wavelet of each size is not 0, but +-2^(j/2). With k cells l2 is sqrt(k)
        and l1 is 1 + (sqrt(k) - 1) / (sqrt(2) - 1), a little over 2.4 sqrt(k). This is the least l1
        of all bases on these cells here.

    Example:
        >>> basis = Haar(16, 0, 100)
        >>> round(basis.l1, 2), round(basis.l2, 2)
        (8.24, 4.0)
    """

    def functions(self) -> Floats:
        rows = [np.ones(self.cells)]
        pieces = 1
        while pieces < self.cells:
            half = self.cells // pieces // 2
            step = np.sqrt(pieces) * np.repeat([1.0, -1.0], half)
            rows.extend(np.kron(np.eye(pieces), step))
            pieces *= 2
        return np.array(rows).T


_MOST_MOMENTS: Final = 20


def _terms(value: int) -> int:
    return at_most(power_of_two(value, "terms"), "terms", MOST_TERMS)


def _moments(value: int) -> int:
    return at_most(exact.whole(value, "moments", least=1), "moments", _MOST_MOMENTS)


def _pywt() -> Any:
    needs = "Daubechies needs PyWavelets"
    return find_library("pywt", needs, "wavelets", more="; Haar does without")


@spellable
@attrs.frozen(repr=False)
class Daubechies(Smooth, Bounded):
    """Daubechies wavelets, for smooth densities with sharp places.

    The two ends of the interval count as one place. You need PyWavelets, from ``pip install
    opendp_lite[wavelets]``.

    Args:
        terms: How many functions, a power of two up to 64: 1 and the wavelets of all sizes down to
            2 / terms of the interval.
        lower: The lower end of the interval.
        upper: The upper end.
        moments: How many moments of a wavelet vanish, up to 20. With more, wavelets are smoother
            and wider. With 1 this is ``Haar``.

    Raises:
        ParameterError: If PyWavelets is not installed.

    Proof:
        Daubechies 1988. The functions are the inverse transform of unit vectors, on 2^14 cells.

    Example:
        >>> basis = Daubechies(16, 0, 100)
        >>> round(basis.l1, 1), round(basis.l2, 1)
        (13.7, 4.7)
    """

    terms: int = attrs.field(converter=_terms)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)
    moments: int = attrs.field(default=4, converter=_moments, kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        _pywt()

    def functions(self) -> Floats:
        rebuilt, wavelet = _pywt().idwt, f"db{self.moments}"
        signals = np.eye(1)
        while signals.shape[1] < self.cells:
            size = len(signals)
            finer = min(size, self.terms - size)
            details = np.eye(finer, size)
            smooth = rebuilt(signals, None, wavelet, mode="periodization", axis=1)
            sharp = rebuilt(None, details, wavelet, mode="periodization", axis=1)
            signals = np.concatenate([smooth, sharp]) if finer else smooth
        found: Floats = np.sqrt(self.cells) * signals.T
        return found


def hadamard_matrix(size: int) -> Floats:
    """Sylvester's matrix of +-1, of a size that is a power of two."""
    matrix = np.ones((1, 1))
    while len(matrix) < size:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


@spellable
@attrs.frozen(repr=False)
class Hadamard(Stepped):
    """Walsh-Hadamard functions: a histogram in which a row moves all sums by the same amount.

    The functions are +1 or -1 on each cell.

    Args:
        cells: How many cells of one width, a power of two up to 512.
        lower: The lower end of the interval.
        upper: The upper end.

    Proof:
        With k cells l2 is sqrt(k) and l1 is k. With rows of length 1 these are 1 and sqrt(k). Free
        Lunch, appendix D, claims 1 for both; Laplace noise for an l1 distance of 1 would lose
        sqrt(k) times the claimed epsilon.

    Example:
        >>> basis = Hadamard(16, 0, 100)
        >>> basis.l1, basis.l2
        (16.0, 4.0)
    """

    def functions(self) -> Floats:
        return hadamard_matrix(self.cells)


_PAIR = 2
_MOST_PRIME = 61


def _unbiased_cells(value: int) -> int:
    cells = exact.whole(value, "cells", least=2)
    prime = cells % 2 == 1 and all(cells % i for i in range(3, isqrt(cells) + 1, 2))
    if (prime and cells <= _MOST_PRIME) or (not cells & (cells - 1) and cells <= MOST_CELLS // 2):
        return cells
    raise ParameterError(
        f"cells must be an odd prime up to {_MOST_PRIME} or a power of two up to "
        f"{MOST_CELLS // 2}, got {exact.quote(cells)}"
    )


def _bases(value: int) -> int:
    return exact.whole(value, "bases", least=1)


@spellable
@attrs.frozen(repr=False)
class MutuallyUnbiased(Bounded):
    """Several bases on the same cells, as different from each other as can be.

    A function of one basis is spread evenly over all functions of another.

    Each real basis has k columns and each complex one 2 k, for real and imaginary parts; a column
    of zeros is left out. Each basis is divided by sqrt(bases). A row is then as long as in one
    basis, and the functions together serve as an orthonormal basis does (a Parseval frame).

    Args:
        cells: How many cells k of one width, an odd prime up to 61 or a power of two up to 256.
        lower: The lower end of the interval.
        upper: The upper end.
        bases: How many bases, 2 by default. For a power of two there are two, the cells themselves
            and Hadamard's. For a prime there are k + 1.

    Raises:
        ParameterError: If there are not so many cells or bases.

    Proof:
        Wootters and Fields 1989. For an odd prime k the vectors exp(2 pi i (r j^2 + s j) / k) /
        sqrt(k), s = 0, ..., k - 1, are a basis for each r = 0, ..., k - 1. Any two of these and the
        cells themselves are unbiased (Gauss sums). r = 0 is the discrete Fourier basis.

    Example:
        >>> basis = MutuallyUnbiased(7, 0, 7, bases=3)
        >>> basis.terms, round(basis.l2**2, 6)
        (34, 7.0)
    """

    cells: int = attrs.field(converter=_unbiased_cells)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)
    bases: int = attrs.field(default=_PAIR, converter=_bases, kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        most = self.cells + 1 if self.cells % 2 else _PAIR
        if self.bases > most:
            raise ParameterError(
                f"there are {most} bases on {self.cells} cells, not {exact.quote(self.bases)}"
            )

    @property
    def terms(self) -> int:
        if self.cells % 2 == 0:
            return self.bases * self.cells
        return self.cells + 2 * self.cells * (self.bases - 1) - (self.bases > 1)

    def functions(self) -> Floats:
        found = [np.sqrt(self.cells) * np.eye(self.cells)]
        if self.cells % 2 == 0:
            found.append(hadamard_matrix(self.cells))
        else:
            found.extend(self._waves(rate) for rate in range(self.bases - 1))
        together: Floats = np.concatenate(found[: self.bases], axis=1)
        return together / sqrt(self.bases)

    def _waves(self, rate: int) -> Floats:
        places = np.arange(self.cells)
        turns = (rate * places**2)[:, None] + places[:, None] * places
        angles = 2 * np.pi * (turns % self.cells) / self.cells
        parts = np.concatenate([np.cos(angles), np.sin(angles)], axis=1)
        return parts if rate else np.delete(parts, self.cells, axis=1)

"""Haar wavelets."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from math import isqrt, sqrt
from types import ModuleType
from typing import Final

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.spelling import spellable
from opendp_lite.bases.basis import (
    MOST_CELLS,
    MOST_TERMS,
    Bounded,
    Smooth,
    Stepped,
    at_most,
    lower_bound,
    power_of_two,
    upper_bound,
)
from opendp_lite.engines.data.fold import Floats
from opendp_lite.numbers.exact import quote, whole


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
    return at_most(whole(value, "moments", least=1), "moments", _MOST_MOMENTS)


def _pywt() -> ModuleType:
    try:
        return import_module("pywt")
    except ImportError:
        raise ParameterError(
            "Daubechies needs PyWavelets, which is not installed; type: pip install "
            '"opendp_lite[wavelets]"; Haar does without'
        ) from None


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


def _cells(value: int) -> int:
    cells = whole(value, "cells", least=2)
    prime = cells % 2 == 1 and all(cells % i for i in range(3, isqrt(cells) + 1, 2))
    if (prime and cells <= _MOST_PRIME) or (not cells & (cells - 1) and cells <= MOST_CELLS // 2):
        return cells
    raise ParameterError(
        f"cells must be an odd prime up to {_MOST_PRIME} or a power of two up to "
        f"{MOST_CELLS // 2}, got {quote(cells)}"
    )


def _bases(value: int) -> int:
    return whole(value, "bases", least=1)


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

    cells: int = attrs.field(converter=_cells)
    lower: Fraction = attrs.field(converter=lower_bound)
    upper: Fraction = attrs.field(converter=upper_bound)
    bases: int = attrs.field(default=_PAIR, converter=_bases, kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        most = self.cells + 1 if self.cells % 2 else _PAIR
        if self.bases > most:
            raise ParameterError(
                f"there are {most} bases on {self.cells} cells, not {quote(self.bases)}"
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

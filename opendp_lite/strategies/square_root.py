"""The square root of the matrix of prefix sums."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.entries import Whole
from opendp_lite.engines.fold import Floats
from opendp_lite.norms import Norms
from opendp_lite.strategies.strategy import ROOM, Strategy

_BITS: Final = 20
"""Squares of 2^20 steps, 4096 of them, are whole numbers that int64 holds."""
_UNIT: Final = Fraction(1, 1 << _BITS)


@attrs.frozen(slots=False)
class SquareRoot(Strategy):
    """Product i is the sum over j <= i of ``c[j] counts[i - j]``, for c[j] = C(2j, j) / 4^j.

    The coefficients are rounded to multiples of 2^-20.

    Proof:
        The power series of 1 / (1 - x) is that of all ones, whose matrix takes prefix sums, and
        its root 1 / sqrt(1 - x) has the coefficients c. So c twice is the prefix sum, up to the
        rounding, which ``counts`` undoes: it inverts the rounded matrix.

        Column k holds c from row k on. So the first column has the largest norms. The difference
        of columns k and k + s holds c[0], ..., c[s - 1] and then c[j + s] - c[j] for every j below
        cells - k - s. For k = 0 it has the most entries, so the largest norms. Its squares add up
        to S(cells) + S(cells - s) - 2 R(s): S are the sums of the first squares and R(s) is the sum
        of c[j] c[j + s]. As c falls, its absolute values add up to 2 C(s) + C(cells - s) - C(cells)
        for C the sums of the first coefficients. Both are computed for every s, in integers.

        Henzinger, Upadhyay, Upadhyay 2023 (Almost tight error bounds on differentially private
        continual counting) and Fichtenberger, Henzinger, Upadhyay 2023 (Constant matters) have the
        factorisation, and that no other has a variance much below it.
    """

    cells: int

    @property
    def terms(self) -> int:
        return self.cells

    @property
    def exponent(self) -> int:
        return -_BITS

    @cached_property
    def steps(self) -> Whole:
        """The coefficients in steps."""
        odd = 2 * np.arange(1, self.cells) - 1
        ratios = np.concatenate([[1.0], odd / (odd + 1)])
        return np.rint(np.cumprod(ratios) * 2.0**_BITS).astype(np.int64)

    def radii(self) -> Norms:
        steps = self.steps
        return _norms(int(steps.sum()), int((steps * steps).sum()), int(steps.max()))

    def diameters(self) -> Norms:
        steps = self.steps
        sums = np.concatenate([[0], np.cumsum(steps)])
        squares = np.concatenate([[0], np.cumsum(steps * steps)])
        apart = np.arange(1, self.cells)
        left = self.cells - apart
        products = np.correlate(steps, steps, "full")[self.cells :]
        l1 = 2 * sums[apart] + sums[left] - sums[-1]
        l2 = squares[-1] + squares[left] - 2 * products
        return _norms(int(l1.max()), int(l2.max()), int(steps.max()))

    def products(self, counts: Whole) -> NDArray[Any]:
        fits = int(counts.sum()) * int(self.steps.max()) < ROOM
        steps, kind = self.steps, np.int64 if fits else object
        found: NDArray[Any] = np.convolve(counts.astype(kind), steps.astype(kind))[: self.cells]
        return found

    @cached_property
    def _inverse(self) -> Floats:
        """The power series of one over the coefficients."""
        steps = self.steps * 2.0**-_BITS
        found = np.zeros(self.cells)
        found[0] = 1 / steps[0]
        for place in range(1, self.cells):
            found[place] = -(steps[place:0:-1] @ found[:place]) / steps[0]
        return found

    @cached_property
    def _length(self) -> int:
        """At least twice the cells, and quick for a Fourier transform."""
        return min(each << ((2 * self.cells - 1) // each).bit_length() for each in (1, 3, 5, 9))

    @cached_property
    def _turned(self) -> NDArray[np.complex128]:
        return np.fft.rfft(self._inverse, self._length)

    def counts(self, products: Floats) -> Floats:
        return self._filtered(products, self._turned)

    def weights(self, of_cells: Floats) -> Floats:
        return self._filtered(of_cells, self._turned.conj())

    def _filtered(self, given: Floats, by: NDArray[np.complex128]) -> Floats:
        turned = np.fft.rfft(given, self._length, axis=-1) * by
        found: Floats = np.fft.irfft(turned, self._length, axis=-1)[..., : self.cells]
        return found


def _norms(l1: int, l2_squared: int, linf: int) -> Norms:
    return Norms.squared(l1 * _UNIT, l2_squared * _UNIT**2, linf * _UNIT)


@lru_cache(maxsize=8)
def square_root(cells: int) -> SquareRoot:
    """The strategy of so many cells, with what was computed of it before."""
    return SquareRoot(cells)

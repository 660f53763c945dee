"""The base class of all strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import log, prod, sqrt
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import ParameterError
from opendp_lite.bases.basis import edges_between, lower_bound, upper_bound
from opendp_lite.engines.data.arrays import Whole
from opendp_lite.engines.data.fold import Floats, Numeric
from opendp_lite.numbers.exact import Number, format_number, nearest, quote, whole
from opendp_lite.numbers.norms import Norms

ROOM: Final = 1 << 62
"""What int64 certainly holds."""
_AT_ONCE: Final = 256


@attrs.frozen(eq=False)
class Products:
    """Inner products of the weights of some counts: with themselves, and with those of all."""

    squares: Floats
    along: Floats


class Strategy(ABC):
    """A public matrix of whole numbers whose products with the counts of cells are released.

    The counts can be estimated from the noisy products, and sums of many neighbouring cells with
    much less noise than from noisy counts.

    Args:
        cells: How many cells.
    """

    cells: int

    @property
    @abstractmethod
    def terms(self) -> int:
        """How many products."""

    @property
    @abstractmethod
    def exponent(self) -> int:
        """The matrix holds multiples of 2^exponent."""

    @abstractmethod
    def radii(self) -> Norms:
        """Bounds on the norms of a column: what one row adds."""

    @abstractmethod
    def diameters(self) -> Norms:
        """Bounds on the norms of a difference of two columns: what replacing one row does."""

    @abstractmethod
    def products(self, counts: Whole) -> Numeric:
        """The products, exactly, in whole steps of 2^exponent."""

    @abstractmethod
    def counts(self, products: Floats) -> Floats:
        """The counts by least squares, from products of shape (..., terms)."""

    @abstractmethod
    def weights(self, of_cells: Floats) -> Floats:
        """The transpose of ``counts``: weights of cells as weights of the products."""

    @abstractmethod
    def noise(self, generator: np.random.Generator, runs: int) -> Floats:
        """Draws the noise that is put on the products, scaled to variance 1."""

    @cached_property
    def everything(self) -> Floats:
        """The weights of the products in the number of all rows."""
        return self.weights(np.ones(self.cells))

    @cached_property
    def of_edges(self) -> Products:
        """For the cells up to each one."""
        return self._multiply(lambda places: np.arange(self.cells) <= places[:, None])

    @cached_property
    def of_cells(self) -> Products:
        """For each cell."""
        return self._multiply(lambda places: np.arange(self.cells) == places[:, None])

    def _multiply(self, chosen: Callable[[Whole], NDArray[np.bool_]]) -> Products:
        squares, along = [], []
        for some in np.array_split(np.arange(self.cells), self.cells // _AT_ONCE + 1):
            weights = self.weights(chosen(some).astype(np.float64))
            squares.append((weights * weights).sum(axis=1))
            along.append(weights @ self.everything)
        return Products(np.concatenate(squares), np.concatenate(along))


_MOST: Final = 4096


def _nearest_edges(ends: tuple[Fraction, Fraction], count: int, close: Floats) -> Floats:
    """The floats nearest to the edges, so that a whole number at one is not a float beyond it.

    Where cells are about as narrow as floats and two edges fall together, floats close to them.
    """
    width = (ends[1] - ends[0]) / count
    edges = np.array([nearest(ends[0] + place * width) for place in range(count + 1)])
    return edges if (np.diff(edges) > 0).all() else close


@attrs.frozen(eq=False)
class Cells:
    """So many cells of one width between two bounds, and one for the lower bound alone.

    A number at an edge belongs to the cell below that edge, and one beyond the bounds counts at the
    bound. So the first cell holds the numbers up to the lower bound, and the cells up to an edge
    hold the numbers up to that edge, for each edge.

    Args:
        ends: The bounds.
        edges: The rising edges, as many as cells with the first.
    """

    ends: tuple[Fraction, Fraction]
    edges: Floats

    @classmethod
    def between(cls, step: str, lower: Number, upper: Number, cells: int) -> Cells:
        """Refuses bounds that make no such cells, in the name of a step."""
        count = whole(cells, f"{step}: cells", least=1)
        if count > _MOST:
            raise ParameterError(
                f"{step}: cells must be at most {_MOST}, got {quote(count)}; shares between "
                "two edges are interpolated"
            )
        ends = lower_bound(lower), upper_bound(upper)
        close = edges_between(step, ends, np.linspace(0, 1, count + 1))
        return cls(ends, _nearest_edges(ends, count, close))

    @property
    def middles(self) -> Floats:
        """The number that each cell stands for."""
        edges = self.edges
        return np.concatenate([edges[:1], (edges[1:] + edges[:-1]) / 2])

    @property
    def centre(self) -> Floats:
        """Halfway between the bounds, as an array of one number."""
        return np.array([float((self.ends[0] + self.ends[1]) / 2)])

    def __str__(self) -> str:
        lower, upper = map(format_number, self.ends)
        return f"{len(self.edges) - 1} cells from {lower} to {upper}"


# Squares of 2^20 steps, 4096 of them, are whole numbers that int64 holds.
_BITS: Final = 20
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

    def products(self, counts: Whole) -> Numeric:
        fits = int(counts.sum()) * int(self.steps.max()) < ROOM
        steps, kind = self.steps, np.int64 if fits else object
        return np.convolve(counts.astype(kind), steps.astype(kind))[: self.cells]

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
    def _transform(self) -> NDArray[np.complex128]:
        return np.fft.rfft(self._inverse, self._length)

    def noise(self, generator: np.random.Generator, runs: int) -> Floats:
        return generator.standard_normal((runs, self.terms))

    def counts(self, products: Floats) -> Floats:
        return self._filter_rows(products, self._transform)

    def weights(self, of_cells: Floats) -> Floats:
        return self._filter_rows(of_cells, self._transform.conj())

    def _filter_rows(self, given: Floats, by: NDArray[np.complex128]) -> Floats:
        turned = np.fft.rfft(given, self._length, axis=-1) * by
        return np.fft.irfft(turned, self._length, axis=-1)[..., : self.cells]


def _norms(l1: int, l2_squared: int, linf: int) -> Norms:
    return Norms.squared(l1 * _UNIT, l2_squared * _UNIT**2, linf * _UNIT)


square_root: Final = lru_cache(maxsize=8)(SquareRoot)
"""The strategy of so many cells, with what was computed of it before."""


# Once shares are made to rise, sixths err 3 to 9 % less on average than tenths where rows are
# added, and at most 5 % more at the worst edge: one more size is a fourth more noise there, not a
# third. Quarters err as much on average, and up to 6 % more at the worst edge.
_ADDED, _REPLACED = 6, 10


@attrs.frozen(slots=False)
class Tree(Strategy):
    """All rows, blocks of about a sixth of the cells, a sixth of those, down to single cells.

    Where rows are ``replaced``, of a tenth: the count of all rows then costs nothing.

    Proof:
        A row counts in one block of each of h sizes, so it adds h ones. Where one row takes the
        place of another, the count of all rows stays, and of each other size at most one block
        gains a one and one loses it.

        ``counts`` are those of least squares. The last block of a size may reach beyond the cells:
        no row is there, which least squares must know. The matrix times its transpose M of a block
        is that of its blocks one size smaller, side by side, plus a matrix of ones. So, by Sherman
        and Morrison, with s the sum of all entries of the inverses of the smaller ones, and t that
        of these inverses times v, the inverse of M has the sum s / (1 + s), and times v it has
        t / (1 + s): that is what v is reduced by in all smaller blocks (Hay, Rastogi, Miklau and
        Suciu 2010 have it for blocks of one size).
    """

    cells: int
    replaced: bool = False

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the blocks in cells, from single cells to one block of all."""
        branches = _REPLACED if self.replaced else _ADDED
        left, levels = self.cells, max(1, round(log(self.cells) / log(branches)))
        found = []
        for level in range(levels, 0, -1):
            found.append(_least_root(left, level))
            left = -(-left // found[-1])
        return tuple(prod(found[place:]) for place in range(levels, -1, -1))

    @property
    def _width(self) -> int:
        return self.sizes[-1]

    @property
    def terms(self) -> int:
        return sum(self._width // size for size in self.sizes)

    @property
    def exponent(self) -> int:
        return 0

    def radii(self) -> Norms:
        return Norms(l1=len(self.sizes), linf=1)

    def diameters(self) -> Norms:
        return Norms(l1=2 * (len(self.sizes) - 1), linf=1)

    def products(self, counts: Whole) -> Numeric:
        return self._blocks(self._with_padding(counts))

    def _with_padding(self, of_cells: Numeric) -> Numeric:
        more = (*[(0, 0)] * (of_cells.ndim - 1), (0, self._width - self.cells))
        return np.pad(of_cells, more)

    def _blocks(self, of_cells: Numeric) -> Numeric:
        """The sums of all blocks, those of single cells first."""
        return np.concatenate([self._sums(of_cells, size) for size in self.sizes], axis=-1)

    def _sums(self, of_cells: Numeric, size: int) -> Numeric:
        found: Numeric = of_cells.reshape(*of_cells.shape[:-1], -1, size).sum(axis=-1)
        return found

    def _solve(self, of_cells: Floats) -> Floats:
        """Divided by the matrix times its transpose; 0 in cells that are none."""
        present = (np.arange(self._width) < self.cells).astype(np.float64)
        alone, found, passed = present, of_cells * present, []
        for size, larger in pairwise(self.sizes):
            branches = larger // size
            whole = 1 + self._sums(alone, branches)
            alone, found = 1 - 1 / whole, self._sums(found, branches) / whole
            passed.append((alone, found, branches))
        above = np.zeros(1)
        for alone, found, branches in reversed(passed):
            above = np.repeat(above + found - above * alone, branches, axis=-1)
        return (of_cells - above) * present

    def noise(self, generator: np.random.Generator, runs: int) -> Floats:
        return generator.laplace(0, 1 / sqrt(2), (runs, self.terms))

    def counts(self, products: Floats) -> Floats:
        ends = np.cumsum([self._width // size for size in self.sizes])
        parts = np.split(products, ends[:-1], axis=-1)
        spread = [
            np.repeat(part, size, axis=-1) for part, size in zip(parts, self.sizes, strict=True)
        ]
        return self._solve(np.sum(spread, axis=0))[..., : self.cells]

    def weights(self, of_cells: Floats) -> Floats:
        return self._blocks(self._solve(self._with_padding(of_cells)))


def _least_root(number: int, power: int) -> int:
    """The least whole number of which such a power is at least a number."""
    found = 1
    while pow(found, power) < number:
        found += 1
    return found


tree: Final = lru_cache(maxsize=8)(Tree)
"""The strategy of so many cells, with what was computed of it before."""

"""The exact total of one clipped column, whatever the type of its numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Final, cast

import attrs
import numpy as np

from opendp_lite.base.errors import Argument, ParameterError
from opendp_lite.engines.data.arrays import Layout, Whole
from opendp_lite.engines.data.fold import Floats, Numeric
from opendp_lite.engines.missing import holds_missing
from opendp_lite.numbers.exact import floor_log2, nearest
from opendp_lite.numbers.kernels import ADD_BITS, ADD_CLIPPED

_EXACT: Final = 2**53
# Totals of short numbers below it are added up in int32, which is two to three times as fast.
_SHORT: Final = 2**31
_SINGLE: Final = np.dtype(np.float32)
_DOUBLE: Final = np.dtype(np.float64)
_BITS: Final = np.dtype(np.int64)


@attrs.frozen(eq=False, repr=False)
class ClippedColumn:
    """Subtracts a public number from each entry, rounds to a grid, and clips in grid steps.

    Types of whole numbers are clipped as they are, and so is float32 where it holds the bounds. An
    entry's image is that of the same number as a float64, to the last bit: every map from a number
    to its image here rises with the number, and they agree between the bounds.

    Attributes:
        exponent: The grid is the multiples of 2^exponent.
        least: The least image in grid steps, at most 2^51 in size.
        most: The largest image.
        subtracted: What is subtracted, as a float, before rounding.
    """

    exponent: int
    least: int
    most: int
    subtracted: float = 0.0

    @cached_property
    def _unit(self) -> Fraction:
        return Fraction(2) ** self.exponent

    @cached_property
    def _magic(self) -> Floats:
        return np.array(float(self._unit * 3 * 2**51))

    @cached_property
    def origin(self) -> int:
        """What the bits of 0 on the grid are."""
        return int(self._magic.view(_BITS))

    @cached_property
    def _ends(self) -> tuple[Whole, Whole]:
        """The bits of the least and of the largest image."""
        return np.array(self.least + self.origin), np.array(self.most + self.origin)

    @cached_property
    def _shift(self) -> Fraction:
        """What is subtracted, in grid steps."""
        return Fraction(self.subtracted) / self._unit

    @cached_property
    def _bounds(self) -> tuple[Fraction, Fraction]:
        """The numbers that have the least and the largest image, and are not rounded."""
        least, most = ((end + self._shift) * self._unit for end in (self.least, self.most))
        return least, most

    @cached_property
    def _whole(self) -> tuple[int, int] | None:
        """The same, where all whole numbers between them are floats and lie on the grid."""
        least, most = self._bounds
        if self.exponent > 0 or max(-least, most) > _EXACT:
            return None
        return (int(least), int(most)) if least.denominator == most.denominator == 1 else None

    @cached_property
    def _floats(self) -> dict[np.dtype[np.generic], tuple[Numeric, Numeric]]:
        """The same by type, for the types of floats that hold them."""
        found: dict[np.dtype[np.generic], tuple[Numeric, Numeric]] = {}
        for dtype in (_SINGLE, _DOUBLE):
            least, most = (np.array(nearest(bound)).astype(dtype) for bound in self._bounds)
            if all(map(isfinite, (least, most))) and self._bounds == (
                Fraction(float(least)),
                Fraction(float(most)),
            ):
                found[dtype] = least, most
        return found

    @cached_property
    def _of_bools(self) -> tuple[int, int]:
        """The images of False and of True, in grid steps."""
        bits = self._raise_bits(np.array([0.0, 1.0]), np.empty(2))
        zero, one = bits.clip(*self._ends).tolist()
        return zero - self.origin, one - self.origin

    def total(self, entries: Numeric, *, seen: bool) -> int | None:
        """The sum of the bits of the images modulo 2^64; None where an entry is NaN.

        Each image is ``origin`` and so many grid steps.

        Args:
            entries: A column of one dimension.
            seen: Whether it is known that no entry is NaN.
        """
        # A sum has no order, and backwards is slower.
        entries = entries[::-1] if entries.strides[0] < 0 else entries
        kind = entries.dtype.kind
        if kind == "b":
            ones = int(np.count_nonzero(entries))
            zero, one = self._of_bools
            return (len(entries) - ones) * zero + ones * one + len(entries) * self.origin
        if kind in "iu" and (ends := self._within(entries)) is not None:
            return self._of_whole(entries, *ends)
        if kind == "f" and (bounds := self._floats.get(_DOUBLE)) is not None:
            numbers = *map(float, bounds), self.subtracted, float(self._magic)
            if (found := ADD_BITS(entries, *numbers)) is not None:
                return None if found[1] else found[0]
        bits = self._bits(entries, whole=seen or kind != "f")
        return None if bits is None else int(np.add.reduce(bits))

    def _bits(self, entries: Numeric, *, whole: bool) -> Whole | None:
        """The bits of the images; None where an entry is NaN.

        ``whole`` is whether none is known to be. Where the bounds are floats the entries are
        clipped, and looked at again. Else the bits are, whatever they are: positive floats order
        as their bits do.
        """
        dtype = _SINGLE if entries.dtype == _SINGLE else _DOUBLE
        inside = np.empty(len(entries), dtype)
        out = cast(Floats, inside if dtype is _DOUBLE else np.empty(len(entries), _DOUBLE))
        bounds = self._floats.get(dtype)
        if bounds is not None:
            entries.clip(*bounds, out=inside)
            return None if holds_missing(inside) else self._raise_bits(inside, out)
        bits = self._raise_bits(entries, out)
        if not whole and holds_missing(out):
            return None
        bits.clip(*self._ends, out=bits)
        return bits

    def _raise_bits(self, entries: Numeric, out: Floats) -> Whole:
        """The bits of the entries less what is subtracted, with 1.5 * 2^52 grid units."""
        if entries.dtype != _DOUBLE:
            np.copyto(out, entries, casting="same_kind")
            entries = out
        if self.subtracted:
            entries = np.subtract(entries, self.subtracted, out=out)
        np.add(entries, self._magic, out=out)
        return out.view(np.int64)

    def _within(self, entries: Numeric) -> tuple[int, int] | None:
        """Whole bounds of the entries that their type holds, where there are such."""
        if self._whole is None:
            return None
        (low, high), limits = self._whole, np.iinfo(entries.dtype)
        if low > limits.max or high < limits.min:
            return None
        return max(low, int(limits.min)), min(high, int(limits.max))

    def _of_whole(self, entries: Numeric, least: int, most: int) -> int:
        dtype = entries.dtype
        # numpy is as fast with the types that are shorter.
        total = ADD_CLIPPED(entries, least, most) if dtype == _BITS else None
        if total is None:
            inside = np.empty(len(entries), dtype)
            entries.clip(dtype.type(least), dtype.type(most), out=inside)
            short = dtype.itemsize < _BITS.itemsize and len(entries) * max(-least, most) < _SHORT
            long = np.uint64 if dtype.kind == "u" else np.int64
            total = int(np.add.reduce(inside, dtype=np.int32 if short else long))
        steps = total << -self.exponent  # modulo 2^64, as all is
        return steps + len(entries) * (self.origin - int(self._shift))


MAGIC: Final = 3 * 2.0**51
"""Added to a number of grid steps, it rounds it: the bits then count up from ``ORIGIN``."""
ORIGIN: Final = int(np.float64(MAGIC).view(np.int64))
GRID_BITS: Final = 40
"""A body's grid is about 2^-40 of its radius: one row's rounding is invisible to 10^9 rows."""
_MOST_BITS: Final = 50
_NARROW_BITS: Final = 20
_EXTREME: Final = 900


def grid_exponent(
    name: str, largest: Fraction, narrowest: Fraction, narrow_bits: int = _NARROW_BITS
) -> int:
    """The exponent of the dyadic grid for a body, from its public geometry alone."""
    reach = floor_log2(largest)
    if abs(reach) > _EXTREME:
        raise ParameterError(
            Argument("bounds", step=name),
            f" beyond 2^{_EXTREME} or below 2^-{_EXTREME} cannot be summed; scale() the rows "
            "before",
        )
    fine = min(reach - GRID_BITS, floor_log2(narrowest) - narrow_bits)
    return max(fine, reach - _MOST_BITS)


class GridRounding(ABC):
    """Rounds blocks of rows to a body's grid, in integers, and never outside the body.

    The image of a row depends on that row alone (elementwise operations in a fixed order), whatever
    the row holds.
    """

    origin: int
    """What the bits of 0 on the grid are."""
    by_column: bool = False
    """Whether buffers may have any layout, and column after column is fastest."""
    any_type: bool = False
    """Whether ``unless_missing`` takes blocks of any type of number and any strides."""

    def each_column(self) -> Sequence[ClippedColumn]:
        """The same for each column, where they are clipped entry by entry; else none."""
        return ()

    def unless_missing(self, block: Numeric, out: Floats) -> bool:
        """As ``into``; False where an entry is NaN, and then ``out`` holds nothing."""
        raise NotImplementedError

    @abstractmethod
    def into(self, block: Floats, out: Floats) -> None:
        """Fills the float buffer ``out``, whose bits are then to be read as int64.

        Each entry minus ``origin`` is the coordinate in grid units. The buffer is C-ordered.
        """

    def steps(self, entries: Floats, layout: Layout) -> Whole:
        """The coordinates of entries, in grid units; only asked where the body keeps zeros."""
        raise NotImplementedError


@attrs.frozen(eq=False, repr=False)
class StepsOf(GridRounding):
    """A rounding by a function from rows to their whole steps."""

    function: Callable[[Floats], Numeric]
    origin = 0

    def into(self, block: Floats, out: Floats) -> None:
        out.view(np.int64)[...] = self.function(block)

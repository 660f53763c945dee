"""The exact total of one clipped column, whatever the type of its numbers."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.entries import Whole
from opendp_lite.engines.fold import Floats, Scratch
from opendp_lite.engines.missing import holds_missing
from opendp_lite.exact import nearest

_EXACT: Final = 2**53
_SHORT: Final = 2**31
"""Totals of short numbers below it are added up in int32, which is two to three times as fast."""
_SINGLE: Final[np.dtype[Any]] = np.dtype(np.float32)
_DOUBLE: Final[np.dtype[Any]] = np.dtype(np.float64)
_BITS: Final[np.dtype[Any]] = np.dtype(np.int64)


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
    def _moved(self) -> Fraction:
        """What is subtracted, in grid steps."""
        return Fraction(self.subtracted) / self._unit

    @cached_property
    def _bounds(self) -> tuple[Fraction, Fraction]:
        """The numbers that have the least and the largest image, and are not rounded."""
        least, most = ((end + self._moved) * self._unit for end in (self.least, self.most))
        return least, most

    @cached_property
    def _whole(self) -> tuple[int, int] | None:
        """The same, where all whole numbers between them are floats and lie on the grid."""
        least, most = self._bounds
        if self.exponent > 0 or max(-least, most) > _EXACT:
            return None
        return (int(least), int(most)) if least.denominator == most.denominator == 1 else None

    @cached_property
    def _floats(self) -> dict[np.dtype[Any], tuple[NDArray[Any], NDArray[Any]]]:
        """The same by type, for the types of floats that hold them."""
        found: dict[np.dtype[Any], tuple[NDArray[Any], NDArray[Any]]] = {}
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
        bits = self._raised(np.array([0.0, 1.0]), np.empty(2))
        zero, one = bits.clip(*self._ends).tolist()
        return zero - self.origin, one - self.origin

    def total(self, entries: NDArray[Any], scratch: Scratch, *, seen: bool) -> int | None:
        """The sum of the bits of the images modulo 2^64; None where an entry is NaN.

        Each image is ``origin`` and so many grid steps.

        Args:
            entries: A column of one dimension.
            scratch: Working arrays.
            seen: Whether it is known that no entry is NaN.
        """
        kind = entries.dtype.kind
        if kind == "b":
            ones = int(np.count_nonzero(entries))
            zero, one = self._of_bools
            return (len(entries) - ones) * zero + ones * one + len(entries) * self.origin
        if kind in "iu" and (ends := self._within(entries)) is not None:
            return self._of_whole(entries, scratch, *ends)
        bits = self._bits(entries, scratch, whole=seen or kind != "f")
        return None if bits is None else int(np.add.reduce(bits))

    def _bits(self, entries: NDArray[Any], scratch: Scratch, *, whole: bool) -> Whole | None:
        """The bits of the images; None where an entry is NaN.

        ``whole`` is whether none is known to be. Where the bounds are floats the entries are
        clipped, and looked at again. Else the bits are, whatever they are: positive floats order
        as their bits do.
        """
        dtype = _SINGLE if entries.dtype == _SINGLE else _DOUBLE
        inside = scratch.take_typed("inside", len(entries), dtype)
        out = inside if dtype is _DOUBLE else scratch.take_typed("column", len(entries), _DOUBLE)
        bounds = self._floats.get(dtype)
        if bounds is not None:
            entries.clip(*bounds, out=inside)
            return None if holds_missing(inside) else self._raised(inside, out)
        bits = self._raised(entries, out)
        if not whole and holds_missing(out):
            return None
        bits.clip(*self._ends, out=bits)
        return bits

    def _raised(self, entries: NDArray[Any], out: Floats) -> Whole:
        """The bits of the entries less what is subtracted, with 1.5 * 2^52 grid units."""
        if entries.dtype != _DOUBLE:
            np.copyto(out, entries, casting="same_kind")
            entries = out
        if self.subtracted:
            entries = np.subtract(entries, self.subtracted, out=out)
        np.add(entries, self._magic, out=out)
        return out.view(np.int64)

    def _within(self, entries: NDArray[Any]) -> tuple[int, int] | None:
        """Whole bounds of the entries that their type holds, where there are such."""
        if self._whole is None:
            return None
        (low, high), limits = self._whole, np.iinfo(entries.dtype)
        if low > limits.max or high < limits.min:
            return None
        return max(low, int(limits.min)), min(high, int(limits.max))

    def _of_whole(self, entries: NDArray[Any], scratch: Scratch, least: int, most: int) -> int:
        dtype = entries.dtype
        inside = scratch.take_typed("whole", len(entries), dtype)
        entries.clip(dtype.type(least), dtype.type(most), out=inside)
        short = dtype.itemsize < _BITS.itemsize and len(entries) * max(-least, most) < _SHORT
        long = np.uint64 if dtype.kind == "u" else np.int64
        total = int(np.add.reduce(inside, dtype=np.int32 if short else long))
        steps = total << -self.exponent  # modulo 2^64, as all is
        return steps + len(entries) * (self.origin - int(self._moved))

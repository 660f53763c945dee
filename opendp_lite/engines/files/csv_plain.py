"""The plain rows at the start of a CSV stream, which a quick reader cuts into cells."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from math import isfinite, nan
from typing import Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.files.cells import mark_number
from opendp_lite.engines.files.source_files import Unpacked

OfTexts = Callable[[Sequence[str]], Floats]
"""The numbers that stand in some texts, whatever else stands there."""


class PlainCells(ABC):
    """The cells of a column in a block of rows."""

    @abstractmethod
    def __len__(self) -> int:
        """How many there are."""

    @abstractmethod
    def numbers(self, of_texts: OfTexts) -> Floats:
        """The number in each; ``of_texts`` reads those that are not written plainly."""

    @abstractmethod
    def texts(self) -> Sequence[str]:
        """The text of each."""


@attrs.define(eq=False, repr=False)
class PlainRows(ABC):
    """The rows of a stream from its start, as long as they are plain.

    Plain rows are as wide as the first one, and each quote opens a cell, closes it, or is one of
    two within it.

    Attributes:
        stream: Bytes, unpacked.
        delimiter: The character between cells.
        width: How many cells each row has.
        places: The columns to read.
        headed: Whether the first row is a header.
        missing: Cells that count as missing.
        whole: Whether all rows of the stream were plain, once they were gone through.
    """

    stream: Unpacked
    delimiter: str
    width: int
    places: Sequence[int]
    headed: bool
    missing: Collection[str]
    whole: bool = True

    @abstractmethod
    def blocks(self) -> Iterator[Sequence[PlainCells]]:
        """The cells of the columns, a block of rows at a time.

        Once a row is not plain the rest is read and not given: the time that this takes does not
        tell where the row stands.
        """


Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

_BLOCK_BYTES: Final = 2**18
# Bytes. A longer row is not plain, since it is looked at anew with each block of bytes.
_LONGEST_ROW: Final = 2**20
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_QUOTE: Final = ord('"')
_OTHER_MARKS: Final = b'\r\n"'
_MINUS, _PLUS, _POINT, _ZERO = b"-+.0"

# Whole numbers of so many digits are floats, and so are powers of ten with so many zeros.
_DIGITS: Final = 15
# Whether ``np.longdouble`` holds all whole numbers up to 2^64.
_HAS_LONG_FLOATS: Final = bool(np.longdouble(2.0**63) + 1 - 2.0**63 == 1)
_MOST_DIGITS: Final = 19 if _HAS_LONG_FLOATS else _DIGITS
_LONGEST: Final = _MOST_DIGITS + 1
_POWERS: Final = np.array([float(10**power) for power in range(_LONGEST + 1)])


@attrs.define(eq=False, repr=False)
class NumpyRows(PlainRows):
    """Rows that numpy cuts at delimiters and ends of lines, outside of quotes."""

    def blocks(self) -> Iterator[Sequence[PlainCells]]:
        above = int(self.headed)
        marks = np.array([value for value in map(mark_number, self.missing) if isfinite(value)])
        left, found = b"\n", self._read().removeprefix(_BYTE_ORDER_MARK)
        while found:
            text, found = left + found, self._read()
            rows = _CutRows.of(text if found else text + b"\n", self.delimiter, self.width)
            left = rows.left
            self.whole &= rows.plain and len(left) < (_LONGEST_ROW if found else 2)
            if not self.whole:
                left = b"\n"
            elif len(rows.starts) > above:
                yield [rows.column(place, above, marks) for place in self.places]
            above = max(0, above - len(rows.starts))

    def _read(self) -> bytes:
        try:
            return self.stream.read(_BLOCK_BYTES)
        except (OSError, EOFError, zlib.error):
            self.whole = False
            return b""


@attrs.frozen(eq=False, repr=False)
class _CutRows:
    """The rows that end in some bytes.

    Attributes:
        data: The bytes, and after them as many as a plain number has at most.
        quoted: Whether a quote is among them.
        starts: Where the cells start, by row and column.
        stops: Where they end.
        left: The bytes after the last row, and before them the end of its line.
        plain: Whether each row is as wide as it should be and each quote where it may be.
    """

    data: Bytes
    quoted: bool
    starts: Places
    stops: Places
    left: bytes
    plain: bool

    @classmethod
    def of(cls, text: bytes, delimiter: str, width: int) -> _CutRows:
        """The rows of bytes that begin with the end of a line."""
        data = np.frombuffer(text + bytes(_LONGEST + 1), np.uint8)
        separator = ord(delimiter)
        quoted = _QUOTE in text
        between = data == separator
        for mark in _OTHER_MARKS:
            if mark in text:
                between |= data == mark
        at = np.flatnonzero(between)
        quotes = at[:0]
        if quoted:
            is_quote = data[at] == _QUOTE
            quotes = at[is_quote]
            at = at[~(is_quote | np.logical_xor.accumulate(is_quote))]
        ends = data[at] != separator
        last = int(np.flatnonzero(ends)[-1])
        starts, stops, ends = at[:last] + 1, at[1 : last + 1], ends[: last + 1]
        nothing = (starts == stops) & ends[:-1] & ends[1:]
        ends = ends[1:]
        if nothing.any():
            starts, stops, ends = starts[~nothing], stops[~nothing], ends[~nothing]
        count = len(ends) // width
        found = ends[: count * width].reshape(count, width)
        as_wide = len(ends) == count * width and found[:, -1].all() and not found[:, :-1].any()
        starts, stops = (each[: count * width].reshape(count, width) for each in (starts, stops))
        quotes = quotes[: np.searchsorted(quotes, at[last])]
        allowed = np.isin(np.arange(256), [separator, *_OTHER_MARKS])
        proper = allowed[data[quotes[::2] - 1]].all() and allowed[data[quotes[1::2] + 1]].all()
        return cls(data, quoted, starts, stops, text[at[last] :], bool(as_wide and proper))

    def column(self, place: int, above: int, marks: Floats) -> _NumpyCells:
        """The cells of a column, without the first ``above`` rows."""
        starts, stops = self.starts[above:, place], self.stops[above:, place]
        if self.quoted:
            quote = self.data[starts] == _QUOTE
            starts, stops = starts + quote, stops - quote
        return _NumpyCells(self.data, starts, stops, self.quoted, marks)


@attrs.frozen(eq=False, repr=False)
class _NumpyCells(PlainCells):
    """Cells of a block, without the quotes around them.

    Attributes:
        data: As in ``_CutRows``.
        starts: Where each cell starts.
        stops: Where it ends.
        quoted: Whether a quote is among the bytes.
        marks: Numbers that may stand for a missing value.
    """

    data: Bytes
    starts: Places
    stops: Places
    quoted: bool
    marks: Floats

    def __len__(self) -> int:
        return len(self.starts)

    def numbers(self, of_texts: OfTexts) -> Floats:
        found, plain = plain_numbers(self.data, self.starts, self.stops)
        if len(self.marks):
            plain &= ~np.isin(found, self.marks)
        empty = self.starts == self.stops
        found[empty] = nan
        left = np.flatnonzero(~(plain | empty))
        if len(left):
            others = attrs.evolve(self, starts=self.starts[left], stops=self.stops[left])
            found[left] = of_texts(others.texts())
        return found

    def texts(self) -> Sequence[str]:
        pairs = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        whole = self.data.tobytes()
        if whole.isascii():
            text = whole.decode("ascii")
            cells = [text[start:stop] for start, stop in pairs]
        else:
            cells = [whole[start:stop].decode("utf-8", "replace") for start, stop in pairs]
        return [cell.replace('""', '"') for cell in cells] if self.quoted else cells


def plain_numbers(data: Bytes, starts: Places, stops: Places) -> tuple[Floats, NDArray[np.bool_]]:
    """The numbers in some cells, where they are digits with at most a sign and a point.

    Args:
        data: Bytes; after the last cell 21 more.
        starts: Where each cell starts.
        stops: Where it ends.

    Returns:
        For each cell the float next to its number, and whether it is known: that of nearly each
        number of 1 to 19 digits, where the machine has long floats, or of 1 to 15 digits.

    Proof:
        The digits make a whole number below 2^64, and the number is its quotient by a power of
        ten. With up to 15 digits both are floats. So there is one rounding, to the float next to
        the quotient. ``_long_numbers`` has the proof for more digits.
    """
    first = data[starts]
    minus = first == _MINUS
    at = starts + (minus | (first == _PLUS))
    lengths = stops - at
    whole = np.zeros(len(starts), np.uint64)
    digits, points, after = np.zeros((3, len(starts)), np.uint8)
    for place in range(min(_LONGEST, int(lengths.max(initial=0)))):
        byte = data[at]
        at += 1
        inside = lengths > place
        value = byte - np.uint8(_ZERO)
        digit = (value < 10) & inside
        np.copyto(whole, whole * np.uint64(10) + value, where=digit)
        digits += digit
        after += digit & points
        points += (byte == _POINT) & inside
    known = (digits + points == lengths) & (points < 2) & (digits > 0) & (digits <= _MOST_DIGITS)
    found = whole / _POWERS[after]
    long = np.flatnonzero(known & (digits > _DIGITS))
    if len(long):
        found[long], known[long] = _long_numbers(whole[long], after[long])
    np.negative(found, out=found, where=minus)
    return found, known


def _long_numbers(
    whole: NDArray[np.uint64], after: NDArray[np.uint8]
) -> tuple[Floats, NDArray[np.bool_]]:
    """The floats next to whole numbers over powers of ten up to 10^19, and whether each is known.

    Proof:
        10^19 is below 2^64, so a quotient of long floats is rounded once. To round it again to a
        float gives the float next to the number, unless the long float lies in the middle between
        two floats: the number may then lie on either side of it. The middle is half of the
        distance to the next float away, or a quarter of it below a power of two.
    """
    long = whole.astype(np.longdouble) / _POWERS.astype(np.longdouble)[after]
    found = long.astype(np.float64)
    away = np.abs(long - found) / np.spacing(found)
    return found, (away != 0.5) & (away != 0.25)

"""The plain rows at the start of a CSV stream, which a quick reader cuts into cells."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import Enum
from glob import has_magic
from importlib.util import find_spec, module_from_spec
from itertools import repeat
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import Argument, DataError
from opendp_lite.engines.data.blocks import FileError
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.open_data import open_rows
from opendp_lite.engines.data.source import Source
from opendp_lite.engines.data.table import RowPlaces, take
from opendp_lite.engines.data.values import ArrayValues, Values, open_values

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

    stream: Any
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
        marks = np.array([value for value in map(_number, self.missing) if isfinite(value)])
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
            found: bytes = self.stream.read(_BLOCK_BYTES)
        except (OSError, EOFError, zlib.error):
            self.whole = False
            return b""
        return found


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


def _number(mark: str) -> float:
    """The number that a mark is; infinite where it is none."""
    try:
        return float(mark)
    except ValueError:
        return inf


LONGEST_CELL: Final = 2**24
"""Characters in a cell. It bounds the memory that an unclosed quote takes."""

_GZIP = b"\x1f\x8b"
_NOT_CSV: Final = {
    b"PK\x03\x04": "an Excel workbook or a zip archive; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV",
    b"PAR1": "a Parquet file; read it with dp.parquet, or in a shell give it a name that ends in "
    ".parquet",
    b"BZh91AY&SY": "packed with bzip2; unpack it, or pack it with gzip",
    b"\xfd7zX": "packed with xz; unpack it, or pack it with gzip",
    b"\x28\xb5\x2f\xfd": "packed with zstandard; unpack it, or pack it with gzip",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}
_LONGEST_MARK: Final = max(map(len, _NOT_CSV))


class Fault(Enum):
    """Why a file is refused. The first of those that it has is named, wherever they stand."""

    DAMAGED = "the gzip file is damaged or cut short"
    NOT_CSV = (
        "the file is not proper CSV: a double quote is not closed or stands within a cell, or a "
        "cell is longer than 16 million characters"
    )
    WIDE = (
        "a row has more cells than the first line; put a cell that holds {delimiter!r} in double "
        "quotes"
    )
    TEXT = (
        "{column} holds text, not numbers. Leave only numbers such as 1234.5 in it: no units, no "
        "thousands separators, a point for decimals. Name the marks of a missing value, or count "
        "all text as missing: "
    )


_MISSING: Final = (Argument("na", ...), ", ", Argument("text", "missing"))


@attrs.frozen(eq=False, repr=False)
class CsvRows:
    """The rows of a stream and the faults met so far.

    A fault stops nothing: the rows go on to the end of the stream, so that the time of a refusal
    does not tell where the fault stands. Damaged packing is the exception, since nothing after
    the damage can be unpacked.
    """

    lines: io.TextIOWrapper
    delimiter: str
    faults: set[Fault] = attrs.field(factory=set, init=False)
    _cut: Any = attrs.field(init=False)

    @_cut.default
    def _strictly(self) -> Any:
        """Strict, since in a lenient reading an open quote swallows the rows after it."""
        return _CUTTER.reader(self.lines, delimiter=self.delimiter, strict=True)

    @classmethod
    def of(cls, stream: BinaryIO, delimiter: str) -> CsvRows:
        """The rows of a binary stream, unpacked if its first bytes say that it is packed.

        Raises:
            FileError: If the first bytes are those of another format.
        """
        plain = unpack(stream)
        lines = io.TextIOWrapper(plain, encoding="utf-8-sig", errors="replace", newline="")
        return cls(lines, delimiter)

    def __iter__(self) -> Iterator[list[str]]:
        while True:
            try:
                yield from self._cut
            except (gzip.BadGzipFile, EOFError, zlib.error):
                self.faults.add(Fault.DAMAGED)
            except _CUTTER.Error:
                self.faults.add(Fault.NOT_CSV)
                continue
            return

    def instead_of_swallowed(self, rows: int, width: int) -> Iterator[list[str]]:
        """Rows of zeros in place of those that a broken quote swallowed.

        They take the time of the swallowed ones, so that all lines of a file cost about the same.

        Args:
            rows: How many rows were read.
            width: How many cells a row has.
        """
        swallowed = self._cut.line_num - rows if Fault.NOT_CSV in self.faults else 0
        zeros = self.delimiter.join("0" * max(width, 1)) + "\n"
        filled: Iterator[list[str]] = _CUTTER.reader(
            repeat(zeros, max(swallowed, 0)), delimiter=self.delimiter
        )
        return filled

    def refuse_faults(self, column: str) -> None:
        """Raises ``FileError`` for the first fault in the order of ``Fault``, if there is one."""
        for fault in Fault:
            if fault in self.faults:
                text = fault.value.format(delimiter=self.delimiter, column=column)
                raise FileError(text, *(_MISSING if fault is Fault.TEXT else ()))


def unpack(stream: BinaryIO) -> Any:
    """The bytes of a stream, unpacked if its first ones say that it is packed."""
    buffered = (
        stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(Any, stream))
    )
    start = buffered.peek(_LONGEST_MARK)
    for mark, what in _NOT_CSV.items():
        if start.startswith(mark):
            raise FileError(f"the file is {what}")
    return gzip.GzipFile(fileobj=buffered) if start.startswith(_GZIP) else buffered


def _own_cutter() -> Any:
    """A copy of the standard library's parser for this module alone.

    ``csv.field_size_limit`` belongs to the whole process. The parser keeps the limit in its
    module, so a copy of the module has a limit of its own.
    """
    spec = find_spec("_csv")
    if spec is None or spec.loader is None:
        raise ImportError("Python's module _csv is missing")
    cutter = module_from_spec(spec)
    spec.loader.exec_module(cutter)
    cutter.field_size_limit(LONGEST_CELL)
    return cutter


_CUTTER: Final = _own_cutter()


MISSING: Final = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "."})
"""Cells that always mean a missing value."""

_WHOLE: Final = re.compile(r"([+-]?[0-9]+)\.0*")


@attrs.frozen(eq=False, repr=False)
class TextCells:
    """Text by row, and None for a missing cell. Its type says that it is text."""

    cells: NDArray[np.object_]

    @classmethod
    def of(cls, cells: Iterable[str | None], count: int) -> TextCells:
        """So many cells."""
        return cls(np.fromiter(cells, object, count))

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, which: slice) -> NDArray[np.object_]:
        return self.cells[which]


def category_in(cell: str, missing: Collection[str]) -> str | None:
    """The category that a cell holds: its text without space around it; None if it is missing.

    A whole number is one category however many zeros follow its point.

    Example:
        >>> category_in(" f ", {"NA"}), category_in("NA", {"NA"}), category_in("3.0", {"NA"})
        ('f', None, '3')
    """
    text = cell.strip()
    if text in missing:
        return None
    whole = _WHOLE.fullmatch(text) if "." in text else None
    return text if whole is None else whole[1]


class _TextValues(ArrayValues):
    """Text, although the array may hold any object."""

    @property
    def is_text(self) -> bool:
        return True


@open_values.register
def _values_of(column: TextCells) -> Values:
    return _TextValues(column.cells)


@open_rows.register
def _rows_of(column: TextCells) -> Source:
    raise DataError("it is read as text; declare it as float to have its numbers")


@take.register
def _take(container: TextCells, places: RowPlaces) -> Any:
    return TextCells(container.cells[places])


_HIDDEN: Final = (".", "_")
# One slash, for ``Path`` leaves one of two; two letters, for one may be a drive.
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def files_named(source: str | Path) -> list[Path] | None:
    """The files of a directory or a pattern in order; None where it is one file.

    A directory that a pattern finds stands for its files. Files and directories whose names begin
    with a point or an underscore are not data. None of the others is left out in silence.

    Raises:
        FileError: If there is none, or one cannot be there to be read.
        OSError: If a directory cannot be listed.
    """
    path = Path(source)
    require_no_address(source)
    if path.is_dir():
        found = _within(path, frozenset())
    elif has_magic(str(source)) and not path.exists():
        found = _data(_matching(path), frozenset())
    else:
        return None
    files = sorted(set(found))
    if not files:
        where = "in " if path.is_dir() else ""
        raise FileError(f"there is no file {where}{str(source)!r}")
    return files


def require_no_address(source: str | Path) -> None:
    """Refuses what names no file of this machine. Of an address, which may hold a password, it
    shows the first word alone.
    """
    found = _ADDRESS.match(str(source))
    if found is not None and not Path(source).exists():
        raise FileError(
            f"the source begins with {found[0]!r}: it is an address and no file of this machine; "
            "download it first and give its path, or hand dp.parquet a filesystem="
        )


def _matching(pattern: Path) -> Iterator[Path]:
    """What a pattern finds, behind no hidden directory that it does not name at its start."""
    named = next(place for place, part in enumerate(pattern.parts) if has_magic(part))
    for path in Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor))):
        if not any(part.startswith(_HIDDEN) for part in path.parts[named:]):
            yield path


def _data(paths: Iterable[Path], above: frozenset[str]) -> Iterator[Path]:
    """The files among some paths, and those of the directories among them."""
    for path in paths:
        if path.name.startswith(_HIDDEN):
            continue
        if path.is_dir():
            yield from _within(path, above)
        elif path.is_file():
            yield path
        else:
            raise FileError(f"{path}: it is a link to a file that is not there, or no file")


def _within(folder: Path, above: frozenset[str]) -> Iterator[Path]:
    """The files of a directory; what lies behind a link to a directory above was seen there."""
    real = os.path.realpath(folder)
    return iter(()) if real in above else _data(folder.iterdir(), above | {real})

"""The rows of a CSV stream that Arrow cuts into cells, as long as they are plain.

Arrow is several times as fast as the standard library and less strict: it takes a quote within a
cell for a part of it. So the stream is watched while Arrow reads it. From the first row on that is
not as wide as the others, or whose quotes are not proper, the rows are left to our own reader.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO, Final

import attrs
import numpy as np
import pyarrow as arrow  # type: ignore[import-untyped]
from numpy.typing import NDArray
from pyarrow import compute, csv

from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.source import QUIET

OfTexts = Callable[[Sequence[str]], Floats]
"""The numbers that stand in some texts, whatever else stands there."""

_FLOAT_BYTES: Final = 8
_QUOTE: Final = ord('"')
# Arrow reads several of these ahead, and works longer on shorter ones.
_BLOCK_BYTES: Final = 2**20


@attrs.define(eq=False, repr=False)
class _Watched:
    """A stream that is read on, and whether what was read of it is plain.

    Attributes:
        stream: Bytes, unpacked.
        between: The bytes that may stand beside a quote: the delimiter, ends of lines, a quote.
        plain: Whether each row is as wide as the first, and each quote opens a cell, closes it, or
            is one of two within it.
    """

    stream: BinaryIO
    between: bytes
    plain: bool = True
    closed: bool = False
    _before: bytes = b"\n"
    _left: bytes = b""
    _inside: bool = False
    _allowed: NDArray[np.bool_] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._allowed = np.isin(np.arange(256), list(self.between))

    def read(self, size: int) -> bytes:
        """Some bytes. The last of them is looked at together with those that follow.

        A carriage return at the end is kept for the next time: of what begins with a line feed
        after one, Arrow leaves out the line feed, between quotes too.
        """
        found = self._left + self._take(size - len(self._left))
        if found == b"\r":
            found += self._take(size - 1)
        kept = len(found) - (len(found) > 1 and found.endswith(b"\r"))
        found, self._left = found[:kept], found[kept:]
        self._look(found or b"\n")
        if not found:
            self.plain = self.plain and not self._inside
        return found

    def _take(self, size: int) -> bytes:
        try:
            return self.stream.read(size)
        except (OSError, EOFError, zlib.error):
            self.plain = False
            return b""

    def odd_row(self, row: csv.InvalidRow) -> str:
        """Takes a row of another width."""
        self.plain = False
        return "skip"

    def _look(self, found: bytes) -> None:
        text = self._before + found
        self._before = text[-2:]
        if b'"' not in text:
            return
        data = np.frombuffer(text, np.uint8)
        places = np.flatnonzero(data[1:-1] == _QUOTE) + 1
        opens, closes = places[self._inside :: 2], places[not self._inside :: 2]
        proper = self._allowed[data[opens - 1]].all() and self._allowed[data[closes + 1]].all()
        self.plain = self.plain and bool(proper)
        self._inside ^= len(places) % 2 == 1


@attrs.define(eq=False, repr=False)
class ArrowRows:
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

    stream: BinaryIO
    delimiter: str
    width: int
    places: Sequence[int]
    headed: bool
    missing: Collection[str]
    whole: bool = True

    def blocks(self) -> Iterator[Sequence[arrow.Array]]:
        """The cells of the columns as bytes, a block of rows at a time; null where one is missing.

        Once a row is not plain the rest is read and not given: the time that this takes does not
        tell where the row stands.
        """
        between = f'{self.delimiter}\r\n"'.encode()
        watched = _Watched(self.stream, between)
        left = int(self.headed)
        try:
            for batch in self._batches(watched):
                if watched.plain and batch.num_rows:
                    yield [batch.column(str(place)).slice(left) for place in self.places]
                    left = 0
        except arrow.ArrowException:
            watched.plain = False
        self.whole = watched.plain

    def _batches(self, watched: _Watched) -> Iterator[arrow.RecordBatch]:
        """What Arrow reads; it prints a byte of an odd row that is no UTF-8, if you let it."""
        with QUIET:
            reader = self._reader(watched)
        while True:
            with QUIET:
                batch = next(reader, None)
            if batch is None:
                return
            yield batch

    def _reader(self, watch: _Watched) -> csv.CSVStreamingReader:
        names = [str(place) for place in range(self.width)]
        picked = list(dict.fromkeys(map(str, self.places)))
        return csv.open_csv(
            arrow.PythonFile(watch, "r"),
            csv.ReadOptions(column_names=names, use_threads=False, block_size=_BLOCK_BYTES),
            csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, invalid_row_handler=watch.odd_row
            ),
            csv.ConvertOptions(
                include_columns=picked,
                column_types=dict.fromkeys(picked, arrow.binary()),
                null_values=sorted(self.missing),
                strings_can_be_null=True,
            ),
        )

    @classmethod
    def numbers(cls, cells: arrow.Array, of_texts: OfTexts) -> Floats:
        """By Arrow, where it sees a number in each and no NaN: it takes nan(1) for that.

        Else ``of_texts`` reads them all.
        """
        with suppress(arrow.ArrowException):
            found = cells.view(arrow.string()).cast(arrow.float64())
            if not compute.call_function("is_nan", [found]).true_count:
                return _floats(found)
        return of_texts(cls.texts(cells))

    @staticmethod
    def texts(cells: arrow.Array) -> Sequence[str]:
        """The text of each."""
        return [(cell or b"").decode("utf-8", "replace") for cell in cells.to_pylist()]


def _floats(column: arrow.Array) -> Floats:
    """The numbers of an Arrow array, NaN for null. Its own ``to_numpy`` would import pandas."""
    if not len(column):
        return np.empty(0)
    valid, data = column.buffers()
    numbers = np.frombuffer(data, np.float64, len(column), _FLOAT_BYTES * column.offset)
    if not column.null_count:
        return numbers
    bits = np.frombuffer(valid, np.uint8)
    stop = column.offset + len(column)
    there = np.unpackbits(bits, count=stop, bitorder="little")[column.offset :]
    return np.where(there, numbers, np.nan)

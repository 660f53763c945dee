"""The rows of a CSV stream, and the faults that its refusal names once all is read."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from enum import Enum
from importlib.util import find_spec, module_from_spec
from itertools import repeat
from typing import Any, BinaryIO, Final, cast

import attrs

from opendp_lite.engines.file_column import FileError

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
        "thousands separators, a point for decimals. Name the marks of a missing value (na=, or "
        '--na MARK), or count all text as missing (text="missing", or --text missing)'
    )


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
        plain = unpacked(stream)
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
                raise FileError(fault.value.format(delimiter=self.delimiter, column=column))


def unpacked(stream: BinaryIO) -> Any:
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

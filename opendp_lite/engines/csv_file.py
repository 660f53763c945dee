"""One numeric column of a CSV file, a block at a time.

Refusals here speak of the file's format, of its header and of types: never of a value, of where it
stands or of how many there are.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from functools import partial
from itertools import islice
from math import nan
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import attrs
import numpy as np

from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.fold import Floats
from opendp_lite.errors import DataError, ParameterError

MISSING: Final = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "."})
"""Cells that always mean a missing value."""

_GZIP = b"\x1f\x8b"
_NOT_CSV: Final = {
    b"PK\x03\x04": "an Excel workbook or a zip archive; save the table as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the table as CSV",
    b"PAR1": "a Parquet file; give it a name that ends in .parquet",
    b"BZh": "packed with bzip2; unpack it, or pack it with gzip",
    b"\xfd7zX": "packed with xz; unpack it, or pack it with gzip",
    b"\x28\xb5\x2f\xfd": "packed with zstandard; unpack it, or pack it with gzip",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
}
_LONGEST_MARK = 4
_OTHER_DELIMITERS = (";", "\t", "|", ",")
_LISTED = 20
_BLOCK_ROWS = 65536


class FileError(DataError):
    """A file that is not what it should be, or has no such column."""


@attrs.frozen(eq=False)
class Column(Blocks):
    """A column of a file as blocks for a pipeline; ``name`` is that in its header."""

    name: str = attrs.field(default="", kw_only=True)


def csv_column(
    source: str | Path | BinaryIO,
    column: str | None = None,
    *,
    delimiter: str = ",",
    na: Collection[str] = (),
) -> Column:
    """A numeric column of a CSV file that may be larger than memory.

    Takes: ``source``, a path, or an open binary stream, which can be gone through only once (as
        can a path that is a pipe). The first line holds the names of the columns. UTF-8, with or
        without a byte order mark; packed with gzip or not. ``column``, a name of the header; not
        needed where there is only one. ``delimiter``. ``na``, cells that mean a missing value,
        besides the empty cell, NA, N/A, NaN, nan, null, None and the single point.
    Gives: ``Column``. A missing value is NaN, also in a row that is too short; an empty line is no
        row. Numbers are written as 12, -3.5, 1e6 or inf. Raises ``DataError`` for text in the
        column, and tells nothing else about it; for a file that is not proper CSV, for a missing
        column. Raises ``OSError`` where the file cannot be opened.
    Because: that a column holds numbers, and that the file is CSV, are declared like a dtype; the
        bit that they are not is all that a refusal tells.

    >>> import io
    >>> import opendp_lite as dp
    >>> ages = csv_column(io.BytesIO(b"name,age\\nAnn,41\\nBob,NA\\n"), "age")
    >>> (dp.drop_nan() >> dp.clamp(0, 100) >> dp.sum())(ages)
    array([41.])
    """
    dialect = _Dialect(_one_character(delimiter), MISSING | {mark.strip() for mark in na})
    if isinstance(source, str | Path):
        path = Path(source)
        with ExitStack() as held:
            stream = held.enter_context(path.open("rb"))
            table = dialect.table(stream)
            name = table.picked(column)
            if path.is_file():
                return Column(partial(_again, path, name, dialect), name=name)
            held.pop_all()
            return Column(_Once(_closing(stream, table, name)), name=name)
    table = dialect.table(source)
    name = table.picked(column)
    return Column(_Once(table.column(name)), name=name)


def picked(names: Sequence[str], column: str | None) -> str:
    """The column that is meant, of those in a header; refused where there is none or two.

    The first line of a file without a header is a row of data, and is never repeated in a refusal.
    """
    if column is None:
        if len(names) == 1:
            return names[0]
        raise FileError(
            f"say which column is meant (column=, or --column NAME); the {_listing(names)}"
        )
    wanted = column.strip()
    if names.count(wanted) == 1:
        return wanted
    if wanted in names:
        raise FileError(f"the header has the column {wanted!r} more than once; rename one of them")
    same = [name for name in names if name.casefold() == wanted.casefold()]
    near = same or get_close_matches(wanted, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}? The" if near else "; the"
    raise FileError(f"there is no column {wanted!r}{hint} {_listing(names)}")


def _listing(names: Sequence[str]) -> str:
    texts = [repr(name) for name in names if name]
    more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    columns = "column is" if len(texts) == 1 else "columns are"
    return f"{columns} {', '.join(texts[:_LISTED])}{more}"


@attrs.frozen
class _Dialect:
    """How rows are cut into cells, and which cells mean a missing value."""

    delimiter: str
    missing: frozenset[str]

    def table(self, stream: BinaryIO) -> _Table:
        """The rows of a stream with the names in its first line."""
        rows = _rows(stream, self.delimiter)
        with _reading():
            first = next((row for row in rows if row), None)
        if first is None:
            raise FileError("the file is empty; its first line must hold the names of the columns")
        return _Table(tuple(name.strip() for name in first), rows, self)

    def number(self, cell: str) -> float:
        """The number in a cell; raises ``ValueError`` for text."""
        text = cell.strip()
        if text in self.missing:
            return nan
        if "_" in text:
            raise ValueError
        number = float(text)
        return number if number == number else nan


@attrs.frozen
class _Table:
    """A header and the rows that are still to come."""

    names: tuple[str, ...]
    rows: Iterator[list[str]]
    dialect: _Dialect

    def picked(self, column: str | None) -> str:
        """See ``picked``."""
        if column is not None and column.strip() in self.names:
            return picked(self.names, column)
        if not all(self._is_name(name) for name in self.names):
            asked = "" if column is None else f"there is no column {column.strip()!r}, and "
            raise FileError(
                f"{asked}the first line of the file does not look like names of columns, which "
                "begin with a letter; put a line with the names at the top, or give the column's "
                "exact name (column=, or --column NAME)"
            )
        if len(self.names) == 1:
            other = next((mark for mark in _OTHER_DELIMITERS if mark in self.names[0]), None)
            if other is not None:
                shown = "tab" if other == "\t" else f"'{other}'"
                raise FileError(
                    f"the first line holds {other!r} and not {self.dialect.delimiter!r} between "
                    f"the names of the columns; try --delimiter {shown}"
                )
        return picked(self.names, column)

    def _is_name(self, name: str) -> bool:
        if not name:
            return True
        begins = name[0].isalpha() or name[0] == "_"
        readable = name.replace("\t", " ").isprintable() and "\ufffd" not in name
        return begins and readable and not self._is_value(name)

    def _is_value(self, name: str) -> bool:
        try:
            self.dialect.number(name)
        except ValueError:
            return False
        return True

    def column(self, name: str) -> Iterator[Floats]:
        """The blocks of a column."""
        numbers = self._numbers(name)
        with _reading():
            while len(block := np.fromiter(islice(numbers, _BLOCK_ROWS), np.float64)):
                yield block

    def _numbers(self, name: str) -> Iterator[float]:
        index, width, number = self.names.index(name), len(self.names), self.dialect.number
        for row in self.rows:
            if len(row) != width:
                if not row:
                    continue
                if any(cell.strip() for cell in row[width:]):
                    raise FileError(
                        "the file has rows with more cells than its header has names; a cell that "
                        f"holds {self.dialect.delimiter!r} must stand in double quotes"
                    )
            try:
                value = number(row[index]) if index < len(row) else nan
            except ValueError:
                break
            yield value
        else:
            return
        raise FileError(
            f"column {name!r} holds text, not numbers; leave only numbers such as 1234.5 in it (no "
            "units, no thousands separators, a point for decimals), and name what stands for a "
            "missing value (na=, or --na MARK)"
        )


class _Once:
    """Blocks that can be gone through one time."""

    def __init__(self, blocks: Iterator[Floats]) -> None:
        self._left: Iterator[Floats] | None = blocks

    def __call__(self) -> Iterator[Floats]:
        blocks, self._left = self._left, None
        if blocks is None:
            raise FileError(
                "standard input or a pipe can be read only once, and this pipeline goes through "
                "the data again; save the data to a file first"
            )
        return blocks


def _closing(stream: BinaryIO, table: _Table, name: str) -> Iterator[Floats]:
    with stream:
        yield from table.column(name)


def _again(path: Path, name: str, dialect: _Dialect) -> Iterator[Floats]:
    with path.open("rb") as stream:
        table = dialect.table(stream)
        yield from table.column(table.picked(name))


def _rows(stream: BinaryIO, delimiter: str) -> Iterator[list[str]]:
    """The rows of a stream, whose first bytes say whether it is packed.

    Strict, since in a lenient reading a quote that is not closed swallows the rows after it.
    """
    buffered = (
        stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(Any, stream))
    )
    start = buffered.peek(_LONGEST_MARK)
    for mark, what in _NOT_CSV.items():
        if start.startswith(mark):
            raise FileError(f"the file is {what}")
    unpacked: Any = gzip.GzipFile(fileobj=buffered) if start.startswith(_GZIP) else buffered
    text: Iterable[str] = io.TextIOWrapper(
        unpacked, encoding="utf-8-sig", errors="replace", newline=""
    )
    return csv.reader(text, delimiter=delimiter, strict=True)


@contextmanager
def _reading() -> Iterator[None]:
    """Failures of the readers below, in words."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise FileError("the gzip file is damaged or cut short") from None
    except csv.Error:
        raise FileError(
            "the file is not proper CSV: a double quote is not closed or stands within a cell, or "
            "a cell is very long"
        ) from None


def _one_character(delimiter: str) -> str:
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(
            f"--delimiter must be one character such as ',' or ';' (or the word tab), "
            f"got {delimiter!r}"
        )
    return delimiter

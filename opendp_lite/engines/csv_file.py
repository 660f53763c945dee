"""One numeric column of a CSV file, a block at a time.

Three sentences on what a refusal may show:

Others may read a refusal in a log or over your shoulder, so it never shows a cell, a row's place
or a number of rows. The first line of a file without a header is a person's row, and no rule can
be sure which it is, so no cell of it is shown unless you declare a header. A refusal still says
that the file breaks its declared format: this bit is outside of the stated privacy loss.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import chain, islice
from math import nan
from pathlib import Path
from typing import BinaryIO, Final, Literal

import attrs
import numpy as np

from opendp_lite.engines.csv_rows import CsvRows, Fault
from opendp_lite.engines.file_column import FileColumn, FileError, picked
from opendp_lite.engines.fold import Floats
from opendp_lite.errors import ParameterError

MISSING: Final = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "."})
"""Cells that always mean a missing value."""

Text = Literal["refuse", "missing"]
"""A cell that is neither a number nor a missing value: refuse the file, or count it as missing."""

_OTHER_DELIMITERS = (";", "\t", "|", ",")
_BLOCK_ROWS = 65536


def csv_column(
    source: str | Path | BinaryIO,
    column: str | int | None = None,
    *,
    header: bool | None = None,
    delimiter: str = ",",
    na: Collection[str] = (),
    text: Text = "refuse",
) -> FileColumn:
    """Reads a numeric column of a CSV file, which may be larger than memory.

    The file is UTF-8, with or without a byte order mark, packed with gzip or not. Numbers are
    written as 12, -3.5, 1e6 or inf. An empty line is no row. A row that is too short lacks its
    last values.

    Args:
        source: A path, or an open binary stream. A stream or a pipe can be read only once.
        column: A name in the header, or with ``header=False`` a number that counts from 1. A file
            with one column needs neither.
        header: Whether the first line holds the names of the columns. True says that these names
            are public: a refusal may list them. False says that the first line is data. By
            default it is a header if every cell looks like a name and one is ``column``; no
            refusal shows a cell of it.
        delimiter: The character between cells.
        na: Cells that mean a missing value, besides the empty cell, NA, N/A, NaN, nan, null, NULL,
            None and a single point.
        text: ``"refuse"`` refuses a column that holds any other text. ``"missing"`` counts such a
            cell as a missing value, for tables that people fill in.

    Returns:
        The column as blocks for a pipeline. A missing value is NaN.

    Raises:
        ParameterError: If the arguments do not fit together.
        DataError: If the file is not CSV, has no such column, or holds text in it. Text, broken
            quotes and extra cells are refused only after the whole file was read.
        OSError: If the file cannot be opened.

    Privacy:
        That the file is CSV and the column numeric is declared, like a dtype. A refusal tells one
        bit about the data that no privacy loss counts. ``text="missing"`` tells nothing about
        text.

    Example:
        >>> import io
        >>> import opendp_lite as dp
        >>> ages = csv_column(io.BytesIO(b"name,age\\nAnn,41\\nBob,NA\\n"), "age")
        >>> (dp.drop_nan() >> dp.clamp(0, 100) >> dp.sum())(ages)
        NotPrivate([41.])
        >>> ages = csv_column(io.BytesIO(b"Ann,41\\nBob,NA\\n"), 2, header=False)
        >>> (dp.drop_nan() >> dp.clamp(0, 100) >> dp.sum())(ages)
        NotPrivate([41.])
    """
    marks = MISSING | {mark.strip() for mark in na}
    wish = _Wish(column, header, _one_character(delimiter), marks, _known(text))
    if isinstance(source, str | Path):
        path = Path(source)
        with ExitStack() as held:
            stream = held.enter_context(path.open("rb"))
            table = wish.table(stream)
            if path.is_file():
                return FileColumn(partial(_again, path, wish), name=table.name)
            held.pop_all()
            return FileColumn(_Once(_closing(stream, table)), name=table.name)
    table = wish.table(source)
    return FileColumn(_Once(table.blocks()), name=table.name)


def _fits(wish: _Wish, field: object, column: str | int | None) -> None:
    if column is None:
        return
    if wish.header is not False:
        if not isinstance(column, str):
            raise ParameterError(
                f"a column of a table with a header has a name, got {column!r}; for a column "
                "number say that there is no header (header=False, or --no-header)"
            )
    elif isinstance(column, str | bool) or column < 1:
        raise ParameterError(
            "without a header a column has a number that counts from 1 (header=False with "
            f"column=3, or --no-header --column 3), got {column!r}"
        )


@attrs.frozen(repr=False)
class _Wish:
    """The column that you ask for and how its cells are to be read."""

    column: str | int | None = attrs.field(validator=_fits)
    header: bool | None = attrs.field()
    delimiter: str
    missing: frozenset[str]
    text: Text

    def table(self, stream: BinaryIO) -> _Table:
        """The rows of a stream with the place of the column in them."""
        source = CsvRows.of(stream, self.delimiter)
        rows = iter(source)
        first = next((row for row in rows if row), None)
        if source.faults:
            for _ in _Table(self, source, rows, 0, len(first or [""]), "").blocks():
                pass
        if self.header is False:
            return self._headless(source, rows, first)
        if first is None:
            raise FileError("the file is empty; its first line must hold the names of the columns")
        names = tuple(name.strip() for name in first)
        if self.header:
            return self._declared(source, rows, names)
        if not all(map(self._is_name, names)) or (self.column is None and len(names) != 1):
            raise FileError(self._no_header())
        index = 0 if self.column is None else self._place(names)
        return _Table(self, source, rows, index, len(names), self._typed)

    @property
    def _typed(self) -> str:
        return "" if self.column is None else str(self.column).strip()

    @property
    def label(self) -> str:
        """The column in the words of the person who asks for it."""
        match self.column:
            case None:
                return "the only column"
            case int():
                return f"column {self.column}"
            case _:
                return f"column {self._typed!r}"

    def number(self, cell: str) -> float:
        """The number in a cell; raises ``ValueError`` for text."""
        text = cell.strip()
        if text in self.missing:
            return nan
        if "_" in text:
            raise ValueError
        number = float(text)
        return number if number == number else nan

    def _headless(
        self, source: CsvRows, rows: Iterator[list[str]], first: list[str] | None
    ) -> _Table:
        width = 0 if first is None else len(first)
        place = int(self.column) if self.column is not None else 1
        if first is not None and place > width:
            raise FileError(f"there is no column {place}: the first line has fewer cells")
        if self.column is None and width > 1:
            raise FileError(
                "choose a column by its number, which counts from 1 (column=3, or --column 3)"
            )
        every = rows if first is None else chain([first], rows)
        return _Table(self, source, every, place - 1, width, self._typed)

    def _declared(
        self, source: CsvRows, rows: Iterator[list[str]], names: tuple[str, ...]
    ) -> _Table:
        if len(names) == 1 and self._typed != names[0]:
            other = next((mark for mark in _OTHER_DELIMITERS if mark in names[0]), None)
            if other is not None:
                shown = "tab" if other == "\t" else f"'{other}'"
                raise FileError(
                    f"the first line holds {other!r} and not {self.delimiter!r} between the names "
                    f"of the columns; try --delimiter {shown}"
                )
        name = picked(names, None if self.column is None else self._typed)
        return _Table(self, source, rows, names.index(name), len(names), name)

    def _place(self, names: tuple[str, ...]) -> int:
        if self._typed not in names:
            raise FileError(self._no_header())
        if names.count(self._typed) > 1:
            raise FileError(f"two columns have the name {self._typed!r}; rename one of them")
        return names.index(self._typed)

    def _no_header(self) -> str:
        """One text for all first lines: it tells only that this one is not as declared."""
        if self.column is None:
            found = "choose a column (column=, or --column NAME), as the first line is not one name"
        else:
            found = f"the first line names no column {self._typed!r}"
        return (
            f"{found}. It is not shown, as it may be a person's row. If it holds column names, "
            "header=True (--header) makes this error list them. If it is data, ask for a column by "
            "its number: column=3, header=False (--no-header --column 3). The character between "
            f"cells is {self.delimiter!r}; delimiter= (--delimiter) changes it"
        )

    def _is_name(self, cell: str) -> bool:
        begins = cell[:1].isalpha() or cell[:1] == "_"
        return begins and cell.isprintable() and "\ufffd" not in cell and not self._is_value(cell)

    def _is_value(self, cell: str) -> bool:
        try:
            self.number(cell)
        except ValueError:
            return False
        return True


@attrs.frozen(eq=False, repr=False)
class _Table:
    """Rows that are still to come and the place of a column in them."""

    wish: _Wish
    source: CsvRows
    rows: Iterator[list[str]]
    index: int
    width: int
    name: str

    def blocks(self) -> Iterator[Floats]:
        """The blocks of the column; a fault is refused after the last of them."""
        read = 0
        for block in self._blocks(self.rows):
            read += len(block)
            yield block
        for _ in self._blocks(self.source.instead_of_swallowed(read, self.width)):
            pass
        self.source.refuse_faults(self.wish.label)

    def _blocks(self, rows: Iterator[list[str]]) -> Iterator[Floats]:
        numbers = self._numbers(rows)
        while len(block := np.fromiter(islice(numbers, _BLOCK_ROWS), np.float64)):
            yield block

    def _numbers(self, rows: Iterator[list[str]]) -> Iterator[float]:
        index, width, number = self.index, self.width, self.wish.number
        faults = self.source.faults
        refused = self.wish.text == "refuse"
        for row in rows:
            if len(row) != width:
                if not row:
                    continue
                if any(cell.strip() for cell in row[width:]):
                    faults.add(Fault.WIDE)
            try:
                value = number(row[index]) if index < len(row) else nan
            except ValueError:
                value = nan
                if refused:
                    faults.add(Fault.TEXT)
            yield value


class _Once:
    """Blocks that can be gone through one time."""

    def __init__(self, blocks: Iterator[Floats]) -> None:
        self._left: Iterator[Floats] | None = blocks

    def __call__(self) -> Iterator[Floats]:
        blocks, self._left = self._left, None
        if blocks is None:
            raise FileError(
                "standard input or a pipe can be read only once, and this pipeline reads the data "
                "again; save the data to a file first"
            )
        return blocks


def _closing(stream: BinaryIO, table: _Table) -> Iterator[Floats]:
    with stream:
        yield from table.blocks()


def _again(path: Path, wish: _Wish) -> Iterator[Floats]:
    with path.open("rb") as stream:
        table = wish.table(stream)
        yield from table.blocks()


def _known(text: Text) -> Text:
    if text not in ("refuse", "missing"):
        raise ParameterError(f"text must be 'refuse' or 'missing', got {text!r}")
    return text


def _one_character(delimiter: str) -> str:
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(
            f"--delimiter must be one character such as ',' or ';' (or the word tab), "
            f"got {delimiter!r}"
        )
    return delimiter

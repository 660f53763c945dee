"""The rows of a CSV stream, and the cells of some columns in them as numbers or text."""

from __future__ import annotations

import gzip
import io
import zlib
from _csv import Reader
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from importlib.util import find_spec, module_from_spec
from itertools import chain, count, islice, repeat
from math import nan
from numbers import Integral
from operator import itemgetter
from types import ModuleType
from typing import BinaryIO, Final, Literal

import attrs
import numpy as np

from opendp_lite.base.errors import Argument, ParameterError
from opendp_lite.engines.data import fold, table, values
from opendp_lite.engines.data.blocks import FileError
from opendp_lite.engines.files.cells import MISSING, category_in
from opendp_lite.engines.files.source_files import unpack
from opendp_lite.numbers.exact import quote

LONGEST_CELL: Final = 2**24
"""Characters in a cell. It bounds the memory that an unclosed quote takes."""


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
        "thousands separators, a point for decimals. Words, such as yes and no, are for proportion "
        "and histogram. Name the marks of a missing value, or count all text as missing: "
    )


_MISSING: Final = (Argument("na", ...), ", ", Argument("text", "missing"))


@attrs.frozen(eq=False, repr=False)
class CsvRows:
    """The rows of a stream and the faults met so far.

    A fault stops nothing: the rows go on to the end of the stream, so that the time of a refusal
    does not tell where the fault stands. Damaged packing is the exception, since nothing after
    the damage can be unpacked.
    """

    cut: Reader
    delimiter: str
    faults: set[Fault] = attrs.field(factory=set, init=False)

    @classmethod
    def of(cls, stream: BinaryIO, delimiter: str) -> CsvRows:
        """The rows of a binary stream, unpacked if its first bytes say that it is packed.

        Raises:
            FileError: If the first bytes are those of another format.
        """
        plain = unpack(stream)
        lines = io.TextIOWrapper(plain, encoding="utf-8-sig", errors="replace", newline="")
        # Strict, since in a lenient reading an open quote swallows the rows after it.
        return cls(_CUTTER.reader(lines, delimiter=delimiter, strict=True), delimiter)

    def __iter__(self) -> Iterator[list[str]]:
        while True:
            try:
                yield from self.cut
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
        swallowed = self.cut.line_num - rows if Fault.NOT_CSV in self.faults else 0
        zeros = self.delimiter.join("0" * max(width, 1)) + "\n"
        lines = repeat(zeros, max(swallowed, 0))
        found: Reader = _CUTTER.reader(lines, delimiter=self.delimiter)
        return found

    def refuse_faults(self, column: str) -> None:
        """Raises ``FileError`` for the first fault in the order of ``Fault``, if there is one."""
        for fault in Fault:
            if fault in self.faults:
                text = fault.value.format(delimiter=self.delimiter, column=column)
                raise FileError(text, *(_MISSING if fault is Fault.TEXT else ()))


def _own_cutter() -> ModuleType:
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


def text_cells(cells: Iterable[str | None], count: int) -> values.Values:
    """So many cells as text, None for a missing one; their type says that they are text."""
    return values.Values(np.fromiter(cells, object, count), fold.identity, is_text=True)


Text = Literal["refuse", "missing"]
"""A cell that is neither a number nor a missing value: refuse the file, or count it as missing."""

ColumnCells = fold.Floats | values.Values
"""The cells of a column: numbers, or text."""

Name = str | int | None
"""A column by its name or its number; None is the only one."""

BY_NUMBER: Final = (Argument("header", False), ", ", Argument("column", 3))


def as_typed(column: Name) -> str:
    """The name or number of a column as text; empty for the only column."""
    return "" if column is None else str(column).strip()


def _require_columns(wish: Wish, field: object, columns: Sequence[tuple[Name, type]]) -> None:
    for column, kind in columns:
        if kind not in (str, float):
            got = kind.__name__ if isinstance(kind, type) else quote(kind)
            raise ParameterError(
                "csv_table: a column holds str (text) or float (numbers), whole numbers too; got "
                f"{got}"
            )
        if column is None:
            continue
        number = isinstance(column, Integral) and not isinstance(column, bool)
        if wish.header is False and not (number and int(column) > 0):
            raise ParameterError(
                "without a header a column has a number that counts from 1 (",
                *BY_NUMBER,
                f"), got {quote(column)}",
            )
        if wish.header is not False and not isinstance(column, str):
            raise ParameterError(
                f"a column of a table with a header has a name, got {quote(column)}; for a column "
                "number say that there is no header (",
                Argument("header", False),
                ")",
            )
    if len({as_typed(column) for column, _ in columns}) < len(columns):
        raise ParameterError("a column is asked for twice; name each once")


def _require_truth(wish: Wish, field: object, header: bool | None) -> None:
    # 0 is refused too: pandas means by it that there is a header.
    if header is not None and not isinstance(header, bool):
        raise ParameterError(
            Argument("header", True),
            " says that the first line holds names, ",
            Argument("header", False),
            f" that it is data; got {quote(header)}",
        )


def _require_character(wish: Wish, field: object, delimiter: str) -> None:
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(
            Argument("delimiter"),
            f" must be one character such as ',' or ';', got {quote(delimiter)}",
        )


def _require_text(wish: Wish, field: object, text: Text) -> None:
    if not isinstance(text, str) or text not in ("refuse", "missing"):
        raise ParameterError(f"text must be 'refuse' or 'missing', got {quote(text)}")


def _missing(na: Collection[str]) -> frozenset[str]:
    # A text is a collection of its letters, and a dictionary of its keys: neither is meant.
    listed = isinstance(na, Iterable) and not isinstance(na, str | Mapping)
    if not listed or not all(isinstance(mark, str) for mark in na):
        typed = Argument("na", [na if isinstance(na, str) else "-99"])
        raise ParameterError(
            Argument("na"), " takes a list of texts: write ", typed, f", got {quote(na)}"
        )
    return MISSING | {mark.strip() for mark in na}


@attrs.frozen(repr=False)
class Wish:
    """The columns that you ask for and how their cells are to be read.

    Attributes:
        columns: Each column, and what it holds, ``str`` or ``float``.
        header: As for ``csv_column``, and so the others.
        missing: All marks of a missing cell.
        alone: Whether the cells of the one column are a block, without its name.
        rows: Whether the rows alone are asked for: the first column stands for them.
    """

    columns: tuple[tuple[Name, type], ...] = attrs.field(validator=_require_columns)
    header: bool | None = attrs.field(validator=_require_truth)
    delimiter: str = attrs.field(validator=_require_character)
    missing: frozenset[str] = attrs.field(converter=_missing)
    text: Text = attrs.field(validator=_require_text)
    alone: bool
    rows: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns as text."""
        return tuple(as_typed(column) for column, _ in self.columns)

    @property
    def only(self) -> bool:
        """Whether no column is named, since the file has one."""
        return self.columns[0][0] is None

    def label(self, place: int) -> str:
        """A column in the words of the person who asks for it."""
        column = self.columns[place][0]
        if column is None:
            return "the only column"
        return f"column {column if isinstance(column, int) else as_typed(column)!r}"

    def blocks(self, cells: Iterator[Sequence[ColumnCells]]) -> Iterator[object]:
        """Blocks of the columns, or one without rows.

        So what a column holds is refused in a file without a row too.
        """
        none = [text_cells((), 0) if kind is str else np.empty(0) for _, kind in self.columns]
        for each in chain([next(cells, none)], cells):
            yield each[0] if self.alone else dict(zip(self.names, each, strict=True))

    def number(self, cell: str) -> float:
        """The number in a cell; raises ``ValueError`` for text."""
        text = cell.strip()
        if text in self.missing:
            return nan
        if "_" in text:
            raise ValueError
        number = float(text)
        return number if number == number else nan


_BLOCK_ROWS = 65536
# So few lists at once that Python's collector of garbage has no cause to run.
_HELD_ROWS = 256


@attrs.frozen(eq=False, repr=False)
class CsvTable:
    """Rows that are still to come, and the places in them of the columns of a wish.

    ``name`` is that of the first column, where it is public. ``headed`` says that a header stood
    before them.
    """

    wish: Wish
    source: CsvRows
    rows: Iterator[list[str]]
    places: tuple[int, ...]
    width: int
    name: str
    headed: bool = True
    _not_numbers: set[int] = attrs.field(factory=set, init=False)

    def blocks(self, after: int = 0) -> Iterator[tuple[ColumnCells, ...]]:
        """The blocks of the columns after some rows; a fault is refused after the last of them.

        The rows before are read all the same, so that the time does not tell how many they are.
        """
        read = 0
        for block in self._blocks(self.rows):
            left = max(0, after - read)
            read += len(block[0])
            if left < len(block[0]):
                yield tuple(table.take(cells, np.arange(left, len(cells))) for cells in block)
        for _ in self._blocks(self.source.instead_of_swallowed(read, self.width)):
            pass
        self.refuse_faults()

    def refuse_faults(self) -> None:
        """Raises ``FileError`` if a fault was met so far."""
        self.source.refuse_faults(self.wish.label(min(self._not_numbers, default=0)))

    def _blocks(self, rows: Iterator[list[str]]) -> Iterator[tuple[ColumnCells, ...]]:
        picks = [itemgetter(place) for place in self.places]
        held: list[list[str]] = [[] for _ in picks]
        while some := list(islice(rows, _HELD_ROWS)):
            if set(map(len, some)) != {self.width}:
                some = list(self._fill(some))
            for cells, pick in zip(held, picks, strict=True):
                cells.extend(map(pick, some))
            if len(held[0]) >= _BLOCK_ROWS:
                yield tuple(map(self.cells, count(), held))
                held = [[] for _ in picks]
        if held[0]:
            yield tuple(map(self.cells, count(), held))

    def _fill(self, rows: Iterable[list[str]]) -> Iterator[list[str]]:
        """The rows with an empty cell for each that is lacking; an empty line is no row."""
        least, width, faults = max(self.places) + 1, self.width, self.source.faults
        for row in rows:
            if len(row) != width:
                if not row:
                    continue
                if any(cell.strip() for cell in row[width:]):
                    faults.add(Fault.WIDE)
                row.extend([""] * (least - len(row)))
            yield row

    def cells(self, place: int, texts: Sequence[str]) -> ColumnCells:
        """The cells of a column, of their texts as they stand in the file."""
        if self.wish.columns[place][1] is not str:
            return self.numbers(place, texts)
        missing = self.wish.missing
        return text_cells((category_in(text, missing) for text in texts), len(texts))

    def numbers(self, place: int, texts: Sequence[str]) -> fold.Floats:
        """The same for a column of numbers."""
        return np.fromiter(self._each_number(place, texts), np.float64, len(texts))

    def _each_number(self, place: int, texts: Sequence[str]) -> Iterator[float]:
        number, refuses = self.wish.number, self.wish.text == "refuse"
        for text in texts:
            try:
                value = number(text)
            except ValueError:
                value = nan
                if refuses:
                    self.source.faults.add(Fault.TEXT)
                    self._not_numbers.add(place)
            yield value

"""Columns of a CSV file, a block at a time.

Three sentences on what a refusal may show:

Others may read a refusal in a log or over your shoulder, so it never shows a cell, a row's place
or a number of rows. The first line of a file without a header is a person's row, and no rule can
be sure which it is, so no cell of it is shown unless you declare a header. A refusal still says
that the file breaks its declared format: this bit is outside of the stated privacy loss.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, cached_property, partial
from importlib import import_module
from itertools import chain, count, islice
from math import nan
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

import attrs
import numpy as np

from opendp_lite.base.errors import Argument, ParameterError
from opendp_lite.engines.data.blocks import (
    Blocks,
    FileColumn,
    FileError,
    FileState,
    pick_column,
    require_state,
    state_of,
)
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.table import take
from opendp_lite.engines.files.csv_rows import (
    MISSING,
    CsvRows,
    Fault,
    NumpyRows,
    PlainCells,
    PlainRows,
    TextCells,
    category_in,
    files_named,
    unpack,
)
from opendp_lite.numbers.exact import quote

Text = Literal["refuse", "missing"]
"""A cell that is neither a number nor a missing value: refuse the file, or count it as missing."""

ColumnCells = Floats | TextCells
"""The cells of a column: numbers, or text."""

# So that columns that were left out are refused in words.
_LEFT_OUT: Final[Any] = None
_BY_NUMBER: Final = (Argument("header", False), ", ", Argument("column", 3))
_OTHER_DELIMITERS = (";", "\t", "|", ",")
_BLOCK_ROWS = 65536
# So few lists at once that Python's collector of garbage has no cause to run.
_HELD_ROWS = 256


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
        source: A path, a pattern such as ``data/*.csv``, a directory, or an open binary stream. A
            stream or a pipe can be read only once.
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
    wish = _Wish.of([(column, float)], header, delimiter, na, text)
    return _blocks(source, wish, itemgetter(0))


def csv_table(
    source: str | Path | BinaryIO,
    columns: Mapping[Any, type[str] | type[float]] = _LEFT_OUT,
    *,
    header: bool | None = None,
    delimiter: str = ",",
    na: Collection[str] = (),
    text: Text = "refuse",
) -> Blocks:
    """Reads some columns of a CSV file, which may be larger than memory.

    Args:
        source: As for ``csv_column``.
        columns: What each column holds: ``str`` for text, ``float`` for numbers. The key is the
            name in the header, or with ``header=False`` a number that counts from 1.
        header: As for ``csv_column``. By default the first line is a header if every cell looks
            like a name and all ``columns`` are among them.
        delimiter: As for ``csv_column``.
        na: As for ``csv_column``. These cells are missing in columns of text as well.
        text: As for ``csv_column``, for the columns of numbers.

    Returns:
        A table in blocks, for a pipeline that picks columns by name: a column that has a number
        is called "1", say. Text has no space around it, and a whole number such as "3.0" is "3".

    Raises:
        ParameterError: If the arguments do not fit together.
        DataError: As for ``csv_column``.
        OSError: If the file cannot be opened.

    Privacy:
        As for ``csv_column``. Any text fits a column of text.

    Example:
        >>> import io
        >>> import opendp_lite as dp
        >>> people = io.BytesIO(b"sex,name,age\\nf,Ann,41\\nm,Bob,NA\\n")
        >>> count = dp.select("sex") >> dp.one_hot(["f", "m"]) >> dp.sum()
        >>> count(dp.csv_table(people, {"sex": str, "age": float}))
        NotPrivate([1., 1.])
    """
    if not isinstance(columns, Mapping) or not columns:
        raise ParameterError(
            "csv_table needs the columns to read and what each holds, float for numbers and str "
            "for text: dp.csv_table('people.csv', {'age': float, 'sex': str})"
        )
    return table_of(source, tuple(columns.items()), header, delimiter, na, text)


def table_of(
    source: str | Path | BinaryIO,
    columns: Sequence[tuple[str | int | None, Any]],
    header: bool | None,
    delimiter: str,
    na: Collection[str],
    text: Text,
) -> Blocks:
    """As ``csv_table``; a column of the name None is the only one, and its blocks have no name."""
    wish = _Wish.of(columns, header, delimiter, na, text)
    names = [None if asked.column is None else asked.typed for asked in wish.asked]

    def shown(cells: Sequence[ColumnCells]) -> object:
        return cells[0] if None in names else dict(zip(names, cells, strict=True))

    return _blocks(source, wish, shown)


@attrs.frozen(eq=False, repr=False)
class _Files(FileColumn):
    """Columns of some files, one file after another; of none for a stream."""

    paths: tuple[Path, ...] = attrs.field(kw_only=True)

    @property
    def files(self) -> tuple[Path, ...]:
        return self.paths


def _blocks(
    source: str | Path | BinaryIO, wish: _Wish, shown: Callable[[Sequence[ColumnCells]], object]
) -> FileColumn:
    """The blocks of a stream, of a file, or of all files that a pattern stands for."""
    columns = len(wish.asked)
    several = files_named(source) if isinstance(source, str | Path) else None
    if several is None:
        stream, name = _open_it(source, wish, shown)
        file = Path(source) if isinstance(source, str | Path) else None
        paths = () if file is None or not file.is_file() else (file,)
        return _Files(stream, columns, name=name, paths=paths)
    opening = [partial(_open_it, path, wish, shown) for path in several]
    found = [_name_step(path, each) for path, each in zip(several, opening, strict=True)]
    streams = [stream for stream, _ in found]
    return _Files(
        partial(_one_by_one, several, streams), columns, name=found[0][1], paths=tuple(several)
    )


def _one_by_one(
    paths: Sequence[Path], streams: Sequence[Callable[[], Iterator[Any]]]
) -> Iterator[Any]:
    """The blocks of several files. A fault of one is refused once all were read."""
    faults: list[FileError] = []
    for path, stream in zip(paths, streams, strict=True):
        blocks = stream()
        while (block := _next(blocks, faults, path)) is not None:
            yield block
    if faults:
        raise faults[0]


def _next(blocks: Iterator[Any], faults: list[FileError], path: Path) -> Any:
    try:
        return next(blocks, None)
    except FileError as problem:
        faults.append(FileError(f"{path}: ", *problem.args))
    return None


def _name_step(path: Path, work: Callable[[], Any]) -> Any:
    """What comes of a file, whose name is told if it is refused."""
    try:
        return work()
    except FileError as problem:
        refusal = FileError(f"{path}: ", *problem.args)
    raise refusal


def _open_it(
    source: str | Path | BinaryIO, wish: _Wish, shown: Callable[[Sequence[ColumnCells]], object]
) -> tuple[Callable[[], Iterator[Any]], str]:
    """What opens the blocks, and the public name of the first column; refused if it has none."""
    if isinstance(source, str | Path):
        path = Path(source)
        with ExitStack() as held:
            stream = held.enter_context(path.open("rb"))
            state = state_of(os.fstat(stream.fileno()))
            table = wish.table(stream)
            if path.is_file():
                return partial(_again, path, state, wish, shown), table.name
            held.pop_all()
            return _Once(map(shown, _closing(stream, table))), table.name
    table = wish.table(source)
    return _Once(map(shown, table.blocks())), table.name


def _fits(asked: _Asked, field: object, header: bool | None) -> None:
    column = asked.column
    if column is None:
        return
    if header is not False:
        if not isinstance(column, str):
            raise ParameterError(
                f"a column of a table with a header has a name, got {column!r}; for a column "
                "number say that there is no header (",
                Argument("header", False),
                ")",
            )
    elif isinstance(column, str | bool) or column < 1:
        raise ParameterError(
            "without a header a column has a number that counts from 1 (",
            *_BY_NUMBER,
            f"), got {column!r}",
        )


def _a_kind(asked: _Asked, field: object, kind: object) -> None:
    if kind not in (str, float):
        got = kind.__name__ if isinstance(kind, type) else quote(kind)
        raise ParameterError(
            f"csv_table: a column holds str (text) or float (numbers), whole numbers too; got {got}"
        )


@attrs.frozen(repr=False)
class _Asked:
    """A column that you ask for."""

    column: str | int | None
    kind: Any = attrs.field(validator=_a_kind)
    header: bool | None = attrs.field(validator=_fits)

    @property
    def typed(self) -> str:
        """Its name or number as text; empty for the only column."""
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
                return f"column {self.typed!r}"


def _told_apart(wish: _Wish, field: object, asked: tuple[_Asked, ...]) -> None:
    if len({each.typed for each in asked}) < len(asked):
        raise ParameterError("a column is asked for twice; name each once")


@attrs.frozen(repr=False)
class _Wish:
    """The columns that you ask for and how their cells are to be read."""

    asked: tuple[_Asked, ...] = attrs.field(validator=_told_apart)
    header: bool | None
    delimiter: str
    missing: frozenset[str]
    text: Text

    @classmethod
    def of(
        cls,
        columns: Sequence[tuple[str | int | None, Any]],
        header: bool | None,
        delimiter: str,
        na: Collection[str],
        text: Text,
    ) -> _Wish:
        """The columns with what each holds, and how the cells are written."""
        asked = tuple(_Asked(column, kind, header) for column, kind in columns)
        marks = MISSING | {mark.strip() for mark in na}
        return cls(asked, header, _one_character(delimiter), marks, _know(text))

    def table(self, stream: BinaryIO) -> _Table:
        """The rows of a stream with the places of the columns in them."""
        source = CsvRows.of(stream, self.delimiter)
        rows = iter(source)
        first = next((row for row in rows if row), None)
        if source.faults:
            places = (0,) * len(self.asked)
            for _ in _Table(self, source, rows, places, len(first or [""]), "").blocks():
                pass
        if self.header is False:
            return self._headless(source, rows, first)
        if first is None:
            raise FileError("the file is empty; its first line must hold the names of the columns")
        names = tuple(name.strip() for name in first)
        if self.header:
            return self._declare(source, rows, names)
        if not all(map(self._is_name, names)) or (self._only and len(names) != 1):
            raise self._no_header()
        places = tuple(0 if self._only else self._place(each.typed, names) for each in self.asked)
        return _Table(self, source, rows, places, len(names), self.asked[0].typed)

    @property
    def _only(self) -> bool:
        """Whether no column is named, since the file has one."""
        return self.asked[0].column is None

    @cached_property
    def marks_numbers(self) -> bool:
        """Whether a mark of a missing value is a number."""
        return any(map(_is_number, self.missing))

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
        places = tuple(1 if each.column is None else int(each.column) for each in self.asked)
        if first is not None and max(places) > width:
            raise FileError(f"there is no column {max(places)}: the first line has fewer cells")
        if self._only and width > 1:
            raise FileError(
                "choose a column by its number, which counts from 1 (", Argument("column", 3), ")"
            )
        every = rows if first is None else chain([first], rows)
        starting = tuple(place - 1 for place in places)
        return _Table(self, source, every, starting, width, self.asked[0].typed, headed=False)

    def _declare(
        self, source: CsvRows, rows: Iterator[list[str]], names: tuple[str, ...]
    ) -> _Table:
        if len(names) == 1 and any(each.typed != names[0] for each in self.asked):
            other = next((mark for mark in _OTHER_DELIMITERS if mark in names[0]), None)
            if other is not None:
                raise FileError(
                    f"the first line holds {other!r} and not {self.delimiter!r} between the names "
                    "of the columns; try ",
                    Argument("delimiter", other),
                )
        found = [pick_column(names, None if self._only else each.typed) for each in self.asked]
        return _Table(self, source, rows, tuple(map(names.index, found)), len(names), found[0])

    def _place(self, typed: str, names: tuple[str, ...]) -> int:
        if typed not in names:
            raise self._no_header()
        if names.count(typed) > 1:
            raise FileError(f"two columns have the name {typed!r}; rename one of them")
        return names.index(typed)

    def _no_header(self) -> FileError:
        """One text for all first lines: it tells only that this one is not as declared."""
        typed = ", ".join(repr(each.typed) for each in self.asked)
        if self._only:
            found: tuple[object, ...] = (
                "choose a column (",
                Argument("column", ...),
                "), as the first line is not one name",
            )
        elif len(self.asked) == 1:
            found = (f"the first line names no column {typed}",)
        else:
            found = (f"the first line does not name all of the columns {typed}",)
        return FileError(
            *found,
            ". It is not shown, as it may be a person's row. If it holds column names, ",
            Argument("header", True),
            " makes this error list them. If it is data, ask for a column by its number: ",
            *_BY_NUMBER,
            f". The character between cells is {self.delimiter!r}; ",
            Argument("delimiter", ...),
            " changes it",
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
    """Rows that are still to come and the places of columns in them.

    ``name`` is that of the first column, where it is public. ``headed`` says that a header stood
    before them.
    """

    wish: _Wish
    source: CsvRows
    rows: Iterator[list[str]]
    places: tuple[int, ...]
    width: int
    name: str
    headed: bool = True
    _not_numbers: set[int] = attrs.field(factory=set, init=False)

    def quick_blocks(self, stream: BinaryIO) -> Iterator[tuple[ColumnCells, ...]]:
        """As ``blocks``, of the same bytes from their start: quickly, as far as rows are plain."""
        wish, done = self.wish, 0
        plain = _plain_rows()(
            unpack(stream), wish.delimiter, self.width, self.places, self.headed, wish.missing
        )
        for cells in plain.blocks():
            done += len(cells[0])
            yield tuple(map(self._plain_cells, count(), cells))
        if plain.whole:
            self._refuse_faults()
        else:
            yield from self.blocks(after=done)

    def blocks(self, after: int = 0) -> Iterator[tuple[ColumnCells, ...]]:
        """The blocks of the columns after some rows; a fault is refused after the last of them.

        The rows before are read all the same, so that the time does not tell how many they are.
        """
        read = 0
        for block in self._blocks(self.rows):
            left = max(0, after - read)
            read += len(block[0])
            if left < len(block[0]):
                yield tuple(take(cells, np.arange(left, len(cells))) for cells in block)
        for _ in self._blocks(self.source.instead_of_swallowed(read, self.width)):
            pass
        self._refuse_faults()

    def _refuse_faults(self) -> None:
        column = self.wish.asked[min(self._not_numbers, default=0)]
        self.source.refuse_faults(column.label)

    def _blocks(self, rows: Iterator[list[str]]) -> Iterator[tuple[ColumnCells, ...]]:
        picks = [itemgetter(place) for place in self.places]
        held: list[list[str]] = [[] for _ in picks]
        while some := list(islice(rows, _HELD_ROWS)):
            if set(map(len, some)) != {self.width}:
                some = list(self._filled(some))
            for cells, pick in zip(held, picks, strict=True):
                cells.extend(map(pick, some))
            if len(held[0]) >= _BLOCK_ROWS:
                yield tuple(map(self._cells, count(), held))
                held = [[] for _ in picks]
        if held[0]:
            yield tuple(map(self._cells, count(), held))

    def _filled(self, rows: Iterable[list[str]]) -> Iterator[list[str]]:
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

    def _plain_cells(self, place: int, cells: PlainCells) -> ColumnCells:
        if self.wish.asked[place].kind is str:
            return self._text(cells.texts())
        return cells.numbers(partial(self._numbers, place))

    def _cells(self, place: int, cells: Sequence[str]) -> ColumnCells:
        if self.wish.asked[place].kind is str:
            return self._text(cells)
        return self._numbers(place, cells)

    def _text(self, cells: Sequence[str]) -> TextCells:
        missing = self.wish.missing
        return TextCells.of((category_in(cell, missing) for cell in cells), len(cells))

    def _numbers(self, place: int, cells: Sequence[str]) -> Floats:
        try:
            return self._bare_numbers(cells)
        except ValueError:
            return np.fromiter(self._each_number(place, cells), np.float64, len(cells))

    def _bare_numbers(self, cells: Sequence[str]) -> Floats:
        """As ``_numbers``, where all cells are numbers or missing; else raises ``ValueError``.

        No space may stand around a number that may be a mark of a missing value.
        """
        missing = self.wish.missing
        texts = cells
        if not missing.isdisjoint(cells):
            texts = ["nan" if cell in missing else cell for cell in cells]
        every = "".join(texts)
        if "_" in every or (self.wish.marks_numbers and every.split(None, 1) != [every]):
            raise ValueError
        found = np.fromiter(map(float, texts), np.float64, len(texts))
        found[np.isnan(found)] = nan
        return found

    def _each_number(self, place: int, cells: Sequence[str]) -> Iterator[float]:
        number, refused = self.wish.number, self.wish.text == "refuse"
        for cell in cells:
            try:
                value = number(cell)
            except ValueError:
                value = nan
                if refused:
                    self.source.faults.add(Fault.TEXT)
                    self._not_numbers.add(place)
            yield value


class _Once:
    """Blocks that can be gone through one time."""

    def __init__(self, blocks: Iterator[Any]) -> None:
        self._left: Iterator[Any] | None = blocks

    def __call__(self) -> Iterator[Any]:
        blocks, self._left = self._left, None
        if blocks is None:
            raise FileError(
                "standard input or a pipe can be read only once, and this pipeline reads the data "
                "again; save the data to a file first"
            )
        return blocks


def _closing(stream: BinaryIO, table: _Table) -> Iterator[tuple[ColumnCells, ...]]:
    with stream:
        yield from table.blocks()


def _again(
    path: Path, state: FileState, wish: _Wish, shown: Callable[[Sequence[ColumnCells]], object]
) -> Iterator[object]:
    with _reopen(path) as stream, _reopen(path) as again:
        for each in (stream, again):
            require_state(state_of(os.fstat(each.fileno())), state)
        table = wish.table(stream)
        quick = wish.delimiter.isascii() and table.width > 0
        blocks = table.quick_blocks(again) if quick else table.blocks()
        yield from map(shown, blocks)
        require_state(state_of(os.fstat(again.fileno())), state)


def _reopen(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError:
        refusal = FileError("the file is no longer there, or you may no longer read it")
    raise refusal


@cache
def _plain_rows() -> type[PlainRows]:
    """What reads plain rows: Arrow where it is installed, which is faster, or numpy."""
    try:
        found: type[PlainRows] = import_module("opendp_lite.engines.files.csv_arrow").ArrowRows
    except ImportError:
        return NumpyRows
    return found


def _is_number(mark: str) -> bool:
    try:
        number = float(mark)
    except ValueError:
        return False
    return number == number


def _know(text: Text) -> Text:
    if text not in ("refuse", "missing"):
        raise ParameterError(f"text must be 'refuse' or 'missing', got {text!r}")
    return text


def _one_character(delimiter: str) -> str:
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise ParameterError(
            Argument("delimiter"), f" must be one character such as ',' or ';', got {delimiter!r}"
        )
    return delimiter

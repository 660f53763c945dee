"""Columns of a CSV file, a block at a time.

Three sentences on what a refusal may show:

Others may read a refusal in a log or over your shoulder, so it never shows a cell, a row's place
or a number of rows. The first line of a file without a header is a person's row, and no rule can
be sure which it is, so no cell of it is shown unless you declare a header. A refusal still says
that the file breaks its declared format: this bit is outside of the stated privacy loss.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from opendp_lite.base.errors import Argument, ParameterError
from opendp_lite.engines.data.blocks import (
    Blocks,
    FileColumn,
    FileError,
    FileState,
    NoFileError,
    pick_column,
    require_state,
    state_of,
)
from opendp_lite.engines.files.csv_rows import (
    BY_NUMBER,
    ColumnCells,
    CsvRows,
    CsvTable,
    Name,
    Text,
    Wish,
)
from opendp_lite.engines.files.source_files import files_named, unpack
from opendp_lite.spelling.suggestions import explain_names

if TYPE_CHECKING:
    from opendp_lite.engines.files.csv_arrow import ArrowRows

_OTHER_DELIMITERS = (";", "\t", "|", ",")
_Open = Callable[[], Iterable[object]]
# What stands for the rows where no column is asked for.
_ROWS: Final = ((None, str),)


@explain_names
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
    return _read(source, Wish(((column, float),), header, delimiter, na, text, alone=True))


@explain_names
def csv_table(
    source: str | Path | BinaryIO,
    columns: Mapping[str, type] | Mapping[int, type] | None = None,
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
    columns: Sequence[tuple[Name, type]],
    header: bool | None,
    delimiter: str,
    na: Collection[str],
    text: Text,
) -> Blocks:
    """As ``csv_table``; a column of the name None is the only one, and its blocks have no name.

    Without columns the blocks have the rows of the table, in a column that nothing reads.
    """
    if not columns:
        return _read(source, Wish(_ROWS, header, delimiter, na, text, alone=False, rows=True))
    alone = None in [column for column, _ in columns]
    return _read(source, Wish(tuple(columns), header, delimiter, na, text, alone))


def header_of(source: str | BinaryIO, delimiter: str) -> list[str]:
    """The names in the first line, which you say are public: no other line is shown."""
    wish = Wish(_ROWS, True, delimiter, (), "refuse", alone=False, rows=True)
    with ExitStack() as held:
        stream = source
        if isinstance(stream, str):
            path = (files_named(stream) or [Path(stream)])[0]
            stream = held.enter_context(path.open("rb"))
        rows = CsvRows.of(stream, wish.delimiter)
        first = next((row for row in rows if row), [])
        rows.refuse_faults("")
        return [cell.strip() for cell in first]


def _read(source: str | Path | BinaryIO, wish: Wish) -> FileColumn:
    """The blocks of a stream, of a file, or of all files that a pattern stands for."""
    opened = hasattr(source, "read") and not isinstance(source, io.TextIOBase)
    if not (opened or isinstance(source, str | Path)):
        raise ParameterError(
            "a source is a path, or an open binary stream such as open('people.csv', 'rb') or "
            f"io.BytesIO(data), got {type(source).__name__}"
        )
    several = files_named(source) if isinstance(source, str | Path) else None
    if several is None:
        opens, name = _open_it(source, wish)
        file = Path(source) if isinstance(source, str | Path) else None
        paths = (file,) if file is not None and file.is_file() else ()
        return FileColumn(opens, len(wish.columns), name=name, paths=paths)
    found = [_open_named(path, wish) for path in several]
    blocks = {path: opens for path, (opens, _) in zip(several, found, strict=True)}
    opens = partial(_one_by_one, blocks)
    return FileColumn(opens, len(wish.columns), name=found[0][1], paths=tuple(several))


def _open_named(path: Path, wish: Wish) -> tuple[_Open, str]:
    """As ``_open_it``, with the name of the file in a refusal."""
    try:
        return _open_it(path, wish)
    except FileError as problem:
        refusal = FileError(f"{path}: ", *problem.args)
    raise refusal


def _one_by_one(files: Mapping[Path, _Open]) -> Iterator[object]:
    """The blocks of several files. A fault of one is refused once all were read."""
    faults: list[FileError] = []
    for path, opens in files.items():
        try:
            yield from opens()
        except FileError as problem:
            faults.append(FileError(f"{path}: ", *problem.args))
    if faults:
        raise faults[0]


def _open_it(source: str | Path | BinaryIO, wish: Wish) -> tuple[_Open, str]:
    """What opens the blocks, and the public name of the first column; refused if it has none."""
    if not isinstance(source, str | Path):
        table = _find_columns(wish, source)
        return _Once(wish.blocks(table.blocks())), table.name
    path = Path(source)
    with ExitStack() as held:
        try:
            stream = held.enter_context(path.open("rb"))
        except (FileNotFoundError, ValueError):  # No name of a file holds a zero byte.
            raise NoFileError.of("csv_column" if wish.alone else "csv_table", path) from None
        state = state_of(os.fstat(stream.fileno()))
        table = _find_columns(wish, stream)
        if path.is_file():
            return partial(_again, path, state, wish), table.name
        held.pop_all()
        return _Once(_close_after(stream, table)), table.name


class _Once:
    """Blocks that can be gone through one time."""

    def __init__(self, blocks: Iterator[object]) -> None:
        self._left: Iterator[object] | None = blocks

    def __call__(self) -> Iterator[object]:
        blocks, self._left = self._left, None
        if blocks is None:
            raise FileError(
                "standard input or a pipe can be read only once, and this pipeline reads the data "
                "again; save the data to a file first"
            )
        return blocks


def _close_after(stream: BinaryIO, table: CsvTable) -> Iterator[object]:
    with stream:
        yield from table.wish.blocks(table.blocks())


def _again(path: Path, state: FileState, wish: Wish) -> Iterator[object]:
    with _reopen(path) as stream, _reopen(path) as again:
        for each in (stream, again):
            require_state(state_of(os.fstat(each.fileno())), state)
        table = _find_columns(wish, stream)
        quick = _quick_reader() if wish.delimiter.isascii() and table.width else None
        blocks = table.blocks() if quick is None else _quick_blocks(table, again, quick)
        yield from wish.blocks(blocks)
        require_state(state_of(os.fstat(again.fileno())), state)


def _reopen(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError:
        refusal = FileError("the file is no longer there, or you may no longer read it")
    raise refusal


def _quick_blocks(
    table: CsvTable, stream: BinaryIO, reader: type[ArrowRows]
) -> Iterator[tuple[ColumnCells, ...]]:
    """The blocks of a table, of the same bytes from their start: quickly where rows are plain."""
    wish, done = table.wish, 0
    plain = reader(
        unpack(stream), wish.delimiter, table.width, table.places, table.headed, wish.missing
    )
    for columns in plain.blocks():
        done += len(columns[0])
        yield tuple(
            table.cells(place, reader.texts(cells))
            if wish.columns[place][1] is str
            else reader.numbers(cells, partial(table.numbers, place))
            for place, cells in enumerate(columns)
        )
    if plain.whole:
        table.refuse_faults()
    else:
        yield from table.blocks(after=done)


@cache
def _quick_reader() -> type[ArrowRows] | None:
    """What reads plain rows several times as fast, where Arrow is installed."""
    try:
        found: type[ArrowRows] = import_module("opendp_lite.engines.files.csv_arrow").ArrowRows
    except ImportError:
        return None
    return found


def _find_columns(wish: Wish, stream: BinaryIO) -> CsvTable:
    """The rows of a stream with the places of the columns in them."""
    source = CsvRows.of(stream, wish.delimiter)
    rows = iter(source)
    first = next((row for row in rows if row), None)
    width = len(first or ())
    if source.faults:
        nowhere = (0,) * len(wish.columns)
        for _ in CsvTable(wish, source, rows, nowhere, max(1, width), "").blocks():
            pass
    if wish.header is False:
        every = rows if first is None else chain([first], rows)
        places = _places_by_number(wish, first)
        return CsvTable(wish, source, every, places, width, wish.names[0], headed=False)
    if first is None:
        raise FileError("the file is empty; its first line must hold the names of the columns")
    names = tuple(cell.strip() for cell in first)
    if wish.header:
        places = _places_by_name(wish, names)
        return CsvTable(wish, source, rows, places, width, names[places[0]])
    return CsvTable(wish, source, rows, _places_by_guess(wish, names), width, wish.names[0])


def _places_by_number(wish: Wish, first: Sequence[str] | None) -> tuple[int, ...]:
    """The places of columns that are asked for by number."""
    places = [1 if column is None else int(column) for column, _ in wish.columns]
    if first is not None and max(places) > len(first):
        raise FileError(f"there is no column {max(places)}: the first line has fewer cells")
    if wish.only and not wish.rows and first is not None and len(first) > 1:
        raise FileError(
            "choose a column by its number, which counts from 1 (", Argument("column", 3), ")"
        )
    return tuple(place - 1 for place in places)


def _places_by_name(wish: Wish, names: tuple[str, ...]) -> tuple[int, ...]:
    """The places of columns among names that are declared to be such, and so public."""
    if wish.rows:
        return (0,)
    if len(names) == 1 and any(name != names[0] for name in wish.names):
        other = next((mark for mark in _OTHER_DELIMITERS if mark in names[0]), None)
        if other is not None:
            raise FileError(
                f"the first line holds {other!r} and not {wish.delimiter!r} between the names "
                "of the columns; try ",
                Argument("delimiter", other),
            )
    found = (pick_column(names, None if wish.only else name) for name in wish.names)
    return tuple(map(names.index, found))


def _places_by_guess(wish: Wish, names: tuple[str, ...]) -> tuple[int, ...]:
    """The places of columns in a first line that is a header if it looks like one."""
    only = wish.rows or len(names) == 1
    fits = only if wish.only else set(wish.names) <= set(names)
    if not fits or not all(_is_name(wish, name) for name in names):
        raise _no_header(wish)
    if wish.only:
        return (0,)
    twice = next((name for name in wish.names if names.count(name) > 1), None)
    if twice is not None:
        raise FileError(f"two columns have the name {twice!r}; rename one of them")
    return tuple(map(names.index, wish.names))


def _no_header(wish: Wish) -> FileError:
    """One text for all first lines: it tells only that this one is not as declared."""
    typed = ", ".join(map(repr, wish.names))
    if wish.rows:
        return FileError(
            "the first line is no list of names. It is not shown, as it may be a person's row. "
            "Say that it holds names, ",
            Argument("header", True),
            ", or data, ",
            Argument("header", False),
        )
    if wish.only:
        found: tuple[object, ...] = (
            "choose a column (",
            Argument("column", ...),
            "), as the first line is not one name",
        )
    elif len(wish.columns) == 1:
        found = (f"the first line names no column {typed}",)
    else:
        found = (f"the first line does not name all of the columns {typed}",)
    return FileError(
        *found,
        ". It is not shown, as it may be a person's row. If it holds column names, ",
        Argument("header", True),
        " makes this error list them. If it is data, ask for a column by its number: ",
        *BY_NUMBER,
        f". The character between cells is {wish.delimiter!r}; ",
        Argument("delimiter", ...),
        " changes it",
    )


def _is_name(wish: Wish, cell: str) -> bool:
    if not (cell[:1].isalpha() or cell[:1] == "_") or not cell.isprintable() or "\ufffd" in cell:
        return False
    try:
        wish.number(cell)
    except ValueError:
        return True
    return False

"""Data larger than memory: blocks that can be gone through again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import ENOENT
from functools import partial
from inspect import GEN_CREATED, getgeneratorstate, isgenerator
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar

import attrs

from opendp_lite.base.errors import Argument, DataError, ParameterError
from opendp_lite.engines.data import arrays, open_data, table
from opendp_lite.engines.data.source import (
    BLOCK_ENTRIES,
    Job,
    Merge,
    RowBlocks,
    Source,
    public_columns,
    public_size,
    reduce,
)

Made = TypeVar("Made")
GONE_THROUGH: Final = (
    "the blocks can be gone through only once, and this pipeline or an earlier one has done so; "
    "give dp.Blocks a function that opens them anew at each call, such as "
    "dp.Blocks(lambda: make_blocks()) where make_blocks is your generator function"
)


def _opens_anew(blocks: object, field: object, value: Callable[[], Iterable[object]]) -> None:
    if not callable(value):
        raise ParameterError(
            "Blocks needs a function that opens the blocks anew at each call: "
            "dp.Blocks(lambda: iter(blocks))"
        )


def _names(value: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(value, str):
        raise ParameterError(f"Blocks: names takes a list of names; write names=[{value!r}]")
    return None if value is None else tuple(map(str, value))


class _History:
    """What earlier passes over some blocks were given, to know an iterator that is used up."""

    def __init__(self) -> None:
        self._last: object = None
        self._filled = False

    def begin(self, found: Iterable[object]) -> Iterator[object]:
        """The blocks of a new pass; raises ``DataError`` where these were gone through before."""
        blocks = iter(found)
        used = isgenerator(blocks) and getgeneratorstate(blocks) != GEN_CREATED
        if blocks is found and (used or blocks is self._last):
            raise DataError(GONE_THROUGH)
        self._last = blocks if blocks is found else None
        return blocks

    def end(self, filled: bool) -> None:
        """Raises ``DataError`` where this pass met no block and an earlier one did."""
        if self._filled and not filled:
            raise DataError(GONE_THROUGH)
        self._filled = filled


@attrs.frozen(eq=False, repr=False)
class Blocks(table.Table):
    """Rows that come a block at a time.

    A release holds no more than the current block. A block without rows may have any number of
    columns.

    Args:
        open: A function of no arguments. At each call it gives a fresh iterable of blocks:
            arrays, frames, sparse matrices, or anything else that a pipeline accepts.
        columns: How many columns each block has; None for as many as the pipeline is for. Where
            you give ``names``, it is their number.
        size: The number of rows, where it is public and you want it checked.
        names: How the columns of each block are called, in their order. Of blocks that are tables
            it is these columns that a pipeline takes, unless it names its own.
        file: The file that they come from, if it is one. A ledger tells data from other data by it.

    Raises:
        ParameterError: If ``open`` cannot be called, or ``columns`` or ``size`` is no whole number.
        DataError: When the rows are read, if ``open`` gives the same iterator twice or one that
            is used up: a pipeline may go through the data several times.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> halves = dp.Blocks(lambda: iter([np.array([1.0, 2.0]), np.array([3.0])]))
        >>> (dp.clamp(0, 10) >> dp.sum())(halves)
        NotPrivate([6.])
    """

    library: ClassVar[str] = ""
    """As that of a ``Source``."""

    open: Callable[[], Iterable[object]] = attrs.field(validator=_opens_anew)
    columns: int | None = attrs.field(
        default=1, converter=attrs.converters.optional(public_columns)
    )
    size: int | None = attrs.field(default=None, converter=public_size)
    names: tuple[str, ...] | None = attrs.field(default=None, converter=_names)
    file: Path | None = attrs.field(default=None, kw_only=True)
    _history: _History = attrs.field(factory=_History, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.names:
            object.__setattr__(self, "columns", public_columns(len(self.names)))

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that they come from, where their bytes tell the data from other data."""
        return () if self.file is None else (self.file,)

    def require(self, columns: Sequence[table.Column] | None, names: Sequence[str] | None) -> None:
        """Refuses columns that are known not to be there, None for all; reads no row.

        Args:
            columns: What a pipeline asks for.
            names: How it calls the columns of rows that bring no names.
        """

    def read(self, names: tuple[str, ...] | None, reading: table.ColumnReading) -> Source:
        asked = self.names if names is None else names
        columns = None if asked is None else [table.Column(name, reading) for name in asked]
        self.require(columns, asked)
        given = self.only(columns)
        return OfBlocks(given, given.columns, partial(_rows_of, given.names, asked))

    def only(self, columns: Sequence[table.Column] | None) -> Blocks:
        """The same, for a pass that needs these columns alone, None for all."""
        return self

    def summary(self, rows: object, job: Callable[..., object], merge: Merge) -> Any:
        """What a job makes of these blocks, which ``rows`` has as ``given``, beside a ``part``."""
        return job(rows)

    def rows_by(self, work: Callable[[object], RowBlocks]) -> RowBlocks:
        """The rows that work makes of each block in a new pass over the blocks."""
        rows = 0
        for block in self.visit(work):
            rows += len(block)
            yield block
        if self.size not in (None, rows):
            raise DataError("the blocks hold another number of rows than their size says")

    def visit(self, work: Callable[[object], Iterator[Made]]) -> Iterator[Made]:
        """What work makes of each block in a new pass.

        A block that cannot be read is refused when all others were.
        """
        problems: set[str] = set()
        filled = False
        for piece in self._history.begin(self.open()):
            # A batch of Arrow without rows stands for a stream that gave none.
            filled = filled or getattr(piece, "num_rows", 1) > 0
            try:
                yield from work(piece)
            except DataError as problem:
                problems.add(str(problem))
        self._history.end(filled)
        if problems:
            raise DataError(min(problems))


@attrs.frozen(eq=False, repr=False)
class OfBlocks(Source):
    """The rows of ``Blocks``, which a function opens in each."""

    given: Blocks
    columns: int | None  # pyright: ignore[reportIncompatibleMethodOverride]
    open_block: Callable[[object], RowBlocks]
    part: int | None = None  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def size(self) -> int | None:
        return self.given.size

    @property
    def library(self) -> str:
        return self.given.library

    def blocks(self) -> RowBlocks:
        return self.given.rows_by(self.open_block)


@reduce.register
def _of_their_own(source: OfBlocks, job: Job, merge: Merge) -> object:
    """As the blocks themselves do it."""
    return source.given.summary(source, job, merge)


def _rows_of(
    names: tuple[str, ...] | None, asked: tuple[str, ...] | None, block: object
) -> RowBlocks:
    found = open_data.open_source(block, asked)
    if found.names is None and names is not None:
        open_data.require_order(names, asked)
    return open_data.read(found)


def by_chunks(array: Any) -> Blocks:
    """The rows of an array of one or two dimensions, some chunks at a time."""
    arrays.require_shape(len(array.shape))
    arrays.require_numbers(array.dtype)
    columns = 1 if len(array.shape) == 1 else array.shape[1]
    chunk = array.chunks[0] if array.chunks else 1
    rows = chunk * max(1, BLOCK_ENTRIES // max(1, columns * chunk))
    return Blocks(partial(_pieces, array, rows), columns=max(1, columns))


def _pieces(array: Any, rows: int) -> Iterator[object]:
    # Of no rows too one piece, which has their type.
    return (array[start : start + rows] for start in range(0, max(1, array.shape[0]), rows))


_LISTED: Final = 20


class FileError(DataError):
    """A file has another format than declared, or no such column."""


class NoFileError(FileError, FileNotFoundError):
    """No file is there. Code that waits for Python's own error gets it too."""

    def __new__(cls, *parts: object) -> Self:
        """As Python's own error: ``ValueError.__new__``, which comes first, is refused for it."""
        return FileNotFoundError.__new__(cls, *parts)

    @classmethod
    def of(cls, step: str, path: Path) -> Self:
        """The refusal of a step, with the folder that was searched."""
        folder = path.absolute().parent
        where = "in the folder" if folder.is_dir() else "as there is no folder"
        found = cls(
            f"{step}: there is no file {path.name!r}, {where} {str(folder)!r}; check its name and "
            "its folder"
        )
        found.errno, found.filename = ENOENT, str(path)
        return found


FileState = tuple[int, int, int]
"""What differs once a file was written anew, or grew."""


def state_of(found: os.stat_result) -> FileState:
    """The state of a file, of what the system says of it."""
    return found.st_ino, found.st_size, found.st_mtime_ns


def require_state(now: FileState | None, opened: FileState | None, lead: str = "") -> None:
    """Refuses a file that is not as it was when it was opened. A refusal begins with ``lead``.

    Its rows would be those of two datasets: a pipeline may go through them several times.
    """
    if now != opened:
        raise FileError(f"{lead}the file was written anew since it was opened; open it again")


@attrs.frozen(eq=False, repr=False)
class FileColumn(Blocks):
    """A column of a file as blocks for a pipeline.

    ``name`` is public: you typed it, or the file declares its names. Otherwise it is empty.
    The files at ``paths`` come one after another; a stream has none.
    """

    name: str = attrs.field(default="", kw_only=True)
    paths: tuple[Path, ...] = attrs.field(default=(), kw_only=True)

    @property
    def files(self) -> tuple[Path, ...]:
        return self.paths


def pick_column(names: Sequence[str], column: str | None) -> str:
    """Finds the column that you asked for.

    Args:
        names: FileColumn names that are known to be public. A refusal lists them.
        column: The name that you typed, or None for the only column.

    Returns:
        One of ``names``.

    Raises:
        FileError: If no column or several columns have this name.
    """
    if column is None:
        if len(names) == 1:
            return names[0]
        listed = table.list_columns([name for name in names if name], _LISTED)
        raise FileError("choose a column (", Argument("column", ...), f"); the {listed}")
    wanted = column.strip()
    if names.count(wanted) == 1:
        return wanted
    if wanted in names:
        raise FileError(f"two columns have the name {wanted!r}; rename one of them")
    raise FileError(
        f"there is {table.unknown_column(wanted, [each for each in names if each], _LISTED)}"
    )

"""The line that tells, on a terminal, how fast a long pass goes through the rows."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

import attrs

import opendp_lite as dp
from opendp_lite.engines.data.blocks import FileError
from opendp_lite.engines.data.open_data import with_pyarrow
from opendp_lite.engines.data.source import RowBlocks
from opendp_lite.engines.data.table import Column
from opendp_lite.engines.files.csv import csv_column, table_of
from opendp_lite.engines.files.source_files import files_named

_FIRST: Final = 2.0
_EVERY: Final = 0.5
_WIDTH: Final = 60


@attrs.frozen(eq=False, repr=False)
class Followed(dp.Blocks):
    """Blocks of which each pass is told about. How many rows there are is never told."""

    given: dp.Blocks = attrs.field(kw_only=True)
    terminal: TextIO = attrs.field(kw_only=True)

    @property
    def files(self) -> Any:
        return self.given.files

    def require(self, columns: Sequence[Column] | None, names: Sequence[str] | None) -> None:
        self.given.require(columns, names)

    def only(self, columns: Sequence[Column] | None) -> dp.Blocks:
        return follow_progress(self.given.only(columns), self.terminal)

    def rows_by(self, work: Callable[[object], RowBlocks]) -> RowBlocks:
        start = time.perf_counter()
        rows, told = 0, start + _FIRST - _EVERY
        try:
            for block in self.given.rows_by(work):
                rows += len(block)
                now = time.perf_counter()
                if now - told >= _EVERY:
                    told = now
                    self._tell(
                        f"reading for {now - start:.0f} s, {rows / (now - start):.1e} rows/s"
                    )
                yield block
        finally:
            if told >= start + _FIRST:
                self._tell("")

    def _tell(self, words: str) -> None:
        self.terminal.write(f"\r{words:{_WIDTH}}\r{words}")
        self.terminal.flush()


def follow_progress(blocks: dp.Blocks, terminal: TextIO | None = None) -> dp.Blocks:
    """The same blocks, with a line on standard error for long passes if that is a terminal."""
    terminal = terminal or sys.stderr
    if terminal is None or not terminal.isatty():
        return blocks
    return Followed(
        blocks.open,
        blocks.columns,
        blocks.size,
        blocks.names,
        given=blocks,
        terminal=terminal,
    )


_ENGINE: Final = "opendp_lite.engines.files.arrow"
# The formats that declare their columns, by the ends of names.
_FORMATS: Final = {".parquet": "parquet", ".feather": "feather", ".arrow": "feather"}
Columns = tuple[tuple[str | None, type], ...]


@attrs.frozen
class FileInput:
    """A file as the options describe it.

    Args:
        options: What the parser made of the command line.
        columns: The names that were typed, and what each column is read as. None is for the only
            column.
    """

    options: argparse.Namespace
    columns: Columns

    @classmethod
    def of(
        cls, options: argparse.Namespace, columns: Sequence[tuple[str | None, type]]
    ) -> FileInput:
        """Columns of a file, refused where one is asked for in two parts.

        Raises:
            ParameterError: If a column is named twice, or one is unnamed beside others.
        """
        names = [None if name is None else name.strip() for name, _ in columns]
        if len(names) > 1 and None in names:
            raise dp.ParameterError("--column NAME is needed, as other columns are read as well")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise dp.ParameterError(
                f"column {twice!r} is asked for twice; name different columns in --column, --by "
                "and --person"
            )
        kinds = (kind for _, kind in columns)
        return cls(options, tuple(zip(names, kinds, strict=True)))

    def title_of(self, name: str | None) -> str:
        """A column in words that are public: as you typed it."""
        if name is None:
            return "the only column"
        return f"column {name}" if self.options.header is False else name

    def column(self) -> tuple[dp.Blocks, str]:
        """The one column, of numbers, and its public name."""
        if self._declares_types:
            found = self._declare()
            return follow_progress(found), str(found.names[0])
        column = csv_column(self._source, self._ask(self.columns[0][0]), **self._form)
        return follow_progress(column), column.name

    def table(self) -> dp.Blocks:
        """All columns."""
        if self._declares_types:
            return follow_progress(self._declare())
        asked = [(self._ask(name), kind) for name, kind in self.columns]
        return follow_progress(table_of(self._source, asked, **self._form))

    @property
    def _form(self) -> dict[str, Any]:
        """How a CSV file is written."""
        typed = vars(self.options)
        return {name: typed[name] for name in ("header", "delimiter", "na", "text")}

    @property
    def _suffix(self) -> str:
        """The end of the name of the file, or of the first one."""
        files = files_named(self.options.file)
        return Path(files[0] if files else self.options.file).suffix.lower()

    @property
    def _declares_types(self) -> bool:
        return self._suffix in _FORMATS

    @property
    def _source(self) -> str | BinaryIO:
        file: str = self.options.file
        return _standard_input() if file == "-" else file

    def _ask(self, name: str | None) -> str | int | None:
        """The column as a number where the file has no header."""
        if self.options.header is False and name is not None and name.isdecimal():
            return int(name)
        return name

    def _declare(self) -> Any:
        options = self.options
        usual = (options.delimiter, options.text) == (",", "refuse")
        if options.header is not None or options.na or not usual:
            raise dp.ParameterError(
                "--header, --no-header, --delimiter, --na and --text are for CSV files; leave them "
                f"out, as a {self._suffix} file declares its columns and their types"
            )
        engine = with_pyarrow(_ENGINE, f"reading a {self._suffix} file")
        return engine.declared_columns(options.file, self.columns, _FORMATS[self._suffix])


def _standard_input() -> BinaryIO:
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise FileError("there is no standard input to read; give the name of a file")
    return stream

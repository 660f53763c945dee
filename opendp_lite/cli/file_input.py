"""A file as the options describe it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import attrs

import opendp_lite as dp
from opendp_lite.cli import when_run

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
    def of(cls, typed: argparse.Namespace, columns: Sequence[tuple[str | None, type]]) -> FileInput:
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
        return cls(typed, tuple(zip(names, kinds, strict=True)))

    def title_of(self, name: str | None) -> str:
        """A column in words that are public: as you typed it."""
        if name is None:
            return "the only column"
        return f"column {name}" if self.options.header is False else name

    def column(self) -> tuple[dp.Blocks, str]:
        """The one column, of numbers, and its public name."""
        if self._declares_types:
            found = self._declare()
            return when_run.follow_progress(found), str(found.names[0])
        column = when_run.csv_column(self._source, self._ask(self.columns[0][0]), **self._form)
        return when_run.follow_progress(column), column.name

    def names(self) -> list[str]:
        """The names of all columns in the file: of a CSV file, if you say that it has a header."""
        if self._declares_types:
            return list(self._declare().names)
        if not self.options.header:
            raise dp.ParameterError(
                "the first line of a CSV file may be a person's row, so it is not shown. If it "
                "holds names, which are public, add --header. If it is data, columns have numbers "
                "that count from 1: --no-header --column 3"
            )
        names = when_run.header_of(self._source, self.options.delimiter)
        return [name if name.isprintable() else ascii(name) for name in names]

    def table(self) -> dp.Blocks:
        """All columns."""
        return when_run.follow_progress(self._declare() if self._declares_types else self._csv())

    def try_names(self) -> None:
        """Refuses a name that a CSV file lacks, by its first line alone, where it reads again."""
        if self.columns and Path(self.options.file).is_file() and not self._declares_types:
            self._csv()

    def _csv(self) -> dp.Blocks:
        asked = [(self._ask(name), kind) for name, kind in self.columns]
        return when_run.table_of(self._source, asked, **self._form)

    @property
    def _form(self) -> dict[str, Any]:
        """How a CSV file is written."""
        typed = vars(self.options)
        return {name: typed[name] for name in ("header", "delimiter", "na", "text")}

    @property
    def _suffix(self) -> str:
        """The end of the name of the file, or of the first one."""
        files = when_run.files_named(self.options.file)
        return Path(files[0] if files else self.options.file).suffix.lower()

    @property
    def _declares_types(self) -> bool:
        return self._suffix in _FORMATS

    @property
    def _source(self) -> str | BinaryIO:
        file: str = self.options.file
        stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
        if file == "-" and stream is None:
            raise when_run.FileError("there is no standard input to read; give the name of a file")
        return stream if file == "-" and stream is not None else file

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
        engine = when_run.with_pyarrow(_ENGINE, f"reading a {self._suffix} file")
        person = vars(options).get("person")
        return engine.declared_columns(
            options.file, self.columns, _FORMATS[self._suffix], person and person.strip()
        )

"""Stored tables and queries, of which a pipeline reads only the columns that it picks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

import attrs

from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.door import NUMBERS, opened_table
from opendp_lite.engines.file_column import FileError
from opendp_lite.engines.quiet import attempted
from opendp_lite.engines.source import BLOCK_ENTRIES
from opendp_lite.engines.table import Column
from opendp_lite.errors import DataError

BATCH_ENTRIES: Final = 8 * BLOCK_ENTRIES
"""Entries in a batch: opening it anew, which takes 0.1 ms, costs little for each."""
_UNDESCRIBED: Final = (
    "its columns are not known: the library that gives it failed; ask for its columns once without "
    "dp to see why"
)


class StoredPart(ABC):
    """A file, or a query, whose columns are known before its rows are read."""

    label: str = ""
    """What a refusal calls it, if there are several: its path, say."""
    path: Path | None = None
    """Where its bytes are, if it is a file of this machine."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Those of all columns, which are public."""

    @abstractmethod
    def empty(self) -> Any:
        """A table of all columns, each with its type, and no row."""

    @abstractmethod
    def batches(self, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Tables of some columns, or at least of one, of about so many rows; anew at each call."""

    def refused(self, problem: object) -> FileError:
        """A refusal that names the file."""
        return FileError(f"{self.label}: {problem}" if self.label else str(problem))


@attrs.frozen(eq=False, repr=False)
class ColumnBlocks(Blocks):
    """The rows of stored tables that have the same columns, one after another."""

    parts: tuple[StoredPart, ...] = attrs.field(kw_only=True)

    @classmethod
    def of(cls, parts: Sequence[StoredPart], names: tuple[str, ...] | None) -> ColumnBlocks:
        """The rows of some tables, with these columns; with all of them if ``names`` is None."""
        columns = max(1, len(parts[0].names if names is None else names))
        return cls(partial(_rows, parts, None), columns, None, names, parts=tuple(parts))

    @property
    def files(self) -> tuple[Path, ...]:
        found = tuple(part.path for part in self.parts if part.path is not None)
        return found if len(found) == len(self.parts) else ()

    def require(self, columns: Sequence[Column] | None) -> None:
        for part in self.parts:
            first = self.parts[0]
            if self.names is None and part.names != first.names and _every(columns):
                raise part.refused(
                    f"its columns are not those of {first.label}; say which to read: "
                    "columns=[...], or dp.records(columns=[...])"
                )
            problem = self._problem(part, columns)
            if problem is not None:
                raise part.refused(problem)

    def _problem(self, part: StoredPart, columns: Sequence[Column] | None) -> DataError | None:
        """Why a table without rows cannot be read in this way."""
        try:
            table = opened_table(attempted(part.empty, _UNDESCRIBED), None)
            if self.names is not None and _every(columns):
                table = table.picked(self.names)
            _ = table.every(NUMBERS) if columns is None else table.rows(columns)
        except DataError as problem:
            return problem
        return None

    def only(self, columns: Sequence[Column] | None) -> Blocks:
        asked = dict.fromkeys(str(column.name) for column in columns or ())
        if _every(columns):
            return Blocks(partial(_rows, self.parts, self.names), self.columns, names=self.names)
        rows = partial(_rows, self.parts, tuple(asked))
        return Blocks(rows, columns=max(1, len(asked)), names=self.names)


def _every(columns: Sequence[Column] | None) -> bool:
    return columns is None or any(column.name is None for column in columns)


def _rows(parts: Sequence[StoredPart], names: tuple[str, ...] | None) -> Iterator[Any]:
    return chain.from_iterable(map(partial(_batches, names), parts))


def _batches(names: tuple[str, ...] | None, part: StoredPart) -> Iterator[Any]:
    wanted = part.names if names is None else names
    return part.batches(wanted, max(1, BATCH_ENTRIES // max(1, len(wanted))))

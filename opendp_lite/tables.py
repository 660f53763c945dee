"""Tables: rows whose columns are picked by name, text among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import numpy as np

from opendp_lite.domains import Domain, Origin, Rows
from opendp_lite.engines.columns import Dataset
from opendp_lite.engines.deferred import identity
from opendp_lite.engines.lazy_table import Lazily, LazyTable
from opendp_lite.errors import ParameterError, SpaceError
from opendp_lite.metrics import Metric, SymmetricDistance

numbers: Final = Lazily(LazyTable.numbers)
"""The rows of a table as numbers."""
presence: Final = Lazily(LazyTable.presence)
"""The rows of a table: a zero for each value and NaN for each missing cell."""


@attrs.frozen(repr=False)
class Tables(Rows):
    """Datasets of which a pipeline reads the columns that it names, as numbers or as categories.

    Args:
        columns: How many columns there are; 1 where they are not declared.
        size: The number of rows, where it is public; None where it is private.
        body: Everything: the values are not known to lie anywhere.
        names: Of the columns; None where the data brings its own.
    """

    kind = "a table with named columns"
    bridge = "Start with dp.records(columns=[...]), or put it before the other steps."

    def to_internal(self, value: object) -> LazyTable:
        return LazyTable(Dataset(value, self.names, self.size), self.names)

    def to_public(self, value: Any) -> np.ndarray:
        return super().to_public(value.numbers())

    def towards(
        self, kinds: tuple[type[Domain], ...], step: str
    ) -> tuple[Domain, Callable[[Any], Any]]:
        if Tables in kinds or not kinds:
            return self, identity
        if self.names is None:
            raise SpaceError(
                f"{step} works on columns of numbers; say which, with dp.select('age') before it"
            )
        return Rows(self.columns, self.size, names=self.names), numbers

    def named(self, columns: Sequence[object], step: str) -> tuple[str, ...]:
        """The names of columns that a step asks for, refused where the space declares others."""
        return tuple(self._named(column, step) for column in columns)

    def _named(self, column: object, step: str) -> str:
        if not isinstance(column, str):
            raise ParameterError(
                f"{step}: a table's columns are picked by name, such as 'age'; got a value of type "
                f"{type(column).__name__}"
            )
        if self.names is None or column in self.names:
            return column
        near = get_close_matches(column, self.names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self.names)}"
        raise SpaceError(f"{step}: no column {column!r}; {hint}")

    def words(self) -> str:
        count = "" if self.size is None else f"{self.size} "
        columns = "" if self.names is None else f" of {', '.join(self.names)}"
        return f"{count}rows of a table{columns}"

    def __repr__(self) -> str:
        return f"dp.Tables(names={self.names!r}, size={self.size})"

    @classmethod
    def front(cls) -> tuple[Domain, Metric, Origin]:
        return cls(), SymmetricDistance(), ("table", ())


if TYPE_CHECKING:
    TablesOrRows = Rows
    RowsOrTables = Rows
else:
    TablesOrRows = TypeVar("TablesOrRows", Tables, Rows)
    RowsOrTables = TypeVar("RowsOrTables", Rows, Tables)
"""In the annotation of a step: it works on tables as they are, and on rows of numbers. By itself it
binds to the first of the two.
"""

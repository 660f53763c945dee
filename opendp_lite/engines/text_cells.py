"""The cells of a column of text, as a file has them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.door import open_rows
from opendp_lite.engines.source import Source
from opendp_lite.engines.take import RowPlaces, take
from opendp_lite.engines.values import ArrayValues, Values, open_values
from opendp_lite.errors import DataError

MISSING: Final = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "."})
"""Cells that always mean a missing value."""

_WHOLE: Final = re.compile(r"([+-]?[0-9]+)\.0*")


@attrs.frozen(eq=False, repr=False)
class TextCells:
    """Text by row, and None for a missing cell. Its type says that it is text."""

    cells: NDArray[np.object_]

    @classmethod
    def of(cls, cells: Iterable[str | None], count: int) -> TextCells:
        """So many cells."""
        return cls(np.fromiter(cells, object, count))

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, which: slice) -> NDArray[np.object_]:
        return self.cells[which]


def category_in(cell: str, missing: Collection[str]) -> str | None:
    """The category that a cell holds: its text without space around it; None if it is missing.

    A whole number is one category however many zeros follow its point.

    Example:
        >>> category_in(" f ", {"NA"}), category_in("NA", {"NA"}), category_in("3.0", {"NA"})
        ('f', None, '3')
    """
    text = cell.strip()
    if text in missing:
        return None
    whole = _WHOLE.fullmatch(text) if "." in text else None
    return text if whole is None else whole[1]


class _TextValues(ArrayValues):
    """Text, although the array may hold any object."""

    @property
    def is_text(self) -> bool:
        return True


@open_values.register
def _values_of(column: TextCells) -> Values:
    return _TextValues(column.cells)


@open_rows.register
def _rows_of(column: TextCells, names: tuple[str, ...] | None = None) -> Source:
    raise DataError("it is read as text; declare it as float to have its numbers")


@take.register
def _taken(container: TextCells, places: RowPlaces) -> Any:
    return TextCells(container.cells[places])

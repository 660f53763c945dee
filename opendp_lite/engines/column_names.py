"""A table of which only the names of the columns are there: what is public of it."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from opendp_lite.engines.arrays import ArrayRows
from opendp_lite.engines.door import opened_table
from opendp_lite.engines.source import Source
from opendp_lite.engines.table import ColumnReading, NamedColumns, TableRows
from opendp_lite.engines.values import is_column


@attrs.frozen(eq=False, repr=False)
class ColumnNames(NamedColumns):
    """A table without rows. A column that it has can be read in every way."""

    def _read(
        self,
        listed: tuple[str, ...],
        places: Sequence[int],
        readings: Sequence[ColumnReading],
        lead: str = "",
    ) -> Source:
        if not places:
            return super()._read(listed, places, readings)
        none = ArrayRows(np.empty((0, 1)))
        return TableRows(tuple(listed[place] for place in places), (none,) * len(places))


def names_alone(data: object) -> ColumnNames | None:
    """A table with the columns of this one and without rows; None for what is no table in memory.

    A query of it raises what a query of the table would raise for the names of its columns, and
    reads nothing.
    """
    table = None if is_column(data) else opened_table(data, None)
    return ColumnNames(table.names, _nothing, 0) if isinstance(table, NamedColumns) else None


def _nothing(place: int) -> list[float]:
    return []

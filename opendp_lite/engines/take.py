"""Some rows of whatever holds them, in the same kind of container."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.table import NamedColumns
from opendp_lite.errors import DataError

RowPlaces = NDArray[np.int64]


@singledispatch
def take(container: Any, places: RowPlaces) -> Any:
    """The rows at some places. A library's containers are registered by its own file."""
    raise DataError(
        f"rows of a {type(container).__name__} cannot be picked; give arrays, lists, or frames of "
        "pandas, polars or Arrow"
    )


@take.register
def _of_array(container: np.ndarray, places: RowPlaces) -> Any:
    return container[places]


@take.register(list)
@take.register(tuple)
def _of_list(container: Any, places: RowPlaces) -> list[Any]:
    return [container[place] for place in places.tolist()]


@take.register
def _of_table(container: NamedColumns, places: RowPlaces) -> NamedColumns:
    """A table of which a column is picked from when it is asked for."""
    return NamedColumns(
        container.names, lambda place: take(container.column(place), places), len(places)
    )

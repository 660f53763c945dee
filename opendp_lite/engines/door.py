"""The one door: whatever a person hands over becomes a ``Source`` here, or is refused.

``open_rows`` is a ``functools.singledispatch``: register a type to open a container of your own.
A library's containers are registered by the file ``libraries/of_LIBRARY.py``, or for a part of a
library ``libraries/of_LIBRARY_PART.py``. It is imported when the first of them is handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache, lru_cache, partial, singledispatch
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, cast

import attrs
import numpy as np

from opendp_lite.engines.arrays import ArrayRows, array_of, array_rows
from opendp_lite.engines.arrays import to_array as numbers_in
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.quiet import QUIET, attempted
from opendp_lite.engines.source import NoRows, Source
from opendp_lite.engines.sparse import is_sparse, sparse_rows
from opendp_lite.engines.table import Column, ColumnReading, NamedColumns
from opendp_lite.errors import DataError

_LIBRARIES: Final = "opendp_lite.engines.libraries"
_END: Final = object()
_BY_ROWS: Final = (
    "dp.Blocks(lambda: (data[i : i + 100_000] for i in range(0, len(data), 100_000)), columns=...)"
)
_WAYS: Final = {
    ("dims", "to_dataframe"): "data.to_dataframe(), where it fits",
    ("dims", "to_numpy"): "data.to_numpy(), where it fits",
    ("compute", "chunks"): "dp.Blocks(lambda: (b.compute() for b in data.blocks), columns=...)",
    ("compute", "partitions"): "dp.Blocks(lambda: (p.compute() for p in data.partitions), ...)",
    ("collect", "explain"): "data.collect(), which reads the rows",
    ("schema", "iter_batches"): "dp.Blocks(lambda: data.iter_batches(columns=[...]), columns=...)",
    ("chunks", "shape"): _BY_ROWS,
}
"""What to hand over instead of a container that may be larger than memory, by what it offers."""


@attrs.frozen
class _Numbers(ColumnReading):
    """Numbers as they are."""

    def __call__(self, column: Any) -> Source:
        return opened(column)

    def of_numbers(self, numbers: Floats) -> Floats:
        return numbers


NUMBERS: Final = _Numbers()


@singledispatch
def open_rows(data: Any, names: tuple[str, ...] | None = None) -> object:
    """Opens a container as rows of numbers. Register the type of your own container here.

    Args:
        data: A container.
        names: The columns that a pipeline picks, in this order; None for all.

    Returns:
        Something that can be opened already: an array, a table, a dictionary of columns,
        ``dp.Blocks``, or a ``Source`` of your own.

    Raises:
        DataError: If it cannot be read. Its text must hold nothing of the data.
    """
    found = _by_protocol(data)
    if found is None:
        raise _refusal(data)
    return found


def opened(data: object, names: tuple[str, ...] | None = None) -> Source:
    """The rows of a container, opened by ``open_rows``; no foreign error or warning gets out."""
    if type(data) is ArrayRows or isinstance(data, Source):
        return data
    if type(data) is np.ndarray:
        return array_rows(data)
    words = _unreadable(data)
    with QUIET:
        while not isinstance(data, Source):
            data = attempted(partial(_opened_once, data, names), words)
    return data


def opened_table(data: object, names: tuple[str, ...] | None) -> Any:
    """As ``opened``, but a table or blocks are left as they are: their columns are picked later."""
    words = _unreadable(data)
    with QUIET:
        while not isinstance(data, Source | NamedColumns) and not hasattr(data, "opened_by"):
            data = attempted(partial(_opened_once, data, names), words)
    return data


def _unreadable(data: object) -> str:
    return (
        f"a {type(data).__name__} could not be read: the function or the library that opens it "
        "failed; open it once without dp to see why"
    )


def read(source: Source, *, as_they_lie: bool = False) -> Iterator[Any]:
    """The blocks of a source, or its pieces, as they lie; no foreign error gets out."""
    opening = source.as_they_lie if as_they_lie else source.blocks
    return opening() if source.plain else _guarded(opening)


def _guarded(opening: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    words = (
        "the data could not be read to its end: the function or the library that gives it failed; "
        "go through it once without dp to see why"
    )
    blocks = attempted(lambda: iter(opening()), words)
    while (block := attempted(lambda: next(blocks, _END), words)) is not _END:
        yield block


def to_array(data: object) -> np.ndarray:
    """A short column of numbers as one array: of an array or a list with the type it has."""
    if isinstance(data, np.ndarray | list | tuple):
        return attempted(partial(numbers_in, data), "the numbers could not be read")
    with QUIET:
        blocks = [np.array(block) for block in read(opened(data))]
    found = np.concatenate(blocks) if blocks else np.empty((0, 1))
    return found[:, 0] if found.shape[1] == 1 else found


def _opened_once(data: object, names: tuple[str, ...] | None) -> object:
    """As ``open_rows``, once the libraries that the type comes from have registered theirs."""
    register_libraries(type(data))
    return open_rows(data, names)


def register_libraries(kind: type) -> None:
    """Lets the libraries that a type comes from register how their containers are opened."""
    _libraries_of(cast(Hashable, kind))


@lru_cache
def _libraries_of(kind: Any) -> None:
    for base in kind.__mro__:
        library, *part = base.__module__.split(".")[:2]
        _registered(library.strip("_"))
        if part:
            _registered(f"{library}_{part[0].strip('_')}")


@cache
def _registered(library: str) -> None:
    name = f"{_LIBRARIES}.of_{library}"
    if find_spec(name) is not None:
        import_module(name)


def _by_protocol(data: Any) -> object | None:
    """A container of no registered type, by what it offers.

    A sparse matrix has ``tocsr``. An Arrow stream is read batch by batch. What says by an array
    interface, DLPack or a buffer where its numbers lie is in memory. All else may be lazy or on a
    disk: its ``__array__`` would load it whole, so it is not used.
    """
    if isinstance(data, str | bytes | bytearray | type) or _way(data) is not None:
        return None
    if is_sparse(data):
        return sparse_rows(data)
    if hasattr(data, "__arrow_c_stream__") and find_spec("pyarrow") is not None:
        stream: object = import_module(f"{_LIBRARIES}.of_pyarrow").Stream(data)
        return stream
    if hasattr(data, "__array_interface__") or _is_buffer(data):
        array = np.asarray(data)
    elif hasattr(data, "__dlpack__"):
        array = np.from_dlpack(data)
    else:
        return None
    return array if array.ndim else None


def _is_buffer(data: Any) -> bool:
    try:
        memoryview(data).release()
    except TypeError:
        return False
    return True


def _way(data: object) -> str | None:
    """What to hand over instead of a container that may be lazy or on a disk."""
    ways = (way for offered, way in _WAYS.items() if all(hasattr(data, name) for name in offered))
    return next(ways, None)


def _refusal(data: object) -> DataError:
    name, way = type(data).__name__, _way(data)
    if way is None and hasattr(data, "__arrow_c_stream__") and not isinstance(data, type):
        return DataError(
            f"reading a {name} needs pyarrow, which is not installed; type: pip install "
            '"opendp_lite[arrow]"'
        )
    if way is None or isinstance(data, str | bytes | bytearray | type | np.generic):
        return DataError(
            f"data of type {name} cannot be read; give a numpy array, a list of numbers, a pandas, "
            "polars or Arrow column or table, or dp.Blocks; read a file first (pandas.read_csv, "
            "dp.csv_column), and make a list of an iterator"
        )
    return DataError(f"data of type {name} may not fit into memory and is not loaded; pass {way}")


@open_rows.register
def _of_source(data: Source, names: tuple[str, ...] | None = None) -> Source:
    return data


@open_rows.register
def _of_array(data: np.ndarray, names: tuple[str, ...] | None = None) -> Source:
    return array_rows(data)


@open_rows.register(list)
@open_rows.register(tuple)
def _of_list(data: Any, names: tuple[str, ...] | None = None) -> Source:
    return array_rows(array_of(data))


@open_rows.register(Mapping)
def _of_columns(data: Mapping[Any, Any], names: tuple[str, ...] | None = None) -> object:
    """A dictionary from names to columns; some sparse matrices are dictionaries too."""
    if is_sparse(data):
        return sparse_rows(data)
    if _way(data) is not None:
        raise _refusal(data)
    held = list(data)
    return NamedColumns(held, lambda place: data[held[place]], len(data[held[0]]) if held else 0)


@open_rows.register
def _of_table(data: NamedColumns, names: tuple[str, ...] | None = None) -> Source:
    """A table of numbers: the columns of these names, or all of them."""
    if names is not None:
        return data.rows([Column(name, NUMBERS) for name in names])
    return data.every(NUMBERS) if data.names else NoRows()

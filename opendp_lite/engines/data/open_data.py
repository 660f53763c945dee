"""The one door: whatever a person hands over becomes a ``Source`` here, or is refused.

``open_rows`` is a ``functools.singledispatch``: register a type to open a container of your own.
A library's containers are registered by the file ``containers/of_LIBRARY.py``, or for a part of a
library ``containers/of_LIBRARY_PART.py``. It is imported when the first of them is handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from functools import cache, lru_cache, partial, singledispatch
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, ClassVar, Final, cast

import attrs
import numpy as np

from opendp_lite.base.errors import DataError, find_library
from opendp_lite.engines.data import expressions, fold, sparse
from opendp_lite.engines.data.arrays import ArrayRows, array_rows, exact_array
from opendp_lite.engines.data.arrays import to_array as numbers_in
from opendp_lite.engines.data.source import QUIET, Job, Merge, RowBlocks, Source, attempt, reduce
from opendp_lite.engines.data.table import Column, ColumnReading, NamedColumns, Table

_PACKAGE: Final = "opendp_lite"
_LIBRARIES: Final = f"{_PACKAGE}.engines.containers"
_END: Final = object()
_BY_ROWS: Final = (
    "dp.Blocks(lambda: (data[i : i + 100_000] for i in range(0, len(data), 100_000)), columns=...)"
)
_UNREADABLE: Final = (
    "a {} could not be read: the function or the library that opens it failed; open it once "
    "without dp to see why"
)
_NOT_TO_ITS_END: Final = (
    "the data could not be read to its end: the function or the library that gives it failed; "
    "go through it once without dp to see why"
)
# What to hand over instead of a container that may be larger than memory, by what it offers.
_WAYS: Final = {
    ("dims", "to_series"): "data.to_numpy().ravel(), or data.to_dataframe('x').reset_index()",
    ("dims", "to_dataframe"): "data.to_dataframe().reset_index(), whose columns are its variables",
    (
        "fetchmany",
        "description",
    ): "a table of its rows, as pandas.read_sql(query, connection) gives",
    ("fetchmany", "mappings"): "data.mappings().all(), a list of a dictionary for each row",
    ("fetchmany", "fetchall"): "list(map(dict, data.fetchall())), or pandas.read_sql(query, ...)",
    ("compute", "chunks"): "dp.Blocks(lambda: (b.compute() for b in data.blocks), columns=...)",
    ("compute", "partitions"): "dp.Blocks(lambda: (p.compute() for p in data.partitions), ...)",
    ("collect", "explain"): "data.collect(), which reads the rows",
    ("schema", "iter_batches"): "dp.Blocks(lambda: data.iter_batches(columns=[...]), columns=...)",
    ("chunks", "shape"): _BY_ROWS,
}


@singledispatch
def open_rows(data: object) -> object:
    """Opens a container. Register the type of your own container here.

    Args:
        data: A container.

    Returns:
        All its columns with their names, as something that can be opened already: a dictionary of
        columns, a table, ``dp.Blocks(..., names=[...])`` or a ``Source`` that has ``names``. Where
        the columns have no names: an array, ``dp.Blocks`` or a ``Source``.

    Raises:
        DataError: If it cannot be read. Its text must hold nothing of the data.
    """
    found = _by_protocol(data)
    if found is None:
        raise _refusal(data)
    return found


def open_source(data: object, names: tuple[str, ...] | None = None) -> Source:
    """The rows of a container, opened by ``open_rows``; no foreign error or warning gets out."""
    if type(data) is ArrayRows:
        return data
    if type(data) is np.ndarray:
        return array_rows(data)
    found = data if isinstance(data, Source) else opened_table(data, names)
    if not isinstance(found, Source):
        with QUIET:
            words = _UNREADABLE.format(type(data).__name__)
            found = attempt(partial(found.read, names, NUMBERS), words)
    if names is not None and found.names is not None:
        require_order(found.names, names)
    return found


@attrs.frozen
class _Numbers(ColumnReading):
    """Numbers as they are."""

    as_they_are: ClassVar[bool] = True

    def __reduce__(self) -> str:
        """By its name: it is compared with ``is``, in a worker too."""
        return "NUMBERS"

    __call__ = staticmethod(open_source)  # pyright: ignore[reportAssignmentType]

    def of_numbers(self, numbers: fold.Floats) -> fold.Floats:
        return numbers

    def express(self, name: str | None, engine: expressions.Engine) -> expressions.Expression:
        return expressions.number_of(engine, name)


NUMBERS: Final = _Numbers()


def require_order(there: tuple[str, ...], names: tuple[str, ...] | None) -> None:
    """Refuses rows whose columns are not those that a pipeline takes by their places."""
    if there != names:
        raise DataError(
            "the data has other columns than the pipeline names, or has them in another order; "
            "start with dp.records(columns=[...])"
        )


def opened_table(data: object, names: tuple[str, ...] | None) -> Source | Table:
    """As ``opened``, but a table or blocks are left as they are: their columns are picked later.

    Where a pipeline declares names, it takes an array or blocks that were handed over for columns
    in that order. A container that a stranger's function opens is another matter: which columns it
    gave, and in which order, only the function knows. So it says their names, or it is refused.
    """
    found, unnamed, words = data, None, _UNREADABLE.format(type(data).__name__)
    if names is not None and (is_records(data) or all_missing(data)):
        return _of_records(data, names)
    with QUIET:
        while not isinstance(found, Source | Table):
            if type(found) is np.ndarray:
                found = array_rows(found)
                continue
            register_libraries(type(found))
            opening = str(open_rows.dispatch(type(found)).__module__)
            if not opening.startswith(f"{_PACKAGE}."):
                unnamed = type(found).__name__
            found = attempt(partial(open_rows, found), words)
    if names is None or unnamed is None:
        return found
    if found.names is None:
        raise DataError(
            f"the pipeline picks columns by name, and the function that opens a {unnamed} does not "
            "say how its columns are called; let it return dp.Blocks(..., names=[...]) or a "
            "dictionary of columns"
        )
    return found


def read(source: Source, *, as_they_lie: bool = False) -> RowBlocks:
    """The blocks of a source, or its pieces, as they lie; no foreign error gets out."""
    opening = source.as_they_lie if as_they_lie else source.blocks
    return opening() if source.plain else guard(opening)


def guard(opening: Callable[[], Iterator[Any]], words: str = _NOT_TO_ITS_END) -> Iterator[Any]:
    """The blocks that foreign code opens; what fails in it is refused in our words."""
    blocks = attempt(lambda: iter(opening()), words)
    while (block := attempt(lambda: next(blocks, _END), words)) is not _END:
        yield block


def to_array(data: object) -> np.ndarray:
    """A short column of numbers as one array: of an array or a list with the type it has."""
    if isinstance(data, np.ndarray | list | tuple):
        return attempt(partial(numbers_in, data), "the numbers could not be read")
    with QUIET:
        blocks = [np.array(block) for block in read(open_source(data))]
    found = np.concatenate(blocks) if blocks else np.empty((0, 1))
    return found[:, 0] if found.shape[1] == 1 else found


def _register_all(kind: type) -> None:
    for base in kind.__mro__:
        library, *part = base.__module__.split(".")[:2]
        _register(library.strip("_"))
        if part:
            _register(f"{library}_{part[0].strip('_')}")


# Cast, as mypy takes no type for hashable.
register_libraries: Final = cast(Callable[[type], None], lru_cache(_register_all))
"""Lets the libraries that a type comes from register how their containers are opened."""


@cache
def _register(library: str) -> None:
    name = f"{_LIBRARIES}.of_{library}"
    if find_spec(name) is not None:
        import_module(name)


def _by_protocol(data: Any) -> object | None:
    """A container of no registered type, by what it offers.

    A sparse matrix has ``tocsr``. An array on a disk, as of h5py and zarr, has ``chunks`` and a
    ``dtype``, and is read some chunks at a time. An Arrow stream is read batch by batch. What says
    by an array interface, DLPack or a buffer where its numbers lie is in memory. All else may be
    lazy or on a disk: its ``__array__`` would load it whole, so it is not used.
    """
    way = _way(data)
    if way == _BY_ROWS and hasattr(data, "dtype"):
        chunked: object = import_module(f"{_PACKAGE}.engines.data.blocks").by_chunks(data)
        return chunked
    if isinstance(data, str | bytes | bytearray | type) or way is not None:
        return None
    if sparse.is_sparse(data):
        return sparse.sparse_rows(data)
    if hasattr(data, "__arrow_c_stream__") and find_spec("pyarrow") is not None:
        stream: object = import_module(f"{_LIBRARIES}.of_pyarrow").blocks_of_stream(data)
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
def _of_array(data: np.ndarray) -> Source:
    return array_rows(data)


@open_rows.register(list)
@open_rows.register(tuple)
def _of_list(data: Sequence[object]) -> Source | NamedColumns:
    if is_records(data):
        return _of_records(data, None)
    return array_rows(exact_array(data))


def is_records(data: object) -> bool:
    """Whether it is a list with a dictionary for a row, wherever that stands."""
    kinds = set(map(type, data)) if isinstance(data, list | tuple) else set()
    return any(issubclass(kind, Mapping) for kind in kinds)


def all_missing(data: object) -> bool:
    """Whether it is a list of rows that are all missing: numbers, or dictionaries."""
    rows = data if isinstance(data, list | tuple) else ()
    return bool(rows) and all(each is None for each in rows)


@attrs.frozen(eq=False, repr=False)
class RecordColumns(NamedColumns):
    """Rows that are dictionaries: a row says which names there are, and in which order.

    So no column is taken by its place, and one that no row has is all missing: a refusal would tell
    whether any row has it.
    """

    by_rows: ClassVar[bool] = True

    def rows(self, columns: Sequence[Column]) -> Source:
        names = [each.name for each in columns if each.name is not None]
        if len(names) < len(columns):
            raise DataError(
                "a list of dictionaries has columns by name and in no order: put "
                "dp.select('age') >> in front, or start with dp.records(columns=['age', ...])"
            )
        return super(RecordColumns, self._with(names)).rows(columns)

    def _with(self, names: Sequence[str]) -> RecordColumns:
        """The same, with the columns that no row has."""
        count = len(self.names)
        more = [name for name in dict.fromkeys(names) if name not in self.names]

        def column(place: int) -> object:
            return self.column(place) if place < count else [None] * self.size

        return RecordColumns((*self.names, *more), column, self.size)

    def read(self, names: tuple[str, ...] | None, reading: ColumnReading) -> Source:
        return self.rows([Column(name, reading) for name in names or (None,)])


def _of_records(rows: Any, declared: tuple[str, ...] | None) -> NamedColumns:
    """The columns that are declared, or those of all rows; what a row lacks is missing."""
    held: list[Mapping[object, object]] = [{} if row is None else row for row in rows]
    if not all(issubclass(kind, Mapping) for kind in set(map(type, held))):
        raise DataError(
            "some rows of the list are dictionaries and others are not; make each a dictionary, or "
            "None where a row is missing"
        )
    names = declared or tuple(dict.fromkeys(str(name) for row in held for name in row))

    def column(place: int) -> list[object]:
        name = names[place]
        return [row[name] if name in row else _cell(row, name) for row in held]

    return RecordColumns(names, column, len(held))


def _cell(row: Mapping[object, object], name: str) -> object:
    """The first that is spelled so, by this row alone: names of others are no reason to refuse."""
    return next((row[other] for other in row if str(other) == name), None)


@open_rows.register(Mapping)
def _of_columns(data: Mapping[object, Sequence[object]]) -> object:
    """A dictionary from names to columns; some sparse matrices are dictionaries too."""
    if sparse.is_sparse(data):
        return sparse.sparse_rows(data)
    if _way(data) is not None:
        raise _refusal(data)
    held = list(data)
    if isinstance(data, dict):
        _require_columns(data)
    return NamedColumns(held, lambda place: data[held[place]], len(data[held[0]]) if held else 0)


def _require_columns(data: Mapping[object, object]) -> None:
    """Refuses a dictionary of tables, and one whose columns are no table."""
    for name, column in data.items():
        if hasattr(column, "columns") or hasattr(column, "column_names"):
            raise DataError(
                f"a dictionary is one table, of columns by name, and {name!r} holds a table; hand "
                "over one table. Join several first, by pandas.merge, say"
            )
    lengths = {len(column) for column in data.values() if isinstance(column, Sized)}
    if len(lengths) > 1:
        raise DataError("the columns of the table differ in length")


def check_size(source: Source, columns: int, size: int | None) -> Source:
    """The rows of a source, refused where they have another width or number than declared."""
    found = source.size
    if found is not None:
        require_size(found, size)
        if source.columns is not None:
            return source
    return _Counted(source, columns, size)


def require_size(found: int, size: int | None) -> None:
    if size not in (None, found):
        raise DataError(
            f"records(size={size}) was declared and the data has another number of rows; declare "
            "the true size, or use SymmetricDistance() where it is private"
        )


@attrs.define(eq=False, repr=False)
class _Counted(Source):
    """Rows of which the width or the number is known once they were read.

    Attributes:
        source: The rows.
        width: How many columns each must have.
        declared: How many rows there must be, where that is public.
        rows: How many there were in the last pass that came to its end.
    """

    source: Source
    width: int
    declared: int | None = None
    rows: int = 0

    @property
    def columns(self) -> int:
        return self.width

    @property
    def names(self) -> tuple[str, ...] | None:
        return self.source.names

    @property
    def library(self) -> str:
        return self.source.library

    @property
    def part(self) -> int | None:
        return self.source.part

    def blocks(self) -> RowBlocks:
        rows, others = 0, set[int]()
        for block in read(self.source):
            rows += len(block)
            if block.shape[1] == self.width:
                yield block
            elif len(block):
                others.add(block.shape[1])
        if others:
            raise DataError(f"a block has {min(others)} columns, {self.width} were declared")
        require_size(rows, self.declared)
        self.rows = rows


@reduce.register
def _of_counted(source: _Counted, job: Job, merge: Merge) -> object:
    """As the source itself does it, the rows counted on the way."""
    counting, both = partial(_with_count, job, source.width), partial(_both, merge)
    found, rows = reduce(source.source, counting, both)
    require_size(rows, source.declared)
    return found


def _with_count(job: Job, columns: int, part: Source) -> tuple[object, int]:
    counted = _Counted(part, columns)
    return job(counted), counted.rows


def _both(merge: Merge, one: tuple[object, int], two: tuple[object, int]) -> tuple[object, int]:
    return merge(one[0], two[0]), one[1] + two[1]


def with_pyarrow(module: str, what: str) -> ModuleType:
    """A module that imports pyarrow; a refusal where that is not installed."""
    return cast(ModuleType, find_library(module, f"{what} needs pyarrow", "arrow"))

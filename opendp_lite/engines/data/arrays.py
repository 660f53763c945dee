"""How the entries of a block lie: beside which column's number, and in which row.

What is written against a layout works on a dense block and on the entries of a sparse one.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from math import inf, nan
from typing import Any, Final, Protocol, TypeAlias, TypeGuard, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError
from opendp_lite.engines.data.categories import is_missing
from opendp_lite.engines.data.fold import Floats, Numeric, Reduction, Summary
from opendp_lite.engines.data.source import BLOCK_ENTRIES, InMemory, NoRows, Source

Whole = NDArray[np.int64]


class Layout:
    """Brings numbers of columns and of rows beside the entries, and adds entries up by row.

    Here of the entries of an array of shape (rows, columns).
    """

    def of_columns(self, numbers: Numeric) -> Numeric:
        """One number a column, or one for all, in a shape that meets the entries."""
        return numbers

    def of_rows(self, numbers: Numeric) -> Numeric:
        """One number a row in a shape that meets the entries."""
        return numbers[:, None]

    def sums(self, terms: Floats) -> Floats:
        """The sum of each row's terms, added in any order; it may lie where the terms lay."""
        return terms[:, 0] if terms.shape[1] == 1 else np.add.reduce(terms, axis=1)

    def sums_of_squares(self, entries: Floats) -> Floats:
        """The sum of the squares of each row's entries, added in any order."""
        found: Floats = np.einsum("ij,ij->i", entries, entries)
        return found

    def longest(self, entries: Floats) -> int:
        """How many entries a row has at most."""
        return int(entries.shape[1])

    def row(self, entries: Floats, place: int) -> Floats:
        """The entries of one row."""
        row: Floats = entries[place]
        return row

    def column_sums(self, steps: Whole) -> Whole:
        """The sum modulo 2^64 of each column of whole numbers in the places of the entries."""
        found: Whole = np.add.reduce(steps, axis=0)
        return found


DENSE: Final = Layout()


# Who writes one need not know which kinds there are. The engine hands over all entries of a dense
# block, and only the stored ones of a sparse block where ``keeps_zeros`` allows that.


class EntryMap(ABC):
    """A block function written on entries."""

    @abstractmethod
    def on_entries(self, entries: Floats, layout: Layout) -> Floats:
        """New entries in the same places, or new rows as an array of shape (rows, columns)."""

    def keeps_zeros(self) -> bool:
        """Whether an entry that is 0 stays 0 or, where new rows are made, changes nothing."""
        return True

    def __call__(self, block: Floats) -> Floats:
        return self.on_entries(block, DENSE)


class EntryFold(Reduction[Summary]):
    """A fold that can be written on entries."""

    @abstractmethod
    def summarise_entries(self, entries: Floats, layout: Layout, rows: int) -> Summary:
        """The summary of so many rows, at most ``most_rows``, by their entries that are not 0."""

    def keeps_zeros(self) -> bool:
        """Whether entries that are 0 add nothing."""
        return True

    @property
    def most_rows(self) -> int:
        """How many rows may be summarised at once."""
        return 2**62


T = TypeVar("T")
# As text: to name it imports numpy.ma.
_Masked: TypeAlias = "np.ma.MaskedArray[Any, Any]"

# Refusals here speak of types and shapes, never of a value or of where it stands.


_KINDS = {
    "U": "text",
    "S": "text",
    "T": "text",
    "M": "dates",
    "m": "durations",
    "c": "complex numbers",
}
_FLOATS: Final = frozenset({float, bool, np.bool_, np.float16, np.float32, np.float64})
# Types of values that numpy makes floats of, whatever the values are.
_AS_FLOATS: Final = _FLOATS | {type(None)}
_EXACT: Final = _AS_FLOATS | {int, Fraction, Decimal}
_WHOLE: Final = (*np.sctypeDict.values(),)
# Values of which a float64 forgets nothing: of a short float, that it holds no long whole number.
_AS_DOUBLE: Final = frozenset({float, np.float64, bool, np.bool_, type(None)})
_AS_WHOLE: Final = frozenset({int, *(kind for kind in _WHOLE if np.dtype(kind).kind in "iub")})
_EXACT_FLOAT: Final = 2**53


@attrs.frozen(eq=False, repr=False)
class ArrayRows(InMemory):
    """The rows of a numpy array, of which nothing is copied but what is not float64.

    What is asked of it for each release stands in fields, so that asking costs no call.
    """

    rows: Numeric
    size: int  # pyright: ignore[reportIncompatibleMethodOverride]
    columns: int  # pyright: ignore[reportIncompatibleMethodOverride]
    plain: bool  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def by_value(self) -> bool:
        return self.rows.dtype.kind == "O"

    def blocks(self) -> Iterator[Floats]:
        if self.plain and 0 < self.rows.size <= BLOCK_ENTRIES:  # One block needs no walk.
            return iter((np.ascontiguousarray(self.rows, dtype=np.float64),))
        return super().blocks()

    def between(self, start: int, stop: int, odd: set[str]) -> Numeric:
        rows = self.rows[start:stop]
        if is_masked(rows):
            rows = _unmask(rows)
        return rows if rows.dtype.kind != "O" else floats_of(rows, odd)

    def cut(self, start: int, stop: int) -> ArrayRows:
        return attrs.evolve(self, rows=self.rows[start:stop], size=stop - start)


class Cuttable(Protocol):
    """A column in memory, of which a slice is a column as well."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> Any: ...


@attrs.frozen(eq=False, repr=False)
class ColumnRows(InMemory):
    """A column of a library, of which a function reads a slice as numbers.

    Attributes:
        column: As the library has it.
        numbers: Makes an array of a slice of it: of numbers, or of objects. It has two dimensions
            where columns are read together.
    """

    column: Cuttable
    numbers: Callable[[Any], Numeric]

    @property
    def size(self) -> int:
        return len(self.column)

    def between(self, start: int, stop: int, odd: set[str]) -> Numeric:
        found = self.numbers(self.column[start:stop])
        found = found if found.dtype.kind != "O" else floats_of(found, odd)
        return found if found.ndim == 2 else found.reshape(-1, 1)

    def cut(self, start: int, stop: int) -> ColumnRows:
        return ColumnRows(self.column[start:stop], self.numbers)


def is_masked(array: object) -> TypeGuard[_Masked]:
    """Whether it is an array of which some entries may be masked."""
    # Before somebody imports them there are none, and their import takes six milliseconds. A
    # signal handler that reads data may interrupt it: the class is not there yet.
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())
    return type(array) is not np.ndarray and isinstance(array, kind)


def array_rows(array: Numeric) -> Source:
    """The rows of an array of numbers or of objects, which has one or two dimensions."""
    if type(array) is not np.ndarray and not is_masked(array):
        array = np.asarray(array)
    if array.shape in ((0,), (0, 0)):
        require_numbers(array.dtype)
        return NoRows()
    require_shape(array.ndim)
    require_numbers(array.dtype)
    rows = array if array.ndim == 2 else array.reshape(-1, 1)
    size, columns = rows.shape
    return ArrayRows(rows, size, columns, type(rows) is np.ndarray and rows.dtype.kind in "biuf")


def require_shape(dimensions: int) -> None:
    """Raises ``DataError`` for an array that is neither a column nor rows."""
    if dimensions not in (1, 2):
        raise DataError(
            f"data has {dimensions} dimensions; rows are an array of shape (n,) or (n, columns)"
        )


def require_numbers(dtype: np.dtype[np.generic]) -> None:
    """Raises ``DataError`` for a type of which no value is a number."""
    if dtype.kind not in "biufO":
        raise DataError(no_numbers(_KINDS.get(dtype.kind, f"values of dtype {dtype}")))


def no_numbers(what: str) -> str:
    """The refusal of a column that holds something else."""
    way = ""
    if what == _KINDS["U"]:
        way = (
            ". Of words, table['owns'] == 'yes' makes True and False; of numbers written as text "
            "pandas.to_numeric(column, errors='coerce') makes numbers, and of all other text "
            "missing values. To count rows of text, name the column of a table: "
            "dp.select('owns') >> dp.count()"
        )
    elif "date" in what:
        way = (
            ", or count: dp.histogram('day', edges=['2024-01-01', '2025-01-01'], epsilon=1). "
            "dp.keep takes dates too: between=('2024-01-01', '2024-12-31')"
        )
    return f"data holds {what}, not numbers; make the column numeric first{way}"


def to_array(data: object) -> Numeric:
    """A numpy array or a list as one array of numbers; a missing value becomes NaN."""
    if not isinstance(data, np.ndarray):
        data = exact_array(data) if isinstance(data, list | tuple) else np.asarray(data)
    if is_masked(data):
        data = _unmask(data)
    require_numbers(data.dtype)
    return np.asarray(data) if data.dtype.kind != "O" else _all_floats(data)


def exact_array(data: Sequence[Any]) -> Numeric:
    """Values in a list, or rows in a list of lists, as an array that holds each of them exactly."""
    if not (rows := list_rows(data)):
        return exact_column(data)
    if len(rows) < len(data) or len({len(row) for row in rows}) > 1:
        raise DataError("the rows of the list differ in length; put None where a value is missing")
    return exact_column([*chain.from_iterable(data)]).reshape(len(data), len(data[0]))


def exact_column(cells: Sequence[Any]) -> Numeric:
    """Values as an array that holds each of them exactly.

    One type for all is only taken where every value has it. Else a float, or a missing value, of
    one row would round the long whole numbers of all others, which may be ids or keys.
    """
    cells = single_values(cells)
    kinds = set(map(type, cells))
    if kinds <= _AS_WHOLE and (array := np.asarray(cells)).dtype.kind in "iub":
        return array  # Of whole numbers beyond and below 2^63 numpy makes floats.
    if kinds <= _AS_DOUBLE | _AS_WHOLE:
        with suppress(OverflowError):
            floats = np.array(cells, dtype=np.float64)
            if kinds <= _AS_DOUBLE or not (np.abs(floats) >= _EXACT_FLOAT).any():
                return floats
    return np.fromiter(cells, dtype=object, count=len(cells))


def single_values(cells: Sequence[Any]) -> Sequence[Any]:
    """The same with the number in place of an array of no dimension, as rows of a tensor give it.

    Such an array has no hash or that of the object: as an id it would be nobody or somebody new.
    """
    types = set(map(type, cells)).difference(_WHOLE)
    arrays = {kind for kind in types if hasattr(kind, "ndim")}
    if not arrays:
        return cells
    return [_single(each) if type(each) in arrays else each for each in cells]


def _single(array: Any) -> object:
    if not is_masked(array):
        return np.asarray(array)[()]
    if array.ndim:
        return array
    # Of a masked one numpy gives what lies beneath.
    return None if array.mask else array.data[()]


def list_rows(data: Sequence[T]) -> list[T]:
    """The values of a list that are rows: lists, tuples and arrays that are no single number.

    All are looked at: else the first row would decide how all others are read, and the time would
    tell where one stands.
    """
    kinds = set(map(type, data)).difference(_WHOLE)
    kinds = {each for each in kinds if issubclass(each, list | tuple) or hasattr(each, "ndim")}
    if not kinds:
        return []
    return [each for each in data if type(each) in kinds and getattr(each, "ndim", 1) > 0]


def _all_floats(values: Numeric) -> Floats:
    odd: set[str] = set()
    found = floats_of(values, odd)
    if odd:
        raise DataError(min(odd))
    return found


def floats_of(values: Numeric, odd: set[str]) -> Floats:
    """The numbers in an array of objects; see ``InMemory.between`` for ``odd``."""
    kinds = set(map(type, values.flat))
    if kinds <= _AS_FLOATS | _AS_WHOLE:
        with suppress(OverflowError):
            return values.astype(np.float64, order="C")
    if kinds <= _EXACT:
        numbers = (nan if value is None else _nearest(value) for value in values.flat)
    else:
        numbers = (_number(value, odd) for value in values.flat)
    found = np.fromiter(numbers, np.float64, values.size)
    return found.reshape(values.shape)


def _unmask(array: _Masked) -> Numeric:
    """What is masked is missing."""
    if array.dtype.kind not in "biuf":
        require_numbers(array.dtype)
        found: Numeric = array.data.copy()
        found[np.ma.getmaskarray(array)] = None
        return found
    return np.where(np.ma.getmaskarray(array), np.nan, array.data.astype(np.float64))


def _number(value: object, odd: set[str]) -> float:
    """One value of an object array, taken and refused as its dtype would be."""
    if is_missing(value):
        return nan
    if isinstance(value, str | bytes):
        odd.add(no_numbers(_KINDS["U"]))
        return nan
    if isinstance(value, bool | int | float | Fraction | Decimal):
        return _nearest(value)
    if isinstance(value, dict):
        odd.add(
            "data holds a dictionary for each row; make a table of them: pandas.DataFrame(rows)"
        )
        return nan
    otherwise = f"values of type {type(value).__name__}"
    try:
        single = np.asarray(value)
    except Exception:
        odd.add(no_numbers(otherwise))
        return nan
    if single.ndim or single.dtype.kind not in "biuf":
        odd.add(no_numbers(_KINDS.get(single.dtype.kind, otherwise)))
        return nan
    return float(single)


def _nearest(value: float | Fraction | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
    except ValueError:
        return nan

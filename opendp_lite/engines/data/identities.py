"""What a container holds, column by column, as bytes that do not depend on the container."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import chain, repeat
from math import nan
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs
import numpy as np

from opendp_lite.base.dates import dates_in
from opendp_lite.base.errors import DataError
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.categories import is_missing
from opendp_lite.engines.data.fold import Floats, Numeric, identity
from opendp_lite.engines.data.open_data import NUMBERS, guard, opened_table, read
from opendp_lite.engines.data.source import QUIET, InMemory, Source, attempt, require_here
from opendp_lite.engines.data.sparse import RowBlock, SparseRows
from opendp_lite.engines.data.table import ColumnReading, NamedColumns
from opendp_lite.engines.data.values import Values, categories_in, is_column, values_of

Chunk = tuple[str, bytes]
"""The name of a column and the cells of some of its rows."""


class PrivateName(str):
    """Stands for a column that only rows tell of: that there is such a row is private."""

    __slots__ = ()


_ROWS: Final = 65536
_NUMBER, _TEXT, _MISSING, _OTHER = b"n", b"t", b"m", b"o"
_CELL: Final = np.dtype([("kind", "S1"), ("number", "<f8")])
_PLAIN: Final = frozenset({str, float, type(None)})
_NAMELESS: Final = PrivateName("")
_FILE: Final = PrivateName("(the bytes of a file)")
_BYTES: Final = 2**20
_UNREAD: Final = (
    "the data could not be read to tell it from other data: the library that holds it failed; go "
    "through it once without dp to see why"
)


def content(data: object) -> Iterator[Chunk]:
    """The cells of each column, from the first row to the last.

    Numbers are floats, so that 3 and 3.0 are one cell. All missing values are one cell. Text is
    text. The cells of a column that is neither, such as dates, are as its library writes them. Of a
    file it is the bytes, whatever columns of it are read.
    How the rows are cut into blocks does not matter.

    Raises:
        DataError: If the data cannot be read, or can be gone through only once.
    """
    with QUIET:
        if attempt(partial(is_column, data), _UNREAD):
            yield from guard(partial(_of_column, _NAMELESS, lambda: data), _UNREAD)
            return
        table = opened_table(data, None)
        if isinstance(table, NamedColumns):
            title = PrivateName if table.by_rows else str
            for place, name in enumerate(table.names):
                column = partial(table.column, place)
                yield from guard(partial(_of_column, title(name), column), _UNREAD)
        elif isinstance(table, Blocks) and table.files:
            yield from chain.from_iterable(map(_of_file, table.files))
        elif isinstance(table, Blocks):
            ways = "hand it files, or keep the budget in dp.session"
            require_here(table.library, "a ledger", ways)
            yield from table.visit(content)
            next(table.visit(content), None)
        else:
            rows = table if isinstance(table, Source) else table.read(None, NUMBERS)
            for block in read(rows):
                yield from _of_block(block)


def _of_file(path: Path) -> Iterator[Chunk]:
    """The bytes of a file, as one column."""
    with path.open("rb") as stream:
        while piece := stream.read(_BYTES):
            yield _FILE, piece


def _of_block(block: RowBlock) -> Iterator[Chunk]:
    """The cells of a block of numbers; or how many entries each row stores, where, and which."""
    if isinstance(block, SparseRows):
        yield PrivateName("stored"), _numbers(np.diff(block.ends))
        yield PrivateName("columns"), _numbers(block.indices)
        yield PrivateName("entries"), _numbers(block.values)
        return
    names = [_NAMELESS] if block.shape[1] == 1 else map(PrivateName, range(block.shape[1]))
    for place, name in enumerate(names):
        yield name, _numbers(block[:, place])


def _of_column(name: str, give_column: Callable[[], object]) -> Iterator[Chunk]:
    """The cells of a column in memory; a chunk at least, so that its name is told."""
    yield name, b""
    column = give_column()
    values = _values(column)
    numbers = NUMBERS(column) if values.is_text is False else None
    known = None if values.levels is None else [*map(_cell, values.levels), _cell(None)]
    for start in range(0, len(values), _ROWS):
        stop = min(start + _ROWS, len(values))
        if isinstance(numbers, InMemory):
            yield name, _numbers(np.asarray(numbers.between(start, stop, set()))[:, 0])
        else:
            yield name, _cells(values[start:stop], known)


def _values(column: Any) -> Values:
    """A column as its values, those of types that are no categories included."""
    try:
        return values_of(column)
    except DataError:
        listed = list(column)
        return Values(np.fromiter(listed, object, len(listed)), identity)


def _cells(values: Numeric, known: Sequence[bytes] | None) -> bytes:
    if known is not None:
        return b"".join(known[place] if place >= 0 else known[-1] for place in values.tolist())
    if values.dtype.kind in "biuf":
        return _numbers(values)
    listed = values.tolist()
    if set(map(type, listed)) <= _PLAIN:
        different = {value: _cell(value) for value in set(listed)}
        return b"".join(map(different.__getitem__, listed))
    return b"".join(map(_cell, listed))


def _numbers(values: Numeric) -> bytes:
    """As ``_cell`` of each, at once."""
    floats = np.asarray(values, np.float64) + 0.0
    missing = np.isnan(floats)
    cells = np.empty(len(floats), _CELL)
    cells["kind"] = np.where(missing, _MISSING, _NUMBER)
    cells["number"] = np.where(missing, 0.0, floats)
    return cells.tobytes()


def _cell(value: Any) -> bytes:
    """One cell: a letter for its kind, then a float, or the length of a text and the text."""
    if is_missing(value):
        return _MISSING + bytes(8)
    kind, text = _TEXT, value
    if not isinstance(value, str):
        try:
            return _numbers(np.array([float(value)]))
        except Exception:  # A refusal would tell that there is such a value.
            kind, text = _OTHER, _text_of(value)
    raw: bytes = text.encode("utf-8", "surrogatepass")
    return kind + len(raw).to_bytes(8, "little") + raw


def _text_of(value: Any) -> str:
    """The text of a value, whatever it is.

    Python writes no whole number of more than 4300 digits, but for those to a base of 16. Of a type
    that fails it is the name.
    """
    with suppress(Exception):
        return str(value)
    with suppress(Exception):
        return f"{value.numerator:x}/{value.denominator:x}"
    return type(value).__name__


# The largest power of ten in a Decimal that is written out.
_LONGEST: Final = 10_000
# A whole number below it stands for itself. Other ids are numbered from here on.
_SMALL: Final = 2**52
_EXACT: Final = 2**53
_MIDNIGHT: Final = time()
# Types of which equal values have one hash, and none is missing.
_AS_THEY_ARE: Final = frozenset({str, bytes, int, bool, type(None), date})
MIXED: Final = (
    "it holds text in one block and numbers in another (pandas' objects count as text), so an id "
    "is not known again; make it text in all blocks, or numbers in all"
)


@attrs.define(eq=False)
class Identities(ColumnReading):
    """A different number for each different id; NaN for a missing one.

    Ids are the same where Python says that they are equal: 5 and 5.0 are, "5" and 5 are not. These
    count as missing, since one of them may stand for two people: a float so large that its type
    does not hold every whole number, and a value that is not equal to itself or has no hash. Of
    rows on other machines, so does what is no text, bytes, number or date without a time zone.

    Attributes:
        are_sent: Whether they are compared with those of other machines.
    """

    tells_apart: ClassVar = True

    are_sent: bool = attrs.field(default=False, init=False)
    _known: dict[Any, float] = attrs.field(factory=dict, init=False)
    _is_text: bool | None = attrs.field(default=None, init=False)

    def __call__(self, column: object) -> Source:
        values = categories_in(column)
        if values.is_text is not None:
            if self._is_text not in (None, values.is_text):
                raise DataError(MIXED)
            self._is_text = values.is_text
        return values.as_numbers(self.of_values)

    def of_numbers(self, numbers: Floats) -> Floats:
        return self._of_floats(numbers)

    @property
    def text(self) -> frozenset[bool]:
        """Whether the ids that were met are text; empty where their containers do not say."""
        return frozenset() if self._is_text is None else frozenset({self._is_text})

    def export(self, numbers: Sequence[int]) -> list[int | bytes]:
        """Of some numbers that ids were given: what is the same in every process.

        Ids that are equal are so there, and others are not.
        """
        if all(abs(number) < _SMALL for number in numbers):
            return list(numbers)
        odd = {number: value for value, number in self._known.items()}
        return [each if abs(each) < _SMALL else _bytes_of(odd[float(each)]) for each in numbers]

    def names(self, numbers: Sequence[int]) -> list[bytes]:
        """As ``export``, all as bytes."""
        exported = self.export(numbers)
        return [each if isinstance(each, bytes) else b"number %d" % each for each in exported]

    def of_values(self, values: Numeric) -> Floats:
        """The number of each value."""
        if values.dtype.kind in "iub":
            return self._of_whole(values)
        if values.dtype.kind == "f":
            return self._of_floats(values)
        return self.of_objects(values.tolist())

    def of_objects(self, values: Sequence[object]) -> Floats:
        """The number of each of some objects."""
        known = self._known
        keys: Sequence[Any] = values
        if not _AS_THEY_ARE.issuperset(map(type, values)):
            keys = [*map(_key_of, values)]
        try:
            found = np.fromiter(map(known.get, keys, repeat(nan)), np.float64, len(keys))
        except Exception:  # Some types fail where they are compared with others.
            found = np.full(len(keys), nan)
        for place in np.flatnonzero(np.isnan(found)).tolist():
            key = keys[place]
            small = isinstance(key, int) and abs(key) < _SMALL
            if key is not None:
                with suppress(Exception):
                    if self.are_sent:
                        _bytes_of(key)  # What has none counts as missing: a refusal would tell.
                    number = key if small else _SMALL + len(known)
                    found[place] = known.setdefault(key, float(number))
        return found

    def _of_whole(self, values: Numeric) -> Floats:
        found = values.astype(np.float64)
        large = np.flatnonzero((found >= _SMALL) | (found <= -_SMALL))
        if len(large):
            found[large] = self.of_objects(values[large].tolist())
        return found

    def _of_floats(self, values: Numeric) -> Floats:
        most = _most(values.dtype)
        inside = (values < most) & (values > -most)
        found = np.where(inside, values, nan).astype(np.float64, copy=False)
        # Of the values themselves: a longdouble of 5 and a bit would be 5 as a float64.
        odd = inside & ((np.trunc(values) != values) | (np.abs(found) >= _SMALL))
        places = np.flatnonzero(odd)
        if len(places):
            found[places] = self.of_objects(values[places].tolist())
        return found


def _key_of(value: Any) -> Any:
    """What an id is known by; None for a missing one.

    The value alone says it. One that were looked for among those that were met would be a person or
    nobody by the rows before it: a float of 2^53 is equal to the whole number.
    """
    try:
        if isinstance(value, str):
            return str.__str__(value)  # A type of texts may say itself what equals what.
        if isinstance(value, float | np.floating):
            most = _EXACT if isinstance(value, float) else _most(value.dtype)
            if not -most < value < most:
                return None
            number = float(value)
            if number != value:  # A longdouble of 5 and a bit.
                return Fraction(*value.as_integer_ratio())
            return int(number) if number.is_integer() else number
        if isinstance(value, int):
            return int(value)
        if is_missing(value) or isinstance(value, complex | np.complexfloating) or value != value:
            return None
        if getattr(value, "nanosecond", False) and not value.tzinfo:
            value = value.to_datetime64()
        if isinstance(value, np.datetime64):
            value = dates_in(np.array([value]))[0]  # As in a column of such a type.
        if isinstance(value, datetime) and value.tzinfo is None and value.time() == _MIDNIGHT:
            # A day of numpy equals both the day and the midnight of Python: all three are one id.
            return value.date()
        # A decimal cannot be compared with a whole number of numpy, of which a span of time is one.
        whole = isinstance(value, np.integer) and not isinstance(value, np.timedelta64)
        key = int(value) if whole or _is_small(value) else value  # pyright: ignore[reportArgumentType]
        hash(key)
    except Exception:
        return None
    return key


def _most(dtype: np.dtype[Any]) -> int:
    """Below it, floats of a type are exact for whole numbers, and so are float64."""
    exact: int = 2 ** (int(np.finfo(dtype).nmant) + 1)
    return min(exact, _EXACT)


def _bytes_of(value: Any) -> bytes:
    """Bytes for an id: equal where the ids are."""
    if isinstance(value, str):
        return b"text " + str.encode(value, "utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"bytes " + bytes(value)
    if isinstance(value, date) and getattr(value, "tzinfo", None) is None:
        return b"date " + value.isoformat().encode()
    # As a fraction a short Decimal may have a billion digits, and the time would tell of it.
    if isinstance(value, Decimal) and abs(value.adjusted()) > _LONGEST:
        raise OverflowError(value)
    number = Fraction(value)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return b"number %x/%x" % number.as_integer_ratio()


def _is_small(value: Any) -> bool:
    """Whether it is a small whole number of any type."""
    try:
        return bool(-_SMALL < value < _SMALL and int(value) == value)
    except Exception:
        return False

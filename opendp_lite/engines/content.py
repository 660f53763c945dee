"""What a container holds, column by column, as bytes that do not depend on the container."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial, singledispatch
from itertools import chain
from pathlib import Path
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.categories import is_missing
from opendp_lite.engines.door import NUMBERS, opened_table, read
from opendp_lite.engines.quiet import QUIET, attempted
from opendp_lite.engines.source import InMemory, Source, require_here
from opendp_lite.engines.sparse import SparseRows
from opendp_lite.engines.table import NamedColumns
from opendp_lite.engines.values import ArrayValues, Values, is_column, values_of
from opendp_lite.errors import DataError

Chunk = tuple[str, bytes]
"""The name of a column and the cells of some of its rows."""

_ROWS: Final = 65536
_NUMBER, _TEXT, _MISSING, _OTHER = b"n", b"t", b"m", b"o"
_CELL: Final = np.dtype([("kind", "S1"), ("number", "<f8")])
_PLAIN: Final = frozenset({str, float, type(None)})
_NAMELESS: Final = ""
_FILE: Final = "(the bytes of a file)"
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
        if attempted(partial(is_column, data), _UNREAD):
            yield from _of_column(_NAMELESS, data)
            return
        table = opened_table(data, None)
        if isinstance(table, NamedColumns):
            for place, name in enumerate(table.names):
                column = attempted(partial(table.column, place), _UNREAD)
                yield from _of_column(str(name), column)
        elif isinstance(table, Blocks) and table.files:
            yield from chain.from_iterable(map(_of_file, table.files))
        elif isinstance(table, Blocks):
            require_here(table, "a ledger", "hand it files, or keep the budget in dp.session")
            for piece in table.opened_by(_BlockContent):
                yield from piece.chunks
            next(table.opened_by(_BlockContent), None)
        else:
            for block in read(table):
                yield from of_block(block)


def _of_file(path: Path) -> Iterator[Chunk]:
    """The bytes of a file, as one column."""
    with path.open("rb") as stream:
        while piece := stream.read(_BYTES):
            yield _FILE, piece


@singledispatch
def of_block(block: Any) -> Iterator[Chunk]:
    """The cells of a block of numbers. Register a type of block that is no array."""
    names = [_NAMELESS] if block.shape[1] == 1 else map(str, range(block.shape[1]))
    for place, name in enumerate(names):
        yield name, _numbers(block[:, place])


@of_block.register
def _of_sparse(block: SparseRows) -> Iterator[Chunk]:
    """How many entries each row stores, where, and which."""
    yield "stored", _numbers(np.diff(block.ends))
    yield "columns", _numbers(block.indices)
    yield "entries", _numbers(block.values)


@attrs.frozen(eq=False)
class _Chunks:
    """The cells of one block of a table."""

    rows: int
    chunks: Sequence[Chunk]

    def __len__(self) -> int:
        return self.rows


@attrs.frozen(eq=False)
class _BlockContent(Source):
    """One block of a table, of which the cells are read."""

    data: object

    @property
    def columns(self) -> None:
        return None

    def blocks(self) -> Iterator[Any]:
        chunks = list(content(self.data))
        yield _Chunks(0, chunks)


def _of_column(name: str, column: Any) -> Iterator[Chunk]:
    """The cells of a column in memory; a chunk at least, so that its name is told."""
    yield name, b""
    values = attempted(partial(_values, column), _UNREAD)
    numbers = attempted(partial(NUMBERS, column), _UNREAD) if values.is_text is False else None
    known = None if values.known is None else [*map(_cell, values.known), _cell(None)]
    for start in range(0, values.size, _ROWS):
        stop = min(start + _ROWS, values.size)
        if isinstance(numbers, InMemory):
            found = attempted(partial(numbers.between, start, stop, set()), _UNREAD)
            yield name, _numbers(np.asarray(found)[:, 0])
        else:
            found = attempted(partial(values.between, start, stop), _UNREAD)
            yield name, attempted(partial(_cells, found, known), _UNREAD)


def _values(column: Any) -> Values:
    """A column as its values, those of types that are no categories included."""
    try:
        return values_of(column)
    except DataError:
        listed = list(column)
        return ArrayValues(np.fromiter(listed, object, len(listed)))


def _cells(values: NDArray[Any], known: Sequence[bytes] | None) -> bytes:
    if known is not None:
        return b"".join(known[place] if place >= 0 else known[-1] for place in values.tolist())
    if values.dtype.kind in "biuf":
        return _numbers(values)
    listed = values.tolist()
    if set(map(type, listed)) <= _PLAIN:
        different = {value: _cell(value) for value in set(listed)}
        return b"".join(map(different.__getitem__, listed))
    return b"".join(map(_cell, listed))


def _numbers(values: NDArray[Any]) -> bytes:
    """As ``_cell`` of each, at once."""
    floats = np.asarray(values, np.float64) + 0.0
    missing = np.isnan(floats)
    cells = np.empty(len(floats), _CELL)
    cells["kind"] = np.where(missing, _MISSING, _NUMBER)
    cells["number"] = np.where(missing, 0.0, floats)
    found: bytes = cells.tobytes()
    return found


def _cell(value: Any) -> bytes:
    """One cell: a letter for its kind, then a float, or the length of a text and the text."""
    if is_missing(value):
        return _MISSING + bytes(8)
    kind, text = _TEXT, value
    if not isinstance(value, str):
        try:
            return _numbers(np.array([float(value)]))
        except (TypeError, ValueError, OverflowError):
            kind, text = _OTHER, str(value)
    raw: bytes = text.encode("utf-8", "surrogatepass")
    return kind + len(raw).to_bytes(8, "little") + raw

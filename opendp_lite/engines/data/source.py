"""Rows as the engine goes through them, whatever container they came in."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import singledispatch
from importlib import import_module
from itertools import pairwise, starmap
from threading import RLock
from typing import Any, Final, TypeAlias, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError, OpenDPLiteError, ParameterError
from opendp_lite.base.frozen import IN_BROWSER
from opendp_lite.engines.data.fold import Floats, Numeric
from opendp_lite.numbers.exact import quote, whole

BLOCK_ENTRIES: Final = 65536
"""Entries in a block: few calls, and working arrays that stay in a processor's cache."""
PIECE_ENTRIES: Final = 131072
"""Floats in a piece of rows as they lie, of which a fold makes fewer working arrays.

With pieces twice as large a sum takes 1.3 times as long on a core whose cache has 2 MB. Smaller
ones save nothing. A piece of whole numbers has twice as many: they are added up as they are.
"""
SHARE_ENTRIES: Final = 2_000_000
"""Entries for which a further thread is worth its start."""
_MOST_COLUMNS: Final = 2**24
_MOST_ROWS: Final = 2**53
_PART_PLACES: Final = 2**40
_READ_ROWS: Final = 1024
_READ_ENTRIES: Final = 16 * BLOCK_ENTRIES
"""Eight megabytes: to read a column costs microseconds, however few rows of it are read."""


def public_columns(value: int, name: str = "columns") -> int:
    """A public number of columns, small enough that arrays of one number each can be made."""
    return _at_most(_MOST_COLUMNS, whole(value, name, least=1), name)


def public_size(value: int | None) -> int | None:
    """A public number of rows; None where it is private."""
    return None if value is None else _at_most(_MOST_ROWS, whole(value, "size", least=1), "size")


def _at_most(most: int, value: int, name: str) -> int:
    if value > most:
        raise ParameterError(f"{name} must be at most {most}, got {quote(value)}")
    return value


Places = NDArray[np.int64]
Words = NDArray[np.uint64]
Keys = Callable[[Places], Words]
"""Independent random words for the rows at some places in the data."""
RowBlocks: TypeAlias = Iterator[Any]
"""Blocks of rows, one after another: arrays of shape (rows, columns), or ``SparseRows``."""


class Source(ABC):
    """A dataset that can be gone through, block by block, as often as a pipeline needs."""

    @property
    @abstractmethod
    def columns(self) -> int | None:
        """How many there are; None where any number fits or where only the blocks know."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """Those of the columns, where they have some."""
        return None

    @property
    def size(self) -> int | None:
        """The number of rows, where it is known before they are read."""
        return None

    @property
    def plain(self) -> bool:
        """Whether reading it runs nothing but numpy's casts: no other code could warn or fail."""
        return False

    @abstractmethod
    def blocks(self) -> RowBlocks:
        """The rows from the start, as C-ordered float64 arrays of shape (rows, columns).

        Blocks of another type come with their own ways in ``applied`` and ``summarised``.
        """

    def as_they_lie(self) -> RowBlocks:
        """The rows from the start, as arrays of any type of number and any strides.

        What is no such array is a block as ``blocks`` gives it.
        """
        return self.blocks()

    @property
    def library(self) -> str:
        """Of rows on other machines: the library that computes them. Else nothing."""
        return ""

    @property
    def part(self) -> int | None:
        """Which part of some rows on other machines it is; None where nobody counts parts."""
        return None

    def parts(self, most: int) -> Sequence[Source]:
        """The rows in parts, at most so many, that are worth going through side by side.

        Folds merge exactly, so the result is the same however the rows are parted.
        """
        return (self,)


def require_here(library: str, step: str, instead: str) -> None:
    """Refuses a step that gathers rows of a library, which may not fit into memory here."""
    if library:
        raise DataError(
            f"{step} must see all rows at once, and those of a collection of {library} may "
            f"not fit into memory; {instead}"
        )


def first_place(part: int | None) -> int:
    """Where the first row of a part stands, so that no two rows of all parts stand in one place."""
    return (part or 0) * _PART_PLACES


class InMemory(Source):
    """Rows of which any range can be read; of one column, where a subclass does not say more."""

    @property
    def columns(self) -> int:
        return 1

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def between(self, start: int, stop: int, odd: set[str]) -> Numeric:
        """Some of the rows, as an array of numbers of shape (rows, columns).

        What is no number counts as NaN, and the words that refuse it are added to ``odd``: the
        refusal comes when all rows were read, so that its time does not tell where the cause was.
        """

    @abstractmethod
    def cut(self, start: int, stop: int) -> InMemory:
        """Some of the rows, of which nothing is read or copied yet."""

    @property
    def by_value(self) -> bool:
        """Whether the type of each single value must be looked at."""
        return False

    def blocks(self) -> Iterator[Floats]:
        for rows in self._read(BLOCK_ENTRIES):
            yield from blocks_of(rows)

    def as_they_lie(self) -> Iterator[Numeric]:
        for rows in self._read(2 * PIECE_ENTRIES):
            yield from _cut(rows, PIECE_ENTRIES if rows.dtype.kind == "f" else 2 * PIECE_ENTRIES)

    def _read(self, entries: int) -> Iterator[Numeric]:
        """Rows of at least so many entries each time, and many rows where they are long."""
        wide, size = max(1, self.columns), self.size
        reading = max(1, entries // wide, min(_READ_ROWS, _READ_ENTRIES // wide))
        odd: set[str] = set()
        for first in range(0, size, reading):
            yield np.asarray(self.between(first, min(first + reading, size), odd))
        if odd:
            raise DataError(min(odd))

    def parts(self, most: int) -> Sequence[Source]:
        count = min(most, self.size * self.columns // SHARE_ENTRIES)
        if count < 2 or self.by_value:
            return (self,)
        ends = [self.size * part // count for part in range(count + 1)]
        return list(starmap(self.cut, pairwise(ends)))


def blocks_of(rows: Numeric) -> Iterator[Floats]:
    """Rows as ``Source.blocks`` gives them."""
    return _cut(np.ascontiguousarray(rows, dtype=np.float64), BLOCK_ENTRIES)


def _cut(rows: Numeric, entries: int) -> Iterator[Numeric]:
    """Some rows at a time, of at most so many entries or a single one."""
    step = max(1, entries // max(1, rows.shape[1]))
    if 0 < len(rows) <= step:
        return iter((rows,))
    return (rows[place : place + step] for place in range(0, len(rows), step))


@attrs.frozen(eq=False, repr=False)
class NoRows(Source):
    """A dataset without rows, of as many columns as are asked for."""

    @property
    def columns(self) -> None:
        return None

    @property
    def size(self) -> int:
        return 0

    def blocks(self) -> RowBlocks:
        return iter(())


Job: TypeAlias = Callable[[Source], object]
Merge: TypeAlias = Callable[..., object]
_PROCESSORS: Final = min(4, os.cpu_count() or 1)


@singledispatch
def reduce(source: Source, job: Job, merge: Merge) -> Any:
    """The summary of all rows of a source. Register a type of source to fold its parts elsewhere.

    Args:
        source: Rows; here they are folded by threads, a part each.
        job: Gives the summary of a source, which may be a part of the rows. It can be pickled
            where the steps can.
        merge: Makes one summary of two, exactly, so that neither order nor parting matters.

    Returns:
        The summary.
    """
    first, *others = source.parts(_PROCESSORS)
    if IN_BROWSER or not others:
        return functools.reduce(merge, map(job, (first, *others)))
    # Imported only here: with its logging it costs five milliseconds, and few rows need no thread.
    with import_module("concurrent.futures").ThreadPoolExecutor(len(others)) as pool:
        running = [pool.submit(job, other) for other in others]
        found = job(first)
        for each in running:
            found = merge(found, each.result())
    return found


Result = TypeVar("Result")


class _Quiet:
    """Warnings off while any thread is within; the filters are the process's, not a thread's.

    So are errors that Python would print, since nobody can catch them: pyarrow's reader fails in a
    callback at a row that is no UTF-8, and the text of that error holds a byte of the row. A
    signal handler that reads data in the thread that it interrupts gets the lock again.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._within = 0
        self._warnings = warnings.catch_warnings()
        self._shows = sys.unraisablehook

    def __enter__(self) -> None:
        with self._lock:
            self._within += 1
            if self._within == 1:
                self._warnings = warnings.catch_warnings()
                self._warnings.__enter__()
                warnings.simplefilter("ignore")
                self._shows, sys.unraisablehook = sys.unraisablehook, _show_nothing

    def __exit__(self, *problem: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                self._warnings.__exit__(None, None, None)
                sys.unraisablehook = self._shows


def _show_nothing(failed: object) -> None:
    """What Python is to do with an error that nobody can catch."""


QUIET: Final = _Quiet()
"""A context in which no warning is shown, by any library, nor an error that nobody can catch."""
_NOTHING: Final = nullcontext()


def quiet_for(source: Source) -> AbstractContextManager[None]:
    """``QUIET`` where going through a source runs other code than numpy's casts."""
    return _NOTHING if source.plain else QUIET


def attempt(work: Callable[[], Result], words: str) -> Result:
    """What foreign code gives; ``DataError`` with these words where it fails.

    The refusal is raised outside of the handler, so that it carries nothing of the failure.
    """
    try:
        return work()
    except (OpenDPLiteError, MemoryError):
        raise
    except BaseException as problem:
        # A library in Rust that panics raises what is no Exception, whose text may quote a value.
        if not isinstance(problem, Exception) and type(problem).__module__ != "pyo3_runtime":
            raise
        refusal = DataError(words)
    raise refusal

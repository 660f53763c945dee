"""Data larger than memory: blocks that can be gone through again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import GEN_CREATED, getgeneratorstate, isgenerator
from pathlib import Path
from typing import Any, Final

import attrs

from opendp_lite.engines.door import NUMBERS, open_rows, opened, read
from opendp_lite.engines.reduced import Job, Merge, reduced
from opendp_lite.engines.source import Source, public_columns, public_size
from opendp_lite.engines.table import Column
from opendp_lite.errors import DataError, ParameterError

GONE_THROUGH: Final = (
    "the blocks can be gone through only once, and this pipeline or an earlier one has done so; "
    "give dp.Blocks a function that opens them anew at each call, such as "
    "dp.Blocks(lambda: make_blocks()) where make_blocks is your generator function"
)


def _opens_anew(blocks: object, field: object, value: Any) -> None:
    if not callable(value):
        raise ParameterError(
            "Blocks needs a function that opens the blocks anew at each call: "
            "dp.Blocks(lambda: iter(blocks))"
        )


def _columns(value: int | None) -> int | None:
    return None if value is None else public_columns(value)


class _History:
    """What earlier passes over some blocks were given, to know an iterator that is used up."""

    def __init__(self) -> None:
        self._last: object = None
        self._filled = False

    def begun(self, found: Iterable[object]) -> Iterator[object]:
        """The blocks of a new pass; raises ``DataError`` where these were gone through before."""
        blocks = iter(found)
        used = isgenerator(blocks) and getgeneratorstate(blocks) != GEN_CREATED
        if blocks is found and (used or blocks is self._last):
            raise DataError(GONE_THROUGH)
        self._last = blocks if blocks is found else None
        return blocks

    def ended(self, filled: bool) -> None:
        """Raises ``DataError`` where this pass met no block and an earlier one did."""
        if self._filled and not filled:
            raise DataError(GONE_THROUGH)
        self._filled = filled


@attrs.frozen(eq=False, repr=False)
class Blocks:
    """Rows that come a block at a time.

    A release holds no more than the current block. A block without rows may have any number of
    columns.

    Args:
        open: A function of no arguments. At each call it gives a fresh iterable of blocks:
            arrays, frames, sparse matrices, or anything else that a pipeline accepts.
        columns: How many columns each block has; None for as many as the pipeline is for.
        size: The number of rows, where it is public and you want it checked.
        names: The columns to take from blocks that are tables. A pipeline that begins with
            ``dp.records(columns=[...])`` takes its own.
        file: The file that they come from, if it is one. A ledger tells data from other data by it.

    Raises:
        ParameterError: If ``open`` cannot be called, or ``columns`` or ``size`` is no whole number.
        DataError: When the rows are read, if ``open`` gives the same iterator twice or one that
            is used up: a pipeline may go through the data several times.

    Example:
        >>> import opendp_lite as dp, numpy as np
        >>> halves = dp.Blocks(lambda: iter([np.array([1.0, 2.0]), np.array([3.0])]))
        >>> (dp.clamp(0, 10) >> dp.sum())(halves)
        NotPrivate([6.])
    """

    open: Callable[[], Iterable[object]] = attrs.field(validator=_opens_anew)
    columns: int | None = attrs.field(default=1, converter=_columns)
    size: int | None = attrs.field(default=None, converter=public_size)
    names: tuple[str, ...] | None = None
    file: Path | None = attrs.field(default=None, kw_only=True)
    _history: _History = attrs.field(factory=_History, init=False, repr=False)

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that they come from, where their bytes tell the data from other data."""
        return () if self.file is None else (self.file,)

    def require(self, columns: Sequence[Column] | None) -> None:
        """Refuses columns that are known not to be there, None for all; reads no row."""

    def only(self, columns: Sequence[Column] | None) -> Blocks:
        """The same, for a pass that needs these columns alone, None for all."""
        return self

    @property
    def library(self) -> str:
        """As that of a ``Source``."""
        return ""

    @property
    def part(self) -> int | None:
        """As that of a ``Source``."""
        return None

    def summary(self, rows: OfBlocks, job: Job, merge: Merge) -> Any:
        """The summary of rows of these blocks."""
        return job(rows)

    def opened_by(self, how: Callable[[object], Source]) -> Iterator[Any]:
        """A new pass over the blocks, each opened by a function.

        A block that cannot be read is refused when all others were.
        """
        problems: set[str] = set()
        rows, filled = 0, False
        for piece in self._history.begun(self.open()):
            filled = True
            try:
                for block in read(how(piece)):
                    rows += len(block)
                    yield block
            except DataError as problem:
                problems.add(str(problem))
        self._history.ended(filled)
        if problems:
            raise DataError(min(problems))
        if self.size not in (None, rows):
            raise DataError("the blocks hold another number of rows than their size says")


@attrs.frozen(eq=False, repr=False)
class OfBlocks(Source):
    """The rows of ``Blocks``, each block opened in one way."""

    given: Blocks

    @property
    def size(self) -> int | None:
        return self.given.size

    def blocks(self) -> Iterator[Any]:
        return self.given.opened_by(self.piece)

    @property
    def library(self) -> str:
        return self.given.library

    @property
    def part(self) -> int | None:
        return self.given.part

    @abstractmethod
    def piece(self, piece: object) -> Source:
        """The rows of a block."""


@reduced.register
def _of_their_own(source: OfBlocks, job: Job, merge: Merge) -> Any:
    """As the blocks themselves do it."""
    return source.given.summary(source, job, merge)


@attrs.frozen(eq=False, repr=False)
class _BlockRows(OfBlocks):
    """Each block opened as any data is."""

    asked: tuple[str, ...] | None

    @property
    def columns(self) -> int | None:
        return self.given.columns

    def piece(self, piece: object) -> Source:
        return opened(piece, self.asked)


@open_rows.register
def _of_blocks(data: Blocks, names: tuple[str, ...] | None = None) -> Source:
    asked = data.names if names is None else names
    columns = None if asked is None else [Column(name, NUMBERS) for name in asked]
    data.require(columns)
    return _BlockRows(data.only(columns), asked)

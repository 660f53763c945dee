"""The plain rows at the start of a CSV stream, which a quick reader cuts into cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import attrs

from opendp_lite.engines.fold import Floats

OfTexts = Callable[[Sequence[str]], Floats]
"""The numbers that stand in some texts, whatever else stands there."""


class PlainCells(ABC):
    """The cells of a column in a block of rows."""

    @abstractmethod
    def __len__(self) -> int:
        """How many there are."""

    @abstractmethod
    def numbers(self, of_texts: OfTexts) -> Floats:
        """The number in each; ``of_texts`` reads those that are not written plainly."""

    @abstractmethod
    def texts(self) -> Sequence[str]:
        """The text of each."""


@attrs.define(eq=False, repr=False)
class PlainRows(ABC):
    """The rows of a stream from its start, as long as they are plain.

    Plain rows are as wide as the first one, and each quote opens a cell, closes it, or is one of
    two within it.

    Attributes:
        stream: Bytes, unpacked.
        delimiter: The character between cells.
        width: How many cells each row has.
        places: The columns to read.
        headed: Whether the first row is a header.
        missing: Cells that count as missing.
        whole: Whether all rows of the stream were plain, once they were gone through.
    """

    stream: Any
    delimiter: str
    width: int
    places: Sequence[int]
    headed: bool
    missing: Collection[str]
    whole: bool = True

    @abstractmethod
    def blocks(self) -> Iterator[Sequence[PlainCells]]:
        """The cells of the columns, a block of rows at a time.

        Once a row is not plain the rest is read and not given: the time that this takes does not
        tell where the row stands.
        """

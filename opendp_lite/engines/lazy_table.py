"""A dataset whose columns are picked by name, when a step needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.columns import NO_COLUMNS, PRESENCE, Dataset, Picked
from opendp_lite.engines.door import NUMBERS
from opendp_lite.engines.fold import Floats
from opendp_lite.engines.least_rows import Keys
from opendp_lite.engines.rows import LazyRows, Part
from opendp_lite.engines.table import Column, ColumnReading

Test = Callable[[Floats], NDArray[np.bool_]]


@attrs.frozen
class Kept:
    """Rows that a column decides about: those whose number in it passes a test."""

    column: Column
    test: Test


@attrs.frozen(repr=False)
class KeepRows:
    """A block function that keeps the rows that pass a test of one column."""

    place: int
    test: Test

    def kept(self, block: Floats) -> NDArray[np.bool_]:
        """Which rows stay."""
        return self.test(block[:, self.place])

    def __call__(self, block: Floats) -> Floats:
        return block[self.kept(block)]


@attrs.frozen(eq=False, repr=False)
class Lazily:
    """A function that adds to what waits to be done to rows, each row by itself, and reads none."""

    function: Callable[[Any], Any]
    step: str = ""

    def named(self, step: str) -> Lazily:
        """The same, as a part of a step."""
        return self if self.step else Lazily(self.function, step)

    def __call__(self, rows: Any) -> Any:
        made = self.function(rows)
        if not isinstance(made, LazyRows):
            return made
        parts = (part if part.step else Part(part.function, self.step) for part in made.functions)
        return attrs.evolve(made, functions=tuple(parts))


@attrs.frozen(repr=False)
class WithoutFirst:
    """A block function that leaves out the first columns, which say the group of a row."""

    count: int

    def __call__(self, block: Floats) -> Floats:
        return block[:, self.count :]


@attrs.frozen(eq=False, repr=False)
class LazyTable:
    """A dataset, the columns that are left of it, and the rows that are left out.

    ``names`` is None where the columns are those of the data, whatever they are. The columns
    ``beside`` come first in the rows, until ``WithoutFirst``. ``keys`` gives random words for rows,
    of the release that the table is read for; None where it is read for no release.
    """

    dataset: Dataset
    names: tuple[str, ...] | None
    filters: tuple[Kept, ...] = ()
    beside: tuple[Column, ...] = ()
    keys: Keys | None = None

    def for_release(self, keys: Keys) -> LazyTable:
        """The same, read for a release."""
        return attrs.evolve(self, keys=keys)

    def select(self, names: tuple[str, ...], step: str) -> LazyTable:
        """The same rows with the columns that a step asks for, refused where a table lacks one."""
        self.dataset.require(names, step)
        return attrs.evolve(self, names=names)

    def keep(self, name: str, kept: Kept) -> LazyTable:
        """As ``only``, refused where a table has no column of this name."""
        self.dataset.require((name,), "keep")
        return self.only(kept)

    def only(self, kept: Kept) -> LazyTable:
        """Those rows alone that pass a test."""
        return attrs.evolve(self, filters=(*self.filters, kept))

    def columns(self, columns: Sequence[Column]) -> LazyRows:
        """The rows of some columns; a zero each where there are none."""
        asked = (*self.beside, *columns)
        wanted = tuple(dict.fromkeys([*(kept.column for kept in self.filters), *asked]))
        source, function = self.dataset.columns(wanted)
        read = () if function is None else (Part(function, "select"),)
        rest = (Part(WithoutFirst(len(self.beside))),) if self.beside else ()
        if wanted == asked and not self.filters:
            return LazyRows(source, (*read, *rest), keys=self.keys)
        tests = (KeepRows(wanted.index(kept.column), kept.test) for kept in self.filters)
        kept = (Part(test, "keep") for test in tests)
        picked = Picked(tuple(map(wanted.index, asked))) if asked else NO_COLUMNS
        functions = (*read, *kept, Part(picked, "select"), *rest)
        return LazyRows(source, functions, keys=self.keys)

    def read(self, reading: ColumnReading) -> LazyRows:
        """The rows of all columns that are left, each read in this way."""
        return self.columns([Column(name, reading) for name in self.names or (None,)])

    def numbers(self) -> LazyRows:
        """The rows as numbers."""
        return self.read(NUMBERS)

    def presence(self) -> LazyRows:
        """A zero for each value and NaN for each missing cell; of no columns, a zero each row."""
        return self.read(PRESENCE) if self.names is not None else self.columns(())

"""The two verbs on rows: ``map_rows`` and ``fold``; and folding several in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.applied import applied, summarised
from opendp_lite.engines.door import opened, read
from opendp_lite.engines.fold import Block, Fold, Scratch
from opendp_lite.engines.quiet import QUIET
from opendp_lite.engines.reduced import reduced
from opendp_lite.engines.source import Source
from opendp_lite.errors import DataError


@attrs.frozen(eq=False)
class Mapped:
    """Rows with block functions that wait to be applied to them.

    Attributes:
        source: A container, which is opened here.
        functions: Applied one after the other to each block.
        columns: How many the blocks of the source must have; None for any number.
        size: How many rows the source must have; None for any number.
    """

    source: Source = attrs.field(converter=opened)
    functions: tuple[Block, ...] = ()
    columns: int | None = None
    size: int | None = None

    def require_size(self, found: int) -> None:
        """Raises ``DataError`` where so many rows were read and others were declared."""
        if self.size not in (None, found):
            raise DataError(
                f"records(size={self.size}) was declared and the data has another number of rows; "
                "declare the true size, or use SymmetricDistance() where it is private"
            )


def _wide(source: Source, columns: int | None) -> Iterator[Any]:
    """The blocks of a source, which must have so many columns; None for any number."""
    others: set[int] = set()
    for block in read(source):
        if columns in (None, block.shape[1]):
            yield block
        elif len(block):
            others.add(block.shape[1])
    if others:
        raise DataError(f"a block has {min(others)} columns, {columns} were declared")


@attrs.frozen(eq=False)
class Pending:
    """A fold waiting to be done, so that several can share one pass."""

    rows: Mapped
    how: Fold[Any]
    finish: Callable[[Any], Any]


def map_rows(rows: Mapped, function: Block) -> Mapped:
    """The rows with one more block function; nothing is computed yet."""
    return Mapped(rows.source, (*rows.functions, function), rows.columns, rows.size)


def fold(rows: Mapped, how: Fold[Any], finish: Callable[[Any], Any]) -> Pending:
    """The reduction of the rows; done when ``settle`` needs its value."""
    return Pending(rows, how, finish)


def materialise(rows: Mapped) -> NDArray[np.float64]:
    """All mapped rows as one array.

    Of copies: a block that no function copied is the person's own, who may fill it anew.
    """
    seen, found = 0, []
    with QUIET, np.errstate(all="ignore"):
        for block in _wide(rows.source, rows.columns):
            seen += len(block)
            found.append(np.array(_through(block, rows.functions)))
    rows.require_size(seen)
    return np.concatenate(found) if found else np.empty((0, 0))


def settle(value: Any) -> Any:
    """The value with every pending fold in it done, one pass over each source."""
    if type(value) is Pending:
        return value.finish(_one_pass([value])[0])
    pending: list[Pending] = []
    _collect(value, pending)
    by_source: dict[int, list[int]] = {}
    for index, each in enumerate(pending):
        by_source.setdefault(id(each.rows.source), []).append(index)
    done: dict[int, Any] = {}
    for indices in by_source.values():
        summaries = _one_pass([pending[index] for index in indices])
        for index, summary in zip(indices, summaries, strict=True):
            done[id(pending[index])] = pending[index].finish(summary)
    return _replace(value, done)


def _collect(value: Any, found: list[Pending]) -> None:
    if type(value) is Pending:
        found.append(value)
    elif type(value) is tuple:
        for each in value:
            _collect(each, found)


def _replace(value: Any, done: dict[int, Any]) -> Any:
    if type(value) is Pending:
        return done[id(value)]
    if type(value) is tuple:
        return tuple(_replace(each, done) for each in value)
    return value


def _through(block: Any, functions: Sequence[Block]) -> Any:
    for function in functions:
        block = applied(block, function)
    return block


@attrs.frozen(eq=False)
class _Plan:
    """A fold with the block functions that come before it, as far as it does not do them."""

    functions: tuple[Block, ...]
    how: Fold[Any]

    @classmethod
    def of(cls, waiting: Pending) -> _Plan:
        """What is to be done for a pending fold."""
        functions = waiting.rows.functions
        while functions and waiting.how.absorbs(functions[-1]):
            functions = functions[:-1]
        return cls(functions, waiting.how)


def _one_pass(waiting: Sequence[Pending]) -> list[Any]:
    plans = [_Plan.of(each) for each in waiting]
    rows = waiting[0].rows
    with QUIET:
        found = reduced(rows.source, _Job(plans, rows.columns), partial(_merged, plans))
    rows.require_size(found.rows)
    return found.totals


@attrs.frozen(eq=False)
class _Found:
    """The summary of each plan, and the number of rows that were read."""

    totals: list[Any]
    rows: int


def _merged(plans: Sequence[_Plan], first: _Found, second: _Found) -> _Found:
    pairs = zip(plans, first.totals, second.totals, strict=True)
    return _Found([plan.how.merge(a, b) for plan, a, b in pairs], first.rows + second.rows)


@attrs.frozen(eq=False)
class _Job:
    """Folds all plans in one pass over a source; a plain value that can be sent elsewhere."""

    plans: Sequence[_Plan]
    columns: int | None

    def __call__(self, source: Source) -> _Found:
        plans, seen = self.plans, 0
        scratches = [Scratch() for _ in plans]
        totals = [plan.how.empty() for plan in plans]
        steps, places = _shared(plans)
        with np.errstate(all="ignore"):
            for block in _wide(source, self.columns):
                seen += len(block)
                mapped = [block]
                for place, function in steps:
                    mapped.append(applied(mapped[place], function))
                for index, plan in enumerate(plans):
                    summary = summarised(mapped[places[index]], plan.how, scratches[index])
                    totals[index] = plan.how.merge(totals[index], summary)
        return _Found(totals, seen)


def _shared(plans: Sequence[_Plan]) -> tuple[list[tuple[int, Block]], list[int]]:
    """The block functions of all plans, those that begin alike done once.

    Gives: of each the place of what it is applied to, where 0 is the block and i the outcome of
        the function i - 1; and the place of what each plan folds.
    """
    steps: list[tuple[int, Block]] = []
    places = []
    for plan in plans:
        place = 0
        for function in plan.functions:
            same = (
                index
                for index, (before, known) in enumerate(steps)
                if before == place and known is function
            )
            found = next(same, len(steps))
            if found == len(steps):
                steps.append((place, function))
            place = found + 1
        places.append(place)
    return steps, places

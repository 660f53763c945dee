"""The two verbs on rows: ``map_rows`` and ``fold``; and folding several in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


@attrs.frozen(eq=False)
class LazyRows:
    """Rows with block functions that wait to be applied to them.

    Attributes:
        source: A container, which is opened here.
        functions: Applied one after the other to each block.
    """

    source: Source = attrs.field(converter=opened)
    functions: tuple[Block, ...] = ()


@attrs.frozen(eq=False)
class Pending:
    """A fold waiting to be done, so that several can share one pass."""

    rows: LazyRows
    how: Fold[Any]
    finish: Callable[[Any], Any]


def map_rows(rows: LazyRows, function: Block) -> LazyRows:
    """The rows with one more block function; nothing is computed yet."""
    return LazyRows(rows.source, (*rows.functions, function))


def fold(rows: LazyRows, how: Fold[Any], finish: Callable[[Any], Any]) -> Pending:
    """The reduction of the rows; done when ``settle`` needs its value."""
    return Pending(rows, how, finish)


def materialise(rows: LazyRows) -> NDArray[np.float64]:
    """All mapped rows as one array.

    Of copies: a block that no function copied is the person's own, who may fill it anew.
    """
    with QUIET, np.errstate(all="ignore"):
        found = [np.array(_through(block, rows.functions)) for block in read(rows.source)]
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
        while functions and waiting.how.fuses_with(functions[-1]):
            functions = functions[:-1]
        return cls(functions, waiting.how)


def _one_pass(waiting: Sequence[Pending]) -> list[Any]:
    plans = [_Plan.of(each) for each in waiting]
    with QUIET:
        found: list[Any] = reduced(
            waiting[0].rows.source, partial(_folded, plans), partial(_merged, plans)
        )
    return found


def _merged(plans: Sequence[_Plan], first: list[Any], second: list[Any]) -> list[Any]:
    pairs = zip(plans, first, second, strict=True)
    return [plan.how.merge(one, other) for plan, one, other in pairs]


def _folded(plans: Sequence[_Plan], source: Source) -> list[Any]:
    scratches = [Scratch() for _ in plans]
    totals = [plan.how.empty() for plan in plans]
    steps, places = _shared(plans)
    with np.errstate(all="ignore"):
        for block in read(source):
            mapped = [block]
            for place, function in steps:
                mapped.append(applied(mapped[place], function))
            for index, plan in enumerate(plans):
                summary = summarised(mapped[places[index]], plan.how, scratches[index])
                totals[index] = plan.how.merge(totals[index], summary)
    return totals


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

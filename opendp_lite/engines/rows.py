"""Rows that are mapped lazily, and several folds of them in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.applied import applied, summarised
from opendp_lite.engines.door import opened, read
from opendp_lite.engines.fold import Block, Fold, Scratch
from opendp_lite.engines.quiet import quiet_for
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


def map_rows(rows: LazyRows, function: Block) -> LazyRows:
    """The rows with one more block function; nothing is computed yet."""
    return LazyRows(rows.source, (*rows.functions, function))


def materialise(rows: LazyRows) -> NDArray[np.float64]:
    """All mapped rows as one array.

    Of copies: a block that no function copied is the person's own, who may fill it anew.
    """
    with quiet_for(rows.source), np.errstate(all="ignore"):
        found = [np.array(_through(block, rows.functions)) for block in read(rows.source)]
    return np.concatenate(found) if found else np.empty((0, 0))


def _through(block: Any, functions: Sequence[Block]) -> Any:
    for function in functions:
        block = applied(block, function)
    return block


class Waiting(Protocol):
    """Rows and how they are to be folded."""

    @property
    def rows(self) -> LazyRows: ...

    @property
    def how(self) -> Fold[Any]: ...


@attrs.frozen(eq=False)
class _Plan:
    """A fold with the block functions that come before it, as far as it does not do them."""

    functions: tuple[Block, ...]
    how: Fold[Any]

    @classmethod
    def of(cls, waiting: Waiting) -> _Plan:
        """What is to be done for a fold of rows."""
        functions = waiting.rows.functions
        while functions and waiting.how.fuses_with(functions[-1]):
            functions = functions[:-1]
        return cls(functions, waiting.how)


def one_pass(waiting: Sequence[Waiting]) -> list[Any]:
    """The summaries of folds over the same source, in one pass over it."""
    plans = [_Plan.of(each) for each in waiting]
    source = waiting[0].rows.source
    with quiet_for(source):
        found: list[Any] = reduced(source, partial(_folded, plans), partial(_merged, plans))
    return found


def _merged(plans: Sequence[_Plan], first: list[Any], second: list[Any]) -> list[Any]:
    pairs = zip(plans, first, second, strict=True)
    return [plan.how.merge(one, other) for plan, one, other in pairs]


def _folded(plans: Sequence[_Plan], source: Source) -> list[Any]:
    if len(plans) == 1:
        return [_folded_alone(plans[0], source)]
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


def _folded_alone(plan: _Plan, source: Source) -> Any:
    how, scratch, total = plan.how, Scratch(), None
    with np.errstate(all="ignore"):
        for block in read(source):
            summary = summarised(_through(block, plan.functions), how, scratch)
            total = summary if total is None else how.merge(total, summary)
    return how.empty() if total is None else total


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

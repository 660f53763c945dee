"""The two verbs on rows: ``map_rows`` and ``fold``; and folding several in one pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import singledispatch
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Block, Floats, Fold, Scratch
from opendp_lite.errors import DataError

BLOCK_ENTRIES: Final = 65536
"""Entries in a block: few calls, and working arrays that stay in a processor's cache."""
SHARE_ENTRIES: Final = 2_000_000
"""Entries for which a further thread is worth its start."""
_PROCESSORS: Final = min(4, os.cpu_count() or 1)


@singledispatch
def blocks(data: object) -> Iterator[Any]:
    """The rows of a container as C-ordered float64 arrays of shape (rows, columns).

    Register a container's type to add an engine. Blocks of another type come with their own
    ways in ``applied`` and ``summarised``.
    """
    raise DataError(
        f"data of type {type(data).__name__} cannot be read; give a numpy array, a list of "
        "numbers, a pandas, polars or Arrow column or table, or dp.Blocks"
    )


@blocks.register
def _of_array(data: np.ndarray) -> Iterator[Floats]:
    rows = data if data.ndim == 2 else data.reshape(-1, 1)
    step = max(1, BLOCK_ENTRIES // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        yield np.ascontiguousarray(block, dtype=np.float64)


@singledispatch
def parts(data: object) -> list[Any]:
    """The container in parts that are worth going through side by side; mostly one.

    Folds merge exactly, so the result is the same however the rows are parted.
    """
    return [data]


@parts.register
def _of_large_array(data: np.ndarray) -> list[Any]:
    count = min(_PROCESSORS, data.size // SHARE_ENTRIES)
    return [data] if count < 2 else np.array_split(data, count)


@singledispatch
def applied(block: Any, function: Block) -> Any:
    """What a block function makes of a block."""
    return function(block)


@singledispatch
def summarised(block: Any, how: Fold[Any], scratch: Scratch) -> Any:
    """What a fold makes of a block."""
    return how.summarise(block, scratch)


@attrs.frozen(eq=False)
class Mapped:
    """A container with block functions waiting to be applied to its rows."""

    source: object
    functions: tuple[Block, ...] = ()


@attrs.frozen(eq=False)
class Pending:
    """A fold waiting to be done, so that several can share one pass."""

    rows: Mapped
    how: Fold[Any]
    finish: Callable[[Any], Any]


def map_rows(rows: Mapped, function: Block) -> Mapped:
    """The rows with one more block function; nothing is computed yet."""
    return Mapped(rows.source, (*rows.functions, function))


def fold(rows: Mapped, how: Fold[Any], finish: Callable[[Any], Any]) -> Pending:
    """The reduction of the rows; done when ``settle`` needs its value."""
    return Pending(rows, how, finish)


def materialise(rows: Mapped) -> NDArray[np.float64]:
    """All mapped rows as one array.

    Of copies: a block that no function copied is the person's own, who may fill it anew.
    """
    found = [np.array(_through(block, rows.functions)) for block in blocks(rows.source)]
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
    first, *others = parts(waiting[0].rows.source)
    if not others:
        return _folded(plans, first)
    with ThreadPoolExecutor(len(others)) as pool:
        running = [pool.submit(_folded, plans, other) for other in others]
        totals = _folded(plans, first)
        for each in running:
            pairs = zip(plans, totals, each.result(), strict=True)
            totals = [plan.how.merge(total, more) for plan, total, more in pairs]
    return totals


def _folded(plans: Sequence[_Plan], source: object) -> list[Any]:
    scratches = [Scratch() for _ in plans]
    totals = [plan.how.empty() for plan in plans]
    steps, places = _shared(plans)
    with np.errstate(all="ignore"):
        for block in blocks(source):
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

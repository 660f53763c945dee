"""The two verbs on rows: ``map_rows`` and ``fold``; and folding several in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import singledispatch
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Block, Floats, Fold, Scratch
from opendp_lite.errors import DataError

BLOCK_ENTRIES: Final = 262144
"""Entries in a block: few calls, and working arrays that stay in a processor's cache."""


@singledispatch
def blocks(data: object) -> Iterator[Floats]:
    """The rows of a container as C-ordered float64 arrays of shape (rows, columns).

    Register a container's type to add an engine.
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
    """All mapped rows as one array."""
    found = [_through(block, rows.functions) for block in blocks(rows.source)]
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


def _through(block: Floats, functions: Sequence[Block]) -> Floats:
    for function in functions:
        block = function(block)
    return block


def _one_pass(waiting: Sequence[Pending]) -> list[Any]:
    plans = []
    for each in waiting:
        functions = each.rows.functions
        if functions and each.how.absorbs(functions[-1]):
            functions = functions[:-1]
        plans.append((functions, each.how, Scratch()))
    totals = [how.empty() for _, how, _ in plans]
    for block in blocks(waiting[0].rows.source):
        for index, (functions, how, scratch) in enumerate(plans):
            summary = how.summarise(_through(block, functions), scratch)
            totals[index] = how.merge(totals[index], summary)
    return totals

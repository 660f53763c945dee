"""What runs where, of a pipeline on some data, in words. No row is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from opendp_lite.engines.columns import Dataset
from opendp_lite.engines.data.expressions import Engine
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.plan import Group, Map, Node, Own, Plan, Release, Rows
from opendp_lite.engines.rows import AnyRequest, LazyRows, stays_elsewhere, why_in_batches

_LISTED: Final = 4


def say_where(function: Node | Release, rows: object, data: object) -> tuple[str, ...]:
    """A line for each sum, count or other summary of rows.

    Args:
        function: Of a pipeline.
        rows: The data, as its steps work on them.
        data: The same as they were handed over.
    """
    if not isinstance(rows, LazyTable | LazyRows):
        return ("All of it runs here: the data is no table and no rows.",)
    table = rows if isinstance(rows, LazyTable) else None
    engine = None if table is None else table.dataset.engine
    plan = function.of if isinstance(function, Release) else function
    if table is None or engine is None:
        return (_say_alone(rows, data),)
    return tuple(dict.fromkeys(_lines(plan, table, engine)))


def _say_alone(rows: LazyTable | LazyRows, data: object) -> str:
    """Where rows are read for which there are no expressions, and why."""
    place = f"on the workers of {rows.library}" if rows.library else "in this process"
    if isinstance(rows, LazyRows) and _computes(data):
        why = "no dp.select names the columns"
    elif isinstance(rows, LazyTable) and rows.dataset.size is not None and _computes(data):
        why = "the number of rows is public and has to be counted"
    else:
        why = f"a {type(data).__name__} computes no sums for dp"
    return f"All rows are read {place}: {why}."


def _computes(data: object) -> bool:
    """Whether a container computes expressions, for pipelines that name its columns."""
    return Dataset(data, None, None).engine is not None


def _lines(plan: Plan, table: LazyTable, engine: Engine) -> Iterator[str]:
    """The lines of a plan, all folds of which share a pass."""
    nodes = list(_flatten(plan))
    folds = dict.fromkeys(fold for node in nodes for fold in node.folds)
    asks = {fold: fold.ask({None: table}) for fold in folds if not _find_own(fold.before)}
    for (fold, ask), why in zip(asks.items(), why_in_batches([*asks.values()]), strict=True):
        yield _say(fold.step, ask, why, engine)
    for before in [fold.before for fold in folds] + [node for node in nodes if not node.folds]:
        if own := _find_own(before):
            yield f"Rows come in batches for {own.step}: its function may look at all of them."
    for node in nodes:
        group = next((step for step in _steps_of(node) if isinstance(step, Group)), None)
        if group is not None and not node.folds:
            group.groups.require(table)
            yield "One group after another, as its pipeline is more than sums and counts:"
            one = group.groups.only(table, 0)
            yield from (f"  {line}" for line in _lines(group.each, one, engine))
        elif not node.folds and not _find_own(node):
            yield "It asks for one number after another, so what is read is known when it runs."


def _flatten(plan: Plan) -> Iterator[Node]:
    return chain.from_iterable(map(_flatten, plan)) if isinstance(plan, tuple) else iter((plan,))


def _steps_of(node: Node) -> Iterator[Node]:
    """A node and all before it, the last first."""
    while not isinstance(node, Rows):
        yield node
        node = node.before


def _find_own(node: Node) -> Map | None:
    """The last function of which a plan knows nothing: it might read rows."""
    found = (step for step in _steps_of(node) if isinstance(step, Map))
    return next((step for step in found if isinstance(step.function, Own)), None)


def _say(step: str, ask: AnyRequest, why: str, engine: Engine) -> str:
    groups, _, _ = ask.how.by_groups()
    keys = [str(column.name) for column in groups.columns] if groups is not None else []
    names = dict.fromkeys(str(column.name) for column in ask.rows.asked)
    read = _list([name for name in names if name not in keys])
    summary = f"{step}{f' of {read}' if read else ''}"
    summary += f" for each {_list(keys)}" if keys else ""
    if not why:
        return f"{engine.library} computes {summary}."
    if ask.how.gathers and not stays_elsewhere(ask):
        return f"All rows come into memory here for {summary}: {why}."
    return f"Rows come in batches for {summary}: {why}."


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more

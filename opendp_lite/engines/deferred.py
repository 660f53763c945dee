"""Folds that wait, so that several share one pass over the rows.

A step's function gives what its output domain says, whoever calls it. The functions made here can
also be asked for a value that is still to be computed: ``chained`` and ``together`` keep it
waiting, and ``evaluate`` goes through the rows once for all that waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from opendp_lite.engines.fold import Fold
from opendp_lite.engines.rows import LazyRows, MapRows, one_pass

Function = Callable[[Any], Any]


@attrs.frozen(eq=False, repr=False)
class Deferred:
    """The value of a fold that is still to be done: ``finish`` of its summary."""

    rows: LazyRows
    how: Fold[Any]
    finish: Function
    step: str = ""


@attrs.frozen(eq=False, repr=False)
class fold:  # noqa: N801
    """The function from rows to ``finish`` of their summary."""

    how: Fold[Any]
    finish: Function
    step: str = ""

    def named(self, step: str) -> fold:
        """The same, as a part of a step."""
        return self if self.step else fold(self.how, self.finish, step)

    def then(self, function: Function) -> fold:
        """The function of the value."""
        finish = self.finish
        return fold(self.how, lambda found: function(finish(found)), self.step)

    def deferred(self, rows: LazyRows) -> Deferred:
        """The value, waiting."""
        return Deferred(rows, self.how, self.finish, self.step)

    def __call__(self, rows: LazyRows) -> Any:
        return evaluate(self.deferred(rows))


@attrs.frozen(eq=False, repr=False)
class Chained:
    """The function that applies several functions, one after another."""

    functions: tuple[Function, ...]

    def named(self, step: str) -> Chained:
        """The same, as a part of a step."""
        return Chained(tuple(named(each, step) for each in self.functions))

    def deferred(self, value: Any) -> Any:
        """The value, waiting where that of one of them does."""
        for function in self.functions:
            value = defer(function, value)
        return value

    def __call__(self, value: Any) -> Any:
        return evaluate(self.deferred(value))


@attrs.frozen(eq=False, repr=False)
class Together:
    """The function that gives a tuple of what several functions make of one value."""

    functions: tuple[Function, ...]

    def named(self, step: str) -> Together:
        """The same, as a part of a step."""
        return Together(tuple(named(each, step) for each in self.functions))

    def joined_to(self, earlier: object) -> Together | None:
        """The same with a map of rows before each, where it is that."""
        if not isinstance(earlier, MapRows):
            return None
        return Together(tuple(chained(earlier, each) for each in self.functions))

    def deferred(self, value: Any) -> tuple[Any, ...]:
        """The values, waiting."""
        return tuple(defer(function, value) for function in self.functions)

    def __call__(self, value: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = evaluate(self.deferred(value))
        return found


@attrs.frozen(eq=False, repr=False)
class Released:
    """The function of a mechanism: ``release(query(value), entropy)``.

    Told apart, so that the queries of several mechanisms share one pass.
    """

    query: Function
    release: Callable[[Any, Any], Any]

    def named(self, step: str) -> Released:
        """The same, as a part of a step."""
        return Released(named(self.query, step), self.release)

    def __call__(self, value: Any, entropy: Any) -> Any:
        return self.release(evaluate(defer(self.query, value)), entropy)


def identity(value: Any) -> Any:
    """The value as it is."""
    return value


def chained(first: Function, second: Function) -> Function:
    """One function after another."""
    links: list[Function] = []
    for each in (first, second):
        for link in each.functions if isinstance(each, Chained) else (each,):
            if link is identity:
                continue
            while links and (both := _as_one(links[-1], link)) is not None:
                links.pop()
                link = both
            links.append(link)
    return Chained(tuple(links)) if len(links) > 1 else (*links, identity)[0]


def _as_one(first: Function, second: Function) -> Function | None:
    """One function in place of two, where there is one that does more of it beforehand."""
    if isinstance(first, fold) and not hasattr(second, "deferred"):
        return first.then(second)
    joins = getattr(second, "joined_to", None)
    return None if joins is None else joins(first)


def named(function: Any, step: str) -> Any:
    """The function with its parts named after a step, where they have no name yet."""
    own = getattr(function, "named", None)
    return function if own is None else own(step)


def query_of(function: Callable[[Any, Any], Any]) -> Function:
    """The deterministic part that comes first in a mechanism's function."""
    return getattr(function, "query", identity)


def release_of(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """What is left of a mechanism's function after ``query_of``."""
    return getattr(function, "release", function)


def defer(function: Function, value: Any) -> Any:
    """The function's value, waiting if it can."""
    own = getattr(function, "deferred", None)
    return _then(value, function) if own is None else own(value)


def _then(value: Any, function: Function) -> Any:
    if type(value) is not Deferred:
        return function(evaluate(value) if type(value) is tuple else value)
    finish = value.finish
    return Deferred(value.rows, value.how, lambda found: function(finish(found)), value.step)


def evaluate(value: Any) -> Any:
    """The value with every fold in it done, one pass over each source."""
    if isinstance(value, Deferred):
        summary = _apart(value) if _is_apart(value) else one_pass((value,))[0]
        return value.finish(summary)
    if type(value) is not tuple:
        return value
    waiting: list[Deferred] = []
    _collect(value, waiting)
    by_source: dict[int, dict[tuple[int, int], Deferred]] = {}
    done = {_work(each): _apart(each) for each in waiting if _is_apart(each)}
    for each in waiting:
        if _work(each) in done:
            continue
        by_source.setdefault(id(each.rows.source.origin), {}).setdefault(_work(each), each)
    for works in by_source.values():
        done.update(zip(works, one_pass(list(works.values())), strict=True))
    return _replace(value, done)


def _is_apart(waiting: Deferred) -> bool:
    """Whether a fold would gather rows that may not fit into memory."""
    return waiting.how.gathers and waiting.rows.source.library != ""


def _apart(waiting: Deferred) -> Any:
    return waiting.how.without_gathering(waiting.rows, waiting.step)


def _work(waiting: Deferred) -> tuple[int, int]:
    """Equal for values of the same fold of the same rows."""
    return id(waiting.rows), id(waiting.how)


def _collect(value: Any, found: list[Deferred]) -> None:
    if type(value) is Deferred:
        found.append(value)
    elif type(value) is tuple:
        for each in value:
            _collect(each, found)


def _replace(value: Any, done: dict[tuple[int, int], Any]) -> Any:
    if type(value) is Deferred:
        return value.finish(done[_work(value)])
    if type(value) is tuple:
        return tuple(_replace(each, done) for each in value)
    return value

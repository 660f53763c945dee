"""A pipeline as data: six kinds of node say what is done to rows.

``Rows`` is where rows come from. ``Map`` works on each row by itself, ``Keep`` leaves rows out,
``Group`` does a plan for each group of rows. ``Fold`` makes one exact summary, and after it ``Map``
works on that. ``Release`` adds the noise and ends a plan. A node is frozen and holds the one before
it, so plans print, compare, and are joined by putting one in the place of the other's ``Rows``.

All folds of a plan are done in one pass over the rows (``evaluate``). A ``Group`` whose plan does
more than sum takes one group after another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, cast

import attrs

from opendp_lite.base.errors import ParameterError
from opendp_lite.display.formatting import fields_text
from opendp_lite.engines.data.fold import AnyReduction, Block, Reduction, identity
from opendp_lite.engines.rounds import Elsewhere, Going, answer, in_turns
from opendp_lite.engines.rows import AnyRequest, FoldRequest, LazyRows, OfWhole, Part, summaries
from opendp_lite.numbers.exact import quote
from opendp_lite.numbers.grid import Grids

if TYPE_CHECKING:
    from opendp_lite.engines.grouped import Groups, LazyTable

Run: TypeAlias = "dict[Node | AnyFold | None, object]"
"""One evaluation: the value of each node that has been worked out; that of None is the data."""
Plan: TypeAlias = "Node | tuple[Plan, ...]"
"""A node, or a tuple of plans, whose value is a tuple of values."""
Function: TypeAlias = Callable[..., object]
"""A function of a value: only what made the value knows its type."""

_evolve: Final = cast("Callable[..., Node]", attrs.evolve)


@attrs.frozen(eq=False, repr=False)
class Own(OfWhole):
    """Any function, of which a plan knows nothing."""

    row_by_row: ClassVar[bool] = False

    function: Function

    def __call__(self, value: object, /) -> object:
        return self.function(value)

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)


class Node(ABC):
    """A step of a plan, with the steps before it. Called on data, it gives the exact value."""

    before: Node
    step: str

    def on(self, earlier: Node) -> Node:
        """The same steps after those of another plan."""
        return _evolve(self, before=self.before.on(earlier))

    def name_step(self, step: str) -> Node:
        """The same as parts of a step: a refusal says its name."""
        return _evolve(self, before=self.before.name_step(step), step=self.step or step)

    @cached_property
    def folds(self) -> tuple[AnyFold, ...]:
        """What is to be summarised in one pass, each once."""
        return self.before.folds

    @cached_property
    def row_by_row(self) -> bool:
        """Whether its value is rows, each made of one row alone."""
        return False

    @property
    def only_sums(self) -> bool:
        """Whether it is known to do nothing but sum up rows that are taken one by one."""
        return False

    @abstractmethod
    def make(self, run: Run) -> object:
        """Its value; those of folds are known."""

    @abstractmethod
    def say(self) -> str:
        """What it does, in the parentheses of a plan that is printed."""

    def __call__(self, data: object) -> object:
        return evaluate(self, data)

    def __repr__(self) -> str:
        return f"{self.before!r}\n  > {type(self).__name__}({self.say()})"


@attrs.frozen(slots=False, cache_hash=True, repr=False)
class Rows(Node):
    """Where rows come from: the space of the data, or nothing where another plan goes before."""

    space: object = None

    def on(self, earlier: Node) -> Node:
        return earlier

    def name_step(self, step: str) -> Node:
        return self

    @cached_property
    def folds(self) -> tuple[AnyFold, ...]:
        return ()

    @cached_property
    def row_by_row(self) -> bool:
        return True

    def make(self, run: Run) -> object:
        return run[None]

    def say(self) -> str:
        return "" if self.space is None else repr(self.space)

    def __repr__(self) -> str:
        return f"Rows({self.say()})"


@attrs.frozen(slots=False, cache_hash=True, repr=False)
class Map(Node):
    """Each row by itself; after a fold, its exact value."""

    function: Block | OfWhole
    step: str = attrs.field(default="", eq=False)
    before: Node = Rows()

    @cached_property
    def row_by_row(self) -> bool:
        known = not isinstance(self.function, OfWhole) or self.function.row_by_row
        return known and self.before.row_by_row

    @property
    def only_sums(self) -> bool:
        return self.before.only_sums

    def make(self, run: Run) -> object:
        if self not in run:
            value = self.before.make(run)
            if isinstance(self.function, OfWhole):
                run[self] = self.function(value)
            else:
                rows = cast(LazyRows, value)
                run[self] = rows.map_rows(Part(self.function, self.step))
        return run[self]

    def say(self) -> str:
        return f"{self.step}: {fields_text(self.function)}"


@attrs.frozen(slots=False, cache_hash=True, repr=False)
class Keep(Map):
    """Leaves rows out: each as it is, or so many of them."""


@attrs.frozen(slots=False, cache_hash=True, repr=False)
class Fold(Node):
    """One exact summary of rows.

    Args:
        how: Makes the summary.
        finish: Its value, as the steps after it work on it.
        treatment: What is done to missing values before: they are left out or filled.
        step: What it is a part of.
        before: The rows.
    """

    how: AnyReduction | LaterReduction
    finish: Function
    treatment: Block | None = None
    step: str = attrs.field(default="", eq=False)
    before: Node = Rows()

    @cached_property
    def folds(self) -> tuple[AnyFold, ...]:
        return (self,)

    @property
    def only_sums(self) -> bool:
        return self.before.row_by_row and isinstance(self.how, Reduction)

    def make(self, run: Run) -> object:
        return run[self]

    def say(self) -> str:
        return f"{self.step}: {fields_text(self.how)}"

    @cached_property
    def _last(self) -> tuple[Node, tuple[Part, ...], str]:
        """The block functions just before it, without those that it does itself.

        Taking these off before missing values are treated is allowed because what a fold absorbs
        hands a missing entry on and makes no other entry missing.
        """
        start, parts = self.before, list[Part]()
        while isinstance(start, Map) and not isinstance(start.function, OfWhole):
            parts.insert(0, Part(start.function, start.step))
            start = start.before
        fused = ""
        while parts and self.how.fuses_with(parts[-1].function):
            fused = parts.pop().step
        step = fused or self.step
        if self.treatment is not None:
            parts.append(Part(self.treatment, step))
        return start, tuple(parts), step

    def ask(self, run: Run) -> AnyRequest:
        """The rows to be summed up, and how."""
        start, functions, step = self._last
        rows = cast(LazyRows, run[start] if start in run else start.make(run))
        if functions:
            rows = rows.map_rows(*functions)
        if isinstance(self.how, LaterReduction):
            return self.how.ask(rows, step)
        return FoldRequest(rows, self.how, step)


class LaterReduction(ABC):
    """A reduction that is known once the rows are, and then for one evaluation only."""

    @abstractmethod
    def ask(self, rows: LazyTable | LazyRows, step: str) -> AnyRequest:
        """What is to be made of a table or of rows."""

    def fuses_with(self, function: Block) -> bool:
        """Whether this block function, coming just before, would change nothing."""
        return False


@attrs.frozen(slots=False, cache_hash=True, repr=False)
class Group(Node):
    """A plan for each group of a table's rows: its value is a list of theirs.

    Folds are done for all groups in one pass. Where a plan does more than to sum up rows that are
    taken one by one, it is done for one group after another.
    """

    groups: Groups
    each: Plan
    step: str = attrs.field(default="", eq=False)
    before: Node = Rows()

    @cached_property
    def folds(self) -> tuple[AnyFold, ...]:
        if not sums_rows_alone(self.each):
            return ()
        folds = cast(tuple[Fold, ...], folds_of(self.each))
        return tuple(_OfGroups(self.before, self.groups, fold) for fold in folds)

    def make(self, run: Run) -> Sequence[object]:
        if self.folds:
            known = [cast(Sequence[object], run[fold]) for fold in self.folds]
            folds = folds_of(self.each)
            if folds == (self.each,):
                return known[0]
            return [
                value_of(self.each, dict(zip(folds, values, strict=True)))
                for values in zip(*known, strict=True)
            ]
        table = cast("LazyTable", self.before.make(run))
        self.groups.require(table)
        read, groups = self.groups.read_once(table)
        return [evaluate(self.each, groups.only(read, group)) for group in range(groups.count)]

    def say(self) -> str:
        inner = _say(self.each).replace("\n", "\n    ")
        return f"{fields_text(self.groups)},\n    {inner}"


@attrs.frozen(slots=False, cache_hash=True, repr=False)
class _OfGroups:
    """A fold of each group's rows, in one pass over all rows."""

    before: Node
    groups: Groups
    fold: Fold

    @property
    def step(self) -> str:
        """What it is a part of."""
        return self.fold.step

    def ask(self, run: Run) -> AnyRequest:
        """The rows with the columns that say their groups, and how they are summed up."""
        table = cast("LazyTable", self.before.make(run))
        self.groups.require(table)
        beside = attrs.evolve(table, beside=tuple(map(table.as_derived, self.groups.columns)))
        return self.groups.ask(self.fold.ask({None: beside}))

    def finish(self, summaries: object) -> Sequence[object]:
        """The value of each group's summary."""
        how = cast(AnyReduction, self.fold.how)
        exponent: int | None = getattr(self.fold.finish, "exponent", None)
        if exponent is not None:
            steps = how.steps_of_groups(summaries, self.groups.count)
            if steps is not None:
                return Grids(steps, exponent)
        return list(map(self.fold.finish, how.each_group(summaries, self.groups.count)))


AnyFold: TypeAlias = "Fold | _OfGroups"


@attrs.frozen(eq=False, repr=False, slots=False)
class Release:
    """A release of exact values: a law adds noise or chooses; plain functions follow.

    Where a law ``asks``, it is a coroutine: it yields what it wants to know of the rows and is sent
    that. So several releases share each pass, however many passes each needs.

    Args:
        of: Makes the exact values.
        law: Adds the noise, or chooses.
        after: The plain functions.
        price: The map of the law's loss, and the space of what it is given: for a falsifier, which
            compares them with what happens.
    """

    of: Plan
    law: Function
    after: tuple[Function, ...] = ()
    price: object = None

    def on(self, earlier: Node) -> Release:
        """The same release of values that another plan makes first."""
        return attrs.evolve(self, of=_change(self.of, lambda node: node.on(earlier)))

    def name_step(self, step: str) -> Release:
        """The same as parts of a step."""
        return attrs.evolve(self, of=_change(self.of, lambda node: node.name_step(step)))

    def then(self, function: Function) -> Release:
        """The same with one more function of the release."""
        return attrs.evolve(self, after=(*self.after, function))

    @cached_property
    def folds(self) -> tuple[AnyFold, ...]:
        """What is to be summarised first."""
        return folds_of(self.of)

    @cached_property
    def asks(self) -> bool:
        """Whether it may need further passes over the rows."""
        return getattr(self.law, "asks", False)

    def begin(self, value: object, entropy: object) -> Going:
        """The release of an exact value, on its way."""
        if isinstance(value, Elsewhere):
            found = yield from in_turns(partial(self.law, value, entropy))
        else:
            found = self.law(value, entropy)
        if self.asks:
            found = yield from cast(Going, found)
        return self._follow(found)

    def release(self, value: object, entropy: object) -> object:
        """The release of an exact value."""
        if self.asks:
            return answer(self.begin(value, entropy))
        return self._follow(self.law(value, entropy))

    def _follow(self, found: object) -> object:
        for function in self.after:
            found = function(found)
        return found

    def __call__(self, data: object, entropy: object) -> object:
        return self.release(evaluate(self.of, data, self.folds), entropy)

    def __repr__(self) -> str:
        after = "".join(f"\n  > {fields_text(each)}" for each in self.after)
        law = getattr(self.law, "__name__", type(self.law).__name__)
        return f"{_say(self.of)}\n  > Release({law}){after}"


def evaluate(plan: Plan, data: object, folds: Sequence[AnyFold] | None = None) -> object:
    """The exact value of a plan on data, in one pass over the rows for all of its folds."""
    run: Run = {None: data}
    if folds is None:
        folds = folds_of(plan)
    if folds:
        found = summaries([fold.ask(run) for fold in folds])
        for fold, summary in zip(folds, found, strict=True):
            run[fold] = fold.finish(summary)
    return value_of(plan, run)


def value_of(plan: Plan, run: Run) -> object:
    """The value of a plan, once those of its folds are known."""
    if not isinstance(plan, tuple):
        return plan.make(run)
    return tuple([run[each] if each in run else value_of(each, run) for each in plan])


def folds_of(plan: Plan) -> tuple[AnyFold, ...]:
    """The folds of a plan, each once."""
    if not isinstance(plan, tuple):
        return plan.folds
    return tuple(dict.fromkeys(fold for each in plan for fold in folds_of(each)))


def _change(plan: Plan, change: Callable[[Node], Node]) -> Plan:
    if isinstance(plan, tuple):
        return tuple(_change(each, change) for each in plan)
    return change(plan)


def sums_rows_alone(plan: Plan) -> bool:
    """Whether it is known to do nothing but sum up rows that are taken one by one."""
    return all(map(sums_rows_alone, plan)) if isinstance(plan, tuple) else plan.only_sums


def plan_of(function: object) -> Node:
    """The plan of a transformation's function; of one that is no plan, a step of its own."""
    if isinstance(function, Node):
        return function
    return Rows() if function is identity else Map(Own(_require_function(function)))


def release_of(function: object) -> Release:
    """As ``plan_of``, of a measurement's function."""
    if isinstance(function, Release):
        return function
    return Release(Rows(), _require_function(function))


def _require_function(given: object) -> Function:
    if not callable(given):
        raise ParameterError(f"function is a function of the data, got {quote(given)}")
    return given


def _say(plan: Plan) -> str:
    if not isinstance(plan, tuple):
        return repr(plan)
    parts = (_say(each).replace("\n", "\n  ") for each in plan)
    return "\n".join(f"- {each}" for each in parts)

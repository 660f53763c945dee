"""A release that knows what it cost."""

from __future__ import annotations

import operator
from collections import ChainMap
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, Self, SupportsFloat, cast

import attrs
import numpy as np

from opendp_lite.base.errors import DataError, ParameterError, SpaceError, shorten
from opendp_lite.base.frozen import OwnProcess
from opendp_lite.base.spelling import Named, call_when_read
from opendp_lite.combinators import accounts
from opendp_lite.display import formatting
from opendp_lite.engines.columns import names_itself
from opendp_lite.engines.data.table import place_of
from opendp_lite.engines.data.values import names_alone
from opendp_lite.engines.plan import evaluate
from opendp_lite.explain.statement import Position, Statement
from opendp_lite.measures.budgets import (
    AnyBudget,
    Loss,
    PrivacyBudget,
    count_without_end,
    filter_budget,
    require_budget,
)
from opendp_lite.measures.divergences import AnyMeasure
from opendp_lite.metrics import distances
from opendp_lite.numbers.exact import Number, digits_up, exact, open_probability, quote
from opendp_lite.pipeline.core import AnyMeasurement, M, Measurement, R, release_from
from opendp_lite.pipeline.questions import brief
from opendp_lite.pipeline.steps import Mechanism
from opendp_lite.releases.result import Result, records_of
from opendp_lite.releases.table import Record, ReleaseTable
from opendp_lite.samplers.entropy import SecureEntropy
from opendp_lite.sessions.text import check_line
from opendp_lite.spaces.domains import Rows
from opendp_lite.spaces.space import Space, table
from opendp_lite.spaces.tables import PersonTables, tables_in
from opendp_lite.spelling.suggestions import explain_names, refuse_name

Operation = Callable[[Any, Any], Any]
AnyQuery = Mechanism[Any, Any, R] | Measurement[Any, Any, R]


@attrs.frozen
class Payer:
    """The session or ledger that paid for a release.

    Args:
        title: What it is, in words.
        unit: What its owner declares a unit of privacy to be.
        bounded: Whether there is a budget; a meter has none.
    """

    title: str
    unit: str
    bounded: bool = True


def _on_values(compute: Callable[[Any, Any], Any]) -> tuple[Operation, Operation]:
    """An operation on the values of releases, and the same from the right."""

    def of(given: object, other: object) -> Any:
        if not isinstance(given, Release):
            return given
        other = other.value if isinstance(other, Release) else other
        # The other's interval would be carried along as if this number were exact.
        if isinstance(other, Result) and not isinstance(given.value, Result) and given._error:
            raise TypeError(
                f"{given} has no interval that the result could carry along. Add confidence=0.95 "
                "to its noise step, or write float(release) to take it for exact"
            )
        return given.value

    def compute_left(self: Any, other: object) -> Any:
        return compute(of(self, other), of(other, self))

    def compute_right(self: Any, other: object) -> Any:
        return compute(of(other, self), of(self, other))

    return compute_left, compute_right


def place_under(budget: AnyBudget, spent: Loss, *, bounded: bool = True, **where: Any) -> Position:
    """Where a release, or all of them, stand under a budget of which so much is spent.

    Args:
        budget: The whole.
        spent: Of it.
        bounded: Whether it is one at all.
        where: The other fields of a ``Position``.
    """
    return Position(
        spent=budget.measure.words(budget.reach(spent)),
        left=accounts.say_left(budget, spent) if bounded else "",
        budget=budget.words() if bounded else "",
        **where,
    )


@attrs.frozen(repr=False)
class Release(Result, Generic[R]):
    """What a session or a ledger released, and what it cost.

    Args:
        value: What the pipeline released.
        order: The pipeline, its price and what was written beside it.
        receipt: Its number among the entries, and what was spent when it was paid.
        payer: Which budget paid.

    Example:
        >>> import opendp_lite as dp
        >>> ask = dp.session([41, 39, 25] * 1000, budget=dp.rho(1))
        >>> release = ask(dp.mean(0, 100, rho=0.1), note="table 3")
        >>> round(float(release)), release.number, release.price, release.note
        (35, 1, Fraction(1, 10), 'table 3')
    """

    value: R
    order: accounts.Order
    receipt: accounts.Receipt
    payer: Payer

    def __reduce_ex__(self, protocol: object) -> Any:
        parts = (attrs.asdict(one, recurse=False) for one in (self.order, self.receipt, self.payer))
        made = Named(f"{Named.of(Release).path}._of_parts")
        return call_when_read(made, self.value, **dict(ChainMap(*parts)))

    @classmethod
    def _of_parts(
        cls, value: Any, *, query: AnyMeasurement, price: Loss, note: str, **paid: Any
    ) -> Self:
        """As its pickle has it."""
        payer = Payer(paid.pop("title"), paid.pop("unit"), paid.pop("bounded", True))
        return cls(value, accounts.Order(query, price, note), accounts.Receipt(**paid), payer)

    @property
    def number(self) -> int:
        """Which release of the session or the ledger it is, from 1."""
        return self.receipt.number

    @property
    def price(self) -> Any:
        """What it cost, exactly, in the measure of the budget: under ``dp.mu`` the square of mu.

        Under epsilon and delta it is what the release adds to what is spent.
        """
        budget, price = self.receipt.budget, self.order.price
        return budget.cost(price, budget.measure.left(self.receipt.spent, price))

    @property
    def note(self) -> str:
        """What was written beside it."""
        return self.order.note

    def statement(self, *, delta: Number | None = None) -> Statement:
        """What the release protects, how well, and what is left of the budget, in plain words.

        Nothing in it depends on data: the value is no part of it.

        Args:
            delta: As for ``pipeline.statement``.

        Returns:
            A ``Statement``, whose ``position`` says where the release stands among the others.
        """
        position = place_under(
            self.receipt.budget,
            self.receipt.spent,
            bounded=self.payer.bounded,
            ledger=self.payer.title,
            number=self.number,
            head=self.receipt.head,
            unit=self.payer.unit,
            note=self.note,
            entry=self.receipt.entry,
        )
        return attrs.evolve(self.order.query.statement(delta=delta), position=position)

    def __float__(self) -> float:
        return float(cast(SupportsFloat, self.value))

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else str(self)

    def table(self, **asked: Any) -> ReleaseTable:
        """As that of what was released."""
        kept = isinstance(self.value, Result)
        return cast(Result, self.value).table(**asked) if kept else super().table(**asked)

    def records(self) -> list[Record]:
        """What was released, in rows."""
        return records_of(self.value)

    def as_dict(self) -> dict[str, Any]:
        """What was released, for ``json.dumps``: the parts of a release, or a number as a value."""
        if isinstance(self.value, Result):
            return self.value.as_dict()
        return {"value": formatting.for_json(self.value)}

    def plot(self, **asked: Any) -> Any:
        """Draws what was released."""
        if isinstance(self.value, Result):
            return self.value.plot(**asked)
        return super().plot(**asked)

    if not TYPE_CHECKING:
        # What is typed after a release is meant for its value: ``found.interval``, ``a - b``.

        def __getattr__(self, name: str) -> Any:
            # A value that is a release knows what to type for a name that it does not have.
            known = isinstance(self.value, Result) or hasattr(self.value, name)
            if name.startswith("_") or not known:
                if name in _ENDS and self._error:
                    raise AttributeError(
                        f"{self} has no interval; add confidence=0.95 to its noise step",
                        name=name,
                        obj=self,
                    )
                return super().__getattr__(name)
            return getattr(self.value, name)

        def __array__(self, *asked: Any, **named: Any) -> Any:
            return np.asarray(self.value, *asked, **named)

        def __getitem__(self, key: object) -> Any:
            return self.value[key]

        def __iter__(self) -> Iterator[Any]:
            return iter(self.value)

        def __len__(self) -> int:
            return len(self.value)

        # Python would ask for the length, which a number has not.
        def __bool__(self) -> bool:
            return bool(len(self.value) if isinstance(self.value, np.ndarray) else self.value)

        __add__, __radd__ = _on_values(operator.add)
        __sub__, __rsub__ = _on_values(operator.sub)
        __mul__, __rmul__ = _on_values(operator.mul)
        __truediv__, __rtruediv__ = _on_values(operator.truediv)
        __lt__, __gt__ = _on_values(operator.lt)
        __le__, __ge__ = _on_values(operator.le)

        def __neg__(self) -> Any:
            return -self.value

        def __round__(self, digits: int | None = None) -> Any:
            return round(self.value, digits)

    def __str__(self) -> str:
        text, error = formatting.format_release(self.value), self._error
        if not error:
            return text
        found: object = self.value
        if isinstance(found, np.ndarray) and found.shape == (1,):
            found = found.item()
        if isinstance(found, float):
            (errors,) = self.order.query.facts.errors
            text = formatting.significant(errors.law.standard_deviation, found)[0]
        if isinstance(self.value, Result) or "\n" in text:
            return f"{text}\nEach number has {error}."
        return f"{text} ({'each has ' if isinstance(found, np.ndarray) else ''}{error})"

    @property
    def _error(self) -> str:
        """The noise of numbers without intervals, in words; empty of all other releases."""
        query = self.order.query
        if len(query.facts.errors) != 1 or (isinstance(self.value, Result) and self.value.covers):
            return ""
        off = float(digits_up(exact(query.accuracy(_CONFIDENCE), "accuracy"), 3))
        return f"noise of at most {off:.15g} in {formatting.hold_in(_CONFIDENCE, sampling=False)}"

    def _repr_html_(self) -> str:
        budget, spent = self.receipt.budget, self.receipt.spent
        rows = {
            "release": f"number {self.number} of {self.payer.title}",
            "value": self.value,
            "price": budget.measure.words(self.price),
            "spent so far": budget.measure.words(budget.reach(spent)),
        }
        most = budget.words() if self.payer.bounded else ""
        words = {"error": self._error, "budget": most}
        words |= {"protects": self.payer.unit, "note": self.note}
        return formatting.html_of_each([*rows.items(), *(one for one in words.items() if one[1])])

    def __repr__(self) -> str:
        words = self.receipt.budget.measure.words(self.price)
        return f"<release {self.number}, {words}: {self.value!r}>"


_CONFIDENCE: Final = 0.95
# What is typed for an interval that a number alone does not have.
_ENDS: Final = ("interval", "ci", "low", "high", "moe", "standard_error")
_BOOKED: Final = (
    "The price of this query was booked before the data was read, and is not given back."
)


class _Open:
    """The data of a session, its space and the account that pays, until it is closed."""

    def __init__(
        self, data: object, space: accounts.AnySpace | None, root: accounts.AnyAccount
    ) -> None:
        self.data, self.space, self.root = data, space, root
        self.closed = False
        self.process = OwnProcess("ask")

    def require(self) -> None:
        """Refuses a closed session, and another process."""
        self.process.require()
        if self.closed:
            raise SpaceError("the session is closed: ask answers no more. Open another")

    def close(self) -> None:
        """Lets go of the data."""
        self.closed = True
        self.data = None


@attrs.frozen(eq=False, repr=False)
class Session(accounts.Spender[M]):
    """Answers queries about one dataset under one budget: see ``dp.session``.

    Call it with a pipeline to get a release. A copy is the same session: it spends the same budget.

    Example:
        >>> import opendp_lite as dp
        >>> ask = dp.session([31, 45, 52], budget=dp.epsilon(1))
        >>> isinstance(ask, dp.releases.Session), ask.left
        (True, Fraction(1, 1))
    """

    _open: _Open
    _account: accounts.Account[M]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            refuse_name(self, name, "ask")

    def __call__(self, query: AnyQuery[R], note: str = "") -> Release[R]:
        """A release of the query, if what is left of the budget pays for it.

        The price is booked before any row is read. It is not given back, whatever happens after.

        Args:
            query: A pipeline that ends in noise.
            note: What the release is for in one line, such as "table 3".

        Returns:
            The release. It is used as what the pipeline released, which is its ``value``.

        Raises:
            BudgetExceeded: If the budget does not pay for it. This costs nothing.
            SpaceError: If the loss cannot be converted to the measure of the budget, or the query
                is for other neighbours than the session. Also if the session is closed, or this is
                another process, such as a fork.
            DataError: If a table in memory has no column of a name that the query asks for. This
                costs nothing. Other trouble with the data shows when it is read, and costs the
                price, as a note of the error says. So does a column that a file or a cluster does
                not have.
        """
        if not isinstance(note, str):
            raise ParameterError(
                "ask takes one pipeline, and a note in words: ask(pipeline, 'table 3'). Leave out "
                "the data, which the session has; several pipelines go into dp.compose(...)"
            )
        words = check_line(note, "note")
        entropy = SecureEntropy()
        self._open.require()
        accounts.require_root(self._account, self._open.root)
        bound = self._bound(query)
        order = accounts.Order(bound, accounts.find_price(bound, self._account.measure), words)
        self._account.require(order)
        try:
            try_on_names(bound, self._open.data)
        except DataError as problem:
            raise shorten(problem) from problem.__cause__
        receipt = self._account.pay(order)
        try:
            value = accounts.witness_answer(
                bound, order.price, partial(release_from, entropy, bound, self._open.data)
            )
        except DataError as problem:
            problem.add_note(_BOOKED)
            raise
        self._open.require()
        done = self._account.finish(receipt)
        return Release(value, order, done, self._payer)

    @property
    def _payer(self) -> Payer:
        return Payer(self._account.title, self._account.unit)

    @property
    def space(self) -> accounts.AnySpace | None:
        """The space that pipelines are bound to; None where each has its own."""
        return self._open.space

    @property
    def metric(self) -> distances.Metric:
        """How far apart two datasets are: its unit is protected."""
        return distances.SymmetricDistance() if self.space is None else self.space.metric

    @property
    def neighbours(self) -> str:
        """What is protected: "adding or removing one row", say."""
        return self.metric.words(self._unit)

    @property
    def _unit(self) -> distances.Distance:
        """What is protected, as a distance."""
        found: distances.Distance = (
            self.metric.distance(1) if self.space is None else self.space.unit
        )
        return found

    def split(self, parts: int) -> tuple[Session[M], ...]:
        """Divides what is left evenly. What a part spends is spent here too.

        Args:
            parts: How many.

        Returns:
            As many sessions of the same data, each with a budget of its own.

        Raises:
            SpaceError: If the session is closed, or this is a fork of its process.
        """
        self._open.require()
        shares = accounts.parts_of(self._account, parts)
        return tuple(Session(self._open, each) for each in shares)

    def close(self) -> None:
        """Lets go of the data. The session and its parts answer no more."""
        self._open.close()

    def _bound(self, query: AnyQuery[R]) -> Measurement[Any, Any, R]:
        """The query on the space of the session, or on its own."""
        if not isinstance(query, Measurement):
            accounts.require_query(query)
            query = query.bound if self.space is None else query.bind(self.space)
        found = query.input_space
        if found.metric != self.metric or found.unit != self._unit:
            raise SpaceError(
                f"the session counts its loss for {self.neighbours}, and "
                f"{brief(query)} for {found.metric.words(found.unit)}; open a session with "
                f"space={found!r}"
            )
        whom = self.space if isinstance(self.metric, distances.SymmetricIdDistance) else None
        # In data without names it is the place of a column that says whose rows they are.
        other = whom is not None and found.domain != whom.domain
        if other and not names_itself(self._open.data):
            raise SpaceError(
                f"{brief(query)} was made for {found!r} and the session has {whom!r}: people might "
                "be told apart by another column. Hand over the query without its space, or open a "
                f"session with space={found!r}"
            )
        return query

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            "a session cannot be pickled: two copies would each have the whole budget. A ledger "
            "keeps one budget for several processes"
        )

    def _repr_html_(self) -> str:
        return formatting.html_table({**self._summary("session"), "budget": self.budget.words()})

    def _summary(self, kind: str) -> dict[str, str]:
        state = "closed" if self._open.closed else "open"
        return {kind: state, "protects": self.neighbours, "spent": str(self.spent)}

    def __repr__(self) -> str:
        state = "closed, " if self._open.closed else ""
        return f"<session, {state}{accounts.say_spent(*self._account.standing())}>"


class Meter(Session[AnyMeasure]):
    """Answers queries about one dataset and adds up what they lose: see ``dp.meter``."""

    __slots__ = ()

    @property
    def budget(self) -> NoReturn:
        """A meter has no budget, and nothing is left of one."""
        raise _no_budget()

    left = budget

    def split(self, parts: int) -> NoReturn:
        """A meter has no budget to be divided."""
        raise _no_budget()

    @property
    def _payer(self) -> Payer:
        return Payer("a meter", "", bounded=False)

    def _repr_html_(self) -> str:
        return formatting.html_table(self._summary("meter"))

    def __repr__(self) -> str:
        return f"<meter, {'closed, ' if self._open.closed else ''}{self.spent} spent>"


def _no_budget() -> SpaceError:
    return SpaceError(
        "a meter has no budget, so nothing is left of it or divided: open dp.session(data, "
        "budget=dp.epsilon(1, delta=1e-6))"
    )


@explain_names
def meter(
    data: object,
    *,
    delta: Number = 1e-6,
    space: accounts.AnySpace | None = None,
    query_delta: Number | None = None,
) -> Meter:
    """Opens releases of one dataset without a budget, and says what they have lost so far.

    Args:
        data: As for ``dp.session``.
        delta: Between 0 and 1: ``spent`` states an epsilon at it.
        space: As for ``dp.session``.
        query_delta: As for ``dp.session``.

    Returns:
        A meter. You call it as a session. ``meter.spent`` is (epsilon, delta): delta is 0 as long
        as a sum of epsilons is less.

    Raises:
        ParameterError: If ``delta`` is not between 0 and 1, or ``space`` no space.
        BudgetExceeded: By a query that brings epsilon beyond 1024, or the deltas of queries beyond
            ``query_delta``.

    Privacy:
        ``spent`` holds of all releases so far, at whatever time you look at it and stop. Nothing
        bounds it beforehand. If you can, set a budget: ``dp.session``.

    Proof:
        See ``dp.measures.RenyiDivergence``: the bound of its proof holds of an epsilon that depends
        on the releases.

    Example:
        >>> import opendp_lite as dp
        >>> ask = dp.meter([41, 38, 25] * 1000)
        >>> mean = ask(dp.mean(0, 100, epsilon=0.1))
        >>> ask.spent
        (0.1, 0.0)
        >>> for _ in range(100):
        ...     release = ask(dp.mean(0, 100, rho=0.001))
        >>> round(ask.spent[0], 2), ask.spent[1]
        (2.41, 1e-06)
    """
    require_space(space, "meter")
    _require_whole_unit(space)
    counted = count_without_end(open_probability(delta, "delta"), query_delta)
    account = accounts.MemoryAccount(counted)
    return cast(Meter, open_session(data, space, account, Meter))


# So that a budget that was left out is refused in words.
_MISSING: Final[Any] = None


@explain_names
def session(
    data: object,
    budget: PrivacyBudget[M] = _MISSING,
    *,
    space: accounts.AnySpace | None = None,
    query_delta: Number | None = None,
) -> Session[M]:
    """Opens several releases of one dataset under one budget.

    The session adds up what your releases lose, and refuses what would pass the budget. It lasts as
    long as its process. For a budget that lasts longer, use ``dp.Ledger``.

    Args:
        data: A table, a column, or whatever your pipelines work on.
        budget: ``dp.epsilon(1)``, ``dp.epsilon(1, delta=1e-6)``, ``dp.rho(1)`` or ``dp.mu(1)``.
        space: Who is protected. By default it is one row that is added or removed. Others are
            ``dp.table(person="id")`` and ``dp.records(size=1000, metric=dp.ChangeOneDistance())``.
        query_delta: What queries with a delta of their own may spend of the budget's delta. By
            default it is an eighth. The rest pays for many queries at less than their sum.

    Returns:
        A session. You may use it in a ``with`` block, which closes it.

    Raises:
        ParameterError: If ``budget`` is no budget, or ``space`` no space.
        SpaceError: If the unit of ``space`` is less than one row or one person.

    Privacy:
        All releases together lose at most the budget for one unit of the space. Each query may
        depend on earlier answers. The data must stay as it is.

    Proof:
        A privacy filter, as for ``dp.adaptive``. A query of another measure costs what its own
        curve says in the measure of the budget: ``ask.price(query)`` tells.

    Example:
        >>> import opendp_lite as dp
        >>> ages = [41, 39, 25] * 1000
        >>> with dp.session(ages, budget=dp.rho(1)) as ask:
        ...     mean = ask(dp.mean(0, 100, rho=0.1))
        ...     median = ask(dp.private_quantile(0.5, bounds=(0, 100), rho=ask.left / 3))
        ...     ask.spent, ask.price(dp.count() >> dp.gaussian(rho=0.2)), ask.left
        (0.4, 0.2, Fraction(3, 5))
        >>> round(float(mean))
        35
    """
    if isinstance(data, PrivacyBudget):
        raise ParameterError("session: the data comes first: dp.session(data, dp.epsilon(1))")
    require_budget(budget, "session")
    require_space(space, "session")
    _require_whole_unit(space)
    counted = filter_budget(budget, query_delta)
    return open_session(data, space, accounts.MemoryAccount(cast(PrivacyBudget[M], counted)))


def open_session(
    data: object,
    space: accounts.AnySpace | None,
    account: accounts.Account[M],
    kind: type[Session[M]] = Session,
) -> Session[M]:
    """A session that pays by an account. Pipelines about a table are bound to tables.

    A column of persons that the table does not have is refused now: a ledger keeps the first.
    """
    chosen = table_of(data) if space is None else space
    if chosen is not None and isinstance(chosen.domain, PersonTables):
        names = names_alone(data)
        if names is not None and len(names.names) > 1:
            place_of(chosen.domain.person, tuple(map(str, names.names)))
    return kind(_Open(data, chosen, account), account)


def table_of(data: object) -> accounts.AnySpace | None:
    """``dp.table()`` for data of several named columns, else None. No row is read."""
    names = names_alone(data)
    return table() if names is not None and len(names.names) > 1 else None


def require_space(given: object, step: str) -> None:
    """Refuses what is no space, and no None."""
    if given is not None and not isinstance(given, Space):
        raise ParameterError(
            f"{step}: space is one such as dp.table(person='id'); got {quote(given)}"
        )


def _require_whole_unit(space: accounts.AnySpace | None) -> None:
    """Refuses a unit of less than a row or a person, for which a release would cost too little.

    A ledger refuses it by the unit that it declares.
    """
    counted = space is not None and isinstance(
        space.metric, distances.RowMetric | distances.SymmetricIdDistance
    )
    if space is not None and counted and space.unit < 1:
        raise SpaceError(
            f"session: the unit of the space is {space.metric.protected(space.unit)}, and a budget "
            "protects one at least; take a space such as dp.table() as it is"
        )


def try_on_names(bound: AnyMeasurement, data: object) -> None:
    """Refuses a query of columns that a table does not have, before it is paid for.

    No row is read.
    """
    domain = bound.input_space.domain
    if isinstance(domain, Rows | PersonTables) and tables_in(domain).size is None:
        names = names_alone(data)
        if names is not None:
            value = domain.of_release(domain.to_internal(names), SecureEntropy().words)
            evaluate(bound.function.of, value)

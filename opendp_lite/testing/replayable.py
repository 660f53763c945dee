"""Where a function holds some data: in its variables, its defaults, or a global that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial, singledispatch
from operator import attrgetter
from types import FunctionType, MethodType
from typing import Any, Final, TypeAlias, cast

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.combinators.accounts import Answer, Witness, watch, witness_program
from opendp_lite.combinators.adaptive_programs import Ask, ThresholdTest, adaptive
from opendp_lite.measures.budgets import Loss, PrivacyBudget, require_budget
from opendp_lite.measures.measure import AnyMeasure
from opendp_lite.numbers.exact import quote
from opendp_lite.pipeline import core, questions, steps
from opendp_lite.sessions.sessions import table_of
from opendp_lite.testing import audits, lawful, stable

AnyBound: TypeAlias = core.AnyTransformation | core.AnyMeasurement
# Objects that are looked at.
_MOST: Final = 20_000


def held_data(holder: object, data: object) -> str | None:
    """The name under which something reaches the data, or a part or view of it; None if nowhere.

    Args:
        holder: A function, or anything that is made of functions.
        data: The data, as it is handed over.
    """
    wanted = [data, *(data.values() if isinstance(data, Mapping) else ())]
    waiting: list[tuple[str, object]] = [("", holder)]
    seen: dict[int, object] = {}
    while waiting and len(seen) < _MOST:
        name, found = waiting.pop()
        if name and any(_is_of(found, each) for each in wanted):
            return name
        if id(found) not in seen:
            seen[id(found)] = found
            waiting.extend(stable.parts_of(found))
    return None


def _is_of(found: object, wanted: object) -> bool:
    if isinstance(found, np.ndarray) and isinstance(wanted, np.ndarray):
        return bool(found.size and np.may_share_memory(found, wanted))
    return found is wanted and not isinstance(found, str | int | float | None)


# How deep functions within functions are compared. Beyond, they count as the same.
_DEPTH = 12


def alike(first: object, second: object, depth: int = _DEPTH) -> bool:
    """Whether two values are equal, or do the same as far as their code and variables tell.

    A program that makes a function anew each time makes the same one, if the code and what it
    refers to are the same. Values with fields are told apart by these, and objects without an
    equality of their own by their type.
    """
    if first is second or not depth:
        return True
    return type(first) is type(second) and _same(first, second, depth - 1)


@singledispatch
def _same(first: object, second: object, depth: int) -> bool:
    """As ``alike``, of two values of one type."""
    own, other = _compared_by(first), _compared_by(second)
    if own is None or other is None:
        return bool(np.all(first == second))
    same_size = len(own) == len(other)
    return same_size and all(map(alike, own, other, [depth] * len(own)))


@_same.register
def _same_mapping(first: Mapping, second: Mapping, depth: int) -> bool:  # type: ignore[type-arg]
    if first.keys() != second.keys():
        return False
    return all(alike(first[key], second[key], depth) for key in first)


@_same.register
def _same_array(first: np.ndarray, second: np.ndarray, depth: int) -> bool:
    same = first.shape == second.shape and first.dtype == second.dtype
    return same and bool(np.array_equal(first, second, equal_nan=first.dtype.kind == "f"))


@singledispatch
def _compared_by(value: object) -> Sequence[object] | None:
    """What values of one type are compared by; None where they are by an equality of their own."""
    kind = type(value)
    if attrs.has(kind):
        return [getattr(value, each.name) for each in attrs.fields(kind) if each.eq]
    return None if any("__eq__" in vars(each) for each in kind.__mro__[:-1]) else ()


@_compared_by.register
def _of_code(value: FunctionType) -> Sequence[object]:
    return value.__code__, value.__defaults__, value.__kwdefaults__, stable.closure(value)


@_compared_by.register(tuple)
@_compared_by.register(list)
def _of_entries(value: Sequence[object]) -> Sequence[object]:
    return value


_compared_by.register(MethodType, attrgetter("__func__", "__self__"))
_compared_by.register(partial, attrgetter("func", "args", "keywords"))
# Step by step: equality alone would tell functions apart that are made anew.
_compared_by.register(steps.Recipe, attrgetter("calls", "after"))
_compared_by.register(core.Transformation, attrgetter("input_space", "recipe"))
_compared_by.register(core.Measurement, attrgetter("input_space", "recipe"))


@_compared_by.register(Ask)
@_compared_by.register(ThresholdTest)
def _of_run(value: object) -> Sequence[object]:
    """Nothing: each run has its own."""
    return ()


Events: TypeAlias = "tuple[Exchange, ...]"

_SHORT: Final = 300


@attrs.frozen(eq=False)
class Exchange:
    """What was asked, what was paid, and what came back; or a program that ran.

    Attributes:
        query: What was asked; None of a program.
        price: What was paid.
        within: What happened meanwhile: what the program asked, or the programs of the query.
        result: A copy of the answer or of the result.
        refusal: The error that came in its place.
    """

    query: object
    price: object
    within: Events
    result: object
    refusal: Exception | None

    def words(self) -> str:
        """What happened."""
        return "ran a program" if self.query is None else f"asked {brief(self.query)}"


def brief(query: object) -> str:
    """A query as it is typed, without its space, and cut short."""
    text = " >> ".join(map(questions.link_text, cast(AnyBound, query).recipe))
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."


class _Recorder(Witness):
    """Writes down what happens."""

    def __init__(self) -> None:
        self.list: list[Exchange] = []

    def see_answer(self, query: object, price: Loss, answer: Callable[[], Answer]) -> Answer:
        return self._note(query, price, answer)

    def see_program(self, program: Callable[[], Answer]) -> Answer:
        return self._note(None, None, program)

    def _note(self, query: object, price: object, work: Callable[[], Answer]) -> Answer:
        outer, self.list = self.list, []
        try:
            found = work()
        except Exception as refusal:
            outer.append(Exchange(query, price, tuple(self.list), None, refusal))
            raise
        else:
            outer.append(Exchange(query, price, tuple(self.list), _copy(found), None))
            return found
        finally:
            self.list = outer


def record_events(work: Callable[[], object]) -> Events:
    """What programs ask while some work is done, with the answers that they get."""
    recorder = _Recorder()
    watch(recorder, work)
    return tuple(recorder.list)


def replay(work: Callable[[], object], events: Events) -> str | None:
    """Does the work again with the answers of before.

    Returns:
        Where it departs from before, in words; None where it does not.
    """
    replayer = _Replayer(events)
    try:
        watch(replayer, work)
    except _Departure:
        return replayer.fault
    except Exception as problem:
        return replayer.fault or f"it failed with {type(problem).__name__}, and did not before"
    if replayer.fault is None and replayer.left:
        return f"it ended where it {replayer.left[0].words()} before"
    return replayer.fault


class _Departure(BaseException):
    """A replay has departed; no program should catch it."""


class _Replayer(Witness):
    """Gives the answers of before, as long as the questions are the same."""

    def __init__(self, events: Events) -> None:
        self.left = list(events)
        self.fault: str | None = None

    def see_answer(self, query: object, price: Loss, answer: Callable[[], Answer]) -> Answer:
        now = f"asked {brief(query)}"
        before = self._next(now)
        if before.query is None or not alike(before.query, query):
            raise self._find_departure(f"it {now} where it {before.words()} before")
        if not alike(before.price, price):
            raise self._find_departure(f"it {now} at another price than before")
        if before.within:
            self._within(before, answer)
        if before.refusal is not None:
            raise before.refusal
        return cast(Answer, _copy(before.result))

    def see_program(self, program: Callable[[], Answer]) -> Answer:
        before = self._next("ran one more program")
        if before.query is not None:
            raise self._find_departure(f"it ran a program where it {before.words()} before")
        found = self._within(before, program)
        if _tell(before.result) != _tell(found):
            raise self._find_departure("it asked the same and gave another result")
        return found

    def _next(self, happened: str) -> Exchange:
        if self.fault is not None:
            raise _Departure
        if not self.left:
            raise self._find_departure(f"it {happened}, and nothing more before")
        return self.left.pop(0)

    def _within(self, before: Exchange, work: Callable[[], Answer]) -> Answer:
        """Does the work of an event, which must ask what it asked and end as it ended."""
        outer, self.left = self.left, list(before.within)
        try:
            found = work()
        except Exception as problem:
            if type(problem) is type(before.refusal):
                self.left = outer
                raise
            name = type(problem).__name__
            raise self._find_departure(f"it failed with {name}, and did not before") from None
        if self.left:
            raise self._find_departure(f"it ended where it {self.left[0].words()} before")
        if before.refusal is not None and before.query is None:
            raise self._find_departure(f"it did not fail with {type(before.refusal).__name__}")
        self.left = outer
        return found

    def _find_departure(self, words: str) -> _Departure:
        self.fault = self.fault or words
        return _Departure(words)


def _copy(result: Answer) -> Answer:
    """A copy; the result itself where it cannot be copied."""
    try:
        return deepcopy(result)
    except Exception:
        return result


def _tell(result: object) -> list[str]:
    """The form of a result and its numbers, as text; of objects without a text the type."""
    return [f"{name} {list(numbers)!r}" for name, numbers in audits.leaves(result)]


def assert_replayable(
    program: core.AnyPrivate | Callable[[Any], object],
    data: object,
    neighbour: object,
    budget: PrivacyBudget[AnyMeasure] | None = None,
    replays: int = 2,
) -> None:
    """Tries to show that a program knows more of the data than the answers that it got.

    It runs the program on the data, and writes down the queries and their answers. Then it runs the
    program again, on the same data and on the neighbour, with the answers of the first run. The
    program must ask the same queries at the same prices, in the same order, and give the same
    result. The test fails for a program that

    - holds the data in a variable, or reads it from a global;
    - chooses a query, a budget, or when to stop, by the data or its number of rows;
    - keeps something from one run to the next;
    - looks at the clock, or draws random numbers of its own. Draw them from a generator with a
      fixed seed that the program makes anew in each run, or let a pipeline draw them.

    The answers of the first run are real releases: use data that is made up.

    It is a falsifier and never a proof. It sees the two datasets of your choice, and programs only
    where they ask: in ``adaptive``, in ``above_threshold``, in estimators made of them, and in
    ``ask`` of a session. It does not see what you computed of the data before, such as its mean in
    a variable of the program: give a function of the data then, which computes it anew. It does not
    see questions asked in other threads, what follows a release in the same pipeline, the time that
    a program takes, a print, or a file that it writes. A pipeline that runs programs a random
    number of times, as ``best_of`` does, departs by chance: test the program in it by itself.

    Args:
        program: One of three:

            - a pipeline that runs programs, such as ``dp.adaptive(program, dp.rho(1))``;
            - with ``budget``, a function of ``ask``. Of a table it asks as in ``dp.session``;
            - a function of the data that releases all by programs or sessions. Its result is
              compared, too.
        data: A dataset, made up.
        neighbour: Another. Make the two as adversarial as you can.
        budget: For a function of ``ask``, such as ``dp.rho(1)``.
        replays: How often each of the two is replayed. Two find a program that does something
            else every other time.

    Raises:
        AssertionError: If a replay departs. It says where, and whether on the same data.
        ParameterError: If nothing was asked, or for something else than such a program.

    Proof:
        The loss of a program is that of its queries if all else is a function of the answers
        (Rogers, Roth, Ullman, Vadhan 2016). A replay that departs refutes this.

    Example:
        >>> import opendp_lite as dp
        >>> rows, fewer = [1.0] * 90, [1.0] * 89
        >>> def honest(ask):
        ...     first = ask(dp.count() >> dp.gaussian(rho=0.1))
        ...     return first if first > 50 else ask(dp.count() >> dp.gaussian(rho=ask.left))
        >>> dp.assert_replayable(honest, rows, fewer, budget=dp.rho(1))
        >>> def curious(ask):
        ...     return ask(dp.count() >> dp.gaussian(rho=0.1)) + len(rows)
        >>> dp.assert_replayable(curious, rows, fewer, budget=dp.rho(1))
        Traceback (most recent call last):
        ...
        AssertionError: the program holds the data, as 'rows': it may know nothing but its answers
    """
    work = _work_of(program, budget)
    name = held_data(program, data)
    lawful.require(
        name is None,
        f"the program holds the data, as {name!r}: it may know nothing but its answers",
    )
    events = record_events(partial(work, data))
    if not any(event.within or event.query is not None for event in events):
        raise ParameterError(
            "assert_replayable: no program asked anything. Give a pipeline with dp.adaptive in it, "
            "a function of ask with budget=dp.rho(1), or a function of the data"
        )
    for _ in range(replays):
        _require_same(replay(partial(work, data), events), _AGAIN)
        _require_same(replay(partial(work, neighbour), events), _ELSEWHERE)


WorkOnData: TypeAlias = Callable[[object], object]

_AGAIN = (
    "run again on the same data, with the same answers, {}. It keeps something between runs, looks "
    "at the clock, or draws random numbers of its own: draw them from a generator with a fixed "
    "seed, made in the program"
)
_ELSEWHERE = "run on the neighbour, with the same answers, {}. So it learnt of the data otherwise"


def _require_same(fault: str | None, words: str) -> None:
    lawful.require(fault is None, "the program departed: " + words.format(fault))


def _work_of(program: object, budget: PrivacyBudget[AnyMeasure] | None) -> WorkOnData:
    """What is done with a dataset."""
    if isinstance(program, core.Private):
        return program.bound
    if isinstance(program, questions.Pipeline) or not callable(program):
        raise ParameterError(
            "assert_replayable takes a pipeline that runs programs, a function of ask, or a "
            f"function of the data; got {quote(program)}"
        )
    if budget is not None:
        require_budget(budget, "assert_replayable")
        return partial(_ask, adaptive(program, budget))
    return partial(_of_data, program)


def _ask(program: steps.Mechanism[Any, Any], data: object) -> object:
    """A release of a program, from a table where the data is one, as in ``dp.session``."""
    space = table_of(data)
    return program(data) if space is None else (space >> program)(data)


def _of_data(function: WorkOnData, data: object) -> object:
    try:
        return witness_program(partial(function, data))
    except Exception as problem:
        problem.add_note(
            "assert_replayable called it with the data. A function of ask needs budget=dp.rho(1)"
        )
        raise

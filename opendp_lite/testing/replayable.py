"""Programs that run again on their answers, and how far neighbours move what noise is added to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from fractions import Fraction
from functools import cached_property, partial, singledispatch
from math import ceil
from operator import attrgetter
from types import FunctionType, MethodType
from typing import Any, Final, TypeAlias, cast
from unittest.mock import patch

import attrs
import numpy as np

from opendp_lite.base.errors import OpenDPLiteError, ParameterError
from opendp_lite.combinators.accounts import Answer, Witness, watch, witness_program
from opendp_lite.combinators.adaptive_programs import Ask, ThresholdTest, adaptive
from opendp_lite.engines.data.values import names_alone
from opendp_lite.engines.plan import Release
from opendp_lite.engines.rounds import Going, answer
from opendp_lite.measures.budgets import Loss, PrivacyBudget, require_budget
from opendp_lite.measures.divergences import AnyMeasure
from opendp_lite.metrics.distances import Distance
from opendp_lite.numbers.exact import quote, whole
from opendp_lite.numbers.grid import Grid
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline import core, questions, steps
from opendp_lite.pipeline.core import AnyPrivate
from opendp_lite.samplers.entropy import InsecureSeededEntropy, Words
from opendp_lite.sessions.sessions import table_of
from opendp_lite.spaces.space import PrivacyMap, Space, records
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
            same = now == before.words()
            other = " with another value in one of its functions or arguments than"
            raise self._find_departure(
                f"it {now}{other} before" if same else f"it {now} where it {before.words()} before"
            )
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
    see how such a function prepares the data that it hands to its programs: where it standardises
    rows by their own mean, one row more may change them all. Make such a preparation a step of the
    pipeline, and test the step with ``assert_stable``. It does not see questions asked in other
    threads, what follows a release in the same pipeline, the time that a program takes, a print, or
    a file that it writes. A pipeline that runs programs a random number of times, as ``best_of``
    does, departs by chance: test the program in it by itself.

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
    times = whole(replays, "assert_replayable: replays", least=1)
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
    for _ in range(times):
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
    names, space = names_alone(data), table_of(data)
    if space is None and names is not None:
        # The only column of a table, which a query may name or not.
        space = records(columns=[str(name) for name in names.names])
    return program(data) if space is None else (space >> program)(data)


def _of_data(function: WorkOnData, data: object) -> object:
    try:
        return witness_program(partial(function, data))
    except Exception as problem:
        problem.add_note(
            "assert_replayable called it with the data. A function of ask needs budget=dp.rho(1)"
        )
        raise


@attrs.frozen
class NoiseStep:
    """A step that adds noise or chooses, on two neighbouring datasets.

    Attributes:
        step: The step as it is typed.
        declared: The distances that its privacy map was asked at, of which the largest counts.
            Where a formula prices several noises and asks no map of theirs, so many units as they
            were made for.
        real: How far apart the two values are that it was given, exactly; None of a step that is
            given rows.
    """

    step: str
    declared: tuple[Distance, ...]
    real: Norms | None

    @property
    def holds(self) -> bool:
        """Whether the values are no further apart than was declared."""
        norms = [each for each in self.declared if isinstance(each, Norms)]
        return self.real is None or any(map(self.real.within, norms))


class _Step(InsecureSeededEntropy):
    """A release on its way, and its random words; a step within is handed them, to no avail."""

    found: object = None
    leaf, draws = True, False

    def __init__(self, release: Release, value: object, seed: Any) -> None:
        super().__init__(seed)
        self.value = value
        self.law, self.space = cast(tuple[object, Space[Any]], release.price)

    def words(self, count: int) -> Words:
        self.draws = True
        return super().words(count)

    def word(self) -> int:
        self.draws = True
        return super().word()

    @cached_property
    def numbers(self) -> tuple[Fraction, ...] | None:
        """The value exactly; None of what is no vector."""
        return self.value.exact if isinstance(self.value, Grid) else None


_ASK: Final = PrivacyMap.__call__
_Asked: TypeAlias = dict[int, tuple[PrivacyMap, dict[Distance, None]]]
"""Maps by their laws, and the distances that they were asked at."""


class _Observer:
    """Sees all releases, and all maps that are asked, while several datasets are released.

    Args:
        seed: Of the noise.
        unit: Of the space of the datasets.
        distances: How far apart some of the datasets are.
    """

    def __init__(self, seed: int, unit: Any, distances: Iterable[Any]) -> None:
        self.seed, self.unit = seed, unit
        self.asked: dict[Any, _Asked] = {each: {} for each in distances}
        self.noting: tuple[_Asked, ...] | None = None
        self.running: list[_Step] = []
        self.runs: list[list[_Step]] = []

    def ask(self, privacy_map: PrivacyMap, distance: object) -> object:
        """A loss, with a note of the distance that it is of.

        A program prices a query for one unit. Its rows lie as far apart as the program's own map
        was asked at, so that is noted instead.
        """
        if self.noting:
            (noted,) = self.noting
            found = noted.setdefault(id(privacy_map.law), (privacy_map, {}))
            found[1][privacy_map.before(distance)] = None
        elif self.noting is None:
            for apart in self.asked:
                given = self.find_declared(self.running[-1], apart) if self.running else (distance,)
                for each in given:
                    with suppress(OpenDPLiteError):
                        self.note(privacy_map, each, self.asked[apart])
            return self.note(privacy_map, distance)
        return _ASK(privacy_map, distance)

    def note(self, privacy_map: PrivacyMap, distance: object, *noted: _Asked) -> object:
        """A loss; the distances that all maps are asked at for it are noted here, or nowhere."""
        self.noting = noted
        try:
            return self.ask(privacy_map, distance)
        finally:
            self.noting = None

    def find_declared(self, step: _Step, apart: Any) -> tuple[Distance, ...]:
        """What the map of a release was asked; if nothing, the units it was made for."""
        if id(step.law) in self.asked[apart]:
            return tuple(self.asked[apart][id(step.law)][1])
        return (step.space.unit * ceil(apart / self.unit),)

    def begin(self, release: Release, value: object, entropy: object) -> Going:
        """A release; what its law draws is on each later dataset as on the first."""
        if isinstance(entropy, _Step):
            entropy.leaf = False
        steps, drawn = self.runs[-1], self.runs[0]
        place = len(steps)
        step = _Step(release, value, (self.seed, place))
        steps.append(step)
        lawful.require(place < len(drawn), "a later dataset has more noises than the first")
        first = drawn[place]
        if first is step or not first.leaf:
            if release.asks:
                step.found = yield from cast(Going, release.law(value, step))
            else:
                self.running.append(step)
                try:
                    step.found = release.law(value, step)
                finally:
                    self.running.pop()
        return release._follow((first if first.leaf or first.draws else step).found)

    def compare(self, first: int, second: int, apart: Any) -> list[NoiseStep]:
        """The steps of two datasets that add noise or choose, in the order in which they did."""
        pairs = zip(self.runs[first], self.runs[second], strict=True)
        return [
            self._step(*pair, apart)
            for pair, one in zip(pairs, self.runs[0], strict=True)
            if one.leaf or one.draws
        ]

    def _step(self, one: _Step, two: _Step, apart: Any) -> NoiseStep:
        known = self.asked[apart].get(id(one.law))
        name = "a noise of which no map was asked" if known is None else str(known[0].step)
        real = None
        if one.numbers is not None and two.numbers is not None:
            real = stable.exact_norms(one.numbers, two.numbers)
        return NoiseStep(name, self.find_declared(one, apart), real)


def record_pairs(
    pipeline: AnyPrivate,
    datasets: Sequence[object],
    distances: Mapping[tuple[int, int], object],
    seed: int = 0,
) -> dict[tuple[int, int], list[NoiseStep]]:
    """As ``record``, of many pairs of a few datasets, each of which is released once.

    Args:
        pipeline: A pipeline that ends in noise.
        datasets: All get the noisy values and choices of the first.
        distances: Pairs of their places, and how far apart the two are.
        seed: Of the noise.
    """
    bound, found = audits.bind_private(pipeline, "record"), list[Any]()
    space: Any = bound.input_space
    exact = {pair: space.metric.distance(each) for pair, each in distances.items()}
    seen = _Observer(seed, space.unit, exact.values())
    hooks: dict[str, Any] = {
        "begin": lambda *given: seen.begin(*given),
        "release": lambda *given: answer(seen.begin(*given)),
    }
    with (
        patch.multiple(Release, **hooks),
        patch.object(PrivacyMap, "__call__", lambda *given: seen.ask(*given)),
    ):
        for apart, noted in seen.asked.items():
            seen.note(bound.privacy_map, apart, noted)
        for each in datasets:
            seen.runs.append([])
            found.append(bound._release(each, InsecureSeededEntropy(seed)))
            same = len(seen.runs[-1]) == len(seen.runs[0])
            lawful.require(same, "a later dataset has fewer noises than the first")
            told = alike(found[0], found[-1])
            lawful.require(told, "the release tells more than its noisy values and choices")
    return {pair: seen.compare(*pair, apart) for pair, apart in exact.items()}


def record(
    pipeline: AnyPrivate, data: object, neighbour: object, d_in: object = 1, seed: int = 0
) -> list[NoiseStep]:
    """Writes down how far two neighbours really move what each noise is added to.

    It releases both datasets. The second release gets the noisy values and choices of the first, so
    that a program asks the same on both. What a step draws beside, such as a secret sample, comes
    from the same words: let the row that differs come last.

    It is a falsifier and never a proof, as it sees two datasets. Of steps that are given rows, such
    as ``private_quantile``, it says nothing: test what comes before them with
    ``dp.assert_stable``. While it runs, it sees all releases of the process: run one at a time.

    Args:
        pipeline: A pipeline that ends in noise, bound to a space or not.
        data: A dataset, made up.
        neighbour: Another.
        d_in: How far apart the two are, as for ``pipeline.map(d_in)``.
        seed: Of the noise.

    Returns:
        A ``NoiseStep`` for each step that adds noise or chooses. ``step.holds`` says whether the
        real distance is within what was declared.

    Raises:
        AssertionError: If the second release comes to something else, though its noisy values are
            those of the first: it tells more than these.

    Example:
        >>> import opendp_lite as dp
        >>> from opendp_lite.testing import record
        >>> pipeline = dp.clamp(0, 4) >> dp.sum() >> dp.laplace(scale=8)
        >>> (found,) = record(pipeline, [1.0], [1.0, 3.0])
        >>> found.step, found.real.l1, found.declared[0].l1, found.holds
        ('dp.laplace(scale=8)', Fraction(3, 1), Fraction(4, 1), True)

    References:
        Re:cord-play, arXiv 2602.17454, 2026.
    """
    (steps,) = record_pairs(pipeline, (data, neighbour), {(0, 1): d_in}, seed).values()
    return steps

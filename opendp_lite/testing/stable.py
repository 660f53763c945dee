"""True distances between outputs, to hold against a claimed map."""

from __future__ import annotations

import dis
import functools
import hashlib
import os
import pickle
import select
import signal
import sysconfig
import warnings
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import chain, islice
from pathlib import Path
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, Final, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError, ParameterError
from opendp_lite.combinators.accounts import AnySpace, AnyStage
from opendp_lite.engines.data.fold import Floats
from opendp_lite.engines.data.source import Keys, Words
from opendp_lite.engines.grouped import LazyTable
from opendp_lite.engines.plan import Fold
from opendp_lite.engines.rows import CollectRows, LazyRows, materialise
from opendp_lite.metrics.distances import ChangeOneDistance, SymmetricDistance, SymmetricIdDistance
from opendp_lite.numbers.exact import quote, whole
from opendp_lite.numbers.norms import Norms
from opendp_lite.pipeline.core import AnyTransformation, Transformation
from opendp_lite.pipeline.questions import brief
from opendp_lite.pipeline.step_call import Call
from opendp_lite.pipeline.steps import Recipe, Stage
from opendp_lite.spaces.domains import Domain, Rows, Scalars, Vectors
from opendp_lite.spaces.space import Space, records, row_metric
from opendp_lite.spaces.tables import PersonTables, Tables
from opendp_lite.testing import datasets
from opendp_lite.testing.lawful import require


def _surplus(first: Floats, second: Floats) -> NDArray[np.int64]:
    """For each different row, by its bits, how many more of it the first has."""
    rows = np.concatenate([first, second])
    if not rows.size:
        return np.zeros(0, dtype=np.int64)
    places = datasets.row_numbers(rows)
    signs = np.repeat([1.0, -1.0], [len(first), len(second)])
    return np.bincount(places, weights=signs).astype(np.int64)


def symmetric_distance(first: Floats, second: Floats) -> int:
    """How many rows are in one dataset and not in the other, by their bits."""
    return int(np.abs(_surplus(first, second)).sum())


def change_one_distance(first: Floats, second: Floats) -> int:
    """How many rows must be replaced; infinite, as -1, where the sizes differ."""
    if len(first) != len(second):
        return -1
    return int(_surplus(first, second).clip(0).sum())


def people_distance(first: Floats, second: Floats, person: int) -> int:
    """How many people must be added or removed, each with all rows; those without id do not count.

    Args:
        first: Rows.
        second: Rows.
        person: The column of the ids.
    """
    ids = [set(rows[:, person][~np.isnan(rows[:, person])].tolist()) for rows in (first, second)]
    moved = 0
    for each in ids[0] | ids[1]:
        one, two = (rows[rows[:, person] == each] for rows in (first, second))
        if symmetric_distance(one, two):
            moved += (each in ids[0]) + (each in ids[1])
    return moved


def exact_norms(
    first: Sequence[Fraction | float], second: Sequence[Fraction | float], exponent: int = 0
) -> Norms:
    """The norms of the difference of two vectors of so many steps of ``2^exponent``, exactly."""
    unit, zero = Fraction(2) ** exponent, Fraction(0)
    gaps = [abs(Fraction(a) - Fraction(b)) * unit for a, b in zip(first, second, strict=True)]
    return Norms.squared(sum(gaps, zero), sum((g * g for g in gaps), zero), max(gaps, default=zero))


_MOST = 34
_MOST_OBJECTS = 400
_PACKAGE = __name__.split(".")[0]
# By its file: a function that a docstring shows has the module of the docstring.
_FOLDER = f"{Path(__file__).parents[1]}{os.sep}"
_LARGEST = 1e300


def constants(*roots: object) -> tuple[float, ...]:
    """The numbers in the code, closures and fields that these objects reach."""
    found: dict[float, None] = {}
    for number in _reach(deque(roots)):
        if len(found) >= _MOST:
            break
        found[number] = None
    return tuple(found)


def _reach(waiting: deque[object]) -> Iterator[float]:
    seen: dict[int, object] = {}
    while waiting and len(seen) < _MOST_OBJECTS:
        each = waiting.popleft()
        if id(each) in seen:
            continue
        # It is kept: what is made on the way would leave its id to another.
        seen[id(each)] = each
        kind = type(each)
        if isinstance(each, bool | str | bytes):
            continue
        if isinstance(each, int | float | Fraction | Decimal):
            # A loss with a curve has no order, and a decimal may be no number.
            with suppress(TypeError, ArithmeticError):
                if -_LARGEST <= each <= _LARGEST:
                    yield float(each)
        elif attrs.has(kind) or isinstance(each, Collection) or not _is_ours(kind):
            # Engines keep limits of their own in what declares no fields: no step mentions these.
            waiting.extend(part for _, part in islice(parts_of(each), _MOST))


def _is_ours(kind: type) -> bool:
    return kind.__module__.split(".")[0] == _PACKAGE


_READS, _READS_PART = {"LOAD_GLOBAL", "LOAD_NAME"}, {"LOAD_ATTR", "LOAD_METHOD"}
_LIBRARIES: Final = tuple({sysconfig.get_path(each) for each in ("stdlib", "purelib", "platlib")})
NamedParts: TypeAlias = Iterator[tuple[str, object]]


@functools.singledispatch
def parts_of(found: object) -> Iterator[tuple[str, object]]:
    """What something refers to, each by its name."""
    kind = type(found)
    if attrs.has(kind):
        yield from ((each.name, getattr(found, each.name, None)) for each in attrs.fields(kind))
        yield "__call__", vars(kind).get("__call__")
    elif not kind.__module__.startswith("numpy") and not isinstance(found, type | ModuleType):
        yield from getattr(found, "__dict__", {}).items()
        yield from ((name, each) for name, each in vars(kind).items() if _is_written(each))
        slots = chain.from_iterable(vars(each).items() for each in kind.__mro__)
        for name, member in slots:
            if isinstance(member, MemberDescriptorType):
                # One that is not set yet raises this.
                with suppress(AttributeError):
                    yield name, member.__get__(found)


@parts_of.register
def _of_function(found: FunctionType) -> NamedParts:
    held = closure(found)
    yield from held.items()
    if found.__code__.co_filename.startswith(_FOLDER):
        return
    yield "code", found.__code__
    named = found.__code__.co_varnames
    yield from ((f"default of {named[0] if named else ''}", x) for x in found.__defaults__ or ())
    yield from (found.__kwdefaults__ or {}).items()
    yield from vars(found).items()
    for name in _names_read(found.__code__, _READS):
        if name in found.__globals__:
            held[name] = found.__globals__[name]
            yield name, held[name]
    # Of a class, a module or an object, what is read of it: not all functions that it has.
    for name in _names_read(found.__code__, _READS_PART):
        for each in held.values():
            whole = each if isinstance(each, type | ModuleType) else type(each)
            part = vars(whole).get(name)
            if _is_written(part) if callable(part) else whole is each:
                yield name, part


def _is_written(part: object) -> bool:
    """Whether it is a function that somebody wrote for a step, and none of a library."""
    return isinstance(part, FunctionType) and not part.__code__.co_filename.startswith(_LIBRARIES)


@parts_of.register
def _of_code(found: CodeType) -> NamedParts:
    yield from (("a constant", each) for each in found.co_consts)


def _names_read(code: CodeType, how: Collection[str]) -> Iterator[str]:
    yield from (each.argval for each in dis.get_instructions(code) if each.opname in how)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names_read(inner, how)


@parts_of.register
def _of_method(found: MethodType) -> NamedParts:
    yield "self", found.__self__
    yield "function", found.__func__


@parts_of.register
def _of_partial(found: functools.partial) -> NamedParts:  # type: ignore[type-arg]
    yield "function", found.func
    yield from (("an argument", each) for each in found.args)
    yield from found.keywords.items()


@parts_of.register
def _of_recipe(found: Recipe) -> NamedParts:
    yield from ((name, value) for call in found.calls for name, value in call.arguments)
    yield from (("what follows", each) for each in found.after)


@parts_of.register
def _of_mapping(found: Mapping) -> NamedParts:  # type: ignore[type-arg]
    yield from ((str(key), value) for key, value in found.items())
    yield from (("a key", key) for key in found)


@parts_of.register(str)
@parts_of.register(bytes)
def _of_text(found: str | bytes) -> NamedParts:
    yield from ()


@parts_of.register(Sequence)
@parts_of.register(AbstractSet)
def _of_collection(found: Collection[object]) -> NamedParts:
    yield from (("an entry", each) for each in found)


@parts_of.register
def _of_vectorized(found: np.vectorize) -> NamedParts:
    yield "function", found.pyfunc


@parts_of.register(np.generic)
@parts_of.register(np.ndarray)
def _of_array(found: np.ndarray) -> NamedParts:
    yield "the entries", found.flat[:_MOST].tolist()


def closure(function: FunctionType) -> dict[str, object]:
    """The variables that a function closes over and that are set, by their names."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        # One that is not set yet raises this.
        with suppress(ValueError):
            found[name] = cell.cell_contents
    return found


_SHIFT = np.uint64(32)
_FACTOR = np.uint64(0xD6E8FEB86659FD93)


def content_keys(rows: Floats) -> Keys:
    """A key for each row: a hash of its bits, and of how often it came before.

    Args:
        rows: The rows, in the order in which the step reads them.
    """
    words = np.zeros(len(rows), dtype=np.uint64)
    for column in np.ascontiguousarray(rows).view(np.uint64).T:
        words = _mix(words ^ column)
    words = _mix(words + _occurrences(rows))
    return words.__getitem__


def _occurrences(rows: Floats) -> Words:
    """How often each row came before."""
    numbers = datasets.row_numbers(rows)
    order = np.argsort(numbers, kind="stable")
    place = np.arange(len(order))
    fresh = np.diff(numbers[order], prepend=-1) != 0
    found = np.empty(len(order), dtype=np.uint64)
    found[order] = place - np.maximum.accumulate(np.where(fresh, place, 0))
    return found


def _mix(words: Words) -> Words:
    """Words that differ in any bit differ in about half of all bits afterwards."""
    for _ in range(2):
        words = (words ^ (words >> _SHIFT)) * _FACTOR
    return words ^ (words >> _SHIFT)


_WIDE = 3
_WIDE_SHARE = 4
# Every so many pairs are also read from every container.
_ALL_CONTAINERS = 5
_ASSERT_STABLE_LARGEST = 9_999
_FEW_ROWS = 6
# Rows that are read before a step is asked whether it keeps any.
_READ = 128
# Rows that differ by so much are equal once they are rounded, or as floats of 32 bits.
_NEAR = 2.0**-40
# Rows that are added one by one, at most and for each pair that is drawn.
_WALK, _STEPS = 256, 4
# Seconds that another process may take.
_PATIENCE = 5
_CUTS = 30
_ZEROED = 16
_MOST_PARTS = 64


def assert_stable(
    stage: AnyStage | AnyTransformation,
    space: Space[Rows] | None = None,
    trials: int = 64,
    seed: int = 0,
    trial: int | None = None,
) -> None:
    """Tries to show that a step's stability map or output domain is wrong.

    It draws pairs of neighbouring datasets and checks these rules on each:

    - The same rows give the same result: asked twice, before other rows and after them, in any
      order, cut into blocks, in several threads, and in every container that is installed. A sparse
      matrix may be refused, and else a 0 that it leaves out counts as one written out. A step
      that chooses rows at random is given the same random keys each time, and the same for the rows
      that two datasets share.
    - What comes out lies in the output domain: columns, number of rows, body.
    - Outputs of datasets ``d`` apart are at most ``stability_map(d)`` apart, exactly.
    - No rows make it raise an error or warn.

    First come fixed pairs, on which plain faults show at any seed: equal rows at the extremes of
    the body, rows of the numbers in the step's code, and different rows, one after another. Then
    pairs are drawn. The datasets hold
    none to 10,000 rows and lie up to 8 rows apart. Entries are extreme: NaN, infinities, subnormal
    and huge numbers, corners of the body, and the numbers that the step's own code and parameters
    mention. Changed rows are often opposite to each other. The number of rows at which a result
    changes its course is searched for.

    It is a falsifier and never a proof. It does not see a step that misbehaves only at values or
    sizes that are neither drawn nor written in its code, for more than 10,000 rows or distances
    above 8, or only after many calls. It runs the step; it does not read it.

    Args:
        stage: A step, or several joined, bound to a space or not.
        space: The space before it; its body, if any, is where rows are drawn from. By default
            ``records()``, and three columns and replaced rows as well if the step takes them. Not
            for a bound step.
        trials: How many pairs to draw, beside the fixed ones and those for numbers in the code.
        seed: The seed of the pairs.
        trial: The number of the only pair to look at, as a failure names it; None for all.

    Raises:
        AssertionError: If a rule is broken. It names the rule, what was claimed and what is true,
            the seed and the trial, and the rows if they are few.
        ParameterError: For something else than a step.

    Proof:
        The map promises a bound for every pair of datasets, so one pair beyond it refutes it.
        Distances between outputs are computed exactly.

    Example:
        >>> import opendp_lite as dp
        >>> dp.assert_stable(dp.clamp(0, 1) >> dp.sum())
        >>> Tables = dp.Space[dp.Rows]
        >>> @dp.stage
        ... def demean(space: Tables) -> dp.Transformation[Tables, Tables]:
        ...     body = space.domain.body
        ...     return dp.row_map(space, lambda block: block - block.mean(axis=0), body)
        >>> dp.assert_stable(dp.clamp(0, 1) >> demean())
        Traceback (most recent call last):
        ...
        AssertionError: dp.clamp(0, 1) >> ...demean(): ...
    """
    trials = whole(trials, "assert_stable: trials", least=0)
    seed = whole(seed, "assert_stable: seed", least=0)
    looked = False
    with warnings.catch_warnings():
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("error", kind)
        for place, (bound, count) in enumerate(_bound(stage, space, trials)):
            # What is typed comes first: the bounds of a clamp, before what a body keeps of them.
            typed, made = _recipe(stage), (bound.function, bound.output_space.domain)
            numbers = (constants(*each) for each in (typed[::2], typed, made))
            own = tuple(dict.fromkeys(chain.from_iterable(numbers)))[:_MOST]
            # A bound step names its space: of a recipe all but the first are unknown to the reader.
            case = _Case(bound if place else stage, bound, seed)
            if not trial:
                _check_histories(case, own)  # before this process has a history of the step
            if not trial and case.person is None:
                _check_zeros(case)
            for number, pair in enumerate(_all_pairs(case, count, own)):
                if trial in (None, number):
                    looked = True
                    _check(case, attrs.evolve(pair, trial=number))
    if not looked:
        raise ParameterError(f"assert_stable: there is no trial {quote(trial)}")


def _bound(
    stage: AnyStage | AnyTransformation, space: Space[Rows] | None, trials: int
) -> Iterator[tuple[AnyTransformation, int]]:
    """The bound steps to test, with how many pairs each, one after the other is tested."""
    if isinstance(stage, Transformation):
        if space is not None:
            raise ParameterError("assert_stable: a bound step has its space; leave out space=")
        _require_drawable(stage.input_space)
        yield stage, trials
        return
    if not isinstance(stage, Stage):
        raise ParameterError(
            "assert_stable tests a stage, called with its parameters, or a step bound to a space; "
            "for a pipeline that ends in noise use audit"
        )
    first = stage.bind(records() if space is None else space)
    _require_drawable(first.input_space)
    yield first, trials
    replaced = [
        records(columns, size=_FEW_ROWS, metric=ChangeOneDistance()) for columns in (1, _WIDE)
    ]
    for other in (records(columns=_WIDE), *replaced) if space is None else ():
        # One that is made for a single column may fail only once it is given rows.
        with suppress(Exception):
            found = stage.bind(other)
            _Case(stage, found, 0).compute(np.zeros((_FEW_ROWS, other.domain.columns)))
            yield found, trials // _WIDE_SHARE


def _require_drawable(space: AnySpace) -> None:
    """Rows are drawn as numbers in columns, which have names if the step picks them by name."""
    domain = _without_people(space.domain)
    if not isinstance(domain, Rows):
        raise ParameterError(
            f"assert_stable draws rows, and {space!r} has none: put what makes such numbers of "
            "rows before the step, such as dp.records(columns=3) >> dp.clamp(0, 1) >> dp.sum()"
        )
    if isinstance(domain, Tables) and domain.names is None:
        person = "" if domain is space.domain else f", person={space.domain.person!r}"
        raise ParameterError(
            f"assert_stable draws rows of named columns, and {space!r} names none: write "
            f"dp.records(columns=[...]{person}) in its place, with all names that the step picks"
        )


def _recipe(stage: AnyStage | AnyTransformation) -> tuple[object, ...]:
    """The arguments and the constructor of each step in turn, where a recipe is known."""
    calls = stage.calls if isinstance(stage, Stage) else cast(tuple[Call, ...], stage.recipe)
    return tuple(part for call in calls for part in (call.arguments, call.definition))


@attrs.frozen(eq=False)
class _Case:
    """A step under test."""

    stage: object
    bound: AnyTransformation
    seed: int

    def run(self, data: Any, keys: Keys | None = None, folds: bool = False) -> np.ndarray:
        """As ``compute``, of a step that must not raise. Its warnings are errors here."""
        try:
            return self.compute(data, keys, folds)
        except Exception as problem:
            text = f"{type(problem).__name__}: {problem}"
            shown = f", for {data.tolist()}" if _are_few(data) else ""
            raise AssertionError(
                f"{brief(self.stage)}: a value must not make it raise or warn. {text} (seed "
                f"{self.seed}{shown})"
            ) from problem

    def compute(self, data: Any, keys: Keys | None = None, folds: bool = False) -> np.ndarray:
        """The result on data, as rows or as exact numbers.

        Args:
            data: The rows, in any container.
            keys: What a step that chooses rows at random is given.
            folds: Whether rows that come out are gathered by a fold, as steps after it do.
        """
        admitted = self.bound.input_space.domain.to_internal(data)
        if isinstance(admitted, LazyTable):
            admitted = attrs.evolve(admitted, keys=content_keys(data) if keys is None else keys)
        with np.errstate(all="ignore"):
            value = self.bound.function(admitted)
            domain = _without_people(self.bound.output_space.domain)
            if not isinstance(value, LazyRows | LazyTable):
                numbers: np.ndarray = domain.receive(value).steps
                return numbers
            if not folds:
                return materialise(value.numbers()).reshape(-1, domain.columns)
            gather = CollectRows(domain.columns)
            return cast(Floats, Fold(gather, gather.finish)(value.numbers())).T

    @property
    def person(self) -> int | None:
        """The column of ids, where people are added and removed and not rows."""
        domain = self.bound.input_space.domain
        return datasets.column_of_ids(domain) if isinstance(domain, PersonTables) else None

    def of_people(self, rows: Floats) -> Floats:
        """These rows, each of a person of its own where there are people."""
        if self.person is not None:
            rows = rows.copy()
            rows[:, self.person] = np.arange(len(rows))
        return rows

    def claim(self, distance: int) -> Any:
        """What the map allows for datasets so far apart."""
        return self.bound.stability_map(self.bound.input_space.metric.distance(distance))

    def fault(self, first: np.ndarray, second: np.ndarray, distance: int) -> str | None:
        """How two results are further apart than claimed; None where they are not."""
        claimed, domain = self.claim(distance), self.bound.output_space.domain
        if isinstance(domain, PersonTables):
            true = people_distance(first, second, datasets.column_of_ids(domain))
            return None if true <= claimed else f"claimed {claimed} people apart, true {true}"
        if not isinstance(domain, Rows):
            exact = exact_norms(first.tolist(), second.tolist(), domain.exponent or 0)
            if exact.within(claimed):
                return None
            return f"claimed ({claimed}) apart, true ({exact})"
        replaced = row_metric(self.bound.output_space).fixed_size
        measured = change_one_distance if replaced else symmetric_distance
        true = measured(first, second)
        if 0 <= true <= claimed:
            return None
        # To add 0.0 makes -0.0 the other.
        alone = 0 <= measured(first + 0.0, second + 0.0) <= claimed
        sign = " where -0.0 is another row than 0.0, and else fewer: add 0.0 to each value first"
        return f"claimed {claimed} rows apart, true {true}{sign * alone}"

    def broken(self, pair: datasets.Neighbours) -> str | None:
        """As ``fault``, of a pair of datasets."""
        return self.fault(self.run(pair.data), self.run(pair.other), pair.distance)


def _all_pairs(case: _Case, trials: int, own: tuple[float, ...]) -> Iterator[datasets.Neighbours]:
    """Those of the fixed pairs that show a fault, pairs at random, and the turns."""
    space = case.bound.input_space
    steps = min(_WALK, _STEPS * trials)
    if isinstance(space.domain, PersonTables):
        fixed = datasets.fixed_people(space, own, steps)
    else:
        fixed = chain(datasets.fixed_pairs(space, own), datasets.walk(space, own, steps))
    yield from _faulty(case, fixed)
    yield from datasets.neighbours(
        space, case.seed, trials, tuple(dict.fromkeys((*datasets.USUAL, *own)))
    )
    # By its class: an equality of a metric of one's own may lie.
    if type(space.metric) in (SymmetricDistance, SymmetricIdDistance):
        yield from _turns(case, own)


def _faulty(case: _Case, pairs: Iterator[datasets.Neighbours]) -> Iterator[datasets.Neighbours]:
    """The pairs whose results are too far apart, or outside; a dataset is in many of them."""
    domain = _without_people(case.bound.input_space.domain)
    made = _without_people(case.bound.output_space.domain)

    @functools.cache
    def result(content: bytes) -> np.ndarray:
        return case.run(np.frombuffer(content).reshape(-1, domain.columns))

    for pair in pairs:
        first, second = (result(rows.tobytes()) for rows in (pair.data, pair.other))
        # The first as well: no rows at all are never the second.
        outside = _outside(made, first) or _outside(made, second)
        if outside or case.fault(first, second, pair.distance):
            yield pair
            # It does not come again: one of the two results was another before.
            rule, words = "the same rows must give the same result", "Asked twice, they gave two"
            require(False, f"{brief(case.stage)}: {rule}. {words} (seed {case.seed}, trial 0)")


def _check_histories(case: _Case, own: Sequence[float]) -> None:
    """A step that keeps what it read tells two processes apart that read other rows first."""
    if not hasattr(os, "fork"):
        return
    domain = _without_people(case.bound.input_space.domain)
    generator = np.random.default_rng(case.seed)
    rows = datasets.draw_between(domain.body, own, generator, 2 * (domain.size or _READ))
    rows = case.of_people(rows)
    # Missing values come last in both: they would count as the same number.
    low, high = (rows[np.argsort(by)][: len(rows) // 2] for by in (rows[:, 0], -rows[:, 0]))
    # Not as many rows and calls in both, where the number of rows is free. The lowest row may lie
    # at a bound, where a fault may not show.
    first = [low] if domain.size else [low[-1:], low[:-1]]
    second = [high] * 2 if domain.size else [high[:2], high, high[::-1]]
    asked = [*first, *second]
    # Nearly the rows that are asked: what is kept by a rounded value or by a text shows.
    near = low * (1 - _NEAR)
    near = np.where(domain.body.contains(near)[:, None], near, low)
    # As many rows as are asked, but others: what is kept by their number shows.
    before = [*second[:-1], near, second[-1]]
    before += [high[-len(each) :] for each in first] if domain.size is None else []

    def tell(history: Sequence[Floats]) -> tuple[bool, bytes]:
        early, late = ([case.run(each) for each in some] for some in (history, asked))
        told = hashlib.sha256(pickle.dumps([each.tolist() for each in late])).digest()
        return all(map(_alike, late, early)), told

    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which it does not need
        child = os.fork()
    if child == 0:
        try:
            os.write(writing, tell(before)[1])
        finally:
            os._exit(0)
    os.close(writing)
    again, found = tell(first)
    told = os.read(reading, len(found)) if select.select([reading], [], [], _PATIENCE)[0] else b""
    os.close(reading)
    os.kill(child, signal.SIGKILL)  # a lock that a thread held may never open in it
    os.waitpid(child, 0)
    where = f"seed {case.seed}, trial 0, {len(rows)} rows"
    rule = f"{brief(case.stage)}: the same rows must give the same result."
    words = "Asked twice, once after some rows and once after others, they gave two results"
    require(again and told in (b"", found), f"{rule} {words} ({where})")


def _check_zeros(case: _Case) -> None:
    """A 0 that a sparse matrix leaves out counts as one that is written out, or is refused."""
    domain, generator = case.bound.input_space.domain, np.random.default_rng(case.seed)
    rows = domain.body.draw(generator, domain.size or _ZEROED)
    # In the body or not: no matrix is refused for its zeros.
    rows[generator.random(rows.shape) < 0.5] = 0
    with suppress(DataError):
        require(
            _alike(case.compute(datasets.without_zeros(rows), content_keys(rows)), case.run(rows)),
            f"{brief(case.stage)}: a 0 must count alike in every container. Left out of a sparse "
            f"matrix it does not (seed {case.seed}, trial 0, {len(rows)} rows)",
        )


def _turns(case: _Case, own: Sequence[float]) -> Iterator[datasets.Neighbours]:
    """Numbers of equal rows at which a result leaves its course, each with one row more."""
    body = _without_people(case.bound.input_space.domain).body
    drawn = body.draw(np.random.default_rng(case.seed), _ZEROED)
    # A number that wraps does so first where it grows most: at the largest row, or the least, of
    # those that are drawn and of those that the step names, such as the ends of a clamp.
    named = np.array([own]).T.repeat(body.columns, axis=1)
    found = [drawn[:1]]
    for rows in (drawn, named[body.contains(named)]):
        numbers = np.where(np.isfinite(rows), rows, 0)
        ends = [numbers.max(axis=1).argmax(), numbers.min(axis=1).argmin()] if len(rows) else []
        found.append(rows[ends])
    for row in np.concatenate(found):
        last = _find_turn(case, row)
        if last is not None:
            rows = case.of_people(np.tile(row, (last + 1, 1)))
            one = rows[last:]
            yield datasets.Neighbours(rows[:last], one[:0], one, 1, 0, person=case.person)


def _find_turn(case: _Case, row: Floats) -> int | None:
    """After how many equal rows one more leaves the course; None where none of them does."""

    @functools.cache
    def result(count: int) -> np.ndarray:
        return case.run(case.of_people(np.tile(row, (count, 1))))

    def on_course(size: int) -> bool:
        return _is_linear(result(0), result(1), result(size), size)

    # Odd numbers: twice a float is never rounded.
    low, high = 1, 3
    while on_course(high):
        if high == _ASSERT_STABLE_LARGEST:
            return None
        low, high = high, min(2 * high + 1, _ASSERT_STABLE_LARGEST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if on_course(middle) else (low, middle)
    return low


def _is_linear(none: np.ndarray, one: np.ndarray, many: np.ndarray, size: int) -> bool:
    """Whether so many equal rows come to so many times what one does."""
    if one.ndim == 2:
        return len(many) == size * len(one) and bool((many == one[:1]).all())
    pairs = zip(none.tolist(), one.tolist(), many.tolist(), strict=True)
    return all(c - a == size * (b - a) for a, b, c in pairs)


def _check(case: _Case, pair: datasets.Neighbours) -> None:
    data, other = pair.data, pair.other
    keys = content_keys(data)
    first, again, second = case.run(data, keys), case.run(data, keys), case.run(other)

    def hold(condition: object, rule: str, what: str) -> None:
        if not condition:
            where = f"seed {case.seed}, trial {pair.trial}, {len(data)} rows"
            raise AssertionError(f"{brief(case.stage)}: {rule}. {what} ({where})")

    same = "the same rows must give the same result"
    hold(_alike(again, first), same, "Asked twice, they gave two results")
    names = _without_people(case.bound.input_space.domain).names
    anywhere = "a row's result must not depend on its block or place"
    for name, container in (
        datasets.containers(data, names) if _in_all(pair) else datasets.in_pieces(data)
    ):
        hold(_alike(case.run(container, keys), first), anywhere, f"As {name} they differ")
    if _in_all(pair):
        threads = case.run(datasets.in_threads(data), keys, folds=True)
        hold(_alike(threads, first), anywhere, "In threads they differ")
    for value in (first, second):
        outside = _outside(_without_people(case.bound.output_space.domain), value)
        hold(outside is None, "what comes out must lie in the output domain", f"{outside}")
    fault = case.fault(first, second, pair.distance)
    if fault is not None:
        least = _least(case, pair)
        words = f"For a neighbour {least.distance} away: {case.broken(least) or fault}"
        hold(
            False, "the stability map must bound the distance between results", words + _show(least)
        )


def _without_people(domain: Domain) -> Any:
    """The domain of the rows, without regard to people."""
    return domain.rows if isinstance(domain, PersonTables) else domain


def _in_all(pair: datasets.Neighbours) -> bool:
    return pair.trial % _ALL_CONTAINERS == 0


def _alike(again: np.ndarray, first: np.ndarray) -> bool:
    return np.array_equal(again, first, equal_nan=again.dtype != object)


def _outside(domain: Rows | Scalars | Vectors, value: np.ndarray) -> str | None:
    """Why a result is not in its domain; None if it is."""
    if not isinstance(domain, Rows):
        if value.dtype.kind not in "iuO" and not np.isfinite(value).all():
            return "A number came out that is not finite"
        least = min(value.tolist(), default=0)
        return "A number came out below 0" if domain.non_negative and least < 0 else None
    if value.shape[1] != domain.columns:
        return f"{value.shape[1]} columns came out"
    if domain.size not in (None, len(value)):
        return f"{len(value)} rows came out"
    inside = domain.body.contains(value)
    if inside.all():
        return None
    return f"A row came out that is not in {domain.body!r}: {value[~inside][0].tolist()}"


def _least(case: _Case, pair: datasets.Neighbours) -> datasets.Neighbours:
    """The pair with as few rows as still show the fault."""
    if pair.person is None and row_metric(case.bound.input_space).fixed_size:
        return pair
    best = attrs.evolve(pair, order=None)
    if case.broken(best) is None:
        return pair
    left = _CUTS
    for name in ("common", "gone", "fresh"):
        size = len(getattr(best, name))
        # If no part of this size can go, more than 32 rows are needed, of which none is shown.
        while size and size * _MOST_PARTS >= len(getattr(best, name)) and left:
            left -= 1
            starts = range(0, len(getattr(best, name)), size)
            parts = [best.without(name, start, start + size) for start in starts]
            shorter = next((each for each in parts if case.broken(each) is not None), None)
            if shorter is None:
                size //= 2
            else:
                best = shorter
                size = min(size, len(getattr(best, name)))
    return best


def _show(pair: datasets.Neighbours) -> str:
    """The rows, if they are few."""
    if not (_are_few(pair.data) and _are_few(pair.other)):
        return ""
    return f", for {pair.data.tolist()} and {pair.other.tolist()}"


def _are_few(rows: object) -> bool:
    return isinstance(rows, np.ndarray) and len(rows) <= _FEW_ROWS

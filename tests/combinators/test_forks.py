"""A fork of a running program has a copy of the budget, and may spend nothing of it."""

import multiprocessing
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

import opendp_lite as dp

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

Tables = dp.Space[dp.Rows]
LOW = -(10**9)
TENTH = dp.count() >> dp.gaussian(rho=0.1)


def in_a_fork(work: Callable[[], object]) -> str:
    """What work gave or raised in a fork of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, outcome(work).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as found:
        return found.read()


def on_both_sides(work: Callable[[], object]) -> tuple[str, str]:
    """What work gave or raised here, and in the fork that it makes."""
    reading, writing = os.pipe()
    here = os.getpid()
    got = outcome(work)
    if os.getpid() != here:
        os.write(writing, got.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as found:
        told = found.read()
    os.wait()
    return got, told


def outcome(work: Callable[[], object]) -> str:
    try:
        return f"gave {work()}"
    except BaseException as problem:
        return f"{type(problem).__name__}: {problem}"


def forks_and_tests(test):
    return in_a_fork(lambda: test(dp.count(), threshold=LOW)), test(dp.count(), threshold=LOW)


def forks_and_asks(ask):
    return in_a_fork(lambda: ask(TENTH)), type(ask(TENTH)) is float


@pytest.mark.parametrize(
    ("pipeline", "name"),
    [
        (dp.above_threshold(forks_and_tests, 0, epsilon=1), "test"),
        (dp.adaptive(forks_and_asks, dp.rho(0.1)), "ask"),
    ],
    ids=["above_threshold", "adaptive"],
)
def test_a_fork_is_refused_and_the_program_goes_on(pipeline, name):
    found, answered = pipeline([1.0, 2.0])
    assert found.startswith(f"SpaceError: {name} answers only in the process")
    assert answered


CHILDREN: list[int] = []


@dp.stage
def forking(space: Tables) -> dp.Transformation[Tables, Tables]:
    """A step that forks while a query reads the rows, so that two processes go on."""

    def function(rows):
        CHILDREN.append(os.fork())
        return rows

    return dp.Transformation(space, space, function, lambda distance: distance)


def forks(release):
    CHILDREN.append(os.fork())
    return release


@pytest.mark.parametrize("name", ["test", "ask", "ask, after the noise"])
def test_a_fork_inside_of_a_query_is_refused(name):
    CHILDREN.clear()
    reading, writing = os.pipe()

    def program(answer):
        if name == "test":
            query = forking() >> dp.count()
            got = outcome(lambda: answer(query, threshold=LOW))
        else:
            query = forking() >> TENTH if name == "ask" else TENTH >> forks
            got = outcome(lambda: answer(query))
        if CHILDREN[-1] == 0:
            os.write(writing, got.encode())
            os._exit(0)
        os.waitpid(CHILDREN[-1], 0)
        return got

    made = (
        dp.above_threshold(program, 0, epsilon=1)
        if name == "test"
        else dp.adaptive(program, dp.rho(0.1))
    )
    assert made([1.0]).startswith("gave ")
    os.close(writing)
    told = {
        "test": "SpaceError: test answers only in the process",
        "ask": "SpaceError: a release goes on only in the process",
        "ask, after the noise": "SpaceError: ask answers only in the process",
    }
    with os.fdopen(reading) as found:
        assert found.read().startswith(told[name])
    assert len(CHILDREN) == 1


HALF = dp.count() >> dp.laplace(epsilon=0.5)
MEDIAN = dp.select("age") >> dp.private_quantile(0.5, bounds=(0, 99), epsilon=1, confidence=None)
BY_SEX = {"sex": ["f", "m"] * 5, "age": [41.0, 38.0] * 5}


def forks_once(release):
    if not CHILDREN:
        forks(release)
    return 0.0


MANY = {
    "compose": lambda: dp.compose(HALF >> forks, HALF),
    "compose of programs": lambda: dp.compose(
        HALF >> forks, dp.adaptive(lambda ask: ask(HALF), dp.epsilon(1))
    ),
    "by": lambda: dp.by("sex", ["f", "m"], MEDIAN >> forks_once),
    "best_of": lambda: dp.combinators.best_of(HALF, score=forks_once, runs=2),
}


@pytest.mark.parametrize("make", MANY.values(), ids=MANY)
def test_a_fork_between_two_noises_gets_no_noise_of_its_own(monkeypatch, make):
    """The fork would release the later parts again, at no price."""
    two_runs = import_module("opendp_lite.combinators.composing")
    monkeypatch.setattr(two_runs, "logarithmic", lambda rate, entropy: 2)
    CHILDREN.clear()
    pipeline = dp.table() >> make()
    got, told = on_both_sides(lambda: pipeline(BY_SEX))
    assert got.startswith("gave ")
    assert told.startswith("SpaceError: a release goes on only in the process")


class ForkingTable(Mapping):
    """A table whose names are read before a query is paid for."""

    def __init__(self):
        self.armed = False

    def __getitem__(self, name):
        return BY_SEX[name]

    def __len__(self):
        return len(BY_SEX)

    def __iter__(self):
        if self.armed:
            self.armed = False
            CHILDREN.append(os.fork())
        return iter(BY_SEX)


def test_a_fork_before_a_session_pays_gets_no_noise_of_its_own():
    """It would pay with a copy of the budget, and what follows the noise would see its release."""
    seen: list[object] = []
    table = ForkingTable()
    ask = dp.session(table, dp.epsilon(0.5))
    table.armed = True

    def work() -> str:
        return f"{outcome(lambda: ask(HALF >> seen.append))}; saw {len(seen)}"

    got, told = on_both_sides(work)
    assert got.endswith("; saw 1")
    assert told.startswith("gave SpaceError: a release goes on only in the process")
    assert told.endswith("; saw 0")


def test_a_fork_that_makes_releases_of_its_own_gets_noise():
    before = HALF([1.0] * 10)
    assert isinstance(before, int | float)
    assert in_a_fork(lambda: HALF([1.0] * 10)).startswith("gave ")
    with ThreadPoolExecutor(2) as threads:
        assert len(list(threads.map(HALF, [[1.0] * 10] * 4))) == 4
    forked = multiprocessing.get_context("fork")
    with forked.Pool(2) as pool:
        assert len(pool.map(HALF, [[1.0] * 10] * 4)) == 4


def test_a_fork_with_the_number_of_its_parent_spends_nothing(monkeypatch):
    """As a fork gets it in a namespace of its own, or long after its parent has ended."""
    number = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: number)
    ask = dp.session([1.0] * 10, dp.rho(0.1))
    assert in_a_fork(lambda: ask(TENTH)).startswith("SpaceError: ask answers only in the process")
    assert ask(TENTH).number == 1

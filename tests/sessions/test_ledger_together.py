"""Threads, forks and handles that spend from one ledger at once."""

import copy
import gc
import os
import pickle
import random
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import pairwise
from threading import Event, get_ident
from time import monotonic, sleep

import attrs
import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger import sqlite as open_connection
from opendp_lite.sessions.ledger.entries import EntryState
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.ledger.sqlite import OpenConnection
from tests.combinators.test_forks import in_a_fork, on_both_sides, outcome
from tests.sessions.ledgers import at_commit, refused
from tests.sessions.ledgers import copy as copy_of

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")


def test_threads_spend_the_budget_once(make):
    price = Fraction(1, 20)
    ledger = make()

    def spend(place: int) -> int:
        handle = ledger if place % 2 else LedgerFile.open(ledger.path)
        paid = 0
        while True:
            try:
                handle.finish(handle.reserve(price, asked="{}").number)
            except dp.BudgetExceeded:
                return paid
            paid += 1

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(spend, range(6))) == 20
    assert ledger.spent == 1
    assert len(ledger.verify().entries) == 41


@forks
def test_forks_spend_the_budget_once(ledger):
    half = Fraction(1, 2)
    ledger.reserve(half, asked="{}")
    assert in_a_fork(lambda: ledger.reserve(half, asked="{}").total) == "gave 1"
    assert in_a_fork(lambda: ledger.reserve(half, asked="{}")).startswith("BudgetExceeded: ")
    assert outcome(lambda: ledger.reserve(half, asked="{}")).startswith("BudgetExceeded: ")
    assert ledger.spent == 1


def reads(ledger: LedgerFile, pool: ThreadPoolExecutor, ends: Event, seconds: float) -> Future:
    """Another thread that reads a ledger by now, until it ends or for so many seconds."""
    began = Event()

    def read(table: object) -> None:
        began.set()
        ends.wait(seconds)

    reading = pool.submit(lambda: ledger.storage.in_transaction(read, writing=False))
    began.wait()
    return reading


@forks
def test_a_fork_waits_for_what_other_threads_read(ledger, tenth):
    """A copy of another thread's connection would keep the fork, and then all others, out."""
    handle, ends = LedgerFile.open(ledger.path, wait=0.2), Event()
    with ThreadPoolExecutor(1) as pool:
        reading = reads(ledger, pool, ends, 0.3)
        assert in_a_fork(lambda: handle.reserve(tenth, asked="{}").number) == "gave 2"
        ends.set()
        reading.result()
    assert ledger.spent == tenth


@forks
def test_a_fork_that_waits_no_longer_uses_no_ledger(ledger, tenth, monkeypatch):
    monkeypatch.setattr(open_connection.tables, "WAIT", 0.05)
    ends = Event()
    with ThreadPoolExecutor(1) as pool:
        reading = reads(ledger, pool, ends, 60)
        told = in_a_fork(lambda: ledger.reserve(tenth, asked="{}"))
        ends.set()
        reading.result()
    assert "forked while another thread used a ledger" in told
    assert ledger.reserve(tenth, asked="{}").number == 2


@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")
@forks
def test_a_fork_does_not_wait_for_what_nobody_holds(ledger, tenth):
    """One that was dropped unclosed is gone, and one of the forking thread is its own."""
    kept = []
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: OpenConnection(ledger.path, 0.1) and None).result()
        kept.append(OpenConnection(ledger.path, 0.1))
    gc.collect()
    start = monotonic()
    assert in_a_fork(lambda: ledger.reserve(tenth, asked="{}").number) == "gave 2"
    assert monotonic() - start < 20
    kept[0].close()


@forks
def test_forks_beside_a_thread_that_spends_all_the_time(ledger):
    """A fork while SQLite opens a file copied SQLite's own locks, and waited for them for ever."""
    price, ends = Fraction(1, 10**6), Event()

    def spend() -> int:
        paid = 0
        while not ends.is_set():
            ledger.reserve(price, asked="{}")
            paid += 1
            sleep(1e-3)  # SQLite's lock is not fair: without a pause a fork waits for seconds
        return paid

    with ThreadPoolExecutor(1) as pool:
        spending = pool.submit(spend)
        found = [
            in_a_fork(lambda: LedgerFile.open(ledger.path).reserve(price, asked="{}").price)
            for _ in range(12)
        ]
        ends.set()
    assert found == ["gave 1/1000000"] * 12
    assert ledger.spent == (spending.result() + 12) * price


@forks
def test_no_fork_has_a_copy_of_a_connection_that_rests(ledger, tenth):
    """Nor does a thread use one that a fork of another thread has closed."""
    pays = partial(ledger.reserve, tenth, asked="{}")
    with ThreadPoolExecutor(1) as pool:
        for paid in (0, 3, 6):
            pool.submit(pays).result()
            pays()
            assert len(open_connection._RESTING) == 2
            told = in_a_fork(lambda: (len(open_connection._RESTING), pays().number))
            assert told == f"gave (0, {paid + 4})"
            assert not open_connection._RESTING
    assert ledger.spent == 9 * tenth


def test_a_connection_that_rests_waits_as_long_as_who_asks(ledger):
    for wait in (0.05, 7.0):
        assert LedgerFile.open(ledger.path, wait=wait).spent == 0
        resting = open_connection._RESTING[get_ident()]
        assert resting.execute("PRAGMA busy_timeout").fetchone() == (int(1000 * wait),)


def test_pages_of_a_connection_that_rests_are_read_anew(ledger, make, tenth, unmarked):
    """Another history has the counter of changes by which SQLite knows its pages again."""
    other = copy_of(ledger, "other")
    ledger.reserve(tenth, asked="{}")
    spent = ledger.spent
    with ThreadPoolExecutor(1) as pool:
        paid = pool.submit(lambda: LedgerFile.adopt(other, "a test").head).result()
    assert open_connection._RESTING[get_ident()].file[1] == ledger.path.stat().st_ino
    ledger.path.write_bytes(other.read_bytes())
    assert (paid.number, spent) == (2, tenth)
    refused("the ledger was rolled back: entry 2", lambda: ledger.spent)
    assert LedgerFile.look(ledger.path).head == paid


def test_a_fork_that_never_ends_is_no_wait_without_end(ledger, monkeypatch):
    impatient = LedgerFile.open(ledger.path, wait=0.05)
    monkeypatch.setattr(open_connection, "_FORKING", [None])
    with pytest.raises(dp.OpenDPLiteError, match="the fork does not end"):
        _ = impatient.spent
    monkeypatch.undo()
    assert impatient.spent == 0


@forks
def test_a_fork_is_refused_parts_of_a_session(make):
    ask = dp.Ledger(make(unit="row")).session([1.0])
    assert "SpaceError: ask answers only in the process" in in_a_fork(lambda: ask.split(2))


@forks
def test_a_fork_within_an_entry_releases_nothing(ledger, tenth, monkeypatch):
    """One entry, one release: the fork is refused, and undoes nothing of its parent."""
    at_commit(monkeypatch, before=os.fork)
    got, told = on_both_sides(lambda: ledger.reserve(tenth, asked="{}").number)
    assert told.startswith("LedgerError: the process was forked within an entry")
    assert got == "gave 2"
    assert ledger.spent == tenth
    assert len(ledger.verify().entries) == 2


@forks
def test_a_fork_within_an_entry_that_lives_on_locks_nobody_out(ledger, tenth, monkeypatch):
    """As a signal handler may make it: its copy of the connection takes no lock of its own."""
    children: list[int] = []
    reading, writing = os.pipe()
    true = open_connection._set_up

    def forking(*given):
        children.append(os.fork())
        true(*given)

    monkeypatch.setattr(open_connection, "_set_up", forking)
    open_connection.close_resting()
    got = outcome(lambda: ledger.reserve(tenth, asked="{}").number)
    if children[0] == 0:
        os.write(writing, got.encode())
        sleep(60)
        os._exit(0)
    monkeypatch.undo()
    os.close(writing)
    told = os.read(reading, 1000).decode()
    os.close(reading)
    try:
        assert told.startswith("LedgerError: the process was forked within an entry")
        assert got == "gave 2"
        assert LedgerFile.open(ledger.path, wait=1).reserve(tenth, asked="{}").number == 3
    finally:
        os.kill(children[0], signal.SIGKILL)
        os.waitpid(children[0], 0)
    assert len(ledger.verify().entries) == 3


def test_copies_and_pickles_of_a_handle_spend_the_same_budget(ledger):
    third = Fraction(1, 3)
    handles = [ledger, copy.copy(ledger), copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))]
    for handle in handles[:3]:
        handle.reserve(third, asked="{}")
    for handle in handles:
        with pytest.raises(dp.BudgetExceeded):
            handle.reserve(third, asked="{}")
        assert handle.left == 0
    refused("was put together by hand", lambda: attrs.evolve(ledger).reserve(third, asked="{}"))
    with pytest.raises(TypeError):
        attrs.evolve(ledger, measure=dp.MaxDivergence())


@pytest.mark.parametrize("seed", range(6))
def test_random_interleavings(make, elsewhere, seed):
    """Handles that do anything in any order agree with a list of prices."""
    choose = random.Random(seed)
    ledger = make(budget=dp.epsilon(1, delta=1e-6), witness=elsewhere)
    handles = [ledger, LedgerFile.open(ledger.path)]
    budget, total, waiting = (Fraction(1), Fraction(1, 10**6)), (Fraction(0), Fraction(0)), []
    paid = []
    for _ in range(40):
        handle = choose.choice(handles)
        match choose.randrange(6):
            case 0:
                handles.append(LedgerFile.open(ledger.path))
            case 1 if waiting:
                handle.finish(waiting.pop(choose.randrange(len(waiting))).number)
            case 2 if choose.random() < 0.2:
                budget = (budget[0] * 2, budget[1])
                handle.raise_budget(dp.epsilon(budget[0], delta=budget[1]), "a test")
            case _:
                price = (
                    Fraction(choose.randrange(30), choose.randrange(60, 99)),
                    Fraction(choose.randrange(3), 10**7),
                )
                new = (total[0] + price[0], total[1] + price[1])
                if new[0] <= budget[0] and new[1] <= budget[1]:
                    waiting.append(handle.reserve(price, asked="{}"))
                    total = new
                    paid.append(price)
                else:
                    with pytest.raises(dp.BudgetExceeded):
                        handle.reserve(price, asked="{}")
        assert choose.choice(handles).spent == total
    entries = LedgerFile.open(ledger.path).verify().entries
    assert [e.price for e in entries if e.state is EntryState.RESERVED] == paid
    assert {e.number for e in ledger.view().find_unfinished()} == {e.number for e in waiting}
    assert all(b.number == a.number + 1 and b.previous == a.hash for a, b in pairwise(entries))

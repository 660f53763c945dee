"""Signals: whatever they interrupt, what was spent is never below what was released."""

import gc
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_lite as dp
from opendp_lite.combinators.adaptive_programs import _NoisyThreshold
from opendp_lite.sessions.ledger.file import LedgerFile

PAYING = tuple(str(Path(dp.__file__).parent / each) for each in ("sessions", "combinators"))
"""Where orders are paid."""
PRICE = Fraction(1, 1000)


class Interruption(BaseException):
    """What a handler raises."""


@contextmanager
def interrupting(at: int, act: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Acts before one line of the package, as a signal handler does; tells whether it did."""
    seen = 0

    def line(frame, event: str, given: object):
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == at:
                sys.settrace(None)
                act()
        return line

    def entered(frame, event: str, given: object):
        return line if frame.f_code.co_filename.startswith(PAYING) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        yield lambda: seen >= at
    finally:
        sys.settrace(before)


@contextmanager
def signalled(at: int) -> Iterator[Callable[[], bool]]:
    """Raises where CPython looks for signals: at a call's begin, and after a call of C code."""
    seen = 0

    def event(frame, what: str, given: object) -> None:
        nonlocal seen
        if what in ("call", "c_return") and frame.f_code.co_filename.startswith(PAYING):
            seen += 1
            if seen == at:
                sys.setprofile(None)
                raise Interruption

    sys.setprofile(event)
    try:
        yield lambda: seen >= at
    finally:
        sys.setprofile(None)


@pytest.fixture(autouse=True)
def unclosed_is_collected():
    """Collects here what an interruption left unclosed, and not within another test."""
    yield
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        gc.collect()


def raising() -> None:
    raise Interruption


def counted(runs: list[int]):
    """A mechanism that notes each time it reads the data."""

    @dp.mechanism
    def noted(space: dp.Space[dp.Rows]) -> dp.Measurement:
        def function(rows, entropy) -> int:
            runs.append(1)
            return 0

        return dp.Measurement(space, dp.ZeroConcentratedDivergence(), function, lambda d: d * PRICE)

    return noted()


def of_session(tmp_path: Path):
    return dp.session([1.0, 2.0], dp.rho(1))


def of_ledger(tmp_path: Path):
    file = LedgerFile.create(tmp_path / "a.ledger", dp.rho(1), unit="row", wait=0.01)
    return dp.Ledger(file).session([1.0, 2.0])


@pytest.mark.parametrize(("make", "step"), [(of_session, 7), (of_ledger, 61)])
@pytest.mark.parametrize("part", [False, True], ids=["whole", "part"])
def test_an_exception_at_any_line_hides_no_release(tmp_path, make, step, part):
    at, ran, acted = 1, 0, True
    while acted:
        folder = tmp_path / str(at)
        folder.mkdir()
        whole, runs = make(folder), []
        ask, query = whole.split(3)[0] if part else whole, counted(runs)
        with suppress(Interruption, dp.OpenDPLiteError), interrupting(at, raising) as told:
            ask(query)
        acted, at, ran = told(), at + step, ran + len(runs)
        assert Fraction(1) - whole.left >= len(runs) * PRICE
    assert ran > 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_was_interrupted_keeps_no_other_thread_out(tmp_path):
    """Even while its traceback is kept, as a notebook keeps the last one."""
    file = LedgerFile.create(tmp_path / "a.ledger", dp.rho(1), unit="row", wait=0.01)
    at, acted, kept, paid = 1, True, [], 0
    with ThreadPoolExecutor(1) as pool:
        while acted:
            with signalled(at) as told:
                try:
                    file.reserve(PRICE, asked="{}")
                except (Interruption, dp.OpenDPLiteError) as problem:
                    kept.append(problem)
            acted, at, before = told(), at + 5, file.spent
            other = pool.submit(file.reserve, PRICE, asked="{}")
            assert other.result(60).total == before + PRICE
            paid += 2
    assert len(kept) > 3
    assert file.spent <= paid * PRICE


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("make", [of_session, of_ledger])
def test_a_timer_that_interrupts_all_the_time(tmp_path, make):
    runs: list[int] = []
    ask, query = make(tmp_path), counted(runs)

    def interrupted(number: int, frame: object) -> None:
        raise Interruption

    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        for wait in range(60):
            with suppress(Interruption, dp.OpenDPLiteError):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 1e-4 * (1 + wait % 60))
                    ask(query)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert Fraction(1) - ask.left >= len(runs) * PRICE


def test_a_threshold_test_that_is_interrupted_costs_its_answer(monkeypatch):
    """Between the comparison and its count, an exception would leave an answer uncounted."""

    def program(test) -> int:
        for tried in range(9):
            try:
                test(dp.clamp(0, 1) >> dp.sum())
            except Interruption:
                continue
            except dp.BudgetExceeded:
                return tried
        return 9

    monkeypatch.setattr(_NoisyThreshold, "_count", lambda self: raising())
    asked = dp.above_threshold(program, threshold=-1000, epsilon=50, most=3, monotone=True)
    assert asked([1.0] * 100) == 3

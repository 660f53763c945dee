"""Processes that spend from one ledger and are killed at any point.

In continuous integration 30 are killed. ``OPENDP_LITE_KILLS=1000 pytest -s`` on this file kills as
many as you say, and prints what it met.
"""

from __future__ import annotations

import os
import random
import signal
import time
from fractions import Fraction

import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger.entries import EntryState
from opendp_lite.sessions.ledger.file import LedgerFile

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

KILLS = int(os.environ.get("OPENDP_LITE_KILLS", "30"))
PROCESSES = 8
MOST_SECONDS = 12 if KILLS <= 30 else KILLS / 3
LATEST = 0.05
"""Seconds after which a process is killed at the latest."""


def spend(ledger: LedgerFile, price: Fraction, told: int) -> None:
    """Pays and releases until nothing is left; a release is a line that leaves the process."""
    while True:
        try:
            entry = ledger.reserve(price, asked="{}")
        except dp.BudgetExceeded:
            return
        os.write(told, f"{entry.number}\n".encode())
        ledger.finish(entry.number)


def begin(ledger: LedgerFile, price: Fraction, told: int) -> int:
    """A process that spends."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            spend(ledger, price, told)
            status = 0
        finally:
            os._exit(status)
    return child


def test_nothing_is_released_that_was_not_paid(make, tmp_path):
    price = Fraction(1, 4 * KILLS)
    ledger = make(wait=600.0)  # where the machine is busy, SQLite lets a process wait for long
    told = os.open(tmp_path / "told", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    choose = random.Random(11)
    children = [begin(ledger, price, told) for _ in range(PROCESSES)]
    killed = journals = 0
    ends = time.monotonic() + MOST_SECONDS
    while killed < KILLS and time.monotonic() < ends:
        time.sleep(choose.random() * LATEST)
        place = choose.randrange(PROCESSES)
        os.kill(children[place], signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(children[place], 0)[1])
        journals += (tmp_path / "survey.ledger-journal").exists()
        children[place] = begin(ledger, price, told)
    assert {os.waitpid(child, 0)[1] for child in children} == {0}
    os.close(told)
    reserved = [e for e in ledger.verify().entries if e.state is EntryState.RESERVED]
    released = (tmp_path / "told").read_text().split()
    assert killed >= KILLS / 2
    assert ledger.spent == sum(entry.price for entry in reserved) == price * len(reserved) == 1
    assert len(set(released)) == len(released)
    assert set(released) <= {str(entry.number) for entry in reserved}
    assert LedgerFile.open(ledger.path).spent == ledger.spent
    print(
        f"{killed} processes killed; the journal of a write was there after {journals}; "
        f"{len(reserved)} reserved, {len(released)} released, spent {ledger.spent}"
    )

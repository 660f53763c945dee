"""Processes that spend from one ledger and are killed at any point, and a server that is killed.

In continuous integration 20 are killed. ``OPENDP_LITE_KILLS=1000 pytest -s`` on this file kills as
many as you say, and prints what it met.
"""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_lite as dp
from opendp_lite.base.errors import LedgerError
from opendp_lite.sessions.ledger.entries import EntryState
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.ledger.postgres import PostgresDatabase
from opendp_lite.sessions.ledger.witness import WitnessFile
from tests.sessions.servers import Server, make

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

KILLS = int(os.environ.get("OPENDP_LITE_KILLS", "20"))
PROCESSES = 8
EACH = 12
"""So many processes are killed before the server is."""
MOST_SECONDS = 12 if KILLS <= 20 else KILLS / 3
LATEST = 0.05
"""Seconds after which a process is killed at the latest."""


def spend(ledger: LedgerFile, price: Fraction, told: int) -> None:
    """Pays and releases until nothing is left; a release is a line that leaves the process."""
    while True:
        try:
            entry = ledger.reserve(price, asked="{}")
        except dp.BudgetExceeded:
            return
        except LedgerError:  # its server was killed too: what it wrote of this counts
            if isinstance(ledger.path, Path):
                raise
            time.sleep(LATEST)
            continue
        os.write(told, f"{entry.number}\n".encode())
        with suppress(LedgerError):
            ledger.finish(entry.number)


def open_in_time(ledger: LedgerFile) -> LedgerFile:
    """Opened as by another program, from the mark of its machine; its server may be killed."""
    while True:
        with suppress(LedgerError):
            return LedgerFile.open(ledger.path, wait=600.0)
        time.sleep(LATEST)


def begin(ledger: LedgerFile, price: Fraction, told: int, place: int) -> int:
    """A process that spends. On a server each place is a machine of its own, with its witness."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if isinstance(ledger.storage, PostgresDatabase):
                home = Path(os.environ["XDG_STATE_HOME"]) / str(place)
                os.environ["XDG_STATE_HOME"] = str(home)
                ledger = open_in_time(ledger)
            spend(ledger, price, told)
            status = 0
        finally:
            os._exit(status)
    return child


@pytest.fixture(params=["file", "server"])
def shared(request) -> LedgerFile:
    """A ledger in a file, or on a server."""
    # Where the machine is busy, SQLite lets a process wait for long.
    if request.param == "file":
        return request.getfixturevalue("make")(wait=600.0)
    return make(request.getfixturevalue("url"))


def kill_server(server: Server) -> None:
    """Kills it as a power cut does, and begins it again once all that it began has ended."""
    server.kill()
    while True:
        with suppress(subprocess.CalledProcessError):
            return server.start()


def test_nothing_is_released_that_was_not_paid(shared, tmp_path, request):
    ledger, price, processes = shared, Fraction(1, 4 * KILLS), PROCESSES
    server = None
    if isinstance(ledger.storage, PostgresDatabase):
        server, processes = request.getfixturevalue("server"), 20
    told = os.open(tmp_path / "told", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    choose = random.Random(11)
    children = [begin(ledger, price, told, place) for place in range(processes)]
    killed = journals = servers = 0
    ends = time.monotonic() + MOST_SECONDS
    while killed < KILLS and time.monotonic() < ends:
        time.sleep(choose.random() * LATEST)
        if server is not None and killed // EACH > servers:
            servers += 1
            kill_server(server)
        place = choose.randrange(processes)
        os.kill(children[place], signal.SIGKILL)
        killed += os.WIFSIGNALED(os.waitpid(children[place], 0)[1])
        journals += (tmp_path / "survey.ledger-journal").exists()
        children[place] = begin(ledger, price, told, place)
    assert {os.waitpid(child, 0)[1] for child in children} == {0}
    os.close(told)
    reserved = [e for e in ledger.verify().entries if e.state is EntryState.RESERVED]
    released = (tmp_path / "told").read_text().split()
    assert killed >= KILLS / 2
    assert ledger.spent == sum(entry.price for entry in reserved) == price * len(reserved) == 1
    assert len(set(released)) == len(released)
    assert set(released) <= {str(entry.number) for entry in reserved}
    assert LedgerFile.open(ledger.path).spent == ledger.spent
    seen = [WitnessFile(each, ledger.terms.identity) for each in tmp_path.rglob("*.witness")]
    for each in seen:
        each.sightings().require_in(ledger.view().entries, "")
    print(
        f"{killed} processes and {servers} servers killed; the journal of a write was there after "
        f"{journals}; {len(reserved)} reserved, {len(released)} released, spent {ledger.spent}; "
        f"{len(seen)} witnesses agree"
    )

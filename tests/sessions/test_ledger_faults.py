"""Disks that fail, files that may not be written, and what is left in the ledger."""

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger import sqlite as open_connection
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.ledger.tables import EntryTable
from tests.combinators.test_forks import in_a_fork
from tests.sessions.ledgers import at_commit, in_sqlite, interrupt, refused

resource = pytest.importorskip("resource")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="faults are made as on Linux"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
NOBODY = 65534


class Faulty:
    """A connection of SQLite that fails at a statement, before it or after."""

    def __init__(self, connection: sqlite3.Connection, statement: str, *, after: bool) -> None:
        self.connection, self.statement, self.after = connection, statement, after

    def __getattr__(self, name: str):
        return getattr(self.connection, name)

    def execute(self, sql: str, *arguments):
        if not sql.startswith(self.statement):
            return self.connection.execute(sql, *arguments)
        if self.after:
            self.connection.execute(sql, *arguments)
        problem = sqlite3.OperationalError("disk I/O error")
        problem.sqlite_errorname = "SQLITE_IOERR_WRITE"
        raise problem


def test_a_commit_waits_for_the_disk(ledger):
    def found(table: EntryTable) -> dict[str, object]:
        return {
            name: table.connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "journal_mode", "fullfsync", "mmap_size")
        }

    for writing in (False, True):
        assert ledger.storage.in_transaction(found, writing=writing) == {
            "synchronous": 3,
            "journal_mode": "delete",
            "fullfsync": 1,
            "mmap_size": 0,
        }


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("statement", ["PRAGMA synchronous", "BEGIN", "SELECT", "INSERT", "COMMIT"])
def test_a_failing_disk_releases_nothing(ledger, tenth, statement, after, monkeypatch):
    ledger.reserve(tenth, asked="{}")
    open_connection.close_resting()
    true = open_connection.OpenConnection
    monkeypatch.setattr(
        open_connection,
        "OpenConnection",
        lambda *given: Faulty(true(*given), statement, after=after),
    )
    refused("the disk failed", lambda: ledger.reserve(tenth, asked="{}"))
    monkeypatch.undo()
    counted = 2 if (statement, after) == ("COMMIT", True) else 1
    assert LedgerFile.open(ledger.path).spent == ledger.spent == counted * tenth
    ledger.reserve(tenth, asked="{}")
    assert len(ledger.verify().entries) == 2 + counted


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, SystemExit])
def test_an_interruption_after_the_commit_counts(ledger, tenth, kind, monkeypatch):
    at_commit(monkeypatch, after=lambda: interrupt(kind))
    with pytest.raises(kind):
        ledger.reserve(tenth, asked="{}")
    assert ledger.spent == tenth
    assert [entry.price for entry in ledger.view().find_unfinished()] == [tenth]


def test_an_interruption_before_the_commit_costs_nothing(ledger, tenth, monkeypatch):
    at_commit(monkeypatch, before=interrupt)
    with pytest.raises(KeyboardInterrupt):
        ledger.reserve(tenth, asked="{}")
    assert ledger.spent == 0
    assert not ledger.path.with_name("survey.ledger-journal").exists()


def limited(ledger: LedgerFile, room: int) -> str:
    """Spends until something is refused, in a process that may write files of one size."""

    def work() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        for _ in range(1000):
            ledger.reserve(Fraction(1, 1000), asked="x" * 100)
        return 0

    return in_a_fork(work)


def test_a_file_that_may_not_grow_releases_nothing(ledger):
    told = limited(ledger, ledger.path.stat().st_size + 8192)
    assert told.startswith("LedgerError: ")
    assert "nothing is released" in told
    entries = ledger.verify().entries
    assert 1 < len(entries) < 1000
    assert ledger.spent == Fraction(len(entries) - 1, 1000)
    ledger.reserve(Fraction(1, 1000), asked="{}")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own, of one megabyte, for who may make one."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root can make a small file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_witness_that_takes_a_part_of_a_line_releases_nothing(watched, tenth, monkeypatch):
    monkeypatch.setattr(os, "write", lambda _, data: len(data) - 1)
    refused("its disk is full", lambda: watched.reserve(tenth, asked="{}"))


def test_a_full_disk_releases_nothing(small_disk, tenth):
    ledger = LedgerFile.create(small_disk / "a.ledger", dp.rho(1), unit="person")
    first = ledger.reserve(tenth, asked="{}")
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(2**20))
    for _ in range(3):
        with pytest.raises(dp.OpenDPLiteError, match="the disk is full; make room"):
            ledger.reserve(Fraction(1, 100), asked="x" * 50_000)
    assert ledger.spent == tenth
    assert len(ledger.verify().entries) == 2
    filler.unlink()
    ledger.finish(first.number)
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(2**20))
    with pytest.raises(dp.OpenDPLiteError):
        LedgerFile.create(small_disk / "b.ledger", dp.rho(1), unit="person")
    assert not (small_disk / "b.ledger").exists()


def test_a_read_only_disk_releases_nothing_and_is_read(small_disk, tenth):
    ledger = LedgerFile.create(small_disk / "a.ledger", dp.rho(1), unit="person")
    ledger.reserve(tenth, asked="{}")
    open_connection.close_resting()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    refused("it may not be written", lambda: ledger.reserve(tenth, asked="{}"))
    assert LedgerFile.open(ledger.path).spent == tenth
    other = partial(LedgerFile.create, small_disk / "b.ledger", dp.rho(1), unit="person")
    refused("cannot be made: Read-only file system", other)


def interrupted_write(ledger: LedgerFile, told: Path) -> None:
    """Leaves the file as a process that is killed within a commit leaves it: half written.

    SQLite writes pages before the commit where its memory is full. The copies are made then.
    """
    with in_sqlite(ledger.path) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("BEGIN IMMEDIATE")
        for number in range(100, 400):
            connection.execute(
                "INSERT INTO entries SELECT ?, state, price, total, budget, unit, scope, asked, "
                "note, NULL, content, time, version, machine, place, previous, hash FROM entries "
                "WHERE number = 1",
                (number,),
            )
        for name in ("survey.ledger", "survey.ledger-journal"):
            shutil.copyfile(ledger.path.with_name(name), told / name)
        connection.execute("ROLLBACK")
    assert (told / "survey.ledger").stat().st_size > ledger.path.stat().st_size


def test_a_write_that_was_cut_short_is_undone(ledger, tenth, tmp_path):
    ledger.reserve(tenth, asked="{}")
    told = tmp_path / "after the crash"
    told.mkdir()
    interrupted_write(ledger, told)
    for name in ("survey.ledger", "survey.ledger-journal"):
        ledger.path.with_name(name).write_bytes((told / name).read_bytes())
    found = LedgerFile.open(ledger.path)
    assert found.spent == tenth
    assert len(found.verify().entries) == 2
    assert not ledger.path.with_name("survey.ledger-journal").exists()


def as_nobody(work) -> str:
    """What work gave or raised as a user who owns nothing."""

    def alone():
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return work()

    return in_a_fork(alone)


@pytest.fixture
def shown_to_nobody():
    """A folder that another user can reach, for root, who can become another user."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_without_the_right_to_write(shown_to_nobody, tenth):
    ledger = LedgerFile.create(shown_to_nobody / "survey.ledger", dp.rho(1), unit="person")
    ledger.reserve(tenth, asked="{}")
    told = as_nobody(lambda: LedgerFile.open(ledger.path))
    assert told.startswith("LedgerError: ")
    assert "cannot be opened; look at the rights" in told
    ledger.path.chmod(0o644)
    assert as_nobody(lambda: LedgerFile.open(ledger.path).spent) == "gave 1/10"
    told = as_nobody(lambda: ledger.reserve(tenth, asked="{}"))
    assert told.startswith("LedgerError: ")
    assert "it may not be written" in told
    told = as_nobody(lambda: LedgerFile.create(shown_to_nobody / "b", dp.rho(1), unit="x"))
    assert "cannot be made: Permission denied" in told
    after = shown_to_nobody / "after"
    after.mkdir()
    interrupted_write(ledger, after)
    for each in after.iterdir():
        each.chmod(0o644)
    told = as_nobody(lambda: LedgerFile.open(after / "survey.ledger"))
    assert "a write was cut short and must be undone first, and you may not write here" in told
    assert ledger.spent == tenth


def test_a_ledger_that_another_process_holds(ledger, tenth):
    impatient = LedgerFile.open(ledger.path, wait=0.05)
    pays = partial(impatient.reserve, tenth, asked="{}")
    opens = partial(LedgerFile.open, ledger.path, wait=0.05)
    with in_sqlite(ledger.path) as other:
        other.execute("BEGIN EXCLUSIVE")
        refused("another process or thread holds it", pays, opens)
        other.execute("ROLLBACK")
        other.execute("BEGIN")
        other.execute("SELECT * FROM entries").fetchone()
        refused("another process or thread holds it", pays)
    assert impatient.spent == 0
    impatient.reserve(tenth, asked="{}")


def test_a_witness_that_cannot_be_written(watched, tenth, monkeypatch):
    def failing(*given):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    refused(r"cannot be written .*the entry counts", lambda: watched.reserve(tenth, asked="{}"))
    monkeypatch.undo()
    assert watched.spent == tenth

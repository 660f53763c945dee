"""What tests of ledgers share: payments, copies, refusals, and what happens meanwhile."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

import opendp_lite as dp
from opendp_lite.sessions.ledger.file import LedgerFile
from opendp_lite.sessions.ledger.sqlite import OpenConnection


def spend(ledger: LedgerFile, count: int = 1) -> None:
    """Pays so many hundredths, for runs that come to their end."""
    for _ in range(count):
        ledger.finish(ledger.reserve(Fraction(1, 100), asked="{}").number)


def copy(ledger: LedgerFile, name: str = "copy") -> Path:
    """A copy of its file beside it."""
    return Path(shutil.copy2(ledger.path, ledger.path.with_name(name)))


def refused(words: str, *uses: Callable[[], object]) -> None:
    """Each use is refused in these words."""
    for use in uses:
        with pytest.raises(dp.OpenDPLiteError, match=words):
            use()


@contextmanager
def in_sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of another program, on which each statement is a transaction."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as connection:
        yield connection


def nothing() -> None:
    """Is what happens before a commit and after it by default."""


def at_commit(
    monkeypatch, before: Callable[[], object] = nothing, after: Callable[[], object] = nothing
) -> None:
    """Something happens before the next commit of a ledger in this process, or after it."""
    execute = OpenConnection.execute

    def commit_meanwhile(connection, sql: str, *given: object) -> sqlite3.Cursor:
        if sql != "COMMIT":
            return execute(connection, sql, *given)
        monkeypatch.setattr(OpenConnection, "execute", execute)
        before()
        found = execute(connection, sql, *given)
        after()
        return found

    monkeypatch.setattr(OpenConnection, "execute", commit_meanwhile)


def interrupt(kind: type[BaseException] = KeyboardInterrupt) -> None:
    """As a signal does."""
    raise kind

"""How long a ledger takes to pay for a release, and to be opened and checked."""

import sqlite3
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from compare import Row

import opendp_lite as dp
from opendp_lite.sessions.ledger.entries import COLUMNS, EntryState
from opendp_lite.sessions.ledger.file import LedgerFile

ENTRIES = 100_000
REPEATS = 101
MOST = 2
PRICE = Fraction(1, 10**6)


def rows(options: Namespace) -> Iterator[Row]:
    """Payments in a ledger of so many, and its opening, beside SQLite alone.

    A payment is two entries: the price, before data is read, and the end of the run.
    """
    with TemporaryDirectory(dir=".") as folder:
        ledger = LedgerFile.create(Path(folder) / "a.ledger", dp.rho(1), unit="row")
        _fill(ledger)
        checking = median(_timed(lambda: LedgerFile.open(ledger.path)) for _ in range(5))
        ask, query = (
            dp.Ledger.open(ledger.path).session([1.0] * 10),
            dp.count() >> dp.gaussian(rho=PRICE),
        )
        alone, answers = dp.session([1.0] * 10, dp.rho(1)), list[float]()
        asked, ours, theirs = list[float](), list[float](), list[float]()
        with closing(sqlite3.connect(Path(folder) / "plain", isolation_level=None)) as plain:
            plain.execute("PRAGMA synchronous = EXTRA")
            plain.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT)")
            for _ in range(REPEATS):
                ours.append(_timed(lambda: ledger.finish(ledger.reserve(PRICE, asked="{}").number)))
                theirs.append(_timed(lambda: (_insert(plain), _insert(plain))))
                asked.append(_timed(lambda: ask(query)))
                answers.append(_timed(lambda: alone(query)))
        opening = median(_timed(lambda: LedgerFile.open(ledger.path)) for _ in range(5))
    note = f"ledger: on a disk, with synchronous = EXTRA for both; medians of {REPEATS} by turns"
    for name, found, peer in (
        (f"pay, {ENTRIES:,} entries before", ours, "two inserts by sqlite3"),
        ("pay, answer a count in a session", asked, "two inserts by sqlite3"),
    ):
        yield Row(
            name,
            f"{median(found):.1f} ms (least {min(found):.1f})",
            peer,
            f"{median(theirs):.1f} ms (least {min(theirs):.1f})",
            f"{median(found) / median(theirs):.1f} (least {min(found) / min(theirs):.1f})",
            f"<= {MOST}x",
            median(found) <= MOST * median(theirs),
            note,
        )
    yield Row("answer a count in a session without a ledger", f"{median(answers):.2f} ms")
    yield Row(f"open {ENTRIES:,} entries that were checked", f"{opening:.1f} ms")
    yield Row(f"open and check {ENTRIES:,} entries", f"{checking / 1e3:.2f} s")


def _insert(plain: sqlite3.Connection) -> None:
    plain.execute("BEGIN IMMEDIATE")
    plain.execute("INSERT INTO entries(text) VALUES(?)", ("x" * 600,))
    plain.execute("COMMIT")


def _timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    start = perf_counter()
    work()
    return (perf_counter() - start) * 1e3


def _fill(ledger: LedgerFile) -> None:
    """Adds entries in one transaction, each as ``reserve`` makes it."""
    head, marks = ledger.head, ", ".join("?" * len(COLUMNS))
    found = []
    for _ in range(ENTRIES):
        head = head.next(EntryState.RESERVED, ledger.measure, price=PRICE).seal()
        found.append(head.row())
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.executemany(f"INSERT INTO entries VALUES ({marks})", found)

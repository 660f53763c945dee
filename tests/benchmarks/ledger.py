"""How long a ledger takes to pay for a release, and to be opened and checked."""

from __future__ import annotations

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

ENTRIES = 10_000
REPEATS = 101
MOST_MS = 15
PRICE = Fraction(1, 10**6)


def rows(options: Namespace) -> Iterator[Row]:
    """A reservation in a ledger of so many, and its opening, beside SQLite alone."""
    with TemporaryDirectory(dir=".") as folder:
        ledger = LedgerFile.create(Path(folder) / "a.ledger", dp.rho(1), unit="person")
        _fill(ledger)
        ours, theirs = [], []
        with closing(sqlite3.connect(Path(folder) / "plain", isolation_level=None)) as plain:
            plain.execute("PRAGMA synchronous = EXTRA")
            plain.execute("CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT)")
            for _ in range(REPEATS):
                ours.append(_timed(lambda: ledger.reserve(PRICE, asked="{}")))
                theirs.append(_timed(lambda: plain.execute("INSERT INTO entries(text) VALUES(1)")))
        opening = median(_timed(lambda: LedgerFile.open(ledger.path)) for _ in range(5))
    yield Row(
        f"reserve, {ENTRIES:,} entries before",
        f"{median(ours):.1f} ms",
        "an insert by sqlite3",
        f"{median(theirs):.1f} ms",
        f"{median(ours) / median(theirs):.1f} (slowest of 100: {max(ours):.0f} ms)",
        f"<= {MOST_MS} ms",
        median(ours) <= MOST_MS,
        f"ledger: on a disk, with synchronous = EXTRA for both; the median of {REPEATS} by turns",
    )
    yield Row(f"open and check {ENTRIES:,} entries", f"{opening / 1e3:.2f} s")


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

"""Ledgers of many entries, written at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction

from opendp_lite.sessions.ledger_entry import COLUMNS, EntryState
from opendp_lite.sessions.ledger_file import LedgerFile


def fill(ledger: LedgerFile, prices: Sequence[Fraction]) -> None:
    """Adds an entry for each price without waiting for the disk at each."""
    head, measure, rows = ledger.head, ledger.measure, []
    for price in prices:
        head = head.followed_by(EntryState.RESERVED, measure, price=price, asked="{}").sealed()
        rows.append(head.row())
    marks = ", ".join("?" * len(COLUMNS))
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.executemany(f"INSERT INTO entries VALUES ({marks})", rows)

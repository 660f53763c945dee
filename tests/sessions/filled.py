"""Ledgers of many entries, written at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction

import attrs

from opendp_lite.sessions.ledger_entry import COLUMNS, EntryState, LedgerEntry
from opendp_lite.sessions.ledger_file import LedgerFile

PIPELINE = (
    '{"opendp_lite": 1, "pipeline": {"name": "mean", "arguments": {"lower": 0, "upper": 100}}}'
)


def entries_after(head: LedgerEntry, prices: list[Fraction]) -> Iterator[LedgerEntry]:
    """A reserved and a released entry for each price."""
    for price in prices:
        head = attrs.evolve(
            head,
            number=head.number + 1,
            state=EntryState.RESERVED,
            price=price,
            total=head.total + price,
            asked=PIPELINE,
            note="a table",
            closes=None,
            previous=head.hash,
        ).sealed()
        yield head
        head = attrs.evolve(
            head,
            number=head.number + 1,
            state=EntryState.RELEASED,
            price=Fraction(0),
            asked="",
            note="",
            closes=head.number,
            previous=head.hash,
        ).sealed()
        yield head


def fill(ledger: LedgerFile, prices: list[Fraction]) -> None:
    """Adds entries without waiting for the disk at each."""
    marks = ", ".join("?" * len(COLUMNS))
    rows = [entry.row() for entry in entries_after(ledger.head, prices)]
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.executemany(f"INSERT INTO entries VALUES ({marks})", rows)

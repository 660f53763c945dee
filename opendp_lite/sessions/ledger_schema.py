"""The tables of a ledger's file. Who changes them raises ``LAYOUT``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from opendp_lite.sessions.ledger_entry import COLUMNS
from opendp_lite.sessions.ledger_terms import LedgerTerms

APPLICATION: Final = 0x6F44504C
"""The mark of a ledger in the header of an SQLite file: "oDPL"."""

LAYOUT: Final = 1
"""The version of the tables."""

TERM_COLUMNS: Final = tuple(attrs.fields_dict(LedgerTerms))
"""The columns of the one row of terms."""

_WHOLE: Final = {"number": "INTEGER PRIMARY KEY", "closes": "INTEGER"}


def _table(name: str, columns: Iterable[str]) -> str:
    return f"CREATE TABLE {name} ({', '.join(map(_column, columns))})"


def _column(name: str) -> str:
    text = f"TEXT NOT NULL CHECK (typeof({name}) = 'text')"
    return f"{name} {_WHOLE.get(name, text)}"


def _kept(table: str, event: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{event.lower()} BEFORE {event} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END"
    )


STATEMENTS: Final = (
    _table("ledger", TERM_COLUMNS),
    _table("entries", COLUMNS),
    _table("secret", ("key",)),
    "CREATE UNIQUE INDEX entries_closed ON entries (closes) WHERE closes IS NOT NULL",
    *(_kept(table, event) for table in ("ledger", "entries") for event in ("UPDATE", "DELETE")),
)
"""What makes the tables. The triggers stop an accident, not a person who means it."""

"""Connections to SQLite files that a fork waits for.

SQLite's notes on its locks would go along with a fork: it could never write, and would keep all
others out while it tries.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
from pathlib import Path
from threading import get_ident
from time import monotonic, sleep
from typing import Any, Final
from weakref import WeakValueDictionary

WAIT: Final = 30.0
"""Seconds to wait for another process that holds the ledger."""
_PAUSE: Final = 1e-3


class OpenConnection(sqlite3.Connection):
    """A connection that other threads' forks wait for until it is closed, or nobody holds it.

    No lock is held meanwhile. So one that an interruption leaves open stops no other thread.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.thread, self.process = get_ident(), os.getpid()
        _OPEN[id(self)] = self

    def close(self) -> None:
        """Closes it in its own process. In a fork it stays open: closing would undo a write."""
        if os.getpid() == self.process:
            super().close()
            _OPEN.pop(id(self), None)


_OPEN: Final[WeakValueDictionary[int, OpenConnection]] = WeakValueDictionary()
_FORKING: Final[list[int]] = []
"""The threads that fork right now."""


def connected(path: Path, wait: float) -> sqlite3.Connection:
    """A connection that is opened while no other thread forks.

    Args:
        path: The file, which is there.
        wait: Seconds to wait for others that hold the file.
    """
    while True:
        found = sqlite3.connect(
            f"{path.as_uri()}?mode=rw",
            uri=True,
            timeout=wait,
            isolation_level=None,
            factory=OpenConnection,
        )
        if all(each == get_ident() for each in _FORKING):
            return found
        found.close()
        sleep(_PAUSE)


def _before_fork() -> None:
    """Keeps other threads from opening connections, and waits for those that are open."""
    here, end = get_ident(), monotonic() + WAIT
    _FORKING.append(here)
    while any(each.thread != here for each in _still_open()) and monotonic() < end:
        sleep(_PAUSE)


def _after_fork() -> None:
    _FORKING.remove(get_ident())


def _in_fork() -> None:
    """Keeps the copies of open connections for ever, as collecting one would close it."""
    _FORKING.clear()
    for each in _still_open():
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def _still_open() -> list[OpenConnection]:
    found = (each() for each in _OPEN.valuerefs())
    return [each for each in found if each is not None]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_fork)

"""Connections to SQLite files that a fork waits for.

SQLite's notes on its locks would go along with a fork: it could never write, and would keep all
others out while it tries. No lock is held meanwhile. So what an interruption leaves behind stops no
other thread for ever. The hooks that must not be interrupted are functions of C.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
from functools import partial
from pathlib import Path
from threading import get_ident
from time import monotonic, sleep
from typing import Any, Final
from weakref import WeakValueDictionary

from opendp_lite.errors import LedgerError

WAIT: Final = 30.0
"""Seconds to wait for another process that holds the ledger."""
_PAUSE: Final = 1e-3


class _Use:
    """A thread's use of SQLite, from before a connection is opened until nobody holds it."""

    def __init__(self) -> None:
        self.thread = get_ident()
        self.begin()

    def begin(self) -> None:
        """Lets forks in other threads wait."""
        _USES[id(self)] = self

    def end(self) -> None:
        """Lets them go on."""
        _USES.pop(id(self), None)


class OpenConnection(sqlite3.Connection):
    """A connection that forks in other threads wait for."""

    use: _Use | None = None

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.process = os.getpid()
        _OPEN[id(self)] = self

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Runs a statement, in its own process alone: a fork would lock the file for all others."""
        if os.getpid() != self.process:
            raise LedgerError("the process was forked within an entry; the fork releases nothing")
        return super().execute(sql, parameters)

    def close(self) -> None:
        """Closes it in its own process. In a fork it stays open: closing would undo a write."""
        if os.getpid() == self.process:
            super().close()
            _OPEN.pop(id(self), None)
            if self.use is not None:
                self.use.end()


_USES: Final[WeakValueDictionary[int, _Use]] = WeakValueDictionary()
_OPEN: Final[WeakValueDictionary[int, OpenConnection]] = WeakValueDictionary()
_FORKING: Final[list[None]] = []
"""One for each thread that forks right now."""
_TORN: Final[list[None]] = []
"""Not empty in a fork that was made while another thread used SQLite."""


def connected(path: Path, wait: float) -> sqlite3.Connection:
    """A connection that is opened while no other thread forks.

    Args:
        path: The file, which is there.
        wait: Seconds to wait for others that hold the file.

    Raises:
        LedgerError: If a fork does not end, or SQLite cannot be used in this one.
    """
    if _TORN:
        raise LedgerError(
            "this process was forked while another thread used a ledger, so it cannot use one; "
            'start processes by multiprocessing.get_context("spawn")'
        )
    use = _Use()
    try:
        _wait_for_forks(use, wait)
        found = sqlite3.connect(
            f"{path.as_uri()}?mode=rw",
            uri=True,
            timeout=wait,
            isolation_level=None,
            factory=OpenConnection,
        )
        found.use = use
        return found
    except BaseException:
        use.end()
        raise


def _wait_for_forks(use: _Use, wait: float) -> None:
    """Returns at a moment from which on forks in other threads wait for this use."""
    end = monotonic() + wait
    while _FORKING:
        use.end()
        if monotonic() > end:
            raise LedgerError(
                "another thread forks this process, and the fork does not end; try again"
            )
        sleep(_PAUSE)
        use.begin()


def _wait_for_others() -> None:
    """Waits until no other thread uses SQLite. None begins to: the fork was told before."""
    end = monotonic() + WAIT
    while _others() and monotonic() < end:
        sleep(_PAUSE)


def _keep_copies() -> None:
    """Keeps the copies of open connections for ever, as collecting one would close it."""
    _TORN.extend(None for _ in _others())
    _FORKING.clear()
    for each in _OPEN.valuerefs():
        found = each()
        if found is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(found))


def _others() -> list[_Use]:
    """Of other threads."""
    found = (each() for each in _USES.valuerefs())
    return [each for each in found if each is not None and each.thread != get_ident()]


if hasattr(os, "register_at_fork"):  # before a fork, what was registered last comes first
    os.register_at_fork(before=_wait_for_others, after_in_child=_keep_copies)
    os.register_at_fork(before=partial(_FORKING.append, None), after_in_parent=_FORKING.pop)

"""Silence around foreign code, whose warnings and errors may quote a value."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from threading import RLock
from typing import Final, TypeVar

from opendp_lite.engines.source import Source
from opendp_lite.errors import DataError, OpenDPLiteError

Result = TypeVar("Result")


class _Quiet:
    """Warnings off while any thread is within; the filters are the process's, not a thread's.

    So are errors that Python would print, since nobody can catch them: pyarrow's reader fails in a
    callback at a row that is no UTF-8, and the text of that error holds a byte of the row. A
    signal handler that reads data in the thread that it interrupts gets the lock again.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._within = 0
        self._warnings = warnings.catch_warnings()
        self._shows = sys.unraisablehook

    def __enter__(self) -> None:
        with self._lock:
            self._within += 1
            if self._within == 1:
                self._warnings = warnings.catch_warnings()
                self._warnings.__enter__()
                warnings.simplefilter("ignore")
                self._shows, sys.unraisablehook = sys.unraisablehook, _show_nothing

    def __exit__(self, *problem: object) -> None:
        with self._lock:
            self._within -= 1
            if not self._within:
                self._warnings.__exit__(None, None, None)
                sys.unraisablehook = self._shows


def _show_nothing(failed: object) -> None:
    """What Python is to do with an error that nobody can catch."""


QUIET: Final = _Quiet()
"""A context in which no warning is shown, by any library, nor an error that nobody can catch."""
_NOTHING: Final = nullcontext()


def quiet_for(source: Source) -> AbstractContextManager[None]:
    """``QUIET`` where going through a source runs other code than numpy's casts."""
    return _NOTHING if source.plain else QUIET


def attempted(work: Callable[[], Result], words: str) -> Result:
    """What foreign code gives; ``DataError`` with these words where it fails.

    The refusal is raised outside of the handler, so that it carries nothing of the failure.
    """
    try:
        return work()
    except (OpenDPLiteError, MemoryError):
        raise
    except Exception:
        refusal = DataError(words)
    raise refusal

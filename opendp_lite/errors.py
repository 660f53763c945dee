"""What can go wrong before a release, each with the step that would mend it."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Final, TypeVar

_PACKAGE: Final = __name__.partition(".")[0]


class OpenDPLiteError(Exception):
    """Anything that this package refuses; its text says what to type instead."""


class ParameterError(OpenDPLiteError, ValueError):
    """A public parameter is out of range or of the wrong type."""


class SpaceError(OpenDPLiteError, TypeError):
    """Two steps do not fit together."""


class DataError(OpenDPLiteError, ValueError):
    """The public shape of the data (columns, dtype, declared size) is not what was declared."""


class BudgetExceeded(OpenDPLiteError, ValueError):  # noqa: N818
    """A query of an adaptive program costs more than is left of its budget."""


class LedgerError(OpenDPLiteError, RuntimeError):
    """A ledger cannot be used and releases nothing: it is locked, damaged, replaced or copied."""


E = TypeVar("E", bound=OpenDPLiteError)


def shortened(problem: E) -> E:
    """The refusal with a traceback of the person's own lines: those of this package say no more."""
    own: TracebackType | None = None
    for trace in reversed(list(_traces(problem.__traceback__))):
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
            trace.tb_next, own = own, trace
    return problem.with_traceback(own)


def _traces(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next

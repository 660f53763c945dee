"""What can go wrong before a release, each with the step that would mend it."""

from __future__ import annotations


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

"""What can go wrong before a release, each with the step that would mend it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from types import TracebackType
from typing import Any, Final, TypeVar

import attrs

_SHOWN: Final = 20
# Keys are short: below it, they have little in common.
_CLOSE: Final = 0.75
_PACKAGE: Final = __name__.partition(".")[0]


@attrs.frozen
class Argument:
    """An argument in the text of a refusal, which Python and the command line spell apart.

    Attributes:
        name: Of the parameter.
        value: What to give for it; three dots where that is up to the person, None for the name
            alone.
        step: Whose parameter it is, where the refusal begins with the argument.

    Example:
        >>> str(Argument("header", False)), str(Argument("rho", step="mean"))
        ('header=False', 'mean: rho')
    """

    name: str
    value: Any = None
    step: str = ""

    def __str__(self) -> str:
        name = f"{self.step}: {self.name}" if self.step else self.name
        if self.value is None:
            return name
        return f"{name}={'...' if self.value is ... else repr(self.value)}"


def name_like(name: str, known: Iterable[str], cutoff: float = 0.6) -> tuple[str, ...]:
    """The name that was likely meant; none where all have less in common than ``cutoff``.

    Example:
        >>> name_like("epsilom", ["rho", "epsilon"])
        ('epsilon',)
    """
    # Imported only here: a name that is there needs no other.
    return tuple(import_module("difflib").get_close_matches(name, list(known), 1, cutoff))


class OpenDPLiteError(Exception):
    """Anything that this package refuses; its text says what to type instead.

    ``args`` are the parts of the text, in which an ``Argument`` names a parameter.

    Example:
        >>> import opendp_lite as dp
        >>> try:
        ...     dp.clamp(9, 0)
        ... except dp.OpenDPLiteError as refused:
        ...     print(refused)
        dp.clamp(9, 0): bounds: the lower, 9, must be below the upper, 0; swap them
    """

    __module__ = _PACKAGE

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class ParameterError(OpenDPLiteError, ValueError):
    """A public parameter is out of range or of the wrong type.

    Example:
        >>> import opendp_lite as dp
        >>> dp.laplace(epsilon=-1)
        Traceback (most recent call last):
            ...
        opendp_lite.ParameterError: dp.laplace(epsilon=-1): epsilon must be above 0, got -1
    """

    __module__ = _PACKAGE


class SpaceError(OpenDPLiteError, TypeError):
    """Two steps do not fit together.

    Example:
        >>> import opendp_lite as dp
        >>> try:
        ...     dp.sum() >> dp.clamp(0, 10)
        ... except dp.SpaceError as refused:
        ...     print(refused)
        clamp needs rows; dp.sum() gives a vector with a bounded distance. Put it before sum() or
        count(), where there are rows.
    """

    __module__ = _PACKAGE


class DataError(OpenDPLiteError, ValueError):
    """The public shape of the data (columns, dtype, declared size) is not what was declared.

    Example:
        >>> import opendp_lite as dp
        >>> try:
        ...     (dp.records(columns=2) >> dp.count())([[1, 2, 3]])
        ... except dp.DataError as refused:
        ...     print(refused)
        the pipeline is for 2 columns and the data has 3; pass the columns that it is for (of a
        table, df['age'], or start with dp.records(columns=['age', ...])). For all of them start
        with dp.table() >> if they have names, or with dp.records(columns=3) >>
    """

    __module__ = _PACKAGE


class NoColumnError(DataError):
    """A table lacks a column that was asked for.

    Attributes:
        column: Its name.
    """

    # By name, and with a default: a copy in another process is made of ``args`` alone.
    def __init__(self, *parts: object, column: str = "") -> None:
        super().__init__(*parts)
        self.column = column


class NoKeyError(ParameterError, KeyError):
    """A release has nothing under a key that was asked for."""

    __module__ = _PACKAGE

    @classmethod
    def of(cls, what: str, known: Iterable[object], key: object, few: str = "") -> NoKeyError:
        """With the key that was likely meant; ``what`` says what it is a key of."""
        keys = list(known)
        small = {str(each).lower(): each for each in keys}
        near = name_like(str(key).lower(), small, _CLOSE)
        meant = f"; did you mean {small[near[0]]!r}? There are" if near else "; there are"
        listed = ", ".join(map(repr, keys[:_SHOWN]))
        return cls(f"there is no {what} {key!r}{meant} {listed}{few}")


class BudgetExceeded(OpenDPLiteError, ValueError):  # noqa: N818
    """A query of an adaptive program costs more than is left of its budget.

    Example:
        >>> import opendp_lite as dp
        >>> ask = dp.session([31, 45, 52], budget=dp.epsilon(1))
        >>> ask(dp.count() >> dp.laplace(epsilon=2))
        Traceback (most recent call last):
            ...
        opendp_lite.BudgetExceeded: dp.count() >> dp.laplace(epsilon=2) needs epsilon = 2
        (pure differential privacy); 0 of 1 has been spent. Ask for less, or give a larger budget
    """

    __module__ = _PACKAGE


class LedgerError(OpenDPLiteError, RuntimeError):
    """A ledger cannot be used and releases nothing: it is locked, damaged, replaced or copied."""

    __module__ = _PACKAGE


E = TypeVar("E", bound=OpenDPLiteError)


def find_library(
    name: str, needs: str, extra: str, kind: type[OpenDPLiteError] = ParameterError, more: str = ""
) -> Any:
    """A module of a library that a person may not have, or a refusal that says how to get it."""
    try:
        return import_module(name)
    except ImportError:
        asked = f'type: pip install "opendp_lite[{extra}]"{more}'
        raise kind(f"{needs}, which is not installed; {asked}") from None


def system_reason(problem: OSError) -> str:
    """What the operating system says of a failure."""
    return problem.strerror or type(problem).__name__


def shorten(problem: E) -> E:
    """The refusal with a traceback of the person's own lines: those of this package say no more."""
    own: TracebackType | None = None
    for trace in reversed(list(traces(problem.__traceback__))):
        if trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
            trace.tb_next, own = own, trace
    return problem.with_traceback(own)


def traces(trace: TracebackType | None) -> Iterator[TracebackType]:
    """The lines of a traceback, from the outermost."""
    while trace is not None:
        yield trace
        trace = trace.tb_next

"""What a value may be: rows in a body, a vector, one number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.errors import DataError, ParameterError, SpaceError
from opendp_lite.base.spelling import Storable
from opendp_lite.bodies import Body, Everything
from opendp_lite.display import pictures
from opendp_lite.display.formatting import printable
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.data.open_data import check_size, open_source, to_array
from opendp_lite.engines.data.source import public_columns, public_size
from opendp_lite.engines.data.table import list_columns, unknown_column
from opendp_lite.engines.missing import real_entries
from opendp_lite.engines.rows import LazyRows, materialise
from opendp_lite.metrics import distances
from opendp_lite.metrics.distances import Metric
from opendp_lite.numbers.exact import MOST_SHOWN, quote
from opendp_lite.numbers.grid import Grid
from opendp_lite.spelling.signatures import Arguments

_MOST_FLOAT = 2**53
_MOST_STEP = 2**61
_INT64 = np.dtype(np.int64)
_OF_ROWS = (
    "To release rows of data, put parentheses around the whole pipeline: "
    "(dp.clamp(0, 100) >> dp.sum() >> dp.laplace(epsilon=1))(data)"
)
_ONE_NUMBER = (
    "Put count() before it. If it is a step of your own for vectors too, let its space be "
    "dp.Space[dp.Scalars | dp.Vectors]"
)
_MOST_EXPONENT = 2**16
_NOTHING_TO_CHOOSE = (
    "There is nothing to choose. Put a sum of several columns before it, such as "
    "dp.select('sex') >> dp.one_hot(['f', 'm']) >> dp.sum(). If it is a step of your own for one "
    "number, let its space be dp.Space[dp.Scalars]"
)
Origin = tuple[str, Arguments]


class Domain(Storable, ABC):
    """A set of values, with how a person hands one in and gets one out.

    ``kind`` names such values in a refusal; ``bridge`` says which step leads to them, and
    ``onward`` which step has to come first where others refuse them. ``given`` names what a step
    gives, where that is less than ``kind``.
    """

    kind: ClassVar[str]
    bridge: ClassVar[str]
    onward: ClassVar[str] = ""
    given: ClassVar[str] = ""

    @abstractmethod
    def to_internal(self, value: object) -> Any:
        """A value as typed, checked for what is public, in the form that steps work on."""

    @abstractmethod
    def to_public(self, value: Any) -> Any:
        """The reverse of ``to_internal``."""

    def of_release(self, value: Any, words: Callable[[int], NDArray[np.uint64]]) -> Any:
        """A value in internal form that is read for a release, with its source of random words."""
        return value

    @property
    def receive(self) -> Callable[..., Any]:
        """Brings what a step's function returned into the form that steps work on."""
        return identity

    @abstractmethod
    def words(self) -> str:
        """The domain in a few words."""

    def check_metric(self, metric: Metric) -> None:
        """Refuses a metric that does not measure such values."""
        if isinstance(metric, distances.RowMetric | distances.SymmetricIdDistance):
            raise self._refuse_metric(metric)

    def _refuse_metric(self, metric: Metric) -> SpaceError:
        return SpaceError(f"{metric!r} does not measure {self.words()}")

    def sketch(self) -> pictures.Sketch:
        """Its shape, for pictures of pipelines."""
        return pictures.TABLE

    def public(self) -> tuple[str, ...]:
        """What this declares as public, a sentence each."""
        return (f"The kind of data: {self.words()}.",)

    def towards(
        self, kinds: tuple[type[Domain], ...], step: str
    ) -> tuple[Domain, Callable[[Any], Any]]:
        """What a step that works on these kinds is given of a value: itself, unless more is said.

        Args:
            kinds: The kinds of domain that the step works on; empty for any.
            step: Its name, for a refusal.

        Returns:
            A domain, and the function to its values.
        """
        return self, identity

    @classmethod
    def bridge_from(cls, given: type[Domain]) -> str:
        """What to do where such values are needed, and others are given."""
        return given.onward or cls.bridge

    @classmethod
    @abstractmethod
    def front(cls) -> tuple[Domain, Metric, Origin]:
        """The domain and metric that a bare pipeline binds itself to, and how that is typed."""


def _check_dimension(value: int) -> int:
    return public_columns(value, "dimension")


def _check_exponent(value: int | None) -> int | None:
    """The exponent of a grid, which sums keep within a few thousand."""
    if value is None or (type(value) is int and abs(value) <= _MOST_EXPONENT):
        return value
    raise ParameterError(
        f"exponent must be a whole number within {_MOST_EXPONENT} of 0, got {quote(value)}"
    )


@attrs.frozen(repr=False)
class Rows(Domain):
    """Datasets: any number of rows, each in a body.

    Args:
        columns: How many columns each row has.
        size: The number of rows, where it is public; None where it is private.
        body: The convex set that every row lies in; ``Everything`` by default.
        names: Of the columns. A table's columns are then picked by them.

    Raises:
        ParameterError: If ``columns`` or ``size`` is no whole number of at least 1, or the body
            is for another number of columns.

    Example:
        >>> import opendp_lite as dp
        >>> isinstance(dp.records(columns=2).domain, dp.Rows), dp.records(columns=2).domain.columns
        (True, 2)
    """

    kind = "rows"
    bridge = "Put it before sum() or count(), where there are rows."

    columns: int = attrs.field(default=1, converter=public_columns)
    size: int | None = attrs.field(default=None, converter=public_size)
    body: Body = attrs.Factory(lambda rows: Everything(rows.columns), takes_self=True)
    names: tuple[str, ...] | None = None

    def __attrs_post_init__(self) -> None:
        if self.body.columns != self.columns:
            raise ParameterError(f"Rows: there are {self.columns} columns; give a body of as many")

    def to_internal(self, value: object) -> Any:
        source = open_source(value, self.names)
        if source.columns not in (None, self.columns):
            raise DataError(self._columns_message(source.columns))
        return LazyRows(check_size(source, self.columns, self.size))

    def of_release(self, value: Any, words: Callable[[int], NDArray[np.uint64]]) -> Any:
        return value.for_release(lambda places: words(len(places)))

    def _columns_message(self, found: int) -> str:
        return (
            f"the pipeline is for {self.columns} column{'s' * (self.columns != 1)} and the data "
            f"has {found}; pass the column{'s' * (self.columns != 1)} that it is for (of a table, "
            "df['age'], or start with dp.records(columns=['age', ...])). For all of them start "
            f"with dp.table() >> if they have names, or with dp.records(columns={found}) >>"
        )

    def to_public(self, value: Any) -> np.ndarray:
        array = materialise(value)
        if array.shape == (0, 0):
            array = array.reshape(0, self.columns)
        return array[:, 0] if self.columns == 1 else array

    def __repr__(self) -> str:
        names = "" if self.names is None else f", names={self.names!r}"
        return f"dp.Rows({self.columns}, size={self.size}, body={self.body!r}{names})"

    def words(self) -> str:
        count = "" if self.size is None else f"{self.size} "
        columns = f" of {self.columns} columns" if self.columns > 1 else ""
        inside = f" in {self.body!r}".replace("dp.bodies.", "")
        if isinstance(self.body, Everything):
            inside = ""
        return f"{count}rows{columns}{inside}"

    def check_metric(self, metric: Metric) -> None:
        if not isinstance(metric, distances.RowMetric):
            raise self._refuse_metric(metric)
        name = type(metric).__name__
        if metric.fixed_size and self.size is None:
            raise SpaceError(
                f"{name} holds the number of rows fixed, so it is public; declare it: "
                f"dp.records(size=..., metric={metric!r})"
            )
        if self.size is not None and not metric.fixed_size:
            raise SpaceError(
                f"{name} changes the number of rows, so it is private: leave size out, or use "
                "metric=dp.ChangeOneDistance()"
            )

    def sketch(self) -> pictures.Sketch:
        return self.body.sketch()

    def refuse_unknown(self, asked: Sequence[object], step: str) -> None:
        """Refuses names of columns that are not there; many may be data, given by mistake."""
        names = self.names
        if names is None:
            return
        lost = [each for each in asked if isinstance(each, str) and each not in names]
        if len(lost) > MOST_SHOWN:
            there = list_columns(names, MOST_SHOWN)
            raise SpaceError(f"{step}: {len(lost)} columns are not there; the {there}")
        if lost:
            raise SpaceError(f"{step}: {unknown_column(lost[0], names)}")

    def public(self) -> tuple[str, ...]:
        found = [f"The number of columns: {self.columns}."]
        if self.names is not None:
            found = [f"The columns: {', '.join(map(printable, self.names))}."]
        if self.size is not None:
            found.append(f"The number of rows: {self.size}.")
        if not isinstance(self.body, Everything):
            found.append(f"Every row lies in {self.body!r}.")
        return tuple(found)

    @classmethod
    def front(cls) -> tuple[Domain, Metric, Origin]:
        return cls(), distances.SymmetricDistance(), ("records", ())


class NumberDomain(Domain):
    """A vector or a number, in floats or on a grid."""

    exponent: int | None

    @property
    def dimension(self) -> int:
        """How many numbers: one."""
        return 1

    @property
    def names(self) -> tuple[str, ...] | None:
        """What the numbers are called; None where nobody said."""
        return None

    @property
    def receive(self) -> Callable[[object], Grid]:
        return partial(_receive, dimension=self.dimension, exponent=self.exponent)

    def words(self) -> str:
        """So many numbers. A grid is named where it is that of whole numbers, or coarser."""
        count, exponent = self.dimension, self.exponent
        whole = "whole " if exponent is not None and exponent >= 0 else ""
        steps = f" in steps of 2^{exponent}" if exponent is not None and exponent > 0 else ""
        return f"one {whole}number{steps}" if count == 1 else f"{count} {whole}numbers{steps}"


@attrs.frozen(repr=False)
class Vectors(NumberDomain):
    """Vectors of a public length.

    NaN counts as 0 in a vector of floats. Entries beyond +-2^53 count as +-2^53, and so do entries
    beyond what a release can tell apart. This moves no two vectors further apart. The distance of
    fractions is that of their float64 values. ``longdouble`` is refused.

    Args:
        dimension: The number of entries.
        exponent: Of the grid, where every entry is a multiple of 2^exponent, as in sums; None
            for any floats.
        non_negative: Whether no entry is ever below 0, as in a sum of rows that are not: intervals
            then start at 0.
        names: Of the entries, as a sum has those of its columns. A table of estimates shows them.

    Raises:
        ParameterError: If ``dimension`` is no whole number of at least 1, or ``exponent`` is none
            within 2^16 of 0.

    Example:
        >>> import opendp_lite as dp
        >>> domain = (dp.records(columns=2) >> dp.clamp(0, 9) >> dp.sum()).output_space.domain
        >>> isinstance(domain, dp.Vectors), domain.dimension, domain.non_negative
        (True, 2, True)
    """

    kind = "a vector with a bounded distance"
    bridge = "Put sum() or count() between them."

    dimension: int = attrs.field(converter=_check_dimension)
    exponent: int | None = attrs.field(default=None, converter=_check_exponent)
    non_negative: bool = attrs.field(default=False, kw_only=True)
    names: tuple[str, ...] | None = attrs.field(default=None, kw_only=True)

    def to_internal(self, value: object) -> Grid:
        array = to_array(value)
        if array.shape != (self.dimension,):
            entries = "1 entry" if self.dimension == 1 else f"{self.dimension} entries"
            raise DataError(
                f"needs a vector of {entries}, got shape {array.shape}. For n entries start with "
                f"dp.vector(n). {_OF_ROWS}"
            )
        return _admit(array, self.exponent)

    def to_public(self, value: Grid) -> np.ndarray:
        return value.floats

    def __repr__(self) -> str:
        least = ", non_negative=True" if self.non_negative else ""
        names = "" if self.names is None else f", names={self.names!r}"
        return f"dp.Vectors({self.dimension}, exponent={self.exponent}{least}{names})"

    def sketch(self) -> pictures.Sketch:
        return pictures.ARROW

    @classmethod
    def bridge_from(cls, given: type[Domain]) -> str:
        return _NOTHING_TO_CHOOSE if issubclass(given, Scalars) else super().bridge_from(given)

    @classmethod
    def front(cls) -> tuple[Domain, Metric, Origin]:
        return cls(1), distances.L2Distance(), ("vector", (("dimension", 1),))


@attrs.frozen(repr=False)
class Scalars(NumberDomain):
    """One number.

    Args:
        exponent: As for ``Vectors``.
        non_negative: As for ``Vectors``.

    Example:
        >>> import opendp_lite as dp
        >>> isinstance((dp.records() >> dp.count()).output_space.domain, dp.Scalars)
        True
    """

    kind = "a vector or a number with a bounded distance"
    given = "one number"
    bridge = "Put sum() or count() between them."

    exponent: int | None = attrs.field(default=None, converter=_check_exponent)
    non_negative: bool = attrs.field(default=False, kw_only=True)

    def to_internal(self, value: object) -> Grid:
        if self.exponent is None and type(value) in (int, float):
            return Grid(np.array([_limit(cast(float, value))]), 0)
        if isinstance(value, np.ndarray) and value.shape == ():
            value = value[()]
        array = to_array([value])
        if array.shape != (1,):
            raise DataError(f"needs one number, got {type(value).__name__}. {_OF_ROWS}")
        return _admit(array, self.exponent)

    def to_public(self, value: Grid) -> int | float:
        return int(value.steps[0]) if self.exponent == 0 else float(value)

    def __repr__(self) -> str:
        least = ", non_negative=True" if self.non_negative else ""
        return f"dp.Scalars(exponent={self.exponent}{least})"

    def sketch(self) -> pictures.Sketch:
        return pictures.NUMBER

    @classmethod
    def bridge_from(cls, given: type[Domain]) -> str:
        return _ONE_NUMBER if issubclass(given, Vectors) else super().bridge_from(given)

    @classmethod
    def front(cls) -> tuple[Domain, Metric, Origin]:
        return cls(), distances.AbsoluteDistance(), ("scalar", ())


def _receive(value: object, dimension: int, exponent: int | None) -> Grid:
    """A vector that a step made: exact as it came, or of floats where the space says no grid.

    Entries of a float array that are no real numbers count as missing, without a warning: whether
    there are any may depend on the data.
    """
    if type(value) is Grid:
        found = _exactly(value, exponent)
        if found is not None and found.steps.shape == (dimension,):
            return found
    if type(value) is Grid or exponent is not None:
        raise SpaceError(
            f"a step returned numbers that are not {dimension} whole multiples of 2^{exponent}, as "
            f"its output space says; keep the whole steps of the dp.Grid that it was given, or say "
            f"dp.Vectors({dimension}) for floats and return a float array"
        )
    floats = np.atleast_1d(real_entries(value))
    if floats.shape != (dimension,):
        raise SpaceError(f"a step returned the shape {floats.shape}, not ({dimension},)")
    return Grid(floats, 0)


def _exactly(value: Grid, exponent: int | None) -> Grid | None:
    """A grid's numbers as noise takes them; None where they are not such as its space says.

    Floats would be rounded down to whole steps, and their exponent is left out of account.
    """
    steps, fits = value.steps, exponent in (None, value.exponent)
    if fits and steps.dtype is _INT64:
        return value
    if steps.dtype == np.float64:
        return value if exponent is None and value.exponent == 0 else None
    if fits and steps.dtype.kind in "biu":
        narrow = steps.dtype == np.int64 or steps.dtype.itemsize < np.dtype(np.int64).itemsize
        return attrs.evolve(value, steps=steps.astype(np.int64 if narrow else object, copy=False))
    whole = fits and steps.dtype.kind == "O" and all(isinstance(each, int) for each in steps.flat)
    return value if whole else None


def _limit(value: float) -> float:
    """As ``_admitted`` for one float or whole number."""
    return float(min(max(value, -_MOST_FLOAT), _MOST_FLOAT)) if value == value else value


def _admit(array: np.ndarray, exponent: int | None) -> Grid:
    """Numbers as the steps take them, by a cast that moves no two of them further apart."""
    if exponent not in (None, 0):
        raise DataError("a value on such a grid comes from sum(); use dp.vector() or dp.scalar()")
    if exponent is None:
        if array.dtype.itemsize > np.dtype(np.float64).itemsize:
            raise DataError(
                f"dtype {array.dtype} would be rounded to float64; round it yourself first"
            )
        # Rounding keeps the order and 2^53 is a float: whole numbers are limited exactly.
        floats = array.astype(np.float64, copy=False)
        return Grid(floats.clip(-_MOST_FLOAT, _MOST_FLOAT), 0)
    if array.dtype.kind not in "iub":
        raise DataError("a value on the grid of whole numbers must be whole numbers")
    unsigned = array.dtype.kind == "u"
    whole = array.astype(np.uint64 if unsigned else np.int64, copy=False)
    limited = whole.clip(0 if unsigned else -_MOST_STEP, _MOST_STEP)
    return Grid(limited.astype(np.int64, copy=False), 0)

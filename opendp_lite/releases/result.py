"""What every release answers to what people type and it does not have."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import attrs
import numpy as np

from opendp_lite.base.errors import ParameterError
from opendp_lite.base.spelling import Storable
from opendp_lite.display import formatting
from opendp_lite.numbers.exact import Number
from opendp_lite.releases.table import Record, ReleaseTable, add_total
from opendp_lite.spelling.suggestions import explain_names, refuse_name


class Result(Storable):
    """What releases share: pickles by public names, and what to type in place of what they lack."""

    __slots__ = ()
    # The function of ``dp.plotting`` that draws it; none where nothing does.
    plotted_by: ClassVar[str] = ""

    def of_part(self, release: object, part: Hashable) -> Self:
        """The same, as a part of a release whose parts have other rows and other noise."""
        return self

    @property
    def covers(self) -> str:
        """In what the intervals hold what is estimated, in words; empty where there are none."""
        return ""

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, for ``json.dumps``. A number that is not finite is None."""
        kind: Any = type(self)
        fields = (each.name for each in attrs.fields(kind) if each.init)
        return {name: formatting.for_json(getattr(self, name)) for name in fields}

    def records(self) -> list[Record]:
        """What is released in rows: a dictionary for each."""
        kind = type(self).__name__
        raise TypeError(f"{_with_article(kind)} is no table; type release.as_dict() for its parts")

    @explain_names
    def table(
        self,
        *,
        suppress: Number | Mapping[str, Number] | None = None,
        round: Number | Mapping[str, Number] | None = None,  # noqa: A002
        digits: int | Mapping[str, int] | None = None,
        percent: bool = False,
        total: bool = False,
        wide: bool = False,
    ) -> ReleaseTable:
        """The release as a table to print or to publish.

        Args:
            suppress: Counts below this are left out. Of other statistics, those of fewer rows are,
                where the release tells about how many there were; of a share those that have it
                count. Of ``dp.compose`` with a count named n, ``{"n": 15}`` leaves out all of its
                group, or all of the release.
            round: Numbers become multiples of this: 5, say, or 0.1. Ends are rounded outwards. Of
                ``dp.compose`` perhaps by part, as in ``{"n": 5, "mean": 0.1}``.
            digits: In place of ``round``: how many decimals are left. Likewise by part.
            percent: Whether shares are multiplied by 100.
            total: Whether a last row adds up: counts by category, and counts and sums by group. It
                is ``sum(release.values())``, with its interval.
            wide: Whether numbers by two keys are laid out in two ways, without intervals: a
                histogram of two columns, with ``total`` with both margins, or shares by group.

        Nobody is protected by leaving out or by rounding: the noise did that. Both are for readers
        who would take noise for a finding. A count that is left out and one that is 0 look alike.

        Returns:
            A table, which prints, and has ``to_frame()`` and ``to_csv()``.

        Raises:
            ParameterError: If what was asked for is not for these numbers, in words.
        """
        records, note = self._in_two_ways(total) if wide else (self.records(), self._footnote)
        if total and not wide and records:
            records = [*records, self._total(records)]
        limits = {"suppress": suppress, "round_to": round}
        covers = self.covers if wide else ""
        found = ReleaseTable.of(
            records, note, **limits, digits=digits, percent=percent, wide=wide, covers=covers
        )
        said = [found.note]
        if total and any(None in cells for cells in found.columns.values()):
            said.append("What is not shown may follow from the totals.")
        if total and found.places is not None:
            said.append("Rounded numbers may not add up to the totals.")
        return attrs.evolve(found, note=" ".join(said))

    def _in_two_ways(self, total: bool, /) -> tuple[list[Record], str]:
        """A row for each cell of a table in two ways, and what to say of them."""
        if total:
            raise ParameterError(
                "table: total=True with wide=True is for a dp.histogram of two columns with "
                "categories=: leave one of them out"
            )
        said = filter(None, [formatting.as_sentence(self.treated), self._unsaid])
        return self.records(), " ".join(said)

    def _total(self, records: Sequence[Record]) -> Record:
        """The row of what all rows of a table add up to."""
        parts: Any = getattr(self, "_summands", ()) if isinstance(self, Mapping) else ()
        if not parts:
            columns = getattr(self, "column", "sex").split(", ")
            raise ParameterError(
                "table: total=True adds up counts, and sums that have confidence=0.95. The mean of "
                "all is paid beside those of groups, as in dp.compose(all=mean, by=dp.by("
                f"{columns if columns[1:] else columns[0]!r}, keys, mean)), where mean is "
                "dp.select('age') >> dp.mean(0, 100, epsilon=0.5), say"
            )
        shown = "total" if getattr(self, "threshold", None) is None else "total of these"
        return add_total(records[0], records_of(sum(parts))[0], shown)

    @property
    def _footnote(self) -> str:
        """What stands below a table."""
        ends = f"low to high: {self.covers}." if self.covers else ""
        return " ".join(filter(None, [ends, formatting.as_sentence(self.treated), self._unsaid]))

    @property
    def treated(self) -> str:
        """Of which values the numbers are, in words; empty where there is nothing to say."""
        return ""

    @property
    def _unsaid(self) -> str:
        """What the intervals leave out, in sentences."""
        return ""

    def to_frame(self, **asked: Any) -> Any:
        """A data frame of pandas, a row for each number; what is asked for is that of ``table``.

        polars and others read ``table()``.
        """
        return self.table(**asked).to_frame()

    def to_csv(self, path: Any = None, **asked: Any) -> str | None:
        """As CSV: into a file, or as text without a path. What is asked for is ``table``'s."""
        return self.table(**asked).to_csv(path)

    def plot(self, **asked: Any) -> Any:
        """Draws the release with matplotlib: see the functions of ``dp.plotting``."""
        if not self.plotted_by:
            raise TypeError(
                f"{_with_article(type(self).__name__)} has no picture of its own; type "
                "release.as_dict() for its parts"
            )
        # The room above this one: only a picture that is asked for needs it.
        plotting = import_module("opendp_lite.plotting")
        return explain_names(getattr(plotting, self.plotted_by))(self, **asked)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    if not TYPE_CHECKING:
        # Hidden from type checkers, which are to flag what is refused here.

        __getattr__ = refuse_name

        def _refuse_arithmetic(self, *_: object) -> NoReturn:
            kind = type(self)
            plain = "release.value" if hasattr(kind, "value") else "release.as_dict()"
            raise TypeError(
                f"{_with_article(kind.__name__)} is a release with its error, and does not compute "
                f"or compare: the error would be lost. Write {plain} for what is released alone, "
                "or release.table(digits=1, percent=True) for a table to print"
            )

        def __format__(self, spec: str) -> str:
            if spec:
                self._refuse_arithmetic()
            return str(self)

        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_arithmetic
        __truediv__ = __rtruediv__ = __pow__ = __neg__ = __abs__ = _refuse_arithmetic
        __round__ = __int__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_arithmetic


def mark_part(found: object, release: object, part: Hashable) -> Any:
    """What was released of one part of the rows; a plain number as it is."""
    if isinstance(found, tuple):
        return tuple(mark_part(each, release, part) for each in found)
    return found.of_part(release, part) if isinstance(found, Result) else found


def refuse_array(release: Result, *_: object, **__: object) -> NoReturn:
    """Of a mapping, arrays and frames would keep the keys and lose the numbers."""
    raise TypeError("type release.to_frame() for a data frame, or release.records() for its rows")


def records_of(found: object) -> list[Record]:
    """What was released in rows: a number is a row of one."""
    if isinstance(found, Result):
        return found.records()
    if isinstance(found, tuple | list | np.ndarray):
        parts = enumerate(found)
        return [{"part": place, **row} for place, each in parts for row in records_of(each)]
    return [{"value": found}]


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


class NotPrivateArray(np.ndarray[Any, np.dtype[Any]]):
    """An exact result of a pipeline without noise. It works like any numpy array."""

    def __repr__(self) -> str:
        text = np.array2string(np.asarray(self), separator=", ", prefix="NotPrivate(")
        return f"NotPrivate({text})"

    __str__ = __repr__


class _NotPrivate:
    """Says what it is."""

    def __repr__(self) -> str:
        return f"NotPrivate({super().__repr__()})"

    __str__ = __repr__


class NotPrivateInt(_NotPrivate, int):
    """An exact count of a pipeline without noise."""


class NotPrivateFloat(_NotPrivate, float):
    """An exact number of a pipeline without noise."""


def mark_as_exact(value: np.ndarray | float) -> NotPrivateArray | NotPrivateInt | NotPrivateFloat:
    """The value, which says in its repr that it is not private."""
    if isinstance(value, np.ndarray):
        return value.view(NotPrivateArray)
    return NotPrivateInt(value) if isinstance(value, int) else NotPrivateFloat(value)


@attrs.frozen
class InsecureRelease(Storable):
    """A reproducible release: NOT private, for tests and teaching.

    Args:
        value: The release.
        seed: The seed that repeats it.

    Example:
        >>> import opendp_lite as dp
        >>> count = dp.count() >> dp.laplace(epsilon=1)
        >>> count.insecure_release([1, 2, 3], seed=4)
        InsecureRelease(NOT PRIVATE, seed=4, value=3)
    """

    value: Any
    seed: int

    def __repr__(self) -> str:
        return f"InsecureRelease(NOT PRIVATE, seed={self.seed}, value={self.value!r})"

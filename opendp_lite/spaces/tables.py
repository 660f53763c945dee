"""Tables: rows whose columns are picked by name, text among them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from opendp_lite.base.dates import PeriodKey
from opendp_lite.base.errors import ParameterError, SpaceError
from opendp_lite.display import pictures
from opendp_lite.display.formatting import printable
from opendp_lite.engines import columns, grouped
from opendp_lite.engines.data.fold import identity
from opendp_lite.engines.dates import mark_period
from opendp_lite.metrics.distances import Metric, SymmetricDistance, SymmetricIdDistance
from opendp_lite.numbers.exact import quote_entry
from opendp_lite.spaces.domains import Domain, Origin, Rows

T = TypeVar("T")


@attrs.frozen(repr=False)
class Tables(Rows):
    """Datasets of which a pipeline reads the columns that it names, as numbers or as categories.

    Args:
        columns: How many columns there are; 1 where they are not declared.
        size: The number of rows, where it is public; None where it is private.
        body: Everything: the values are not known to lie anywhere.
        names: Of the columns; None where the data brings its own.
        limit: How many rows a person has, in words; empty where nothing is said.
        periods: The columns of which each date is the first day of its period, and its name.

    Example:
        >>> import opendp_lite as dp
        >>> declared = dp.records(columns=["age", "sex"])
        >>> isinstance(dp.table().domain, dp.Tables), declared.domain.names
        (True, ('age', 'sex'))
    """

    kind = "a table with named columns"
    bridge = "Start with dp.records(columns=[...]), or put it before the other steps."

    limit: str = ""
    periods: tuple[tuple[str, str], ...] = ()

    def mark_periods(self, columns: Sequence[str], keys: Sequence[Any]) -> tuple[Hashable, ...]:
        """Keys, of several columns in tuples, where they are first days of periods as these."""
        made = [dict(self.periods).get(each) for each in columns]
        several = len(made) > 1
        # Keys of another release may be periods that this column has none of.
        kinds = set(map(type, chain.from_iterable(keys) if several else keys))
        if not any(made) and PeriodKey not in kinds:
            return tuple(keys)
        return tuple(
            tuple(map(mark_period, key, made)) if several else mark_period(key, *made)
            for key in keys
        )

    def to_internal(self, value: object) -> grouped.LazyTable:
        return grouped.LazyTable(columns.Dataset(value, self.names, self.size), self.names)

    def to_public(self, value: grouped.LazyTable) -> np.ndarray:
        return super().to_public(value.numbers())

    def towards(
        self, kinds: tuple[type[Domain], ...], step: str
    ) -> tuple[Domain, Callable[[Any], Any]]:
        if Tables in kinds or not kinds:
            return self, identity
        if self.names is None:
            raise SpaceError(
                f"{step} works on columns of numbers; say which, with dp.select('age') before it"
            )
        return Rows(self.columns, self.size, names=self.names), grouped.Numbers()

    def find_names(self, columns: Sequence[object], step: str) -> tuple[str, ...]:
        """The names of columns that a step asks for, refused where the space declares others."""
        for column in columns:
            if not isinstance(column, str):
                raise ParameterError(
                    f"{step}: a table's columns are picked by name, such as 'age'; got a value of "
                    f"type {type(column).__name__}"
                )
        self.refuse_unknown(columns, step)
        return cast("tuple[str, ...]", tuple(columns))

    def words(self) -> str:
        count = "" if self.size is None else f"{self.size} "
        columns = "" if self.names is None else f" of {', '.join(self.names)}"
        limit = f", {self.limit}" if self.limit else ""
        return f"{count}rows of a table{columns}{limit}"

    def sketch(self) -> pictures.Sketch:
        return pictures.TABLE

    def public(self) -> tuple[str, ...]:
        declared = super().public()
        return declared[1:] if self.names is None else declared

    def __repr__(self) -> str:
        return f"dp.Tables(names={self.names!r}, size={self.size})"

    @classmethod
    def front(cls) -> tuple[Domain, Metric, Origin]:
        return cls(), SymmetricDistance(), ("table", ())


@attrs.frozen(repr=False)
class PersonTables(Domain):
    """Tables in which a person may have any number of rows.

    No sum or count of such rows is stable, so every step refuses them that does not name them.

    Args:
        rows: The tables without regard to people.
        person: The column that tells people apart.
    """

    kind = "a table in which a person may have any number of rows"
    bridge = "Start with dp.records(columns=[...], person='id')."
    onward = "Put dp.bound_contributions(3) before it, so that a person has at most 3."

    rows: Tables
    person: str

    def to_internal(self, value: object) -> grouped.LazyTable:
        return self.rows.to_internal(value)

    def to_public(self, value: grouped.LazyTable) -> np.ndarray:
        return self.rows.to_public(value)

    def of_release(self, value: object, words: Callable[[int], NDArray[np.uint64]]) -> Any:
        return self.rows.of_release(value, words)

    def words(self) -> str:
        return f"{self.rows.words()}, any number of a person"

    def check_metric(self, metric: Metric) -> None:
        if not isinstance(metric, SymmetricIdDistance):
            raise self._refuse_metric(metric)
        if metric.person != self.person:
            raise SpaceError(
                f"{metric!r} does not measure a table whose people are told apart by "
                f"{self.person!r}; name one column, as dp.table(person={self.person!r}) does"
            )

    def public(self) -> tuple[str, ...]:
        return *self.rows.public(), f"The column that tells people apart: {printable(self.person)}."

    def __repr__(self) -> str:
        return f"<{self.words()}>"

    @classmethod
    def front(cls) -> tuple[Domain, Metric, Origin]:
        domain = cls(Tables(), "id")
        return domain, SymmetricIdDistance("id"), ("table", (("person", "id"),))


def name_once(columns: Sequence[T], step: str) -> Sequence[T]:
    """Columns of which a step asks for each once."""
    twice = [place for place, each in enumerate(columns) if each in columns[:place]]
    if twice:
        column = quote_entry(columns, twice[0])
        raise ParameterError(f"{step}: the column {column} stands there twice; name it once")
    return columns


def tables_in(domain: Domain) -> Tables:
    """The tables of a space, without regard to people."""
    return domain.rows if isinstance(domain, PersonTables) else cast(Tables, domain)


if TYPE_CHECKING:
    TablesOrRows = Rows
    RowsOrTables = Rows
    TablesOrPeople = Tables
    AnyTables = Rows
    AnyRows = Rows
else:
    TablesOrRows = TypeVar("TablesOrRows", Tables, Rows)
    RowsOrTables = TypeVar("RowsOrTables", Rows, Tables)
    TablesOrPeople = TypeVar("TablesOrPeople", Tables, PersonTables)
    AnyTables = TypeVar("AnyTables", Tables, PersonTables, Rows)
    AnyRows = TypeVar("AnyRows", Rows, Tables, PersonTables)
"""In the annotation of a step: it works on tables as they are, and on rows of numbers. By itself it
binds to the first of them. Those with people also work where a person may have any number of rows.
"""

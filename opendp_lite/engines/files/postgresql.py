"""Queries to a PostgreSQL server, which adds up itself, or whose rows come in batches."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial, partialmethod
from itertools import count
from typing import Any, ClassVar, Final
from weakref import finalize, ref

import attrs

from opendp_lite.base.errors import DataError, ParameterError, find_library
from opendp_lite.base.postgresql import ESCAPES, URL, connect
from opendp_lite.engines.columns import ColumnBlocks, StoredPart
from opendp_lite.engines.data import blocks, expressions, open_data, source
from opendp_lite.engines.data.table import Column
from opendp_lite.numbers.exact import quote

_WHAT: Final = "a query to PostgreSQL"
_NEEDS: Final = f"{_WHAT} needs psycopg"
# Types by their numbers, which are the same on each server.
_FLOATS: Final = {700: "float32", 701: "float64"}
_INTS: Final = {21: "int16", 23: "int32", 20: "int64"}
_BOOL: Final = 16
_NUMERIC: Final = 1700
# text, varchar and name. CHAR(n) is compared without blanks at its end, and citext without case.
_TEXTS: Final = (25, 1043, 19)
# A date that Python does not have is missing: an error would tell of it.
_DATE: Final = "CASE WHEN {0} >= '0001-01-01' AND {0} < '10000-01-01' THEN {0} END"
_BATCHES: Final = {
    **{kind: ("{}", name) for kind, name in (_FLOATS | _INTS | {_BOOL: "bool"}).items()},
    _NUMERIC: ("{}::text", "float64"),
    1082: (_DATE, "date32"),
    1114: (_DATE, "timestamp[us]"),
}
# All passes see the rows as they were when the query was opened, and none changes any. They come in
# the same order, by which a ledger knows them, and are evaluated as the public table of numbers is.
_BEGIN: Final = """BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL synchronize_seqscans = off;
SET LOCAL jit = off;
SET LOCAL idle_in_transaction_session_timeout = 0"""
# Of a text in another encoding there may be no UTF-8, so one row would decide on a refusal.
_ENCODING: Final = "SELECT pg_catalog.current_setting('server_encoding')"
# Operators of other schemas may take the place of those used here.
_OWN: Final = """SELECT 'on' = current_setting('standard_conforming_strings')
AND 'pg_catalog' = (current_schemas(true))[
  CASE WHEN (current_schemas(true))[1] LIKE 'pg_temp%' THEN 2 ELSE 1 END]"""
# Beyond, a sum with another float may be infinite, of which PostgreSQL makes an error. So it does
# of a square that is 0, of any float below the second, or infinite, of any from the third on.
_MOST_ADDED: Final = 2.0**969
_LEAST_SQUARED: Final = 2.0**-537.5
_MOST_SQUARED: Final = 2.0**512
_WAIT: Final = 30
# Classes of refusals that speak of names, rights and spelling. Others may quote data.
_SAID: Final = ("28", "3D", "42")
_CURSORS: Final = count()
# How what libpq takes in place of a URL begins, as no query does. Each may hold a password.
_SETTING: Final = re.compile(r"\s*\w+\s*=")
_SERVER: Final = re.compile(r"""[\s"']*\w[\w+.-]*\s*[:=]""")
_ORDER: Final = (
    "postgresql(): the server comes first, then the query. A server is "
    '"postgresql://user@host:5432/database", or what libpq takes, such as "host=... dbname=..."; '
    f"in a URL write a password with {ESCAPES}"
)
_QUERIES: Final = (
    'A query here begins with SELECT, VALUES, TABLE or WITH, changes nothing, and has no ";" at '
    "its end"
)
_FAILED: Final = (
    "the data could not be read to its end: the connection to PostgreSQL was lost, or a value made "
    "the query fail; open the query again, written so that no value can make it fail"
)
_PUBLIC: Final = "SELECT * FROM unnest({}::float8[], {}::bigint[], {}::text[]) AS public(x, i, k)"


def postgresql(server: str, query: str) -> blocks.Blocks:
    """The rows that a query to a PostgreSQL database gives, for a pipeline.

    The database adds up sums, counts and histograms itself, and whole numbers come here. All that
    is asked of the rows sees them as they are now: the query keeps a transaction open that reads,
    until nobody holds its rows any more. Needs psycopg and pyarrow.

    Args:
        server: Where the database is, "postgresql://user@server/database", or as libpq takes it.
            Keep the password in ~/.pgpass. A connection to another machine is encrypted, unless
            it says otherwise by ``sslmode``.
        query: "SELECT age, city FROM visits", or any query that changes nothing.

    Returns:
        The rows, which a pipeline takes as any table.

    Raises:
        ParameterError: If the server is none, or the query is one.
        DataError: If the server does not answer, or refuses the query.

    Example:
        >>> import opendp_lite as dp
        >>> server = "postgresql://ann@db.example.org/survey"
        >>> visits = dp.data.postgresql(server, "SELECT age FROM visits")  # doctest: +SKIP
        >>> ages = dp.select("age") >> dp.mean(0, 100, epsilon=1)
        >>> ages(visits)  # doctest: +SKIP
    """
    _require_order(server, query)
    library = find_library("psycopg", _NEEDS, "postgresql", DataError)
    open_data.with_pyarrow("pyarrow", _WHAT)
    connection = _connect(library, server)
    try:
        connection.execute(_BEGIN)
        ((encoding,),) = connection.execute(_ENCODING).fetchall()
        found = _ServerQuery.of(connection, query)
    except library.Error as problem:
        connection.close()
        state = problem.sqlstate or ""
        said = problem.diag.message_primary if state[:2] in _SAID else state or "no answer"
        raise DataError(f"PostgreSQL does not run {quote(query)}: {said}. {_QUERIES}") from None
    if encoding != "UTF8":
        connection.close()
        raise DataError(
            f"the database has the encoding {encoding}, and not each of its texts may be read as "
            "UTF-8; copy it into one that was made WITH ENCODING 'UTF8'"
        )
    finalize(found, _close, connection, found.process)
    return ColumnBlocks.of([found])


def _require_order(server: object, query: object) -> None:
    """Refuses a server that is none, and a query that may be one. Neither is repeated."""
    if not (isinstance(server, str) and isinstance(query, str)):
        kinds = f"{type(server).__name__} and {type(query).__name__}"
        raise ParameterError(
            f"postgresql() needs a str for the server and one for the query, got {kinds}"
        )
    is_server = not server.strip() or URL.fullmatch(server) or _SETTING.match(server)
    if not is_server or _SERVER.match(query):
        raise ParameterError(_ORDER)


def _connect(library: Any, server: str) -> Any:
    """A connection, or why there is none: no data was read by then, but there may be a password."""
    try:
        return connect(library, server, _WAIT)
    except library.ProgrammingError:
        # It repeats a part of what cannot be read, which may be that of a password.
        refusal: Exception = ParameterError(_ORDER)
    except library.Error as problem:
        said = " ".join(str(problem).split())
        secret = library.conninfo.conninfo_to_dict(server).get("password")
        if secret and secret in said:
            said = "the reason holds the password, and is not shown"
        refusal = DataError(f"PostgreSQL cannot be reached: {said}")
    raise refusal


@attrs.frozen(eq=False)
class _Sql:
    """An expression of a row, of which nothing is asked where one of some conditions is not met.

    So NULL and NaN need no care in the expression itself. A comparison has no conditions: where
    its number is missing it is not met.
    """

    text: str
    conditions: tuple[str, ...] = ()

    @property
    def is_there(self) -> str:
        return " AND ".join(self.conditions) or "true"

    def _than(self, sign: str, other: float) -> _Sql:
        return _Sql(f"({self.is_there} AND {self.text} {sign} {_number(other)})")

    def _with(self, word: str, other: _Sql) -> _Sql:
        return _Sql(f"({self.text} {word} {other.text})")

    def _plus(self, sign: str, other: float) -> _Sql:
        if not abs(other) <= _MOST_ADDED:
            raise expressions.NoExpressionError("it adds a number that is too large for PostgreSQL")
        return _Sql(f"({self.text} {sign} {_number(other)})", self.conditions)

    def __mul__(self, other: _Sql | float) -> _Sql:
        """Its square, or a whole number of grid units in units, which is exact."""
        if not isinstance(other, _Sql):
            return _Sql(f"({self.text} * {_number(other)})", self.conditions)
        size = f"pg_catalog.abs({self.text})"
        return _Sql(
            f"CASE WHEN {size} < {_number(_LEAST_SQUARED)} THEN {_number(0)} "
            f"WHEN {size} >= {_number(_MOST_SQUARED)} THEN {_number(math.inf)} "
            f"ELSE {self.text} * {other.text} END",
            self.conditions,
        )

    __add__, __sub__ = partialmethod(_plus, "+"), partialmethod(_plus, "-")
    __lt__, __le__ = partialmethod(_than, "<"), partialmethod(_than, "<=")
    __gt__, __ge__ = partialmethod(_than, ">"), partialmethod(_than, ">=")
    __and__, __or__ = partialmethod(_with, "AND"), partialmethod(_with, "OR")


def _number(value: float) -> str:
    return f"'{float(value)!r}'::float8"


def _cell(value: object) -> str:
    """A declared key: text, as bytes of UTF-8, or a whole number."""
    return "'" + value.decode().replace("'", "''") + "'" if isinstance(value, bytes) else str(value)


def _is_among(key: str, values: Sequence[object]) -> str:
    """No text there has a NUL, so a key that has one is none."""
    listed = [_cell(each) for each in values if not (isinstance(each, bytes) and b"\0" in each)]
    return f"{key} IN ({', '.join(listed)})" if listed else "false"


@attrs.frozen(eq=False, repr=False)
class _ServerQuery(StoredPart, expressions.Engine):
    """A query within a transaction, which runs anew for each pass and gives the same rows."""

    library: ClassVar[str] = "PostgreSQL"
    sums: ClassVar[bool] = True
    barred: ClassVar[str] = "\0"

    connection: Any
    query: str
    listed: tuple[tuple[str, int], ...]
    """The name of each column, and the number of its type."""
    process: int = attrs.field(factory=os.getpid, init=False)
    _passes: list[object] = attrs.field(factory=list, init=False)
    """Those in batches that are open."""

    @classmethod
    def of(cls, connection: Any, query: str) -> _ServerQuery:
        # What comes in binary may be one statement alone: a second one could end the transaction.
        asked = f"SELECT * FROM (\n{query}\n) AS found LIMIT 0"
        found = connection.execute(asked, binary=True).description
        return cls(connection, query, tuple((each.name, each.type_code) for each in found))

    @property
    def session(self) -> ref[Any]:
        return ref(self.connection)

    @classmethod
    def public(cls, session: ref[Any], columns: Mapping[str, list[Any]]) -> _ServerQuery:
        rows = find_library("psycopg.sql", _NEEDS, "postgresql").SQL(_PUBLIC)
        query = rows.format(*columns.values()).as_string()
        return source.attempt(partial(cls.of, session(), query), _FAILED)

    @property
    def is_own(self) -> bool:
        return self._ask(_OWN) == [(True,)]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.listed)

    def _column(self, name: str) -> tuple[str, int]:
        place = self.names.index(name)
        return f"c{place}", self.listed[place][1]

    def number(self, name: str) -> _Sql | None:
        column, kind = self._column(name)
        if kind in _FLOATS:
            return _Sql(f"{column}::float8", (f"{column} <> 'NaN'",))
        way = {_BOOL: "::int::float8", **dict.fromkeys(_INTS, "::float8")}.get(kind)
        return None if way is None else _Sql(f"{column}{way}", (f"{column} IS NOT NULL",))

    def key(self, name: str, kind: type) -> _Sql | None:
        """Text by its bytes, whatever collation the column has."""
        column, found = self._column(name)
        if found not in (_INTS if kind is int else _TEXTS):
            return None
        text = f"{column}::bigint" if kind is int else f'({column}::text COLLATE "C")'
        return _Sql(text, (f"{column} IS NOT NULL",))

    def clip(self, value: _Sql, low: float, high: float) -> _Sql:
        text = f"LEAST(GREATEST({value.text}, {_number(low)}), {_number(high)})"
        return _Sql(text, value.conditions)

    def choose(self, condition: _Sql, value: _Sql) -> _Sql:
        return _Sql(value.text, (*value.conditions, condition.text))

    def is_there(self, value: _Sql) -> _Sql:
        return _Sql(f"({value.is_there})")

    def among(self, key: _Sql, values: Sequence[object]) -> _Sql:
        return _Sql(f"({key.is_there} AND {_is_among(key.text, values)})")

    def total(self, raised: _Sql, exponent: int) -> _Sql:
        """Of any size: a sum of whole numbers of 64 bits is a decimal there."""
        steps: _Sql = expressions.lower(raised, exponent)
        return _Sql(f"pg_catalog.sum(({steps.text})::bigint) FILTER (WHERE {raised.is_there})")

    def count(self, value: _Sql) -> _Sql:
        return _Sql(f"pg_catalog.count(*) FILTER (WHERE {value.is_there})")

    def ask(
        self, keys: expressions.DeclaredKeys, wanted: Sequence[_Sql]
    ) -> Iterator[tuple[object, ...]]:
        told = [
            f"CASE WHEN {key.is_there} THEN {key.text} END" if key.conditions[1:] else key.text
            for key, _ in keys
        ]
        asked = [f"{key} AS k{place}" for place, key in enumerate(told)]
        asked += [f"{each.text} AS n{place}" for place, each in enumerate(wanted)]
        sql = f"SELECT {', '.join(asked)} FROM {self._rows}"
        if keys:
            groups = ", ".join(str(place + 1) for place in range(len(keys)))
            declared = " AND ".join(
                _is_among(f"k{place}", list(map(expressions.to_key, values)))
                for place, (_, values) in enumerate(keys)
            )
            # Without OFFSET it would look for the declared keys in each row, which is slower.
            sql = f"SELECT * FROM ({sql} GROUP BY {groups} OFFSET 0) AS found WHERE {declared}"
        for row in self._ask(sql):
            yield tuple(expressions.to_key(cell) for cell in row)

    @property
    def _rows(self) -> str:
        named = ", ".join(f"c{place}" for place in range(len(self.listed)))
        return f"(\n{self.query}\n) AS found({named})"

    def _ask(self, sql: str) -> list[tuple[object, ...]]:
        self._require_own_process()
        return source.attempt(partial(self._fetch, sql), _FAILED)

    def _fetch(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a statement. If it fails, the transaction goes on."""
        self.connection.execute("SAVEPOINT asked")
        try:
            found: list[tuple[object, ...]] = self.connection.execute(sql).fetchall()
        except Exception:
            self.connection.execute("ROLLBACK TO SAVEPOINT asked")
            raise
        self.connection.execute("RELEASE SAVEPOINT asked")
        return found

    def _require_own_process(self) -> None:
        if os.getpid() != self.process:
            raise DataError("the process was forked since the query was opened; open it again")

    def require(self, column: Column) -> None:
        name = column.name
        if not column.reading.tells_apart or name not in self.names:
            return
        if self._column(name)[1] == _NUMERIC:
            raise DataError(
                f"column {name!r} is numeric, and two of its values may have one nearest float; "
                f"as ids write {name}::bigint or {name}::text in the query"
            )

    def empty(self) -> object:
        return _make_table(self.listed, ())

    def batches(self, names: Sequence[str], rows: int) -> Iterator[object]:
        self._require_own_process()
        return open_data.guard(partial(self._batches, names, rows), _FAILED)

    def _batches(self, names: Sequence[str], rows: int) -> Iterator[object]:
        columns = [self._column(name) for name in names or self.names[:1]]
        named = [(self.listed[int(column[1:])][0], kind) for column, kind in columns]
        asked = (_way(kind)[0].format(column) for column, kind in columns)
        with (
            self._going_on(),
            self.connection.cursor(f"opendp_lite {next(_CURSORS)}", binary=True) as cursor,
        ):
            cursor.execute(f"SELECT {', '.join(asked)} FROM {self._rows}")
            while found := cursor.fetchmany(rows):
                yield _make_table(named, found)

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """If a pass in batches fails, the transaction goes on, and so does the next query.

        Passes may overlap and end in any order, and to release or roll back to one savepoint ends
        those within it. So all that overlap share one: a failure ends them together.
        """
        if not self._passes:
            self.connection.execute("SAVEPOINT passes")
        self._passes.append(None)
        try:
            yield
        except Exception:
            self.connection.execute("ROLLBACK TO SAVEPOINT passes")
            raise
        finally:
            self._passes.pop()
            if not self._passes:
                with suppress(Exception):  # A lost connection has no savepoint.
                    self.connection.execute("RELEASE SAVEPOINT passes")


def _way(kind: int) -> tuple[str, str]:
    """How a column of a type is asked for in batches, and the type that Arrow has for it.

    What is no number and no date comes as the text that PostgreSQL writes for it.
    """
    return _BATCHES.get(kind, ("{}::text", "string"))


def _make_table(columns: Sequence[tuple[str, int]], rows: Sequence[Sequence[Any]]) -> object:
    """Rows as a table of Arrow. Decimals come as text, of which the nearest floats are made."""
    arrow = open_data.with_pyarrow("pyarrow", _WHAT)
    cells: list[Any] = list(zip(*rows, strict=True)) or [()] * len(columns)
    made = list[Any]()
    for (_, kind), column in zip(columns, cells, strict=True):
        numbers = kind == _NUMERIC
        column = [float(each) if numbers and each is not None else each for each in column]
        made.append(arrow.array(column, arrow.type_for_alias(_way(kind)[1])))
    return arrow.Table.from_arrays(made, names=[name for name, _ in columns])


def _close(connection: Any, process: int) -> None:
    if os.getpid() == process:
        connection.close()

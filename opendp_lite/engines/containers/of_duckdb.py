"""Relations of DuckDB, which are run for the columns that a pipeline picks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias

import attrs
import duckdb  # type: ignore[import-not-found,unused-ignore]
from duckdb import CaseExpression, ColumnExpression, ConstantExpression, FunctionExpression  # type: ignore[import-not-found,unused-ignore]

from opendp_lite.base.errors import DataError
from opendp_lite.engines.columns import ColumnBlocks, StoredPart
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.expressions import DeclaredKeys, Engine, lower
from opendp_lite.engines.data.open_data import open_rows, with_pyarrow

_Expression: TypeAlias = Any
_INTS: Final = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
# Decimals come in blocks: Arrow and DuckDB do not round all of them to the same floats.
_NUMBERS: Final = {*_INTS, "UBIGINT", "BOOLEAN", "FLOAT", "DOUBLE"}
_FETCHED: Final = 2**12
# What expressions here are made of; a macro of one of these names would be taken in its place.
_OWN: Final = {"sum", "count", "isnan", "encode", "+", "-", "*"}
_MACROS: Final = (
    "select distinct function_name from system.main.duckdb_functions() where not internal"
)


@attrs.frozen(eq=False, repr=False)
class _Relation(StoredPart, Engine):
    """A query, which runs anew for each pass."""

    library: ClassVar[str] = "DuckDB"
    most_edges: ClassVar[int] = 10

    relation: duckdb.DuckDBPyRelation

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.relation.columns)

    def empty(self) -> object:
        return self.relation.limit(0).to_arrow_table()

    def batches(self, names: Sequence[str], rows: int) -> Iterator[object]:
        for name in names:
            if self._type(name) == "UHUGEINT":  # DuckDB gives Arrow those of 2^127 on as others.
                raise DataError(
                    f"column {name!r} is of DuckDB's type UHUGEINT, which does not come here "
                    f"whole; write {name}::DOUBLE or {name}::VARCHAR in the query"
                )
        columns = map(ColumnExpression, names or self.names[:1])
        yield from self.relation.select(*columns).to_arrow_reader(rows)

    @classmethod
    def public(cls, _: None, columns: Mapping[str, list[Any]]) -> _Relation:
        table = with_pyarrow("pyarrow", "reading a relation of DuckDB").table(columns)
        return cls(duckdb.connect().from_arrow(table))

    @property
    def is_own(self) -> bool:
        macros = self.relation.query("rows of opendp_lite", _MACROS)
        found = None if macros is None else macros.fetchall()
        return found is not None and _OWN.isdisjoint(name.lower() for (name,) in found)

    def _type(self, name: str) -> str:
        return str(self.relation.types[self.names.index(name)])

    def number(self, name: str) -> _Expression | None:
        if (kind := self._type(name)) not in _NUMBERS:
            return None
        number = ColumnExpression(name).cast("DOUBLE")
        if kind not in ("FLOAT", "DOUBLE"):
            return number
        missing = FunctionExpression("isnan", number)
        return CaseExpression(missing, ConstantExpression(None)).otherwise(number)

    def key(self, name: str, kind: type) -> _Expression | None:
        column = ColumnExpression(name)
        if kind is int:
            return column.cast("BIGINT") if self._type(name) in _INTS else None
        # By its bytes: a collation of the column or the session would make one key of several.
        text = self._type(name).startswith("VARCHAR")
        return FunctionExpression("encode", column) if text else None

    def clip(self, value: _Expression, low: float, high: float) -> _Expression:
        """By comparisons, which leave NULL as it is; ``least`` and ``greatest`` would skip it."""
        least, most = ConstantExpression(low), ConstantExpression(high)
        return CaseExpression(value < least, least).when(value > most, most).otherwise(value)

    def choose(self, condition: _Expression, value: _Expression) -> _Expression:
        return CaseExpression(condition, value)

    def is_there(self, value: _Expression) -> _Expression:
        return value.isnotnull()

    def among(self, key: _Expression, values: Sequence[Any]) -> _Expression:
        return key.isin(*map(ConstantExpression, values))

    def total(self, raised: _Expression, exponent: int) -> _Expression:
        """Of 128 bits, as each sum of 64-bit numbers is there; Arrow knows it as a decimal."""
        steps = lower(raised, exponent).cast("BIGINT")
        return FunctionExpression("sum", steps).cast("DECIMAL(38, 0)")

    def count(self, value: _Expression) -> _Expression:
        return FunctionExpression("count", value)

    def ask(self, keys: DeclaredKeys, wanted: Sequence[_Expression]) -> Iterator[tuple[Any, ...]]:
        numbers = [each.alias(f"number {place}") for place, each in enumerate(wanted)]
        told = [key.alias(f"key {place}") for place, (key, _) in enumerate(keys)]
        # To look for the declared keys in each row would be slower than groups that are not asked.
        for batch in self.relation.aggregate([*told, *numbers]).to_arrow_reader(_FETCHED):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@open_rows.register
def _of_relation(data: duckdb.DuckDBPyRelation) -> Blocks:
    with_pyarrow("pyarrow", "reading a relation of DuckDB")
    return ColumnBlocks.of([_Relation(data)])

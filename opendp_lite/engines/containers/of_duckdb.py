"""Relations of DuckDB, which are run for the columns that a pipeline picks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import duckdb  # type: ignore[import-not-found,unused-ignore]

from opendp_lite.engines.columns import ColumnBlocks, StoredPart
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.open_data import open_rows, with_pyarrow


@attrs.frozen(eq=False, repr=False)
class _Relation(StoredPart):
    """A query, which runs anew for each pass."""

    relation: duckdb.DuckDBPyRelation

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.relation.columns)

    def empty(self) -> object:
        return self.relation.limit(0).to_arrow_table()

    def batches(self, names: Sequence[str], rows: int) -> Iterator[object]:
        columns = map(duckdb.ColumnExpression, names or self.names[:1])
        yield from self.relation.select(*columns).to_arrow_reader(rows)


@open_rows.register
def _of_relation(data: duckdb.DuckDBPyRelation) -> Blocks:
    with_pyarrow("pyarrow", "reading a relation of DuckDB")
    return ColumnBlocks.of([_Relation(data)])

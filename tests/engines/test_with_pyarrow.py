"""What needs pyarrow says so, and names the extra to install."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import opendp_lite as dp

NEEDS = r"needs pyarrow, which is not installed; type: pip install \"opendp_lite\[arrow\]\""


def test_parquet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp_lite.engines.files.arrow", None)
    with pytest.raises(dp.ParameterError, match=f"dp.parquet {NEEDS}"):
        dp.parquet("visits.parquet")


def test_a_relation_of_duckdb(monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(dp.ParameterError, match=f"of DuckDB {NEEDS}"):
        dp.count()(duckdb.sql("select 1 as x"))


def test_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    class Exports:
        def __arrow_c_stream__(self, schema: object = None) -> Any:
            return pa.table({"x": [1.0]}).__arrow_c_stream__(schema)

    assert dp.count()(Exports()) == 1
    monkeypatch.setattr("opendp_lite.engines.data.open_data.find_spec", lambda name: None)
    with pytest.raises(dp.DataError, match=f"a Exports {NEEDS}"):
        dp.count()(Exports())


def test_a_query_that_fails_before_its_first_row_is_refused_in_our_words(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "patient 42.parquet"
    pq.write_table(pa.table({"x": [1.0]}), path)
    query = duckdb.sql(f"select * from '{path}'")
    path.unlink()
    for pipeline in (dp.count(), dp.select("x") >> dp.count()):
        with pytest.raises(dp.DataError, match="its columns are not known") as refusal:
            pipeline(query)
        assert "42" not in str(refusal.value)
        assert refusal.value.__context__ is None

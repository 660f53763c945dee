"""The same exact integers before noise, whatever holds the rows and however they are cut."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import StrEnum
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.values import SAMPLE
from opendp_lite.sessions.ledger.ledgers import DataIdentity
from tests.engines.refusals import refusal

ROWS = 603
_generator = np.random.default_rng(13)
NUMBERS = _generator.normal(5, 1e3, ROWS).repeat(2)[:ROWS]
"""Rows that repeat, of any number of digits."""
NUMBERS[::7] = np.nan
NUMBERS[5:9] = [2.0**-1074, -0.0, 2.0**60, np.inf]
WORDS = np.array(["f", "m", "x"])[_generator.integers(0, 3, ROWS)]
TABLE = pa.table({"w": WORDS, "x": pa.array(NUMBERS, from_pandas=True)})

NAMED = dp.table() >> dp.select("x")
SUM = NAMED >> dp.clamp(-1000.0, 2000.0) >> dp.sum()
COUNT = NAMED >> dp.count()
SQUARES = NAMED >> dp.clamp(-1000.0, 2000.0) >> dp.transformations.square() >> dp.sum()
MASS = dp.table() >> dp.select("w") >> dp.one_hot(["f", "m"]) >> dp.sum()
QUERIES = (SUM, COUNT, SQUARES, MASS)
BARE = (dp.clamp(-1000.0, 2000.0) >> dp.sum(), dp.count())


def exact(data, queries=QUERIES):
    """What each query gives, to the last bit."""
    return [np.asarray(query(data)).tobytes() for query in queries]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Parquet files of unequal lengths, one of them empty, with small groups of rows."""
    folder = Path(tmp_path_factory.mktemp("files"))
    for place, (start, stop) in enumerate([(0, 1), (1, 1), (1, 300), (300, ROWS)]):
        part = TABLE.slice(start, stop - start)
        pq.write_table(part, folder / f"{place}.parquet", row_group_size=7 + 400 * place)
    return folder


def pieces(rows: int, order: int = 1):
    starts = range(0, ROWS, rows)[::order]
    return lambda: (TABLE.slice(start, rows) for start in starts)


def containers(folder: Path):
    yield "pandas", TABLE.to_pandas()
    yield "pandas, Arrow types", TABLE.to_pandas(types_mapper=pd.ArrowDtype)
    yield "polars", pl.from_arrow(TABLE)
    yield "dictionary", {"x": NUMBERS, "w": WORDS}
    yield "lists", {"x": NUMBERS.tolist(), "w": WORDS.tolist()}
    yield "Parquet", dp.parquet(folder)
    yield "dataset", ds.dataset(folder)
    yield "filtered dataset", ds.dataset(folder).filter(ds.field("w") != "none")
    yield "filtered Parquet", dp.parquet(folder, filters=[("w", "!=", "none")])
    yield "lazy polars", pl.scan_parquet(folder / "*.parquet")
    yield "polars query", pl.from_arrow(TABLE).lazy().filter(pl.col("w") != "none")
    feather.write_feather(TABLE, folder.parent / "x.feather", chunksize=999)
    yield "Feather", ds.dataset(folder.parent / "x.feather", format="feather")
    path = folder.parent / "x.csv"
    TABLE.to_pandas().to_csv(path, index=False)
    yield "CSV", dp.csv_table(path, {"x": float, "w": str})
    for rows in (1, 10, 256, ROWS):
        yield f"blocks of {rows}", dp.Blocks(pieces(rows), columns=2)
    yield "blocks backwards", dp.Blocks(pieces(10, -1), columns=2)
    kinds = (pa.Table.to_pandas, pl.from_arrow, lambda part: part)
    mixed = [kinds[place % 3](part) for place, part in enumerate(pieces(100)())]
    yield "mixed blocks", dp.Blocks(lambda: iter(mixed), columns=2)


def test_every_container_gives_the_same_integers(folder):
    expected = exact(TABLE)
    for name, data in containers(folder):
        assert exact(data) == expected, name
        assert exact(data) == expected, f"{name}, again"


@pytest.mark.parametrize("entries", [1, 13, 4096])
def test_every_size_of_blocks_gives_the_same_integers(folder, entries, monkeypatch):
    expected = exact(TABLE)
    monkeypatch.setattr("opendp_lite.engines.data.source.BLOCK_ENTRIES", entries)
    monkeypatch.setattr("opendp_lite.engines.columns.BATCH_ENTRIES", entries)
    for data in (TABLE, dp.parquet(folder), pl.scan_parquet(folder / "*.parquet")):
        assert exact(data, (SUM, COUNT)) == expected[:2]


def test_columns_without_names_give_the_same_integers(tmp_path):
    expected = exact(NUMBERS, BARE)
    assert expected == exact(TABLE)[:2]
    held = np.memmap(tmp_path / "x", np.float64, "w+", shape=ROWS)
    held[:] = NUMBERS
    for data in (
        held,
        NUMBERS[::-1],
        NUMBERS.astype(">f8"),
        pa.chunked_array([NUMBERS[:9], NUMBERS[9:]]),
    ):
        assert exact(data, BARE) == expected


def test_a_query_of_duckdb_gives_the_same_integers(folder):
    duckdb = pytest.importorskip("duckdb")
    everything = duckdb.sql(f"select * from '{folder}/*.parquet'")
    assert exact(everything) == exact(everything) == exact(TABLE)
    assert exact(duckdb.sql(f"select x from '{folder}/*.parquet'"), BARE) == exact(NUMBERS, BARE)
    with pytest.raises(dp.DataError, match="no column 'y'"):
        (dp.select("y") >> dp.count())(everything)
    broken = duckdb.sql(f"select error('patient 42') as x from '{folder}/*.parquet'")
    refusal(lambda: SUM(broken), secret="42")


@pytest.mark.parametrize("rows", [0, 2])
def test_a_stored_table_of_another_width_is_refused_whatever_its_rows_are(tmp_path, rows):
    duckdb = pytest.importorskip("duckdb")
    table = TABLE.slice(0, rows).select(["x", "x"]).rename_columns(["x", "y"])
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    for data in (
        dp.parquet(path),
        dp.parquet(path, columns=["x", "y"]),
        ds.dataset(path),
        ds.dataset(table).scanner(),
        pl.from_arrow(table).lazy(),
        duckdb.sql(f"select * from '{path}'"),
    ):
        for columns in (1, 3):
            total = dp.records(columns=columns) >> dp.clamp(0, 1) >> dp.sum()
            with pytest.raises(dp.DataError, match=f"for {columns} column.* data has 2"):
                total(data)
        assert (dp.records(columns=2) >> dp.count())(data) is not None
        assert (dp.records(columns=["y"]) >> dp.count())(data) is not None


def test_chunks_on_a_disk_give_the_same_integers(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name, options in {"chunked": {"chunks": (100,)}, "whole": {}}.items():
            found = file.create_dataset(name, data=NUMBERS, **options)
            assert exact(found, BARE) == exact(NUMBERS, BARE)
        text = file.create_dataset("text", data=np.array([b"patient 42"]))
        with pytest.raises(dp.DataError, match="holds text"):
            dp.count()(text)
        for rows in (0, 1):  # A refusal does not tell that there is one.
            with pytest.raises(dp.DataError, match="the column holds numbers"):
                (dp.one_hot(["a"]) >> dp.sum())(
                    file.create_dataset(f"{rows} rows", data=[0.5] * rows)
                )
        wide = file.create_dataset("wide", data=NUMBERS[:602].reshape(-1, 2), chunks=(10, 1))
        both = dp.records(columns=2) >> dp.clamp(-1000.0, 2000.0) >> dp.sum()
        assert exact(wide, (both,)) == exact(NUMBERS[:602].reshape(-1, 2), (both,))


def test_chunks_of_zarr_give_the_same_integers():
    zarr = pytest.importorskip("zarr")
    assert exact(zarr.array(NUMBERS, chunks=(100,)), BARE) == exact(NUMBERS, BARE)


def test_decimals_are_counted_and_are_the_categories_next_to_them():
    listed = [Decimal("0.1"), Decimal("0.10"), Decimal("2.00"), None, Decimal("0.3")]
    column = pa.array(listed, pa.decimal128(9, 2))
    for data in (
        {"x": listed},
        pa.table({"x": column}),
        pa.table({"x": column.cast(pa.decimal256(40, 2))}),
        pl.DataFrame({"x": column}),
        pd.DataFrame({"x": pd.Series(listed, dtype=pd.ArrowDtype(column.type))}),
    ):
        assert (dp.select("x") >> dp.count())(data) == 4
        counts = dp.select("x") >> dp.one_hot([0.1, 2, 0.25, None]) >> dp.sum()
        assert counts(data).tolist() == [2, 1, 0, 1]
        keys = dp.histogram("x", epsilon=1e9, delta=0.5)
        assert [*keys.insecure_release(data, 1).value] == [0.1]


def test_numbers_that_pandas_lists_once_may_be_missing():
    for listed, kind in (([True, None, False], "boolean"), ([2**53 + 1, None, -5], "Int64")):
        column = pd.Series(listed, dtype=kind)
        assert exact(column.astype("category"), BARE) == exact(column, BARE)


LISTED = {
    "decimals": ([Decimal("0.1"), None, Decimal("2.50"), Decimal("0.1")], object),
    "decimals of Arrow": (
        [Decimal("0.1"), None, Decimal("2.50"), Decimal("0.1")],
        pd.ArrowDtype(pa.decimal128(9, 2)),
    ),
    "missing cells": ([None, None], object),
    "truths and numbers": ([True, 2, None, 2, 0.5], object),
    "long numbers": ([2**70, None, 2**70, -(2**1000)], object),
    "long numbers of Arrow": ([2**53 + 1, None, -(2**63)], pd.ArrowDtype(pa.int64())),
}


@pytest.mark.parametrize("name", LISTED)
def test_numbers_that_pandas_lists_once_are_those_of_a_plain_column(name):
    cells, kind = LISTED[name]
    column = pd.Series(cells, dtype=kind)
    listed = column.astype("category")
    lines = (*BARE, dp.clamp(-(2.0**71), 2.0**71) >> dp.sum())
    assert exact(listed, lines) == exact(column, lines)
    for several in (listed, listed[::-1], pd.concat([listed, listed]).iloc[: len(cells)]):
        assert exact(pd.DataFrame({"x": several}), (SUM, COUNT)) == exact(
            {"x": cells}, (SUM, COUNT)
        )


def test_a_categorical_with_text_among_its_values_is_no_column_of_numbers():
    for cells, kind in ((["a", 1, None], object), ([None], "str")):
        with pytest.raises(dp.DataError, match="holds text"):
            SUM(pd.DataFrame({"x": pd.Series(cells, dtype=kind).astype("category")}))


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_rows_of_views_are_picked(kind):
    table = pa.table({"id": ["a", "b", "a"], "w": pa.array(["f", None, "\u00e9"]).cast(kind)})
    rows = dp.table(person="id") >> dp.bound_contributions(2)
    for data in (table, dp.Blocks(lambda: iter([table.slice(0, 2), table.slice(2)]), columns=2)):
        assert (rows >> dp.select("w") >> dp.count())(data) == 2
        if kind == pa.string_view():
            counts = rows >> dp.select("w") >> dp.one_hot(["f", "\u00e9", None]) >> dp.sum()
            assert counts(data).tolist() == [1, 1, 1]


def test_a_number_that_duckdb_gives_as_another_is_refused():
    duckdb = pytest.importorskip("duckdb")
    wide = duckdb.sql("select (2::UHUGEINT)**3 as y, 340282366920938463463374607431768211455 as x")
    wide = wide.select("x::UHUGEINT as x, y")
    with pytest.raises(dp.DataError, match="write x::DOUBLE or x::VARCHAR in the query"):
        (dp.select("x") >> dp.clamp(0, 9) >> dp.sum())(wide)
    assert (dp.select("y") >> dp.clamp(0, 9) >> dp.sum())(wide).tolist() == [8]


def test_a_masked_entry_of_a_list_is_missing():
    alone = [np.ma.array(1), np.ma.array(2, mask=True), np.ma.array(3)]
    assert (dp.clamp(0, 9) >> dp.sum())(alone).tolist() == [4]
    for first in ("a", 1, 0.5, True):
        listed = [first, None, np.ma.masked]
        for data in ({"w": listed}, dp.Blocks(lambda listed=listed: iter([{"w": listed}]))):
            assert (dp.select("w") >> dp.count())(data) == 1
            places = dp.select("w") >> dp.one_hot([first, None], other=True) >> dp.sum()
            assert places(data).tolist() == [1, 2, 0]
            assert (dp.keep("w", among=[None]) >> dp.count(missing=True))(data) == 2
            person = dp.table(person="w") >> dp.bound_contributions(1) >> dp.count(missing=True)
            unmasked = {"w": [first, None, None]}
            people = person >> dp.laplace(epsilon=1e9)
            assert people(data) == people(unmasked)


def test_a_missing_category_lets_no_number_be_sought_in_text():
    columns = (np.array(["a", "b"]), pd.Series(["a", "b"], dtype="string"), pa.array(["a", "b"]))
    for column in columns:
        for categories in ([1], [1, None], [date(2020, 1, 1), None], [None, 0.5]):
            with pytest.raises(dp.DataError, match=r"text and the categories are (numbers|dates)"):
                (dp.select("w") >> dp.one_hot(categories) >> dp.sum())({"w": column})
        for allowed in ([None], ["a", 1], ["a", None]):
            counts = dp.select("w") >> dp.one_hot(allowed) >> dp.sum()
            assert counts({"w": column})[0] == ("a" in allowed)


def test_a_categorical_of_missing_cells_alone_is_no_column_of_numbers():
    empty, full = ({"w": pd.Series(each, dtype="category")} for each in ([None], [None, "a"]))
    for categories in (["a"], ["a", None]):
        counts = dp.select("w") >> dp.one_hot(categories) >> dp.sum()
        assert (counts(full) - counts(empty)).tolist() == [1, 0][: len(categories)]
        blocks = dp.Blocks(lambda: iter([empty, full]), columns=1)
        assert counts(blocks).tolist() == [1, 2][: len(categories)]
    people = dp.table(person="w") >> dp.bound_contributions(1) >> dp.count(missing=True)
    noisy = people >> dp.laplace(epsilon=1e9)
    assert [noisy(each) for each in (empty, full)] == [0, 1]
    assert noisy(dp.Blocks(lambda: iter([empty, full]), columns=1)) == 1


class Sex(StrEnum):
    """Texts of a type of their own."""

    FEMALE = "f"
    MALE = "m"


TEXTS = [
    *(
        "a",
        "A",
        "a ",
        " a",
        "",
        "\0",
        "a\0",
        "\n",
        "nan",
        "None",
        "NA",
        "1",
        "01",
        "1.0",
        "\ufeffa",
    ),
    *(
        "\u00e9",
        "e\u0301",
        "\ufb01",
        "fi",
        "\u00df",
        "ss",
        "\u03c3",
        "\u03c2",
        "\U0001f600",
        "x" * 40,
    ),
]
WITH_NULL = pa.array([*reversed(TEXTS), "unused", None])


def as_dictionary(cells: list[str | None]) -> pa.Array:
    """Codes of a list that a person made, with a null in it and what does not occur."""
    places = {text: place for place, text in enumerate(WITH_NULL.to_pylist())}
    codes = pa.array([places[cell] for cell in cells], pa.uint8())
    return pa.DictionaryArray.from_arrays(codes, WITH_NULL)


KINDS_OF_TEXT: dict[str, Callable[[list[str | None]], object]] = {
    "object": lambda cells: np.array(cells, dtype=object),
    "pandas object": lambda cells: pd.Series(cells, dtype=object),
    "pandas str": lambda cells: pd.Series(cells, dtype="str"),
    "pandas python": lambda cells: pd.Series(cells, dtype=pd.StringDtype("python")),
    "pandas category": lambda cells: pd.Series(cells, dtype="category"),
    "pandas Arrow": lambda cells: pd.Series(cells, dtype=pd.ArrowDtype(pa.string())),
    "Arrow": lambda cells: pa.array(cells),
    "Arrow view": lambda cells: pa.array(cells, pa.string_view()),
    "Arrow sliced": lambda cells: pa.array(["z", *cells, "z"]).slice(1, len(cells)),
    "Arrow dictionary": as_dictionary,
    "Arrow chunks": lambda cells: pa.chunked_array(
        [pa.array(cells[:9]).dictionary_encode(), pa.array(cells[9:]).dictionary_encode()]
    ),
    "Arrow chunks with null": lambda cells: pa.chunked_array(
        [
            pa.array(each).dictionary_encode(null_encoding="encode")
            for each in (cells[:9], cells[9:])
        ]
    ),
    "polars": pl.Series,
    "polars category": lambda cells: pl.Series(cells, dtype=pl.Categorical),
    "polars enum": lambda cells: pl.Series(cells, dtype=pl.Enum([*reversed(TEXTS), "unused"])),
}


@pytest.mark.parametrize("kind", KINDS_OF_TEXT)
@pytest.mark.parametrize("times", [1, 7], ids=["nearly unique", "few"])
def test_texts_are_told_apart_alike_in_every_container(kind, times):
    """Where they repeat, the library that holds them finds the different ones."""
    cells = [text for place, text in enumerate([*TEXTS, None]) for _ in range(1 + place % times)]
    cells = [cells[place] for place in np.random.default_rng(3).permutation(len(cells))]
    column, numbers = KINDS_OF_TEXT[kind](cells), np.arange(1.0, len(cells) + 1)
    data = {"w": column, "x": numbers}
    for keys in ([*TEXTS[::-2], None, "zz"], TEXTS[1:]):
        counts = (dp.select("w") >> dp.one_hot(keys) >> dp.sum())({"w": column})
        assert counts.tolist() == [cells.count(key) for key in keys]
        total = dp.select("x") >> dp.clamp(0, 999) >> dp.sum() >> dp.gaussian(scale=1e-12)
        sums = dp.by("w", [key for key in keys if key], total)(data)
        assert {key: round(np.asarray(sum_).item()) for key, sum_ in sums.items()} == {
            key: sum(x for x, cell in zip(numbers, cells, strict=True) if cell == key)
            for key in keys
            if key
        }
    found = dp.histogram("w", epsilon=1e9, delta=0.5).insecure_release({"w": column}, 1).value
    many = [key for key in TEXTS if cells.count(key) > 4]
    assert set(many) <= set(found) <= set(TEXTS)
    assert [round(float(found[key])) for key in many] == [cells.count(key) for key in many]
    kept = dp.select("w", "x") >> dp.bound_contributions(1, person="w") >> dp.count()
    assert kept(data) == len(TEXTS)
    same = DataIdentity.of({"w": column}, b"key"), DataIdentity.of({"w": cells}, b"key")
    assert same[0] == same[1]


def test_a_lone_surrogate_is_not_its_repr():
    """pandas' ``factorize`` takes them for one text, so that a row moved thousands."""
    alone, told = "\ud800", "'\\ud800'"
    column = pd.Series([alone] + [told] * 50, dtype=pd.StringDtype("python"))
    counts = (dp.select("w") >> dp.one_hot([alone, told]) >> dp.sum())({"w": column})
    assert counts.tolist() == [1, 50]


def test_bytes_that_are_no_text_are_counted_as_before():
    raw = pa.array([b"\xff", b"\xfe", b"a"] * 3).view(pa.string())
    counted = dp.select("w") >> dp.one_hot(["\ufffd", "a"]) >> dp.sum()
    for times in (1, 3):
        column = raw[: 3 * times]
        for each in (column, pd.Series(pd.arrays.ArrowExtensionArray(column))):
            assert counted({"w": each}).tolist() == [2 * times, times]


def test_categories_that_are_texts_of_another_type_are_texts():
    counts = dp.select("w") >> dp.one_hot(list(Sex)) >> dp.sum()
    expected = counts({"w": WORDS.tolist()}).tolist()
    assert min(expected) > 0
    for data in ({"w": WORDS}, TABLE, pl.from_arrow(TABLE), pd.DataFrame({"w": WORDS})):
        assert counts(data).tolist() == expected


@pytest.mark.parametrize("late", [["z", "", None], [None], []])
def test_texts_that_the_first_rows_lack_are_found(late):
    """Each library tells by the first rows whether texts repeat."""
    texts = ["a", "b", None, "a"] * SAMPLE + late * 3
    known = ["a", "b", "z", "", None]
    of_keys = dp.histogram("k", categories=known, epsilon=1e9)
    kinds = pl.String, pl.Categorical, pl.Enum(["", "z", "b", "a", "never"])
    for data in (
        {"k": texts},
        pd.DataFrame({"k": texts}),
        pd.DataFrame({"k": pd.Categorical(texts)}),
        pa.table({"k": texts}),
        *(pl.DataFrame({"k": pl.Series(texts, dtype=kind)}) for kind in kinds),
    ):
        counts = [round(each.value) for each in of_keys(data).values()]
        assert counts == [texts.count(each) for each in known]


@pytest.mark.parametrize("known", [[5, 7], [5, 6], [5.5, 5]])
def test_a_long_double_beside_a_category_is_another_value(known):
    near = np.array([5, np.nextafter(np.longdouble(5), 6), 5.5, np.nan], np.longdouble)
    of_keys = dp.histogram("k", categories=[*known, None], other=True, epsilon=1e9)
    for data in (near, list(near)):
        counts = [round(each.value) for each in of_keys({"k": data}).values()]
        assert counts == [*(int((near == each).sum()) for each in known), 1, 3 - (5.5 in known) - 1]

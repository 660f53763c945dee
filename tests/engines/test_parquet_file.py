"""Parquet files and Arrow datasets: what is read, and what is refused before a row is read."""

import datetime
import sys
from decimal import Decimal, localcontext
from pathlib import Path

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSystemHandler, LocalFileSystem, PyFileSystem, SubTreeFileSystem

import opendp_lite as dp
from opendp_lite.engines.columns import ColumnBlocks
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.data.open_data import opened_table
from opendp_lite.engines.data.source import BLOCK_ENTRIES
from opendp_lite.engines.files.arrow import declared_columns
from tests.engines import refusals
from tests.engines.refusals import SECRET

TOTAL = dp.clamp(0, 10) >> dp.sum()
AGE = dp.select("age") >> TOTAL
ROWS = dp.table() >> dp.count()


def values(data) -> np.ndarray:
    """The numbers of the one column."""
    return np.concatenate([np.empty((0, 1)), *opened(data).blocks()])[:, 0]


def write(folder: Path, **files) -> Path:
    """Writes a Parquet file of each table."""
    for name, columns in files.items():
        path = folder / f"{name.replace('__', '/')}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of two columns; 17 is the sum of the ages, 10 at most each."""
    ages = [[1.0, 2.0, 50.0], pa.array([1, None, 2], pa.uint8()), pa.array([1], "f4")]
    tables = {
        name: {"age": age, "sex": ["f", "m", SECRET][: len(age)]}
        for name, age in zip("abc", ages, strict=True)
    }
    return write(tmp_path, **tables)


def refusal(data, pipeline=AGE) -> str:
    """The words of a refusal, which show nothing of the data."""
    return refusals.refusal(lambda: pipeline(data() if callable(data) else data), secret="42")


def watched(data):
    """The same data, and the batches that are read of it."""
    seen: list[pa.RecordBatch] = []

    def shown(batch):
        seen.append(batch)
        return batch

    parts = [attrs.evolve(part, shown=shown) for part in data.parts]
    return ColumnBlocks.of(parts, data.names), seen


def test_a_file_a_pattern_a_directory_and_a_list(folder):
    pattern = str(folder / "*.parquet")
    for source in (folder, str(folder), pattern, sorted(folder.iterdir())):
        data = dp.parquet(source)
        assert (AGE(data), ROWS(data)) == (17, 7)
    assert AGE(dp.parquet(folder / "a.parquet")) == 13
    assert AGE(dp.parquet(str(folder / "[bc].parquet"))) == 4
    assert AGE(dp.parquet(f"{folder}/**/a.parquet")) == 13
    assert TOTAL(dp.parquet(pattern, columns=["age"])) == 17
    assert (dp.records(columns=["age"]) >> TOTAL)(dp.parquet(pattern)) == 17


def test_the_verbs_of_tables(folder):
    data = dp.parquet(folder)
    counts = dp.histogram("sex", categories=["f", "m"], epsilon=100)(data)
    assert round(counts["f"].value) == 3
    groups = dp.by("sex", ["f", "m"], dp.select("age") >> TOTAL >> dp.laplace(epsilon=1000))(data)
    assert [round(float(groups[sex][0])) for sex in "fm"] == [3, 2]
    kept = dp.keep("sex", among=["f"]) >> AGE
    assert kept(data) == 3
    bounded = dp.table(person="sex") >> dp.bound_contributions(1) >> dp.count()
    assert bounded(data) == 3


def test_a_partitioned_directory(tmp_path):
    write(tmp_path, **{"year=2023__x": {"age": [1.0]}, "year=2024__y": {"age": [2, None]}})
    for source in (tmp_path, str(tmp_path / "*" / "*.parquet")):
        data = dp.parquet(source)
        assert (dp.select("year") >> dp.clamp(0, 2024) >> dp.sum())(data) == 2023 + 2 * 2024
        assert AGE(data) == 3
    found = dp.parquet(tmp_path, filters=[("year", "==", 2024)])
    assert (AGE(found), ROWS(found)) == (2, 2)
    rest = dp.parquet(tmp_path, columns=["age"], filters=ds.field("age") < 2)
    assert (TOTAL(rest), ROWS(rest)) == (1, 1)
    whole = ds.dataset(tmp_path, partitioning="hive")
    for data in (whole, whole.filter(ds.field("year") > 0)):
        assert (AGE(data), AGE(data), ROWS(data)) == (3, 3, 3)


FLOAT_FILTERS = {
    "unequal": [("x", "!=", 5.0)],
    "not among": [("x", "not in", [5.0])],
    "not below": ~(ds.field("x") < 6),
    "of a field in a struct": ds.field("of", "x") != 5,
    "of another column too": (ds.field("year") == 2024) & (ds.field("x") != 5),
}


@pytest.mark.parametrize("name", FLOAT_FILTERS)
def test_a_filter_of_floats_looks_at_each_row(tmp_path, name):
    """What Parquet says of a group of rows leaves out NaN, so other rows decided on such a row."""
    of_others = 0 if name == "not below" else 1
    for value, others in ((4.0, of_others), (5.0, 0)):
        x = [5.0, value, np.nan]
        columns = {"x": x, "of": [{"x": each} for each in x], "age": [1.0, 2.0, 3.0]}
        write(tmp_path, **{"year=2024__x": columns})
        data = dp.parquet(tmp_path, filters=FLOAT_FILTERS[name])
        assert (AGE(data), ROWS(data)) == (3 + 2 * others, 1 + others)


def test_groups_of_rows_are_left_out_where_no_float_decides(tmp_path):
    table = pa.table({"age": [1, 2, 3], "x": [5.0, 5.0, np.nan]})
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(table, tmp_path / f"year={year}" / "x.parquet", row_group_size=1)
    age, x = ds.field("age"), ds.field("x")
    for keep, rows in ((age != 2, 4), ((ds.field("year") == 2024) & (x != 5), 1)):
        data, seen = watched(dp.parquet(tmp_path, filters=keep))
        assert ROWS(data) == rows == sum(batch.num_rows for batch in seen)
        assert [part.prunes for part in data.parts] == [True, keep.equals(age != 2)]  # type: ignore[attr-defined]


def test_other_datasets(tmp_path):
    table = pa.table({"age": [1.0, None, 3.0], "sex": ["f", "m", SECRET]})
    feather = tmp_path / "x.feather"
    pa.feather.write_feather(table, feather)
    for data in (
        ds.dataset(table),
        ds.dataset(feather, format="feather"),
        ds.dataset([ds.dataset(table)]),
        ds.dataset(table).scanner(columns=["age"]),
    ):
        assert AGE(data) == AGE(data) == 4
    once = ds.dataset(table).scanner(columns=["age"]).to_reader()
    assert AGE(once) == 4
    assert "only once" in refusal(once)
    assert "guesses them" in refusal(ds.dataset(written_csv(tmp_path), format="csv"))


def written_csv(folder: Path) -> Path:
    path = folder / "x.csv"
    path.write_text("age\n1\n")
    return path


def test_only_the_columns_that_are_needed_are_read(folder):
    kept = dp.keep("sex", among=["f"]) >> AGE
    for pipeline, names in ((AGE, ["age"]), (ROWS, []), (kept, ["sex", "age"])):
        data, seen = watched(dp.parquet(folder))
        pipeline(data)
        assert [batch.schema.names for batch in seen[-3:]] == [names] * 3


CHANGES = {
    "text": ({"age": [SECRET]}, "b.parquet: column 'age': data holds text"),
    "times": ({"age": [datetime.datetime(1942, 1, 1)]}, "column 'age': data holds dates"),
    "lists": ({"age": [[42]]}, "b.parquet: column 'age': data holds values of type list"),
    "another name": ({"Age": [42.0]}, "b.parquet: the table has no column 'age'; did you mean"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_differs_is_named_before_any_row_is_read(folder, change):
    columns, words = CHANGES[change]
    write(folder, b=columns)
    whole = ds.dataset(sorted(map(str, folder.iterdir())))
    for data in (dp.parquet(folder), opened_table(whole, None)):
        shown, seen = watched(data)
        assert words in refusal(shown)
        assert not any(batch.num_rows for batch in seen)
    assert words in refusal(whole)


def damaged(path: Path) -> list[bytes]:
    whole = path.read_bytes()
    return [b"", SECRET.encode() * 50, whole[:-20], whole[:4] + b"?" * (len(whole) - 4)]


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("name", "abc")
def test_a_file_that_cannot_be_read_is_named(folder, which, name):
    path = folder / f"{name}.parquet"
    path.write_bytes(damaged(path)[which])
    words = f"{name}.parquet: the file is of another format, or it is damaged"
    for source in (folder, str(folder / "*.parquet")):
        with pytest.raises(dp.DataError, match=words) as caught:
            dp.parquet(source, columns=["age"])
        assert caught.value.__context__ is None, "pyarrow may quote the file"


def test_a_file_that_is_damaged_within_is_named(folder):
    write(folder, b={"age": np.random.default_rng(1).normal(size=9999), "sex": ["f"] * 9999})
    path = folder / "b.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 500 + whole[504:])
    assert "b.parquet: the file is of another format, or it is damaged" in refusal(
        dp.parquet(folder)
    )


@pytest.mark.parametrize("columns", [{"age": [9.0] * 50}, {"age": ["42"]}, {"other": [1.0]}])
def test_a_file_that_was_written_anew_is_named(folder, columns):
    """Arrow read so many of its rows as there were before."""
    people = dp.parquet(folder)
    assert AGE(people) == 17
    pq.write_table(pa.table(columns), folder / "b.parquet")
    assert "b.parquet: the file was written anew since it was opened" in refusal(people)


def test_a_file_that_grows_while_it_is_read_is_named(folder):
    batches = iter(dp.parquet(folder / "b.parquet").open())
    next(batches)
    with (folder / "b.parquet").open("ab") as stream:
        stream.write(b"more")
    with pytest.raises(dp.DataError, match=r"b.parquet: the file was written anew"):
        list(batches)


def test_files_that_are_not_there(folder):
    assert "there is no file" in refusal(lambda: dp.parquet(f"{folder}/*.parq"))
    for paths in (folder / "none.parquet", [folder / "a.parquet", folder / "none.parquet"]):
        with pytest.raises(FileNotFoundError) as missing:
            dp.parquet(paths)
        assert missing.value.filename == str(folder / "none.parquet")
    (folder / "empty").mkdir()
    assert "there is no file in" in refusal(lambda: dp.parquet(folder / "empty"))
    data = dp.parquet(folder)
    (folder / "b.parquet").unlink()
    assert "b.parquet: the file is no longer there" in refusal(data)


def test_columns_that_are_not_chosen(folder):
    assert "column 'sex': data holds text" in refusal(dp.parquet(folder), TOTAL)
    both = dp.records(columns=2) >> TOTAL
    assert "column 'sex': data holds text" in refusal(dp.parquet(folder), both)
    write(
        folder, a={"x": [1.0], "y": [2.0]}, b={"x": [4.0], "y": [8.0]}, c={"y": [1.0], "x": [2.0]}
    )
    assert both(dp.parquet(str(folder / "[ab].parquet"))).tolist() == [5, 10]
    assert "c.parquet: its columns are not those of" in refusal(dp.parquet(folder), both)
    assert (dp.records(columns=["x", "y"]) >> TOTAL)(dp.parquet(folder)).tolist() == [7, 11]


EXACT = [
    (pa.array([1, None, 3]), [1, np.nan, 3]),
    (pa.array([1.5, np.nan, None]), [1.5, np.nan, np.nan]),
    (pa.array([2**53 + 1, 2, 3]), [2.0**53, 2, 3]),
    (pa.array([2**64 - 1, None], pa.uint64()), [2.0**64, np.nan]),
    (pa.array([2**63, 2**63 + 1025], pa.uint64()), [2.0**63, 2.0**63 + 2048]),
    (pa.array([1.5, None], pa.float32()), [1.5, np.nan]),
    (pa.array(np.array([1.5], np.float16)), [1.5]),
    (pa.array([True, False, None]), [1, 0, np.nan]),
    (pa.array([None, None]), [np.nan, np.nan]),
    (pa.array([None, 125], pa.decimal128(9, 2)), [np.nan, 125]),
    (pa.array([], pa.float64()), []),
]


@pytest.mark.parametrize(("array", "expected"), EXACT, ids=lambda each: str(each)[:20])
def test_numbers_of_every_type(tmp_path, array, expected):
    write(tmp_path, data={"a": ["s"] * len(array), "x": array, "x.y": array})
    for name in ("x", "x.y"):
        found = values(dp.parquet(tmp_path, columns=[name]))
        np.testing.assert_array_equal(found, expected)


def test_rows_come_in_blocks(tmp_path):
    whole = np.arange(3.0 * BLOCK_ENTRIES)
    write(tmp_path, data={"x": whole})
    blocks = list(opened(dp.parquet(tmp_path)).blocks())
    assert max(map(len, blocks)) <= BLOCK_ENTRIES
    assert np.array_equal(np.concatenate(blocks)[:, 0], whole)


def test_whole_files_tell_the_data_from_other_data(folder, tmp_path):
    assert dp.parquet(folder).files == tuple(sorted(folder.iterdir()))
    assert opened_table(ds.dataset(pa.table({"age": [1.0]})), None).files == ()


@pytest.fixture
def kinds(tmp_path: Path) -> str:
    """A file of columns of all kinds that can be read as text."""
    columns = {
        "text": pa.array([" f ", "m", None, "NA"]),
        "large": pa.array(["f", "m", None, ""], pa.large_string()),
        "coded": pa.array(["f", "m", None, "NA"]).dictionary_encode(),
        "whole": pa.array([1, 2, None, 3]),
        "real": pa.array([1.0, 2.5, None, float("nan")]),
        "truth": pa.array([True, False, None, True]),
        "day": pa.array([0, 1, None, 3], pa.date32()),
        "hour": pa.array([0, 1, None, 3], pa.time32("s")),
    }
    return str(write(tmp_path, kinds=columns) / "kinds.parquet")


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("text", ["f", "m", None, None]),
        ("large", ["f", "m", None, None]),
        ("coded", ["f", "m", None, None]),
        ("whole", ["1", "2", None, "3"]),
        ("real", ["1", "2.5", None, None]),
        ("truth", ["true", "false", None, "true"]),
        ("day", ["1970-01-01", "1970-01-02", None, "1970-01-04"]),
    ],
)
def test_columns_as_text(kinds, name, texts):
    data = declared_columns(kinds, [(name, str)], "parquet")
    assert data.names == (name,)
    (block,) = data.only(None).open()
    assert block[name].column.tolist() == texts


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_bytes_that_are_no_text_refuse_no_file(tmp_path, kind):
    raw = pa.array([b"f", b"\xff", None, b"f"])
    text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers()).cast(kind)
    path = write(tmp_path, x={"sex": text}) / "x.parquet"
    counts = dp.select("sex") >> dp.one_hot(["f", None], other=True) >> dp.sum()
    for data in (dp.parquet(path), declared_columns(str(path), [("sex", str)], "parquet")):
        assert counts(data).tolist() == [2, 1, 1]


def test_a_number_has_one_spelling_in_files_of_any_type(tmp_path):
    """A person in two files would be two, where one has whole numbers as floats or decimals."""
    whole = [1234567890123456, -7, 0, 2**53 - 1]
    floats = pa.array([*map(float, whole), -0.0, 1e20, np.nan, 0.5, None])
    decimals = pa.array([*map(Decimal, ["-7.00", "0.50", "12345678901234567890.00"])])
    short = pa.array(np.array([2**24 - 1, 2**24, 0.5], np.float32))
    told = [*map(str, whole)]
    for array, texts in (
        (pa.array(whole), told),
        (floats, [*told, "0", "1e+20", None, "0.5", None]),
        (floats.dictionary_encode(), [*told, "0", "1e+20", None, "0.5", None]),
        (decimals, ["-7", "0.5", "12345678901234567890"]),
        (short, [str(2**24 - 1), str(2**24), "0.5"]),
    ):
        path = write(tmp_path, one={"x": array}) / "one.parquet"
        if pa.types.is_floating(getattr(array.type, "value_type", array.type)):
            words = "holds floats, of which one may stand for two people"
            with pytest.raises(dp.DataError, match=words):
                declared_columns(str(path), [("x", str)], "parquet", person="x")
        (block,) = declared_columns(str(path), [("x", str)], "parquet").only(None).open()
        assert block["x"].column.tolist() == texts


def test_columns_of_other_kinds_are_refused(kinds):
    for columns, words in (
        ([("whole", str), ("txt", str)], "did you mean 'text'"),
        ([(None, str)], "choose a column"),
    ):
        assert words in refusal(lambda columns=columns: declared_columns(kinds, columns, "parquet"))
    text = declared_columns(kinds, [("text", float)], "parquet")
    words = "kinds.parquet: column 'text' is stored as text, not as numbers; choose a column of"
    assert words in refusal(text, TOTAL)
    hour = declared_columns(kinds, [("hour", str)], "parquet")
    words = refusal(hour, dp.table() >> dp.histogram("hour", categories=["1"], epsilon=1))
    assert "column 'hour' holds time32[ms], not text" in words


def test_decimals_are_the_nearest_floats(tmp_path):
    generator = np.random.default_rng(5)
    for precision, scale in ((9, 2), (15, 7), (16, 1), (18, 4), (38, 10), (38, 0), (30, 29)):
        most = 10**precision - 1
        whole = [int(generator.integers(0, 2**62)) * 2**61 % most for _ in range(300)] + [most, 0]
        with localcontext(prec=60):
            numbers = [Decimal((-1) ** (each % 2) * each).scaleb(-scale) for each in whole]
        array = pa.chunked_array(
            [
                pa.array(part, pa.decimal128(precision, scale))
                for part in (numbers[:99], numbers[99:])
            ]
        )
        write(tmp_path, data={"x": array})
        for data in (dp.parquet(tmp_path), array, array.slice(50, 100), array.chunk(1).slice(3)):
            found = values(data)
            start = {302: 0, 100: 50, 200: 102}[len(found)]
            nearest = [float(each) for each in numbers[start : start + len(found)]]
            assert found.tolist() == nearest, (precision, scale)


NEEDS = r"needs pyarrow, which is not installed; type: pip install \"opendp_lite\[arrow\]\""


def test_parquet_needs_pyarrow(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp_lite.engines.files.arrow", None)
    with pytest.raises(dp.ParameterError, match=f"dp.parquet {NEEDS}"):
        dp.parquet("visits.parquet")


def test_a_relation_of_duckdb_needs_pyarrow(monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(dp.ParameterError, match=f"of DuckDB {NEEDS}"):
        dp.count()(duckdb.sql("select 1 as x"))


def test_a_stream_needs_pyarrow(monkeypatch):
    class Exports:
        def __arrow_c_stream__(self, schema: object = None):
            return pa.table({"x": [1.0]}).__arrow_c_stream__(schema)

    assert dp.count()(Exports()) == 1
    monkeypatch.setattr("opendp_lite.engines.data.open_data.find_spec", lambda name: None)
    with pytest.raises(dp.DataError, match=f"a Exports {NEEDS}"):
        dp.count()(Exports())


def test_a_query_that_fails_before_its_first_row_is_refused_in_our_words(tmp_path):
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


def test_a_store_elsewhere_is_read_and_watched(tmp_path):
    """A file system that is not of this machine, as far as Arrow says."""
    store = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    (tmp_path / "visits").mkdir()
    path = tmp_path / "visits/a.parquet"
    pq.write_table(pa.table({"age": [20.0, 30.0]}), path)
    total = dp.select("age") >> dp.clamp(0, 100) >> dp.sum()
    people = dp.parquet("visits", filesystem=store)
    assert total(people) == [50]
    assert total(dp.parquet(path.as_uri())) == [50]
    with pytest.raises(dp.DataError, match="no such file or folder in the file system"):
        dp.parquet("visit", filesystem=store)
    pq.write_table(pa.table({"age": [20.0, 30.0, 40.0]}), path)
    with pytest.raises(dp.DataError, match=r"a.parquet: the file was written anew"):
        total(people)
    path.unlink()
    with pytest.raises(dp.DataError, match=r"a.parquet: the file is no longer there"):
        total(people)


def test_a_store_that_does_not_answer_is_named_in_words():
    def refuse(*given: object) -> str:
        raise OSError("hunter2")

    methods = dict.fromkeys(FileSystemHandler.__abstractmethods__, refuse)
    broken = type(
        "Broken", (FileSystemHandler,), methods | {"get_type_name": lambda self: "broken"}
    )
    with pytest.raises(dp.DataError, match="did not answer") as caught:
        dp.parquet("visits", filesystem=PyFileSystem(broken()))
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


ENDS = pa.table(
    {
        "id": pa.array([1, 2**64 - 1], pa.uint64()),
        "n": pa.array([2**53 + 1, -(2**63)], pa.int64()),
        "day": pa.array([0, 2**31 - 1], pa.date32()),
        "at": pa.array([0, 2**62], pa.timestamp("ms")),
        "paid": pa.array([Decimal("9.5"), Decimal(-1)], pa.decimal128(38, 10)),
    }
)
FILTERS = {
    "a hash": ([("id", ">", 0)], [2, 1, 0]),
    "a hash beyond": ([("id", "<", 2**63)], [1, 1, 0]),
    "one of hashes": ([[("id", "in", [1, 2])], [("n", "<", 0)]], [2, 1, 0]),
    "a whole float": ([("n", ">", 2.0)], [1, 1, 0]),
    "a day": ([("day", ">", datetime.datetime(2024, 1, 1))], [1, 0, 0]),
    "a moment": ([("at", ">", datetime.datetime(2024, 1, 1))], [1, 0, 0]),
    "a whole price": ([("paid", ">", 1)], [1, 1, 0]),
    "beyond all": ([("n", "<", 2**70)], None),
    "one beyond": ([("n", "<", 2**63)], None),
    "a part": ([("n", ">", 0.5)], None),
    "parts": ([("n", "not in", [1, 0.5])], None),
    "an expression": (ds.field("id") > 0, None),
    "a finer moment": ([("at", ">", datetime.datetime(2024, 1, 1, 0, 0, 0, 5))], None),
}


@pytest.mark.parametrize("name", FILTERS)
def test_no_row_stops_a_filter(tmp_path, name):
    """Arrow makes numbers of a column another type, and fails at the first that has no like."""
    asked, counts = FILTERS[name]
    for rows in (2, 1, 0):
        path = tmp_path / f"{rows}.parquet"
        pq.write_table(ENDS.slice(0, rows), path)
        if counts is None:
            with pytest.raises(dp.DataError, match=r"numbers with 0\.5|of another type in"):
                dp.parquet(path, filters=asked)
        else:
            assert ROWS(dp.parquet(path, filters=asked)) == counts[2 - rows]


def test_columns_of_any_type_stand_beside_a_filter(tmp_path):
    """Also those that hold no null, and those of types that only Arrow knows."""
    table = pa.table(
        {
            "x": [1, 2],
            "u": pa.array([b"0" * 16] * 2, pa.uuid()),
            "l": [[1], []],
            "s": [{"a": 1}] * 2,
            "k": pa.array(["a", "b"]).dictionary_encode(),
            "t": pa.array([1, 2], pa.time64("us")),
        }
    )
    fields = [field.with_nullable(False) for field in table.schema]
    pq.write_table(table.cast(pa.schema(fields)), tmp_path / "x.parquet")
    assert ROWS(dp.parquet(tmp_path / "x.parquet", filters=[("x", ">", 1)])) == 1


DAYS = [datetime.date(2024, 1, 1), datetime.date(2020, 1, 1)]
LISTED = {
    "text": (pa.array([1, -128]), ["1"]),
    "truths": (pa.array([1, -128]), [True]),
    "a time of a day": (pa.array(DAYS), [datetime.datetime(2024, 1, 1, 5)]),
    "text of days": (pa.array(DAYS), ["2024-01-01"]),
    "whole numbers": (pa.array([1, -128]), [1]),
    "days": (pa.array(DAYS), [DAYS[0]]),
}


@pytest.mark.parametrize("name", LISTED)
def test_what_a_file_says_of_its_rows_decides_on_none_of_them(tmp_path, name):
    """Values of another type in a list met it otherwise than they met rows: one moved 50."""
    column, values = LISTED[name]
    own = pa.array(values).type == column.type
    for rows in (
        pa.concat_arrays([column[:1]] * 50),
        pa.concat_arrays([column[:1]] * 50 + [column[1:]]),
    ):
        path = tmp_path / f"{len(rows)}.parquet"
        pq.write_table(pa.table({"x": rows}), path)
        if own:
            assert ROWS(dp.parquet(path, filters=[("x", "in", values)])) == 50
            assert ROWS(dp.parquet(path, filters=ds.field("x").isin(values))) == 50
        else:
            with pytest.raises(dp.DataError, match="of another type"):
                dp.parquet(path, filters=[("x", "in", values)])
    if name == "a time of a day":
        found = [
            ROWS(dp.parquet(path, filters=ds.field("x").isin(values)))
            for path in sorted(tmp_path.glob("*.parquet"))
        ]
        assert found == [50, 50]

"""The same exact integers before noise from frames of Spark, however they are cut."""

import shutil
from datetime import date, datetime
from functools import partial

import numpy as np
import pandas as pd
import pytest

import opendp_lite as dp
from opendp_lite.engines import rows
from tests.engines.refusals import SECRET, refusal
from tests.engines.test_expressions import KEYS, counts, hostile, listed
from tests.engines.test_expressions import table as hostile_table

sql = pytest.importorskip("pyspark.sql", reason="needs Spark: pip install 'opendp_lite[spark]'")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)
arrow = pytest.importorskip("pyarrow")
of_pyspark = pytest.importorskip("opendp_lite.engines.containers.of_pyspark")

ROWS = 1203
_generator = np.random.default_rng(13)
NUMBERS = _generator.normal(5, 1e3, ROWS // 3 + 1).repeat(3)[:ROWS]
NUMBERS[5:9] = [2.0**-1074, -0.0, 2.0**60, np.inf]
WORDS = np.array(["f", "m", "x"])[_generator.integers(0, 3, ROWS)]
FRAME = pd.DataFrame({"w": WORDS, "x": NUMBERS})
LIMITED = dp.select("x") >> dp.clamp(-1000.0, 2000.0)
SUM = LIMITED >> dp.sum()
NOISE = dp.laplace(epsilon=1)


@pytest.fixture(scope="module")
def spark():
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 7)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(spark):
    rows = list(zip(WORDS.tolist(), NUMBERS.tolist(), strict=True))
    return spark.createDataFrame(rows, "w string, x double").persist()


@pytest.mark.parametrize("most", [1, 8, 1000])
def test_joined_batches_hold_the_same_rows(monkeypatch, most):
    monkeypatch.setattr(of_pyspark, "BATCH_ENTRIES", most)
    table = arrow.table({"x": [1.0, None, 3.0, 4.0, 5.0], "w": ["a", None, "c", "d", "e"]})
    joined = list(of_pyspark._join(iter(table.to_batches(max_chunksize=2))))
    assert len(joined) == {1: 3, 8: 2, 1000: 1}[most]
    assert arrow.concat_tables(joined).equals(table)
    assert not list(of_pyspark._join(iter(())))


def exact(query, data) -> bytes:
    return np.asarray(query(data)).tobytes()


@pytest.mark.parametrize("partitions", [1, 10])
def test_every_partition_gives_the_same_integers(frame, partitions):
    cut = frame.repartition(partitions)
    assert exact(SUM, cut) == exact(SUM, FRAME)
    assert exact(LIMITED >> dp.transformations.square() >> dp.sum(), cut.select("x")) == exact(
        LIMITED >> dp.transformations.square() >> dp.sum(), FRAME
    )


@pytest.mark.parametrize(
    "release",
    [
        dp.select("x") >> dp.mean(-1000.0, 2000.0, rho=1, confidence=None),
        dp.by("w", ["f", "m"], LIMITED >> dp.sum() >> dp.gaussian(rho=1)),
        dp.histogram("w", epsilon=1, delta=0.1),
    ],
    ids=["mean", "by", "histogram"],
)
def test_releases_are_those_of_pandas(frame, release):
    found, expected = (release.insecure_release(data, 5) for data in (frame, FRAME))
    assert repr(found) == repr(expected)


def test_spark_itself_has_the_integers_of_its_batches(spark, answered, monkeypatch):
    """Hostile floats near ties, other types and keys, in both ways of Spark to treat errors."""
    noise = dp.gaussian(scale=1e-9)
    columns = ["x", "float32", "int64", "int8", "bool", "nothing", "k"]
    table = hostile_table(hostile(-2, 7, 400, seed=4)).select(columns)
    kinds = "x double, float32 float, int64 bigint, int8 tinyint, bool boolean, nothing double"
    cut = spark.createDataFrame(table.rows(), f"{kinds}, k string").repartition(3)
    each = [dp.select(name) >> dp.clamp(-2, 7) >> dp.sum() >> noise for name in columns[:-1]]
    mean = dp.select("x") >> dp.mean(-2, 7, rho=1)
    two = dp.select("int8", "x") >> dp.clamp(-2, 7) >> dp.sum() >> noise
    edges = [0, 1e-300, 0.1, 7]
    cells = [
        counts("x", edges=edges, other=True),
        counts("k", KEYS),
        counts("k", "int8", [KEYS, [0, 1]]),
    ]
    kept = dp.keep("k", among=KEYS[:3]) >> dp.by("k", KEYS, counts("x", edges=edges))
    grouped = dp.by("k", KEYS, dp.compose([*each, two]))
    release = dp.compose([*each, two, *cells, dp.keep("x", between=(0, 1)) >> two, kept, grouped])
    for ansi, query in (("true", release), ("false", release), ("true", mean)):
        spark.conf.set("spark.sql.ansi.enabled", ansi)
        found = query.insecure_release(cut, 5)
        assert repr(listed(found.value)) == repr(listed(query.insecure_release(table, 5).value))
    # Of more rows floats could round.
    monkeypatch.setattr(of_pyspark, "_MOST_ROWS", 9)
    assert repr(mean.insecure_release(cut, 5)) == repr(found)
    assert answered == [*[True] * 3, False]
    monkeypatch.setattr(rows, "compute", lambda *given: None)
    assert repr(mean.insecure_release(cut, 5)) == repr(found)


@pytest.mark.parametrize(
    "release",
    [
        LIMITED >> dp.resize(99) >> dp.sum() >> NOISE,
        dp.table(person="w") >> dp.bound_contributions(2) >> LIMITED >> dp.sum() >> NOISE,
        dp.combinators.sample(0.5, SUM >> NOISE),
    ],
    ids=["resize", "people", "sample"],
)
def test_rows_are_chosen_in_the_parts(frame, release):
    found = [repr(release.insecure_release(frame, seed).value) for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_columns_of_other_types_stand_beside(spark):
    """Times in a zone are counted, and stop no step that reads other columns."""
    days = "date'2024-01-31' as day, timestamp'2024-01-31 12:00:00' as zoned"
    rest = "timestamp_ntz'2024-01-31 12:00:00' as time, 0.5BD as price, array(1) as list"
    cut = spark.range(4).selectExpr("id as x", *f"{days}, {rest}".split(", ")).repartition(2)
    assert exact(SUM, cut) == exact(SUM, {"x": np.arange(4)})
    assert (dp.select("price") >> dp.clamp(0, 1) >> dp.sum())(cut).tolist() == [2]
    for name in ("day", "zoned", "time", "price", "list"):
        assert (dp.select(name) >> dp.count())(cut) == 4
    for name, category in (("day", date(2024, 1, 31)), ("time", datetime(2024, 1, 31, 12))):
        kept = dp.keep(name, among=[category]) >> dp.count()
        assert kept(cut) == 4
    with pytest.raises(dp.DataError, match=r"'zoned': values of type timestamp.*time zone of them"):
        (dp.keep("zoned", among=[date(2024, 1, 31)]) >> dp.count())(cut)


def test_no_rows_are_no_reason_to_refuse(frame):
    assert (dp.table() >> dp.count())(frame.limit(0)) == 0


def test_refusals_are_ours_and_tell_nothing(spark, frame):
    sized = dp.records(columns=["x"], size=ROWS + 1, metric=dp.ChangeOneDistance())
    median = dp.private_quantile(0.5, bounds=(0, 9), epsilon=1, confidence=None)
    pairs = dp.select("x") >> dp.combinators.on_random_pairs(median)
    talks = frame.selectExpr(f"raise_error('{SECRET}') as x")
    for query, data, words in (
        (dp.select("y") >> dp.count(), frame, "no column 'y'"),
        (dp.select("w") >> dp.clamp(0, 1) >> dp.sum(), frame, "column 'w': data holds text"),
        (sized >> dp.clamp(0, 1) >> dp.sum(), frame, "another number of rows"),
        (pairs, frame, "on_random_pairs must .*of Spark .*; use dp.variance"),
        (dp.by("w", ["f"], pairs), frame, "on_random_pairs must .*of Spark"),
        (SUM, talks, "Spark could not compute the data"),
    ):
        refusal(partial(query, data), words)

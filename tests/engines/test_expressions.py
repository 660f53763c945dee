"""Sums that an engine computes itself: the integers of blocks, on hostile rows and random plans."""

from collections.abc import Callable, Generator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, cast

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import opendp_lite as dp
from opendp_lite.engines.columns import Dataset
from opendp_lite.engines.containers import of_duckdb, of_polars
from opendp_lite.engines.data import expressions
from opendp_lite.engines.files import postgresql
from tests.engines.refusals import SECRET, refusal

KEYS = ["a", "A", "a ", "", "é", "e\u0301", "a\0", "none has it"]
BOUNDS = [
    (0, 1),
    (0.1, 0.3),
    (-1e-6, 3e5),
    (1e-3, 1.0000001e-3),
    (-1e200, 1e200),
    (0, 3e-200),
    (-(2**62), 2**62),
]
NOISE = dp.gaussian(scale=1e-9)
Query = Callable[[Any], object]


def hostile(lower: float, upper: float, count: int, seed: int) -> np.ndarray:
    """Floats near ties of the grid of some bounds, of random bits, infinite, missing, tiny."""
    random = np.random.default_rng(seed)
    snapper = dp.bodies.Box(lower, upper).snapper().each_column()[0]
    unit = 2.0**snapper.exponent
    ties = (random.integers(snapper.least - 3, snapper.most + 4, count) + 0.5) * unit
    odd = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324, -5e-324, 2.2e-308, 1.7e308]
    ends = [np.nextafter(end, far) for end in (lower, upper) for far in (-np.inf, np.inf)]
    bits = random.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    near = np.nextafter(ties, np.where(random.random(count) < 0.5, -np.inf, np.inf))
    return np.concatenate([odd, ends, ties, near, bits, random.uniform(lower, upper, count)])


def table(numbers: np.ndarray, seed: int = 5) -> pl.DataFrame:
    """The numbers, some of them NULL, as many types, with hostile keys."""
    random = np.random.default_rng(seed)
    count = len(numbers)
    texts = [*KEYS[:-1], "no such key", None]
    x = pl.Series(numbers, dtype=pl.Float64)
    long = random.integers(-(2**63), 2**63, count, dtype=np.int64, endpoint=False)
    short = random.integers(-3, 4, count)
    found = pl.DataFrame(
        {
            "x": x.scatter(list(range(0, count, 11)), None) if count > 1 else x,
            "float32": x.cast(pl.Float32),
            "int64": long,
            "uint64": random.integers(0, 2**64, count, dtype=np.uint64),
            "int8": short.astype(np.int8),
            "uint16": (short + 3).astype(np.uint16),
            "bool": short > 0,
            "nothing": pl.Series([None] * count, dtype=pl.Float64),
            "k": pl.Series([texts[each] for each in random.integers(0, 9, count)], dtype=pl.String),
            "sex": pl.Series(short, dtype=pl.Int32),
        }
    )
    return found.with_columns(pl.when(pl.col("int8") != 3).then("int64").alias("int64"))


def engines(frame: pl.DataFrame):
    """The rows as queries of engines, in several parts."""
    half = len(frame) // 3
    yield pl.concat([frame[:half].lazy(), frame[half:].lazy()], rechunk=False)
    yield duckdb.connect().from_arrow(frame.to_arrow())


def require_equal(
    frame: pl.DataFrame, queries, answered: list[bool], computed: bool = True
) -> None:
    """Each engine gives what the frame in memory does, and computes it itself or not."""
    for query in queries:
        expected = listed(query.insecure_release(frame, seed=3).value)
        assert not answered
        for data in engines(frame):
            where = query.explain(data=data).where
            assert {" computes " in line for line in where} == {computed}, (query, where)
            assert not answered
            assert listed(query.insecure_release(data, seed=3).value) == expected, query
            assert set(answered) == {computed}, query
            answered.clear()


def listed(value):
    """A release with arrays as lists, which are compared by all of their numbers."""
    if isinstance(value, Mapping):
        return {key: listed(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(map(listed, value))
    return value.tolist() if isinstance(value, np.ndarray) else value


def by(column: str, lower: float, upper: float):
    return dp.by("k", KEYS, dp.select(column) >> dp.clamp(lower, upper) >> dp.sum() >> NOISE)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_hostile_floats_have_the_same_integers(bounds, answered):
    frame = table(hostile(*bounds, 2000, seed=1))
    queries = [by("x", *bounds), dp.by("k", KEYS, dp.select("x") >> dp.count() >> NOISE)]
    if 1e-90 < bounds[1] < 1e90:
        queries.append(dp.by("k", KEYS, dp.select("x") >> dp.mean(*bounds, rho=1)))
    require_equal(frame, queries, answered)


def test_other_types_have_the_same_integers(answered):
    frame = table(hostile(-2, 2, 500, seed=2))
    columns = "float32", "int64", "uint64", "int8", "uint16", "bool", "nothing"
    bounds = (-2, 2), (0.1, 0.3), (-(2**62), 2**62), (2**53 - 9, 2**63)
    each = [dp.compose([by(column, *ends) for ends in bounds]) for column in columns]
    require_equal(frame, each, answered)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_rows(count, answered):
    frame = table(hostile(0, 1, 9, seed=3)[20 : 20 + count])
    require_equal(frame, [by("x", 0, 1), dp.by("k", KEYS, dp.count() >> NOISE)], answered)


def test_random_plans(answered):
    frame = table(hostile(-2, 7, 300, seed=4))
    random = np.random.default_rng(7)
    square, center = dp.transformations.square, dp.transformations.center
    steps = [lambda: dp.clamp(-1.7, 5), lambda: center(0.1), square, lambda: dp.clamp(-3, 0.7)]
    queries = []
    for _ in range(12):
        plan = dp.select(str(random.choice(["x", "float32", "int8"]))) >> dp.clamp(-2, 7)
        for place in random.integers(0, len(steps), random.integers(0, 5)):
            plan = plan >> steps[place]()
        queries.append(plan >> (dp.sum() if random.random() < 0.8 else dp.count()) >> NOISE)
    several = [dp.compose(queries[place : place + 4]) for place in range(0, 12, 4)]
    require_equal(frame, [dp.by("k", KEYS, each) for each in several], answered)
    kept = [random_keep(random) >> dp.by("k", KEYS, each) for each in several]
    alike = [
        dp.keep(each, between=(0, 1)) >> dp.by("k", KEYS, several[0]) for each in ("x", "int8")
    ]
    require_equal(frame, [dp.compose([*kept, *alike])], answered)
    combined = dp.by(["sex", "k"], [[0, 2, 9, -3], ["a", "é", ""]], several[0])
    chosen = dp.by(["sex", "k"], [(0, "a"), (-1, "é"), (9, "a")], several[1])
    require_equal(frame, [combined, chosen], answered)


def random_keep(random: np.random.Generator):
    """Steps that keep some rows, of which the last may leave only those that one before left."""
    ways = [
        dp.keep("x", between=(-1, None)),
        dp.keep("x", between=(0.1, 3)),
        dp.keep("float32", between=(None, -0.0)),
        dp.keep("k", among=["a", "é", "no such key"]),
        dp.keep("sex", among=[-1, 2, 9]),
    ]
    first, second = random.choice(5, 2, replace=False)
    return ways[first] >> ways[second] if random.random() < 0.5 else ways[first]


def test_counts_by_category_and_between_edges(answered):
    """Edges on values, next to them, at both zeros and beside the largest and least floats."""
    frame = table(np.concatenate([hostile(-2, 7, 300, seed=5), [-2, 0, 0.1, 7, 1.7e308]]))
    close = [-1.7e308, -2, np.nextafter(-2, 0), -0.0, 5e-324, 0.1, 7, 1.7e308]
    queries = [
        counts("x", edges=close),
        counts("x", edges=close, other=True),
        counts("x", edges=[0, 7], other=True),
        counts("int64", edges=[-(2**63), -(2**53) - 1, 2**62]),
        counts("float32", edges=[0.1, 0.3, 5], other=True),
        counts("k", KEYS),
        counts("sex", [2, -3, 9]),
        counts("k", "sex", [KEYS, [1, 0]]),
        counts("k", "x", [KEYS], edges=[0, 1, 7]),
        random_keep(np.random.default_rng(2)) >> counts("x", edges=[0, 1, 7]),
    ]
    grouped = [dp.by("sex", [0, 2, 9, -3], each) for each in (*queries[:3], *queries[6:])]
    require_equal(frame, [*queries, *grouped, dp.compose(queries)], answered)


def counts(*given, **options):
    """The counts of a column, or of several, in one way or another."""
    *columns, lists = given if isinstance(given[-1], list) else (*given, [])
    return dp.select(columns) >> dp.one_hot(lists, **options) >> dp.sum() >> NOISE


def test_sums_of_several_columns(answered):
    """A row that lacks one of them is left out of all, and one that is kept for another column."""
    frame = table(hostile(-2, 7, 300, seed=5))
    sums = dp.select("x", "float32", "int8") >> dp.clamp([-2, 0.1, 0], [7, 0.3, 2]) >> dp.sum()
    squares = dp.select("int64", "x") >> dp.clamp(-2, 7) >> dp.transformations.square() >> dp.sum()
    count = dp.select("x", "k", "int64") >> dp.count()
    each = [sums >> NOISE, squares >> NOISE, count >> NOISE]
    by_sex = dp.by("sex", [0, 2, 9], dp.compose(each))
    require_equal(frame, [by_sex, dp.keep("sex", among=[1, -3]) >> dp.compose(each)], answered)


def test_several_groups_in_one_pass(answered):
    frame = table(hostile(0, 1, 99, seed=6))
    by_sex = dp.by("sex", [1, 0], dp.select("x") >> dp.clamp(0, 1) >> dp.sum() >> NOISE)
    of_all = dp.select("x") >> dp.clamp(0, 1) >> dp.sum() >> NOISE
    require_equal(frame, [dp.compose([by("x", 0, 1), by_sex, of_all])], answered)


def test_what_cannot_be_said_comes_in_blocks(answered):
    frame = table(hostile(0, 1, 99, seed=6))
    count = dp.count() >> NOISE
    missing = dp.select("x") >> dp.count(missing=True) >> NOISE
    blocks = [
        dp.select("x") >> dp.clamp(0, 1) >> dp.sum() >> NOISE,
        dp.by("k", ["a", None], count),
        dp.by("k", ["a", "\ud800"], count),
        dp.by("sex", [1, 2.0], count),
        dp.by("k", KEYS, missing),
        dp.by("k", KEYS, dp.keep("k", among=[None, "a"]) >> count),
        counts("k", KEYS, other=True),
        counts("x", edges=range(99)),
        dp.keep("x", between=(0, 1)) >> dp.count() >> NOISE,
    ]
    require_equal(frame, blocks, answered, computed=False)


@pytest.mark.parametrize("name", ["polars", "DuckDB"])
def test_an_explanation_says_what_runs_where_and_reads_no_row(name):
    unread = pl.LazyFrame({"x": [1.0], "k": ["a"], "day": [date(1987, 1, 31)]}).map_batches(
        lambda _: pytest.fail("a row was read"), schema={"x": pl.Float64, "k": pl.String}
    )
    broken = duckdb.sql("SELECT x, k FROM (SELECT 1.0::DOUBLE x, 'a' k) WHERE error('read') = ''")
    data = unread if name == "polars" else broken
    by_key, mean = by("x", 0, 1), dp.select("x") >> dp.mean(0, 1, rho=1)
    median = dp.select("x") >> dp.private_quantile(0.5, bounds=(0, 1), rho=1)
    edges = dp.select("x") >> dp.histogram(edges=range(40), rho=1)
    summed = "sum of 'x' for each 'k'"

    def where(query) -> list[str]:
        return list(query.explain(data=data).where)

    assert where(by_key) == [f"{name} computes {summed}."]
    assert where(mean)[0] == f"Rows come in batches for sum of 'x': {name} is not quicker with it."
    assert where(dp.compose(by_key, median)) == [
        f"Rows come in batches for {summed}: another part of the same pass comes in batches.",
        "All rows come into memory here for private_quantile of 'x': it is made of more than sums "
        "and counts.",
    ]
    (line,) = where(edges)
    assert line.endswith("it has more than 10 edges." if name == "DuckDB" else "32 edges.")
    kept = dp.table(person="k") >> dp.bound_contributions(1) >> mean
    assert where(kept) == [
        "Rows come in batches for bound_contributions: its function may look at all of them."
    ]
    later = "It asks for one number after another, so what is read is known when it runs."
    assert where(dp.select("x") >> dp.mean(rho=1)) == [later]
    (count, _), *_ = (where(dp.keep("k", among=["a"]) >> dp.by("x", [1], each)) for each in (mean,))
    assert count.endswith("the type of 'x' is not that of its declared keys.")
    with pytest.raises(dp.DataError, match="no column 'y'"):
        where(by("y", 0, 1))
    assert by_key.explain(data=data).closing == by_key.explain().closing
    assert str(by_key.explain(data=data)).endswith(summed + ".")


def test_an_explanation_says_that_other_containers_are_read_here():
    frame, mean = table(hostile(0, 1, 9, seed=6)), dp.mean(0, 1, rho=1)
    expected = "All rows are read in this process: a DataFrame computes no sums for dp."
    assert by("x", 0, 1).explain(data=frame).where == (expected,)
    assert mean.explain(data=frame["x"]).where == (expected.replace("DataFrame", "Series"),)
    alone = mean.explain(data=frame.select("x").lazy()).where
    assert alone == ("All rows are read in this process: no dp.select names the columns.",)


def test_decimals_have_the_floats_of_blocks(answered):
    random = np.random.default_rng(8)
    numbers = [Decimal(int(each)).scaleb(-20) for each in random.integers(0, 2**62, 400)]
    kind = pl.Decimal(38, 20)
    frame = pl.DataFrame({"x": pl.Series(numbers, dtype=kind), "k": ["a", "é"] * 200})
    query = by("x", 0, 0.03)
    for place, data in enumerate(engines(frame)):
        expected = query.insecure_release(frame if place == 0 else frame.to_arrow(), seed=3)
        assert query.insecure_release(data, seed=3) == expected
    assert answered == [True, False]


def test_a_collation_makes_no_keys_equal(answered):
    frame = table(hostile(0, 1, 99, seed=6))
    connection = duckdb.connect()
    connection.register("arrow", frame.to_arrow())
    connection.execute("CREATE TABLE own AS SELECT x, k FROM arrow")
    connection.execute("CREATE TABLE folded (x DOUBLE, k VARCHAR COLLATE NOCASE.NOACCENT)")
    connection.execute("INSERT INTO folded SELECT x, k FROM arrow")
    connection.execute("SET default_collation = 'NOCASE'")
    query = by("x", 0, 1)
    for name in ("own", "folded"):
        found = query.insecure_release(connection.table(name), seed=3)
        assert found == query.insecure_release(frame, seed=3)
    assert answered == [True, True]


def test_refusals_are_those_of_blocks(answered):
    frame = table(hostile(0, 1, 99, seed=6))
    count = dp.by("k", [1, 2], dp.count() >> NOISE)
    for data in (frame, *engines(frame)):
        with pytest.raises(dp.DataError, match="column 'k': the column holds text and the"):
            count(data)
    broken = duckdb.sql("SELECT error('patient 42') AS x, 'a' AS k")
    refusal(lambda: by("x", 0, 1)(broken), "could not be read to its end", secret="42")
    days = pl.LazyFrame({"k": ["a"], "x": [date(1987, 1, 31)]})
    refusal(lambda: by("x", 0, 1)(days), secret="1987")
    assert answered == [False]


def lower_case(key):
    if isinstance(key, pl.Expr):
        return key.str.to_lowercase()
    if isinstance(key, postgresql._Sql):
        return postgresql._Sql(f"lower({key.text})", key.conditions)
    text = duckdb.FunctionExpression("lower", duckdb.FunctionExpression("decode", key))
    return duckdb.FunctionExpression("encode", text)


ERRS = {
    "clip": lambda right, self, value, low, high: right(self, value, low, high * (1 - 2.0**-30)),
    "total": lambda right, self, *given: right(self, *given) + 1,
    "key": lambda right, self, name, kind: lower_case(right(self, name, kind)),
    "choose": lambda right, self, condition, value: value,
    "is_there": lambda right, self, value: self.number("x") > 1,
    "among": lambda right, self, key, values: right(self, key, values[1:]),
}
"""What an engine gets wrong, with what it would have been."""


def require_unasked(kind: type[expressions.Engine], wrong: str, answered, monkeypatch) -> None:
    """An engine that errs so on the public table is not asked, and blocks come."""
    right = getattr(kind, wrong)
    monkeypatch.setattr(kind, wrong, lambda *given: ERRS[wrong](right, *given))
    expressions._is_right.cache_clear()
    frame = table(hostile(0, 1, 99, seed=6))
    query = by("x", 0, 1)
    data = next(each for each in engines(frame) if type(Dataset(each, None, None).engine) is kind)
    assert query.insecure_release(data, seed=3) == query.insecure_release(frame, seed=3)
    assert answered == [False]
    expressions._is_right.cache_clear()


@pytest.mark.parametrize("kind", [of_polars._Query, of_duckdb._Relation])
@pytest.mark.parametrize("wrong", ERRS)
def test_an_engine_that_errs_on_the_public_table_is_not_asked(kind, wrong, answered, monkeypatch):
    require_unasked(kind, wrong, answered, monkeypatch)


@pytest.mark.parametrize("keys", [None, ["a"]])
def test_a_panic_of_polars_is_a_refusal(keys):
    """``collect_batches`` ends in silence there: one row would take all others with it."""

    def panic(_: pl.Series) -> pl.Series:
        raise pl.exceptions.PanicException(SECRET)

    frame = pl.LazyFrame({"k": ["a"] * 9, "x": [1.0] * 9})
    total = dp.select("x") >> dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(scale=1)
    query = total if keys is None else dp.by("k", keys, total)
    broken = frame.with_columns(pl.col("x").map_batches(panic, return_dtype=pl.Float64))
    with pytest.raises(dp.DataError, match="could not be read to its end") as caught:
        query(broken)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_old_polars_says_what_it_lacks(monkeypatch):
    frame = pl.LazyFrame({"x": [1.0], "k": ["a"]})
    by_key = dp.by("k", ["a"], dp.select("x") >> dp.mean(0, 1, epsilon=1))
    expressions._is_right.cache_clear()
    with monkeypatch.context() as older:
        older.delattr(pl.Expr, "reinterpret")
        first, second = by_key.explain(data=frame).where
        assert first.endswith("polars could not say it.")
        assert second.endswith("another part of the same pass comes in batches.")
        older.delattr(pl.LazyFrame, "sink_batches")
        with pytest.raises(dp.DataError, match=r"needs polars 1\.34 or newer"):
            by_key(frame)
    expressions._is_right.cache_clear()


def test_a_query_of_polars_that_is_left_ends():
    batches = of_polars._Query(pl.LazyFrame({"x": range(10**6)})).batches((), 1000)
    assert len(next(batches)) > 0
    cast(Generator[pl.DataFrame], batches).close()


@pytest.mark.parametrize(
    "macro", ["SUM(x) as 9", "count(x) as 9", "isnan(x) as false", "encode(x) as 'a'::blob"]
)
@pytest.mark.parametrize("operator", ["", '"+"(a, b) as 9', '"*"(a, b) as 9', '"-"(a, b) as 9'])
def test_macros_of_a_connection_change_nothing(macro, operator):
    rows = pa.table({"k": ["a", "b", "a", None], "x": [1.0, 2.0, float("nan"), 3.0]})
    connection = duckdb.connect()
    for made in filter(None, (macro, operator)):
        connection.execute(f"create macro {made}")
    sums = dp.by(
        "k", ["a", "b"], dp.select("x") >> dp.clamp(0, 9) >> dp.sum() >> dp.gaussian(scale=1e-9)
    )
    found = sums(connection.from_arrow(rows))
    np.testing.assert_allclose([found["a"].item(), found["b"].item()], [1, 2], atol=1e-6)


def test_a_name_is_no_pattern_of_names():
    frame = pl.DataFrame({"^k.*$": ["a", "a", "b"], "k1": [1, 2, 3]})
    counts = dp.by("^k.*$", ["a"], dp.count() >> dp.gaussian(scale=1e-9))
    for data in (frame, frame.lazy()):
        assert abs(float(counts(data)["a"]) - 2) < 1e-6

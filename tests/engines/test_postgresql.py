"""Queries to PostgreSQL: the integers of blocks, computed there, whatever the server holds."""

import gc
import shutil
import sys
from collections.abc import Iterator
from datetime import date
from functools import partial
from itertools import count

import numpy as np
import polars as pl
import pytest

import opendp_lite as dp
from opendp_lite.engines.files import postgresql
from tests.combinators.test_forks import in_a_fork
from tests.engines import test_expressions as laws
from tests.engines.hostile_columns import POSTGRESQL
from tests.engines.refusals import refusal
from tests.engines.test_expressions import (  # noqa: F401
    NOISE,
    by,
    counts,
    hostile,
    test_counts_by_category_and_between_edges,
    test_few_rows,
    test_hostile_floats_have_the_same_integers,
    test_random_plans,
    test_several_groups_in_one_pass,
    test_sums_of_several_columns,
)
from tests.engines.test_one_row import check_query
from tests.sessions.servers import Server, begin_server, run

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

TYPES = {
    pl.Float64: "float8",
    pl.Float32: "float4",
    pl.Int64: "int8",
    pl.Int32: "int4",
    pl.Int8: "int2",
    pl.UInt16: "int4",
    pl.UInt64: "numeric",
    pl.Boolean: "bool",
    pl.String: "text",
    pl.Date: "date",
}
NUMBER = count()
table_with_nul = laws.table


def table(numbers: np.ndarray, seed: int = 5) -> pl.DataFrame:
    """As elsewhere, but for texts that PostgreSQL cannot hold. A key that has a NUL is declared."""
    return table_with_nul(numbers, seed).with_columns(pl.col("k").replace("a\0", None))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server with a database of its own."""
    found = begin_server()
    run(found.url("owner", "postgres"), "CREATE DATABASE survey")
    yield found
    found.stop("immediate")
    shutil.rmtree(found.folder, ignore_errors=True)


@pytest.fixture
def load(server: Server):
    """Writes a frame into a table; some columns of other types than they have by themselves."""

    def loaded(frame: pl.DataFrame, query: str = "SELECT * FROM {}", **kinds: str):
        name, url = f"public.rows{next(NUMBER)}", server.url("owner", "survey")
        made = {each: kinds.get(each, TYPES[kind]) for each, kind in frame.schema.items()}
        columns = ", ".join(f'"{each}" {kind}' for each, kind in made.items())
        with psycopg.connect(url) as connection:
            connection.execute(f"CREATE TABLE {name} ({columns})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copying:
                for row in frame.iter_rows():
                    copying.write_row(row)
        return dp.data.postgresql(url, query.format(name))

    return loaded


@pytest.fixture(autouse=True)
def laws_of_engines(load, monkeypatch: pytest.MonkeyPatch) -> None:
    """The laws that were imported are about a server here."""
    monkeypatch.setattr(laws, "engines", lambda frame: iter([load(frame)]))
    monkeypatch.setattr(laws, "table", table)


def test_types_have_the_same_integers(answered):
    frame = table(hostile(-2, 2, 500, seed=2))
    ends = (-2, 2), (0.1, 0.3), (-(2**62), 2**62), (2**53 - 9, 2**63)
    columns = "float32", "int64", "int8", "uint16", "bool", "nothing"
    each = [dp.compose([by(name, *pair) for pair in ends]) for name in columns]
    laws.require_equal(frame, each, answered)
    decimals = [by("uint64", *each) for each in ends]
    laws.require_equal(frame, decimals, answered, computed=False)


@pytest.mark.parametrize("kind", POSTGRESQL)
def test_a_row_is_read_as_it_is_alone(server, kind):
    ask = partial(dp.data.postgresql, server.url("owner", "survey"))
    check_query(ask, kind, POSTGRESQL[kind], 1)


def test_sums_and_means_of_all_rows(answered):
    frame = table(hostile(-2, 7, 2000, seed=3))
    total = dp.select("x") >> dp.clamp(-2, 7) >> dp.sum() >> NOISE
    square = dp.select("x") >> dp.clamp(-2, 7) >> dp.transformations.square() >> dp.sum() >> NOISE
    mean = dp.select("x") >> dp.mean(-2, 7, rho=1)
    laws.require_equal(
        frame, [total, square, mean, dp.select("k") >> dp.count() >> NOISE], answered
    )


@pytest.mark.parametrize("bounds", [(-1e-200, 3e-200), (-1e150, 1e150), (-1e160, 1e160)])
def test_a_square_that_is_zero_or_infinite_is_no_error(bounds, answered):
    """PostgreSQL makes one of each, which would depend on the data."""
    edge = np.array(
        [2.0**-537.5, np.nextafter(2.0**-537.5, 0), 2.0**512, np.nextafter(2.0**512, 0)]
    )
    rows = np.concatenate([hostile(*bounds, 300, seed=4), edge, -edge])
    narrow = dp.select("x") >> dp.clamp(-1e-100, 1e-100) >> dp.transformations.square()
    squared = narrow >> dp.clamp(0, 1) >> dp.sum() >> NOISE
    plain = dp.select("x") >> dp.clamp(*bounds) >> dp.sum() >> dp.gaussian(scale=1e170)
    laws.require_equal(table(rows), [squared, plain], answered)


COLLATIONS = {
    "text of no accent": 'text COLLATE "folded"',
    "varchar of no accent": 'varchar(20) COLLATE "folded"',
    "text": "text",
    "name": "name",
}


@pytest.mark.parametrize("kind", COLLATIONS.values(), ids=COLLATIONS)
def test_a_collation_makes_no_keys_equal(kind, server, load, answered):
    if "folded" in kind:
        try:
            run(
                server.url("owner", "survey"),
                "CREATE COLLATION IF NOT EXISTS folded (provider = icu, "
                "locale = 'und-u-ks-level1', deterministic = false)",
            )
        except psycopg.Error:
            pytest.skip("this server has no ICU")
    frame = table(hostile(0, 1, 99, seed=6))
    for query in (
        by("x", 0, 1),
        counts("k", laws.KEYS),
        dp.keep("k", among=["a", "é"]) >> counts("k", laws.KEYS),
    ):
        data = load(frame, k=kind)
        assert laws.listed(query.insecure_release(data, seed=3).value) == laws.listed(
            query.insecure_release(frame, seed=3).value
        )
    assert answered == [True] * 3


def test_texts_without_blanks_at_the_end_come_in_batches(load, answered):
    frame = pl.DataFrame({"k": ["a", "a ", "é"], "x": [1.0, 2.0, 4.0]})
    found = by("x", 0, 9).insecure_release(load(frame, k="char(4)"), seed=3)
    assert found == by("x", 0, 9).insecure_release(
        frame.with_columns(pl.col("k").str.strip_chars()), seed=3
    )
    assert answered == [False]


def test_batches_of_other_types(load):
    days = [date(2020, 2, 29), None, date(1, 1, 1), date(9999, 12, 31)]
    frame = pl.DataFrame({"day": days, "x": [0.1, None, 1e22, -3.0]})
    data = load(
        frame,
        "SELECT day, x::numeric AS x, day::timestamp AS time, x::text AS word, "
        "'NaN'::numeric AS nothing, 'infinity'::date AS never, '1e400'::numeric AS huge, "
        "'{{1}}'::int[] AS listed FROM {}",
    )
    years = counts("day", edges=[date(2000, 1, 1), date(2021, 1, 1)])
    assert years.insecure_release(data, 3).value == years.insecure_release(frame, 3).value
    for name, expected in {
        "day": 3,
        "x": 3,
        "time": 3,
        "word": 3,
        "nothing": 0,
        "never": 0,
        "huge": 4,
    }.items():
        assert (dp.select(name) >> dp.count())(data) == expected, name
    total = dp.select("x") >> dp.clamp(-5, 1e23) >> dp.sum()
    assert total(data) == total(frame)
    assert counts("listed", ["{1}"]).insecure_release(data, 3).value.round().tolist() == [4]
    with pytest.raises(dp.DataError, match=r"'listed'.*text"):
        (dp.select("listed") >> dp.clamp(0, 1) >> dp.sum())(data)
    with pytest.raises(dp.DataError, match="no column 'y'"):
        (dp.select("y") >> dp.count())(data)


@pytest.mark.parametrize("put", [lambda inner: inner, lambda inner: dp.sample(1, inner)])
def test_ids_that_are_numeric_are_refused_by_their_type(server, put):
    """Two ids with one nearest float were one person: who goes may bring another's row back."""
    people = dp.bound_contributions(1) >> dp.count(missing=True) >> dp.laplace(epsilon=50)
    pipeline, url = dp.table(person="id") >> put(people), server.url("owner", "survey")
    asked = "SELECT {} AS id FROM generate_series(1, {}) AS t(n)"
    for rows in (0, 90):
        with pytest.raises(dp.DataError, match=r"'id' is numeric.*id::bigint or id::text"):
            pipeline(dp.data.postgresql(url, asked.format("1 + n * 1e-18", rows)))
    assert pipeline(dp.data.postgresql(url, asked.format("(1 + n * 1e-18)::text", 90))) == 90


@pytest.mark.parametrize("wrong", laws.ERRS)
def test_a_server_that_errs_on_the_public_table_is_not_asked(wrong, answered, monkeypatch):
    laws.require_unasked(postgresql._ServerQuery, wrong, answered, monkeypatch)


def test_operators_and_functions_of_other_schemas_change_nothing(server, load, answered):
    frame = pl.DataFrame({"k": ["a", "b", "a", None], "x": [1.0, 2.0, float("nan"), 3.0]})
    url = server.url("owner", "survey")
    nine = "FUNCTION public.{}(float8, float8) RETURNS float8 LANGUAGE sql AS 'SELECT 9.0::float8'"
    made = [f"CREATE {nine.format('nine')}"]
    made += [
        f"CREATE OPERATOR public.{it} (LEFTARG=float8, RIGHTARG=float8, FUNCTION=nine)"
        for it in "+-*"
    ]
    made.append("CREATE AGGREGATE public.sum(bigint) (SFUNC = int8larger, STYPE = bigint)")
    run(url, *made)
    try:
        query = by("x", 0, 9)
        expected = laws.listed(query.insecure_release(frame, seed=3).value)
        for path in ("public", "public, pg_catalog", "pg_catalog, public"):
            run(url, f"ALTER DATABASE survey SET search_path = {path}")
            data = load(frame)
            assert laws.listed(query.insecure_release(data, seed=3).value) == expected, path
        assert answered == [True, False, True]
    finally:
        run(url, "ALTER DATABASE survey RESET search_path", "DROP AGGREGATE public.sum(bigint)")
        run(url, *(f"DROP OPERATOR public.{it} (float8, float8)" for it in "+-*"))


def test_all_passes_see_the_same_rows_until_they_are_let_go(server, load):
    data = load(pl.DataFrame({"x": [1.0, 2.0]}))
    url, rows = server.url("owner", "survey"), dp.select("x") >> dp.clamp(0, 9) >> dp.count()
    assert rows(data) == 2
    name = data.parts[0].query.split()[-1]
    run(url, f"INSERT INTO {name} VALUES (3.0)")
    assert (rows(data), (dp.select("x") >> dp.count())(data)) == (2, 2)
    assert rows(dp.data.postgresql(url, f"TABLE {name}")) == 3
    assert "was forked since the query was opened" in in_a_fork(partial(rows, data))
    connection = data.parts[0].connection
    del data
    gc.collect()
    assert connection.closed


def test_what_is_refused_says_no_value(server, load):
    url = server.url("owner", "survey")
    for query, words in {
        "SELECT * FROM nowhere": 'relation "nowhere" does not exist',
        "SELEC 1": "syntax error",
        "DELETE FROM pg_class": "syntax error",
        "SELECT 1) AS found; DROP TABLE x; --": "syntax error",
        "SELECT 1) AS found; COMMIT; SELECT * FROM (SELECT 1": "multiple commands",
    }.items():
        with pytest.raises(dp.DataError, match=words):
            dp.data.postgresql(url, query)
    for query in ("DELETE FROM visits", "SELECT age FROM visits;"):
        with pytest.raises(
            dp.DataError, match=r"syntax error.*begins with SELECT.*no \";\""
        ) as told:
            dp.data.postgresql(url, query)
        assert "psql" not in str(told.value)
    data = load(pl.DataFrame({"x": [42.0, 0.0]}), "SELECT 1 / (x - 42) AS x FROM {}")
    sums = dp.select("x") >> dp.clamp(0, 1) >> dp.sum() >> NOISE
    refusal(lambda: sums(data), "could not be read to its end", secret="42")
    refusal(lambda: sums(data), "could not be read to its end", secret="42")


def test_a_pass_that_fails_does_not_spoil_the_next(server, load):
    data = load(
        pl.DataFrame({"x": [42.0, 0.0], "y": [1.0, 2.0]}), "SELECT y, 1 / (x - 42) AS x FROM {}"
    )
    median, query = dp.private_quantile(0.5, bounds=(0, 9), epsilon=50), data.parts[0]
    refusal(lambda: (dp.select("x") >> median)(data), "could not be read to its end", secret="42")
    assert 0 <= float((dp.select("y") >> median)(data)) <= 9
    passes = [query.batches(["y"], 1) for _ in range(2)]
    assert [next(each).num_rows for each in passes] == [1, 1]
    passes[0].close()
    assert [each.num_rows for each in passes[1]] == [1]
    assert sum(each.num_rows for each in query.batches(["y"], 1)) == 2


def test_a_database_of_another_encoding_is_refused(server):
    """Of a text there may be no UTF-8: one row would decide whether there is an answer."""
    made = "CREATE DATABASE {} ENCODING '{}' LOCALE 'C' TEMPLATE template0"
    for encoding in ("SQL_ASCII", "LATIN1"):
        run(server.url("owner", "postgres"), made.format(encoding.lower(), encoding))
        with pytest.raises(dp.DataError, match=f"has the encoding {encoding}"):
            dp.data.postgresql(server.url("owner", encoding.lower()), "SELECT 1 AS x")


URL = "postgresql://ann:s3cret@host/db"


@pytest.mark.parametrize(
    ("given", "query"),
    [
        ("SELECT age FROM visits", URL),
        ("SELECT age FROM visits WHERE x = 1", "SELECT 1"),
        (URL, URL),
        ("", "host=host password=s3cret"),
        ("mysql://ann:s3cret@host/db", "SELECT 1"),
        ("postgresql://ann:s3c@s3cret@host/db", "SELECT 1"),
        ("postgresql://ann:s3cret/db", "SELECT 1"),
        ("host=host password=s s3cret", "SELECT 1"),
        ("postgresql://ann:%zzs3cret@host/db", "SELECT 1"),
    ],
)
def test_a_server_that_is_none_is_not_repeated(given, query):
    with pytest.raises(dp.ParameterError, match="the server comes first, then the query") as told:
        dp.data.postgresql(given, query)
    assert not any(word in str(told.value) for word in ("s3cret", "visits"))
    assert (told.value.__cause__, told.value.__context__) == (None, None)


@pytest.mark.parametrize("name", ["postgresql", "read_sql", "sql"])
def test_other_names_say_how_to_query(name):
    with pytest.raises(AttributeError, match=r"dp\.data\.postgresql\(server, query\)"):
        getattr(dp, name)


def test_a_server_is_a_str():
    with pytest.raises(dp.ParameterError, match="needs a str for the server"):
        dp.data.postgresql(None, "SELECT 1")  # type: ignore[arg-type]


def test_why_there_is_no_connection(server):
    for given, words in {
        f"postgresql://nobody:s3cret@/survey?host={server.folder}": 'role "nobody" does not exist',
        f"postgresql://owner:s3cret@/other?host={server.folder}": 'database "other" does not exist',
        "host=/nowhere password=s3cret": "No such file",
        "host=/nowhere port=abc": 'invalid integer value "abc"',
        "postgresql://s3cret:s3cret@/s3cret?host=/s3cret": "the reason holds the password",
    }.items():
        told = refusal(lambda given=given: dp.data.postgresql(given, "SELECT 1"), words, "s3cret")
        assert told.startswith("PostgreSQL cannot be reached")


def test_a_lost_connection_is_said(server, load):
    data = load(pl.DataFrame({"x": [42.0, 0.0]}))
    assert repr(data) == "a query to PostgreSQL"
    sums = dp.select("x") >> dp.clamp(0, 1) >> dp.sum() >> NOISE
    process = data.parts[0].connection.info.backend_pid
    run(server.url("owner", "survey"), f"SELECT pg_terminate_backend({process}, 5000)")
    for ask in (lambda: sums.explain(data=data), lambda: sums(data)):
        refusal(ask, "connection to PostgreSQL was lost.*open the query again", "Admin")


def test_a_driver_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(dp.DataError, match=r'pip install "opendp_lite\[postgresql\]"'):
        dp.data.postgresql("postgresql://owner@/survey", "SELECT 1")

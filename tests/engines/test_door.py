"""The one door: containers of strangers, of libraries, and what it refuses."""

import array
import datetime
import tracemalloc
import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow.dataset import dataset

import opendp_lite as dp
from opendp_lite.engines.data import source as reduced_module
from opendp_lite.engines.data.open_data import open_rows
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.data.source import Source
from opendp_lite.engines.data.source import reduce as reduced
from opendp_lite.engines.data.table import take
from opendp_lite.engines.data.values import names_alone, open_values
from tests.engines.refusals import SECRET, refusal

TOTAL = dp.clamp(0, 10) >> dp.sum()
FILLED = dp.impute(5) >> TOTAL
NAMED = dp.records(columns=["b", "a"]) >> dp.clamp(0, 10) >> dp.sum()
THREE = dp.records(columns=3) >> dp.clamp(0, 10) >> dp.sum()
MATRIX = np.arange(12.0).reshape(4, 3)


@attrs.frozen(eq=False)
class Shelf:
    """A stranger's container: pages of rows, with names for the columns."""

    pages: list[np.ndarray]
    titles: tuple[str, ...]


@open_rows.register(Shelf)
def _of_shelf(data: Shelf) -> dp.Blocks:
    return dp.Blocks(lambda: iter(data.pages), names=data.titles)


@attrs.frozen(eq=False)
class Pile(Shelf):
    """A stranger's container that does not say how its columns are called."""


@open_rows.register(Pile)
def _of_pile(data: Pile) -> dp.Blocks:
    return dp.Blocks(lambda: iter(data.pages), columns=data.pages[0].shape[1])


def test_columns_are_found_by_the_names_that_a_container_says():
    pages = [MATRIX[:1], MATRIX[1:]]
    shelf = Shelf(pages, ("a", "text", "b"))
    blocks = dp.Blocks(lambda: iter(pages), names=["a", "text", "b"])
    matrix = opened(MATRIX)
    titled = type("Titled", (type(matrix),), {"names": ("a", "text", "b")})
    named = titled(MATRIX, *MATRIX.shape, True)
    for data in (shelf, blocks, named):
        assert NAMED(data).tolist() == [25, 18]
        assert (dp.select("b") >> TOTAL)(data).tolist() == [25]
        counts = dp.by("a", [0, 3, 4], dp.count() >> dp.laplace(epsilon=200))(data)
        assert [counts[key] for key in (0, 3, 4)] == [1, 1, 0]
        found = dp.histogram("b", categories=[2, 5, 7], epsilon=200)(data)
        assert [found[key].value for key in (2, 5, 7)] == [1, 1, 0]
        chosen = dp.table(person="a") >> dp.bound_contributions(1) >> dp.select("b") >> TOTAL
        assert chosen(data).tolist() == [25]
        with pytest.raises(dp.DataError, match="'c'"):
            (dp.records(columns=["c"]) >> TOTAL)(data)
        in_order, other_order = (
            dp.Space(dp.Rows(3, names=names), dp.SymmetricDistance(), unit=1) >> TOTAL
            for names in (("a", "text", "b"), ("b", "text", "a"))
        )
        assert in_order(data).tolist() == [18, 22, 25]
        with pytest.raises(dp.DataError, match="in another order"):
            other_order(data)


def test_a_container_that_says_no_names_is_not_read_by_names():
    pages = [MATRIX[:1], MATRIX[1:]]
    for pile in (Pile(pages, ()), dp.Blocks(lambda: [Pile(pages, ())], columns=3)):
        assert THREE(pile).tolist() == [18, 22, 25]
        with pytest.raises(dp.DataError, match=r"opens a Pile .*names=\[\.\.\.\]"):
            (dp.records(columns=["b", "text", "a"]) >> TOTAL)(pile)
        with pytest.raises(dp.DataError, match=r"names=\[\.\.\.\]"):
            (dp.select("b") >> TOTAL)(pile)
    assert (dp.records(columns=["b", "text", "a"]) >> TOTAL)(MATRIX).tolist() == [18, 22, 25]
    with pytest.raises(dp.ParameterError, match=r"names=\['a'\]"):
        dp.Blocks(lambda: iter(pages), names="a")


def test_a_container_of_a_stranger_takes_one_registration():
    shelf = Shelf([MATRIX[:1], MATRIX[1:]], ("a", "text", "b"))
    assert THREE(shelf).tolist() == [18, 22, 25]
    assert NAMED(shelf).tolist() == [25, 18]
    released = (NAMED.input_space >> dp.clamp(0, 10) >> dp.sum() >> dp.gaussian(rho=1))(shelf)
    assert released.shape == (2,)
    sized = dp.records(columns=3, size=4, metric=dp.ChangeOneDistance()) >> TOTAL
    assert sized(shelf).tolist() == [18, 22, 25]
    short = dp.records(columns=3, size=5, metric=dp.ChangeOneDistance()) >> TOTAL
    with pytest.raises(dp.DataError, match="size=5"):
        short(shelf)
    with pytest.raises(dp.DataError, match="columns=3"):
        TOTAL(shelf)
    with pytest.raises(dp.DataError, match=r"a Shelf could not be read.*without dp") as caught:
        TOTAL(Shelf([MATRIX], 3))
    assert caught.value.__context__ is None


class Names:
    """A stranger's column of text, one byte a value."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __len__(self) -> int:
        return len(self.text)


def test_a_column_of_a_stranger_is_text_and_rows_of_it_are_chosen():
    data = {"who": Names("aab"), "city": Names("xyx"), "age": [1.0, 2, 3]}
    by_city = dp.by("city", ["x", "y"], dp.count() >> dp.laplace(epsilon=200))
    with pytest.raises(dp.DataError, match="Names cannot be read as categories"):
        by_city(data)
    open_values.register(Names, lambda column: open_values(list(column.text)))
    counts = by_city(data)
    assert (counts["x"], counts["y"]) == (2, 1)
    people = dp.table(person="who") >> dp.bound_contributions(1) >> dp.select("city")
    one_city = people >> dp.one_hot(["x", "y"]) >> dp.sum()
    with pytest.raises(dp.DataError, match="rows of a Names cannot be picked"):
        one_city(data)
    take.register(Names, lambda column, places: Names("".join(column.text[i] for i in places)))
    assert one_city(data).sum() == 2


class Query:
    """A stranger's query, which makes a new stream of Arrow batches each time it is asked."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.to_reader(max_chunksize=2).__arrow_c_stream__(requested_schema)


TABLE = pa.table({"a": [1, 2, 30], "text": ["x", "y", "z"], "b": pa.array([1.5, None, 4.0])})


def test_what_exports_arrow_streams_needs_no_registration():
    query = Query(TABLE)
    for _ in range(2):
        assert (dp.records(columns=["b", "a"]) >> FILLED)(query).tolist() == [10.5, 13]
    assert TOTAL(Query(TABLE.select(["a"]))).tolist() == [13]
    with pytest.raises(dp.DataError, match="text"):
        THREE(query)
    with pytest.raises(dp.DataError, match="2 columns, 1 were declared"):
        TOTAL(Query(TABLE.select(["a", "b"])))


@pytest.mark.parametrize("rows", [0, 1])
def test_a_stream_of_other_types_is_refused_whatever_its_rows_are(rows):
    """Else a refusal would tell that there is a row."""
    table = TABLE.slice(0, rows).append_column("list", pa.array([[1]] * rows, pa.list_(pa.int64())))
    queries = {
        "holds text": dp.select("text") >> TOTAL,
        "no column 'z'": dp.table() >> dp.select("z") >> dp.count(),
        "cannot be categories, keys or ids": dp.table()
        >> dp.histogram("list", categories=[1], epsilon=1),
    }
    for words, query in queries.items():
        streams = table.to_reader(), Query(table), dataset(table).scanner(), dataset(table)
        for data in streams:
            with pytest.raises(dp.DataError, match=words):
                query(data)
    assert (dp.table() >> dp.count())(Query(table)) == rows


def test_dictionaries_of_lists_and_structs_are_counted_whatever_their_rows_are():
    """Arrow casts none of them to what they list, once there is a row."""
    count = dp.select("x") >> dp.count()
    for value in ([1], {"a": 1}):
        part = pa.DictionaryArray.from_arrays(
            pa.array([0, 1, None, 0], pa.int8()), pa.array([value, None])
        )
        for column in (part, pa.chunked_array([part, part.slice(3)])):
            assert count(pa.table({"x": column})) == len(column) - 2
        assert count(pa.table({"x": part.slice(0, 0)})) == 0


def two_passes(ask) -> tuple[int, int]:
    """A program that goes through the data twice."""
    query = dp.count() >> dp.gaussian(rho=100)
    return round(ask(query)), round(ask(query))


def test_a_record_batch_reader_is_gone_through_once():
    both = dp.records(columns=["a"]) >> dp.adaptive(two_passes, dp.rho(1000))
    assert both(TABLE) == (3, 3)
    reader = TABLE.to_reader()
    with pytest.raises(dp.DataError, match="only once"):
        both(reader)
    assert NAMED(TABLE.drop(["text"]).to_reader())[1] == 11


def test_a_reader_that_an_earlier_pipeline_used_up_is_refused_and_never_empty():
    reader = TABLE.drop(["text"]).to_reader()
    assert NAMED(reader)[1] == 11
    with pytest.raises(dp.DataError, match="this pipeline or an earlier one has done so"):
        NAMED(reader)


def exhausted() -> Iterator[np.ndarray]:
    """A generator that someone has gone through."""
    yield np.ones(3)


def used_up() -> Iterator[np.ndarray]:
    generator = exhausted()
    next(generator)
    return generator


@pytest.mark.parametrize("wrap", [lambda once: once, lambda once: (each for each in once)])
def test_blocks_that_are_used_up_are_refused_and_never_empty(wrap):
    once = iter([np.ones(3)])
    both = dp.adaptive(two_passes, dp.rho(1000))
    with pytest.raises(dp.DataError, match="only once"):
        both(dp.Blocks(lambda: wrap(once)))


def test_an_iterator_that_was_begun_elsewhere_is_refused():
    begun = used_up()
    with pytest.raises(dp.DataError, match="only once"):
        TOTAL(dp.Blocks(lambda: begun))
    finished = exhausted()
    assert TOTAL(dp.Blocks(lambda: finished)).tolist() == [3]
    with pytest.raises(dp.DataError, match="only once"):
        TOTAL(dp.Blocks(lambda: finished))


def test_blocks_that_open_anew_are_gone_through_as_often_as_needed():
    both = dp.adaptive(two_passes, dp.rho(1000))
    for fresh in (lambda: [np.ones(3)], exhausted, lambda: iter([np.ones(3)])):
        assert both(dp.Blocks(fresh)) == (3, 3)
    assert TOTAL(dp.Blocks(list)).tolist() == [0]


def one(*values, kind=None) -> pa.Array:
    return pa.array(values, kind)


DECIMALS = one(Decimal("1.5"), None)
NUMBERS = {
    "arrow decimals": DECIMALS,
    "arrow wide decimals": one(Decimal("1.5"), None, kind=pa.decimal256(50, 2)),
    "arrow dictionary": one(1.5, None).dictionary_encode(),
    "arrow halves": pa.array(np.array([1.5, np.nan], np.float16)),
    "arrow chunks": pa.chunked_array([[1.5], [], [None]]),
    "polars decimals": pl.Series([Decimal("1.5"), None]),
    "polars chunks": pl.concat([pl.Series([1.5]), pl.Series([None], dtype=pl.Float64)]),
    "polars objects": pl.Series([Decimal("1.5"), None], dtype=pl.Object),
    "pandas decimals": pd.Series([Decimal("1.5"), None], dtype=object),
    "pandas Arrow decimals": pd.Series(DECIMALS, dtype=pd.ArrowDtype(DECIMALS.type)),
    "pandas nullable": pd.Series([1.5, None], dtype="Float64"),
    "pandas Arrow": pd.Series([1.5, None], dtype="float64[pyarrow]"),
    "pandas sparse": pd.Series(pd.arrays.SparseArray([1.5, np.nan])),
    "pandas categories": pd.Series([1.5, None], dtype="category"),
    "dictionary of lists": {"x": [1.5, None]},
    "buffer": array.array("d", [1.5, np.nan]),
    "list with None": [1.5, None],
    "masked": np.ma.masked_array([1.5, 3.0], mask=[False, True]),
    "masked objects": np.ma.masked_array([1.5, "x"], mask=[False, True], dtype=object),
    "masked pandas": np.ma.masked_array([1.5, pd.NA], mask=[False, False], dtype=object),
    "list with pandas NA": [pd.NA, 1.5],
    "list with a signalling NaN": [Decimal("sNaN"), Decimal("1.5")],
}  # fmt: skip
WHOLE = {
    "masked whole numbers": np.ma.masked_array([1, 3], mask=[False, True]),
    "pandas whole numbers": pd.Series([1, None], dtype="Int64"),
    "pandas truths": pd.Series([True, None], dtype="boolean"),
    "polars whole numbers": pl.Series([1, None]),
    "Arrow whole numbers": pa.array([1, None]),
    "list of truths": [np.True_, None],
}


@pytest.mark.parametrize("name", [*NUMBERS, *WHOLE])
def test_numbers_and_missing_values_of_every_type(name):
    data, total = (NUMBERS[name], [6.5]) if name in NUMBERS else (WHOLE[name], [6])
    assert FILLED(data).tolist() == total
    table = data if isinstance(data, dict) else {"x": data}
    assert (dp.records(columns=["x"]) >> FILLED)(table).tolist() == total


@pytest.mark.parametrize(
    ("data", "total"),
    [
        (np.array([True, False, True]), 2),
        ([3, 4, 10**400, -(10**400)], 17),
        ([1.0, 10**5000, -(10**5000)], 11),
        (np.ma.masked_array([3, 10**400], mask=False, dtype=object), 13),
        (np.array([2**63], dtype=np.uint64), 10),
        (pl.Series([1, 2, 10**30], dtype=pl.Int128), 13),
        (one(2**64 - 1, kind=pa.uint64()), 10),
    ],
)
def test_truths_and_whole_numbers_beyond_floats(data, total):
    assert TOTAL(data).tolist() == [total]


class Lazy:
    """As a dask array: ``__array__`` would load everything."""

    def __init__(self, **offered) -> None:
        self.__dict__.update(offered)

    def __array__(self, *arguments, **named) -> np.ndarray:
        raise AssertionError("loaded whole")


class OnDisk(Lazy):
    """As an h5py dataset."""

    shape = (3,)
    chunks = (3,)

    def __getitem__(self, key) -> np.ndarray:
        raise AssertionError("loaded whole")


class InChunks(OnDisk):
    """As one that says what its numbers are."""

    dtype = np.dtype(float)

    def __getitem__(self, key) -> np.ndarray:
        return np.arange(3.0)[key]


def test_an_array_in_chunks_is_read_some_of_them_at_a_time():
    assert TOTAL(InChunks()).tolist() == [3]


def computed() -> None:
    """Would compute a lazy container."""


TIMES = [datetime.time(1)], [datetime.timedelta(1)], [datetime.date(2020, 1, 1)]
REFUSED = [
    *[(library(values), "not numbers") for library in (pa.array, pl.Series) for values in TIMES],
    *[(library([[1]]), "not numbers") for library in (pa.array, pl.Series)],
    *[(library([{"secret": 1}]), "not numbers") for library in (pa.array, pl.Series)],
    (pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), "union"),
    (pl.Series([SECRET], dtype=pl.Enum([SECRET])), "text"),
    (pl.Series([SECRET], dtype=pl.Categorical), "text"),
    (pd.Series([SECRET], dtype="category"), "text"),
    (pd.Series([SECRET], dtype="string"), "text"),
    (pd.Series(pd.period_range("2020", periods=1)), "Period"),
    (pa.array([SECRET]).dictionary_encode(), "text"),
    (Lazy(compute=computed, chunks=(3,)), r"b\.compute\(\) for b in data\.blocks"),
    (Lazy(compute=computed, partitions=()), r"p\.compute\(\) for p in data\.partitions"),
    (Lazy(dims=(), to_dataframe=computed), r"data\.to_dataframe\(\)\.reset_index\(\)"),
    (Lazy(dims=(), to_dataframe=computed, to_series=computed), r"data\.to_numpy\(\)\.ravel"),
    (Lazy(fetchmany=computed, description=None), r"pandas\.read_sql\(query, connection\)"),
    (Lazy(fetchmany=computed, mappings=computed), r"data\.mappings\(\)\.all\(\)"),
    (Lazy(fetchmany=computed, fetchall=computed), r"list\(map\(dict, data\.fetchall"),
    (OnDisk(), r"dp\.Blocks\(lambda: \(data\[i : i"),
    (Lazy(), "cannot be read"),
    (pd.DataFrame, "cannot be read"),
    (bytearray(b"1"), "cannot be read"),
    (np.zeros(1, dtype=[("a", "f8")]), "dtype"),
    ({"a": [1.0], "b": [2.0, 3.0]}, "differ in length"),
    (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "columns=2"),
    (["a", "b"], "text"),
    ([1.0, "b"], "text"),
    ("abc", "str"),
    (np.array(["1"]), "text"),
    (np.ma.masked_array([1.0, "alice"], dtype=object), "text"),
    (np.ma.masked_array(["alice"]), "text"),
    (np.array([1j]), "complex"),
    (np.array(["2020-01-01"], dtype="M8[D]"), "dates"),
    (pd.Series(["x"]), "text, not numbers.*errors='coerce'"),
    (pd.Series(["x"], dtype="category"), "text"),
    (np.zeros((2, 2)), "columns=2"),
    (np.zeros((2, 2, 2)), "3 dimensions"),
    ([[1.0], [1.0, 2.0]], "differ in length; put None"),
    ({1.0, 2.0}, "set"),
    (3.0, "float"),
    (None, "NoneType"),
    (dp.Blocks(lambda: iter([np.zeros((2, 2))])), "a block has 2 columns"),
    (dp.Blocks(lambda: iter([]), columns=2), "columns=2"),
]


@pytest.mark.parametrize(("data", "words"), REFUSED, ids=lambda value: str(type(value)))
def test_all_else_is_refused_in_words(data, words):
    refusal(lambda: TOTAL(data), words)


def test_a_name_that_stands_twice_is_refused():
    with pytest.raises(dp.DataError, match="'a' more than once"):
        (dp.records(columns=["a"]) >> TOTAL)(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))


class Broken:
    """Fails wherever it is touched, and says too much."""

    def __array__(self, *arguments, **named) -> np.ndarray:
        raise RuntimeError(SECRET)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise RuntimeError(SECRET)


def talkative() -> Iterator[np.ndarray]:
    """Blocks of which the second cannot be made."""
    yield np.ones(2)
    warnings.warn(SECRET, stacklevel=1)
    raise ValueError(SECRET)


@pytest.mark.parametrize("data", [Broken(), [Broken(), 1.0], dp.Blocks(talkative)], ids=type)
def test_no_foreign_error_or_warning_passes_the_door(data):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        refusal(lambda: TOTAL(data))
    assert not seen


def test_no_panic_of_a_library_in_rust_passes_the_door():
    """It is no Exception, and polars has it for decimals of 39 digits, as DuckDB gives."""
    panic = type("PanicException", (BaseException,), {"__module__": "pyo3_runtime"})

    def failing(problem: BaseException) -> dp.Blocks:
        def blocks() -> Iterator[np.ndarray]:
            yield np.ones(2)
            raise problem

        return dp.Blocks(blocks)

    refusal(lambda: TOTAL(failing(panic(SECRET))))
    with pytest.raises(KeyboardInterrupt):
        TOTAL(failing(KeyboardInterrupt()))


def looks(data) -> int:
    """How many values of a container of objects were looked at before it was refused."""
    seen = 0

    class Number(float):
        """A float that counts who asks for it."""

        def __float__(self) -> float:
            nonlocal seen
            seen += 1
            return 0.5

    with pytest.raises(dp.DataError, match="text"):
        TOTAL(data(Number(0.5)))
    return seen


def in_blocks(values) -> dp.Blocks:
    return dp.Blocks(lambda: [np.array(part, dtype=object) for part in (values[:9], values[9:])])


@pytest.mark.parametrize("place", [0, 1, 250, 499])
@pytest.mark.parametrize(
    "kind",
    [
        lambda values: np.array(values, dtype=object),
        list,
        lambda values: pd.Series(values, dtype=object),
        lambda values: pd.DataFrame({"x": pd.Series(values, dtype=object)}),
        lambda values: {"x": np.array(values, dtype=object)},
        in_blocks,
    ],
)
def test_text_is_refused_after_everything_was_read(kind, place):
    def filled(number: object):
        values = [number] * 500
        values[place] = "text"
        return kind(values)

    assert looks(filled) == 499


def test_a_block_that_cannot_be_read_is_refused_after_all_others():
    seen = []

    def pieces():
        for piece in (["text"], np.array(["text"]), np.ones((2, 2)), np.ones(3)):
            seen.append(len(piece))
            yield piece

    with pytest.raises(dp.DataError, match="text"):
        TOTAL(dp.Blocks(pieces))
    assert seen == [1, 1, 2, 3]


class Spread(Source):
    """Rows in two places."""

    columns, names, size = 1, None, None
    asked = 0

    def blocks(self):
        raise AssertionError("gone through in one place")


@reduced.register(Spread)
def _elsewhere(source: Spread, job: Any, merge: Any) -> Any:
    source.asked += 1
    return merge(*map(job, [opened(np.array([1.0, 20.0])), opened([3.0])]))


def test_a_source_may_fold_its_parts_elsewhere():
    spread = Spread()
    both = dp.compose(TOTAL >> dp.laplace(scale=1e-9), dp.count() >> dp.laplace(scale=1e-9))
    total, count = both(spread)
    assert (total.round().tolist(), count, spread.asked) == ([14], 3, 1)
    sized = dp.records(size=4, metric=dp.ChangeOneDistance()) >> TOTAL
    with pytest.raises(dp.DataError, match="size=4"):
        sized(spread)


def test_large_tables_are_folded_by_several_threads(monkeypatch):
    monkeypatch.setattr(reduced_module, "_PROCESSORS", 3)
    monkeypatch.setattr("opendp_lite.engines.data.source.SHARE_ENTRIES", 1000)
    values = np.arange(5000.0)
    expected = TOTAL(values[:1]) + TOTAL(values[1:])
    for data in (values, pd.DataFrame({"x": values}), pl.Series(values), pa.array(values)):
        assert len(opened(data).parts(3)) == 3
        assert TOTAL(data) == expected
    objects = values.astype(object)
    assert len(opened(objects).parts(3)) == 1


def test_empty_data_in_every_container():
    for data in ([], np.empty(0), np.empty((0, 1)), pd.DataFrame({"x": []}), pa.array([], "f8")):
        assert TOTAL(data).tolist() == [0]
    assert TOTAL(dp.Blocks(lambda: iter([]))).tolist() == [0]
    assert THREE(np.empty((0, 3))).tolist() == [0, 0, 0]
    assert THREE([]).tolist() == [0, 0, 0]


def test_tables_that_do_not_fit_say_which_columns_would():
    with pytest.raises(dp.DataError, match=r"^no step picks.*column 'name': data holds text"):
        TOTAL(pd.DataFrame({"x": [1.0], "name": ["Ann"]}))
    with pytest.raises(dp.DataError, match=r"df\['age'\]"):
        TOTAL(pd.DataFrame({"x": [1.0], "y": [2.0]}))
    named = dp.records(columns=["x"]) >> dp.clamp(0, 10) >> dp.sum()
    with pytest.raises(dp.DataError, match=r"^column 'x': data holds text"):
        named(pd.DataFrame({"x": ["Ann"], "y": [1.0]}))


@pytest.mark.parametrize("kind", ["bool", "int8", "uint64", "float32", "float64"])
def test_many_columns_read_together_are_the_same_numbers(kind):
    """From 128 columns on a pandas frame gives them as one array, and a dictionary one by one."""
    size = {"bool": 2, "int8": 127}.get(kind, 2**60)
    numbers = np.random.default_rng(5).integers(0, size, (90, 200)).astype(kind)
    frame = pd.DataFrame(numbers, index=np.linspace(1, 0, 90)).add_prefix("c")
    picked = [f"c{place}" for place in range(199, -1, -2) for _ in "ab"]
    total = dp.clamp(0, 2**61) >> dp.sum()
    for rows in (frame, frame[30:], frame.assign(c199=frame["c199"].astype("Float64"))):
        columns = {name: rows[name] for name in rows}
        found, expected = ((dp.select(*picked) >> total)(each) for each in (rows, columns))
        assert np.array(found).tolist() == np.array(expected).tolist()
    with pytest.raises(dp.DataError, match="column 'c0': data holds text"):
        (dp.select("c0", *picked) >> total)(frame.assign(c0="text"))


def test_many_columns_without_their_rows_have_none():
    """Before a query is paid for it is tried on the names of the columns."""
    frame = pd.DataFrame(np.ones((5, 130))).add_prefix("c")
    total = dp.select(*frame.columns) >> dp.clamp(0, 1) >> dp.sum()
    assert not np.array(total(names_alone(frame))).any()


def test_sized_blocks():
    space = dp.records(size=3, metric=dp.ChangeOneDistance())
    total = space >> TOTAL
    assert total(dp.Blocks(lambda: iter([[1.0], [2.0, 3.0]]))).tolist() == [6]
    for blocks in ([[1.0]], [[1.0, 2.0], [3.0, 4.0]], []):
        with pytest.raises(dp.DataError, match="size=3"):
            total(dp.Blocks(lambda blocks=blocks: iter(blocks)))


ROWS = 1_000_000


def mixed():
    """Tables of one content, with nulls, whole numbers, decimals and chunks."""
    whole, real = np.arange(ROWS) % 7, np.arange(ROWS) / 7
    real[::5] = np.nan
    yield "pandas", pd.DataFrame({"a": whole, "text": "x", "b": real})
    nullable = {"a": pd.array(whole, dtype="Int64"), "b": pd.array(real, dtype="Float64")}
    yield "pandas nullable", pd.DataFrame(nullable)
    steps = range(0, ROWS, 30_000)
    parts = [pl.DataFrame({"a": whole[i : i + 30_000], "b": real[i : i + 30_000]}) for i in steps]
    yield "polars", pl.concat(parts, rechunk=False)
    exact = pa.array(whole).cast(pa.decimal128(20)).cast(pa.decimal128(22, 2))
    yield "arrow", pa.table({"a": exact, "b": pa.array(real, from_pandas=True)})
    yield "masked", {"a": whole, "b": np.ma.masked_invalid(real)}
    yield "numpy", {"a": whole, "b": real}


def test_a_table_is_read_by_column_and_block():
    """A copy of the two columns would be 16 MB, of the largest slice read it is 2 MB."""
    pipeline = dp.records(columns=["b", "a"]) >> dp.impute(5) >> dp.clamp(0, 10) >> dp.sum()
    totals = {}
    for name, table in mixed():
        tracemalloc.start()
        try:
            totals[name] = pipeline(table).tolist()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 9e6, name
    assert len(set(map(tuple, totals.values()))) == 1


def test_sparse_matrices_stand_where_tables_do():
    matrix = sp.csr_array(MATRIX)
    assert THREE(matrix).tolist() == [18, 22, 25]
    assert THREE(dp.Blocks(lambda: [matrix, MATRIX], columns=None)).tolist() == [36, 44, 50]

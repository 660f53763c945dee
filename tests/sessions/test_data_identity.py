"""One content has one identity, whatever holds it; another content has another."""

import hashlib
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sparse

import opendp_lite as dp
from opendp_lite.engines.data.identities import Identities
from opendp_lite.sessions.ledger.ledgers import DataIdentity

KEY = b"k" * 32
TABLE = {"age": [3.0, 4, None], "sex": ["f", None, "m"], "ok": [True, False, True], "n": [1, 2, 3]}
FRAME = pd.DataFrame(TABLE)
NUMBERS = [1.0, 2.5, None, -0.0]


def identity(data: object, key: bytes = KEY) -> DataIdentity:
    return DataIdentity.of(data, key)


@pytest.mark.parametrize(
    "data",
    [
        FRAME,
        FRAME[["sex", "n", "ok", "age"]],
        FRAME.astype({"sex": "category", "n": "float32"}),
        FRAME.convert_dtypes(),
        pl.DataFrame(TABLE),
        pl.DataFrame(TABLE).cast({"sex": pl.Categorical}),
        pa.table(TABLE),
        pa.table({**TABLE, "sex": pa.array(TABLE["sex"]).dictionary_encode()}),
        dp.Blocks(lambda: iter([FRAME[:1], FRAME[1:]]), columns=4),
        dp.Blocks(lambda: iter([pl.DataFrame(TABLE)]), columns=4),
        dp.Blocks(lambda: iter([pd.DataFrame(TABLE)]), columns=4, size=len(FRAME)),
    ],
)
def test_tables_of_one_content(data):
    assert identity(data) == identity(TABLE)


def test_a_file_has_one_identity_whatever_columns_are_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("n,age,ok,sex\n1,3,1,f\n2,4,0,\n3,NA,1,m\n")
    first = identity(dp.csv_column(path, "n"))
    assert first == identity(dp.csv_column(str(path), "age", text="missing"))
    assert first == identity(dp.csv_table(path, {"sex": str}))
    path.write_text("n,age,ok,sex\n1,3,1,f\n2,4,0,\n3,NA,1,f\n")
    assert first != identity(dp.csv_column(path, "n"))


@pytest.mark.parametrize(
    "data",
    [
        np.array([1, 2.5, np.nan, 0]),
        np.array([[1], [2.5], [np.nan], [0]]),
        pd.Series(NUMBERS),
        pl.Series(NUMBERS),
        pa.array(NUMBERS),
        pd.Series(NUMBERS, dtype="Float64"),
        dp.Blocks(lambda: iter([[1.0], np.array([2.5, np.nan]), pd.Series([0])])),
        tuple(NUMBERS),
    ],
)
def test_columns_of_one_content(data):
    assert identity(data) == identity(NUMBERS)


def test_every_change_is_another_content():
    others = [
        FRAME.iloc[::-1],
        FRAME[:2],
        pd.concat([FRAME, FRAME[:1]]),
        FRAME.rename(columns={"n": "m"}),
        FRAME.drop(columns="n"),
        FRAME.assign(n=[1, 2, 4]),
        FRAME.assign(n=[1, 2, None]),
        FRAME.assign(sex=["f", "", "m"]),
        FRAME.assign(sex=["f", "N", "m"]),
        FRAME.assign(sex=["fm", None, ""]),
        FRAME.assign(age=["3.0", "4.0", None]),
        FRAME.rename(columns={"n": "ok", "ok": "n"}),
        FRAME[:0],
        [1, 2, 3],
        [],
    ]
    found = [identity(each).content for each in [FRAME, *others]]
    assert len(set(found)) == len(found)


def test_the_key_decides():
    assert identity(FRAME, b"a" * 32) != identity(FRAME, b"b" * 32)
    plain = hashlib.sha256(repr(identity([1.0]).content).encode()).hexdigest()
    assert identity([1.0]).content != plain
    assert identity([1.0], b"a").content != identity([1.0], b"b").content


def test_sparse_rows():
    matrix = sparse.random(300, 40, 0.1, random_state=3)
    assert identity(matrix) == identity(matrix.tocsc()) == identity(matrix.tocsr())
    assert identity(matrix) != identity(matrix * 2)


def test_columns_that_are_neither_numbers_nor_text():
    dates = pd.to_datetime(["2020-01-01", None])
    frame = pd.DataFrame({"day": dates, "n": [1, 2]})
    assert identity(frame) == identity(frame.copy())
    assert identity(frame) != identity(frame.assign(day=dates[::-1]))
    odd = pd.DataFrame({"n": [1, 2], "odd": [[1], {"a": 2}]})
    assert identity(odd) == identity(odd.copy())


def test_no_cell_is_refused():
    """It would tell that somebody has such a value."""

    class Failing:
        def __float__(self):
            raise RuntimeError("secret")

        __str__ = __float__

    long = [10**5000, 10**5000 + 1, -(10**5000), Fraction(10**5000, 3), Fraction(10**5000, 7)]
    found = [identity(["a", each]).content for each in (*long, Failing())]
    assert len(set(found)) == len(found)
    assert found == [identity({"": ["a", each]}).content for each in (*long, Failing())]


def test_ids_of_any_length_are_told_apart_elsewhere():
    ids = [10**5000, 10**5000 + 1, Fraction(1, 10**5000), Fraction(1, 3), 2**60, 5]
    met = Identities()
    numbers = [int(each) for each in met.of_objects(ids)]
    assert len(set(met.names(numbers))) == len(set(met.export(numbers))) == len(ids)


def test_many_rows_in_any_blocks():
    rows = np.arange(200_000.0)
    text = [f"w{i % 7}" for i in range(200_000)]
    table = pd.DataFrame({"a": rows, "t": text})
    parts = [table[:3], table[3:100_001], table[100_001:]]
    assert identity(dp.Blocks(lambda: iter(parts), columns=2)) == identity(table)


@pytest.mark.parametrize(
    "data",
    [pa.table(TABLE).to_reader(), dp.Blocks(iter([iter([[1.0], [2.0]])] * 2).__next__)],
    ids=["stream", "iterator"],
)
def test_data_that_can_be_read_once_is_refused(data):
    with pytest.raises(dp.DataError, match="can be gone through only once"):
        identity(data)


def test_refusals_show_no_value():
    class Failing(list):
        def __getitem__(self, place):
            raise ValueError("secret")

        def __iter__(self):
            raise ValueError("secret")

    for data in (Failing([1]), {"a": Failing(["x"])}, object()):
        with pytest.raises(dp.DataError) as caught:
            identity(data)
        assert "secret" not in str(caught.value)
        assert caught.value.__context__ is None


def test_only_the_names_of_columns_are_kept():
    assert identity(FRAME).columns == ("age", "n", "ok", "sex")


@pytest.mark.parametrize(
    "rows",
    [
        [{"age": 3.0}, {"age": 4.0, "secret": 1.0}],
        dp.Blocks(lambda: iter([[{"age": 3.0}], [{"secret": 1.0}]]), columns=None),
        [[1.0, 2.0]],
        np.ones((2, 2)),
        sparse.eye(3),
        [1.0],
        [None],
        [],
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_no_row_tells_a_name_that_is_kept(rows):
    """A ledger shows them to whoever may read its export."""
    assert identity(rows).columns == ()


@pytest.mark.parametrize("rows", [[], [{"age": 2.0}], [{"sex": 2.0}]], ids=repr)
def test_no_row_takes_the_name_of_a_column_away(rows):
    blocks = dp.Blocks(lambda: iter([rows, {"age": [1.0]}, rows]), columns=1)
    assert identity(blocks).columns == ("age",)


def test_columns_in_rows_are_those_of_a_table():
    rows = [{"age": 3.0, "sex": "f"}, {"sex": None, "age": 4.0}]
    assert identity(rows).content == identity({"age": [3, 4], "sex": ["f", None]}).content

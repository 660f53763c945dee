"""Containers at the front, and that the values of the data never show."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.values import SAMPLE, names_alone

VALUES = [1.0, 2.5, 7.0, 100.0]
TOTAL = dp.clamp(0, 10) >> dp.sum()
MATRIX = np.arange(12.0).reshape(4, 3)
COLUMNS = dp.records(columns=3) >> dp.clamp(0, 10) >> dp.sum()


def test_whole_numbers_and_truth_values():
    assert TOTAL(np.array([True, False, True])).tolist() == [2]
    assert TOTAL([3, 4, 10**400, -(10**400)]).tolist() == [17]
    assert TOTAL([1.0, 10**5000, -(10**5000)]).tolist() == [11]
    assert TOTAL(np.ma.masked_array([3, 10**400], mask=False, dtype=object)).tolist() == [13]
    assert TOTAL(np.array([2**63], dtype=np.uint64)).tolist() == [10]


def test_missing_values_become_nan_in_every_container():
    pipeline = dp.impute(5) >> TOTAL
    for data in (
        [1.0, None],
        np.ma.masked_array([1.0, 3.0], mask=[False, True]),
        np.ma.masked_array([1, 3], mask=[False, True]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([True, None], dtype="boolean"),
        pd.DataFrame({"x": pd.Series([1, None], dtype="Int64")}),
        pl.Series([1, None]),
        pa.array([1, None]),
        pa.table({"x": [1, None]}),
        [pd.NA, 1],
        [Decimal("sNaN"), Decimal(1)],
        [np.True_, None],
        np.ma.masked_array([1.0, "x"], mask=[False, True], dtype=object),
        np.ma.masked_array([1, pd.NA], mask=[False, False], dtype=object),
    ):
        assert pipeline(data).tolist() == [6]


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


def test_empty_data_in_every_container():
    for data in ([], np.empty(0), np.empty((0, 1)), pd.DataFrame({"x": []}), pa.array([], "f8")):
        assert TOTAL(data).tolist() == [0]
    assert TOTAL(dp.Blocks(lambda: iter([]))).tolist() == [0]
    assert COLUMNS(np.empty((0, 3))).tolist() == [0, 0, 0]
    assert COLUMNS([]).tolist() == [0, 0, 0]


def test_data_are_not_changed():
    data = np.array([np.nan, -5.0, 500.0, 3.0])
    before = data.copy()
    for stage in (
        TOTAL,
        dp.impute(0) >> dp.clip_to_norm(1) >> dp.sum(),
        dp.clamp(0, 1) >> dp.simplex_augment() >> dp.sum(),
        dp.clamp(0, 1) >> dp.resize(2, fill=0) >> dp.sum(),
    ):
        stage(data)
        assert np.array_equal(data, before, equal_nan=True)


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


PIPELINES = [
    dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(rho=1),
    dp.clip_to_norm(1) >> dp.center(3) >> dp.sum() >> dp.laplace(epsilon=1),
    dp.scale(1e300) >> dp.clip_to_norm(1, p=1) >> dp.sum() >> dp.gaussian(rho=1),
    dp.drop_nan() >> dp.clamp(0, 1) >> dp.simplex_augment() >> dp.sum() >> dp.gaussian(rho=1),
    dp.clamp(0, 1) >> dp.resize(4, fill=0) >> dp.sum() >> dp.laplace(epsilon=1),
    dp.compose(dp.count() >> dp.gaussian(rho=1), dp.count() >> dp.gaussian(rho=1)),
    dp.clamp(-1e200, 1e200) >> dp.sum() >> dp.gaussian(rho=1e-9),
    dp.clamp(0, 1) >> dp.sum() >> dp.gaussian(rho=1e9),
    dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1e-12),
    dp.clamp(0, 1) >> dp.sum() >> dp.laplace(epsilon=1e12),
    dp.clamp(-1e200, 1e200) >> dp.sum() >> dp.gaussian(scale=1e-280),
    dp.clamp(-1e-200, 1e-200) >> dp.sum() >> dp.laplace(scale=1e280),
    dp.count() >> dp.laplace(scale=1e280),
    dp.count() >> dp.gaussian(scale=1e-280),
]
ODD = [
    [],
    [np.nan],
    [-np.nan, np.inf],
    [-np.inf] * 3,
    [1e308] * 5,
    [-1e308, 5e-324],
    [0.0, -0.0],
    [10**400],
]


def shape_of(release):
    if isinstance(release, tuple):
        return tuple(shape_of(part) for part in release)
    array = np.asarray(release)
    assert np.isfinite(array).all()
    return type(release), array.shape, array.dtype


@pytest.mark.parametrize("pipeline", PIPELINES, ids=repr)
def test_values_never_show_but_in_the_release(pipeline, capfd):
    expected = shape_of(pipeline([0.5, 0.25]))
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        for data in ODD:
            assert shape_of(pipeline(data)) == expected
            assert shape_of(pipeline(np.array(data, dtype=object))) == expected
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")

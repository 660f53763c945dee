"""Categories and intervals as rows with a one in one place: counts, sensitivities, bad input."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.categories import Categories

NAN = float("nan")
CHANGE = dp.ChangeOneDistance()
SEXES = ["f", "m", "f", None, "?", "m", "f"]
NUMBERS = [1.0, 2.0, NAN, 1.0, 7.5, -0.0, 3.0]
ONE = dp.Norms(l1=1, linf=1)


def test_numbers_are_told_apart_exactly():
    big = 2**53
    categories = Categories.of([big, big + 1, 0.1, 0.5, 3], "one_hot")
    nan = pytest.approx(NAN, nan_ok=True)
    assert list(categories.codes(np.array([big + 1, big, 3, -1]))) == [1, 0, 4, nan]
    assert list(categories.codes(np.array([0.1, 0.1 + 2**-50, np.inf, NAN]))) == [2, nan, nan, nan]
    run = Categories.of(range(5, 9), "one_hot")
    ends = np.array([4.999999, 5, 8, 8.5, 9, -np.inf, np.inf, NAN, 5e-324])
    assert list(run.codes(ends)) == [nan, 0, 3, nan, nan, nan, nan, nan, nan]
    assert list(run.codes(np.array([4, 5, 8, 9, -(2**63)]))) == [nan, 0, 3, nan, nan]
    assert list(run.codes(np.array([2**64 - 1, 5], dtype=np.uint64))) == [nan, 0]


@pytest.mark.parametrize(("kind", "first"), [(np.float16, 2**11 + 1), (np.float32, 2**24 + 1)])
def test_the_ends_of_a_run_are_exact_for_short_floats(kind, first):
    """Compared as they are, they round the ends: a row would be in the cell of another key."""
    column = np.array([first - 1, first + 1, first + 3, np.nan], kind)
    for values in (column, pd.Series(column), pl.Series(column), pa.array(column)):
        one = dp.select("x") >> dp.one_hot(range(first, first + 3), other=True) >> dp.sum()
        assert one({"x": values}).tolist() == [0, 1, 0, 2]
        both = dp.select("g", "x") >> dp.one_hot([[0, 1], range(first, first + 3)]) >> dp.sum()
        assert both({"g": [1] * 4, "x": values}).tolist() == [0, 0, 0, 0, 1, 0]


def test_text_and_numbers_beside_each_other_are_told_apart():
    mixed = {"x": [1, "1", 1.0, True, "a", None, [3], {}]}
    counts = dp.select("x") >> dp.one_hot([1, "1", "a", None], other=True) >> dp.sum()
    assert counts(mixed).tolist() == [3, 1, 1, 1, 2]


def test_a_text_that_ends_in_a_zero_character_is_not_the_text_without_it():
    """An array of texts drops the zero, and so holds none of these."""
    for column in (np.array(["a", "b"]), ["a", "b"]):
        counts = dp.select("x") >> dp.one_hot(["a\0", "b"]) >> dp.sum()
        assert counts({"x": column}).tolist() == [0, 1]


def test_several_columns_make_a_contingency_table():
    table = {"sex": ["f", "m", "f", "?"], "school": [1, 2, 2, 1]}
    counts = dp.select("sex", "school") >> dp.one_hot([["f", "m"], range(1, 4)]) >> dp.sum()
    assert counts(table).tolist() == [1, 1, 0, 0, 1, 0]
    every = dp.select("sex", "school") >> dp.one_hot([["f"], [1]], other=True) >> dp.sum()
    assert every(table).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("space", [dp.records(), dp.records(size=7, metric=CHANGE)])
def test_bins_are_those_of_numpy(space):
    edges = [-1, 0, 1, 2.5, 7.5]
    counts = space >> dp.bins(edges) >> dp.sum()
    values = np.array(NUMBERS)
    assert counts(values).tolist() == np.histogram(values[~np.isnan(values)], edges)[0].tolist()
    beyond = space >> dp.bins([0, 1, 2], other=True) >> dp.sum()
    assert beyond(values).tolist() == [1, 3, 2]


def test_no_rows_are_written_out(monkeypatch):
    """A sum takes the places themselves: many categories cost no entries of each row."""
    counts = dp.one_hot(range(10**5)) >> dp.sum() >> dp.laplace(epsilon=1)
    found = counts(np.arange(100_000) % 10)
    assert found.shape == (10**5,)
    assert abs(found[3] - 10_000) < 60


def test_a_single_column_needs_no_name():
    counts = dp.one_hot(["f", "m"]) >> dp.sum()
    for column in (SEXES, pd.Series(SEXES), pl.Series(SEXES), pa.array(SEXES), {"any": SEXES}):
        assert counts(column).tolist() == [3, 2]
    assert (dp.one_hot([0, 1]) >> dp.sum())([[0], [1], [1]]).tolist() == [1, 2]


def test_a_clip_after_it_changes_nothing():
    rows = dp.records() >> dp.one_hot(range(16))
    for clip in (dp.clamp(0, 1), dp.clip_to_norm(1)):
        total = rows >> clip >> dp.sum()
        assert total.map(1) == ONE
        assert total([1.0, 1.0, 2.0])[:3].tolist() == [0, 2, 1]


def test_bytes_that_are_no_text_tell_nothing():
    counts = dp.select("x") >> dp.one_hot(["a"]) >> dp.sum()
    with pytest.raises(dp.DataError, match="text"):
        counts(pl.DataFrame({"x": [b"a"]}))
    broken = pa.array([b"a", b"\xff"]).view(pa.string())
    assert counts(pa.table({"x": broken})).tolist() == [1]

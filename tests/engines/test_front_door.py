"""What a value may decide at the front door: nothing."""

import io
import subprocess
import sys
import threading
import warnings
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.source import QUIET
from opendp_lite.samplers import entropy
from opendp_lite.samplers.entropy import SecureEntropy

TOTAL = dp.clamp(0, 1) >> dp.sum()
WIDE = dp.records(columns=2) >> dp.clamp(0, 1) >> dp.sum()


class Single:
    """A number as tensors are: something that becomes an array without dimensions."""

    def __array__(self, dtype=None, copy=None):
        return np.array(1.0)


@pytest.mark.parametrize("number", [np.array(1.0), np.ma.masked, Single(), np.float32(1), True])
def test_a_huge_neighbour_does_not_decide_what_is_taken(number):
    missing = number is np.ma.masked
    assert TOTAL([number, 5]) == TOTAL([number, 2**70]) == (1 if missing else 2)


@pytest.mark.parametrize("other", [1j, np.timedelta64(1, "D"), np.datetime64("2020-01-01"), "a"])
def test_a_huge_neighbour_does_not_decide_what_is_refused(other):
    texts = []
    for neighbour in (other, 2**70):
        with pytest.raises(dp.DataError) as refusal:
            TOTAL([other, neighbour])
        texts.append(str(refusal.value))
    assert texts[0] == texts[1]


def test_masked_entries_in_lists_are_missing_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        column = list(np.ma.array([0.25, 2.0], mask=[False, True]))
        assert TOTAL(column) == 0.25
        table = [list(np.ma.array([0.25, 2.0], mask=[False, True])), [0.5, 0.5]]
        assert WIDE(table).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("nothing", [[], np.array([]), np.empty((0, 5)), np.empty((0, 2))])
def test_a_block_without_rows_is_no_block(nothing):
    rows = np.array([[1.0, 0.0], [1.0, 1.0]])
    for pieces in ([rows, nothing], [nothing, rows], [nothing]):
        found = WIDE(dp.Blocks(lambda pieces=pieces: iter(pieces), columns=2))
        assert found.tolist() == ([2, 1] if len(pieces) > 1 else [0, 0])


def test_a_table_without_rows_and_columns_is_empty():
    assert WIDE(np.empty((0, 0))).tolist() == [0, 0]


def test_words_are_drawn_in_pieces(monkeypatch):
    monkeypatch.setattr(entropy, "_PIECE", 10)
    words = SecureEntropy().words(35)
    assert len(words) == 35
    assert len(np.unique(words)) == 35


@pytest.mark.parametrize("before", [dp.drop_nan(), dp.select(0), dp.clamp(0, 10)], ids=repr)
def test_a_buffer_that_is_filled_again_is_read_as_it_was(before):
    """Else a row in the last block stands in the place of all before it."""
    values = [1.0, 1.0, 1.0, 0.0, 10.0]

    def again():
        buffer = np.empty(1)
        for value in values:
            buffer[0] = value
            yield buffer

    pieces = dp.Blocks(again)
    assert dp.resize(5, fill=0)(pieces).sum() == 13
    assert sorted((dp.records() >> before >> dp.resize(5, fill=0))(pieces)) == sorted(values)
    assert (dp.records() >> before)(pieces).tolist() == values


FRAMES = {
    "pandas": lambda buffer: pd.DataFrame(buffer, columns=["id", "x"], copy=False),
    "pandas index": lambda buffer: {"id": buffer[:, 0], "x": pd.Index(buffer[:, 1], copy=False)},
    "polars": lambda buffer: pl.from_numpy(buffer, schema=["id", "x"], orient="row"),
    "Arrow": lambda buffer: pa.table({"id": pa.array(buffer[:, 0]), "x": pa.array(buffer[:, 1])}),
    "arrays": lambda buffer: {"id": buffer[:, 0], "x": buffer[:, 1]},
}


@pytest.mark.parametrize("frame", FRAMES)
def test_chosen_rows_of_a_buffer_that_is_filled_again_are_as_they_were(frame):
    """Of all rows of a block pandas gives a view: the last block stood for all, many times."""

    def again():
        buffer = np.empty((2, 2), order="F")
        for first in (0, 2, 4, 6):
            buffer[:] = [[first, 1], [first + 1, first]]
            yield FRAMES[frame](buffer)

    people = dp.table(person="id") >> dp.bound_contributions(1)
    total = people >> dp.select("x") >> dp.clamp(0, 9) >> dp.sum()
    assert total(dp.Blocks(again, columns=2)) == 4 + 0 + 2 + 4 + 6


def test_a_plain_array_is_gone_through_without_touching_the_filters_of_warnings(monkeypatch):
    def entered(*arguments, **named):
        raise AssertionError("the process's filters were changed")

    monkeypatch.setattr(type(QUIET), "__enter__", entered)
    for data in (np.arange(5.0), np.arange(5), np.array([np.inf, np.nan], np.float32)):
        assert (dp.clamp(0, 1) >> dp.sum())(data) is not None


@pytest.mark.parametrize("data", [np.array([0.5, np.nan]), [0.5, 3.0], {"x": [0.5]}], ids=repr)
def test_a_persons_own_function_does_not_warn_in_any_container(data):
    def loud(block):
        warnings.warn(f"saw {block}", stacklevel=1)
        return np.sqrt(-block).astype(complex).astype(float)

    @dp.stage
    def own(space: dp.Space[dp.Rows]) -> dp.Transformation[dp.Space[dp.Rows], dp.Space[dp.Rows]]:
        return dp.row_map(space, loud, dp.bodies.Box(0, 10))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (dp.records() >> own() >> dp.sum())(data)
        (dp.records() >> own())(data)


@pytest.mark.parametrize(
    "exponent",
    [10**5000, -(10**5000), 2**17, 0.5, "1", True],
    ids=["huge", "tiny", "large", "half", "text", "true"],
)
@pytest.mark.parametrize("make", [lambda e: dp.Vectors(1, exponent=e), lambda e: dp.Scalars(e)])
def test_the_exponent_of_a_grid_is_a_small_whole_number(make, exponent):
    with pytest.raises(dp.ParameterError, match="exponent"):
        make(exponent)


def test_a_signal_handler_reads_data_while_data_is_read(monkeypatch):
    """It runs in the thread that it interrupts, which must not wait for itself."""
    simply, read = warnings.simplefilter, []

    def interrupted(*given):
        monkeypatch.setattr(warnings, "simplefilter", simply)
        read.append(dp.count()([1, 2]))
        simply(*given)

    monkeypatch.setattr(warnings, "simplefilter", interrupted)
    reading = threading.Thread(target=lambda: read.append(dp.count()([1, 2, 3])), daemon=True)
    reading.start()
    reading.join(20)
    assert [int(each) for each in read] == [2, 3]


def test_reading_data_imports_no_part_of_numpy():
    """An interrupted import of numpy.ma fails in the handler that reads data too."""
    told = (
        "import sys, numpy as np, opendp_lite as dp; before = "
        "set(sys.modules); data = np.ones(3); data[1] = np.nan; memory = data.view(np.recarray);"
        "[dp.clamp(0, 1)(each) for each in (data, memory, [1.0, None], data.astype(object))];"
        "text = np.array(['x'] * 3); kept = dp.select('a', 'b') >> dp.keep('b', among=['x'])\n"
        "(kept >> dp.count())({'a': data, 'b': text});"
        "print(*[name for name in set(sys.modules) - before if name.startswith('numpy.ma')])"
    )
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert not found.stdout.strip()


@pytest.mark.parametrize("backend", [None, "pyarrow"])
def test_one_row_more_of_a_frame_that_pandas_guesses_is_no_refusal(backend):
    """Keys of text that are all missing are floats to pandas; so is an empty column."""
    by_city = dp.by("city", ["a", "b"], dp.count() >> dp.laplace(epsilon=200))
    options = {} if backend is None else {"dtype_backend": backend}
    empty = pd.DataFrame({"city": [], "x": []})
    for text in ("city,x\n", "city,x\n,1\n,2\n", "city,x\n,1\n,2\na,3\n", "city,x\n1.5,1\n,2\n"):
        frame = pd.read_csv(io.StringIO(text), **options)
        if backend is None or "1.5" not in text:
            counts = by_city(frame)
            assert [counts["a"], counts["b"]] == ["a,3" in text, 0]
    for frame in (empty, empty.astype("Float64"), empty.astype("Sparse[float]")):
        counts = by_city(frame)
        assert [counts["a"], counts["b"]] == [0, 0]
    for kind in ("int64", "Int64", "bool", "boolean"):
        with pytest.raises(dp.DataError, match="the column holds numbers and the categories"):
            by_city(empty.astype(kind))


@pytest.mark.parametrize("text", ["str", object], ids=["text", "objects, as pandas 2 has text"])
def test_ids_of_blocks_that_pandas_guesses_are_still_told_apart(text):
    """Else the ids 5.0 and "5" would be two people. No value of an object column decides it."""
    people = dp.table(person="id") >> dp.bound_contributions(1) >> dp.count()
    frames = [pd.DataFrame({"id": ["5"]}, dtype=text), pd.DataFrame({"id": [5.0, None]})]
    for blocks in (frames, frames[::-1]):
        with pytest.raises(dp.DataError, match="in one block and numbers in another"):
            people(dp.Blocks(partial(iter, blocks), columns=None))
    for ids in (["anna", 7], [], [None], [Decimal(5)]):
        frames[0] = pd.DataFrame({"id": ids}, dtype=object)
        with pytest.raises(dp.DataError, match="in one block and numbers in another"):
            people(dp.Blocks(partial(iter, frames), columns=None))


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

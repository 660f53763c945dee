"""Totals and images of rows depend on the row alone, to the last bit: on no order, no container."""

from math import fsum

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.arrays import DENSE, Layout
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.data.sparse import SparseRows, cell_bits, excess, floats_beyond, row_totals
from opendp_lite.engines.rows import LazyRows

ROWS = 100


def sparse_of(rows: np.ndarray) -> SparseRows:
    stored = rows != 0
    ends = np.append(0, np.cumsum(stored.sum(axis=1)))
    return SparseRows(rows[stored], np.nonzero(stored)[1], ends, rows.shape[1])


class OneByOne(Layout):
    """From the last column to the first, which numpy does not do."""

    def sums(self, terms):
        return np.add.accumulate(terms[:, ::-1], axis=1)[:, -1].copy()

    def sums_of_squares(self, entries):
        return self.sums(entries * entries)


def totals_of(rows: np.ndarray, p: float) -> list[np.ndarray]:
    """By rows, by columns, one row at a time, in another order, and stored sparsely."""
    columns = rows.shape[1]
    sparse = sparse_of(rows)
    with np.errstate(all="ignore"):
        return [
            row_totals(rows.copy("C"), DENSE, p, columns),
            row_totals(rows.copy("F"), DENSE, p, columns),
            np.concatenate([row_totals(row[None], DENSE, p, columns) for row in rows]),
            row_totals(rows, OneByOne(), p, columns),
            row_totals(sparse.values, sparse, p, columns),
        ]


def at_the_end_of_a_cell(columns: int, p: float, count: int = ROWS) -> np.ndarray:
    """Rows whose totals lie within a few floats of the end of a cell.

    Two entries bring the total of the others there: a large one, and one for what this leaves.
    """
    generator = np.random.default_rng(columns)
    sizes = 10.0 ** generator.uniform(-9, 9, (count, 1))
    rows = generator.standard_normal((count, columns)) * sizes
    cell, beyond = 1 << cell_bits(columns), floats_beyond(columns)
    for row in rows:
        terms = np.abs(row[2:]) ** p
        goal = np.float64(2 * fsum(terms.tolist())).view(np.int64) // cell * cell + beyond
        end = float(np.int64(goal).view(np.float64))
        row[0] = (end - fsum(terms.tolist())) ** (1 / p)
        row[1] = max(0.0, end - fsum([*terms.tolist(), row[0] ** p])) ** (1 / p)
    return rows


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("columns", [3, 7, 64, 1000, 4097])
def test_a_total_is_the_same_for_every_order_of_addition(columns, p):
    rows = at_the_end_of_a_cell(columns, p)
    sums = np.abs(rows) ** p
    orders = [np.add.reduce(sums[:, ::step].copy(), axis=1) for step in (1, -1)]
    assert columns == 3 or (orders[0] != orders[1]).mean() > 0.1
    cell = 1 << cell_bits(columns)
    bits = np.array([fsum(row) for row in sums.tolist()]).view(np.int64)
    before = (bits - floats_beyond(columns)) % cell
    assert (np.minimum(before, cell - before) <= columns + 3).mean() > 0.9
    expected = -(-(bits - floats_beyond(columns)) // cell) * cell
    for total in totals_of(rows, p):
        assert np.array_equal(expected.view(np.float64), total)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("columns", [1, 2, 3, 7, 64, 100])
def test_a_total_of_odd_numbers_has_the_same_bits_everywhere(columns, p):
    rows = dp.bodies.Everything(columns).draw(np.random.default_rng(columns), 67)
    rows[20:40] = rows[20]
    rows[50] = 0.0
    payload = np.array(-1, dtype=np.int64).view(np.float64), np.array(2**63 - 1).view(np.float64)
    rows[51:53, 0] = payload
    first, *others = totals_of(rows, p)
    settled = first < 2.0**1000
    for other in others:
        assert np.array_equal(first.view(np.int64)[settled], other.view(np.int64)[settled])
        assert np.array_equal(settled, other < 2.0**1000)
        assert np.array_equal(np.isnan(first), np.isnan(other))
    missing = first[np.isnan(first)].view(np.int64)
    assert len(missing)
    assert (missing == np.array(np.nan).view(np.int64)).all()


@pytest.mark.parametrize("columns", [3, 30, 1000, 70_000])
def test_a_total_is_exceeded_by_no_more_than_is_said(columns):
    rows = at_the_end_of_a_cell(columns, 2, 20)
    exact = np.array([fsum(row) for row in (rows * rows).tolist()])
    over = exact / row_totals(rows, DENSE, 2, columns) - 1
    assert over.max() <= excess(columns)
    assert over.max() > excess(columns) / 4
    assert over.min() >= -(2.0 ** (cell_bits(columns) - 52))


def test_short_numbers_have_their_own_totals():
    rows = np.array([[3.0, 4.0, 0.0], [1.0, 1.0, 0.0], [0.1, 0.0, 0.0], [1e5, 3e5, 7.0]])
    assert row_totals(rows, DENSE, 2, 3).tolist()[:2] == [25.0, 2.0]
    assert row_totals(rows, DENSE, 1, 3).tolist()[3] == 400007.0


def test_the_worst_order_of_addition_gives_the_same_total():
    """Each small term is rounded up to twice its size if it is added to the large one."""
    columns = 1000
    cell = 1 << cell_bits(columns)
    end = np.int64(np.float64(1.5).view(np.int64) // cell * cell + floats_beyond(columns))
    large = np.int64(end - columns // 2 - 1).view(np.float64)
    row = np.full((1, columns), (0.5 + 2.0**-20) * np.spacing(large))
    row[0, -1] = large
    late, early = OneByOne().sums(row), OneByOne().sums(row[:, ::-1])
    assert early[0] < end.view(np.float64) < late[0]
    assert late.view(np.int64)[0] - end > 0.4 * columns
    assert len({total[0] for total in totals_of(row, 1)}) == 1


def test_two_kinds_of_nan_in_a_row_have_one_norm():
    length = dp.records(columns=2) >> dp.transformations.norm() >> dp.clamp(0, 5)
    row = [np.nan, -np.nan]
    for count in range(1, 20):
        bits = length(np.array([row] * count)).view(np.int64)
        assert bits.tolist() == [int(np.array(np.nan).view(np.int64))] * count


WIDE = [
    dp.bodies.Ball(3, columns=999),
    dp.bodies.Ball(3, columns=1000),
    dp.bodies.Ball(3, p=1, columns=4097),
    dp.bodies.Ball(2, center=[5, -6] * 600),
    dp.bodies.Ball([1, 2, 300] * 400),
    dp.bodies.NonNegativeBall(3, columns=1001),
    dp.bodies.Ball(300, columns=70_001),
]


def wild_rows(columns: int) -> np.ndarray:
    """Short, long, huge, subnormal and infinite ones, and one with a missing entry."""
    rows = np.random.default_rng(columns).normal(size=(7, columns))
    rows *= np.array([1, 1e-3, 1e300, 1e-310, 1e-200, 1, 1])[:, None]
    rows[4, 5], rows[5, 7], rows[6, -1] = 1e308, np.inf, np.nan
    return rows


@pytest.mark.parametrize("body", WIDE, ids=[f"{len(repr(body))}-{body.columns}" for body in WIDE])
def test_wide_rows_have_one_image_by_row_by_column_and_alone(body):
    rows = wild_rows(body.columns)
    snapper = body.snapper()

    def images(block: np.ndarray, order: str) -> np.ndarray:
        out = np.empty(block.shape, order=order)
        with np.errstate(all="ignore"):
            snapper.into(block, out)
        return out.view(np.int64) if order == "C" else out.T.view(np.int64).T

    by_row = images(rows, "C")
    assert np.array_equal(by_row, images(rows, "F"))
    assert np.array_equal(by_row, images(np.asfortranarray(rows), "C"))
    assert np.array_equal(by_row, np.concatenate([images(row[None], "C") for row in rows]))


@pytest.mark.parametrize("columns", [999, 1000, 300_000])
def test_wide_rows_of_any_type_and_strides_add_up_to_their_images(columns):
    clipped = dp.records(columns=columns) >> dp.clip_to_norm(30) >> dp.sum()
    boxed = dp.records(columns=columns) >> dp.clamp(-1, 2) >> dp.sum()
    rows = wild_rows(columns)
    for query in (clipped, boxed):
        alone = sum(query.function(LazyRows(opened(row[None]))).steps for row in rows[:-1])
        for data in (rows, np.asfortranarray(rows), rows[::-1], np.repeat(rows, 2, 1)[:, ::2]):
            assert np.array_equal(query.function(LazyRows(opened(data))).steps, alone)
        single = np.clip(rows, -1e38, 1e38).astype(np.float32)
        for data in (single, np.nan_to_num(single).clip(-100, 100).astype(np.int8)):
            same = query.function(LazyRows(opened(data.astype(np.float64)))).steps
            assert np.array_equal(query.function(LazyRows(opened(data))).steps, same)

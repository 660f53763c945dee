"""Images of rows depend on the row alone, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.rows import LazyRows


def test_two_kinds_of_nan_in_a_row_have_one_norm():
    length = dp.records(columns=2) >> dp.norm() >> dp.clamp(0, 5)
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
        out, spare = (np.empty(block.shape, order=order) for _ in range(2))
        with np.errstate(all="ignore"):
            snapper.into(block, out, spare)
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

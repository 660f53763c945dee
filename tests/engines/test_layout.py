"""Totals of rows depend on the row alone, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.layout import DENSE


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 64, 100])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_a_row_has_one_total_wherever_it_stands(columns, layout):
    rows = dp.bodies.Everything(columns).draw(np.random.default_rng(columns), 67)
    rows[20:40] = rows[20]
    with np.errstate(all="ignore"):
        together = DENSE.totals(rows.copy(layout))
        alone = np.concatenate([DENSE.totals(row[None, :].copy(layout)) for row in rows])
    assert np.array_equal(together.view(np.int64), alone.view(np.int64))


def test_two_kinds_of_nan_in_a_row_have_one_norm():
    length = dp.records(columns=2) >> dp.norm() >> dp.clamp(0, 5)
    row = [np.nan, -np.nan]
    for count in range(1, 20):
        bits = length(np.array([row] * count)).view(np.int64)
        assert bits.tolist() == [int(np.array(np.nan).view(np.int64))] * count

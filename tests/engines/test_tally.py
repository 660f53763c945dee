"""Numbers below a point, and numbers at it."""

from __future__ import annotations

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.fold import Scratch
from opendp_lite.engines.rows import RankCounts


def test_numbers_at_a_point_are_not_below_it():
    how = RankCounts(np.array([1.0, 5.0, 9.0]), 1)
    block = np.array([[5.0], [5.0], [0.0], [1.0], [9.5], [np.nan], [np.inf], [-np.inf], [9.0]])
    below, to = how.summarise(block, Scratch())[0]
    assert below.tolist() == [2, 3, 5, 9]
    assert to.tolist() == [3, 5, 6, 9]


@pytest.mark.parametrize("value", [1.0, 5.0, 9.0])
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_candidate_equal_to_all_the_data_is_chosen(value, quantile):
    """Any other has a weight below e^-1000 of its."""
    pipeline = dp.private_quantile(quantile, candidates=[1, 5, 9], epsilon=1000)
    assert {pipeline([value] * 100) for _ in range(20)} == {value}

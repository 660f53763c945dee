"""``prefix_features`` and ``block_counts``: stable, exact, and the same however rows come."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.bases.strategies import SquareRoot, Tree

STEPS = {
    "prefix_features": (dp.transformations.prefix_features, SquareRoot),
    "block_counts": (dp.transformations.block_counts, Tree),
}
SIZED = dp.records(size=17, metric=dp.ChangeOneDistance())
HOSTILE = [0.0, -0.0, inf, -inf, 1e308, -1e308, 5e-324, -1e-310, 0.3, 0.5, 1.0, 2.0]


def counts_of(name, data, lower=0, upper=10, cells=10, space=None):
    step, kind = STEPS[name]
    found = ((space or dp.records()) >> step(lower, upper, cells=cells))(data)
    return np.rint(kind(cells + 1).counts(np.asarray(found))).astype(int).tolist()


@pytest.mark.parametrize("name", STEPS)
def test_a_number_counts_below_its_edge_and_at_the_nearest_bound(name):
    data = [-5.0, 0.0, 0.5, 1.0, 1.0000001, 9.5, 10.0, 11.0, inf, -inf]
    assert counts_of(name, data) == [3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 4]


@pytest.mark.parametrize("missing", [nan, -nan])
@pytest.mark.parametrize("name", STEPS)
def test_missing_values(name, missing):
    """Left out; where the size is public, the centre of the rows' body or of the bounds."""
    assert counts_of(name, [missing, 3.0, missing])[3] == 1
    assert sum(counts_of(name, [missing, 3.0, missing])) == 1
    sized = dp.records(size=3, metric=dp.ChangeOneDistance())
    assert counts_of(name, [missing, 3.0, missing], space=sized)[5] == 2
    inside = sized >> dp.clamp(8, 10)
    assert counts_of(name, [missing, 3.0, missing], space=inside)[8:10] == [1, 2]
    assert counts_of(name, [missing, 3.0], space=dp.records() >> dp.impute(2))[2:4] == [1, 1]

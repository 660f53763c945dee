"""``prefix_features`` and ``block_counts``: stable, exact, and the same however rows come."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.strategies.square_root import SquareRoot
from opendp_lite.strategies.tree import Tree

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


@pytest.mark.parametrize("space", [None, SIZED], ids=["private", "public"])
@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("cells", [1, 2, 12, 40])
def test_stable(name, space, cells):
    step, _ = STEPS[name]
    dp.assert_stable(step(-1, 2, cells=cells), space, trials=48)
    dp.assert_stable(dp.clamp(0, 1) >> step(-1, 2, cells=cells), space, trials=48)


@pytest.mark.parametrize("name", STEPS)
def test_maps_are_attained(name):
    """By a row in the first cell; by one that goes from there to some other."""
    step, _ = STEPS[name]
    rows = step(0, 100, cells=100)
    moved = np.asarray(rows([0.0])) - np.asarray(rows([]))
    assert np.linalg.norm(moved) == pytest.approx(rows.map(1).l2, rel=1e-12)
    sized = dp.records(size=1, metric=dp.ChangeOneDistance()) >> rows
    gaps = [np.asarray(sized([float(x)])) - np.asarray(sized([0.0])) for x in range(101)]
    assert max(map(np.linalg.norm, gaps)) == pytest.approx(sized.map(1).l2, rel=1e-12)
    assert max(np.abs(gap).sum() for gap in gaps) == pytest.approx(float(sized.map(1).l1))


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


@pytest.mark.parametrize("name", STEPS)
def test_any_order_and_any_blocks_give_the_same(name):
    step, _ = STEPS[name]
    data = np.concatenate([np.random.default_rng(0).normal(5, 3, 5000), HOSTILE, [nan]])
    rows = step(0, 10, cells=33)
    expected = np.asarray(rows(data)).tolist()
    cut = dp.Blocks(lambda: iter(np.array_split(data[::-1], 7)))
    assert np.asarray(rows(cut)).tolist() == expected
    assert np.asarray(rows(data.tolist())).tolist() == expected


@pytest.mark.parametrize("name", STEPS)
def test_the_result_is_on_a_grid(name):
    step, kind = STEPS[name]
    bound = step(0, 10, cells=6).bind(dp.records())
    assert bound.output_space.domain.exponent == kind(7).exponent
    assert bound.output_space.domain.dimension == kind(7).terms


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"lower": 1, "upper": 0}, "lower must be below upper.*swap"),
        ({"lower": 1, "upper": 1}, "they are equal"),
        ({"lower": 0, "upper": inf}, "finite"),
        ({"lower": "0", "upper": 1}, "lower must be a number"),
        ({"lower": 0, "upper": 1, "cells": 0}, "cells must be a whole number of at least 1"),
        ({"lower": 0, "upper": 1, "cells": 5000}, "at most 4096"),
        ({"lower": 1, "upper": 1 + 1e-15}, "too close"),
    ],
)
def test_refusals(name, arguments, words):
    step, _ = STEPS[name]
    with pytest.raises(dp.ParameterError, match=words):
        step(**arguments).bind(dp.records())


@pytest.mark.parametrize("name", STEPS)
def test_one_column_is_needed(name):
    step, _ = STEPS[name]
    with pytest.raises(dp.SpaceError, match=f"{name} needs one column.*select"):
        dp.records(columns=2) >> step(0, 1)

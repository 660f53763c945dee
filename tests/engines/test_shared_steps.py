"""Folds of one pass: what they begin with alike is done once, and comes to the same."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.engines.data.blocks import Blocks
from opendp_lite.engines.data.open_data import open_source as opened
from opendp_lite.engines.data.source import BLOCK_ENTRIES
from opendp_lite.engines.plan import Fold, Map, Rows, evaluate
from opendp_lite.engines.rows import CollectRows, LazyRows, RankCounts


def test_a_step_that_two_folds_begin_with_is_done_once_a_block():
    seen = []

    def halved(block):
        seen.append(("halved", len(block)))
        return block / 2

    def raised(block):
        seen.append(("raised", len(block)))
        return block + 1

    data = np.arange(BLOCK_ENTRIES + 3.0)
    how = CollectRows(1, "")
    source = opened(data)
    first, other = Map(halved), Map(raised)
    plans = (
        first,
        other.on(first),
        Map(halved).on(first),
        first.on(other),
        Rows(),
    )
    found = evaluate(tuple(Fold(how, how.finish).on(each) for each in plans), LazyRows(source))
    expected = data / 2, data / 2 + 1, data / 4, (data + 1) / 2, data
    for got, right in zip(found, expected, strict=True):
        assert np.array_equal(got[0], right)
    steps = ["halved", "raised", "halved", "raised", "halved"]
    assert seen == [(step, rows) for rows in (BLOCK_ENTRIES, 3) for step in steps]


def test_two_folds_of_the_same_rows_are_told_apart_and_one_fold_is_done_once():
    passes = []

    def opening():
        passes.append(1)
        return iter([np.array([1.0, 5.0]), np.array([2.0])])

    rows, how = LazyRows(opened(Blocks(opening))), CollectRows(1, "")
    below = RankCounts(np.array([1.5]), 1)
    folds = (
        Fold(how, lambda pieces: how.finish(pieces).tolist()),
        Fold(below, lambda counts: counts.tolist()),
        Fold(how, lambda pieces: len(pieces)),
    )
    found = evaluate(folds, rows)
    assert found == ([[1.0, 5.0, 2.0]], [[[1, 3], [1, 3]]], 2)
    assert len(passes) == 1


@pytest.mark.parametrize("missing", [False, True])
def test_many_folds_of_one_pass_share_their_working_arrays(missing):
    data = np.arange(100_000.0)
    if missing:
        data[::70_000] = np.nan
    sums = [dp.clamp(0, end) >> dp.sum() >> dp.laplace(scale=1) for end in range(1, 41)]
    query = dp.compose(sums)
    query(data[:2])
    tracemalloc.start()
    try:
        query(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * data.nbytes

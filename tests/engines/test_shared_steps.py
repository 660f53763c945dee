"""Folds of one pass: what they begin with alike is done once, and comes to the same."""

from __future__ import annotations

import numpy as np

from opendp_lite.engines.blocks import Blocks
from opendp_lite.engines.collect_rows import CollectRows
from opendp_lite.engines.deferred import Deferred, Together, evaluate, fold
from opendp_lite.engines.door import opened
from opendp_lite.engines.rank_counts import RankCounts
from opendp_lite.engines.rows import LazyRows, map_rows
from opendp_lite.engines.source import BLOCK_ENTRIES


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
    both = map_rows(LazyRows(opened(source)), halved)
    other_order = map_rows(map_rows(LazyRows(opened(source)), raised), halved)
    rows = (
        both,
        map_rows(both, raised),
        map_rows(both, halved),
        other_order,
        LazyRows(opened(source)),
    )
    found = evaluate(tuple(Deferred(each, how, how.finish) for each in rows))
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
    functions = (
        fold(how, lambda pieces: how.finish(pieces).tolist()),
        fold(below, lambda counts: counts.tolist()),
        fold(how, lambda pieces: len(pieces)),
    )
    found = Together(functions)(rows)
    assert found == ([[1.0, 5.0, 2.0]], [[[1, 3], [1, 3]]], 2)
    assert len(passes) == 1

"""Folds of one pass: what they begin with alike is done once, and comes to the same."""

from __future__ import annotations

import numpy as np

from opendp_lite.engines.collect_rows import CollectRows
from opendp_lite.engines.door import opened
from opendp_lite.engines.rows import LazyRows, fold, map_rows, settle
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
    how = CollectRows(1)
    source = opened(data)
    both = map_rows(LazyRows(source), halved)
    other_order = map_rows(map_rows(LazyRows(source), raised), halved)
    rows = both, map_rows(both, raised), map_rows(both, halved), other_order, LazyRows(source)
    found = settle(tuple(fold(each, how, how.finish) for each in rows))
    expected = data / 2, data / 2 + 1, data / 4, (data + 1) / 2, data
    for got, right in zip(found, expected, strict=True):
        assert np.array_equal(got[0], right)
    steps = ["halved", "raised", "halved", "raised", "halved"]
    assert seen == [(step, rows) for rows in (BLOCK_ENTRIES, 3) for step in steps]

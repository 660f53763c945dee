"""Keys for a random choice of rows that follow from their content."""

from __future__ import annotations

import numpy as np

from opendp_lite.engines.fold import Floats
from opendp_lite.engines.least_rows import Keys, Places, Words
from opendp_lite.testing.distances import row_numbers

_SHIFT = np.uint64(32)
_FACTOR = np.uint64(0xD6E8FEB86659FD93)


def content_keys(rows: Floats) -> Keys:
    """A key for each row: a hash of its bits, and of how often it came before.

    Args:
        rows: The rows, in the order in which the step reads them.
    """
    words = np.zeros(len(rows), dtype=np.uint64)
    for column in np.ascontiguousarray(rows).view(np.uint64).T:
        words = _mixed(words ^ column)
    words = _mixed(words + _occurrences(rows))

    def keys(places: Places) -> Words:
        return words[places]

    return keys


def _occurrences(rows: Floats) -> Words:
    """How often each row came before."""
    numbers = row_numbers(rows)
    order = np.argsort(numbers, kind="stable")
    place = np.arange(len(order))
    fresh = np.diff(numbers[order], prepend=-1) != 0
    found = np.empty(len(order), dtype=np.uint64)
    found[order] = place - np.maximum.accumulate(np.where(fresh, place, 0))
    return found


def _mixed(words: Words) -> Words:
    """Words that differ in any bit differ in about half of all bits afterwards."""
    for _ in range(2):
        words = (words ^ (words >> _SHIFT)) * _FACTOR
    found: Words = words ^ (words >> _SHIFT)
    return found

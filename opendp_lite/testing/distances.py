"""True distances between outputs, to hold against a claimed map."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats
from opendp_lite.norms import Norms


def row_numbers(rows: Floats) -> NDArray[np.intp]:
    """A number for each row, the same for rows of the same bits alone."""
    if not rows.size:
        return np.zeros(len(rows), dtype=np.intp)
    rows = np.ascontiguousarray(rows)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    found: NDArray[np.intp] = np.unique(keys, return_inverse=True)[1]
    return found


def _surplus(first: Floats, second: Floats) -> NDArray[np.int64]:
    """For each different row, by its bits, how many more of it the first has."""
    rows = np.concatenate([first, second])
    if not rows.size:
        return np.zeros(0, dtype=np.int64)
    places = row_numbers(rows)
    signs = np.repeat([1.0, -1.0], [len(first), len(second)])
    return np.bincount(places, weights=signs).astype(np.int64)


def symmetric_distance(first: Floats, second: Floats) -> int:
    """How many rows are in one dataset and not in the other, by their bits."""
    return int(np.abs(_surplus(first, second)).sum())


def change_one_distance(first: Floats, second: Floats) -> int:
    """How many rows must be replaced; infinite, as -1, where the sizes differ."""
    if len(first) != len(second):
        return -1
    return int(_surplus(first, second).clip(0).sum())


def people_distance(first: Floats, second: Floats, person: int) -> int:
    """How many people must be added or removed, each with all rows; those without id do not count.

    Args:
        first: Rows.
        second: Rows.
        person: The column of the ids.
    """
    ids = [set(rows[:, person][~np.isnan(rows[:, person])].tolist()) for rows in (first, second)]
    moved = 0
    for each in ids[0] | ids[1]:
        one, two = (rows[rows[:, person] == each] for rows in (first, second))
        if symmetric_distance(one, two):
            moved += (each in ids[0]) + (each in ids[1])
    return moved


def exact_norms(first: NDArray[Any], second: NDArray[Any], exponent: int | None) -> Norms:
    """The norms of the difference of two vectors, exactly."""
    unit = Fraction(1) if exponent is None else Fraction(2) ** exponent
    gaps = [
        abs(Fraction(a) - Fraction(b)) * unit
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]
    zero = Fraction(0)
    return Norms.squared(sum(gaps, zero), sum((g * g for g in gaps), zero), max(gaps, default=zero))

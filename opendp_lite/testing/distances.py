"""True distances between outputs, to hold against a claimed map."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opendp_lite.engines.fold import Floats
from opendp_lite.norms import Norms


def _surplus(first: Floats, second: Floats) -> NDArray[np.int64]:
    """For each different row, by its bits, how many more of it the first has."""
    rows = np.ascontiguousarray(np.concatenate([first, second]))
    if not rows.size:
        return np.zeros(0, dtype=np.int64)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, places = np.unique(keys, return_inverse=True)
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


def exact_norms(first: NDArray[Any], second: NDArray[Any], exponent: int | None) -> Norms:
    """The norms of the difference of two vectors, exactly."""
    unit = Fraction(1) if exponent is None else Fraction(2) ** exponent
    gaps = [
        abs(Fraction(a) - Fraction(b)) * unit
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]
    zero = Fraction(0)
    return Norms.squared(sum(gaps, zero), sum((g * g for g in gaps), zero), max(gaps, default=zero))

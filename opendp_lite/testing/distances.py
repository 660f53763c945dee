"""True distances between outputs, to hold against a claimed map."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opendp_lite.norms import Norms

Floats = NDArray[np.float64]


def _multiset(rows: Floats) -> Counter[bytes]:
    plain = np.ascontiguousarray(rows)
    return Counter(row.tobytes() for row in plain)


def symmetric_distance(first: Floats, second: Floats) -> int:
    """How many rows are in one dataset and not in the other, by their bits."""
    a, b = _multiset(first), _multiset(second)
    return sum(((a - b) + (b - a)).values())


def change_one_distance(first: Floats, second: Floats) -> int:
    """How many rows must be replaced; infinite, as -1, where the sizes differ."""
    if len(first) != len(second):
        return -1
    return sum((_multiset(first) - _multiset(second)).values())


def exact_norms(first: NDArray[Any], second: NDArray[Any], exponent: int | None) -> Norms:
    """The norms of the difference of two vectors, exactly."""
    unit = Fraction(1) if exponent is None else Fraction(2) ** exponent
    gaps = [
        abs(Fraction(a) - Fraction(b)) * unit
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]
    zero = Fraction(0)
    return Norms.squared(sum(gaps, zero), sum((g * g for g in gaps), zero), max(gaps, default=zero))

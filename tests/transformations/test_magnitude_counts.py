"""Counts by sign and magnitude: where each value goes, and how far a row moves them."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

import opendp_lite as dp

REPLACED = dp.records(size=20, metric=dp.ChangeOneDistance())
counts = dp.transformations.magnitude_counts
WILD = [0.0, -0.0, 1.0, -1.0, 1e308, -1e308, inf, -inf, 5e-324, -5e-324, 2.0**-1022, 3.0, -6.0]


def ends_of(least: int, most: int, bits: int) -> list[Fraction]:
    """Of the cells above 0, as documented."""
    if bits < 0:
        joined = 2**-bits
        return [Fraction(2) ** power for power in range(least, most + joined, joined)]
    ends = [Fraction(2) ** least]
    for doubling in range(least, most):
        start = Fraction(2) ** doubling
        ends += [start * (1 + Fraction(i + 1, 2**bits)) for i in range(2**bits)]
    return ends


def cell(value: float, ends: list[Fraction]) -> int:
    """In rationals: how many ends lie closer to 0, with the sign."""
    size = ends[-1] if abs(value) == inf else abs(Fraction(value))
    beyond = sum(end < size for end in ends[:-1])
    return -beyond if value < 0 else beyond


@pytest.mark.parametrize(
    ("least", "most", "bits"),
    [(-2, 3, 0), (-1, 2, 3), (0, 1, 1), (-3, 3, -1), (-2, 3, -2), (0, 1, -10)],
)
def test_each_value_is_in_its_cell(least, most, bits):
    random = np.random.default_rng(1)
    ends = [sign * 2.0**power for power in range(-4, 5) for sign in (-1, 1)]
    close = [np.nextafter(end, end * side) for end in ends for side in (0, 2)]
    values = [*WILD, *ends, *close, *(random.normal(size=300) * 3), 1.25, 1.5, -1.125]
    beyond = ends_of(least, most, bits)
    expected = np.zeros(2 * len(beyond) - 1)
    for value in values:
        expected[len(expected) // 2 + cell(value, beyond)] += 1
    step = counts(least, most, bits=bits)
    assert np.asarray(step(values)).tolist() == expected.tolist()
    cut = dp.Blocks(lambda: iter(np.array_split(np.array(values), 7)))
    assert np.asarray(step(cut)).tolist() == expected.tolist()


def test_missing_values():
    assert np.asarray(counts(0, 1)([nan, 2.0, -nan])).tolist() == [0, 0, 1]
    space = dp.records(size=3, metric=dp.ChangeOneDistance())
    assert np.asarray((space >> counts(0, 1))([nan, 2.0, -nan])).tolist() == [0, 2, 1]

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


@pytest.mark.parametrize("space", [dp.records(), REPLACED], ids=repr)
@pytest.mark.parametrize(
    "step",
    [counts(-2, 3), counts(0, 1), counts(-3, 4, bits=2), counts(-3, 4, bits=-2)],
    ids=repr,
)
def test_stable(step, space):
    dp.assert_stable(step, space)


def test_the_map_is_attained():
    """All rows leave one cell for another: no norm may be claimed smaller."""
    step, k = counts(0, 2), 3
    before, after = [1.0] * 20, [-4.0] * k + [1.0] * (20 - k)
    moved = np.asarray((REPLACED >> step)(after)) - np.asarray((REPLACED >> step)(before))
    claimed = (REPLACED >> step).map(k)
    assert claimed.l1 == np.abs(moved).sum() == 2 * k
    assert claimed.l2_squared == (moved**2).sum() == 2 * k * k
    assert claimed.linf == np.abs(moved).max() == k
    added = np.asarray(step([3.0] * k)) - np.asarray(step([]))
    claimed = step.map(k)
    assert claimed.l1 == claimed.linf == np.abs(added).sum() == k
    assert claimed.l2_squared == k * k


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


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: counts(3, 3), "most must be above least"),
        (lambda: counts(0, 1001), "at most 1000"),
        (lambda: counts(-2000, 5), "at least -1000"),
        (lambda: counts(0.5, 5), "whole number"),
        (lambda: counts(0, 5, bits=-11), "bits must be a whole number"),
        (lambda: counts(0, 5, bits=10**9), "fewer bits"),
        (lambda: counts(-900, 900, bits=12), "fewer bits"),
        (lambda: dp.records(columns=2) >> counts(0, 1), r"Put select\(\) before it"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(dp.OpenDPLiteError, match=words):
        make().map(1)

"""Where numbers lie among rising edges: as a search says, whichever way it is found."""

import pickle
from math import inf, nextafter

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.numbers.edges import RisingEdges, count_between

LARGEST = np.finfo(np.float64).max
WILD = [np.nan, inf, -inf, LARGEST, -LARGEST, 5e-324, -5e-324, 2.0**-1030, 0.0, -0.0]
# Whether they are looked up in a table.
EDGES = {
    "even": (np.linspace(0.1, 7.3, 1000), True),
    "as many as a table holds": (np.arange(2.0**14), True),
    "one more": (np.arange(2.0**14 + 1), False),
    "even, far from 0": (1e9 + np.linspace(0, 1, 5000), True),
    "even, tiny": (np.linspace(-1e-90, 2e-90, 50), True),
    "even, large": (np.linspace(-1e100, 1e100, 16000), True),
    "even, below all normal floats": (np.linspace(0, 1e-310, 5), False),
    "beyond each other's differences": (np.array([-LARGEST, 0, LARGEST]), False),
    "neighbours": (np.array([1, nextafter(1, 2), 1.5]), False),
    "two neighbours": (np.array([1, nextafter(1, 2)]), True),
    "ages": (np.array([0, 18, 25, 35, 45, 55, 65, 120.0]), True),
    "powers": (2.0 ** np.arange(30), False),
    "arcs": (np.sin(np.linspace(-1.5, 1.5, 700)), True),
    "two zeros": (np.array([-0.0, 5e-324]), False),
    "none": (np.zeros(0), False),
    "one": (np.array([0.5]), False),
    "whole": (np.array([-5, 0, 2, 2**62]), False),
}


@pytest.mark.parametrize(("edges", "quick"), EDGES.values(), ids=EDGES)
def test_places_and_counts_are_those_of_a_search(edges, quick):
    rising = RisingEdges(edges)
    assert (rising._before is not None) == quick
    generator = np.random.default_rng(0)
    if edges.dtype == np.float64:
        low = max(edges.min(initial=0) - 1, -1e300)
        high = min(edges.max(initial=0) + 1, 1e300)
        inner = generator.uniform(low, high, 3000)
        with np.errstate(all="ignore"):
            near = [np.nextafter(edges, -inf), edges, np.nextafter(edges, inf)]
        numbers = np.concatenate([*near, inner, inner / 1e9, WILD])
    else:
        numbers = np.concatenate([edges - 1, edges, edges + 1, generator.integers(-9, 9, 3000)])
    generator.shuffle(numbers)
    passed = np.searchsorted(edges, numbers, side="right")
    assert np.array_equal(rising.count_passed(numbers), passed)
    assert len(pickle.dumps(rising)) < len(pickle.dumps(edges)) + 100
    # A number has its place whatever stands beside it.
    assert [int(rising.count_passed(each)) for each in numbers[:300]] == passed[:300].tolist()
    pairs = len(numbers) // 2 * 2
    assert np.array_equal(
        rising.count_passed(numbers[:pairs].reshape(-1, 2)).ravel(), passed[:pairs]
    )
    for some in (numbers, numbers[:3], numbers[:0]):
        for side, other in (("left", "right"), ("right", "left")):
            places = np.searchsorted(edges, some, side=other)
            counts = np.bincount(places, minlength=len(edges) + 1)
            assert np.array_equal(count_between(edges, some, side), counts)
            assert side == "right" or np.array_equal(rising.count_by_place(some), counts)


@pytest.mark.parametrize("edges", [[0, 10, 20, 30.5], [0, 1e-9, 1], range(0, 101, 10)])
@pytest.mark.parametrize("other", [False, True])
def test_a_row_is_in_the_bin_of_numpy_where_there_are_many(edges, other):
    ends = np.array(edges, dtype=np.float64)
    values = np.random.default_rng(1).uniform(-5, 110, 5000)
    values[:500] = np.resize([*ends, *np.nextafter(ends, inf), *np.nextafter(ends, -inf)], 500)
    values[500:600] = np.resize(WILD, 100)
    found = dp.bins(edges, other=other)(values)
    counts = [np.histogram(value, ends)[0].tolist() for value in values]
    if other:
        pairs = zip(values, counts, strict=True)
        counts = [[*row, int(not np.isnan(value) and not any(row))] for value, row in pairs]
    # A row that is left out is one of NaN here.
    assert np.nan_to_num(found).tolist() == counts

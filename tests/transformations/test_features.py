"""Counts in public cells and functions of a cell: exact, and the same for hostile data."""

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.bases.strategies import SquareRoot, Tree
from opendp_lite.transformations.sums import SumFold

SMALL = [
    dp.bases.Cosine(5, 0, 1),
    dp.bases.Fourier(4, -2, 0.1),
    dp.bases.Legendre(7, 0, 100),
    dp.bases.Chebyshev(3, -1, 1),
    dp.bases.Hermite(6, middle=0, scale=1e-3),
    dp.bases.Laguerre(3, scale=1e5),
    dp.bases.Haar(8, 0, 1),
    dp.bases.Daubechies(8, 0, 1),
    dp.bases.Hadamard(16, -1, 1),
    dp.bases.MutuallyUnbiased(5, 0, 1, bases=6),
]
HOSTILE = [0.0, -0.0, nan, -nan, inf, -inf, 1e308, -1e308, 5e-324, -1e-310, 0.3, 0.5]
KNOWN = [number for number in HOSTILE if number == number]


@pytest.mark.parametrize("basis", SMALL, ids=repr)
def test_sums_are_exact_however_they_are_made(basis):
    """Counting, rounding every row, and adding up fractions agree to the last bit."""
    generator = np.random.default_rng(0)
    data = np.concatenate([generator.normal(0, 1, 3000), KNOWN])
    summed = (dp.transformations.basis_features(basis) >> dp.sum())(data)
    rows = dp.transformations.basis_features(basis)(data)
    exactly = [float(sum(map(Fraction, column.tolist()))) for column in rows.T]
    assert summed.tolist() == exactly
    body = basis.points()
    rounded = SumFold(body).summarise(rows)
    assert (SumFold(body).finish(rounded) * 2.0 ** body.exponent()).tolist() == exactly


def test_hostile_numbers_have_public_places():
    features = dp.transformations.basis_features(dp.bases.Haar(4, 0, 1))
    rows = features(HOSTILE)
    first, last = rows[0], rows[4]
    assert np.array_equal(rows[1], first)
    for index in (2, 3):
        assert np.isnan(rows[index]).all()
    for index in (6,):
        assert np.array_equal(rows[index], last), HOSTILE[index]
    for index in (5, 7, 8, 9):
        assert np.array_equal(rows[index], first), HOSTILE[index]
    assert np.isfinite(np.delete(rows, [2, 3], axis=0)).all()


def test_one_column_of_a_table():
    table = np.array([[0.1, 9.0], [0.9, 9.0]])
    rows = dp.records(["age", "visits"]) >> dp.select("age")
    features = rows >> dp.transformations.basis_features(dp.bases.Hadamard(2, 0, 1))
    assert features(table).tolist() == [[1, 1], [1, -1]]


STEPS = {
    "prefix_features": (dp.transformations.prefix_features, SquareRoot),
    "block_counts": (dp.transformations.block_counts, Tree),
}


def counts_of(name, data, lower=0, upper=10, cells=10, space=None):
    step, kind = STEPS[name]
    found = ((space or dp.records()) >> step(lower, upper, cells=cells))(data)
    return np.rint(kind(cells + 1).counts(np.asarray(found))).astype(int).tolist()


@pytest.mark.parametrize("name", STEPS)
def test_a_number_counts_below_its_edge_and_at_the_nearest_bound(name):
    data = [-5.0, 0.0, 0.5, 1.0, 1.0000001, 9.5, 10.0, 11.0, inf, -inf]
    assert counts_of(name, data) == [3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 4]


@pytest.mark.parametrize("missing", [nan, -nan])
@pytest.mark.parametrize("name", STEPS)
def test_missing_values(name, missing):
    """Left out; where the size is public, the centre of the rows' body or of the bounds."""
    assert counts_of(name, [missing, 3.0, missing])[3] == 1
    assert sum(counts_of(name, [missing, 3.0, missing])) == 1
    sized = dp.records(size=3, metric=dp.ChangeOneDistance())
    assert counts_of(name, [missing, 3.0, missing], space=sized)[5] == 2
    inside = sized >> dp.clamp(8, 10)
    assert counts_of(name, [missing, 3.0, missing], space=inside)[8:10] == [1, 2]
    assert counts_of(name, [missing, 3.0], space=dp.records() >> dp.impute(2))[2:4] == [1, 1]


magnitudes = dp.transformations.magnitude_counts
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
def test_each_value_is_in_the_cell_of_its_magnitude(least, most, bits):
    random = np.random.default_rng(1)
    ends = [sign * 2.0**power for power in range(-4, 5) for sign in (-1, 1)]
    close = [np.nextafter(end, end * side) for end in ends for side in (0, 2)]
    values = [*WILD, *ends, *close, *(random.normal(size=300) * 3), 1.25, 1.5, -1.125]
    beyond = ends_of(least, most, bits)
    expected = np.zeros(2 * len(beyond) - 1)
    for value in values:
        expected[len(expected) // 2 + cell(value, beyond)] += 1
    step = magnitudes(least, most, bits=bits)
    assert np.asarray(step(values)).tolist() == expected.tolist()
    cut = dp.Blocks(lambda: iter(np.array_split(np.array(values), 7)))
    assert np.asarray(step(cut)).tolist() == expected.tolist()


def test_values_that_are_far_are_counted_in_blocks_of_doublings():
    """Up to 2, 8, 128 times 2^most, and so on; the last block has no end."""
    ends = [1.0, *(2.0 ** (2**block - 1) for block in range(1, 9))]
    values = [sign * value for end in ends for value in (end, 1.5 * end) for sign in (-1, 1)]
    found = np.asarray(magnitudes(-1, 0, far=True)([*values, inf, 1e308, 0.1])).tolist()
    # The end of a block belongs to it. Each of 1 to 2^127 is the end of a block, and what is half
    # as much again is in the next one.
    assert found == [1, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3]


def test_missing_values_have_no_magnitude():
    assert np.asarray(magnitudes(0, 1)([nan, 2.0, -nan])).tolist() == [0, 0, 1]
    space = dp.records(size=3, metric=dp.ChangeOneDistance())
    assert np.asarray((space >> magnitudes(0, 1))([nan, 2.0, -nan])).tolist() == [0, 2, 1]


@pytest.mark.parametrize("far", [False, True])
def test_values_that_are_scaled_lie_in_the_cells_that_are(far):
    """A 0 lies in the middle, wherever the cells are."""
    values = np.array([0.0, 0.0, -0.0, 1.0, -1.5, 3.0, 200.0, -1e9])
    counts = [
        dp.transformations.magnitude_counts(-2 + by, 2 + by, far=far)(values * 2.0**by).tolist()
        for by in (-300, -40, -3, 0, 5, 300)
    ]
    assert counts == [counts[0]] * len(counts)
    assert counts[0][len(counts[0]) // 2] == 3

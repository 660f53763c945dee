"""The exponential mechanism on ranks: its items, its window and its rare rest, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import inf, nan

import numpy as np
import pytest
from sampling import LEAST_P, fit

import opendp_lite as dp
from opendp_lite.engines.data.fold import Scratch
from opendp_lite.engines.rows import RankCounts
from opendp_lite.samplers import rank_choice
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.lattice import AsinhLattice, Lattice, LinearLattice
from opendp_lite.samplers.rank_choice import STEEPEST, CellChoice, NumbersInCells, RankLaw

QUANTILES = [Fraction(q) for q in ("0", "1", "1/2", "1/3", "0.9", "0.98", "1/4", "2/3", "1/1000")]


class Few(Lattice):
    """So many cells of width 1, from 0."""

    def __init__(self, cells: int) -> None:
        self._cells = cells

    @property
    def cells(self) -> int:
        return self._cells

    def cell(self, x):
        inside = np.where(np.isnan(x), inf, x).clip(0, self._cells - 1)
        return inside.astype(np.int64)

    def points(self, cells):
        return cells + 0.5


def distances(quantile: Fraction, numbers, cells: int) -> list[Fraction]:
    """How far off each cell is, by counting."""
    size, found = len(numbers), []
    for cell in range(cells):
        under, over = sum(x < cell for x in numbers), sum(x > cell for x in numbers)
        found.append(max(Fraction(0), under - quantile * size, over - (1 - quantile) * size))
    return found


def items_of(chooser: CellChoice, column: np.ndarray, first: int, last: int):
    """The items as the sampler makes them of a column in any order."""
    column = np.random.default_rng(len(column)).permutation(column)
    return chooser._items(NumbersInCells(chooser.lattice, column), first, last)


def assert_exact(items, expected: list[Fraction], slope: Fraction) -> range:
    """Every cell of the items has its exact exponent, and a float near it; the cells covered."""
    least = min(expected)
    start, end = int(items.edges[0]), int(items.edges[-1])
    assert items.counts.min() >= 0
    assert np.array_equal(np.diff(items.edges), items.counts)
    for index, count in enumerate(items.counts):
        for cell in range(int(items.edges[index]), int(items.edges[index]) + int(count)):
            exact = items.weights.exactly(index)
            assert exact == slope * (expected[cell] - least)
            assert items.weights.exponents[index] == pytest.approx(min(exact, 128), abs=2**-40)
    return range(start, end)


@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
def test_every_cell_has_its_weight_for_all_small_data(quantile):
    """Sizes 0 to 6, ties, and numbers in the first, the last and adjacent cells."""
    slope = Fraction(3, 7)
    chooser = CellChoice(Few(12), RankLaw(quantile, slope))
    for size in range(7):
        for numbers in combinations_with_replacement([0, 4, 5, 9, 11], size):
            column = np.array(numbers, dtype=float)
            covered = assert_exact(
                items_of(chooser, column, 0, size), distances(quantile, numbers, 12), slope
            )
            assert covered == range(12)


@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
def test_every_window_has_the_weights_of_the_whole(quantile):
    slope = Fraction(1, 2)
    chooser = CellChoice(Few(20), RankLaw(quantile, slope))
    generator = np.random.default_rng(8)
    for size in (1, 2, 3, 8, 9, 10, 17):
        for spread in (1, 3, 20):
            numbers = generator.integers(0, spread, size) + generator.integers(0, 21 - spread)
            expected = distances(quantile, numbers.tolist(), 20)
            middle = int(quantile * size)
            for reach in range(size + 2):
                first, last = max(0, middle - reach), min(size, middle + reach)
                items = items_of(chooser, numbers.astype(float), first, last)
                covered = assert_exact(items, expected, slope)
                bound = min(
                    chooser.law.distance(rank, size - rank, size) for rank in (first - 1, last + 1)
                )
                outside = [d for cell, d in enumerate(expected) if cell not in covered]
                assert all(d >= bound for d in outside)


@pytest.mark.parametrize("offset", [Fraction(-9), Fraction(-2, 3), Fraction(5, 4), Fraction(40)])
def test_an_offset_moves_the_target_and_leaves_it_among_the_numbers(offset):
    """A target of 4 + offset of 12 numbers is a quantile of its own, between 0 and 1."""
    numbers = [0, 0, 3, 3, 3, 4, 7, 8, 8, 8, 11, 11]
    same = min(max((4 + offset) / 12, Fraction(0)), Fraction(1))
    law = RankLaw(Fraction(1, 3), Fraction(1, 2), offset)
    assert law.target(12) == 12 * same
    column, expected = np.array(numbers, dtype=float), distances(same, numbers, 12)
    items = items_of(CellChoice(Few(12), law), column, 0, 12)
    assert assert_exact(items, expected, law.slope) == range(12)
    for cell, far in enumerate(expected):
        under, over = sum(x < cell for x in numbers), sum(x > cell for x in numbers)
        assert law.distance(under, over, 12) == far


def test_the_nearest_items_are_not_there():
    """Weights are seen from the nearest item that is, exactly."""
    law = RankLaw(Fraction(1, 2), Fraction(1024))
    under = np.arange(4)
    weights = law.weigh(np.array([1, 0, 0, 0]), under, 3 - under, 3)
    assert weights.nearest == Fraction(3, 2)
    assert weights.exactly(0) == 0
    assert weights.exponents[0] == 0


@pytest.mark.parametrize("slope", [Fraction(1), Fraction(1024)], ids=str)
@pytest.mark.parametrize("power", [10, 21, 30, 40])
def test_far_items_that_floats_cannot_tell_apart_have_their_exponents(power, slope):
    """Two candidates with 2^power numbers between them, so many that floats call them as near."""
    size = 2**power
    for ends, part in ((11, 59), (-11, 59), (1, 54), (5, 62)):
        law = RankLaw(Fraction(1, 2) + Fraction(ends, 2**part), slope)
        weights = law.weigh(np.ones(2, np.int64), np.array([0, size]), np.array([size, 0]), size)
        for index, found in enumerate(weights.exponents.tolist()):
            exact = min(weights.exactly(index), Fraction(128))
            assert abs(Fraction(found) - exact) < Fraction(1, 2**36)


def near(chooser: CellChoice, numbers: np.ndarray, reach: int, monkeypatch):
    """Forces the window of this reach, whatever the weight of the rest."""
    monkeypatch.setattr(rank_choice, "_RARE", inf)
    steps = np.log(chooser.lattice.cells)
    monkeypatch.setattr(rank_choice, "_REST", (reach - 1) * float(chooser.law.slope) - steps - 1e-9)
    return numbers.astype(float)


class Rest:
    """Has the rest chosen, and of it a given cell; keeps what it would be weighed with."""

    def __init__(self, monkeypatch) -> None:
        self.place, self.count, self.farther, self.excess = 0, 0, Fraction(0), Fraction(0)
        monkeypatch.setattr(rank_choice, "choose", self.choose)
        monkeypatch.setattr(rank_choice, "below", self.below)
        monkeypatch.setattr(rank_choice, "happens", self.happens)

    def choose(self, counts, exponents, exactly, entropy):
        self.count, self.farther = int(counts[-1]), exactly(len(counts) - 1)
        assert len(counts) == len(exponents)
        assert exponents[-1] <= self.farther + Fraction(1, 2**32)
        return len(counts) - 1

    def below(self, total, entropy):
        assert total == self.count
        return self.place

    def happens(self, ratio, exponent, entropy):
        assert ratio == 1
        assert exponent >= 0
        self.excess = exponent
        return True


@pytest.mark.parametrize("size", [12, 13, 16, 25])
@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
def test_cells_of_the_rest_are_reached_and_weighed_exactly(quantile, size, monkeypatch):
    slope, cells = Fraction(1, 5), 24
    chooser = CellChoice(Few(cells), RankLaw(quantile, slope))
    numbers = np.random.default_rng(9).integers(3, 21, size)
    column = near(chooser, numbers, 1, monkeypatch)
    expected = distances(quantile, numbers.tolist(), cells)
    rest = Rest(monkeypatch)
    chooser.cell(column.copy(), None)
    reached = []
    for place in range(rest.count):
        rest.place = place
        reached.append(chooser.cell(column.copy(), None))
        assert rest.farther + rest.excess == slope * expected[reached[-1]]
    middle = int(quantile * size)
    inside = items_of(chooser, column.copy(), max(0, middle - 1), min(size, middle + 1))
    covered = range(int(inside.edges[0]), int(inside.edges[-1]))
    assert sorted(reached) == [cell for cell in range(cells) if cell not in covered]


DATA = np.array([3, 3, 3, 9, 10, 10, 11, 12, 20, 30, 30, 30, 30, 30, 41, 55, 56, 63, 63, 0])
DRAWS = 1000


@pytest.mark.parametrize("reach", [None, 1, 2], ids=str)
@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(1, 3), Fraction(0), Fraction(1)])
def test_window_and_rest_and_the_whole_follow_one_law(quantile, reach, monkeypatch):
    slope = Fraction(1, 4)
    chooser = CellChoice(Few(64), RankLaw(quantile, slope))
    column = DATA.astype(float)
    if reach is not None:
        near(chooser, DATA, reach, monkeypatch)
        monkeypatch.setattr(CellChoice, "_near", watched := Watched(CellChoice._near))
    entropy = InsecureSeededEntropy(10)
    draws = [chooser.cell(column, entropy) for _ in range(DRAWS)]
    weights = np.exp([-float(slope * d) for d in distances(quantile, DATA.tolist(), 64)])
    assert fit(np.bincount(draws, minlength=64), weights) > LEAST_P
    if reach is not None:
        assert watched.calls == DRAWS


class Watched:
    """A method that counts its calls and always decides."""

    def __init__(self, method):
        self.method, self.calls = method, 0

    def __get__(self, chooser, owner):
        def call(*args):
            self.calls += 1
            found = self.method(chooser, *args)
            assert found is not None
            return found

        return call


def test_the_window_is_used_and_the_rest_is_rare():
    chooser = CellChoice(LinearLattice(0.0, 1.0), RankLaw(Fraction(1, 2), Fraction(1)))
    column = np.random.default_rng(11).random(4000)
    entropy = InsecureSeededEntropy(12)
    assert chooser.cell(column, entropy) // 2**40 in range(100, 156)
    assert (np.diff(column) < 0).any()
    gentle = CellChoice(LinearLattice(0.0, 1.0), RankLaw(Fraction(1, 2), Fraction(1, 100)))
    gentle.cell(column, entropy)
    assert (np.diff(column) >= 0).all()


@pytest.mark.parametrize(
    ("lattice", "data"),
    [
        (LinearLattice(0.0, 1.0), [0.2, 0.2, 0.7, nan, -inf]),
        (LinearLattice(-3.0, 1.0), []),
        (LinearLattice(10.0, 11.0), [-1e308, 1e308, 5e-324, inf, nan, -0.0]),
        (AsinhLattice(1.0, 1e6, 0.0), [1.0, 10.0, 1e3, 1e9, -5.0]),
        (AsinhLattice(-1e6, 1e6, 1.0), [-1e3, -2.0, -0.0, 0.0, 5.0, nan]),
        (AsinhLattice(-1e300, 1e300, 1e-300), [0.0, 5e-324]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(9, 10)], ids=str)
def test_frequencies_on_real_lattices(lattice, data, quantile):
    """Weights of the intervals between the cells of the numbers, and of these cells."""
    slope = Fraction(1, 2)
    chooser = CellChoice(lattice, RankLaw(quantile, slope))
    column = np.array(data, dtype=float)
    held = sorted(lattice.cell(column).tolist())
    size = len(held)
    parts = []
    edges = sorted({0, lattice.cells, *held, *(cell + 1 for cell in held)})
    for low, high in pairwise(edges):
        under, over = sum(x < low for x in held), sum(x > low for x in held)
        off = max(Fraction(0), under - quantile * size, over - (1 - quantile) * size)
        parts.append((high - low) * np.exp(-float(slope * off)))
    entropy = InsecureSeededEntropy(13)
    draws = [chooser.cell(column, entropy) for _ in range(1500)]
    where = np.searchsorted(edges, draws, side="right") - 1
    found = np.bincount(where, minlength=len(parts))
    assert fit(found, np.array(parts)) > LEAST_P


@pytest.mark.parametrize("slope", [Fraction(1024), Fraction(1, 10**12), Fraction(1, 10**400)])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 100, 3000])
def test_extreme_slopes(slope, size):
    lattice = AsinhLattice(-(2.0**900), 2.0**900, 5e-324)
    column = np.random.default_rng(14).standard_normal(size)
    for quantile in (Fraction(0), Fraction(1, 2), Fraction(1)):
        chooser = CellChoice(lattice, RankLaw(quantile, slope))
        found = chooser.release(column, InsecureSeededEntropy(15))
        assert lattice.lower <= found <= lattice.upper
        if slope > 1 and size > 10 and quantile == Fraction(1, 2):
            low, high = np.sort(column)[[(size - 1) // 2, size // 2]]
            assert low * (1 - 1e-9) - 1e-9 <= found <= high + 1e-9


@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
def test_candidates_have_their_weights_for_all_small_data(quantile):
    points = np.array([-1.0, 0.0, 0.5, 2.0])
    slope = Fraction(5, 3)
    law = RankLaw(quantile, slope)
    for size in range(5):
        for numbers in combinations_with_replacement([-inf, -1.0, -0.0, 0.3, 2.0, nan], size):
            held = [inf if x != x else x for x in numbers]
            fold = RankCounts(points, 1)
            block = np.array(numbers, dtype=float).reshape(-1, 1)
            under, upto = fold.merge(fold.empty(), fold.summarise(block, Scratch()))[0]
            assert under[-1] == upto[-1] == size
            assert under[:-1].tolist() == [sum(x < p for x in held) for p in points]
            assert upto[:-1].tolist() == [sum(x <= p for x in held) for p in points]
            over = size - upto[:-1]
            weights = law.weigh(np.ones(4, dtype=np.int64), under[:-1], over, size)
            off = [
                max(Fraction(0), int(u) - quantile * size, int(o) - (1 - quantile) * size)
                for u, o in zip(under, over, strict=False)
            ]
            exact = [weights.exactly(i) for i in range(4)]
            assert exact == [slope * (d - min(off)) for d in off]
            assert np.allclose(weights.exponents, [float(e) for e in exact], atol=2.0**-40, rtol=0)


@pytest.mark.parametrize("slope", [Fraction(0), Fraction(-1), STEEPEST + Fraction(1, 2**80)])
def test_a_slope_that_floats_cannot_follow_is_refused(slope):
    with pytest.raises(dp.ParameterError, match="slope must be above 0 and at most 1024"):
        RankLaw(Fraction(1, 2), slope)
    assert RankLaw(Fraction(1, 2), STEEPEST).slope == STEEPEST

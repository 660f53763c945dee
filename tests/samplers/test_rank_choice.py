"""The exponential mechanism on ranks, in one column and in many: items, window and rare rest."""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import inf, nan

import numpy as np
import pytest
from sampling import LEAST_P, fit

import opendp_lite as dp
from opendp_lite.engines.rows import RankCounts
from opendp_lite.samplers import rank_choice
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.lattice import AsinhLattice, Lattice, LinearLattice
from opendp_lite.samplers.rank_choice import (
    STEEPEST,
    CellChoice,
    CellChoices,
    Columns,
    Items,
    NumbersInCells,
    PiecesInCells,
    RankLaw,
)

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


def items_of(chooser: CellChoice, column: np.ndarray, first: int, last: int) -> Items:
    """The items as the sampler makes them of a column in any order, each a run by itself."""
    column = np.random.default_rng(len(column)).permutation(column)
    return Items.of(chooser.columns(NumbersInCells(chooser.lattice, column)), first, last)


def edges_of(items: Items) -> list[int]:
    """Item i is made of the cells edges[i] to edges[i + 1] - 1; the cells beyond are no item."""
    return items.bounds[0, :-1].tolist()


def assert_exact(items: Items, expected: list[Fraction], slope: Fraction) -> range:
    """Every cell of the items has its exact exponent, and a float near it; the cells covered."""
    least, edges = min(expected), edges_of(items)
    assert items.counts.min() >= 0
    assert items.counts[0].tolist() == [*np.diff(edges), len(expected) - edges[-1] + edges[0]]
    for index, (start, end) in enumerate(pairwise(edges)):
        for cell in range(start, end):
            exact = items.exactly(0, cell)
            assert exact == slope * (expected[cell] - least)
            assert items.exponents[0, index] == pytest.approx(min(exact, 128), abs=2**-40)
    return range(edges[0], edges[-1])


@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
def test_every_cell_has_its_weight_for_all_small_data(quantile):
    """Sizes 0 to 4, ties, and numbers in the first, the last and adjacent cells."""
    slope = Fraction(3, 7)
    chooser = CellChoice(Few(12), RankLaw(quantile, slope))
    for size in range(5):
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
    for size in (1, 2, 3, 9, 10):
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
                assert items.outside == bound


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


def window_of(reach: int, monkeypatch) -> None:
    """Forces a window of so many numbers to either side, whatever the weight of the rest."""

    def window(target, slope, cells, size):
        return max(0, int(target) - reach), min(size, int(target) + reach)

    monkeypatch.setattr(rank_choice, "_RARE", inf)
    monkeypatch.setattr(rank_choice, "window", window)


@pytest.mark.parametrize("size", [12, 13, 16, 25])
@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
def test_cells_of_the_rest_are_reached_and_weighed_exactly(quantile, size, monkeypatch):
    """Each cell of the rest is drawn, and what it is drawn and kept with makes its exponent."""
    slope, cells = Fraction(1, 5), 24
    chooser = CellChoice(Few(cells), RankLaw(quantile, slope))
    numbers = np.random.default_rng(9).integers(3, 21, size)
    window_of(1, monkeypatch)
    expected = distances(quantile, numbers.tolist(), cells)
    middle = int(quantile * size)
    items = items_of(chooser, numbers, max(0, middle - 1), min(size, middle + 1))
    edges, kept = edges_of(items), []
    covered = range(edges[0], edges[-1])
    monkeypatch.setattr(rank_choice, "happens", lambda *given: kept.append(given) or True)
    reached = []
    for cell in range(edges[-1], edges[0] + cells):
        monkeypatch.setattr(
            rank_choice, "choose_each", lambda *_, cell=cell, **__: np.array([cell])
        )
        reached.append(chooser.cell(numbers.astype(float), None))
        ratio, excess, _ = kept[-1]
        assert ratio == 1
        assert excess >= 0
        assert items.exactly(0, cell) + excess == slope * expected[reached[-1]]
        assert items.exponents[0, -1] <= items.exactly(0, cell) + Fraction(1, 2**32)
    assert sorted(reached) == [cell for cell in range(cells) if cell not in covered]
    assert items.counts[0, -1] == len(reached)


DATA = np.array([3, 3, 3, 9, 10, 10, 11, 12, 20, 30, 30, 30, 30, 30, 41, 55, 56, 63, 63, 0])
DRAWS = 300


@pytest.mark.parametrize("reach", [None, 1], ids=str)
@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(1, 3), Fraction(0), Fraction(1)])
def test_window_and_rest_and_the_whole_follow_one_law(quantile, reach, monkeypatch):
    slope = Fraction(1, 4)
    chooser = CellChoice(Few(64), RankLaw(quantile, slope))
    column = DATA.astype(float)
    if reach is not None:
        window_of(reach, monkeypatch)
    entropy = InsecureSeededEntropy(10)
    draws = [chooser.cell(column, entropy) for _ in range(DRAWS)]
    weights = np.exp([-float(slope * d) for d in distances(quantile, DATA.tolist(), 64)])
    assert fit(np.bincount(draws, minlength=64), weights) > LEAST_P


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
    draws = [chooser.cell(column, entropy) for _ in range(400)]
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
        found = lattice.point(chooser.cell(column, InsecureSeededEntropy(15)))
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
            under, upto = fold.merge(fold.empty(), fold.summarise(block))[0]
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


def many(lattices, laws, numbers: np.ndarray, entropy) -> np.ndarray:
    """The cells of the columns, whose numbers are rows here."""
    chooser = CellChoices(tuple(lattices), tuple(laws))
    held = numbers.copy()
    columns, size = held.shape
    return chooser.cells(columns, lambda start, stop: held[start:stop], size, entropy)


@pytest.mark.parametrize("slopes", [("1/2",), ("1/9", "1/7")], ids=len)
@pytest.mark.parametrize("one_lattice", [True, False])
@pytest.mark.parametrize("quantile", QUANTILES[:6], ids=str)
def test_items_are_those_of_one_column(quantile, one_lattice, slopes):
    """Edges, floats and exact exponents, for all numbers and for windows of them."""
    generator = np.random.default_rng(1)
    lattices = [Few(20)] if one_lattice else [Few(20), Few(9), Few(31)]
    laws = [RankLaw(quantile, Fraction(slope)) for slope in slopes]
    for size in (0, 1, 2, 11):
        numbers = generator.integers(-1, 22, (3, size)).astype(float)
        middle = int(quantile * size)
        for reach in {0, 1, min(4, size), size + 1}:
            first, last = max(0, middle - reach), min(size, middle + reach)
            columns = CellChoices(tuple(lattices), tuple(laws)).part(0, numbers.copy())
            runs = Items.of(columns, first, last)
            for lane in range(3):
                choice = CellChoice(lattices[lane % len(lattices)], laws[lane % len(laws)])
                assert_runs_hold(runs, lane, items_of(choice, numbers[lane], first, last))


def assert_runs_hold(runs: Items, lane: int, expected: Items) -> None:
    """The runs of a column are made of these items, and all their cells have their exponents."""
    exponents, floats = runs.exponents[lane % len(runs.exponents)], expected.exponents[0]
    assert np.array_equal(runs.bounds[lane], expected.bounds[0, runs.cuts])
    assert np.array_equal(runs.counts[lane], np.diff(runs.bounds[lane]))
    assert (np.diff(runs.cuts) > 0).all()
    assert runs.cuts[0] == 0
    for place, (start, stop) in enumerate(pairwise(runs.cuts)):
        assert exponents[place] == floats[start:stop].min()
    cells = np.arange(expected.bounds[0, 0], expected.bounds[0, -1])
    places = np.searchsorted(runs.bounds[lane], cells, side="right") - 1
    items = np.searchsorted(expected.bounds[0], cells, side="right") - 1
    lanes, filled = np.full(len(places), lane), np.unique(places)
    assert np.array_equal(runs.find(lanes, places, cells), items)
    drawn, found = runs.draw(lanes[: len(filled)], filled, InsecureSeededEntropy(6))
    assert (runs.bounds[lane, filled] <= drawn).all()
    assert (drawn < runs.bounds[lane, filled + 1]).all()
    held = np.searchsorted(expected.bounds[0], drawn, side="right") - 1
    assert np.array_equal(found, floats[held])
    for cell in cells[::5].tolist():
        assert runs.exactly(lane, cell) == expected.exactly(0, cell)


def test_runs_are_as_long_as_their_exponents_are_nearly_one():
    """A slope of 1 / 10 makes five items a run, and none is longer than 64."""
    numbers = np.tile(np.arange(200.0), (2, 1))
    for slope, length in ((Fraction(1, 10), 5), (Fraction(3), 1), (Fraction(1, 10**6), 64)):
        law = RankLaw(Fraction(1, 3), slope)
        columns = CellChoices((LinearLattice(0.0, 200.0),), (law,)).part(0, numbers.copy())
        assert np.diff(Items.of(columns, 0, 200).cuts).max() == length


@pytest.mark.parametrize("lattice", [LinearLattice(-3.0, 5.0), AsinhLattice(-9.0, 9.0, 0.1)])
@pytest.mark.parametrize(("quantile", "slope"), [("2/5", "1/9"), ("1", "1/30"), ("0.5", "1/200")])
def test_long_runs_follow_the_law(lattice, quantile, slope):
    """Within a run too: 20 000 columns of the same 90 numbers, by the gap that is chosen."""
    law = RankLaw(Fraction(quantile), Fraction(slope))
    numbers = np.sort(np.random.default_rng(2).standard_normal(90))
    columns = np.tile(numbers[::-1], (20_000, 1))
    found = many([lattice], [law], columns, InsecureSeededEntropy(5))
    expected = items_of(CellChoice(lattice, law), numbers, 0, 90)
    items = np.searchsorted(expected.bounds[0], found, side="right") - 1
    weights = (expected.counts * np.exp(-expected.exponents))[0]
    assert fit(np.bincount(items, minlength=len(weights)), weights) > LEAST_P


@pytest.mark.parametrize(
    ("quantile", "reach"), [(Fraction(1, 3), None), (Fraction(0), None), (Fraction(1, 3), 1)]
)
@pytest.mark.parametrize("steep", [1, Fraction(1, 3)], ids=str)
def test_every_column_follows_its_law(quantile, reach, steep, monkeypatch):
    """Three slopes and two lattices side by side; with a reach the rest is chosen often."""
    slopes, cells = [steep / Fraction(each) for each in (4, 3, 5)], [64, 40]
    if reach is not None:
        window_of(reach, monkeypatch)
    monkeypatch.setattr(rank_choice, "_ENTRIES", 50 * len(DATA) + 3)
    laws, lattices = [RankLaw(quantile, s) for s in slopes], [Few(c) for c in cells]
    columns = 6 * (500 if reach is None else 120)
    numbers = np.tile(DATA.astype(float), (columns, 1))
    found = many(lattices, laws, numbers, InsecureSeededEntropy(3))
    for kind in range(6):
        count = cells[kind % 2]
        held = np.minimum(DATA, count - 1).tolist()
        off = distances(quantile, held, count)
        weights = np.exp([-float(slopes[kind % 3] * d) for d in off])
        assert fit(np.bincount(found[kind::6], minlength=count), weights) > LEAST_P


def test_a_rest_that_is_not_rare_is_looked_at(monkeypatch):
    """Every second column lies so close together that next to no cell is near."""
    window_of(10, monkeypatch)
    monkeypatch.setattr(rank_choice, "_RARE", 0.5)
    law, lattice = RankLaw(Fraction(1, 2), Fraction(1, 2)), LinearLattice(0.0, 1.0, 12)
    size, columns = 200, 400
    close = 0.5 + np.linspace(0, 1e-9, size)
    numbers = np.array([close, np.linspace(0, 1, size)] * (columns // 2))
    whole = []
    alone = Columns._choose_alone
    monkeypatch.setattr(
        Columns, "_choose_alone", lambda *given: whole.append(given[1]) or alone(*given)
    )
    found = many([lattice], [law], numbers, InsecureSeededEntropy(4))
    assert columns // 2 <= len(whole) < columns
    for kind, rows in enumerate(numbers[:2]):
        held, cells = lattice.cell(rows), np.arange(lattice.cells)
        under, upto = (np.searchsorted(held, cells, side) for side in ("left", "right"))
        off = np.maximum(0, np.maximum(under - size / 2, size - upto - size / 2))
        weights = np.exp(-off / 2).reshape(64, -1).sum(axis=1)
        seen = np.bincount(found[kind::2] >> 6, minlength=64)
        assert fit(seen, weights) > LEAST_P


def test_a_slope_below_all_floats_leaves_every_cell_as_likely():
    lattice, numbers = Few(16), np.tile(np.arange(8.0), (4000, 1))
    law = RankLaw(Fraction(1, 2), Fraction(1, 2**1100))
    found = many([lattice], [law], numbers, InsecureSeededEntropy(6))
    assert fit(np.bincount(found, minlength=16), np.ones(16)) > LEAST_P


@pytest.mark.parametrize("size", [12, 13, 25])
@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
def test_no_cell_of_the_rest_is_nearer_than_the_rest_is_weighed(quantile, size, monkeypatch):
    """Else a cell just beyond the window would be drawn too seldom. Some cell is as near."""
    window_of(1, monkeypatch)
    seen = []
    honest = Items.choose
    monkeypatch.setattr(Items, "choose", lambda *given: seen.append(given[0]) or honest(*given))
    slopes, cells = [Fraction(1, 5), Fraction(1, 3)], 40
    numbers = np.random.default_rng(9).permuted(np.tile(np.arange(size) + 3.0, (6, 1)), axis=1)
    laws = [RankLaw(quantile, slope) for slope in slopes]
    many([Few(cells)], laws, numbers, InsecureSeededEntropy(3))
    off = distances(quantile, (np.arange(size) + 3).tolist(), cells)
    for lane in range(6):
        first, last = seen[0].bounds[lane, [0, -2]].tolist()
        rest = off[:first] + off[last:]
        assert seen[0].counts[lane, -1] == len(rest)
        assert seen[0].outside <= min(rest)
        if quantile in (Fraction(1, 2), Fraction(1, 3)):
            assert seen[0].outside == min(rest)
        bound = seen[0].exactly(lane, last)
        assert bound == slopes[lane % 2] * seen[0].outside
        assert seen[0].exponents[lane % 2, -1] == pytest.approx(float(bound), rel=2**-50)


GENERATOR = np.random.default_rng(1)
SIZE = 3000
NUMBERS = {
    "normal": GENERATOR.standard_normal(SIZE),
    "rising": np.linspace(-4, 4, SIZE),
    "few values": GENERATOR.integers(-2, 3, SIZE).astype(float),
    "one value": np.zeros(SIZE),
    "zeros of both signs": np.copysign(0.0, GENERATOR.standard_normal(SIZE)),
    "not finite": GENERATOR.choice([np.nan, np.inf, -np.inf, 0.5, 1e308], SIZE),
    "none are numbers": np.full(SIZE, np.nan),
    "hidden from the sample": np.where(np.arange(SIZE) % 46, GENERATOR.random(SIZE), 3.0),
}
LATTICES = [LinearLattice(-3.0, 5.0), AsinhLattice(-9.0, 9.0, 0.1)]
WINDOWS = [(0, 1), (0, 40), (1480, 1520), (1499, 1500), (2960, 3000), (0, SIZE), (7, 2900), (5, 5)]


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(rank_choice, "_SAMPLE", 64)
    monkeypatch.setattr(rank_choice, "_SLACK", 8)


def in_pieces(lattice, numbers: np.ndarray) -> PiecesInCells:
    return PiecesInCells(lattice, np.split(numbers, [0, 46 * 20, 46 * 40, 46 * 40 + 1]))


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("lattice", LATTICES, ids=["linear", "asinh"])
@pytest.mark.parametrize("name", NUMBERS)
def test_places_are_those_of_one_array(name, lattice):
    numbers = NUMBERS[name]
    pieces = in_pieces(lattice, numbers)
    assert pieces.size == SIZE
    for first, last in WINDOWS:
        expected = NumbersInCells(lattice, numbers.copy()).between(first, last)
        assert np.array_equal(pieces.between(first, last), expected)
    cells = np.array([0, 5, lattice.cells // 2, lattice.cells - 1, lattice.cells])
    assert np.array_equal(
        pieces.before(cells), NumbersInCells(lattice, numbers.copy()).before(cells)
    )
    assert np.array_equal(np.concatenate(pieces.pieces), numbers, equal_nan=True)


@pytest.mark.usefixtures("small_samples")
def test_few_numbers_are_put_together_unless_the_sample_misleads():
    """Of 3000 numbers the sample has 65; 8 of its ranks to either side are 370 numbers."""
    near = {name: in_pieces(LATTICES[0], numbers) for name, numbers in NUMBERS.items()}
    under, inside = near["normal"]._near(1480, 1520)
    assert 1000 < under <= 1480
    assert 1520 - under <= len(inside) < 1000
    under, inside = near["normal"]._near(0, 1)
    assert under == 0 < len(inside) < 1000
    under, inside = near["normal"]._near(2999, 3000)
    assert under + len(inside) == SIZE < under + 1000
    under, inside = near["hidden from the sample"]._near(1480, 1520)
    assert under > 1480 or 1520 - under > len(inside)


def test_few_numbers_are_not_sampled(monkeypatch):
    monkeypatch.setattr(PiecesInCells, "_near", None)
    in_pieces(LATTICES[0], NUMBERS["normal"]).between(10, 20)


def test_no_pieces():
    none = PiecesInCells(LATTICES[0], [])
    assert none.size == 0
    assert none.between(0, 0).tolist() == []
    assert none.before(np.array([0, 7])).tolist() == [0, 0]

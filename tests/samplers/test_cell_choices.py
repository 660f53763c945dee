"""Cells of many columns: the items, the law and the choices of one column at a time."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from sampling import LEAST_P, fit
from test_rank_choice import DATA, Few, distances

from opendp_lite.engines.data.fold import Scratch
from opendp_lite.samplers import cell_choices, rank_choice
from opendp_lite.samplers.cell_choices import CellChoices
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.lattice import AsinhLattice, LinearLattice
from opendp_lite.samplers.rank_choice import CellChoice, NumbersInCells, RankLaw

QUANTILES = [Fraction(q) for q in ("0", "1", "1/2", "1/3", "0.98")]


def many(lattices, laws, numbers: np.ndarray, entropy) -> np.ndarray:
    """The cells of the columns, whose numbers are rows here."""
    chooser = CellChoices(tuple(lattices), tuple(laws))
    held = numbers.copy()
    columns, size = held.shape
    return chooser.cells(columns, lambda start, stop: held[start:stop], size, entropy)


def parts(lattices, laws, numbers):
    lattices, laws = (
        [each[j % len(each)] for j in range(len(numbers))] if len(each) > 1 else each
        for each in (lattices, laws)
    )
    part = cell_choices._Several(lattices, laws, numbers.copy(), Scratch())
    return [part._choice(lane) for lane in range(len(numbers))], part


@pytest.mark.parametrize("slopes", [("1/2",), ("1/9",), ("1/9", "1/7")], ids=len)
@pytest.mark.parametrize("one_lattice", [True, False])
@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
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
            choices, part = parts(lattices, laws, numbers)
            runs = part.runs(first, last)
            some = runs.part(np.array([2, 0]))
            for lane, choice in enumerate(choices):
                held = NumbersInCells(choice.lattice, numbers[lane].copy())
                expected = choice._items(held, first, last)
                assert_runs_hold(runs, lane, expected)
                if lane != 1:
                    assert_runs_hold(some, int(lane == 0), expected)


def assert_runs_hold(runs, lane, expected):
    """The runs of a column are made of these items, and all their cells have their exponents."""
    exponents = runs.exponents[lane % len(runs.exponents)]
    assert np.array_equal(runs.bounds[lane], expected.edges[runs.cuts])
    assert np.array_equal(runs.counts[lane], np.diff(runs.bounds[lane]))
    assert (np.diff(runs.cuts) > 0).all()
    assert runs.cuts[0] == 0
    for place, (start, stop) in enumerate(pairwise(runs.cuts)):
        assert exponents[place] == expected.weights.exponents[start:stop].min()
    cells = np.arange(expected.edges[0], expected.edges[-1])
    places = np.searchsorted(runs.bounds[lane], cells, side="right") - 1
    items = np.searchsorted(expected.edges, cells, side="right") - 1
    lanes, filled = np.full(len(places), lane), np.unique(places)
    assert np.array_equal(runs.items(lanes, places, cells), items)
    drawn, floats = runs.drawn(lanes[: len(filled)], filled, InsecureSeededEntropy(6))
    assert (runs.bounds[lane, filled] <= drawn).all()
    assert (drawn < runs.bounds[lane, filled + 1]).all()
    held = np.searchsorted(expected.edges, drawn, side="right") - 1
    assert np.array_equal(floats, expected.weights.exponents[held])
    for cell, item in list(zip(cells, items, strict=True))[::5]:
        assert runs.exactly(lane, int(cell)) == expected.weights.exactly(int(item))


def test_runs_are_as_long_as_their_exponents_are_nearly_one():
    """A slope of 1 / 10 makes five items a run, and none is longer than 64."""
    numbers = np.arange(200.0)[None]
    for slope, length in ((Fraction(1, 10), 5), (Fraction(3), 1), (Fraction(1, 10**6), 64)):
        runs = parts([LinearLattice(0.0, 200.0)], [RankLaw(Fraction(1, 3), slope)], numbers)[1]
        assert np.diff(runs.runs(0, 200).cuts).max() == length


@pytest.mark.parametrize("lattice", [LinearLattice(-3.0, 5.0), AsinhLattice(-9.0, 9.0, 0.1)])
@pytest.mark.parametrize(("quantile", "slope"), [("2/5", "1/9"), ("1", "1/30"), ("0.5", "1/200")])
def test_long_runs_follow_the_law(lattice, quantile, slope):
    """Within a run too: 20 000 columns of the same 90 numbers, by the gap that is chosen."""
    law = RankLaw(Fraction(quantile), Fraction(slope))
    numbers = np.sort(np.random.default_rng(2).standard_normal(90))
    columns = np.tile(numbers[::-1], (20_000, 1))
    found = many([lattice], [law], columns, InsecureSeededEntropy(5))
    expected = CellChoice(lattice, law)._items(NumbersInCells(lattice, numbers), 0, 90)
    seen = np.bincount(
        np.searchsorted(expected.edges, found, side="right") - 1, minlength=len(expected.counts)
    )
    weights = expected.counts * np.exp(-expected.weights.exponents)
    assert fit(seen, weights) > LEAST_P


def window_of(reach: int, monkeypatch):
    """Forces a window of so many numbers to either side."""

    def window(law, cells, size):
        middle = int(law.target(size))
        return max(0, middle - reach), min(size, middle + reach)

    monkeypatch.setattr(rank_choice, "_RARE", np.inf)
    monkeypatch.setattr(rank_choice, "window", window)
    monkeypatch.setattr(cell_choices, "window", window)


@pytest.mark.parametrize(
    ("quantile", "reach"), [(Fraction(1, 3), None), (Fraction(0), None), (Fraction(1, 3), 1)]
)
@pytest.mark.parametrize("steep", [1, Fraction(1, 3)], ids=str)
def test_every_column_follows_its_law(quantile, reach, steep, monkeypatch):
    """Three slopes and two lattices side by side; with a reach the rest is chosen often."""
    slopes, cells = [steep / Fraction(each) for each in (4, 3, 5)], [64, 40]
    if reach is not None:
        window_of(reach, monkeypatch)
    monkeypatch.setattr(cell_choices, "_ENTRIES", 50 * len(DATA) + 3)
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
    among_all = CellChoice.among_all
    monkeypatch.setattr(
        CellChoice, "among_all", lambda *args: whole.append(args[1]) or among_all(*args)
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
    honest = cell_choices.choose_each
    monkeypatch.setattr(
        cell_choices, "choose_each", lambda given, *rest: seen.append(given) or honest(given, *rest)
    )
    slopes, cells = [Fraction(1, 5), Fraction(1, 3)], 40
    numbers = np.random.default_rng(9).permuted(np.tile(np.arange(size) + 3.0, (6, 1)), axis=1)
    laws = [RankLaw(quantile, slope) for slope in slopes]
    many([Few(cells)], laws, numbers, InsecureSeededEntropy(3))
    off = distances(quantile, (np.arange(size) + 3).tolist(), cells)
    (both,) = seen
    for lane in range(6):
        first, last = both.runs.bounds[lane, [0, -1]].tolist()
        rest = off[:first] + off[last:]
        assert both.counts[lane, -1] == len(rest)
        assert both.farther[lane % 2] <= slopes[lane % 2] * min(rest)
        if quantile in (Fraction(1, 2), Fraction(1, 3)):
            assert both.farther[lane % 2] == slopes[lane % 2] * min(rest)

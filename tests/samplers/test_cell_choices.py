"""Cells of many columns: the items, the law and the choices of one column at a time."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from test_rank_choice import DATA, Few, chi_square_p, distances

from opendp_lite.engines.fold import Scratch
from opendp_lite.samplers import cell_choices, rank_choice
from opendp_lite.samplers.cell_choices import CellChoices
from opendp_lite.samplers.entropy import InsecureSeededEntropy
from opendp_lite.samplers.lattice import AsinhLattice, LinearLattice
from opendp_lite.samplers.rank_choice import CellChoice, NumbersInCells, RankLaw

LEAST_P = 1e-8
"""Seeds are fixed; a fresh seed would fail with this probability, for each of 500 columns."""
QUANTILES = [Fraction(q) for q in ("0", "1", "1/2", "1/3", "0.98")]


def many(lattices, laws, numbers: np.ndarray, entropy) -> np.ndarray:
    """The cells of the columns, whose numbers are rows here."""
    chooser = CellChoices(tuple(lattices), tuple(laws))
    held = numbers.copy()
    columns, size = held.shape
    return chooser.cells(columns, lambda start, stop: held[start:stop], size, entropy)


def parts(lattices, laws, numbers):
    choices = [
        CellChoice(lattices[j % len(lattices)], laws[j % len(laws)]) for j in range(len(numbers))
    ]
    alike = len(lattices) == 1, len(laws) == 1
    return choices, cell_choices._Several(choices, numbers.copy(), *alike, Scratch())


@pytest.mark.parametrize("one_law", [True, False])
@pytest.mark.parametrize("one_lattice", [True, False])
@pytest.mark.parametrize("quantile", QUANTILES, ids=str)
def test_items_are_those_of_one_column(quantile, one_lattice, one_law):
    """Edges, counts, floats and exact exponents, for all numbers and for windows of them."""
    generator = np.random.default_rng(1)
    lattices = [Few(20)] if one_lattice else [Few(20), Few(9), Few(31)]
    laws = [RankLaw(quantile, Fraction(1, 2)), RankLaw(quantile, Fraction(3, 7))][: 2 - one_law]
    for size in (0, 1, 2, 3, 9, 10, 17):
        numbers = generator.integers(-1, 22, (5, size)).astype(float)
        middle = int(quantile * size)
        for reach in range(size + 2):
            first, last = max(0, middle - reach), min(size, middle + reach)
            choices, part = parts(lattices, laws, numbers)
            items = part._items(first, last)
            for lane, choice in enumerate(choices):
                held = NumbersInCells(choice.lattice, numbers[lane].copy())
                expected = choice._items(held, first, last)
                assert np.array_equal(items.edges[lane], expected.edges)
                assert np.array_equal(items.counts[lane], expected.counts)
                row = items.exponents[0 if one_law else lane]
                assert np.array_equal(row, expected.weights.exponents)
                exact = [items.exactly(lane, i) for i in range(len(row))]
                assert exact == [expected.weights.exactly(i) for i in range(len(row))]


@pytest.mark.parametrize("slope", [Fraction(1, 50), Fraction(1, 3), Fraction(8)], ids=str)
@pytest.mark.parametrize("size", [0, 3, 4000])
@pytest.mark.parametrize("lattice", [LinearLattice(-3.0, 5.0), AsinhLattice(-9.0, 9.0, 0.1)])
def test_one_column_draws_what_one_choice_draws(lattice, size, slope):
    """From the same words, in the window and without it."""
    law = RankLaw(Fraction(2, 5), slope)
    numbers = np.random.default_rng(2).standard_normal((1, size))
    for seed in range(8):
        one, two = InsecureSeededEntropy(seed), InsecureSeededEntropy(seed)
        expected = CellChoice(lattice, law).cell(numbers[0].copy(), one)
        assert many([lattice], [law], numbers, two).tolist() == [expected]
        assert one.word() == two.word()


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
def test_every_column_follows_its_law(quantile, reach, monkeypatch):
    """Three slopes and two lattices side by side; with a reach the rest is chosen often."""
    slopes, cells = [Fraction(1, 4), Fraction(1, 3), Fraction(1, 5)], [64, 40]
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
        assert chi_square_p(np.bincount(found[kind::6], minlength=count), weights) > LEAST_P


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
        assert chi_square_p(seen, weights) > LEAST_P

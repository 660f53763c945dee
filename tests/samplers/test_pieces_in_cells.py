"""Numbers in pieces: the places and counts of the same numbers in one array."""

from __future__ import annotations

import numpy as np
import pytest

from opendp_lite.samplers import cell_choices as pieces_in_cells
from opendp_lite.samplers.cell_choices import PiecesInCells
from opendp_lite.samplers.lattice import AsinhLattice, LinearLattice
from opendp_lite.samplers.rank_choice import NumbersInCells

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
    monkeypatch.setattr(pieces_in_cells, "_SAMPLE", 64)
    monkeypatch.setattr(pieces_in_cells, "_SLACK", 8)


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

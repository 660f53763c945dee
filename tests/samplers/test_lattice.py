"""Public lattices: in order, total, and every point in its own cell."""

from math import inf, nan, nextafter

import numpy as np
import pytest

from opendp_lite.samplers.lattice import AsinhLattice, LinearLattice

LATTICES = [
    LinearLattice(0.0, 1.0),
    LinearLattice(-1.0, 3.0),
    LinearLattice(-(2.0**900), 2.0**900),
    LinearLattice(0.0, 1e-290),
    LinearLattice(-1e-300, 1e300),
    AsinhLattice(-1.0, 1.0, 0.1),
    AsinhLattice(0.0, 10.0, 0.1),
    AsinhLattice(-25.0, -3.0, 0.7),
    AsinhLattice(3.0, 25.0, 0.3),
    AsinhLattice(-(2.0**900), 2.0**900, 5e-324),
    AsinhLattice(-(2.0**900), 2.0**900, 1e-300),
    AsinhLattice(-(2.0**900), 1e-3, 0.9),
    AsinhLattice(0.1, 1e6, 0.0),
    AsinhLattice(5e-324, 2.0**900, 0.0),
    AsinhLattice(1e-310, 1e-305, 0.0),
    AsinhLattice(-1e-3, 1e-3, 1.0),
]
NARROW = [
    LinearLattice(-7.3, -7.1),
    LinearLattice(1.0, nextafter(1.0, 2.0)),
    LinearLattice(1e16, 1e16 + 8),
    LinearLattice(-1e300, nextafter(-1e300, 0)),
    LinearLattice(0.0, 5e-324),
]
lattices = pytest.mark.parametrize("lattice", LATTICES, ids=repr)
every = pytest.mark.parametrize("lattice", [*LATTICES, *NARROW], ids=repr)


def numbers(lattice) -> np.ndarray:
    """In order: adversarial ones, and many near the bounds, the unit and 0."""
    generator = np.random.default_rng(0)
    ends = [lattice.lower, lattice.upper, getattr(lattice, "unit", 0.0), 0.0, 1.0]
    with np.errstate(all="ignore"):
        near = [x * (1 + k * 2.0**-52) for x in ends for k in range(-600, 600, 7)]
        spread = generator.standard_normal(2000) * 10.0 ** generator.integers(-320, 300, 2000)
        inside = lattice.lower + generator.random(2000) * (lattice.upper - lattice.lower)
    odd = [-0.0, 0.0, 5e-324, -5e-324, 2.2e-308, 1e308, -1e308, inf, -inf, -1.7e308]
    return np.sort(np.concatenate([odd, near, -np.array(near), spread, inside]))


@every
def test_cells_are_in_order_and_in_range(lattice):
    found = lattice.cell(numbers(lattice))
    assert found.dtype == np.int64
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0
    assert found.max() < lattice.cells
    assert 1 < lattice.cells < 2**58
    assert lattice.cell(np.array([lattice.lower, -inf])).tolist() == [0, 0]
    last = lattice.cells - 1
    assert lattice.cell(np.array([lattice.upper, inf, nan, -nan])).tolist() == [last] * 4


@every
def test_the_cell_of_a_number_depends_on_it_alone(lattice):
    given = np.append(numbers(lattice), nan)
    kept = given.copy()
    together = lattice.cell(given)
    assert np.array_equal(given, kept, equal_nan=True)
    for count in (1, 2, 3, 7):
        for start in range(0, len(given) - count, 97):
            alone = lattice.cell(given[start : start + count])
            assert np.array_equal(alone, together[start : start + count])
    assert np.array_equal(lattice.cell(given[::-1])[::-1], together)
    assert len(lattice.cell(np.empty(0))) == 0


@every
def test_negative_zero_counts_as_zero(lattice):
    one, two = lattice.cell(np.array([0.0, -0.0]))
    assert one == two


def chosen_cells(lattice) -> np.ndarray:
    generator = np.random.default_rng(1)
    cells, ends = lattice.cells, np.arange(300, dtype=np.int64)
    zero = int(lattice.cell(np.zeros(1))[0])
    around = np.arange(max(0, zero - 300), min(cells, zero + 300))
    steps = (cells * np.geomspace(1e-15, 0.999, 300)).astype(np.int64)
    found = np.concatenate(
        [ends, cells - 1 - ends, around, steps, generator.integers(0, cells, 3000)]
    )
    return np.unique(found)


@lattices
def test_every_point_lies_in_its_own_cell(lattice):
    cells = chosen_cells(lattice)
    points = np.array([lattice.point(int(cell)) for cell in cells])
    assert np.array_equal(lattice.cell(points), cells)
    assert (np.diff(points) > 0).all()


@every
def test_points_lie_between_the_bounds(lattice):
    points = np.array([lattice.point(int(cell)) for cell in chosen_cells(lattice)])
    assert (lattice.lower <= points).all()
    assert (points <= lattice.upper).all()
    assert (np.diff(points) >= 0).all()


def test_cells_are_fine():
    inside = np.random.default_rng(2).uniform(-1, 3, 200)
    linear = LinearLattice(-1.0, 3.0)
    points = [linear.point(int(c)) for c in linear.cell(inside)]
    assert np.abs(points - inside).max() <= 4 * 2.0**-48
    sizes = 10.0 ** np.random.default_rng(3).uniform(-6, 6, 200) * np.resize([1, -1], 200)
    asinh = AsinhLattice(-1e6, 1e6, 0.01)
    points = np.array([asinh.point(int(c)) for c in asinh.cell(sizes)])
    assert (np.abs(points - sizes) <= (np.abs(sizes) + 0.01) * 2.0**-43).all()


def test_the_unit_is_linear_and_what_is_beyond_logarithmic():
    lattice = AsinhLattice(-1e9, 1e9, 1.0)
    counts = np.diff(lattice.cell(np.array([0.0, 0.25, 0.5, 0.75, 1.0])))
    assert counts.max() <= counts.min() + 1
    doublings = np.diff(lattice.cell(2.0 ** np.arange(1, 30) - 1))
    assert doublings.max() <= doublings.min() + 1
    mirrored = lattice.cell(np.array([-5.0, 5.0]))
    assert mirrored.sum() == lattice.cells - 1

"""The matrices behind ``dp.cdf``: their norms, their exact products, and their inverses."""

from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import comb, sqrt

import numpy as np
import pytest

from opendp_lite.bases.strategies import Cells, SquareRoot, Strategy, Tree

KINDS = SquareRoot, Tree, partial(Tree, replaced=True)
SMALL = [kind(cells) for kind in KINDS for cells in (2, 3, 7, 36, 57, 101)]
LARGE = [kind(cells) for kind in KINDS for cells in (1025, 4097)]


def matrix(strategy: Strategy) -> np.ndarray:
    """A row for each cell: what one row in it adds, in steps."""
    one = np.eye(strategy.cells, dtype=np.int64)
    return np.array([strategy.products(row) for row in one])


@pytest.mark.parametrize("strategy", SMALL, ids=repr)
def test_norms_are_the_largest_of_all_columns(strategy):
    """Of every column, and of every two: exactly, in integers."""
    columns, unit = matrix(strategy), Fraction(2) ** strategy.exponent
    apart = columns[:, None] - columns
    for found, each in ((strategy.radii(), columns), (strategy.diameters(), apart)):
        assert found.l1 == int(np.abs(each).sum(axis=-1).max()) * unit
        assert found.l2_squared == int((each**2).sum(axis=-1).max()) * unit**2
        assert found.linf == int(np.abs(each).max()) * unit


@pytest.mark.parametrize("strategy", LARGE, ids=repr)
def test_norms_of_large_matrices(strategy):
    """Of the first column with 200 others, which must not be beyond them."""
    cells = np.unique(np.geomspace(1, strategy.cells - 1, 200).astype(int))
    one = np.zeros(strategy.cells, dtype=np.int64)
    one[0] = 1
    first = strategy.products(one).astype(float)
    met = 0.0
    for cell in cells:
        gap = strategy.products(np.roll(one, cell)) - first
        met = max(met, float(np.linalg.norm(gap)) * 2.0**strategy.exponent)
    assert 0.999 * float(strategy.diameters().l2) <= met <= float(strategy.diameters().l2)
    length = np.linalg.norm(first) * 2.0**strategy.exponent
    assert float(strategy.radii().l2) == pytest.approx(length, rel=1e-12)


def test_the_coefficients_are_central_binomials():
    steps = SquareRoot(300).steps
    true = [Fraction(comb(2 * j, j), 4**j) for j in range(300)]
    assert max(abs(Fraction(int(s), 2**20) - c) for s, c in zip(steps, true, strict=True)) <= (
        Fraction(1, 2**21)
    )
    twice = np.convolve(steps * 2.0**-20, steps * 2.0**-20)[:300]
    assert np.abs(twice - 1).max() < 300 * 2.0**-20


@pytest.mark.parametrize("strategy", SMALL[::3], ids=repr)
@pytest.mark.parametrize("largest", [1, 2**20, 2**45, 2**54])
def test_products_are_exact_for_any_number_of_rows(strategy, largest):
    """2^45 rows times 2^20 steps are beyond int64."""
    generator = np.random.default_rng(0)
    counts = np.array([int(share * largest) for share in generator.random(strategy.cells)])
    table = matrix(strategy).astype(object)
    expected = counts.astype(object) @ table
    assert strategy.products(counts).tolist() == expected.tolist()


@pytest.mark.parametrize("strategy", [*SMALL, *LARGE], ids=repr)
def test_counts_undo_products_and_weights_are_their_transpose(strategy):
    generator = np.random.default_rng(1)
    counts = generator.integers(0, 1000, strategy.cells)
    products = strategy.products(counts) * 2.0**strategy.exponent
    assert np.abs(strategy.counts(products) - counts).max() < 1e-7
    weights = generator.normal(size=(3, strategy.cells))
    noise = generator.normal(size=strategy.terms)
    assert strategy.weights(weights) @ noise == pytest.approx(weights @ strategy.counts(noise))
    assert len(products) == strategy.terms


@pytest.mark.parametrize(
    "strategy",
    [*map(SquareRoot, (2, 7, 57)), *map(Tree, (1, 2, 7, 37, 101, 130)), Tree(101, replaced=True)],
    ids=repr,
)
def test_counts_are_by_least_squares(strategy):
    """Also where the last blocks reach beyond the cells, in which no row can be."""
    table = matrix(strategy).T * 2.0**strategy.exponent
    noise = np.random.default_rng(2).normal(size=strategy.terms)
    expected = np.linalg.lstsq(table, noise, rcond=None)[0]
    assert strategy.counts(noise) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("strategy", SMALL, ids=repr)
def test_products_of_weights(strategy):
    cells = strategy.cells
    for found, each in (
        (strategy.of_edges, np.tril(np.ones((cells, cells)))),
        (strategy.of_cells, np.eye(cells)),
    ):
        weights = strategy.weights(each)
        assert found.squares == pytest.approx((weights**2).sum(axis=1))
        assert found.along == pytest.approx(weights @ strategy.everything)


def test_for_laplace_noise_the_tree_is_better_and_for_gaussian_noise_the_root():
    """The largest standard error of the rows up to an edge, for a loss of 1."""
    root, tree = SquareRoot(1025), Tree(1025)
    pure = [sqrt(2 * each.of_edges.squares.max()) * float(each.radii().l1) for each in (root, tree)]
    normal = [
        sqrt(each.of_edges.squares.max() / 2) * float(each.radii().l2) for each in (root, tree)
    ]
    assert pure == pytest.approx([92.4, 15.1], rel=0.02)
    assert normal == pytest.approx([2.31, 3.37], rel=0.02)


def test_the_sizes_of_blocks():
    assert Tree(1025).sizes == (1, 5, 30, 180, 1080)
    assert Tree(1025, replaced=True).sizes == (1, 10, 100, 1100)
    assert Tree(2).sizes == (1, 2)
    for cells in range(2, 4098, 37):
        sizes = Tree(cells).sizes
        assert sizes[0] == 1
        assert cells <= sizes[-1] <= 2 * cells
        assert all(after % before == 0 for before, after in pairwise(sizes))


def test_edges_of_cells_are_the_decimals_between_their_bounds():
    """Not what floats make of the first bound and some widths."""
    cells = Cells.between("cdf", -0.3, 0.3, 6)
    assert cells.edges.tolist() == [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3]
    assert Cells.between("cdf", 1, 2, 5).centre == 1.5

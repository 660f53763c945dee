"""The functions of every basis, and their sensitivities."""

import subprocess
import sys
from fractions import Fraction
from math import factorial, inf, pi, sqrt

import attrs
import numpy as np
import pytest
from scipy.special import eval_chebyt, eval_hermite, eval_laguerre, eval_legendre

import opendp_lite as dp
from opendp_lite.bodies.points import PointOf

ORTHONORMAL = [
    dp.bases.Cosine(12, 0, 100),
    dp.bases.Fourier(12, -1, 1),
    dp.bases.Fourier(13, 0, 24),
    dp.bases.Legendre(12, 0, 100),
    dp.bases.Chebyshev(12, 0, 1e-3),
    dp.bases.Hermite(12, middle=50, scale=10),
    dp.bases.Laguerre(12, scale=3, lower=-7),
    dp.bases.Haar(2, 0, 1),
    dp.bases.Haar(64, 0, 1e9),
    dp.bases.Daubechies(16, 0, 100),
    dp.bases.Daubechies(64, 0, 1, moments=20),
    dp.bases.Daubechies(2, 0, 1, moments=1),
    dp.bases.Hadamard(2, 0, 1),
    dp.bases.Hadamard(64, 0, 1),
    dp.bases.MutuallyUnbiased(7, 0, 7, bases=1),
    *(
        kind(64, 0, 1)
        for kind in (dp.bases.Cosine, dp.bases.Fourier, dp.bases.Legendre, dp.bases.Chebyshev)
    ),
    dp.bases.Hermite(64, middle=0, scale=1),
    dp.bases.Laguerre(64, scale=1),
]
FRAMES = [
    dp.bases.MutuallyUnbiased(16, 0, 1),
    dp.bases.MutuallyUnbiased(3, 0, 1, bases=4),
    dp.bases.MutuallyUnbiased(7, 0, 7, bases=8),
    dp.bases.MutuallyUnbiased(61, 0, 7, bases=3),
]
BASES = ORTHONORMAL + FRAMES


def tolerance(basis: dp.bases.Basis) -> float:
    """How far the middles of the cells are from the integral: polynomials jump most at the ends."""
    if not isinstance(basis, dp.bases.Legendre | dp.bases.Laguerre):
        return 1e-10
    return 3e-5 if basis.terms <= 12 else 2e-3


@pytest.mark.parametrize("basis", ORTHONORMAL, ids=repr)
def test_functions_are_orthonormal(basis):
    table = basis.functions()
    assert table.shape == (basis.cells, basis.terms)
    products = table.T @ table / basis.cells
    assert np.abs(products - np.eye(basis.terms)).max() < tolerance(basis)


@pytest.mark.parametrize("basis", FRAMES, ids=repr)
def test_frames_rebuild_every_row(basis):
    table = basis.functions()
    assert table.shape == (basis.cells, basis.terms)
    assert np.allclose(table @ table.T / basis.cells, np.eye(basis.cells))


@pytest.mark.parametrize("cells", [3, 5, 7, 61])
def test_mutually_unbiased_bases_are_unbiased(cells):
    """All but the cells themselves, as complex vectors again."""
    count = min(cells + 1, 6)
    basis = dp.bases.MutuallyUnbiased(cells, 0, 1, bases=count)
    table = basis.functions() * sqrt(count / cells)
    first = np.insert(table[:, cells : 3 * cells - 1], cells, 0.0, axis=1)
    blocks = [first, *np.split(table[:, 3 * cells - 1 :], count - 2, axis=1)]
    waves = [block[:, :cells] + 1j * block[:, cells:] for block in blocks]
    bases = [np.eye(cells), *waves]
    for i, one in enumerate(bases):
        for j, two in enumerate(bases):
            products = np.abs(one.conj().T @ two)
            expected = np.eye(cells) if i == j else np.full((cells, cells), 1 / sqrt(cells))
            assert np.allclose(products, expected)


def test_the_functions_are_the_ones_named():
    at = np.array([0, 1, 4000, 8191, 12345, 16383])
    share = (at + 0.5) / 16384
    assert dp.bases.Cosine(3, 0, 1).cells == 16384
    for i in range(6):
        legendre = sqrt(2 * i + 1) * eval_legendre(i, 2 * share - 1)
        assert np.allclose(dp.bases.Legendre(6, 5, 9).functions()[at, i], legendre)
        middles = dp.bases.Chebyshev(6, -1, 1).middles()[at]
        chebyshev = eval_chebyt(i, middles) * (sqrt(2) if i else 1)
        assert np.allclose(dp.bases.Chebyshev(6, -1, 1).functions()[at, i], chebyshev, atol=1e-5)
        z = dp.bases.Hermite(6, middle=0, scale=1).middles()[at]
        width = float(dp.bases.Hermite(6, middle=0, scale=1).ends[1]) * 2
        hermite = eval_hermite(i, z) * np.exp(-(z**2) / 2)
        hermite *= sqrt(width / (2**i * factorial(i) * sqrt(pi)))
        assert np.allclose(dp.bases.Hermite(6, middle=0, scale=1).functions()[at, i], hermite)
        z = dp.bases.Laguerre(6, scale=1).middles()[at]
        laguerre = sqrt(54) * np.exp(-z / 2) * eval_laguerre(i, z)
        assert np.allclose(dp.bases.Laguerre(6, scale=1).functions()[at, i], laguerre)
    fourier = dp.bases.Fourier(5, 0, 1).functions()[at]
    assert np.allclose(fourier[:, 3], sqrt(2) * np.cos(4 * pi * share))
    assert np.allclose(fourier[:, 4], sqrt(2) * np.sin(4 * pi * share))
    assert np.allclose(
        dp.bases.Cosine(3, 0, 1).functions()[at, 2], sqrt(2) * np.cos(2 * pi * share)
    )


def test_one_vanishing_moment_is_haar():
    haar, daubechies = dp.bases.Haar(16, 0, 1), dp.bases.Daubechies(16, 0, 1, moments=1)
    repeated = np.repeat(haar.functions(), daubechies.cells // haar.cells, axis=0)
    assert np.allclose(np.abs(daubechies.functions()), np.abs(repeated))


def test_daubechies_wavelets_have_vanishing_moments():
    """Away from where it wraps around, the finest wavelet does not see a cubic."""
    table = dp.bases.Daubechies(64, 0, 1, moments=4).functions()
    share = (np.arange(16384) + 0.5) / 16384
    inner = table[:, 48]
    assert abs(inner[:100]).max() == abs(inner[-100:]).max() == 0
    for power in range(4):
        assert abs((inner * share**power).mean()) < 1e-9
    assert abs((inner * share**4).mean()) > 1e-9


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_sensitivities_are_the_largest_norms_met(basis):
    """At random numbers, at all edges, and one float beside them."""
    edges = basis.edges()
    inner = np.random.default_rng(0).uniform(edges[0], edges[-1], 2000)
    numbers = np.concatenate([inner, edges, np.nextafter(edges, inf), [inf, -inf]])
    rows = PointOf(basis.points())(numbers[:, None])
    for p in (1, 2, inf):
        met = np.linalg.norm(rows, ord=p, axis=1).max()
        assert met * (1 - 1e-12) <= basis.points().radius(p) <= met * (1 + 1e-12)
    gaps = rows[:2000] - rows[np.random.default_rng(1).integers(0, len(rows), 2000)]
    for p in (1, 2, inf):
        gap = np.linalg.norm(gaps, ord=p, axis=1).max()
        assert gap <= float(basis.replacing().of(p)) <= 2 * basis.points().radius(p) * (1 + 1e-12)
    assert basis.l1 == basis.points().radius(1)
    assert basis.l2 == basis.points().radius(2)
    assert basis.linf == basis.points().radius(inf)


def test_legendre_on_minus_one_to_one_grows_as_the_erratum_says():
    """docs/errata.md, 1.1.2: k^2 / 2 under du on [-1, 1] is k^2 under the uniform law."""
    sizes = [dp.bases.Legendre(k, -1, 1).l2 / sqrt(2) for k in (2, 4, 8, 16)]
    assert sizes == pytest.approx([k / sqrt(2) for k in (2, 4, 8, 16)], rel=0.005)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_the_first_function_counts_where_it_is_one(basis):
    first = basis.functions()[:, 0]
    counts = not isinstance(basis, dp.bases.Hermite | dp.bases.Laguerre | dp.bases.MutuallyUnbiased)
    assert np.allclose(first, 1) == counts


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_different_points_are_told_apart_by_their_bits(basis):
    body = basis.points()
    assert np.array_equal(body.steps[body.places_in(body.at(np.arange(basis.cells)))], body.steps)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_numbers_lie_in_their_cells(basis):
    edges, middles = basis.edges(), basis.middles()
    places = basis.points().places_of(np.concatenate([middles, edges]))
    last = basis.cells - 1
    assert np.array_equal(places[: basis.cells], np.arange(basis.cells))
    assert np.array_equal(places[basis.cells :], np.arange(basis.cells + 1).clip(0, last))
    assert basis.points().places_of(np.array([-inf, inf, np.nan])).tolist() == [0, last, last]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.bases.Cosine(1, 0, 1), "terms"),
        (lambda: dp.bases.Cosine(65, 0, 1), "at most 64"),
        (lambda: dp.bases.Fourier(2.5, 0, 1), "whole"),
        (lambda: dp.bases.Legendre(5, 1, 0), "lower must be below upper"),
        (lambda: dp.bases.Legendre(5, 1, 1), "lower must be below upper"),
        (lambda: dp.bases.Legendre(5, 0, inf), "finite"),
        (lambda: dp.bases.Legendre(5, "0", 1), "number"),
        (lambda: dp.bases.Chebyshev(5, 1, 1 + 1e-14), "too close"),
        (lambda: dp.bases.Cosine(5, 0, 1e200), "beyond"),
        (lambda: dp.bases.Chebyshev(5, 0, 10**400), "beyond"),
        (lambda: dp.bases.Cosine(5, -1e308, 1e308), "beyond"),
        (lambda: dp.bases.Hermite(5, middle=0, scale=1e308), "beyond"),
        (lambda: dp.bases.Haar(2, 0, 1e-310), "closer than 1e-100"),
        (lambda: dp.bases.Laguerre(5, scale=1e-200), "closer than 1e-100"),
        (lambda: dp.bases.Hermite(5, middle=0, scale=0), "scale must be above 0"),
        (lambda: dp.bases.Laguerre(5, scale=-1), "scale must be above 0"),
        (lambda: dp.bases.Laguerre(5, scale=1e-20, lower=1), "too close"),
        (lambda: dp.bases.Haar(12, 0, 1), "power of two"),
        (lambda: dp.bases.Hadamard(1024, 0, 1), "512"),
        (lambda: dp.bases.Daubechies(128, 0, 1), "at most 64"),
        (lambda: dp.bases.Daubechies(8, 0, 1, moments=0), "moments"),
        (lambda: dp.bases.Daubechies(8, 0, 1, moments=21), "at most 20"),
        (lambda: dp.bases.MutuallyUnbiased(9, 0, 1), "odd prime"),
        (lambda: dp.bases.MutuallyUnbiased(67, 0, 1), "61"),
        (lambda: dp.bases.MutuallyUnbiased(7, 0, 1, bases=9), "8 bases"),
        (lambda: dp.bases.MutuallyUnbiased(8, 0, 1, bases=3), "2 bases"),
        (lambda: dp.bases.MutuallyUnbiased(8, 0, 1, bases=0), "bases"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(dp.ParameterError, match=words):
        make()


@pytest.mark.parametrize("bases", [2.0, np.int64(2), Fraction(2)])
def test_whole_numbers_of_any_type_make_the_same_bases(bases):
    basis = dp.bases.MutuallyUnbiased(7, 0, 1, bases=bases)
    assert repr(basis) == repr(dp.bases.MutuallyUnbiased(7, 0, 1, bases=2))
    assert basis.functions().shape == (7, basis.terms)
    features = dp.transformations.basis_features(basis)
    assert dp.from_json(features.to_json()) == features


@attrs.frozen(repr=False)
class Own(dp.bases.Basis):
    """A basis of someone else."""

    table: tuple[tuple[float, ...], ...]
    steps: tuple[float, ...] = (0.0, 1.0, 2.0)

    terms = 2
    cells = 2
    ends = (Fraction(0), Fraction(2))

    def edges(self):
        return np.array(self.steps)

    def functions(self):
        return np.array(self.table)


def test_a_basis_of_ones_own_moves_as_far_as_its_largest_row():
    assert dp.transformations.basis_features(Own(((1, 2), (3, -4)))).bind(dp.records())(
        [0.5, 1.5]
    ).shape == (2, 2)
    assert (dp.transformations.basis_features(Own(((1, 2), (3, -4)))) >> dp.sum()).map(
        1
    ) == dp.Norms(l1=7, l2=5, linf=4)


@pytest.mark.parametrize(
    ("basis", "words"),
    [
        (Own(((1.0, 2.0),)), "shapes"),
        (Own(((1.0, 2.0),) * 3), "shapes"),
        (Own(((1.0,), (2.0,))), "shapes"),
        (Own(((1.0, 2.0), (3.0, 4.0)), (0.0, 1.0)), "shapes"),
        (Own(((1.0, 2.0), (3.0, 4.0)), (0.0, 3.0, 2.0)), "must rise"),
        (Own(((1.0, 2.0), (3.0, 4.0)), (0.0, np.nan, 2.0)), "must rise"),
        (Own(((1.0, np.nan), (3.0, 4.0))), "largest"),
        (Own(((1.0, inf), (3.0, 4.0))), "largest"),
        (Own(((1e-320, 0.0), (0.0, 0.0))), "largest"),
        (Own(((0.0, 0.0), (0.0, 0.0))), "largest"),
    ],
)
def test_a_table_that_does_not_fit_its_cells_is_refused_before_data(basis, words):
    """With fewer rows than cells a number of the last cell raised, and one of the first did not."""
    with pytest.raises(dp.ParameterError, match=words):
        dp.transformations.basis_features(basis)


FINE = Fraction(10**20 + 1, 10**20)


@pytest.mark.parametrize(
    "basis",
    [
        *BASES,
        dp.bases.Cosine(3, Fraction(1, 7), FINE),
        dp.bases.Haar(4, -FINE, 10**17 + 3),
        dp.bases.Hermite(4, middle=FINE, scale=Fraction(1, 3)),
        dp.bases.Laguerre(4, scale=FINE, lower=-FINE),
        dp.bases.Daubechies(4, 0, FINE, moments=3),
        dp.bases.MutuallyUnbiased(5, 0, FINE, bases=3),
    ],
    ids=repr,
)
def test_a_repr_makes_the_basis_again(basis):
    assert eval(repr(basis)) == basis
    features = dp.transformations.basis_features(basis)
    assert dp.from_json(features.to_json()) == eval(repr(features)) == features


def test_wavelets_are_an_extra():
    program = (
        "import sys; sys.modules['pywt'] = None; import opendp_lite as dp\n"
        "dp.bases.Haar(4, 0, 1).l1\n"
        "try: dp.bases.Daubechies(4, 0, 1)\n"
        "except dp.ParameterError as problem: print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "opendp_lite[wavelets]" in done.stdout, done.stderr


def test_weights_fall_as_the_root_of_the_place_of_a_function_from_the_second_on():
    weighted = dp.bases.Weighted(dp.bases.Cosine(5, 0, 1))
    assert weighted.weights() ** -2 == pytest.approx([1, 1, 2, 3, 4])
    with pytest.raises(dp.ParameterError, match="Weighted needs a basis such as"):
        dp.bases.Weighted(3)

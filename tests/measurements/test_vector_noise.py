"""Noise for a whole vector, and for a sum and a count at once: maps, and many releases."""

from fractions import Fraction

import attrs
import numpy as np
import pytest
from mpmath import besseli, besselk, mpf, workdps
from scipy.special import gammaln

import opendp_lite as dp
from opendp_lite.samplers.core_noise import CoreNoise
from tests.exact_losses import lost
from tests.opened import Opened

l2_mechanism, sum_and_count = dp.measurements.l2_mechanism, dp.measurements.sum_and_count
linf_mechanism = dp.measurements.linf_mechanism
TABLE = dp.records(columns=3)
PIPELINE = TABLE >> dp.clip_to_norm(2) >> dp.sum() >> l2_mechanism(epsilon=1)


def test_losses_in_closed_form():
    assert (dp.vector(9) >> l2_mechanism(scale=2)).map(3) == 1.5
    assert (dp.vector(4, metric=dp.metrics.LInfDistance()) >> l2_mechanism(scale=4)).map(1) == 0.5
    assert l2_mechanism(scale=2).map(dp.Norms(l1=3)) == 1.5
    assert l2_mechanism(scale=2).map(dp.Norms(l2=3, l1=9)) == 1.5
    corner = TABLE >> dp.clamp(-1, 1) >> dp.sum() >> l2_mechanism(scale=1)
    assert corner.loss(1) ** 2 == pytest.approx(3, abs=1e-15)
    assert corner.loss(1) ** 2 >= 3


NODES, WEIGHTS = np.polynomial.legendre.leggauss(300)


def renyi(dimension: int, epsilon: float, order: float) -> float:
    """The divergence of the noise from itself moved by ``epsilon``, in scales, by quadrature.

    Over the length, in two parts as the density has a kink at the length of the move, and over the
    angle between both.
    """
    ends = np.array([0, epsilon, dimension + 16 * dimension**0.5 + 20])
    halves = np.diff(ends)[:, None] / 2
    length = (ends[:-1, None] + halves * (1 + NODES)).ravel()[:, None]
    angle = (1 + NODES) * np.pi / 2
    mass = np.exp((dimension - 1) * np.log(length) - length - gammaln(dimension))
    mass = mass * (halves * WEIGHTS).ravel()[:, None] * np.sin(angle) ** (dimension - 2) * WEIGHTS
    mass /= mass.sum()
    loss = np.sqrt(length**2 - 2 * length * np.cos(angle) * epsilon + epsilon**2) - length
    if order == 1:
        return float((mass * loss).sum())
    return float(np.log((mass * np.exp((order - 1) * loss)).sum()) / (order - 1))


def rho_of(dimension: int, epsilon: float | Fraction) -> Fraction:
    return Fraction((dp.vector(dimension) >> l2_mechanism(epsilon=epsilon)).to_zcdp().loss(1))


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("dimension", [2, 3, 4, 5, 16, 40])
def test_the_zcdp_loss_bounds_every_order_and_is_that_of_order_one(dimension, epsilon):
    rho = float(rho_of(dimension, epsilon))
    first, *others = (renyi(dimension, epsilon, order) for order in (1, 1.1, 1.5, 2, 3, 8, 30))
    assert first == pytest.approx(rho, rel=1e-6)
    for order, divergence in zip((1.1, 1.5, 2, 3, 8, 30), others, strict=True):
        assert divergence < order * rho


EPSILONS = [Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(10, 3), Fraction(20), 1000]


@pytest.mark.parametrize("dimension", [1, 2, 3, 16, 1024])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_zcdp_loss_is_the_formula_from_above(dimension, epsilon):
    with workdps(40):
        number, order = (
            mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator,
            mpf(dimension) / 2,
        )
        z = number / 2
        true = besseli(order, z) * besselk(order, z)
        true += besseli(order + 1, z) * besselk(order - 1, z)
        true *= number**2 / 2
        found = rho_of(dimension, epsilon)
        assert true <= mpf(found.numerator) / found.denominator <= true * (1 + mpf(2) ** -35)


def test_the_zcdp_loss_of_one_column_is_that_of_laplace_noise():
    for epsilon in (0.1, 1, 5):
        assert float(rho_of(1, epsilon)) == pytest.approx(epsilon + np.expm1(-epsilon), rel=1e-9)


@pytest.mark.parametrize("dimension", [3, 2000])
def test_far_from_one_the_zcdp_loss_is_the_simple_bound_or_the_pure_one(dimension):
    tiny = Fraction(1, 10**200)
    assert rho_of(dimension, tiny) == tiny**2 / (2 * dimension)
    assert rho_of(dimension, 10**6) == 10**6
    assert rho_of(2000, 1) == Fraction(1, 4000)


def test_the_zcdp_loss_grows_with_the_distance_and_less_than_its_square():
    for dimension in (1, 2, 7):
        pipeline = dp.vector(dimension) >> l2_mechanism(epsilon=Fraction(1, 3)) >> dp.to_zcdp()
        losses = [pipeline.loss(k) for k in range(1, 9)]
        assert losses == sorted(losses)
        assert all(loss <= k * k * losses[0] for k, loss in enumerate(losses, 1))


def test_the_noise_has_the_scale_that_the_map_needs():
    found = np.array([PIPELINE(np.zeros((0, 3))) for _ in range(1000)])
    squares = (found**2).sum(axis=1) / 4
    assert abs(squares.mean() - 12) < 6 * squares.std() / 1000**0.5
    assert PIPELINE.facts.laws == ()
    assert "b = 2, expected l2 norm of the noise d b = 6" in PIPELINE.explain()
    assert "epsilon = 1 " in PIPELINE.explain()


DATA = np.array([[1.0, 0, 0], [0.5, -2, 7]])
ADDED = [
    [5.0, 0, 0],
    [1.0, 1, 1],
    [-1e308, 1e308, 0],
    [np.nan, 1, 1],
    [np.inf, 0, -np.inf],
    [0.0, 0, 0],
]


def test_a_row_of_the_largest_norm_costs_the_claim_and_others_no_more():
    for added in ADDED:
        found = lost(PIPELINE, DATA, np.vstack([DATA, [added]])).pure
        assert found <= 1
        assert added != ADDED[0] or found > 1 - 1e-9


@pytest.mark.parametrize("dimension", [5, 40])
def test_bare_vectors(dimension):
    mechanism = dp.vector(dimension) >> l2_mechanism(scale=1e-9)
    wild = np.resize([1.0, np.nan, np.inf, -np.inf, 1e300], dimension)
    release = mechanism(wild)
    assert np.isfinite(release).all()
    assert release[0] == pytest.approx(1, abs=1e-6)
    assert abs(release[1]) < 1e-6
    assert release[2] == pytest.approx(-release[3], abs=1e-6)
    assert release[2] > 2**14
    assert l2_mechanism(scale=1e-12)(3.0) == pytest.approx(3)


ONE = dp.clamp(0, 100) >> dp.center(50)
COLUMN = ONE >> sum_and_count(epsilon=1)
JOINT = TABLE >> dp.clip_to_norm(2) >> sum_and_count(epsilon=1, stretch=2.39)


def test_epsilon_is_for_one_unit():
    assert JOINT.map(2) == 2
    wide = dp.records(columns=5) >> dp.clip_to_norm(10) >> sum_and_count(epsilon=1, stretch=2)
    assert wide.map(2) == 2
    pairs = attrs.evolve(dp.records(), unit=Fraction(2)) >> ONE >> sum_and_count(epsilon=1)
    assert (pairs.map(1), pairs.map(2)) == (0.5, 1)
    assert lost(pairs, [], [50.0]).pure == pytest.approx(0.5, rel=1e-9)


EXTREMES = {
    "a row at the top": ([0.0, 0, 100], [0.0, 0, 100, 100]),
    "a row at the bottom": ([0.0, 0, 100], [0.0, 0, 0, 100]),
    "a row in the middle": ([0.0, 0, 100], [0.0, 0, 100, 50]),
    "a row beyond": ([0.0, 0, 100], [0.0, 0, 100, 1e308]),
    "a row of nothing": ([0.0, 0, 100], [0.0, 0, 100, np.nan]),
    "infinity": ([100.0] * 5, [100.0] * 4),
    "the first row": ([], [-np.inf]),
}


@pytest.mark.parametrize("stretch", [0, 2.39])
@pytest.mark.parametrize("name", EXTREMES)
def test_a_row_costs_the_claim_by_its_count_at_least(name, stretch):
    pipeline = ONE >> sum_and_count(epsilon=1, stretch=stretch)
    spent = lost(pipeline, *EXTREMES[name]).pure
    assert spent == 0 if name == "a row of nothing" else 1 - 1e-9 < spent <= 1


@pytest.mark.parametrize("stretch", [0, 1, 4])
@pytest.mark.parametrize("columns", [1, 5])
def test_the_scales_are_those_of_the_radius_and_of_one_row(columns, stretch):
    """Rows in pairs: the count stays, and the sum moves by twice the radius; or by nothing."""
    pipeline = (
        dp.records(columns) >> dp.clip_to_norm(3) >> sum_and_count(epsilon=0.5, stretch=stretch)
    )
    data, far = np.zeros((3, columns)), np.full((1, columns), 9.0)
    turned = [np.vstack([data, row]) for row in (far, -far)]
    assert lost(pipeline, *turned).pure == pytest.approx(1, rel=1e-9)
    assert lost(pipeline, data, np.vstack([data, far * 0])).pure == pytest.approx(0.5, rel=1e-9)


CUBE = dp.vector(3, dp.metrics.LInfDistance())
BOX = TABLE >> dp.clamp(-1, 1)
CORNERS = [
    (CUBE >> linf_mechanism(epsilon=1), np.zeros(3), np.ones(3)),
    (TABLE >> dp.clamp(-2, 2) >> dp.sum() >> linf_mechanism(epsilon=1), DATA, [[2.0, 0, -7]]),
    (BOX >> sum_and_count(epsilon=1, stretch=0, cube=True), DATA, [[1.0, 1, 1]]),
    (BOX >> sum_and_count(epsilon=1, stretch=0, cube=True), DATA, [[0.0, 0, 0]]),
]


@pytest.mark.parametrize(("pipeline", "data", "added"), CORNERS)
def test_the_loss_in_a_cube(pipeline, data, added):
    other = added if np.ndim(data) == 1 else np.vstack([data, added])
    assert 1 - 1e-9 < lost(pipeline, data, other).pure <= 1


def test_what_is_released_is_the_sum_and_the_count():
    rows = np.array([[3.0, -1, 0.5], [0.25, 0.25, 0]] * 50_000)
    ball = dp.clip_to_norm(10)
    blocks = dp.Blocks(lambda: (rows[i : i + 999] for i in range(0, len(rows), 999)), columns=3)
    for data in (rows, blocks):
        total, count = (TABLE >> ball >> sum_and_count(epsilon=50))(data)
        assert total == pytest.approx(rows.sum(axis=0), abs=30)
        assert count == pytest.approx(100_000, abs=30)


def test_the_data_is_read_once():
    rows = Opened(np.ones((5, 3)), columns=3)
    JOINT(rows.blocks)
    assert rows.times == 1


@pytest.mark.parametrize("power", [-300, -280, -40, 40, 280, 300])
@pytest.mark.parametrize("columns", [1, 3, 300, 2000])
def test_scales_far_from_one(power, columns):
    """Radii, and epsilons whose counts have grids coarser than one row and finer."""
    scale, rows = 2.0**power, np.zeros((4, columns))
    space, noise = dp.records(columns), l2_mechanism(scale=scale)
    ball = space >> dp.clip_to_norm(1)
    for release in ((ball >> dp.sum() >> noise)(rows), (dp.vector(columns) >> noise)(rows[0])):
        assert columns * 1e-12 < np.linalg.norm(release / scale) < 40 * columns
    if abs(power) < 300 and columns < 2000:
        sums, _ = (space >> dp.clip_to_norm(scale) >> sum_and_count(epsilon=1))(rows)
        assert columns * 1e-12 < np.linalg.norm(sums / scale) < 60 * columns
        sums, count = (ball >> sum_and_count(epsilon=scale))(rows)
        assert columns * 1e-12 < np.linalg.norm(sums * scale) < 60 * columns
        assert abs(count - 4) * scale < 60 * columns
        assert count != 4 or power > 0


def test_the_grids_do_not_depend_on_the_data():
    for data in ([], [50.0] * 7, [1e300]):
        total, count = COLUMN(data)
        law = CoreNoise.near(Fraction(50), Fraction(1), Fraction(1), 1)
        assert (total * 2.0**-law.sum_exponent % 1 == 0).all()
        assert count * 2.0**-law.count_exponent % 1 == 0


def test_explanations_state_the_deviations():
    assert "epsilon = 1 " in COLUMN.explain()
    assert "standard deviations 91.2871 of an entry of the sum and 2.33333 of" in COLUMN.explain()
    assert COLUMN.bound.facts.laws == ()


def test_it_composes():
    both = dp.compose(COLUMN, dp.count() >> dp.laplace(epsilon=0.5))
    assert both.map(1) == 1.5
    (total, count), again = both([1.0] * 10)
    assert total.shape == (1,)
    assert (type(count), type(again)) == (float, int)
    assert (COLUMN >> (lambda release: release[1])).map(3) == 3


@pytest.mark.parametrize("stretch", [Fraction(0), Fraction(1)])
def test_the_noise_is_that_of_the_l2_radius(stretch):
    """Rows in [-1, 1]^16 have length up to 4: at a corner it costs the claim, not 4 times that."""
    pipeline = dp.records(16) >> dp.clamp(-1, 1) >> sum_and_count(epsilon=0.5, stretch=stretch)
    corners = [np.full((2, 16), sign) for sign in (-1.0, 1.0)]
    assert lost(pipeline, *corners).pure == pytest.approx(2 * pipeline.map(1) * 2, rel=1e-9)


def test_losses_of_the_cube_in_closed_form():
    assert linf_mechanism(scale=2).map(dp.Norms(linf=3)) == 1.5
    assert (CUBE >> linf_mechanism(scale=4)).map(1) == 0.25
    box = TABLE >> dp.clamp([-1, 0, 0], [1, 5, 3]) >> dp.sum() >> linf_mechanism(scale=1)
    assert (box.map(1), box.map(2)) == (5, 10)
    pairs = attrs.evolve(TABLE, unit=Fraction(2)) >> dp.clamp(-1, 1) >> dp.sum()
    assert (pairs >> linf_mechanism(epsilon=1)).map(1) == 0.5


def test_the_noise_of_a_cube_is_that_of_its_side():
    """Rows in [-2, 2]^16 and epsilon = 1/2: a scale of 4, of 8 where rows are replaced."""
    sized = dp.records(16, size=2, metric=dp.ChangeOneDistance())
    ends = [np.full((2, 16), sign) for sign in (-2.0, 2.0)]
    for space, scale in ((dp.records(16), 4), (sized, 8)):
        rows = space >> dp.clamp(-2, 2)
        alone = rows >> dp.sum() >> linf_mechanism(epsilon=0.5)
        assert lost(alone, *ends).pure == pytest.approx(8 / scale, rel=1e-9)
    joint = dp.records(16) >> dp.clamp(-2, 2) >> sum_and_count(epsilon=0.5, stretch=1, cube=True)
    assert lost(joint, *ends).pure == pytest.approx(2, rel=1e-9)


def test_an_entry_of_a_cube_has_an_interval():
    found = (CUBE >> linf_mechanism(scale=2, confidence=0.9))(np.array([1.0, 2.0, 3.0]))
    assert found.values.shape == (3,)
    assert all(
        low < value < high for value, (low, high) in zip(found.values, found.intervals, strict=True)
    )
    wild = (CUBE >> linf_mechanism(scale=1e-9))(np.array([np.nan, np.inf, 5e-324]))
    assert np.isfinite(wild).all()

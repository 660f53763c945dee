"""The privacy of l2-gamma noise: its map, and many releases."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest
from scipy.special import gammaln

import opendp_lite as dp
from opendp_lite.samplers.l2_gamma import L2Gamma

SURVEY = dp.records(columns=3)
PIPELINE = SURVEY >> dp.clip_to_norm(2) >> dp.sum() >> dp.measurements.l2_mechanism(epsilon=1)


@pytest.mark.parametrize("epsilon", [1, 0.1, 1 / 3, Fraction(2, 7)])
@pytest.mark.parametrize(
    "before",
    [
        SURVEY >> dp.clip_to_norm(0.3) >> dp.sum(),
        SURVEY >> dp.clamp(-7, 3) >> dp.sum(),
        SURVEY >> dp.clip_to_norm(1, p=1) >> dp.sum(),
        dp.records(2, size=9, metric=dp.ChangeOneDistance()) >> dp.clip_to_norm(10) >> dp.sum(),
        dp.records() >> dp.count(),
    ],
    ids=repr,
)
def test_the_map_returns_what_was_asked_for(before, epsilon):
    pipeline = before >> dp.measurements.l2_mechanism(epsilon=epsilon)
    asked = dp.laplace(epsilon=epsilon).map(1)
    assert pipeline.map(1) == asked
    assert pipeline.map(0) == 0
    assert pipeline.loss(5) == 5 * pipeline.loss(1)
    assert pipeline.check(1, asked)
    assert not pipeline.check(1, asked * (1 - 1e-9))


def test_losses_in_closed_form():
    assert (dp.vector(9) >> dp.measurements.l2_mechanism(scale=2)).map(3) == 1.5
    assert (
        dp.vector(4, metric=dp.metrics.LInfDistance()) >> dp.measurements.l2_mechanism(scale=4)
    ).map(1) == 0.5
    assert dp.measurements.l2_mechanism(scale=2).map(dp.Norms(l1=3)) == 1.5
    assert dp.measurements.l2_mechanism(scale=2).map(dp.Norms(l2=3, l1=9)) == 1.5
    corner = SURVEY >> dp.clamp(-1, 1) >> dp.sum() >> dp.measurements.l2_mechanism(scale=1)
    assert corner.loss(1) ** 2 == pytest.approx(3, abs=1e-15)
    assert corner.loss(1) ** 2 >= 3


def renyi(dimension: int, epsilon: float, order: float) -> float:
    """The divergence of the noise from itself moved by ``epsilon``, in scales, by quadrature."""
    length = np.linspace(1e-6, dimension + 16 * dimension**0.5 + 20, 4000)[:, None]
    cosine = np.linspace(-1, 1, 1001)[1:-1]
    density = np.exp((dimension - 1) * np.log(length) - length - gammaln(dimension))
    mass = density * (1 - cosine**2) ** ((dimension - 3) / 2)
    moved = np.sqrt(length**2 - 2 * length * cosine * epsilon + epsilon**2)
    return float(np.log((mass * np.exp(order * (length - moved))).sum() / mass.sum()) / (order - 1))


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("dimension", [5, 8, 40])
def test_the_zcdp_loss_bounds_every_order_and_is_at_most_four_times_the_truth(dimension, epsilon):
    pipeline = dp.vector(dimension) >> dp.measurements.l2_mechanism(epsilon=epsilon)
    rho = pipeline.to_zcdp().loss(1)
    of_pure = epsilon * np.tanh(epsilon / 2)
    assert float(rho) == pytest.approx(min(2 * epsilon**2 / dimension, of_pure))
    assert pipeline.to_zcdp().map(3) <= 9 * rho * (1 + 1e-12)
    orders = [1.01, 1.1, 1.5, 2, 3, 8, 30]
    true = max(renyi(dimension, epsilon, order) / order for order in orders)
    assert true <= rho
    assert true >= rho / 4 * (0.8 if epsilon < 4 else 0.5)


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_in_few_dimensions_the_zcdp_loss_is_that_of_the_pure_loss(dimension):
    pipeline = dp.vector(dimension) >> dp.measurements.l2_mechanism(epsilon=1)
    assert pipeline.to_zcdp().map(1) == pytest.approx(np.tanh(0.5), rel=1e-9)


def test_the_noise_has_the_scale_that_the_map_needs():
    found = np.array([PIPELINE(np.zeros((0, 3))) for _ in range(4000)])
    squares = (found**2).sum(axis=1) / 4
    assert abs(squares.mean() - 12) < 6 * squares.std() / 4000**0.5
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


@pytest.mark.parametrize("added", ADDED, ids=str)
def test_audit_finds_nothing(added, seeded):
    """The bound may exceed the claim with probability 1e-8 for each: below 1e-7 together."""
    dp.audit(PIPELINE, DATA, np.vstack([DATA, [added]]), releases=1500, failure=1e-8)


def along(ends):
    """How much nearer a release is to the first end: the loss of the ideal, in scales."""
    return lambda release: np.linalg.norm(release - ends[1]) - np.linalg.norm(release - ends[0])


@pytest.mark.parametrize("dimension", [1, 2, 12])
def test_audit_of_bare_vectors_finds_nothing(dimension, seeded):
    mechanism = dp.vector(dimension) >> dp.measurements.l2_mechanism(epsilon=1)
    ends = np.zeros(dimension), np.full(dimension, dimension**-0.5)
    dp.audit(mechanism, *ends, releases=2000, failure=1e-8)
    found = dp.audit(mechanism, *ends, releases=2000, failure=1e-8, score=along(ends))
    assert dimension > 1 or found.lower_bound > 0.2


@pytest.mark.parametrize("dimension", [1, 3])
def test_audit_catches_half_of_the_noise(dimension, seeded):
    honest = dp.vector(dimension) >> dp.measurements.l2_mechanism(epsilon=1)
    careless = dp.vector(dimension) >> dp.measurements.l2_mechanism(epsilon=2)
    lie = attrs.evolve(honest, function=careless.function)
    ends = np.zeros(dimension), np.eye(dimension)[0]
    with pytest.raises(AssertionError, match="at least"):
        dp.audit(lie, *ends, releases=6000, score=along(ends))


def test_releases_have_one_shape_and_type(wild):
    rows = np.column_stack([wild, wild[::-1], wild])
    for data in (rows, rows[:0], rows[:1], np.full((9, 3), 1e308)):
        release = PIPELINE(data)
        assert (release.shape, release.dtype) == ((3,), np.float64)
        assert np.isfinite(release).all()
    assert type((dp.count() >> dp.measurements.l2_mechanism(epsilon=1))([])) is float
    assert type((dp.scalar() >> dp.measurements.l2_mechanism(epsilon=1))(3)) is float


@pytest.mark.parametrize("dimension", [5, 40])
def test_bare_vectors(dimension):
    mechanism = dp.vector(dimension) >> dp.measurements.l2_mechanism(scale=1e-9)
    wild = np.resize([1.0, np.nan, np.inf, -np.inf, 1e300], dimension)
    release = mechanism(wild)
    assert np.isfinite(release).all()
    assert release[0] == pytest.approx(1, abs=1e-6)
    assert abs(release[1]) < 1e-6
    assert release[2] == pytest.approx(-release[3], abs=1e-6)
    assert release[2] > 2**14
    assert dp.measurements.l2_mechanism(scale=1e-12)(3.0) == pytest.approx(3)


@pytest.mark.parametrize("power", [-300, -40, 40, 300])
@pytest.mark.parametrize("dimension", [1, 3, 2000])
def test_scales_far_from_one(power, dimension):
    scale = 2.0**power
    summed = (
        dp.records(dimension)
        >> dp.clip_to_norm(1)
        >> dp.sum()
        >> dp.measurements.l2_mechanism(scale=scale)
    )
    bare = dp.vector(dimension) >> dp.measurements.l2_mechanism(scale=scale)
    for release in (summed(np.zeros((4, dimension))), bare(np.zeros(dimension))):
        size = float(np.linalg.norm(release / scale))
        assert dimension * 1e-12 < size < 40 * dimension


def test_insecure_releases_repeat():
    first, second = (PIPELINE.insecure_release(DATA, seed=3).value for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(PIPELINE(DATA), PIPELINE(DATA))


def test_recipes_round_trip():
    recipe = dp.clip_to_norm(2) >> dp.sum() >> dp.measurements.l2_mechanism(epsilon=Fraction(1, 3))
    read = dp.from_json(recipe.to_json())
    assert read == recipe
    assert (SURVEY >> read).loss(1) == Fraction(1, 3)


def test_the_density_changes_by_no_more_than_the_claim():
    """The law on the reals at many points: the triangle inequality, and that it is attained."""
    generator = np.random.default_rng(0)
    scale = float(L2Gamma.near(Fraction(2), 3).scale)
    points = generator.normal(size=(1000, 3)) * 3 * scale
    points[0] = 0
    shift = np.array([1.0, 2, 2]) * scale / 3
    gap = np.linalg.norm(points - shift, axis=1) - np.linalg.norm(points, axis=1)
    worst = np.abs(gap).max() / scale
    assert worst == pytest.approx((dp.vector(3) >> dp.measurements.l2_mechanism(scale=2)).map(2))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *(
            (
                lambda name=name, bad=bad: dp.measurements.l2_mechanism(**{name: bad}),
                "0|finite|number",
            )
            for name in ("scale", "epsilon")
            for bad in (0, -1, np.nan, np.inf, "1")
        ),
        (lambda: dp.measurements.l2_mechanism(), "one of"),
        (lambda: dp.measurements.l2_mechanism(scale=1, epsilon=1), "one of"),
        (lambda: dp.vector(3) >> dp.measurements.l2_mechanism(scale=1e300), "scale"),
        (
            lambda: dp.vector(3, unit=0) >> dp.measurements.l2_mechanism(epsilon=1),
            "depends on no row",
        ),
        (
            lambda: dp.clamp(0, 100) >> dp.measurements.l2_mechanism(epsilon=1),
            r"Put sum\(\) or count\(\) between",
        ),
        (lambda: dp.measurements.l2_mechanism(epsilon=1).map(-1), "at least 0"),
        (
            lambda: (dp.vector(3) >> dp.measurements.l2_mechanism(epsilon=1))(np.zeros(4)),
            "3 entries",
        ),
    ],
)
def test_refusals(make, words):
    with pytest.raises(dp.OpenDPLiteError, match=words):
        make()

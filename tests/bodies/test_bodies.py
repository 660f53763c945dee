"""Geometry, and the rounding that never leaves the body."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

import opendp_lite as dp
from opendp_lite.bodies.ball import Ball
from opendp_lite.bodies.points import Points
from opendp_lite.bodies.simplex import NonNegativeBall
from opendp_lite.engines.data.sparse import cell_bits, excess
from opendp_lite.numbers.exact import sqrt_up
from opendp_lite.numbers.norms import Norms

BODIES = [
    dp.bodies.Box(0, 100),
    dp.bodies.Box(-3, 0.1),
    dp.bodies.Box([0, -1, 5], [1, 1, 5.5]),
    dp.bodies.Box(1e6, 1e6 + 1, columns=2),
    dp.bodies.Box(0.1, 0.3, columns=70),
    dp.bodies.Ball(10, columns=3),
    dp.bodies.Ball(0.1, p=1, columns=5),
    dp.bodies.Ball(2, p=inf, columns=2),
    dp.bodies.Ball(1, columns=1),
    dp.bodies.Ball(7, columns=1000),
    dp.bodies.Ball(3, p=1, columns=257),
    dp.bodies.Ball([1, 2, 300], columns=3),
    dp.bodies.Ball([1, 300], p=1),
    dp.bodies.Ball(2, center=[5, -6], columns=2),
    dp.bodies.Ball(1e200, columns=4),
    dp.bodies.Ball(1e-200, columns=4),
    dp.bodies.NonNegativeBall(10, columns=3),
    dp.bodies.NonNegativeBall(0.1, p=1, columns=5),
    dp.bodies.NonNegativeBall(1),
    dp.bodies.NonNegativeBall(7, columns=300),
    dp.bodies.NonNegativeBall([1, 2, 300]),
    dp.bodies.NonNegativeBall([1, 2, 3], p=1),
    dp.bodies.NonNegativeBall(1e200, columns=4),
    dp.bodies.OuterProducts(4, side=1),
    dp.bodies.OuterProducts(0.3, side=4),
    dp.bodies.OuterProducts(1e200, side=2),
    dp.bodies.OuterProducts(2.0**850, side=2),
    dp.bodies.OuterProducts(0.51 * 2.0**-674, side=2),
    dp.bodies.Simplex(100, columns=2),
    dp.bodies.Simplex(1, columns=9),
    dp.bodies.Simplex(0.3),
    dp.bodies.Simplex(0.3, columns=3),
    dp.bodies.Simplex(1 / 3, columns=2),
]
SHOWN = [repr(body) for body in BODIES]
CURVE = np.cos(np.outer(np.linspace(0, 3, 500), np.arange(1, 6)))
WITH_POINTS = [
    *BODIES,
    *[
        Points.nearest_to("test", np.arange(1.0, len(table)), table)
        for table in (CURVE, np.linspace(-1e-30, 2e-30, 77)[:, None], 1e90 * CURVE[::20])
    ],
]
every = pytest.mark.parametrize("body", WITH_POINTS, ids=[*SHOWN, *"abc"])
WILD = [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -1e-310, 1.0, 2.0**53]


def snapped(body, rows: np.ndarray) -> np.ndarray:
    """The rows on the body's grid, as whole numbers of steps."""
    snapper = body.snapper()
    out = np.empty_like(rows)
    with np.errstate(all="ignore"):
        snapper.into(rows, out)
    return out.view(np.int64) - snapper.origin


def adversarial(body, count: int) -> np.ndarray:
    generator = np.random.default_rng(5)
    inside = body.draw(generator, count)
    odd = generator.choice(WILD, inside.shape)
    scaled = inside * np.ldexp(1.0, generator.integers(-3, 4, inside.shape))
    mixed = np.where(generator.random(inside.shape) < 0.3, odd, scaled)
    near = np.nextafter(inside, inf)
    return np.concatenate([inside, mixed, near, odd, inside * 1.5])


def norms_of(steps: np.ndarray, unit: Fraction) -> Norms:
    values = [abs(int(v)) * unit for v in steps]
    return Norms.squared(sum(values), sum(v * v for v in values), max(values))


@every
def test_draws_lie_in_the_body(body):
    assert body.contains(body.draw(np.random.default_rng(1), 500)).all()


@every
def test_radii_and_diameters_hold_for_what_is_drawn(body):
    rows = body.draw(np.random.default_rng(2), 200)
    pairs = rows[:100] - rows[100:]
    size = body.radius(inf)
    for p in (1, 2, inf):
        lengths = np.linalg.norm(rows / size, ord=p, axis=1)
        gaps = np.linalg.norm(pairs / size, ord=p, axis=1)
        assert lengths.max() <= body.radius(p) / size * (1 + 1e-9)
        assert gaps.max() <= body.diameter(p) / size * (1 + 1e-9)


@every
def test_rounded_rows_never_leave_the_body(body):
    unit = Fraction(2) ** body.exponent()
    steps = snapped(body, adversarial(body, 60 if body.columns < 100 else 12))
    radii, diameters = body.radii(), body.diameters()
    for row in steps:
        assert norms_of(row, unit).within(radii)
    for row, other in zip(steps, steps[::-1], strict=True):
        assert norms_of(row - other, unit).within(diameters)


@every
def test_a_row_has_one_image_wherever_it_stands(body):
    rows = adversarial(body, 40)
    together = snapped(body, rows)
    alone = np.concatenate([snapped(body, row[None, :].copy()) for row in rows])
    assert np.array_equal(together, alone)
    for start in (1, 3, 7, 64, 65):
        assert np.array_equal(snapped(body, rows[start:].copy()), together[start:])
    order = np.random.default_rng(3).permutation(len(rows))
    assert np.array_equal(snapped(body, rows[order]), together[order])


@pytest.mark.parametrize("body", BODIES, ids=SHOWN)
def test_rows_inside_are_rounded_to_nearest(body):
    rows = body.draw(np.random.default_rng(4), 200)
    back = snapped(body, rows) * 2.0 ** body.exponent()
    by_norm = isinstance(body, Ball | NonNegativeBall) and body.columns > 1
    shortened = 2.0 ** (cell_bits(body.columns) - 52) if by_norm else 0
    allowed = body.radius(inf) * (body.columns * 2.0**-39 + shortened)
    assert np.abs(back - rows).max() <= allowed


@every
def test_projection_gives_rows_of_the_body(body):
    with np.errstate(all="ignore"):
        projected = body.project(adversarial(body, 50))
    assert body.contains(projected).all()


@pytest.mark.parametrize("body", [b for b in BODIES if b.radius(inf) > 1e-100], ids=repr)
def test_rows_a_thousandth_beyond_the_surface_lie_outside(body):
    """A body that contains more than its map is for would hide any step that leaves it."""
    centre = body.filling()(np.full((1, body.columns), np.nan))
    surface = body.project(np.full((1, body.columns), 1e300))
    outward = surface - centre if (surface != centre).any() else surface
    assert not body.contains(surface + outward / 1000).any()


@pytest.mark.parametrize("body", BODIES, ids=SHOWN)
def test_repr_evaluates(body):
    again = eval(repr(body), {"dp": dp})
    assert again == body
    assert repr(again) == repr(body)


@pytest.mark.parametrize("total", [0.3, 1 / 3, 0.7, 100.1, 1e-9 / 7])
@pytest.mark.parametrize("columns", [1, 2, 3, 8])
def test_a_total_between_two_grid_steps_is_not_passed(total, columns):
    """By not one step: the last that fits is met, and the next would be outside."""
    body = dp.bodies.Simplex(total, columns=columns)
    unit = Fraction(2) ** body.exponent()
    assert (body.total / unit).denominator > 1
    rows = np.concatenate([np.eye(columns) * 1e300, np.full((1, columns), 1e300)])
    reached = snapped(body, rows).sum(axis=1)
    assert (reached * unit <= body.total).all()
    assert ((reached + 1) * unit > body.total).all()


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("kind", ["one column", "equal", "an ellipsoid"])
def test_a_ball_around_a_point_between_grid_steps_is_not_passed(p, sign, kind):
    """Whatever parts of a step the radius and the centre are, of which a centre may lose some."""
    unit = Fraction(2) ** dp.bodies.Ball(1.5, p=p, center=1.5).exponent()
    columns = 1 if kind == "one column" else 3
    far = np.full((1, columns), sign * 1e300)
    for tenths in range(10):
        for parts in range(10):
            size = Fraction(3, 2) + unit * tenths / 10
            radius = [size, size, size + unit] if kind == "an ellipsoid" else size
            middle = sign * (Fraction(3, 2) + unit * parts / 10)
            body = dp.bodies.Ball(radius, p, middle, columns)
            assert Fraction(2) ** body.exponent() == unit
            for row in (far, np.eye(columns) * sign * 1e300 + float(middle)):
                for steps in snapped(body, row):
                    assert norms_of(steps, unit).within(body.radii())


@pytest.mark.parametrize("body", [b for b in BODIES if b.columns <= 5], ids=repr)
def test_bounds_hold_and_are_met(body):
    """By the rows drawn, extreme ones among them; a bound a tenth too wide would not be met."""
    lower, upper = (np.array([float(v) for v in each]) for each in body.bounds())
    rows = body.draw(np.random.default_rng(8), 4000)
    size = body.radius(inf)
    assert (rows >= lower - 1e-9 * size).all()
    assert (rows <= upper + 1e-9 * size).all()
    assert (rows.min(axis=0) <= lower + 0.1 * (upper - lower)).all()
    assert (rows.max(axis=0) >= upper - 0.1 * (upper - lower)).all()


@pytest.mark.parametrize("body", BODIES, ids=SHOWN)
def test_a_row_that_is_filled_stays_in_the_body(body):
    assert body.contains(np.full((1, body.columns), np.nan)).all()
    rows = body.draw(np.random.default_rng(9), 300)
    rows[np.random.default_rng(10).random(rows.shape) < 0.3] = np.nan
    filled = body.filling()(rows)
    assert not np.isnan(filled).any()
    assert body.holds(filled).all()
    whole = ~np.isnan(rows).any(axis=1)
    assert np.array_equal(filled[whole], rows[whole])


@pytest.mark.parametrize("body", BODIES, ids=SHOWN)
def test_projecting_and_filling_may_change_places(body):
    """A sum that projects by itself relies on it."""
    rows = adversarial(body, 60)
    with np.errstate(all="ignore"):
        first = body.filling()(body.project(rows))
        then = body.project(body.filling()(rows))
        again = body.project(rows)
    assert first == pytest.approx(then, rel=1e-12)
    if not isinstance(body, dp.bodies.Simplex):
        assert np.array_equal(np.isnan(again), np.isnan(rows))
    assert np.array_equal(np.isnan(again).any(axis=1), np.isnan(rows).any(axis=1))


def test_moving_a_non_negative_ball():
    body = dp.bodies.NonNegativeBall(2, columns=2)
    one, mixed = (Fraction(3),), (Fraction(3), Fraction(1))
    assert body.scale(one) == dp.bodies.NonNegativeBall(6, columns=2)
    assert body.scale(mixed) == dp.bodies.NonNegativeBall([6, 2])
    assert body.scale((Fraction(3), Fraction(-1))) == dp.bodies.Ball([6, 2])
    assert body.shift(one) == dp.bodies.Ball(2, center=3, columns=2)
    assert body.scale(mixed).select((1,)) == dp.bodies.NonNegativeBall(2)
    assert body.scale(mixed).select((1, 1, 0)) == dp.bodies.Box(0, [2, 2, 6])
    assert dp.bodies.NonNegativeBall(5).total_range() == (0, 5)
    assert dp.bodies.NonNegativeBall(5).diameter(1) == dp.bodies.Simplex(5).diameter(1) == 5
    assert dp.bodies.NonNegativeBall([1, 5], p=1).total_range() == (0, 5)
    assert body.total_range() is None


@pytest.mark.parametrize("p", [1, 2])
def test_non_negative_rows_are_rounded_to_non_negative_rows(p):
    body = dp.bodies.NonNegativeBall(3, p=p, columns=5)
    rows = adversarial(body, 100) * np.random.default_rng(6).choice([-1.0, 1.0], (500, 5))
    assert snapped(body, rows).min() == 0
    with np.errstate(all="ignore"):
        assert np.nanmin(body.project(rows)) == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.bodies.Box(1, 1), "equal"),
        (lambda: dp.bodies.Box(2, 1), "swap"),
        (lambda: dp.bodies.Box([0, 0], [1, 0]), "column 1"),
        (lambda: dp.bodies.Box(0, np.nan), "finite"),
        (lambda: dp.bodies.Box(0, np.inf), "finite"),
        (lambda: dp.bodies.Box("0", 1), "number"),
        (lambda: dp.bodies.Box(True, 2), "number"),
        (lambda: dp.bodies.Ball(0), "above 0"),
        (lambda: dp.bodies.Ball(1, p=3), "1, 2 or infinity"),
        (lambda: dp.bodies.NonNegativeBall(1, p=inf), "1 or 2"),
        (lambda: dp.bodies.NonNegativeBall(-1), "above 0"),
        (lambda: dp.bodies.Simplex(-1), "above 0"),
        (lambda: dp.bodies.Box(1 + 2**-52, 1 + 2**-51).snapper(), "too close"),
        (lambda: dp.bodies.Box(0, 1e300).snapper(), "scale"),
        (lambda: dp.bodies.Ball([1e-9, 1e9], columns=2).snapper(), "scale"),
    ],
)
def test_refusals(make, words):
    with pytest.raises(dp.ParameterError, match=words):
        make()


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("columns", [2, 1000, 70_000])
def test_a_row_is_shortened_by_what_rounding_and_its_norm_may_add(columns, p):
    body = dp.bodies.Ball(300, p=p, columns=columns)
    half = Fraction(2) ** body.exponent() / 600
    rounding = half * columns if p == 1 else sqrt_up(half * half * columns)
    longest = (Fraction(body.snapper().target) ** p) * (1 + Fraction(excess(columns)))
    assert longest * (1 + Fraction(1, 2**45)) < (1 - rounding) ** p


def test_bounds_that_a_step_needs_are_refused_in_its_name():
    assert dp.bodies.Box(0, 2).require_bounds("quantize") == dp.bodies.Box(0, 2).bounds()
    with pytest.raises(dp.SpaceError, match=r"quantize needs rows with bounds; put dp.clamp\("):
        dp.records().domain.body.require_bounds("quantize")


def test_radii_that_differ_by_2_to_the_44th_share_no_grid():
    assert Ball([1, 2.0**-40], columns=2).snapper()
    with pytest.raises(dp.ParameterError, match="the radii differ by too much"):
        Ball([1, 2.0**-44], columns=2).snapper()


def test_a_row_may_lie_beyond_a_far_ball_by_what_its_floats_round():
    """The largest centre over its radius counts: here 2^21 times 2^-40, of a radius of 1/2."""
    far = Ball(0.5, center=[2.0**20, 0], columns=2)
    rows = np.array([[2.0**20 + 0.5 + 2.0**-power, 0] for power in (19, 20, 21)])
    assert far.holds(rows).tolist() == [False, True, True]
